"""Statements about expectations on one batch of chains: rows A with bounds b, kept factored.

Row r says that E[A_r·y] is at most, at least or exactly b_r. Rows about the corpus come first, one for each statement;
then those about single sequences, sequence by sequence. A row is never a vector over parts: positions of the same kind
share a small sparse table, so that the shift Aᵀλ and the expectation Aμ of all rows are a few table operations beside
the recursion itself (`kernels.tilting`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..errors import DataError, NotSupported
from ..features.templates import sequence_offsets
from ..kernels.compiling import Flags, Floats, Ints, Longs
from ..kernels.tilting import Batch, Entries, Own
from ..rules.automata import distinct_rows
from ..rules.language import Rule
from ..rules.rows import Statement, compile_statements, forbids
from ..structures.chain import ChainParts, require_feasible


class Tables(NamedTuple):
    """Some statements as sparse tables: at each token one over labels, by `code`, and one over pairs, by pair type."""

    code: Ints
    unary: Entries
    pair: Entries


@dataclass(frozen=True)
class Tilted:
    """Marginals of (θ - Aᵀλ) / T.

    log_partition: (sequences,); expected: (rows,) Aμ; parts: the expected parts; prices: (rows,) λ, those of single
    sequences improved if that was asked; passes: work done, in forward-backward passes over the batch.
    """

    log_partition: Floats
    expected: Floats
    parts: ChainParts
    prices: Floats
    passes: float


@dataclass(frozen=True)
class Rows:
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
        cls, rules: Sequence[Rule], X: Sequence[Any], labels: Sequence[str], units: Sequence[float] | None = None
    ) -> "Rows":
        """Compile once for a batch; the rules' conditions are evaluated here.

        units: of the statements about the corpus, where they are to be those of another batch (`Rows.units`).
        """
        return cls.of(compile_statements(rules, X, labels, units), sequence_offsets(X), len(labels))

    @property
    def units(self) -> list[float]:
        """What the statements about the corpus are divided by."""
        return [s.unit for s in self.about_corpus]

    @classmethod
    def of(cls, statements: Sequence[Statement], offsets: Longs, labels: int) -> "Rows":
        """Rows of statements whose tables are for this batch."""
        corpus = tuple(s for s in statements if s.corpus)
        each = tuple(s for s in statements if not s.corpus)
        pairs = [_pair_tables(s, offsets) for s in (*corpus, *each)]
        types, kinds = _joint([kind for kind, _ in pairs], int(offsets[-1]))
        cut = len(corpus)
        tables = [table for _, table in pairs]
        shared = _tables(corpus, offsets, _entries(tables[:cut], kinds[:, :cut]))
        single = _tables(each, offsets, _entries(tables[cut:], kinds[:, cut:]))
        return cls(corpus, each, offsets, labels, shared, single, types, len(kinds))

    def __len__(self) -> int:
        return len(self.about_corpus) + len(self.about_each) * self.sequences

    @property
    def sequences(self) -> int:
        """How many sequences the batch has."""
        return len(self.offsets) - 1

    def _per_row(self, value: Any) -> Floats:
        """A value of each statement, spread over its rows."""
        corpus = np.array([value(s) for s in self.about_corpus], float)
        each = np.array([value(s) for s in self.about_each], float)
        return np.concatenate((corpus, np.tile(each, self.sequences)))

    @cached_property
    def bound(self) -> Floats:
        """b of every row."""
        return self._per_row(lambda s: s.bound)

    @cached_property
    def target(self) -> Floats:
        """What the count of every row should be: b, or the value of a share."""
        return self._per_row(lambda s: s.target)

    @cached_property
    def low(self) -> Floats:
        """Smallest price of every row: 0 where the row is an upper bound."""
        return self._per_row(lambda s: 0.0 if s.op == "<=" else -np.inf)

    @cached_property
    def high(self) -> Floats:
        """Largest price of every row: 0 where the row is a lower bound."""
        return self._per_row(lambda s: 0.0 if s.op == ">=" else np.inf)

    @cached_property
    def penalty(self) -> Floats:
        """How much the slack of every row counts."""
        return self._per_row(lambda s: s.penalty)

    @cached_property
    def copies(self) -> Floats:
        """For how many sequences a row speaks: all of them if it is about the corpus."""
        return self._per_row(lambda s: self.sequences if s.corpus else 1)

    @cached_property
    def group(self) -> Longs:
        """The statement that each row belongs to."""
        numbers = {id(s): k for k, s in enumerate((*self.about_corpus, *self.about_each))}
        return self._per_row(lambda s: numbers[id(s)]).astype(np.int64)

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
    def equations(self) -> Flags:
        """Which rows have an expectation that is to be exactly b."""
        return np.asarray((self.low < 0) & (self.high > 0))

    @cached_property
    def extent(self) -> Floats:
        """By how much, at most, a price of 1 for each row shifts scores; 1 where it shifts none."""
        return self._per_row(lambda s: np.abs((*s.table.amount.flat, *s.table.at_end)).max(initial=0.0) or 1.0)

    @cached_property
    def forbidding(self) -> Flags:
        """Which rows, if they have no slack, forbid all parts they speak of."""
        return self._per_row(lambda s: float(forbids(s))) > 0

    def rule(self, row: int) -> Rule:
        """The rule that a row belongs to."""
        if row < self.joint:
            return self.about_corpus[row].rule
        return self.about_each[(row - self.joint) % len(self.about_each)].rule

    def excess(self, expected: Floats) -> Floats:
        """ξ: by how much expectations miss their bounds, above or (negative) below."""
        over = expected - self.bound
        return np.where(self.low == 0, np.maximum(over, 0.0), np.where(self.high == 0, np.minimum(over, 0.0), over))

    def sequence_range(self, first: int, last: int) -> "Rows":
        """The same statements on sequences first to last - 1; statements about the corpus keep their scale."""
        a, b = self.offsets[first], self.offsets[last]
        shared, single = (t._replace(code=t.code[a:b]) for t in (self.shared, self.single))
        corpus, each = (
            tuple(replace(s, table=replace(s.table, kind=s.table.kind[a:b])) for s in some)
            for some in (self.about_corpus, self.about_each)
        )
        offsets = self.offsets[first : last + 1] - a
        return Rows(corpus, each, offsets, self.labels, shared, single, self.types[a:b], self.type_count)

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
        table = _spread(self.single.unary, J, L)
        for j in range(J):
            unary -= own[sequence, j, None] * table[self.single.code, j]
        if len(self.single.pair.row):
            kinds, _ = self._types(scores)
            table = _spread(self.single.pair, J, L * L)[kinds[:, 1]]
            by_type = np.tensordot(own, table, axes=(1, 1)).reshape(-1, L, L)
            pair = np.tile(pair, (self.sequences, 1, 1)) - by_type
            types = (sequence * len(kinds) + types).astype(np.int32)
        return replace(scores, unary=unary, pair=pair, pair_type=types)

    def parted(self) -> tuple["Rows", "Rows"]:
        """The statements that forbid parts if they have no slack, and the others."""
        every = (*self.about_corpus, *self.about_each)
        never, rest = ([s for s in every if forbids(s) is kind] for kind in (True, False))
        return Rows.of(never, self.offsets, self.labels), Rows.of(rest, self.offsets, self.labels)

    def forbid(self, scores: ChainParts) -> ChainParts:
        """-inf wherever a row has an entry: the limit of the shift at infinite prices."""
        kinds, types = self._types(scores)
        unary, pair = scores.unary.copy(), scores.pair[kinds[:, 0]]
        for tables, count in ((self.shared, len(self.about_corpus)), (self.single, len(self.about_each))):
            here = np.abs(_spread(tables.unary, count, self.labels)).sum(axis=1)
            cells = np.abs(_spread(tables.pair, count, self.labels**2)).sum(axis=1)
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
        both, types = np.unique(np.stack((scores.pair_type, self.types), axis=1), axis=0, return_inverse=True)
        return both.astype(np.int64), types.ravel().astype(np.int32)

    def _batch(self, scores: ChainParts, prices: Floats, temperature: float) -> Batch:
        """Scores over T, shifted by the corpus rows."""
        self.require(scores)
        L = self.labels
        kinds, types = self._types(scores)
        shift = _add(self.shared.unary, prices, L)
        pair = scores.pair[kinds[:, 0]] - _add(self.shared.pair, prices, L * L).reshape(-1, L, L)[kinds[:, 1]]
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
            self.single.code, self.single.unary, _at(self.single.pair, kinds[:, 1]),
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
        means = _read(self.shared.unary, np.asarray(by_code), cut)
        means += _read(_at(self.shared.pair, kinds[:, 1]), np.asarray(by_type), cut)
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


# Tables ----------------------------------------------------------------------------------------------------------


def _tables(statements: Sequence[Statement], offsets: Longs, pair: Entries) -> Tables:
    unary = [_unary_tables(s, offsets) for s in statements]
    code, kinds = _joint([kind for kind, _ in unary], int(offsets[-1]))
    return Tables(code, _entries([table for _, table in unary], kinds), pair)


def _unary_tables(statement: Statement, offsets: Longs) -> tuple[Longs, Floats]:
    """Kind of every token and its (kinds, labels) table: amounts that do not depend on the label before."""
    table, K = statement.table, len(statement.table.amount)
    inner = np.where(_paired(table.amount)[:, None], 0.0, table.amount[:, 0])
    rows = np.concatenate((inner, table.amount[:, -1]))
    rows = np.concatenate((rows, rows + table.at_end))
    kind = table.kind.astype(np.int64)
    kind[offsets[:-1]] += K
    kind[offsets[1:] - 1] += 2 * K
    return _distinct(kind, rows)


def _pair_tables(statement: Statement, offsets: Longs) -> tuple[Longs, Floats]:
    """The same for amounts that do depend on it: (kinds, labels * labels)."""
    amount = statement.table.amount
    L = amount.shape[2]
    rows = np.where(_paired(amount)[:, None, None], amount[:, :L], 0.0).reshape(len(amount), L * L)
    kind = statement.table.kind.astype(np.int64)
    if len(rows) > 1:  # not read at the first token of a sequence
        kind[offsets[:-1]] = 0
    return _distinct(kind, rows)


def _paired(amount: Floats) -> Any:
    """For every kind of position, whether the label before matters."""
    return (amount[:, :-1] != amount[:, :1]).any(axis=(1, 2))


def _distinct(kind: Longs, rows: Floats) -> tuple[Longs, Floats]:
    different, number = np.unique(rows, axis=0, return_inverse=True)
    return number.ravel()[kind], different


def _joint(kinds: Sequence[Longs], tokens: int) -> tuple[Ints, Longs]:
    """Positions with the same kind for every statement share a code: (tokens,), and (codes, statements) their kinds."""
    if not kinds:
        return np.zeros(tokens, np.int32), np.zeros((1, 0), np.int64)
    classes, code = distinct_rows(np.stack(kinds, axis=1))
    return code.astype(np.int32), classes


def _entries(tables: Sequence[Floats], classes: Longs) -> Entries:
    """Sparse tables, one for each code, of all statements."""
    pointer, rows, cells, values = [0], [], [], []
    for kinds in classes:
        for row, kind in enumerate(kinds):
            at = np.flatnonzero(tables[row][kind])
            rows += [row] * len(at)
            cells += at.tolist()
            values += tables[row][kind][at].tolist()
        pointer.append(len(rows))
    return Entries(np.array(pointer, np.int64), np.array(rows, np.int32), np.array(cells, np.int32), np.array(values))


def _codes(entries: Entries) -> Longs:
    """The table that each entry belongs to."""
    return np.repeat(np.arange(len(entries.pointer) - 1), np.diff(entries.pointer))


def _at(entries: Entries, tables: Longs) -> Entries:
    """Some of the tables, in this order."""
    if np.array_equal(tables, np.arange(len(entries.pointer) - 1)):
        return entries
    picked = [np.arange(entries.pointer[k], entries.pointer[k + 1]) for k in tables]
    index = np.concatenate(picked)
    pointer = np.concatenate(([0], np.cumsum([len(p) for p in picked]))).astype(np.int64)
    return Entries(pointer, entries.row[index], entries.cell[index], entries.value[index])


def _add(entries: Entries, prices: Floats, cells: int) -> Floats:
    """Σ_rows λ A as dense tables: (tables, cells)."""
    out = np.zeros((len(entries.pointer) - 1, cells))
    np.add.at(out, (_codes(entries), entries.cell), entries.value * prices[entries.row])
    return out


def _spread(entries: Entries, rows: int, cells: int) -> Floats:
    """Dense tables of every statement: (tables, statements, cells)."""
    out = np.zeros((len(entries.pointer) - 1, rows, cells))
    out[_codes(entries), entries.row, entries.cell] = entries.value
    return out


def _read(entries: Entries, mass: Floats, rows: int) -> Floats:
    """A μ from marginals summed by table."""
    flat = mass.reshape(len(mass), -1)
    return np.bincount(entries.row, weights=entries.value * flat[_codes(entries), entries.cell], minlength=rows).astype(
        float
    )
