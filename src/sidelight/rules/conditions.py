"""Conditions on the input: where in a sequence a rule speaks.

A condition is a column expression (`word.isin("pp", "pages")`, true where it has a value), a conjunction of them, the
position (`first`, `last`), any function of a sequence and a position, or `any_of`, `all_of` and `~` of conditions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..features.columns import Column, Template, require_offset
from ..features.templates import coded_column, sequence_offsets

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Condition:
    """Base of the conditions that are not column expressions."""

    readable: ClassVar[frozenset[str]] = frozenset()

    def __invert__(self) -> "Condition":
        return Not(self)

    def __and__(self, other: "Where") -> "Condition":
        return JoinedConditions(True, (self, other))

    def __rand__(self, other: "Where") -> "Condition":
        return JoinedConditions(True, (other, self))

    def __or__(self, other: "Where") -> "Condition":
        return JoinedConditions(False, (self, other))

    def __ror__(self, other: "Where") -> "Condition":
        return JoinedConditions(False, (other, self))

    def __bool__(self) -> bool:
        raise DataError(f"the condition {self!r} is no truth value; for and, or, not write &, | and ~")

    def __getitem__(self, offset: int) -> "Condition":
        raise DataError(f"the condition {self!r} cannot be moved to a neighbour; column expressions can")

    __iter__ = None  # indexing never ends, so without this a loop would not either

    def mask(self, X: Sequence[Any]) -> Mask:
        """Where it holds: (tokens,) bool."""
        raise NotImplementedError


Where = Condition | Column | Template


def check_condition(condition: Any) -> None:
    """Raise `DataError` unless it is a condition; a comparison such as word == "pp" is a truth value, not one."""
    if not isinstance(condition, Condition | Column | Template):
        hint = '; for a word write word.isin("pp")' if isinstance(condition, bool | str) else ""
        hint = "; write when(function)" if callable(condition) else hint
        raise DataError(f"a condition is a column expression, a position or when(...), got {condition!r}{hint}")


@dataclass(frozen=True, repr=False)
class Position(Condition):
    """The k-th token from the beginning (0, 1, ...) or from the end (-1, -2, ...)."""

    index: int

    def mask(self, X: Sequence[Any]) -> Mask:
        """One token of every sequence that is long enough."""
        offsets = sequence_offsets(X)
        out = np.zeros(int(offsets[-1]), bool)
        lengths = np.diff(offsets)
        enough = lengths > self.index if self.index >= 0 else lengths >= -self.index
        base = offsets[:-1] if self.index >= 0 else offsets[1:]
        out[base[enough] + self.index] = True
        return out

    def __repr__(self) -> str:
        return {0: "first", -1: "last"}.get(self.index, f"position({self.index})")


@dataclass(frozen=True, repr=False)
class Function(Condition):
    """Any function of a sequence and a position. Rules with one cannot be written to a file."""

    function: Callable[[Any, int], Any]

    def mask(self, X: Sequence[Any]) -> Mask:
        """Calls the function for every token; an exception names the place."""
        out = []
        for i, x in enumerate(X):
            for t in range(len(x)):
                try:
                    out.append(bool(self.function(x, t)))
                except Exception as error:
                    raise DataError(f"{self} raised {error!r} at sequence {i}, token {t}") from error
        return np.array(out, bool)

    def __repr__(self) -> str:
        return f"when({getattr(self.function, '__name__', 'function')})"


@dataclass(frozen=True, repr=False)
class JoinedConditions(Condition):
    """All or any of several conditions."""

    every: bool
    parts: tuple[Where, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise DataError(f"{'all_of' if self.every else 'any_of'}() needs at least one condition")
        for part in self.parts:
            check_condition(part)

    def mask(self, X: Sequence[Any]) -> Mask:
        """The conditions' masks, joined."""
        masks = np.stack([mask_of(part, X) for part in self.parts])
        return np.asarray(masks.all(axis=0) if self.every else masks.any(axis=0))

    def __getitem__(self, offset: int) -> "JoinedConditions":
        return JoinedConditions(self.every, tuple(part[offset] for part in self.parts))

    def __repr__(self) -> str:
        return f"{'all_of' if self.every else 'any_of'}({', '.join(map(repr, self.parts))})"


@dataclass(frozen=True, repr=False)
class Not(Condition):
    """Where the condition does not hold."""

    part: Where

    def mask(self, X: Sequence[Any]) -> Mask:
        """The opposite mask."""
        return ~mask_of(self.part, X)

    def __invert__(self) -> Any:
        return self.part

    def __getitem__(self, offset: int) -> "Not":
        return Not(self.part[offset])

    def __repr__(self) -> str:
        return f"~({self.part!r})" if isinstance(self.part, Template) else f"~{self.part!r}"


first = Position(0)
last = Position(-1)


def position(index: int) -> Position:
    """Make the condition that holds at the token with this number.

    Parameters
    ----------
    index : int
        The number of the token, from 0; negative numbers count from the end.

    Returns
    -------
    Position
        The condition.
    """
    require_offset(index, "a position is a whole number")
    return Position(index)


def when(function: Callable[[Any, int], Any]) -> Function:
    """Make a condition from any function of a sequence and a position.

    Parameters
    ----------
    function : callable
        It is called with a sequence and the position of a token, and its result is taken as true or false.

    Returns
    -------
    Function
        The condition. Rules with such a condition cannot be written to a file.
    """
    if not callable(function):
        raise DataError(f"when takes a function of a sequence and a position, got {function!r}")
    return Function(function)


def any_of(*conditions: Where) -> JoinedConditions:
    """Make the condition that holds where at least one of several conditions holds.

    Parameters
    ----------
    *conditions : condition
        Column expressions, positions, `when(...)` or combinations of these, at least one.

    Returns
    -------
    JoinedConditions
        The condition.
    """
    return JoinedConditions(False, conditions)


def all_of(*conditions: Where) -> JoinedConditions:
    """Make the condition that holds where all of several conditions hold.

    Parameters
    ----------
    *conditions : condition
        Column expressions, positions, `when(...)` or combinations of these, at least one.

    Returns
    -------
    JoinedConditions
        The condition.
    """
    return JoinedConditions(True, conditions)


def mask_of(condition: Where, X: Sequence[Any]) -> Mask:
    """Where a condition holds on a batch: (tokens,) bool."""
    if isinstance(condition, Template):
        return JoinedConditions(True, condition.columns).mask(X)
    if isinstance(condition, Condition):
        return condition.mask(X)
    check_condition(condition)
    return _column_mask(condition, X)


def _column_mask(column: Column, X: Sequence[Any]) -> Mask:
    offsets, coded = sequence_offsets(X), coded_column(X, column)
    codes = coded.codes
    try:
        found = np.array([value is not None for value in coded.values(column)], bool)
    except DataError:
        raise
    except Exception as error:
        k = next(k for k, token in enumerate(coded.strings) if _fails(column, token))
        t = int(np.argmax(codes == k))
        i = int(np.searchsorted(offsets, t, side="right")) - 1
        raise DataError(f"{column} raised {error!r} at sequence {i}, token {t - offsets[i]}") from error
    here = found[codes]
    if column.offset == 0:
        return here
    where = np.arange(len(codes)) + column.offset
    sequence = np.repeat(np.arange(len(X)), np.diff(offsets))
    inside = (where >= offsets[sequence]) & (where < offsets[sequence + 1])
    out = np.full(len(codes), column.negated)
    out[inside] = here[where[inside]]
    return out


def _fails(column: Column, token: str) -> bool:
    try:
        column.value(token)
    except Exception:
        return True
    return False
