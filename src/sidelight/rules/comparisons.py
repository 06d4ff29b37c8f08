"""A count compared with a bound, in each sequence or on average over the corpus; and shares of tokens in the corpus."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, lcm
from numbers import Real
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from ..errors import DataError, NotSupported
from ..kernels.compiling import Ints
from .automata import Automaton, Compilation
from .conditions import Where
from .counters import CountTable, count_table, counter, missed
from .counts import Count, Op, Term
from .labels import Any_, Labels, call_text, some_labels
from .language import Rule
from .logic import Logic
from .rows import Statement, penalty_of

# Counts in steps of less than one over this are refused.
_FINEST = 10_000


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

    def body(self) -> str:
        """For example "count('author') >= 1"."""
        return self.text

    def __bool__(self) -> bool:
        raise DataError("a comparison of a count is a rule, not a truth value; combine rules with &, | and ~")

    def __invert__(self) -> Rule:
        self.require_bare()
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

    def comparisons(self) -> "list[Comparison]":
        """Itself, if it is about one sequence."""
        return super().comparisons() if self.corpus else [self]

    def label_sets(self) -> list[Labels]:
        """Those of its terms."""
        return [these for term in self.count.terms for these in (term.to, term.after)]

    def about_label(self, name: str) -> Self:
        """The same comparison with this label in the place of `each` in every term."""
        terms = tuple(replace(t, to=t.to.about(name), after=t.after.about(name)) for t in self.count.terms)
        return replace(self, count=replace(self.count, terms=terms))

    def expand(self, labels: Sequence[str], title: str) -> list[tuple[str, Rule]]:
        """The comparison once for each label; if it is to hold for some label, all of them together."""
        return [(title, self.together(labels, title))] if self.some else super().expand(labels, title)

    def together(self, labels: Sequence[str], title: str) -> Rule:
        """A formula that it holds for all labels, or for some label if it was negated."""
        if not self.some:
            return super().together(labels, title)
        parts = tuple(replace(one, reading=None, name="") for _, one in self.by_label(labels, title))
        return Logic("any", parts) if parts else self

    @property
    def about_whole_outputs(self) -> bool:
        """Whether it bounds a count by more than zero."""
        return self.bound > 0 and min(term.coefficient for term in self.count.terms) >= 0

    @property
    def about_corpus(self) -> bool:
        """Whether it is about an average over the sequences."""
        return self.corpus

    def automata(self, at: Compilation) -> list[Automaton]:
        """A counter."""
        if self.corpus:
            raise NotSupported(f"{at.rule.title} is about the corpus, not about one output; it cannot steer decoding")
        single, unit = self.in_wholes()
        return [counter(count_table(single.count, at), single.op, single.bound, unit, at)]

    def statement(self, at: Compilation, units: Iterator[float] | None) -> Statement:
        """The expected count compared with the bound, per sequence or as an average over the corpus."""
        table = count_table(self.count, at)
        each = Statement(at.rule, at.title, table, self.op, self.bound, False, penalty_of(at.rule), target=self.bound)
        if not self.corpus:
            return each
        unit = self._concerned(table, at) if units is None else next(units)
        target = -self.count.terms[-1].coefficient * table.spoken.sum() / unit if self.share else self.bound
        return replace(each, table=table.divided(unit), corpus=True, unit=unit, target=target)

    def _concerned(self, table: CountTable, at: Compilation) -> float:
        """How many sequences of a batch the average is over."""
        spoken = table.spoken
        if not spoken.any() and not table.at_end.any():
            raise DataError(f"rule {at.title!r} is about tokens of the corpus, and the data has none of them")
        return float(np.logical_or.reduceat(spoken, at.offsets[:-1]).sum() if self.share else len(at.batch.X))

    def corpus_violation(self, at: Compilation, labels: Ints) -> float:
        """By how much the count over the corpus misses its bound, that of an average times the sequences."""
        total = count_table(self.count, at).total(labels, at.offsets)
        return float(missed(total, self.op, self.bound * len(at.batch.X)))


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
