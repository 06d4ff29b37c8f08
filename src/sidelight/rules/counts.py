"""Counts of parts of an output, and the functions that they are written with."""

from dataclasses import dataclass, replace
from math import inf
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ..errors import DataError
from .conditions import Where, check_condition
from .ends import AtEnd, End, check_by
from .labels import Any_, Labels, as_labels, call_text, some_labels

if TYPE_CHECKING:
    from .comparisons import Comparison

Op = Literal["<=", ">=", "=="]
# The largest number of a rule, so that sums of counts stay exact.
_MOST = 10**15


@dataclass(frozen=True)
class Term:
    """coefficient * number of parts of one kind: tokens, or label pairs (also the start, or the end, as a pair).

    kind "token": tokens with a label of `to`; "pair": neighbours with labels of `after` and `to`, at the later one,
    `different` asking for two different labels; "start", "end": sequences whose first or last label is of `to`. `by`:
    where arcs or links are counted, for every token at one of their ends apart.
    """

    kind: Literal["token", "pair", "start", "end"]
    to: Labels
    after: Labels = Any_
    different: bool = False
    where: Where | None = None
    coefficient: float = 1.0
    by: End | AtEnd | None = None

    def __post_init__(self) -> None:
        if self.where is not None:
            check_condition(self.where)
        if self.by is not None:
            check_by(self.by)


@dataclass(frozen=True)
class Count:
    """A sum of terms and a constant."""

    terms: tuple[Term, ...]
    constant: float = 0.0
    text: str = ""
    joined: bool = False  # whether the text is a sum, and needs brackets behind a minus

    readable: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        for number in (self.constant, *(term.coefficient for term in self.terms)):
            _number(number)

    def _plus(self, other: "Count | float", sign: float) -> "Count":
        mark = "+" if sign > 0 else "-"
        if not isinstance(other, Count):
            number = _number(other)
            return replace(self, constant=self.constant + sign * number, text=f"{self!r} {mark} {number}", joined=True)
        flipped = tuple(replace(t, coefficient=sign * t.coefficient) for t in other.terms)
        right = f"({other!r})" if other.joined and sign < 0 else repr(other)
        constant = self.constant + sign * other.constant
        return Count(self.terms + flipped, constant, f"{self!r} {mark} {right}", joined=True)

    def __add__(self, other: "Count | float") -> "Count":
        return self._plus(other, 1.0)

    __radd__ = __add__

    def __sub__(self, other: "Count | float") -> "Count":
        return self._plus(other, -1.0)

    def __mul__(self, factor: float) -> "Count":
        factor = _number(factor)
        terms = tuple(replace(t, coefficient=factor * t.coefficient) for t in self.terms)
        return Count(terms, factor * self.constant, f"{factor} * ({self!r})")

    __rmul__ = __mul__

    def __le__(self, bound: "Count | float") -> "Comparison":
        return _compare(self, "<=", bound)

    def __ge__(self, bound: "Count | float") -> "Comparison":
        return _compare(self, ">=", bound)

    def __eq__(self, bound: object) -> "Comparison":  # type: ignore[override]
        return _compare(self, "==", bound)

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, bound: object) -> "Comparison":
        raise DataError(f"counts are compared by <=, >= and ==; for {self!r} < {bound!r} write <= and one less")

    def __gt__(self, bound: object) -> "Comparison":
        raise DataError(f"counts are compared by <=, >= and ==; for {self!r} > {bound!r} write >= and one more")

    def __ne__(self, bound: object) -> "Comparison":  # type: ignore[override]
        raise DataError(f"counts are compared by <=, >= and ==; for {self!r} != {bound!r} write ~(... == {bound!r})")

    def __and__(self, other: object) -> "Comparison":
        raise DataError(
            f"&, | and >> join comparisons, and {self!r} is a count: write brackets, as in (count('a') >= 1) & (...)"
        )

    __rand__ = __or__ = __ror__ = __rshift__ = __rrshift__ = __and__

    def __repr__(self) -> str:
        return self.text


def _number(value: Any) -> float:
    """A number that counts can be exact beside, as an int where it is whole."""
    if not isinstance(value, Real) or value in (inf, -inf) or value != value:
        raise DataError(f"a count is combined and compared with numbers and counts, got {value!r}")
    size: Any = abs(value)
    if not size <= _MOST:
        raise DataError(f"numbers in rules lie between -{_MOST:.0e} and {_MOST:.0e}; use smaller ones")
    number = float(value)
    return int(number) if number.is_integer() else number


def _compare(left: Count, op: Op, right: Any) -> "Comparison":
    from .comparisons import Comparison  # which holds a count

    bound = right if isinstance(right, Count) else _number(right)
    text = f"{left!r} {op} {bound!r}"
    if isinstance(bound, Count):
        left, bound = left - bound, 0
    return Comparison(count=replace(left, constant=0.0), op=op, bound=float(bound - left.constant), text=text)


def count(*labels: Any, where: Where | None = None, by: End | AtEnd | None = None) -> Count:
    """Count the tokens, arcs or links that have one of these labels, where a condition holds.

    Parameters
    ----------
    *labels : str, list of str, each or others(...)
        The labels; without any, all tokens, arcs or links are counted.
    where : condition or None, default=None
        Only what satisfies it is counted; None counts everywhere. Conditions on tokens are about the child of an arc
        and the source of a link; `head(...)`, `child(...)`, `source(...)` and `target(...)` say which end is meant.
    by : End, AtEnd or None, default=None
        With `head`, `child`, `source` or `target`, also with a condition, arcs or links are counted for each token at
        this end apart, and the rule holds if it does for all of these. None counts all of an input together.

    Returns
    -------
    Count
        The count, which makes a rule when it is compared with a number or another count.
    """
    text = call_text("count", *labels, where=where)
    if by is not None:
        text = f"{text[:-1]}{'' if text.endswith('(') or text == 'count()' else ', '}by={by!r})"
    return Count((Term("token", some_labels(labels), where=where, by=by),), text=text)


def runs(*labels: Any, where: Where | None = None) -> Count:
    """Count the maximal stretches of one label, where they begin.

    Parameters
    ----------
    *labels : str, list of str, each or others(...)
        The labels whose stretches are counted; without any, those of all labels.
    where : condition or None, default=None
        Only stretches whose first token satisfies it are counted; None counts them everywhere.

    Returns
    -------
    Count
        The count, which makes a rule when it is compared with a number or another count.
    """
    to = some_labels(labels)
    terms = (Term("start", to, where=where), Term("pair", to, different=True, where=where))
    return Count(terms, text=call_text("runs", *labels, where=where))


def transitions(after: Any = None, to: Any = None, *, where: Where | None = None) -> Count:
    """Count the neighbouring tokens that have two given labels, where the later one satisfies a condition.

    Parameters
    ----------
    after : str, list of str, each, others(...) or None, default=None
        The labels of the earlier token; None is any label.
    to : str, list of str, each, others(...) or None, default=None
        The labels of the later token; None is any label.
    where : condition or None, default=None
        Only pairs whose later token satisfies it are counted; None counts them everywhere.

    Returns
    -------
    Count
        The count, which makes a rule when it is compared with a number or another count.
    """
    term = Term("pair", as_labels(to), as_labels(after), where=where)
    return Count((term,), text=call_text("transitions", where=where, after=after, to=to))


def changes(*, where: Where | None = None) -> Count:
    """Count the neighbouring tokens with different labels, where the later one satisfies a condition.

    Parameters
    ----------
    where : condition or None, default=None
        Only pairs whose later token satisfies it are counted; None counts them everywhere.

    Returns
    -------
    Count
        The count, which makes a rule when it is compared with a number or another count.
    """
    return Count((Term("pair", Any_, different=True, where=where),), text=call_text("changes", where=where))
