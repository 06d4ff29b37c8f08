"""Checks of what learners are given, before some of it goes to other learners: inputs, labels, and rules."""

from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from ..errors import DataError
from ..rules.automata import labels_named
from ..rules.language import Rule
from ..supervision import Signal, kind_of, require


def fit_on(base: Any, X: Any, y: Any, classes: Sequence[str]) -> Any:
    """A clone of the base learner fitted so that it knows all of these labels."""
    learner = clone(base)
    if "classes" not in learner.get_params(deep=False):
        raise DataError(f"{type(base).__name__} cannot be a base learner: it has no parameter `classes`")
    return learner.set_params(classes=list(classes)).fit(X, y)


def check_base(learner: Any) -> None:
    """Raise `DataError` unless a learner around another has a learner inside."""
    if "base" not in learner.get_params(deep=False):
        return
    base = learner.base
    if isinstance(base, type) or not hasattr(base, "task_"):
        written = f"{base.__name__}, a class; write {base.__name__}()" if isinstance(base, type) else repr(base)
        raise DataError(f"the base of {type(learner).__name__} is a learner such as CRF() or HMM(), got {written}")


def check_input(learner: Any, X: Any, y: Any) -> list[Any]:
    """Errors about X and y that name inputs by their place in X, before some of them go to other learners.

    Returns y with a list of decisions for every input of which some are known.
    """
    task = learner.task_
    sizes = task.sizes(X)
    if 0 in sizes:
        raise DataError(f"{task.noun} {sizes.index(0)} is empty; leave empty {task.noun}s out")
    read: list[Any] = task.read(y, sizes)
    task.labels(read)
    require(learner, task.kinds(read), task.noun)
    return read


def split_known(learner: Any, X: Any, y: Any) -> tuple[list[int], list[int], list[Any]]:
    """Numbers of the labelled and of the unlabelled inputs, and y as `check_input` gives it."""
    read = check_input(learner, X, y)
    kinds = [kind_of(one) for one in read]
    known = [i for i, kind in enumerate(kinds) if kind is Signal.FULL]
    return known, [i for i, kind in enumerate(kinds) if kind is Signal.NOTHING], read


def known_labels(learner: Any, read: Sequence[Any]) -> list[str]:
    """Labels of y, as `check_input` gives it, and those that the base learner names."""
    return sorted({*learner.task_.labels(read), *(getattr(learner.base, "classes", None) or ())})


def sizes_for_rules(task: Any, X: Sequence[Any]) -> list[Any]:
    """Sizes of inputs as rules read them."""
    return [len(x) for x in X] if task.of_labels else task.sizes(X)


def listed_rules(learner: Any) -> list[Rule]:
    """A learner's rules; an error if they are no list of rules."""
    rules = learner.rules
    if isinstance(rules, Rule | str) or not isinstance(rules or [], Sequence):
        first = "base, " if learner.base is not None else ""
        raise DataError(
            f"rules is a list of rules; write {type(learner).__name__}({first}[rule]), or read_rules(path) for a file, "
            f"got {rules!r}"
        )
    for rule in rules or ():
        if not isinstance(rule, Rule):
            hint = "; parse_rule(...) reads one from text" if isinstance(rule, str) else ""
            raise DataError(f"expected a rule, got {rule!r}{hint}")
    return list(rules or ())


def named_labels(learner: Any, y: Any) -> list[str]:
    """A learner's `classes`, or else the labels of y and of its base learner; where there are none, those of its rules.

    A rule may not add labels to those of y: most likely they are misspelt.
    """
    if learner.classes is not None:
        return list(learner.classes)
    if not learner.task_.has_labels:
        return []
    told = known_labels(learner, y)
    for rule in learner.rules or () if told else ():
        unknown = sorted(labels_named([rule]) - set(told))
        if unknown:
            raise DataError(
                f"the rule {rule.title!r} names the label {unknown[0]!r}, which no {learner.task_.noun} has (they have "
                f"{', '.join(told)}); if it is right, name all labels in classes"
            )
    return told or sorted(labels_named(list(learner.rules or ())))


def all_labels(learner: Any, y: Any) -> list[str]:
    """Those that are named; an error if there are none."""
    labels = named_labels(learner, y)
    if not labels and learner.task_.has_labels:
        raise DataError("no label is known: give labelled sequences, or `classes`, or rules that name the labels")
    return labels
