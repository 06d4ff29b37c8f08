"""Dependency parsing of UD English: learners from whole trees, and from trees of which half of the heads are unknown.

Arcs have features of words and universal tags, and trees may cross. In the second table every head is hidden with
probability 1/2, by seed. Learners from partial trees get what is left; a learner of whole trees gets the sentences in
which nothing was hidden, or else as many heads in sentences that are drawn as a whole. Sentences of which no head is
known are left out.
"""

import random
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from sidelight import CRF, MIRA, LatentStructuralSVM, Parsing, StructuralSVM, StructuredPerceptron

from .datasets import MissingData, Task, read_parsed, treebank_file, treebank_files
from .report import Report, seconds
from .setting import Setting

SENTENCES = 500
# How far learners from whole trees may lie apart, in per cent of the words.
APART = 2.0
HIDDEN = 0.5
LEARNERS: dict[str, Callable[[], Any]] = {
    "perceptron": lambda: StructuredPerceptron(task=Parsing()),
    "MIRA": lambda: MIRA(task=Parsing()),
    "SSVM": lambda: StructuralSVM(task=Parsing()),
    "CRF": lambda: CRF(task=Parsing()),
}
# Those whose weights depend on the order of the sentences, which the seed draws.
BY_ORDER = ("perceptron", "MIRA")
# Learners from partial trees, each with one of the above that takes whole trees. The latent SSVM begins with heads that
# are drawn; to solve its problems more closely, or for more rounds, takes much longer for little.
PARTIAL: dict[str, tuple[Callable[[], Any], str]] = {
    "CRF": (LEARNERS["CRF"], "CRF"),
    "latent SSVM": (lambda: LatentStructuralSVM(task=Parsing(), max_rounds=10, tolerance=0.2), "SSVM"),
}

Trees = tuple[list[Any], list[list[int | None]]]


@dataclass(frozen=True)
class Half:
    """The training sentences with about half of their heads: those left when the others are hidden, and whole ones.

    left: sentences of which some head is known; whole: those of which all heads are; drawn: sentences with all of
    their heads, and about as many of these as are known in `left`.
    """

    left: Trees
    whole: Trees
    drawn: Trees

    @classmethod
    def of(cls, task: Task, seed: int) -> "Half":
        """Draws by seed."""
        rng = random.Random(seed)
        hidden = [[None if rng.random() < HIDDEN else head for head in heads] for heads in task.train_y]
        some = [i for i, heads in enumerate(hidden) if any(head is not None for head in heads)]
        whole = [i for i in some if None not in hidden[i]]
        order = rng.sample(range(len(hidden)), len(hidden))
        known = sum(head is not None for heads in hidden for head in heads)
        enough = sum(total <= known for total in accumulate(len(hidden[i]) for i in order))
        return cls(*(_chosen(task.train_X, y, at) for y, at in (
            (hidden, some), (task.train_y, whole), (task.train_y, order[:enough]),
        )))  # fmt: skip


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    return treebank_files(setting.data, setting.split)


def scored(setting: Setting) -> str:
    """The data that is scored."""
    return f"UD English-EWT, {setting.split}; learned from {SENTENCES} sentences of train; words with the right head"


def run(setting: Setting, report: Report) -> None:
    """Both tables."""
    task = read_parsed(setting.data, setting.split, SENTENCES)
    if len(task.train_X) < SENTENCES:
        raise MissingData(f"{treebank_file(setting.data)} has fewer than {SENTENCES} sentences")
    words, first = sum(map(len, task.eval_X)), setting.seeds[0]
    report.note(
        f"{task.train_tokens:,} words to learn from, {words:,} to score; of whole trees {' and '.join(BY_ORDER)} have "
        f"the mean of all seeds, and the others, which hardly depend on it, the seed {first}."
    )
    with report.section("Whole trees"):
        _whole_trees(setting, report, task)
    with report.section("Half of the heads unknown"):
        _half_trees(setting, report, task)


def _whole_trees(setting: Setting, report: Report, task: Task) -> None:
    """Every learner from all heads."""
    whole, found = (list(task.train_X), list(task.train_y)), []
    for name, make in LEARNERS.items():
        seeds = setting.seeds if name in BY_ORDER else setting.seeds[:1]
        found.append(_measure(report, name, [_fit(make, whole, seed, task) for seed in seeds]))
    report.add("highest less lowest", "UAS", max(found) - min(found), "%", at_most=APART)


def _half_trees(setting: Setting, report: Report, task: Task) -> None:
    """Learners from partial trees, beside those from fewer whole ones."""
    halves = {seed: Half.of(task, seed) for seed in setting.seeds}
    for name, (make, beside) in PARTIAL.items():
        rows = {
            f"{name}, half of the heads": (make, "left"),
            f"{beside}, sentences without a hidden head": (LEARNERS[beside], "whole"),
            f"{beside}, as many heads in whole sentences": (LEARNERS[beside], "drawn"),
        }
        found = []
        for what, (learner, part) in rows.items():
            data = {seed: getattr(half, part) for seed, half in halves.items()}
            found.append(_measure(report, what, [_fit(learner, data[seed], seed, task) for seed in setting.seeds]))
            heads = fmean(sum(head is not None for heads in y for head in heads) for _, y in data.values())
            report.add(what, "known heads", heads, "")
        report.add(f"{name} less {beside} without the other sentences", "UAS", found[0] - found[1], "%", at_least=0.0)
        report.add(f"{name} less {beside} from as many heads", "UAS", found[0] - found[2], "%")


def _fit(make: Callable[[], Any], data: Trees, seed: int, task: Task) -> tuple[float, float]:
    """Per cent of the words that get the right head, and seconds of the fit."""
    learner = make().set_params(random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        took = seconds(lambda: learner.fit(*data))
    return 100 * learner.score(task.eval_X, task.eval_y), took


def _measure(report: Report, what: str, fits: list[tuple[float, float]]) -> float:
    """Reports and returns the mean score of fits, and reports how long one takes."""
    scores, times = zip(*fits, strict=True)
    report.add(what, "UAS", fmean(scores), "%", deviation=stdev(scores) if len(scores) > 1 else None)
    report.add(what, "a fit", fmean(times), "s")
    return fmean(scores)


def _chosen(X: Sequence[Any], y: Sequence[Any], which: Sequence[int]) -> Trees:
    return [X[i] for i in which], [y[i] for i in which]
