"""Subsets of the labelled references, and learners trained on them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np

from sidelight import CCM, HMM, CoDL, read_columns, token_accuracy
from sidelight.rules.automata import labels_named
from sidelight.rules.language import Rule

from ..chosen import constant
from ..datasets import MissingData, Task, read_citations, unlabelled_citations
from ..drawing import Panel
from ..paper_settings import COUNTED
from ..setting import Setting
from .published import SIZES

# β, the weight of the model learned from labelled data, wherever it is not varied.
BALANCE = 0.5
ITERATIONS = 5
SMOOTHING = constant("citations.experiment.SMOOTHING")


def hmm(rules: Sequence[Rule] = ()) -> HMM:
    """The HMM of all tables; a few labelled references may lack labels that the rules name."""
    return HMM("word.lower()", emission_smoothing=SMOOTHING, classes=sorted(labels_named(rules)) or None)


def ccm(rules: Sequence[Rule]) -> CCM:
    """That HMM with rules at prediction."""
    return CCM(hmm(rules), rules, **COUNTED)


def codl(rules: Sequence[Rule] = (), *, balance: float = BALANCE, iterations: int = ITERATIONS) -> CoDL:
    """Constraint-driven learning on that HMM; without rules it is hard EM."""
    return CoDL(hmm(rules), rules, balance=balance, iterations=iterations, **COUNTED)


class Mean(NamedTuple):
    """Accuracy in percent over subsets; no deviation where there is one subset only."""

    value: float
    deviation: float | None


@dataclass
class Experiment:
    """Data, seeds, and what was measured already; panels: for the figures, by title."""

    task: Task
    pool: list[Any]
    seeds: tuple[int, ...]
    panels: dict[str, Panel] = field(default_factory=dict)
    measured: dict[tuple[str, int], Mean] = field(default_factory=dict)

    @classmethod
    def read(cls, setting: Setting) -> "Experiment":
        """Read the data; too little of it is an error."""
        task = read_citations(setting.data, setting.split)
        if len(task.train_X) < max(SIZES):
            raise MissingData(f"citations/train.tsv has {len(task.train_X)} references, {max(SIZES)} are needed")
        pool, _ = read_columns(unlabelled_citations(setting.data), label=None)
        return cls(task, pool, setting.seeds)

    def subset(self, count: int, seed: int) -> tuple[list[Any], list[Any]]:
        """Labelled references drawn with a seed."""
        drawn = np.random.default_rng(seed).choice(len(self.task.train_X), count, replace=False)
        return [self.task.train_X[i] for i in drawn], [self.task.train_y[i] for i in drawn]

    def with_pool(self, count: int, seed: int) -> tuple[list[Any], list[Any]]:
        """The same, with the unlabelled references after them."""
        X, y = self.subset(count, seed)
        return X + self.pool, y + [None] * len(self.pool)

    def supervised(self, name: str, make: Callable[[], Any], count: int) -> Mean:
        """Accuracy after learning from this many labelled references; `name` stands for the learner's setting."""
        return self._mean(name, make, count, self.subset)

    def semi_supervised(self, name: str, make: Callable[[], Any], count: int) -> Mean:
        """Accuracy after learning from the unlabelled references as well."""
        return self._mean(name, make, count, self.with_pool)

    def _mean(self, name: str, make: Callable[[], Any], count: int, data: Callable[[int, int], Any]) -> Mean:
        """Measure once for each name and count, whatever table asks."""
        if (name, count) not in self.measured:
            # All references are one subset, in whatever order.
            seeds = self.seeds if count < len(self.task.train_X) else self.seeds[:1]
            scores = [self.accuracy(make().fit(*data(count, seed))) for seed in seeds]
            self.measured[name, count] = Mean(fmean(scores), stdev(scores) if len(scores) > 1 else None)
        return self.measured[name, count]

    def accuracy(self, model: Any) -> float:
        """Token accuracy in percent on what is scored."""
        return 100 * float(token_accuracy(self.task.eval_y, model.predict(self.task.eval_X)))
