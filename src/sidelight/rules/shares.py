"""The share of tokens that have a label, of all tokens of the corpus."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, NoReturn

from ..errors import DataError
from .comparisons import Comparison
from .conditions import Where
from .counts import Count, Op, Term
from .labels import Any_, Labels, call_text, some_labels


def share(*labels: Any, where: Where | None = None) -> "Share":
    """Express the share of tokens in the corpus that have one of these labels.

    Parameters
    ----------
    *labels : str, list of str, each or others(...)
        The labels, at least one.
    where : condition or None, default=None
        Only tokens that satisfy it are looked at: the share is that of the labels among these. None takes all tokens.

    Returns
    -------
    Share
        The share, which makes a rule when it is compared with a number between 0 and 1.
    """
    if not labels:
        raise DataError("share needs a label")
    return Share(some_labels(labels), where)


@dataclass(frozen=True)
class Share:
    """A share of tokens, to be compared with a number between 0 and 1."""

    to: Labels
    where: Where | None = None

    readable: ClassVar[frozenset[str]] = frozenset()

    def _compare(self, op: Op, value: Any) -> Comparison:
        if not isinstance(value, Real) or not 0 <= float(value) <= 1:
            raise DataError(f"a share lies between 0 and 1, got {value!r}")
        terms = (
            Term("token", self.to, where=self.where),
            Term("token", Any_, where=self.where, coefficient=-float(value)),
        )
        text = call_text("share", self.to, where=self.where)
        whole = f"{text} {op} {value}"
        return Comparison(count=Count(terms, text=text), op=op, bound=0.0, corpus=True, share=True, text=whole)

    def __le__(self, value: float) -> Comparison:
        return self._compare("<=", value)

    def __ge__(self, value: float) -> Comparison:
        return self._compare(">=", value)

    def __eq__(self, value: object) -> Comparison:  # type: ignore[override]
        return self._compare("==", value)

    def __add__(self, other: Any) -> NoReturn:
        raise DataError("shares are compared, not added up: share('a', 'b') is that of several labels together")

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __add__
    __hash__ = None  # type: ignore[assignment]
