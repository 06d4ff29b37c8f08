"""The probabilities of labels in one sequence, before and after rules."""

from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import NotSupported
from ..kernels.compiling import Floats
from .explanations import what_rules_changed


@dataclass(frozen=True)
class Table:
    """Probabilities, (tokens, labels), and the best labels."""

    title: str
    chance: Floats
    labels: list[str]


@dataclass(frozen=True)
class Effect:
    """What a rule costs: its price in a projection, None if infinite, or its penalty, None if hard; and what it is
    about, before and after, with its bound.
    """

    rule: str
    price: float | None
    before: float | None
    after: float | None
    bound: str


@dataclass(frozen=True)
class Posteriors:
    """One table, or two, and what the rules between them did; measure: what `before` and `after` are."""

    tokens: list[Any]
    classes: list[str]
    tables: list[Table]
    effects: list[Effect]
    cost: str = "price"
    measure: str = "expected"

    @property
    def changed(self) -> list[int]:
        """The tokens whose best label changed."""
        first, last = self.tables[0].labels, self.tables[-1].labels
        return [t for t, (a, b) in enumerate(zip(first, last, strict=True)) if a != b]


def posteriors_of(learner: Any, x: Sequence[Any]) -> Posteriors:
    """What a fitted learner says of a sequence without and with its rules, or only once where it predicts without."""
    learner = learner.chosen_
    if learner.rules:
        with suppress(NotSupported):  # some learners, rules, norms and temperatures have no price for each rule
            return _projected(learner, x)
    if learner.rules and learner.decoder_.reads_tokens:
        return _penalised(learner, x)
    table = Table("probabilities", learner.predict_marginals([x])[0], learner.predict([x])[0])
    return Posteriors(list(x), list(learner.classes_), [table], [])


def _projected(learner: Any, x: Sequence[Any]) -> Posteriors:
    rows, found = learner.project([x])
    scores = learner.model_.scores([x], learner.n_jobs)
    free = rows.tilt(scores, np.zeros(len(rows)), n_jobs=1)
    under = copy(learner)
    under.decode = "projected"
    tables = [
        Table("the model", free.parts.unary, learner.without_rules().predict([x])[0]),
        Table("projected onto the rules", found.parts.unary, under.predict([x])[0]),
    ]
    every = [rows.statement(row) for row in range(len(rows))]
    effects = [
        Effect(
            s.title,
            float(price) if np.isfinite(price) else None,
            None if s.corpus else float(before),
            None if s.corpus else float(after),
            "of the corpus" if s.corpus else f"{s.op} {s.bound:g}",
        )
        for s, price, before, after in zip(every, found.prices, free.expected, found.expected, strict=True)
    ]
    return Posteriors(list(x), list(learner.classes_), tables, effects)


def _penalised(learner: Any, x: Sequence[Any]) -> Posteriors:
    labels = learner.predict([x])[0]
    change = what_rules_changed(learner, x, labels)
    without = labels if change is None else change.without
    before = Table("the model", learner.without_rules().predict_marginals([x])[0], without)
    chosen = np.array([[label == name for name in learner.classes_] for label in labels], float)
    after = Table("best labels under the rules", chosen, labels)
    if learner.decoder_.folds:
        with suppress(NotSupported):  # rules about whole sequences have a best output, but no probabilities
            after = Table("under the rules", learner.predict_marginals([x])[0], labels)
    effects = [Effect(e.name, e.penalty, e.without, e.with_rules, "") for e in (change.rules if change else ())]
    return Posteriors(list(x), list(learner.classes_), [before, after], effects, "penalty", "violations")
