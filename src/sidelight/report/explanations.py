"""What the rules of a model change in one sequence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..inference.checking import check
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
    """The labels were there no rules, how many tokens these differ at, and the rules that either labels violate."""

    without: list[str]
    tokens: int
    rules: list[RuleEffect]


def what_rules_changed(learner: Any, tokens: Any, labels: Sequence[str]) -> Change | None:
    """Compare a prediction with what the same model says without its rules; None if it has none."""
    uses = rules_of(learner)
    if not uses or not learner.decoder_.reads_tokens:
        return None
    without: list[str] = learner.without_rules().predict([tokens])[0]
    before = check(learner.rules, [tokens], [without], examples=0)
    after = check(learner.rules, [tokens], [list(labels)], examples=0)
    effects = [
        RuleEffect(use.name, use.penalty, a.violations, b.violations)
        for use, a, b in zip(uses, before, after, strict=True)
        if a.violations or b.violations
    ]
    return Change(without, sum(map(str.__ne__, without, labels)), effects)
