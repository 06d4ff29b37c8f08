"""What is known about an output: y may be full, partial, nothing, or a yes/no.

["AUTHOR", "AUTHOR", "TITLE"]        every label is known
[None, {"AUTHOR", "EDITOR"}, None]   unknown, one of these, unknown
None                                 nothing is known
GOOD, BAD                            the input has a good structure, or has none
Partial([(0, 0), (3, 2)])            these links are in the output; the others are unknown
Partial({"a": True, "b": False})     the variable "a" of a program is 1, and "b" is 0; the others are unknown
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations
from typing import Any

from .errors import NotSupported, listed

# What labels are: strings, and of documents whole numbers or truth values too.
LABELS = (str, int)
Label = str | int | bool


class Companion(Enum):
    """The yes/no signal about an input."""

    GOOD = "GOOD"
    BAD = "BAD"

    def __repr__(self) -> str:
        return self.name


GOOD = Companion.GOOD
BAD = Companion.BAD


@dataclass(frozen=True)
class Partial:
    """Part of an output: what it has for sure, as y of a task whose outputs are sets.

    Parameters
    ----------
    known : collection
        The links that are known, written as in y; of programs the names that are 1, or a dict that says of names
        whether they are.
    """

    known: Any


@dataclass(frozen=True)
class Given:
    """What y says of one output, as a task with outputs of its own has read it; y: as it was written."""

    kind: "Signal"
    y: Any


class Signal(Enum):
    """Kinds of knowledge about one output."""

    FULL = "full labels"
    PARTIAL = "partial labels"
    NOTHING = "unlabelled {}s (None)"
    COMPANION = "GOOD / BAD"


def require(learner: Any, kinds: Sequence[Signal], noun: str = "sequence") -> None:
    """Raise `NotSupported` if y holds a kind the learner cannot use, naming learners that can use all that is given."""
    from .learners.registry import able

    name, given = type(learner).__name__, set(kinds)
    for index, kind in enumerate(kinds):
        if kind not in learner.signals:
            others = able(given, learner.task_, learner.rules or ())
            advice = f"use {' or '.join(others)}" if others else _left_out(given, learner, noun)
            raise NotSupported(f"{name} cannot learn from {kind.value.format(noun)} ({noun} {index}); {advice}")


def _left_out(given: set[Signal], learner: Any, noun: str) -> str:
    """The advice where no learner can use all kinds of y together: add full labels, or leave out as few as possible."""
    from .learners.registry import able

    rules = learner.rules or ()
    others = able(given | {Signal.FULL}, learner.task_, rules)
    if others:
        return f"with some {noun}s of full labels too, {' or '.join(others)} can use all"
    for size in range(len(given) - 1, 0, -1):
        for some in combinations(sorted(given, key=lambda one: one.name), size):
            others = able(some, learner.task_, rules)
            if others:
                kept, dropped = ([one.value.format(noun) for one in part] for part in (some, given - set(some)))
                return f"leave out {listed(dropped)}, and {' or '.join(others)} can use {listed(kept)}"
    return "leave them out"


def kind_of(known: Any) -> Signal:
    """The kind of one element of y."""
    if known is None:
        return Signal.NOTHING
    if isinstance(known, Companion):
        return Signal.COMPANION
    if isinstance(known, Given):
        return known.kind
    if set(map(type, known)) <= {str} or all(isinstance(label, LABELS) for label in known):
        return Signal.FULL
    if all(label is None for label in known):
        return Signal.NOTHING
    return Signal.PARTIAL


class StoredOutputs(Sequence[Any]):
    """y that stays on disk: what is asked of all its elements is answered without making a list of them."""

    @property
    @abstractmethod
    def offsets(self) -> Any:
        """Where the tokens of each sequence begin: (sequences + 1,) int64."""

    @property
    @abstractmethod
    def entries(self) -> Sequence[Any]:
        """Labels, and sets of labels, that the codes of tokens stand for."""

    @abstractmethod
    def codes(self, first: int, last: int) -> Any:
        """What is known of the tokens of sequences first to last - 1: int32 numbers of `entries`, below 0 for none."""

    @abstractmethod
    def kinds(self) -> list["Signal"]:
        """The kind of every element."""

    @abstractmethod
    def used(self) -> list[Any]:
        """The entries that occur."""

    @abstractmethod
    def full_counts(self) -> Counter[str]:
        """How many tokens of fully labelled sequences have each label."""

    @abstractmethod
    def take(self, which: Any) -> "StoredOutputs":
        """Some elements, in this order."""


def all_kinds(y: Sequence[Any]) -> list[Signal]:
    """Returns the kind of every element of y."""
    found: list[Signal] = y.kinds() if hasattr(y, "kinds") else [kind_of(known) for known in y]
    return found


def some_known(y: Any, which: Iterable[int]) -> Any:
    """Returns some elements of y in this order; what is on disk stays there."""
    return y.take(which) if hasattr(y, "kinds") else [y[i] for i in which]


def by_kind(y: Sequence[Any]) -> dict[Signal, list[int]]:
    """Returns the numbers of the elements of y of each kind."""
    found: dict[Signal, list[int]] = {kind: [] for kind in Signal}
    for i, kind in enumerate(all_kinds(y)):
        found[kind].append(i)
    return found
