"""The usual comparisons of counts by name: where labels start, end, change and stand."""

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

from ..errors import DataError
from ..features.columns import Column, word
from .comparisons import Comparison
from .conditions import Where, check_condition
from .counts import Count, Term, count, runs
from .ends import NO_HEADS, child, head_in
from .labels import Any_, call_text, each, others, some_labels

punctuation = word.ispunct()


def _never(text: str, *terms: Term) -> Comparison:
    """A rule that some parts do not occur; each one that does is a violation."""
    return Comparison(count=Count(terms, text=text), op="<=", bound=0.0, text=text)


def starts_with(*labels: Any) -> Comparison:
    """Require that the first label of a sequence is one of these.

    Parameters
    ----------
    *labels : str or list of str
        The labels that a sequence may start with, at least one.

    Returns
    -------
    Comparison
        The rule.
    """
    return _never(call_text("starts_with", *labels), Term("start", others(*labels)))


def ends_with(*labels: Any) -> Comparison:
    """Require that the last label of a sequence is one of these.

    Parameters
    ----------
    *labels : str or list of str
        The labels that a sequence may end with, at least one.

    Returns
    -------
    Comparison
        The rule.
    """
    return _never(call_text("ends_with", *labels), Term("end", others(*labels)))


def once_each(*labels: str) -> Comparison:
    """Require that every label is one run at most.

    Every further run is a violation.

    Parameters
    ----------
    *labels : str
        The labels that the rule is about; without any, it is about all labels.

    Returns
    -------
    Comparison
        The rule.
    """
    rule = runs(each(*labels) if labels else each) <= 1
    return replace(rule, text=call_text("once_each", *labels))


def changes_only_after(condition: Where) -> Comparison:
    """Require that labels change only where the token before satisfies a condition.

    Parameters
    ----------
    condition : condition
        A column expression, such as `word.ispunct()`, or several joined by `&`, `|` and `~`.

    Returns
    -------
    Comparison
        The rule.
    """
    check_condition(condition)
    place = ~condition[-1]
    return _never(f"changes_only_after({condition!r})", Term("pair", Any_, different=True, where=place))


def conserved(column: Column, share: float = 0.9) -> Comparison:
    """Require that in each sentence a share of the words for which heads are listed have one of these heads.

    Expected, it is Eq. 55 of Ganchev et al. 2010 for heads that were projected from another language. A word with
    several heads in its list counts once, since it can have only one of them.

    Parameters
    ----------
    column : Column
        The column that lists heads, as for `head_in`.
    share : float, default=0.9
        The share, from 0 to 1.

    Returns
    -------
    Comparison
        The rule.
    """
    if not isinstance(share, Real) or not 0 <= float(share) <= 1:
        raise DataError(f"a share lies between 0 and 1, got {share!r}")
    kept, listed = count(where=head_in(column)), count(where=child(~column.isin(*NO_HEADS)))
    return replace(kept - share * listed >= 0, text=f"conserved({column!r}, {share!r})")


@dataclass(frozen=True)
class Place:
    """Where a condition holds; see `where`."""

    condition: Where

    readable: ClassVar[frozenset[str]] = frozenset({"label", "never"})

    def label(self, *labels: Any) -> Comparison:
        """The label there is one of these."""
        text = f"where({self.condition!r}).{call_text('label', *labels)}"
        return _never(text, Term("token", others(*labels), where=self.condition))

    def never(self, *labels: Any) -> Comparison:
        """The label there is none of these."""
        if not labels:
            raise DataError("at least one label is needed here")
        text = f"where({self.condition!r}).{call_text('never', *labels)}"
        return _never(text, Term("token", some_labels(labels), where=self.condition))


def where(condition: Where) -> Place:
    """Choose the tokens that satisfy a condition, for a rule about their label.

    For example, `where(word.isin("pp", "pages")).label("pages")` gives such tokens a label.

    Parameters
    ----------
    condition : condition
        A column expression, a position, `when(...)` or a combination of these.

    Returns
    -------
    Place
        The place, whose methods `label(...)` and `never(...)` make rules: the label there is, or is not, one of these.
    """
    check_condition(condition)
    return Place(condition)
