"""The rules of a model, what they cost there, and where labelled data violates rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import DataError
from ..inference.checking import RuleCheck, count_violations
from ..learners.tasks.labelling import Labelling
from ..rules.automata import compile_rules, labels_named
from ..rules.language import Rule
from ..supervision import Signal

_LABELS = Labelling()


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
    labelled = bool(len(y)) and Signal.FULL in kinds_of(learner.task_, X, y)
    found = [_counted(one) for one in _check(learner.task_, rules, X, y)] if labelled else [None] * len(rules)
    return [
        RuleUse(rule.title, rule.body(), read.kind, read.penalty, read.learned, violations)
        for rule, read, violations in zip(rules, learner.rule_readings(), found, strict=True)
    ]


def kinds_of(task: Any, X: Sequence[Any], y: Sequence[Any]) -> list[Signal]:
    """What is known about the output of each input."""
    kinds: list[Signal] = task.kinds(task.read(y, task.sizes(X)))
    return kinds


def _check(task: Any, rules: Sequence[Rule], X: Sequence[Any], y: Sequence[Any], examples: int = 0) -> list[RuleCheck]:
    return count_violations(rules, X, y, examples=examples, task=task)


def _counted(found: RuleCheck | None) -> Violations | None:
    return None if found is None else Violations(found.violations, found.sequences, found.of)


@dataclass(frozen=True)
class RuleExample:
    """An input that violates a rule; at: the tokens where it does, empty if only the whole does.

    labels: or heads, or links, as y has them.
    """

    sequence: int
    degree: float
    tokens: Any
    labels: list[Any]
    at: list[int]


@dataclass(frozen=True)
class Checked:
    """A rule on data: violations by the gold labels and by predicted ones, None where there are none of these."""

    name: str
    text: str
    corpus: bool
    gold: Violations | None
    predicted: Violations | None
    examples: list[RuleExample]


def check_data(
    rules: Sequence[Rule],
    X: Sequence[Any],
    y: Sequence[Any],
    predicted: Sequence[Any] | None,
    *,
    examples: int,
    task: Any = _LABELS,
) -> list[Checked]:
    """Violations by gold outputs and by predicted ones; examples are of the predicted ones where there are any."""
    labelled = Signal.FULL in kinds_of(task, X, y)
    if not labelled and predicted is None:
        whole = "a label at every token" if task.of_labels else "an output that is known as a whole"
        raise DataError(f"no {task.noun} has {whole}, so there is nothing to check the rules on")
    gold = _check(task, rules, X, y, examples) if labelled else [None] * len(rules)
    other = _check(task, rules, X, predicted, examples) if predicted is not None else [None] * len(rules)
    shown = y if predicted is None else predicted
    out = []
    for rule, left, right in zip(rules, gold, other, strict=True):
        worst = right or left
        found = [
            RuleExample(i, degree, X[i], list(shown[i]), violated_at(rule, X[i], shown[i], task))
            for i, degree in (worst.examples if worst else ())
        ]
        out.append(
            Checked(
                rule.title, rule.body(), rule.only_about_corpus, _counted(left), _counted(right), found
            )
        )  # fmt: skip
    return out


def violated_at(rule: Rule, x: Any, y: Sequence[Any], task: Any = _LABELS) -> list[int]:
    """The tokens at which one output violates a rule; none if only its end tells."""
    if not task.of_labels:
        places: list[int] = task.broken_at(rule, x, y, _labels_of(task, x, y, rule))
        return places
    labels = sorted({*y, *labels_named([rule], y)})
    codes = [labels.index(label) for label in y]
    found: set[int] = set()
    for automaton in compile_rules([rule], [x], labels):
        found.update(rule.shown_at(automaton.charged(codes), codes))
    return sorted(found)


def _labels_of(task: Any, x: Any, y: Any, rule: Rule) -> list[str]:
    known = task.labels(task.read([y], task.sizes([x])))
    return sorted({*known, *labels_named([rule], known)}) if task.has_labels else []
