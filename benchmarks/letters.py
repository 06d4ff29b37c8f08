"""Handwritten words, letter by letter: a structural SVM on pixels and a first-order chain, by cross-validation."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median, pstdev
from string import ascii_lowercase
from time import perf_counter
from typing import Any

import numpy as np

from sidelight import StructuralSVM

from .report import Report
from .setting import Setting

COSTS = (0.001, 0.01, 0.1)
ASKED = 80.0


@dataclass(frozen=True)
class Words:
    """Words as arrays of pixels and a constant, (letters, 129) each; their letters; and the fold each is in."""

    X: list[Any]
    y: list[list[str]]
    fold: Any

    @classmethod
    def read(cls, path: Path) -> "Words":
        """Unpack the images."""
        with np.load(path) as data:
            pixels, labels, lengths, fold = (data[name] for name in ("pixels", "labels", "lengths", "folds"))
        image = np.unpackbits(pixels, axis=1).astype(float)
        edges = np.cumsum(lengths)[:-1]
        X = np.split(np.hstack((image, np.ones((len(image), 1)))), edges)
        return cls(X, [[ascii_lowercase[k] for k in word] for word in np.split(labels, edges)], fold)

    def of(self, folds: Sequence[int]) -> tuple[list[Any], list[list[str]]]:
        """The words of some folds."""
        which = np.flatnonzero(np.isin(self.fold, folds)).tolist()
        return [self.X[i] for i in which], [self.y[i] for i in which]


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads; there is no test file."""
    return [setting.data / "letters" / "train.npz"]


def scored(setting: Setting) -> str:
    """The data that is scored."""
    return "letters, each fold in turn"


def run(setting: Setting, report: Report) -> None:
    """Each fold in turn is scored by models trained on all others, and on the next one alone."""
    (path,) = files(setting)
    words = Words.read(path)
    folds = sorted(set(words.fold.tolist()))
    report.note(
        f"{len(words.X):,} words, {sum(map(len, words.X)):,} letters, {len(folds)} folds. Each is scored in turn; C is "
        f"chosen for it from {', '.join(map(str, COSTS))} by training on the fold after it and scoring the one after "
        "that. --split and --seeds change nothing."
    )
    many, one, times = [], [], []
    for place, fold in enumerate(folds):
        after, then = ([folds[(place + k) % len(folds)]] for k in (1, 2))
        models = [fit(words, after, C) for C in COSTS]
        best = max(range(len(COSTS)), key=lambda k: accuracy(models[k], words, then))
        one.append(accuracy(models[best], words, [fold]))
        started = perf_counter()
        model = fit(words, [other for other in folds if other != fold], COSTS[best])
        times.append(perf_counter() - started)
        many.append(accuracy(model, words, [fold]))
        report.note(f"fold {fold}: {many[-1]:.2f} %, C = {COSTS[best]}, {times[-1]:.1f} s")
    for what, scores, asked in (("all other folds", many, ASKED), ("one other fold", one, None)):
        spread = pstdev(scores)
        report.add(f"letters, trained on {what}", "sidelight", fmean(scores), "%", deviation=spread, at_least=asked)
    report.add("training on all other folds", "sidelight", median(times), "s")


def fit(words: Words, folds: Sequence[int], C: float) -> StructuralSVM:
    """A model of some folds."""
    return StructuralSVM(C=C, classes=list(ascii_lowercase)).fit(*words.of(folds))


def accuracy(model: StructuralSVM, words: Words, folds: Sequence[int]) -> float:
    """Letters that are right, in per cent."""
    return 100 * float(model.score(*words.of(folds)))
