"""Statements about expectations on one batch of chains: rows A with bounds b, kept factored.

Row r says that E[A_r·y] is at most, at least or exactly b_r. Rows about the corpus come first, one for each statement;
then those about single sequences, sequence by sequence. A row is never a vector over parts: positions of the same kind
share a small sparse table, so that the shift Aᵀλ and the expectation Aμ of all rows are a few table operations beside
the recursion itself (`kernels.tilting`).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..errors import DataError, NotSupported
from ..features.templates import sequence_offsets
from ..kernels.compiling import Flags, Floats, Ints, Longs
from ..kernels.tilting import Batch, Own
from ..rules.counters import distinct_rows
from ..rules.language import Rule
from ..rules.rows import Statement, compile_statements, forbids
from ..structures.chain import Chain, ChainParts, require_feasible
from ..structures.protocol import Structure
from .tables import Tables, add_up, lay_out, read_off, some_of, spread

if TYPE_CHECKING:
    from ..kernels.tangents import Direction


@dataclass(frozen=True)
class Tilted:
    """Marginals of (θ - Aᵀλ) / T.

    log_partition: (sequences,); expected: (rows,) Aμ; parts: the expected parts; prices: (rows,) λ, those of single
    sequences improved if that was asked; passes: work done, in forward-backward passes over the batch.
    """

    log_partition: Floats
    expected: Floats
    parts: Any
    prices: Floats
    passes: float


class RowSet(ABC):
    """Statements about expectations on a batch, whatever the rows are over.

    Rows about the corpus come first, then those about single inputs, input by input.
    """

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def joint(self) -> int:
        """How many rows are about the corpus."""

    @property
    @abstractmethod
    def sequences(self) -> int:
        """How many inputs the batch has."""

    @property
    @abstractmethod
    def units(self) -> list[float]:
        """What the statements about the corpus are divided by."""

    @abstractmethod
    def per_row(self, value: Any) -> Floats:
        """A value of each statement, spread over its rows."""

    @abstractmethod
    def statement(self, row: int) -> Any:
        """The statement that a row belongs to."""

    @abstractmethod
    def own(self, values: Floats) -> Floats:
        """Values of the rows about single inputs, as `tilt` takes them."""

    @abstractmethod
    def structure(self, n_jobs: int) -> Structure[Any]:
        """What the rows are about."""

    @abstractmethod
    def require(self, scores: Any) -> None:
        """Raise unless scores and rows are about the same inputs."""

    @abstractmethod
    def shift(self, scores: Any, prices: Floats) -> Any:
        """θ - Aᵀλ as scores."""

    @abstractmethod
    def direction(self, scores: Any, prices: Floats, factor: float) -> Any:
        """factor * θ - Aᵀλ as `tangents` of the structure takes it."""

    @abstractmethod
    def parted(self) -> "tuple[RowSet, RowSet]":
        """The rows that forbid parts if they have no slack, and the others."""

    @abstractmethod
    def forbid(self, scores: Any) -> Any:
        """-inf wherever a row has an entry: the limit of the shift at infinite prices."""

    @abstractmethod
    def unforbid(self, scores: Any, parts: Any) -> Any:
        """Expected parts under what `forbid` made of these scores, laid out as the scores are."""

    @abstractmethod
    def sequence_range(self, first: int, last: int) -> "RowSet":
        """The same statements on inputs first to last - 1; statements about the corpus keep their scale."""

    @abstractmethod
    def tilt(
        self,
        scores: Any,
        prices: Floats,
        *,
        temperature: float = 1.0,
        bound: Floats | None = None,
        curve: Floats | None = None,
        limit: Floats | None = None,
        steps: int = 0,
        tolerance: float = 0.0,
        n_jobs: int = -1,
    ) -> Tilted:
        """Marginals of (θ - Aᵀλ) / T.

        With `steps`, every input first moves its own prices towards the maximum of its share of the dual.
        """

    @property
    @abstractmethod
    def group(self) -> Longs:
        """The statement that each row belongs to."""

    @property
    @abstractmethod
    def owner(self) -> Longs:
        """The input of each row, -1 for the corpus."""

    @property
    @abstractmethod
    def extent(self) -> Floats:
        """By how much, at most, a price of 1 for each row shifts scores; 1 where it shifts none."""

    @property
    @abstractmethod
    def reach(self) -> Floats:
        """The scale of the curvature of each corpus row."""

    @property
    @abstractmethod
    def forbidding(self) -> Flags:
        """Which rows, if they have no slack, forbid all parts they speak of."""

    @property
    @abstractmethod
    def below_zero(self) -> Flags:
        """Which rows have a count that can be below zero."""

    @cached_property
    def bound(self) -> Floats:
        """b of every row."""
        return self.per_row(lambda s: s.bound)

    @cached_property
    def target(self) -> Floats:
        """What the count of every row should be: b, or the value of a share."""
        return self.per_row(lambda s: s.target)

    @cached_property
    def low(self) -> Floats:
        """Smallest price of every row: 0 where the row is an upper bound."""
        return self.per_row(lambda s: 0.0 if s.op == "<=" else -np.inf)

    @cached_property
    def high(self) -> Floats:
        """Largest price of every row: 0 where the row is a lower bound."""
        return self.per_row(lambda s: 0.0 if s.op == ">=" else np.inf)

    @cached_property
    def penalty(self) -> Floats:
        """How much the slack of every row counts."""
        return self.per_row(lambda s: s.penalty)

    @cached_property
    def copies(self) -> Floats:
        """For how many sequences a row speaks: as many as it is an average over if it is about the corpus."""
        return self.per_row(lambda s: s.unit)

    @cached_property
    def equations(self) -> Flags:
        """Which rows have an expectation that is to be exactly b."""
        return np.asarray((self.low < 0) & (self.high > 0))

    def rule(self, row: int) -> Rule:
        """The rule that a row belongs to."""
        rule: Rule = self.statement(row).rule
        return rule

    def excess(self, expected: Floats) -> Floats:
        """ξ: by how much expectations miss their bounds, above or (negative) below."""
        over = expected - self.bound
        return np.where(self.low == 0, np.maximum(over, 0.0), np.where(self.high == 0, np.minimum(over, 0.0), over))


@dataclass(frozen=True)
class Rows(RowSet):
    """All statements of some rules on a batch.

    shared, single: tables of the statements about the corpus and about each sequence; types: (tokens,) the pair type
    of every position, of `type_count`.
    """

    about_corpus: tuple[Statement, ...]
    about_each: tuple[Statement, ...]
    offsets: Longs
    labels: int
    shared: Tables
    single: Tables
    types: Ints
    type_count: int

    @classmethod
    def compile(
        cls,
        rules: Sequence[Rule],
        X: Sequence[Any],
        labels: Sequence[str],
        units: Sequence[float] | None = None,
        room: Sequence[float] = (),
    ) -> Self:
        """Compile once for a batch; the rules' conditions are evaluated here.

        units: of the statements about the corpus, where they are to be those of another batch (`Rows.units`). room:
        what is added to the bounds of the first statements, those of the rules in their order.
        """
        return cls.of(compile_statements(rules, X, labels, units, room), sequence_offsets(X), len(labels))

    @property
    def units(self) -> list[float]:
        """What the statements about the corpus are divided by."""
        return [s.unit for s in self.about_corpus]

    @classmethod
    def of(cls, statements: Sequence[Statement], offsets: Longs, labels: int) -> Self:
        """Rows of statements whose tables are for this batch."""
        corpus = tuple(s for s in statements if s.corpus)
        each = tuple(s for s in statements if not s.corpus)
        return cls(corpus, each, offsets, labels, *lay_out(corpus, each, offsets))

    def __len__(self) -> int:
        return len(self.about_corpus) + len(self.about_each) * self.sequences

    def structure(self, n_jobs: int) -> Structure[Any]:
        """What the rows are about."""
        return Chain(n_jobs)

    @property
    def sequences(self) -> int:
        """How many sequences the batch has."""
        return len(self.offsets) - 1

    def per_row(self, value: Any) -> Floats:
        """A value of each statement, spread over its rows."""
        corpus = np.array([value(s) for s in self.about_corpus], float)
        each = np.array([value(s) for s in self.about_each], float)
        return np.concatenate((corpus, np.tile(each, self.sequences)))

    @cached_property
    def group(self) -> Longs:
        """The statement that each row belongs to."""
        numbers = {id(s): k for k, s in enumerate((*self.about_corpus, *self.about_each))}
        return self.per_row(lambda s: numbers[id(s)]).astype(np.int64)

    @property
    def joint(self) -> int:
        """How many rows are about the corpus."""
        return len(self.about_corpus)

    @cached_property
    def reach(self) -> Floats:
        """Σ over positions of the largest squared entry of each corpus row: the scale of its curvature."""
        out = np.zeros(self.joint)
        for number, s in enumerate(self.about_corpus):
            largest = np.abs(s.table.amount).max(axis=(1, 2)) ** 2
            ends = float((s.table.at_end**2).max(initial=0.0)) * self.sequences
            out[number] = 0.1 * (largest[s.table.kind].sum() + ends)
        return out

    @cached_property
    def extent(self) -> Floats:
        """By how much, at most, a price of 1 for each row shifts scores; 1 where it shifts none."""
        return self.per_row(lambda s: np.abs((*s.table.amount.flat, *s.table.at_end)).max(initial=0.0) or 1.0)

    @cached_property
    def below_zero(self) -> Flags:
        """Which rows have a count that can be below zero."""
        least = self.per_row(lambda s: min(s.table.amount.min(initial=0.0), s.table.at_end.min(initial=0.0)))
        return np.asarray(least < 0)

    @cached_property
    def forbidding(self) -> Flags:
        """Which rows, if they have no slack, forbid all parts they speak of."""
        return self.per_row(lambda s: float(forbids(s))) > 0

    def statement(self, row: int) -> Statement:
        """The statement that a row belongs to."""
        if row < self.joint:
            return self.about_corpus[row]
        return self.about_each[(row - self.joint) % len(self.about_each)]

    @cached_property
    def owner(self) -> Longs:
        """The sequence of each row, -1 for the corpus."""
        own = np.repeat(np.arange(self.sequences), len(self.about_each))
        return np.concatenate((np.full(self.joint, -1), own))

    def own(self, values: Floats) -> Floats:
        """Values of the rows about single sequences, as `tilt` takes them: those of one sequence are those of all."""
        return values[self.joint : self.joint + len(self.about_each)]

    def sequence_range(self, first: int, last: int) -> "Rows":
        """The same statements on sequences first to last - 1; statements about the corpus keep their scale."""
        a, b = self.offsets[first], self.offsets[last]
        shared, single = (t._replace(code=t.code[a:b]) for t in (self.shared, self.single))
        corpus, each = (
            tuple(replace(s, table=replace(s.table, kind=s.table.kind[a:b])) for s in some)
            for some in (self.about_corpus, self.about_each)
        )
        offsets = self.offsets[first : last + 1] - a
        return type(self)(corpus, each, offsets, self.labels, shared, single, self.types[a:b], self.type_count)

    def count(self, labels: Ints) -> Floats:
        """A·y of every row for one output per sequence."""
        heads = self.offsets[:-1]
        before = np.concatenate(([self.labels], labels[:-1]))
        before[heads] = self.labels
        out = []
        for s in (*self.about_corpus, *self.about_each):
            amount = s.table.amount[s.table.kind, before, labels]
            amount[self.offsets[1:] - 1] += s.table.at_end[labels[self.offsets[1:] - 1]]
            out.append(amount.sum() if s.corpus else np.add.reduceat(amount, heads))
        own = np.array(out[len(self.about_corpus) :]).T.ravel() if self.about_each else np.empty(0)
        return np.concatenate((np.array(out[: len(self.about_corpus)], float), own))

    # Shifted scores ------------------------------------------------------------------------------------------------

    def shift(self, scores: ChainParts, prices: Floats) -> ChainParts:
        """θ - Aᵀλ as scores; own prices on pairs give every sequence pair tables of its own."""
        corpus, own = self.split(prices)
        batch = self._batch(scores, corpus, 1.0)
        unary, pair, types = batch.unary - batch.shift[batch.code], batch.pair, batch.types
        L, J = self.labels, len(self.about_each)
        sequence = np.repeat(np.arange(self.sequences), np.diff(self.offsets))
        table = spread(self.single.unary, J, L)
        for j in range(J):
            unary -= own[sequence, j, None] * table[self.single.code, j]
        if len(self.single.pair.row):
            kinds, _ = self._types(scores)
            table = spread(self.single.pair, J, L * L)[kinds[:, 1]]
            by_type = np.tensordot(own, table, axes=(1, 1)).reshape(-1, L, L)
            pair = np.tile(pair, (self.sequences, 1, 1)) - by_type
            types = (sequence * len(kinds) + types).astype(np.int32)
        return replace(scores, unary=unary, pair=pair, pair_type=types)

    def direction(self, scores: ChainParts, prices: Floats, factor: float) -> "Direction":
        """factor * θ - Aᵀλ for `Chain.tangents`; own prices stay prices, so no sequence has tables of its own."""
        from ..kernels import tangents

        self.require(scores)
        L = self.labels
        corpus, own = self.split(prices)
        kinds, types = self._types(scores)
        pair, start, end = (
            factor * np.where(table > -np.inf, table, 0.0) for table in (scores.pair, scores.start, scores.end)
        )
        arcs = pair[kinds[:, 0]] - add_up(self.shared.pair, corpus, L * L).reshape(-1, L, L)[kinds[:, 1]]
        charged = tangents.Own(
            self.single.code, self.single.unary, some_of(self.single.pair, kinds[:, 1]), np.ascontiguousarray(own)
        )
        return tangents.Direction(
            factor, scores.unary, self.shared.code, add_up(self.shared.unary, corpus, L),
            np.stack((arcs, arcs))[:, :, None], types, start, end, charged,
        )  # fmt: skip

    def parted(self) -> tuple["Rows", "Rows"]:
        """The statements that forbid parts if they have no slack, and the others."""
        every = (*self.about_corpus, *self.about_each)
        never, rest = ([s for s in every if forbids(s) is kind] for kind in (True, False))
        return self.of(never, self.offsets, self.labels), self.of(rest, self.offsets, self.labels)

    def forbid(self, scores: ChainParts) -> ChainParts:
        """-inf wherever a row has an entry: the limit of the shift at infinite prices."""
        kinds, types = self._types(scores)
        unary, pair = scores.unary.copy(), scores.pair[kinds[:, 0]]
        for tables, count in ((self.shared, len(self.about_corpus)), (self.single, len(self.about_each))):
            here = np.abs(spread(tables.unary, count, self.labels)).sum(axis=1)
            cells = np.abs(spread(tables.pair, count, self.labels**2)).sum(axis=1)
            unary[here[tables.code] > 0] = -np.inf
            pair[cells[kinds[:, 1]].reshape(pair.shape) > 0] = -np.inf
        return replace(scores, unary=unary, pair=pair, pair_type=types)

    def unforbid(self, scores: ChainParts, parts: ChainParts) -> ChainParts:
        """Expected parts under what `forbid` made of these scores, with the pair types of the scores again."""
        pair = np.zeros_like(scores.pair)
        np.add.at(pair, self._types(scores)[0][:, 0], parts.pair)
        return replace(parts, pair=pair, pair_type=scores.pair_type)

    def require(self, scores: ChainParts) -> None:
        """Raise unless scores and rows are about the same chains of order one."""
        if scores.order != 1:
            raise NotSupported("statements about expectations need a chain of order 1")
        if scores.labels != self.labels or not np.array_equal(scores.offsets, self.offsets):
            raise DataError("the rows were compiled for another batch than the scores")

    def split(self, prices: Floats) -> tuple[Floats, Floats]:
        """Prices of the corpus rows (statements,), and of the others (sequences, statements); views."""
        cut = len(self.about_corpus)
        return prices[:cut], prices[cut:].reshape(self.sequences, len(self.about_each))

    def _types(self, scores: ChainParts) -> tuple[Longs, Ints]:
        """Pair types of scores and rows together: (types, 2) which of each, and the type of every position."""
        if len(scores.pair) == 1:
            kinds = np.stack((np.zeros(self.type_count, np.int64), np.arange(self.type_count)), axis=1)
            return kinds, self.types
        both, types = distinct_rows(np.stack((scores.pair_type, self.types), axis=1))
        return both.astype(np.int64), types.astype(np.int32)

    def _batch(self, scores: ChainParts, prices: Floats, temperature: float) -> Batch:
        """Scores over T, shifted by the corpus rows."""
        self.require(scores)
        L = self.labels
        kinds, types = self._types(scores)
        shift = add_up(self.shared.unary, prices, L)
        pair = scores.pair[kinds[:, 0]] - add_up(self.shared.pair, prices, L * L).reshape(-1, L, L)[kinds[:, 1]]
        return Batch(
            self.offsets, scores.unary, self.shared.code, shift, pair / temperature, types,
            scores.start / temperature, scores.end / temperature, float(temperature),
        )  # fmt: skip

    def tilt(
        self,
        scores: ChainParts,
        prices: Floats,
        *,
        temperature: float = 1.0,
        bound: Floats | None = None,
        curve: Floats | None = None,
        limit: Floats | None = None,
        steps: int = 0,
        tolerance: float = 0.0,
        n_jobs: int = -1,
    ) -> Tilted:
        """Marginals of (θ - Aᵀλ) / T.

        With `steps`, every sequence first moves its own prices to the maximum of its share of the dual,
        -T log Z - b·λ - Σ curve λ² / 2 over prices of the row's sign and, where curve is 0, at most `limit` in size; b
        is `bound`, or else the statements' own. `tolerance` is what it may miss: its duality gap or, where curve is 0,
        the largest move of a price by a step of one.
        """
        from ..kernels import parallel, tilting

        corpus, own = self.split(prices.copy())
        own = np.ascontiguousarray(own)
        cut, J = len(self.about_corpus), len(self.about_each)
        kinds, _ = self._types(scores)
        batch = self._batch(scores, corpus, temperature)
        most = np.full(J, np.inf) if limit is None else limit
        first = slice(cut, cut + J)
        statements = Own(
            self.single.code, self.single.unary, some_of(self.single.pair, kinds[:, 1]),
            self.bound[first] if bound is None else bound,
            np.maximum(self.low[first], -most), np.minimum(self.high[first], most),
            np.zeros(J) if curve is None else curve,
        )  # fmt: skip
        log_partition = np.empty(self.sequences)
        gamma, expected = np.empty_like(scores.unary), np.empty((self.sequences, J))

        def run(lo: int, hi: int) -> tuple[Floats, Floats, int]:
            return tilting.tilted_marginals(
                lo, hi, batch, statements, own, steps if J else 0, tolerance, log_partition, gamma, expected
            )

        found = parallel.map_shards(run, self.offsets, n_jobs)
        require_feasible(log_partition)
        by_code, by_type = sum(f[0] for f in found), sum(f[1] for f in found)
        means = read_off(self.shared.unary, np.asarray(by_code), cut)
        means += read_off(some_of(self.shared.pair, kinds[:, 1]), np.asarray(by_type), cut)
        pair = np.zeros_like(scores.pair)
        np.add.at(pair, kinds[:, 0], by_type)
        parts = replace(
            scores,
            unary=gamma,
            pair=pair,
            start=gamma[self.offsets[:-1]].sum(axis=0),
            end=gamma[self.offsets[1:] - 1].sum(axis=0),
        )
        passes = sum(f[2] for f in found) / max(len(gamma), 1)
        return Tilted(
            log_partition, np.concatenate((means, expected.ravel())), parts, np.concatenate((corpus, own.ravel())),
            passes,
        )  # fmt: skip
