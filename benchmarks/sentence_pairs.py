"""What the benchmarks of sentence pairs share: LCLR, its approximation and the two-stage system, on the same folds.

Sentences are aligned as graphs (section 5.3 of Chang 2011). The two-stage system aligns words by their similarity alone
and learns to classify what comes out; LCLR begins with its weights. Tags, lemmas and trees are sidelight's own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, pstdev
from time import perf_counter
from typing import Any
from warnings import catch_warnings, simplefilter

from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from sidelight import LCLR, GraphAligning, Sentence, TwoStage

from .report import Report
from .sentences import Pairs

# What aligns words in the first stage: those that are more similar than 0.4, the most similar ones first.
START = {"similarity": 1.0, "link": -0.4}
FOLDS = 5
# How closely LCLR is solved, and rounds at most: more of either changes accuracies by less than folds differ.
OPTIONS = {"tolerance": 0.01, "max_rounds": 4}
TWO_STAGE, JOINT, APPROXIMATE = "two-stage", "LCLR", "Algorithm 12"
SYSTEMS = (TWO_STAGE, JOINT, APPROXIMATE)

Fold = tuple[Sequence[int], Sequence[int]]


@dataclass(frozen=True)
class Study:
    """Pairs with their answers, how they are aligned, and what missed margins cost; size: κ of the learners."""

    X: list[Any]
    y: list[bool]
    folds: list[Fold]
    task: GraphAligning
    C: float
    size: Any = "length"

    def some(self, which: Sequence[int]) -> tuple[list[Any], list[bool]]:
        """Some of the pairs."""
        return [self.X[i] for i in which], [self.y[i] for i in which]

    def systems(self) -> dict[str, Callable[[Any], Any]]:
        """What makes each system, given the fitted two-stage one (None for that itself)."""
        same = {"task": self.task, "C": self.C, "size": self.size, "random_state": 0, "n_jobs": 1}
        return {
            TWO_STAGE: lambda _: TwoStage(start=START, **same),
            JOINT: lambda start: LCLR(start=start, **same, **OPTIONS),
            APPROXIMATE: lambda start: LCLR(start=start, approximate=True, **same, **OPTIONS),
        }

    def run(self, systems: Sequence[str] = SYSTEMS, note: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
        """Accuracies of all folds in per cent, and seconds of fits, by system."""
        made, found = self.systems(), {name: ([], []) for name in systems}
        for number, (train, test) in enumerate(self.folds):
            start: Any = None
            for name in systems:
                learner, begun = made[name](start), perf_counter()
                with catch_warnings():
                    simplefilter("ignore", ConvergenceWarning)
                    learner.fit(*self.some(train))
                found[name][1].append(perf_counter() - begun)
                found[name][0].append(100 * learner.score(*self.some(test)))
                start = learner if name == TWO_STAGE else start
            note(f"fold {number}: " + ", ".join(f"{name} {values[0][-1]:.2f}" for name, values in found.items()))
        return found

    def changed(self, **options: Any) -> "Study":
        """The same pairs, aligned otherwise."""
        return replace(self, task=replace(self.task, **options))

    def first(self, count: int) -> "Study":
        """The first pairs alone, with folds of their own."""
        return replace(self, X=self.X[:count], y=self.y[:count], folds=folds_of(self.y[:count], 0))


def graphs(pairs: Pairs) -> list[tuple[Sentence, Sentence]]:
    """Parsed sentences as the task takes them."""
    return [
        tuple(Sentence.parsed(one.words, one.heads, one.labels, tags=one.tags, lemmas=one.lemmas) for one in pair)
        for pair in pairs
    ]  # type: ignore[misc]


def folds_of(y: Sequence[bool], seed: int) -> list[Fold]:
    """Folds with the same share of either answer."""
    split = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    return [(train.tolist(), test.tolist()) for train, test in split.split(y, y)]


def report_systems(report: Report, what: str, found: dict[str, Any]) -> dict[str, float]:
    """Reports accuracies and times; returns the mean accuracies."""
    for name, (accuracies, times) in found.items():
        report.add(what, name, fmean(accuracies), "%", deviation=pstdev(accuracies) if len(accuracies) > 1 else None)
        report.add(f"a fit, {what}", name, fmean(times), "s")
    return {name: fmean(accuracies) for name, (accuracies, _) in found.items()}
