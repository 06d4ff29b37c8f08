"""Rules as objects: counts of parts, comparisons and logic; `writing` has what they are written with.

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
from typing import Any, ClassVar, Literal

from ..errors import DataError, NotSupported
from ..features.columns import Column
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
        return Each(label_names(labels))


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
    slack is a number of tokens per sequence. With `each` it holds if it does for every label, or, if `some`, for at
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


def label_names(labels: Iterable[Any]) -> tuple[str, ...]:
    """Names, alone or in lists, each once."""
    flat: list[Any] = []
    for item in labels:
        flat += item if isinstance(item, list | tuple | set | frozenset) else [item]
    wrong = [name for name in flat if not isinstance(name, str)]
    if wrong:
        alone = "; each and others(...) stand alone" if isinstance(wrong[0], Each | Labels) else ""
        raise DataError(f"labels are strings, got {wrong[0]!r}{alone}")
    return tuple(dict.fromkeys(flat))
