"""What rules are written with: counts, shares, and the usual rules by name."""

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, NoReturn

from ..errors import DataError
from ..features.columns import Column, word
from .conditions import Where, check_condition
from .language import (
    Any_,
    Before,
    Comparison,
    Count,
    Each,
    FewLabels,
    Labels,
    MinLength,
    Op,
    Term,
    each,
    label_names,
)


def as_labels(labels: Any) -> Labels:
    """Labels from a name, several names, `each`, `others(...)` or None for any."""
    if labels is None:
        return Any_
    if isinstance(labels, Labels):
        return labels
    if isinstance(labels, Each):
        return Labels(labels)
    return Labels(label_names([labels]))


def others(*labels: Any) -> Labels:
    """All labels but these."""
    inner = labels[0] if len(labels) == 1 and isinstance(labels[0], Each) else label_names(labels)
    if not inner:
        raise DataError("at least one label is needed here")
    return Labels(inner, all_but=True)


def _said(name: str, *labels: Any, where: Where | None = None, **named: Any) -> str:
    shown = [repr(as_labels(label)) for label in labels if label is not None]
    shown += [f"{k}={as_labels(v).as_one()}" for k, v in named.items() if v is not None]
    shown += [f"where={where!r}"] if where is not None else []
    return f"{name}({', '.join(shown)})"


def count(*labels: Any, where: Where | None = None) -> Count:
    """Tokens with this label (or one of these; without any, all tokens), where a condition holds."""
    return Count((Term("token", _some(labels), where=where),), text=_said("count", *labels, where=where))


def runs(*labels: Any, where: Where | None = None) -> Count:
    """Maximal stretches of one label (of these), counted where they begin."""
    to = _some(labels)
    terms = (Term("start", to, where=where), Term("pair", to, different=True, where=where))
    return Count(terms, text=_said("runs", *labels, where=where))


def _some(labels: tuple[Any, ...]) -> Labels:
    """Any label if none is named; `each` and `others(...)` stand alone."""
    if len(labels) == 1:
        return as_labels(labels[0])
    return as_labels(label_names(labels)) if labels else Any_


def transitions(after: Any = None, to: Any = None, *, where: Where | None = None) -> Count:
    """Neighbouring tokens with labels `after` and `to`, where the later one satisfies a condition."""
    term = Term("pair", as_labels(to), as_labels(after), where=where)
    return Count((term,), text=_said("transitions", where=where, after=after, to=to))


def changes(*, where: Where | None = None) -> Count:
    """Neighbouring tokens with different labels, where the later one satisfies a condition."""
    return Count((Term("pair", Any_, different=True, where=where),), text=_said("changes", where=where))


def share(*labels: Any, where: Where | None = None) -> "Share":
    """The share of tokens that have (one of) these labels, of all tokens (where a condition holds) in the corpus."""
    if not labels:
        raise DataError("share needs a label")
    return Share(_some(labels), where)


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
        text = _said("share", self.to, where=self.where)
        said = f"{text} {op} {value}"
        return Comparison(count=Count(terms, text=text), op=op, bound=0.0, corpus=True, share=True, text=said)

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


def _never(text: str, *terms: Term) -> Comparison:
    """A rule that some parts do not occur; each one that does is a violation."""
    return Comparison(count=Count(terms, text=text), op="<=", bound=0.0, text=text)


def starts_with(*labels: Any) -> Comparison:
    """The first label is one of these."""
    return _never(_said("starts_with", *labels), Term("start", others(*labels)))


def ends_with(*labels: Any) -> Comparison:
    """The last label is one of these."""
    return _never(_said("ends_with", *labels), Term("end", others(*labels)))


def once_each(*labels: str) -> Comparison:
    """Every label (or each of these) is one run at most; every further run is a violation."""
    rule = runs(each(*labels) if labels else each) <= 1
    return replace(rule, text=_said("once_each", *labels))


def changes_only_after(condition: Where) -> Comparison:
    """Labels change only where the token before satisfies the condition."""
    if not isinstance(condition, Column):
        raise DataError(f"changes_only_after takes one column expression, such as word.ispunct(), got {condition!r}")
    place = ~condition[-1]
    return _never(f"changes_only_after({condition!r})", Term("pair", Any_, different=True, where=place))


def min_length(length: int, *labels: Any) -> MinLength:
    """Every run (of these labels) has at least this many tokens."""
    if not isinstance(length, int) or length < 1:
        raise DataError(f"a length is a whole number of at least 1, got {length!r}")
    return MinLength(length, _some(labels))


def few_labels(of: Column = word, *, at_least: int = 10) -> FewLabels:
    """Each word has few labels among all its tokens in the corpus; `of` tells words apart, `word.lower()` for instance.

    `few_labels(word).expected(32)` charges 32 times Σ over words and labels of the largest probability that any token
    of the word gives the label (section 8 of Ganchev et al. 2010). Words seen fewer than `at_least` times are left out.
    """
    if not isinstance(of, Column) or of.offset != 0:
        raise DataError(f"few_labels takes one column of the token itself, such as word.lower(), got {of!r}")
    if not isinstance(at_least, int) or at_least < 1:
        raise DataError(f"at_least is a whole number of at least 1, got {at_least!r}")
    return FewLabels(of, at_least)


def before(earlier: Any, later: Any) -> Before:
    """Tokens of `earlier` come before all tokens of `later`."""
    return Before(as_labels(earlier), as_labels(later))


@dataclass(frozen=True)
class Place:
    """Where a condition holds; see `where`."""

    condition: Where

    readable: ClassVar[frozenset[str]] = frozenset({"label", "never"})

    def label(self, *labels: Any) -> Comparison:
        """The label there is one of these."""
        text = f"where({self.condition!r}).{_said('label', *labels)}"
        return _never(text, Term("token", others(*labels), where=self.condition))

    def never(self, *labels: Any) -> Comparison:
        """The label there is none of these."""
        if not labels:
            raise DataError("at least one label is needed here")
        text = f"where({self.condition!r}).{_said('never', *labels)}"
        return _never(text, Term("token", _some(labels), where=self.condition))


def where(condition: Where) -> Place:
    """`where(word.isin("pp", "pages")).label("pages")`: the label of tokens that satisfy a condition."""
    check_condition(condition)
    return Place(condition)


punctuation = word.ispunct()
