"""Sizes of a small run, `python -m benchmarks --small`: do benchmarks run to their end? Its numbers mean nothing.

A small run has the same tables, learners and reports, in as few iterations as they can do with. Files
that a benchmark reads as a whole are not cut: it takes seconds where they are small.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any

from sidelight import StructuralSVM

from .companions.sample import Costs
from .defaults.learners import BASES, LEARNERS
from .defaults.tasks import TASKS

NOTE = "--small: sizes are cut down to see whether everything runs; the numbers mean nothing."
# How much text tagging and gamma learn from, unless --tokens says otherwise.
TOKENS = 40
_COSTS, _ROUGHLY = Costs(1.0, 1.0, 0.1), {"tolerance": 0.5}
_SCHEDULE = {"start": 2.0, "rate": 0.9, "temperatures": 2, "iterations": 1}
_TABLE_4 = {(1.0, 0.9, 2): (72.1, 77.1), (2.0, 0.9, 2): (74.2, 77.3)}
# Constants of the benchmarks, by module and name, with their values in a small run.
SIZES: dict[str, Any] = {
    "agreement.CHUNK_ROUNDS": 1,
    "agreement.PUBLISHED_CHUNKS": {10: (73.2, 78.2, 69.4, 71.2)},
    "agreement.ROUNDS": 1,
    "agreement.SCORED": 5,
    "annealing.FLAT_ROUNDS": 1,
    "annealing.HOT_ROUNDS": 1,
    "annealing.PAPER_SCHEDULE": _SCHEDULE,
    "annealing.PR_ROUNDS": 1,
    "annealing.SCHEDULE": {**_SCHEDULE, "start": 1.0},
    "annealing.SIZES": (2, 3, 4),
    "annealing.TABLE_4": _TABLE_4,
    "annealing.TIMED": (1, 2),
    "citations.decoding.LABELLED": 3,
    "citations.decoding.SAMPLE": 3,
    "citations.experiment.SIZES": (2, 3, 4, 5),
    "citations.figures.BALANCES": (0.0, 0.5, 1.0),
    "citations.figures.MORE_SIZES": (2, 3),
    "citations.figures.ROUNDS": (0, 1),
    "citations.figures.SIZES": (2, 3, 4, 5),
    "citations.published.BALANCES_3_3": {0.1: "section 3.4.1"},
    "citations.published.TABLE_3_5": {"AP-T": {2: 75.6}, "AP-I": {2: 74.6}},
    "citations.tables.SIZES": (2, 3, 4, 5),
    "chunking.SGD_PASSES": 1,
    "combined.GOODS": 2,
    "combined.HALVES": 2,
    "combined.LABELLED": 2,
    "companions.fields.BAD_REFERENCES": (0, 4),
    "companions.fields.CHOSEN": {20: ("current word", _COSTS)},
    "companions.fields.GOOD_REFERENCES": 4,
    "companions.fields.HELD_OUT": 5,
    "companions.fields.OPTIONS": {"all_weights": True, **_ROUGHLY},
    "companions.sample.GRID": (1.0,),
    "companions.tags.CHANGE": 0.5,
    "companions.tags.COSTS": {20: _COSTS},
    "companions.tags.FEW_GOOD": 4,
    "companions.tags.FEW_LABELLED": 3,
    "companions.tags.GOOD_SENTENCES": 4,
    "companions.tags.HELD_OUT": 5,
    "companions.tags.OPTIONS": {"all_weights": True, "boundaries": False, **_ROUGHLY},
    "companions.tags.ROUNDS": {"change": 0.5},
    "companions.tags.ROUNDS_GOOD": (4,),
    "companions.tags.ROUNDS_LABELLED": (20,),
    "companions.tags.SHORTEST": 3,
    "companions.tags.SHUFFLES": (1, 2),
    "datasets._DEV_AFTER": 20,
    "defaults.AUTO_OPTIONS": {"budget": 0.0, "folds": 2},
    "defaults.BASES": {**BASES, "StructuralSVM": lambda classes: StructuralSVM(classes=classes, **_ROUGHLY)},
    "defaults.LEARNERS": {name: LEARNERS[name] for name in ("CCM(HMM)", "CoDL(HMM)", "PosteriorRegularization(CRF)")},
    "defaults.TASKS": {
        name: replace(TASKS[name], counts=(2,), pool=1, scored=1) for name in ("citations", "references")
    },
    "defaults.penalties.COUNTS": {"citations": 3, "references": 3},
    "defaults.penalties.SCORED": 2,
    "defaults.penalties._PARTS": 2,
    "defaults.penalties._ROUNDS": 1,
    "entailment.COSTS": (1.0,),
    "esl.SENTENCES": 10,
    "expectation.GENERATED": 4,
    "expectation.SIZES": (2, 3, 4),
    "gamma.ITERATIONS": 2,
    "gamma.SIZES": (2,),
    "induction.ROUNDS": 4,
    "induction.SENTENCES": 20,
    "induction.WARM_UP": 2,
    "paraphrase.COSTS": (1.0,),
    "paraphrase.FEW": 9,
    "parser.KNOWN": 5,
    "parser.POOL": 5,
    "parsing.HIDDEN": 0.2,
    "parsing.SENTENCES": 12,
    "phonetic.COMPANIONS": (0, 22),
    "phonetic.LABELLED": (10,),
    "phonetic.TEST": 5,
    "projection.EM_ROUNDS": 2,
    "projection.HELD_OUT": 4,
    "projection.PAIRS": 30,
    "projection.ROUNDS": {"generative": 1, "discriminative": 1},
    "projection.SENTENCES": 8,
    "projection.SETTINGS": ((0.9, False), (0.9, True)),
    "relations.EPOCHS": 1,
    "sentence_pairs.FOLDS": 3,
    "sentence_pairs.ROUNDS": 1,
    "sentences._EPOCHS": 1,
    "speed.BATCHES": (1, 4),
    "speed.CRF_TIMES": {0.5: 0.08},
    "speed.EPOCHS": 1,
    "speed.FEW": 10,
    "startup.ENVIRONMENT": {"NUMBA_DISABLE_JIT": "1"},
    "startup.RUNS": 1,
    "structures.LABELLED": 5,
    "structures.ROUNDS": 1,
    "tasks.BUDGET": 0.1,
    "tasks.LABELLED": 3,
    "tasks.OPTIONS": {
        "Auto": {"folds": 2},
        "CRF": {"max_iterations": 2},
        "Combined": {"iterations": 1, "tolerance": 0.5},
        "JLIS": {"max_rounds": 1, **_ROUGHLY},
        "LatentStructuralSVM": {"max_rounds": 1, **_ROUGHLY},
        "PosteriorRegularization": {"iterations": 1},
        "SelfTraining": {"iterations": 1},
        "StructuralSVM": _ROUGHLY,
        "TransductiveSVM": {"max_rounds": 1, **_ROUGHLY},
    },
    "tasks.PAIRS": (2, 1, 1),
    "tasks.SCORED": 1,
    "tasks.SENTENCES": (2, 1, 1),
    "tasks.UNLABELLED": 1,
    "transliteration.RANKED": 4,
    "transliteration.TRAIN": 6,
    "wordalign.MEASURED": {},
    "wordalign.SIZES": (20,),
    "wordalign._ROUNDS": 1,
}


@contextmanager
def small_sizes() -> Iterator[None]:
    """Gives the constants the values of a small run, within a block."""
    named = [(import_module(f"{__package__}.{module}"), name) for module, _, name in (k.rpartition(".") for k in SIZES)]
    usual = [getattr(module, name) for module, name in named]
    try:
        for (module, name), value in zip(named, SIZES.values(), strict=True):
            setattr(module, name, value)
        yield
    finally:
        for (module, name), value in zip(named, usual, strict=True):
            setattr(module, name, value)
