"""What is drawn for each seed, and the two learners on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np

from sidelight import BAD, GOOD, JLIS, StructuralSVM, shuffled

from ..datasets import MissingData, Task
from ..report import Report, quoted

OURS = "sidelight"
SVM, COMPANIONS = "SSVM", "J-LIS"
GRID = (0.1, 1.0, 10.0)


@dataclass(frozen=True)
class Sample:
    """Labelled sequences, GOOD ones without labels, and the seed they were drawn with."""

    X: list[Any]
    y: list[Any]
    good: list[Any]
    seed: int

    def bad(self, k: int = 1) -> list[Any]:
        """Every GOOD sequence k times with its tokens shuffled."""
        return shuffled(self.good, k, seed=self.seed)


def draw(
    task: Task,
    seed: int,
    *,
    tokens: int = 0,
    sequences: int = 1,
    pool: Sequence[Any] = (),
    good: int,
    shortest: int = 2,
) -> Sample:
    """Training sequences in random order until they have this many tokens, but at least this many sequences.

    GOOD ones are of the pool, or those that follow. Only those of at least `shortest` tokens count: a few words are as
    good in another order.
    """
    order = np.random.default_rng(seed).permutation(len(task.train_X)).tolist()
    lengths = np.cumsum([len(task.train_X[i]) for i in order])
    count = max(int(np.searchsorted(lengths, tokens)) + 1, sequences)
    if count > len(order):
        raise MissingData(f"{tokens} labelled tokens are needed, the training data has {task.train_tokens}")
    labelled, rest = order[:count], order[count:]
    found = [x for x in pool or (task.train_X[i] for i in rest) if len(x) >= shortest][:good]
    if len(found) < good:
        raise MissingData(f"{good} more sequences of {shortest} tokens are needed, there are {len(found)}")
    return Sample([task.train_X[i] for i in labelled], [task.train_y[i] for i in labelled], found, seed)


class Costs(NamedTuple):
    """C of the structural SVM, and C1 and C2 of J-LIS."""

    svm: float
    labelled: float
    companions: float


@dataclass(frozen=True)
class Comparison:
    """Both learners with the same features; options: what else both are given."""

    task: Task
    features: Sequence[Any]
    options: dict[str, Any]

    @property
    def classes(self) -> list[str]:
        """All labels, those that are not in a sample as well."""
        return sorted({label for y in self.task.train_y for label in y})

    def svm(self, sample: Sample, C: float) -> float:
        """Accuracy from the labelled sequences."""
        model = StructuralSVM(self.features, C=C, classes=self.classes, random_state=sample.seed, **self.options)
        return self.accuracy(model.fit(sample.X, sample.y))

    def jlis(self, sample: Sample, costs: Costs, bad: list[Any], **options: Any) -> float:
        """Accuracy from all."""
        return self.accuracy(self.joint(sample, costs, bad, **options))

    def joint(self, sample: Sample, costs: Costs, bad: list[Any], **options: Any) -> JLIS:
        """J-LIS, fitted to all."""
        model = JLIS(
            self.features,
            C1=costs.labelled,
            C2=costs.companions,
            classes=self.classes,
            random_state=sample.seed,
            **{**self.options, **options},
            guard=False,
        )
        X, y = sample.X + sample.good + bad, sample.y + [GOOD] * len(sample.good) + [BAD] * len(bad)
        return model.fit(X, y)

    def accuracy(self, model: Any) -> float:
        """Tokens that are right, in per cent."""
        return 100 * float(model.score(self.task.eval_X, self.task.eval_y))


def add(
    report: Report,
    what: str,
    values: Sequence[float],
    *,
    asked: float | None = None,
    quote: tuple[str, float] | None = None,
) -> float:
    """One row: the mean over the seeds, beside a published number and where it is from; returns the mean."""
    mean = fmean(values)
    report.add(what, OURS, mean, "%", deviation=stdev(values) if len(values) > 1 else None, at_least=asked)
    if quote is not None:
        report.add(what, quoted(quote[0]), quote[1], "%")
    return mean


def hold_out(task: Task, count: int) -> Task:
    """The same training data with its last sequences to be scored on, to choose costs by."""
    X, y = task.train_X, task.train_y
    return Task(X[:-count], y[:-count], X[-count:], y[-count:])


def search_costs(report: Report, what: str, comparison: Comparison, samples: Sequence[Sample], **options: Any) -> None:
    """Both learners with every cost of the grid; C of the SVM and C1 of J-LIS go together."""
    for C in GRID:
        add(report, f"{what}, {SVM}, C = {C}", [comparison.svm(one, C) for one in samples])
    for first, second in product(GRID, GRID):
        costs = Costs(first, first, second)
        values = [comparison.jlis(one, costs, one.bad(), **options) for one in samples]
        add(report, f"{what}, {COMPANIONS}, C1 = {first}, C2 = {second}", values)
