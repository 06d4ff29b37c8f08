"""The rules of a model, what they cost there, and where labelled data violates rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import DataError
from ..inference.checking import RuleCheck, check
from ..labels import label_set
from ..rules.automata import compile_rules, labels_named
from ..rules.language import Rule
from ..supervision import Signal, kind_of


@dataclass(frozen=True)
class Violations:
    """How much labels violate a rule, and the sequences in which they do, of how many."""

    degree: float
    sequences: int
    of: int


@dataclass(frozen=True)
class RuleUse:
    """A rule in a model. penalty: what each unit of violation costs, None for a hard rule.

    learned: from the training labels, and from those that unlabelled sequences got, where there are any.
    """

    name: str
    text: str
    reading: str
    penalty: float | None
    learned: bool
    violations: Violations | None


def rules_of(learner: Any, X: Sequence[Any] = (), y: Sequence[Any] = ()) -> list[RuleUse]:
    """The rules of a fitted learner, with their violations by labelled data if there is any; [] if it has none."""
    rules: list[Rule] = list(learner.rules or ())
    if not rules:
        return []
    labelled = any(kind_of(known) is Signal.FULL for known in y)
    found = [_counted(one) for one in check(rules, X, y, examples=0)] if labelled else [None] * len(rules)
    return [
        RuleUse(rule.title, rule.body(), read.kind, read.penalty, read.learned, violations)
        for rule, read, violations in zip(rules, learner.rule_readings(), found, strict=True)
    ]


def _counted(found: RuleCheck | None) -> Violations | None:
    return None if found is None else Violations(found.violations, found.sequences, found.of)


@dataclass(frozen=True)
class Example:
    """A sequence that violates a rule; at: the tokens where it does, empty if only the whole does."""

    sequence: int
    degree: float
    tokens: list[Any]
    labels: list[str]
    at: list[int]


@dataclass(frozen=True)
class Checked:
    """A rule on data: violations by the gold labels and by predicted ones, None where there are none of these."""

    name: str
    text: str
    corpus: bool
    gold: Violations | None
    predicted: Violations | None
    examples: list[Example]


def check_data(
    rules: Sequence[Rule], X: Sequence[Any], y: Sequence[Any], predicted: Sequence[Any] | None, *, examples: int
) -> list[Checked]:
    """Violations by gold labels and by predicted ones; examples are of the predicted ones where there are any."""
    labelled = any(kind_of(known) is Signal.FULL for known in y)
    if not labelled and predicted is None:
        raise DataError("no sequence has a label at every token, so there is nothing to check the rules on")
    gold = check(rules, X, y, examples=examples) if labelled else [None] * len(rules)
    said = check(rules, X, predicted, examples=examples) if predicted is not None else [None] * len(rules)
    shown = y if predicted is None else predicted
    out = []
    for rule, left, right in zip(rules, gold, said, strict=True):
        worst = right or left
        found = [
            Example(i, degree, list(X[i]), list(shown[i]), violated_at(rule, X[i], shown[i]))
            for i, degree in (worst.examples if worst else ())
        ]
        out.append(
            Checked(
                rule.title, rule.body(), rule.only_about_corpus, _counted(left), _counted(right), found
            )
        )  # fmt: skip
    return out


def labels_unused(rules: Sequence[Rule], *outputs: Sequence[Any]) -> dict[str, list[str]]:
    """Labels that rules name but that occur nowhere, with the titles of these rules."""
    there = {label for y in outputs for label in label_set(y)}
    found: dict[str, list[str]] = {}
    for rule in rules:
        for label in sorted(labels_named([rule]) - there):
            found.setdefault(label, []).append(rule.title)
    return found


def violated_at(rule: Rule, x: Any, y: Sequence[str]) -> list[int]:
    """The tokens at which one sequence violates a rule; none if only its end tells."""
    labels = sorted({*y, *labels_named([rule])})
    codes = [labels.index(label) for label in y]
    places: set[int] = set()
    for automaton in compile_rules([rule], [x], labels):
        places.update(rule.shown_at(automaton.charged(codes), codes))
    return sorted(places)
