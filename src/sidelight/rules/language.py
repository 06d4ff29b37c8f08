"""Rules as objects: counts of parts, comparisons, logic, and the usual rules by name.

    count("author") >= 1                              tokens labelled author
    runs("title") <= 1                                maximal stretches of one label
    transitions(after="author", to="title") == 1      neighbouring tokens with these labels
    count("date", where=word.isdigit()) >= 1          only where a condition holds
    (count("journal") >= 1) >> (count("booktitle") == 0)       implies; also &, | and ~
    runs(each) <= 1                                   for each label
    share("title") == 0.30                            of all tokens
    (changes() <= 5).over_corpus()                    on average over the sequences
    few_labels(word.lower())                          for each word, in the whole corpus

A rule is *satisfied* or violated to a degree: by how much a count misses its bound, or one for a logical rule. How it
is used is its reading: `rule.hard()`, `rule.soft(penalty)`, `rule.soft()` with the penalty learned from labelled data,
or `rule.expected()`, a statement about the expectation. A rule without a reading leaves it to the learner.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor, inf, isfinite, lcm
from numbers import Real
from typing import Any, ClassVar, Literal, NoReturn

from ..errors import DataError, NotSupported
from ..features.columns import Column, word
from .conditions import Where, check_condition

Op = Literal["<=", ">=", "=="]
# Counts in steps of less than one over this are refused.
_FINEST = 10_000


@dataclass(frozen=True)
class Each:
    """Stands for one label at a time: the rule holds for each of them (or for each of `labels`)."""

    labels: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"each({', '.join(map(repr, self.labels))})" if self.labels else "each"

    def __call__(self, *labels: str) -> "Each":
        """For each of these labels only."""
        return Each(_names(labels))


each = Each()


@dataclass(frozen=True)
class Labels:
    """A set of labels, or all but those; `Each` for one at a time."""

    names: tuple[str, ...] | Each = ()
    all_but: bool = False

    def __repr__(self) -> str:
        inner = repr(self.names) if isinstance(self.names, Each) else ", ".join(map(repr, self.names))
        return f"others({inner})" if self.all_but else inner

    def as_one(self) -> str:
        """Its text as a single argument: several names are a list."""
        several = not self.all_but and not isinstance(self.names, Each) and len(self.names) != 1
        return f"[{self!r}]" if several else repr(self)


Any_ = Labels((), all_but=True)


@dataclass(frozen=True)
class Term:
    """coefficient * number of parts of one kind: tokens, or label pairs (also the start, or the end, as a pair).

    kind "token": tokens with a label of `to`; "pair": neighbours with labels of `after` and `to`, at the later one,
    `different` asking for two different labels; "start", "end": sequences whose first or last label is of `to`.
    """

    kind: Literal["token", "pair", "start", "end"]
    to: Labels
    after: Labels = Any_
    different: bool = False
    where: Where | None = None
    coefficient: float = 1.0

    def __post_init__(self) -> None:
        if self.where is not None:
            check_condition(self.where)


@dataclass(frozen=True)
class Count:
    """A sum of terms and a constant."""

    terms: tuple[Term, ...]
    constant: float = 0.0
    text: str = ""
    joined: bool = False  # whether the text is a sum, and needs brackets behind a minus

    readable: ClassVar[frozenset[str]] = frozenset()

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
    """A finite number, as an int where it is whole."""
    if not isinstance(value, Real) or not isfinite(value):
        raise DataError(f"a count is combined and compared with numbers and counts, got {value!r}")
    number = float(value)
    return int(number) if number.is_integer() else number


@dataclass(frozen=True)
class Reading:
    """How a rule is used; penalty None means learned from labelled data, or for `expected` the learner's."""

    kind: Literal["hard", "soft", "expected"]
    penalty: float | None = None

    def __repr__(self) -> str:
        return f".{self.kind}({'' if self.penalty is None else self.penalty})"


@dataclass(frozen=True, kw_only=True, eq=False)
class Rule:
    """Base of all rules."""

    readable: ClassVar[frozenset[str]] = frozenset({"hard", "soft", "expected", "named"})
    name: str = ""
    reading: Reading | None = None

    def hard(self) -> "Rule":
        """Never violated."""
        return replace(self, reading=Reading("hard"))

    def soft(self, penalty: float | None = None) -> "Rule":
        """Each unit of violation costs `penalty` score; None: learned by counting (Eq. 3.10 of Chang 2011)."""
        if penalty is not None and not (isinstance(penalty, Real) and 0 <= float(penalty) < inf):
            raise DataError(
                f"a penalty is a finite number of at least 0, got {penalty!r} for {self!r}; see also .hard()"
            )
        return replace(self, reading=Reading("soft", penalty))

    def expected(self, penalty: float | None = None) -> "Rule":
        """About the expected count under a distribution over outputs, not about each output.

        `penalty` weighs its slack against that of other rules; None leaves it to the learner.
        """
        if penalty is not None and not (isinstance(penalty, Real) and 0 < float(penalty) < inf):
            raise DataError(f"the penalty of an expected rule is a finite number above 0, got {penalty!r} for {self!r}")
        return replace(self, reading=Reading("expected", penalty))

    def named(self, name: str) -> "Rule":
        """The same rule with a name for tables and messages."""
        return replace(self, name=name)

    def __and__(self, other: "Rule") -> "Logic":
        return Logic("all", (self, _rule(other)))

    def __or__(self, other: "Rule") -> "Logic":
        return Logic("any", (self, _rule(other)))

    def __rshift__(self, other: "Rule") -> "Logic":
        _bare(self)
        return Logic("any", (~self, _rule(other)), text=f"({self.body()}) >> ({_rule(other).body()})")

    def __invert__(self) -> "Rule":
        raise NotImplementedError

    def body(self) -> str:
        """The rule without its name and reading, as it is written."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        raise DataError(f"a rule is not a truth value; combine rules with &, | and ~, not {self.body()} and ...")

    @property
    def title(self) -> str:
        """Its name, or itself."""
        return self.name or self.body()

    def __repr__(self) -> str:
        text = self.body()
        if self.reading is not None:
            text = f"({text}){self.reading!r}"
        return f"({text}).named({self.name!r})" if self.name else text


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Comparison(Rule):
    """A count compared with a bound, in each sequence, or if `corpus` on average over the sequences of the corpus.

    Its degree of violation is by how much the count misses the bound. A `share` is a statement about the corpus whose
    slack is a share of the tokens it speaks of. With `each` it holds if it does for every label, or, if `some`, for at
    least one. `text` is the short form of a named rule.
    """

    readable: ClassVar[frozenset[str]] = Rule.readable | {"over_corpus"}
    count: Count
    op: Op
    bound: float
    corpus: bool = False
    some: bool = False
    share: bool = False
    text: str = ""

    def over_corpus(self) -> "Comparison":
        """The same on average over the sequences of the corpus, not in each of them."""
        if self.corpus:
            raise DataError(f"{self.body()} is about the corpus already")
        return replace(self, corpus=True, text=f"({self.text}).over_corpus()")

    def __invert__(self) -> "Rule":
        _bare(self)
        if self.corpus:
            raise DataError(f"{self.body()} is about the corpus and cannot be negated")
        text, whole = f"~({self.body()})", self.in_wholes()[0]
        below = replace(whole, op="<=", bound=ceil(whole.bound) - 1.0, some=not self.some, text=text)
        above = replace(whole, op=">=", bound=floor(whole.bound) + 1.0, some=not self.some, text=text)
        if self.op == "==":
            return Logic("any", (below, above), text=text)
        return above if self.op == "<=" else below

    def in_wholes(self) -> "tuple[Comparison, float]":
        """The same comparison in whole numbers, multiplied by a number; and one of its units in the written ones."""
        shares = [Fraction(term.coefficient).limit_denominator(_FINEST) for term in self.count.terms]
        if any(abs(s - t.coefficient) > 1e-12 for s, t in zip(shares, self.count.terms, strict=True)):
            raise NotSupported(f"rule {self.title!r} counts in fractions finer than 1/{_FINEST}; use whole numbers")
        factor = lcm(*(s.denominator for s in shares))
        if factor == 1:
            return self, 1.0
        terms = tuple(replace(t, coefficient=float(s * factor)) for s, t in zip(shares, self.count.terms, strict=True))
        bound = round(self.bound * factor, 9)
        return replace(self, count=replace(self.count, terms=terms), bound=bound), 1 / factor

    def body(self) -> str:
        """For example "count('author') >= 1"."""
        return self.text

    def __bool__(self) -> bool:
        raise DataError("a comparison of a count is a rule, not a truth value; combine rules with &, | and ~")


@dataclass(frozen=True, eq=False, repr=False)
class Logic(Rule):
    """All, or at least one, of several rules.

    "any" is violated by one if it does not hold; the violations of "all" are those of its parts together, but inside
    another formula it holds or does not.
    """

    kind: Literal["all", "any"]
    parts: tuple[Rule, ...]
    text: str = ""

    def __post_init__(self) -> None:
        for part in self.parts:
            _bare(part)

    def __invert__(self) -> "Rule":
        _bare(self)
        return Logic("any" if self.kind == "all" else "all", tuple(~part for part in self.parts))

    def body(self) -> str:
        """The parts joined by & or |."""
        mark = " & " if self.kind == "all" else " | "
        return self.text or mark.join(f"({part.body()})" for part in self.parts)


@dataclass(frozen=True, eq=False, repr=False)
class MinLength(Rule):
    """Every run of a label of `to` has at least `length` tokens; each shorter run is a violation."""

    length: int
    to: Labels = field(default=Any_)

    def __invert__(self) -> "Rule":
        raise DataError(f"{self!r} cannot be negated")

    def body(self) -> str:
        """For example "min_length(3)"."""
        return f"min_length({', '.join(filter(None, (str(self.length), repr(self.to) if self.to != Any_ else '')))})"


@dataclass(frozen=True, eq=False, repr=False)
class Before(Rule):
    """No token of `earlier` comes after one of `later`; each such token is a violation."""

    earlier: Labels
    later: Labels

    def __invert__(self) -> "Rule":
        raise DataError(f"{self!r} cannot be negated")

    def body(self) -> str:
        """For example "before('author', 'title')"."""
        return f"before({self.earlier.as_one()}, {self.later.as_one()})"


@dataclass(frozen=True, eq=False, repr=False)
class FewLabels(Rule):
    """A word has few labels in the corpus; each one beyond the first that any of its tokens has is a violation.

    `of` says what of a token is its word; words with fewer than `at_least` tokens are left out.
    """

    of: Column
    at_least: int

    def __invert__(self) -> "Rule":
        raise DataError(f"{self!r} cannot be negated")

    def body(self) -> str:
        """For example "few_labels(word.lower(), at_least=10)"."""
        return f"few_labels({self.of!r}, at_least={self.at_least})"


def _bare(part: Rule) -> None:
    """A formula is one rule with one reading, so its parts have none."""
    if part.reading is not None or part.name:
        what = "name" if part.reading is None else "reading"
        raise DataError(
            f"{part!r} stands inside a formula and cannot have a {what} of its own; give one to the formula"
        )


def _rule(value: Any) -> Rule:
    if not isinstance(value, Rule):
        raise DataError(f"expected a rule, got {value!r}")
    return value


def _compare(left: Count, op: Op, right: Any) -> Comparison:
    bound = right if isinstance(right, Count) else _number(right)
    text = f"{left!r} {op} {bound!r}"
    if isinstance(bound, Count):
        left, bound = left - bound, 0
    return Comparison(count=replace(left, constant=0.0), op=op, bound=float(bound - left.constant), text=text)


def _names(labels: Iterable[Any]) -> tuple[str, ...]:
    flat: list[Any] = []
    for item in labels:
        flat += item if isinstance(item, list | tuple | set | frozenset) else [item]
    wrong = [name for name in flat if not isinstance(name, str)]
    if wrong:
        alone = "; each and others(...) stand alone" if isinstance(wrong[0], Each | Labels) else ""
        raise DataError(f"labels are strings, got {wrong[0]!r}{alone}")
    return tuple(dict.fromkeys(flat))


def as_labels(labels: Any) -> Labels:
    """Labels from a name, several names, `each`, `others(...)` or None for any."""
    if labels is None:
        return Any_
    if isinstance(labels, Labels):
        return labels
    if isinstance(labels, Each):
        return Labels(labels)
    return Labels(_names([labels]))


def others(*labels: Any) -> Labels:
    """All labels but these."""
    inner = labels[0] if len(labels) == 1 and isinstance(labels[0], Each) else _names(labels)
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
    return as_labels(_names(labels)) if labels else Any_


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
