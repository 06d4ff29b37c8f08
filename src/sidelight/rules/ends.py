"""The two ends of arcs and links, for rules about them.

An arc leads from a `head` to a `child`, a link from a `source` to a `target`. A condition on an end,
`head(pos.isin("DET"))`, holds for the parts whose end there satisfies it, and `by=head` makes one statement of a rule
for every token that may be such an end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from ..errors import DataError, NotSupported
from ..features.columns import Column
from ..features.symbols import column_values
from .conditions import Condition, Mask, Where, check_condition

# What a column has that lists no heads.
NO_HEADS = ("", "_")


@dataclass(frozen=True, repr=False)
class End:
    """One of the two ends of an arc or link.

    Parameters
    ----------
    name : str
        What rules call it.
    """

    name: str

    readable: ClassVar[frozenset[str]] = frozenset()

    def __call__(self, condition: Where) -> "AtEnd":
        """Make the condition that holds for parts whose end satisfies another one.

        Parameters
        ----------
        condition : condition
            A condition on tokens; of several tokens at this end, one has to satisfy it.

        Returns
        -------
        AtEnd
            The condition.
        """
        check_condition(condition)
        return AtEnd(self, condition)

    def __repr__(self) -> str:
        return self.name


def _about_parts(condition: Any) -> NoReturn:
    raise NotSupported(
        f"{condition!r} speaks of arcs or links, and here tokens are labelled; leave the end out, or name a task that "
        "has them: task=Parsing(), Aligning() or Matching()"
    )


@dataclass(frozen=True, repr=False)
class AtEnd(Condition):
    """Holds for parts with an end that satisfies a condition."""

    end: End
    condition: Where

    def mask(self, X: Any) -> Mask:
        """Not offered: tokens have no ends."""
        _about_parts(self)

    def __repr__(self) -> str:
        return f"{self.end!r}({self.condition!r})"


@dataclass(frozen=True, repr=False)
class Without(Condition):
    """Holds for parts that have no such end: arcs from the root have no head, deletions have one end only."""

    end: End

    def mask(self, X: Any) -> Mask:
        """Not offered: tokens have no ends."""
        _about_parts(self)

    def __repr__(self) -> str:
        return "root" if self.end.name == "head" else f"without({self.end!r})"


@dataclass(frozen=True, repr=False)
class HeadIn(Condition):
    """Holds for arcs whose head is among the numbers that a column of the child has."""

    column: Column

    def mask(self, X: Any) -> Mask:
        """Not offered: tokens have no ends."""
        _about_parts(self)

    def listed(self, X: Sequence[Any]) -> list[list[int]]:
        """Returns the heads that every token of a batch lists."""
        out = []
        for text in column_values(self.column, X):
            numbers = [] if text in NO_HEADS else text.split(",")
            if not all(number.isascii() and number.isdigit() for number in numbers):
                raise DataError(
                    f"{self!r} reads numbers of heads with commas between, such as '3' or '0,5', got {text!r}"
                )
            out.append([int(number) for number in numbers])
        return out

    def __repr__(self) -> str:
        return f"head_in({self.column!r})"


head = End("head")
child = End("child")
source = End("source")
target = End("target")


def without(end: End) -> Without:
    """Make the condition that holds for parts that lack one of their ends.

    Parameters
    ----------
    end : End
        `head`, which arcs from the root lack, or `source` or `target`, which deletions lack.

    Returns
    -------
    Without
        The condition.
    """
    if not isinstance(end, End):
        raise DataError(f"without takes head, child, source or target, got {end!r}")
    return Without(end)


root = Without(head)


def head_in(column: Column) -> HeadIn:
    """Make the condition that holds for arcs whose head is listed in a column of the child.

    Parameters
    ----------
    column : Column
        The column, such as `column(2)`: numbers of words from 1, 0 for the root, with commas between, and `_` or
        nothing where no head is listed.

    Returns
    -------
    HeadIn
        The condition.
    """
    if not isinstance(column, Column):
        raise DataError(f"head_in takes a column, such as column(2), got {column!r}")
    return HeadIn(column)


def check_by(by: Any) -> None:
    """Raise `DataError` unless a rule can be made for every token of this kind."""
    if not isinstance(by, End | AtEnd):
        raise DataError(f"by is head, child, source or target, or one of these with a condition, got {by!r}")
