"""What the rules of a model change in one sequence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..inference.checking import count_violations
from .outputs import outputs_of
from .rules import rules_of


@dataclass(frozen=True)
class RuleEffect:
    """Degrees to which the labels without rules, and those with them, violate a rule."""

    name: str
    penalty: float | None
    without: float
    with_rules: float


@dataclass(frozen=True)
class Change:
    """The output were there no rules, how many decisions differ in it, and the rules that either output violates."""

    without: list[Any]
    tokens: int
    rules: list[RuleEffect]


def what_rules_changed(learner: Any, tokens: Any, labels: Sequence[Any]) -> Change | None:
    """Compare a prediction with what the same model says without its rules; None if it has none."""
    uses = rules_of(learner)
    if not uses or not learner.decoder_.reads_tokens:
        return None
    without: list[Any] = learner.without_rules().predict_structure([tokens])[0]
    before = count_violations(learner.rules, [tokens], [without], examples=0, task=learner.task_)
    after = count_violations(learner.rules, [tokens], [list(labels)], examples=0, task=learner.task_)
    effects = [
        RuleEffect(use.name, use.penalty, a.violations, b.violations)
        for use, a, b in zip(uses, before, after, strict=True)
        if a.violations or b.violations
    ]
    return Change(without, outputs_of(learner.task_).changes(without, labels), effects)
