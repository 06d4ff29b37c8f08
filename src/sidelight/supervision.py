"""What is known about an output: y may be full, partial, nothing, or a yes/no.

["AUTHOR", "AUTHOR", "TITLE"]        every label is known
[None, {"AUTHOR", "EDITOR"}, None]   unknown, one of these, unknown
None                                 nothing is known
GOOD, BAD                            the input has a good structure, or has none
"""

from collections.abc import Iterable
from enum import Enum
from typing import Any

from .errors import NotSupported


class Companion(Enum):
    """The yes/no signal about an input."""

    GOOD = "GOOD"
    BAD = "BAD"

    def __repr__(self) -> str:
        return self.name


GOOD = Companion.GOOD
BAD = Companion.BAD


class Signal(Enum):
    """Kinds of knowledge about one output."""

    FULL = "full labels"
    PARTIAL = "partial labels"
    NOTHING = "unlabelled {}s (None)"
    COMPANION = "GOOD / BAD"


def require(learner: Any, kinds: Iterable[Signal], noun: str = "sequence") -> None:
    """Raise `NotSupported`, naming learners that would work, if y holds a kind the learner cannot use."""
    from .learners.registry import users

    name = type(learner).__name__
    for index, kind in enumerate(kinds):
        if kind not in learner.signals:
            others = users(kind, noun)
            advice = f"use {' or '.join(others)}" if others else "leave them out"
            raise NotSupported(f"{name} cannot learn from {kind.value.format(noun)} ({noun} {index}); {advice}")


def kind_of(known: Any) -> Signal:
    """The kind of one element of y."""
    if known is None:
        return Signal.NOTHING
    if isinstance(known, Companion):
        return Signal.COMPANION
    if all(isinstance(label, str) for label in known):
        return Signal.FULL
    if all(label is None for label in known):
        return Signal.NOTHING
    return Signal.PARTIAL
