"""What the benchmarks of sentence pairs share: LCLR, its approximation and the two-stage system, on the same folds.

Sentences are aligned as graphs (section 5.3 of Chang 2011). The two-stage system aligns words by their similarity alone
and learns to classify what comes out. LCLR begins with its weights, as in the thesis, or with the same similarity. All
systems run with each of some costs C, and are compared at the best C of each, so that none is favoured by the C that
another one likes. Tags, lemmas and trees are sidelight's own.
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
# How closely the convex problems of LCLR are solved.
TOLERANCE = 0.01
TWO_STAGE, JOINT, APPROXIMATE = "two-stage", "LCLR", "Algorithm 12"
SYSTEMS = (TWO_STAGE, JOINT, APPROXIMATE)

Fold = tuple[Sequence[int], Sequence[int]]
Found = dict[str, tuple[list[float], list[float]]]


@dataclass(frozen=True)
class Study:
    """Pairs with their answers, and how they are aligned.

    costs: values of C; rounds: of LCLR at most; staged: whether LCLR begins with the weights of the two-stage system,
    else with those that align its words.
    """

    X: list[Any]
    y: list[bool]
    folds: list[Fold]
    task: GraphAligning
    costs: tuple[float, ...]
    rounds: int
    staged: bool = True

    def some(self, which: Sequence[int]) -> tuple[list[Any], list[bool]]:
        """Some of the pairs."""
        return [self.X[i] for i in which], [self.y[i] for i in which]

    def systems(self, C: float) -> dict[str, Callable[[Any], Any]]:
        """What makes each system, given what LCLR begins with."""
        same: dict[str, Any] = {"task": self.task, "C": C, "size": "length", "random_state": 0, "n_jobs": 1}
        joint = {**same, "tolerance": TOLERANCE, "max_rounds": self.rounds}
        return {
            TWO_STAGE: lambda _: TwoStage(initial=START, **same),
            JOINT: lambda start: LCLR(initial=start, **joint),
            APPROXIMATE: lambda start: LCLR(initial=start, approximate=True, **joint),
        }

    def run(self, C: float, systems: Sequence[str] = SYSTEMS, note: Callable[[str], None] = lambda _: None) -> Found:
        """Accuracies of all folds in per cent, and seconds of fits, by system."""
        made, found = self.systems(C), {name: (list[float](), list[float]()) for name in systems}
        for number, (train, test) in enumerate(self.folds):
            start: Any = START
            for name in systems:
                learner, begun = made[name](start), perf_counter()
                with catch_warnings():
                    simplefilter("ignore", ConvergenceWarning)
                    learner.fit(*self.some(train))
                found[name][1].append(perf_counter() - begun)
                found[name][0].append(100 * learner.score(*self.some(test)))
                start = learner if name == TWO_STAGE and self.staged else start
            note(
                f"C = {C:g}, fold {number}: "
                + ", ".join(f"{name} {values[0][-1]:.2f}" for name, values in found.items())
            )
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


def report_systems(report: Report, study: Study, what: str, systems: Sequence[str] = SYSTEMS) -> dict[str, float]:
    """Reports accuracies and times for every C; returns the mean accuracy of each system at its best C."""
    best = dict.fromkeys(systems, 0.0)
    for C in study.costs:
        for name, (accuracies, times) in study.run(C, systems, report.note).items():
            spread = pstdev(accuracies) if len(accuracies) > 1 else None
            report.add(f"{what}, C = {C:g}", name, fmean(accuracies), "%", deviation=spread)
            report.add(f"a fit, {what}, C = {C:g}", name, fmean(times), "s")
            best[name] = max(best[name], fmean(accuracies))
    return best
