"""Which penalty to learn from how often labelled sequences break a rule: estimates for `CCM` beside each other.

The log-odds with which labelled sequences keep to a rule say nothing of the model. Two estimates do, from the outputs
of models on labelled sequences that are held out: the ratio of these odds and those with which the model's outputs keep
to the rule, and the penalty at which its outputs break the rule as often as the labelled ones do, found by raising the
penalties of rules that are broken too often and lowering the others.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sidelight import CCM
from sidelight.inference.compiled import PENALTY_PER_LOG_ODDS
from sidelight.kernels.compiling import Floats
from sidelight.rules.language import Rule

from .cells import Fit
from .learners import BASES
from .tasks import Draw, Task

# Labelled sequences of each task, and scored ones of all.
COUNTS = {
    "citations": 10, "references": 10, "chunks": 50, "English tags": 50, "Portuguese tags": 10, "entities": 100,
    "seminars": 25, "messages": 200,
}  # fmt: skip
SCORED = 120
# Parts that are held out in turn, rounds in which penalties are matched, what counts have before their logarithm is
# taken, and the largest penalty.
_PARTS, _ROUNDS, _MORE, _MOST = 5, 6, 0.5, 20.0
# Gives penalties for a model, the log-odds of its rules and a draw.
Estimate = Callable[[CCM, Floats, Draw], Floats]


def smaller(tasks: Iterable[Task]) -> list[Task]:
    """The tasks with one number of labelled sequences each, and fewer scored ones."""
    return [replace(task, counts=(COUNTS[task.name],), scored=SCORED) for task in tasks]


def broken(model: CCM, X: Sequence[Any], y: Sequence[Any]) -> Floats:
    """At how many places outputs break each rule of a model."""
    compiled = model.task_.compiled(list(model.rules or ()), X, model.labels_)
    found: Floats = compiled.broken(model.task_.known_to_rules(y, X, model.labels_).labels)
    return found


def _times(factor: float) -> Estimate:
    return lambda model, odds, draw: factor * odds


class HeldOut:
    """Models of all labelled sequences but some, which are held out."""

    def __init__(self, model: CCM, draw: Draw) -> None:
        self.parts = []
        for first in range(min(_PARTS, len(draw.X))):
            held = range(first, len(draw.X), _PARTS)
            rest = [i for i in range(len(draw.X)) if i not in held]
            one = CCM(model.base, model.rules, guard=False).fit([draw.X[i] for i in rest], [draw.y[i] for i in rest])
            self.parts.append((one, [draw.X[i] for i in held]))

    def broken(self, penalties: Floats) -> Floats:
        """At how many places their outputs at these penalties break each rule."""
        total = np.zeros(len(penalties))
        for model, X in self.parts:
            model.penalties_ = penalties
            total += broken(model, X, model.predict(X))
        return total


def _ratio(model: CCM, odds: Floats, draw: Draw) -> Floats:
    own = HeldOut(model, draw).broken(np.zeros_like(odds))
    places = model.task_.compiled(list(model.rules or ()), draw.X, model.labels_).places
    kept = np.maximum(places - own, 0.0)
    return np.maximum(odds - np.log((kept + _MORE) / (own + _MORE)), 0.0)


def _matched(model: CCM, odds: Floats, draw: Draw) -> Floats:
    models, asked, found = HeldOut(model, draw), broken(model, draw.X, draw.y), odds
    for _ in range(_ROUNDS):
        found = np.clip(found + np.log((models.broken(found) + _MORE) / (asked + _MORE)), 0.0, _MOST)
    return found


ESTIMATES: dict[str, Estimate] = {
    "no rules": _times(0.0),
    "log-odds": _times(1.0),
    "1.5 times": _times(1.5),
    "twice": _times(2.0),
    "odds ratio": _ratio,
    "matched": _matched,
}


def fits(rules: list[Rule]) -> dict[str, Fit]:
    """CCM around an HMM and a CRF with each estimate."""

    def fit(base: str, estimate: Estimate) -> Fit:
        def learned(draw: Draw, classes: list[str]) -> CCM:
            model = CCM(BASES[base](classes), rules, guard=False).fit(draw.X, draw.y)
            model.penalties_ = estimate(model, model.penalties_ / PENALTY_PER_LOG_ODDS, draw)
            return model

        return learned

    return {f"CCM({base}), {name}": fit(base, one) for base in ("HMM", "CRF") for name, one in ESTIMATES.items()}
