"""Small learners of every kind with the data they learn from: what the golden model files are made of.

Each is there once for each kind of arrays that its file keeps. `python -m tests.golden.regenerate` fits them and writes
the files; tests and `fuzz/models.py` read the files and predict these inputs.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import sidelight as sl
from tests.learners.samples import FORMS, labelled
from tests.parts_data import LETTERS, sentences, shuffles, spellings, with_labels

WORDS, Y = labelled(count=8, longest=4)
NEW = labelled(seed=1, count=3, longest=4)[0]
FEW = [*Y[:5], *[None] * (len(Y) - 5)]
TREES = sentences(6)
LABELLED = [["a", "b", "c"], ["b", "a"], ["c", "c", "a", "b"], ["a", "c"], ["b", "b", "a"]]
RULES = [sl.starts_with("A"), sl.count("Y") <= 2, sl.where(sl.word.isin("run")).label("T").hard()]
TAGS = sl.TagDictionary({"Ann": {"A"}, "run": {"T"}, "7": {"Y", "T"}})
BITEXT = [(["the", "blue", "house"], ["la", "maison", "bleue"]), (["a", "house"], ["une", "maison"])] * 2
DOCUMENTS = [["ball", "goal"], ["court", "judge", "ball"], ["goal", "team"], ["judge", "bill"]]
TOPICS = ["sport", "law", "sport", "law"]
CHAIN = sl.Sentence.parsed(["the", "dog", "saw"], [2, 3, 0], ["det", "arg", "root"], tags=["D", "N", "V"])
OTHER = sl.Sentence.parsed(["a", "dog", "ran"], [2, 3, 0], ["det", "arg", "root"], tags=["D", "N", "V"])
COMPANIONS = [*Y[:5], sl.GOOD, sl.GOOD, sl.BAD]


class Case(NamedTuple):
    """A learner, the inputs and outputs that it learns from, and inputs to predict."""

    learner: Callable[[], Any]
    X: Any
    y: Any
    new: Any


def _on(form: str, learner: Callable[[], Any], y: Any = Y) -> Case:
    """A learner of label sequences."""
    return Case(learner, FORMS[form](WORDS), y, FORMS[form](NEW))


def _matrix(documents: list[list[str]]) -> Any:
    words = sorted({word for one in DOCUMENTS for word in one})
    return np.array([[float(one.count(word)) for word in words] for one in documents])


CASES: dict[str, Case] = {
    "hmm": _on("words", lambda: sl.HMM()),
    "hmm-order-2": _on("columns", lambda: sl.HMM("word.lower()", unknown="pos", order=2)),
    "crf": _on("words", lambda: sl.CRF(["word", "word[-1] & word"], tolerance=0.1)),
    "crf-order-2": _on("columns", lambda: sl.CRF(["word", ~sl.pos[1].isin("N")], order=2, tolerance=0.1)),
    "crf-dicts": _on("dicts", lambda: sl.CRF(tolerance=0.1)),
    "crf-arrays": _on("arrays", lambda: sl.CRF(tolerance=0.1)),
    "crf-edges": _on("words", lambda: sl.CRF(["word"], edges=True, tolerance=0.1)),
    "crf-rules": _on("words", lambda: sl.CCM(sl.CRF(["word"], tolerance=0.1), RULES)),
    "semicrf": _on("words", lambda: sl.SemiCRF(["word"], begin_features=["word[-1]"], end_features=[], tolerance=0.1)),
    "semicrf-dicts": _on("dicts", lambda: sl.SemiCRF(length=False, max_length=3, tolerance=0.1)),
    "perceptron": _on("words", lambda: sl.StructuredPerceptron(["word.suffix(2)", "bias"], epochs=2)),
    "kernel-perceptron": _on("words", lambda: sl.KernelPerceptron(["word"], epochs=2)),
    "kernel-perceptron-dicts": _on("dicts", lambda: sl.KernelPerceptron(epochs=2)),
    "mira": _on("words", lambda: sl.MIRA(["word"], epochs=2)),
    "svm": _on("words", lambda: sl.StructuralSVM(["word"], tolerance=0.1)),
    "latent-svm": _on("words", lambda: sl.LatentStructuralSVM(["word"], tolerance=0.1, change=0.1)),
    "jlis": _on("words", lambda: sl.JLIS(["word"], tolerance=0.1, change=0.1), COMPANIONS),
    "transductive-svm": _on(
        "words", lambda: sl.TransductiveSVM(["word"], rules=RULES[:1], dictionary=TAGS, tolerance=0.1, change=0.1), FEW
    ),
    "codl": _on("words", lambda: sl.CoDL(sl.HMM(), RULES, iterations=1), FEW),
    "em": _on("words", lambda: sl.EM(sl.HMM(), iterations=1), FEW),
    "self-training": _on("words", lambda: sl.SelfTraining(sl.HMM()), FEW),
    "pr": _on(
        "words",
        lambda: sl.PosteriorRegularization(
            sl.HMM(), [sl.share("A") >= 0.3, sl.count("T") <= 2], norm="squared", decode="projected", iterations=1
        ),
        FEW,
    ),
    "uem": _on("words", lambda: sl.UnifiedEM(sl.HMM(), RULES[:2], iterations=1), FEW),
    "annealing": _on(
        "words", lambda: sl.DeterministicAnnealing(sl.CRF(["word"], tolerance=0.1), RULES[:2], iterations=2), FEW
    ),
    "ge": _on(
        "words", lambda: sl.GeneralizedExpectation(sl.CRF(["word"], tolerance=0.1), [sl.share("A") >= 0.3]), FEW
    ),
    "er": _on("words", lambda: sl.EntropyRegularization(sl.CRF(["word"], tolerance=0.1)), FEW),
    "combined": _on(
        "words",
        lambda: sl.Combined(
            sl.CRF(["word"], tolerance=0.1), RULES, view=sl.HMM(), dictionary=TAGS, weights={}, iterations=1
        ),
        FEW,
    ),
    "agreement": _on(
        "dicts",
        lambda: sl.Agreement(
            {
                "words": sl.View(sl.CRF(tolerance=0.1), prefix="word"),
                "rest": sl.View(sl.CRF(tolerance=0.1), part=(0, 1, 0)),
            },
            iterations=1,
        ),
        FEW,
    ),
    "contrastive": _on(
        "words",
        lambda: sl.ContrastiveEstimation(max_iterations=2, classes=["A", "T", "Y"], tolerance=0.1),
        [None] * len(WORDS),
    ),
    "auto": _on("words", lambda: sl.Auto(folds=2, budget=0.0), [Y[0], *[None] * (len(WORDS) - 1)]),
    "maxent": Case(lambda: sl.MaxEnt(), DOCUMENTS, TOPICS, DOCUMENTS[:2]),
    "maxent-rows": Case(lambda: sl.MaxEnt(), _matrix(DOCUMENTS), TOPICS, _matrix(DOCUMENTS[:2])),
    "document-jlis": Case(
        lambda: sl.DocumentJLIS(change=0.1), [*DOCUMENTS, ["rain"]], [*TOPICS, sl.BAD], DOCUMENTS[:2]
    ),
    "dmv": Case(lambda: sl.DMV(), *TREES, TREES[0][:2]),
    "parsing": Case(
        lambda: sl.StructuredPerceptron(task=sl.Parsing(), epochs=1), TREES[0][:1], TREES[1][:1], TREES[0][:2]
    ),
    "parsing-labels": Case(
        lambda: sl.StructuredPerceptron(
            ["hw cw"], task=sl.Parsing(labelled=True, projective=True, joint=False), epochs=1
        ),
        TREES[0],
        with_labels(*TREES),
        TREES[0][:2],
    ),
    "aligning": Case(
        lambda: sl.StructuredPerceptron(task=sl.Aligning(longest=2), epochs=1), *spellings(6), spellings(2, seed=1)[0]
    ),
    "lclr-letters": Case(
        lambda: sl.LCLR(
            task=sl.Aligning(features="letters"), initial={f"pair={a} – {b}": 1.0 for a, b in LETTERS.items()},
            change=0.1, tolerance=0.1,
        ),
        [*spellings(6)[0], *shuffles(6)[0]],
        [1] * 6 + [0] * 6,
        spellings(2, seed=1)[0],
    ),
    "matching": Case(
        lambda: sl.StructuralSVM(task=sl.Matching(), tolerance=0.1), *shuffles(6), shuffles(2, seed=1)[0]
    ),
    "graph-aligning": Case(
        lambda: sl.TwoStage(task=sl.GraphAligning(), initial={"similarity": 1.0, "link": -0.4}, tolerance=0.1),
        [(CHAIN, CHAIN), (CHAIN, OTHER), (OTHER, OTHER), (OTHER, CHAIN)],
        [sl.GOOD, sl.BAD, sl.GOOD, sl.BAD],
        [(CHAIN, CHAIN), (CHAIN, OTHER)],
    ),
    "word-aligner": Case(
        lambda: sl.WordAligner(ibm1_iterations=1, hmm_iterations=1, reach=2), BITEXT, None, BITEXT[:2]
    ),
}  # fmt: skip
