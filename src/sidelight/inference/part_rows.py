"""Statements about expectations on any parts: rows A as a sparse matrix over numbers of the parts.

What `rows` keeps factored for label chains is written out here. Every input has rows of its own, as many as rules make
for it, and their prices are found by projected gradient steps on all inputs at once, each with a step length of its
own, in place of one compiled loop.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..errors import DataError, NotSupported
from ..kernels.compiling import Flags, Floats, Longs
from ..rules.language import Rule
from ..rules.part_view import PartStatement, PartView, part_statements
from ..rules.rows import Statement, compile_statements
from ..structures.flat import FlatParts, FlatStructure
from ..structures.known import places_of
from ..structures.segmentation import Segmentation, SegmentParts
from .rows import RowSet, Tilted

# What a step must gain of what the slope promises; how a step that gains less is shortened; lengths of steps.
_GAIN, _SHORTER, _SHORTEST, _LONGEST = 1e-4, 0.25, 1e-6, 1e6
# Where at most this share of the inputs is not done, the others are left alone.
_FEW = 0.5
# A guess of the variance of one decision.
_VARIANCE = 0.1


@dataclass(frozen=True)
class PartRows(RowSet):
    """Rows over numbers of parts.

    statements: those about the corpus first; number: (rows,) the statement of each row; about: (rows,) its input, in
    rising order, -1 for the corpus; matrix: (rows, numbers), sparse; offsets: where the numbers of each input begin in
    each of `blocks` blocks of numbers. A subclass says which numbers these are (`numbers`), and how scores are lowered
    by as many (`lower`).
    """

    statements: tuple[Any, ...]
    number: Longs
    about: Longs
    matrix: Any
    offsets: Longs

    @property
    def group(self) -> Longs:
        """The statement of each row."""
        return self.number

    @property
    def owner(self) -> Longs:
        """The input of each row, -1 for the corpus."""
        return self.about

    @property
    def blocks(self) -> int:
        """How many numbers there are for each entry of `offsets`."""
        return 1

    def __len__(self) -> int:
        return len(self.group)

    @property
    def sequences(self) -> int:
        """How many inputs the batch has."""
        return len(self.offsets) - 1

    @property
    def joint(self) -> int:
        """How many rows are about the corpus."""
        return int((self.owner < 0).sum())

    @property
    def units(self) -> list[float]:
        """What the statements about the corpus are divided by."""
        return [s.unit for s in self.statements if s.corpus]

    def per_row(self, value: Any) -> Floats:
        """A value of each statement, spread over its rows."""
        return np.array([value(s) for s in self.statements], float)[self.group]

    def statement(self, row: int) -> Any:
        """The statement that a row belongs to."""
        return self.statements[self.group[row]]

    def own(self, values: Floats) -> Floats:
        """Values of the rows about single inputs, as `tilt` takes them."""
        return values[self.joint :]

    @cached_property
    def _sizes(self) -> tuple[Floats, Flags, Flags]:
        """The largest entry of each row by size, and whether no entry is below, or above, zero."""
        from scipy.sparse import csr_array

        largest, smallest = (csr_array(sign * self.matrix).max(axis=1).toarray().ravel() for sign in (1.0, -1.0))
        return np.maximum(np.abs(largest), np.abs(smallest)), smallest <= 0, largest <= 0

    @cached_property
    def extent(self) -> Floats:
        """By how much, at most, a price of 1 for each row shifts scores; 1 where it shifts none."""
        size = self._sizes[0]
        return np.where(size > 0, size, 1.0)

    @cached_property
    def reach(self) -> Floats:
        """Σ of the squared entries of each corpus row, as if one of a number's rivals in ten were chosen."""
        return np.asarray(_VARIANCE * (self.matrix[: self.joint] ** 2).sum(axis=1)).ravel()

    @cached_property
    def below_zero(self) -> Flags:
        """Which rows have a count that can be below zero."""
        return ~self._sizes[1]

    @cached_property
    def forbidding(self) -> Flags:
        """Which rows, if they have no slack, forbid all parts they speak of."""
        _, above, below = self._sizes
        upper, lower = self.high > 0, self.low < 0
        return np.asarray((self.bound == 0) & ((upper & above) | (lower & below)))

    def parted(self) -> tuple[Self, Self]:
        """The rows that forbid parts if they have no slack, and the others."""
        return self._rows(self.forbidding), self._rows(~self.forbidding)

    def _rows(self, kept: Flags) -> Self:
        at = np.flatnonzero(kept)
        return replace(self, number=self.group[at], about=self.owner[at], matrix=self.matrix[at])

    def sequence_range(self, first: int, last: int) -> Self:
        """The same statements on inputs first to last - 1; statements about the corpus keep their scale."""
        return self.take(np.arange(first, last))

    def take(self, which: Longs) -> Self:
        """The same statements on some of the inputs; those about the corpus keep their scale."""
        own = self.owner[self.joint :]
        edges = np.searchsorted(own, np.arange(self.sequences + 1))
        rows, counts = places_of(edges, which)
        columns, offsets = places_of(self.offsets, which)
        width = int(self.offsets[-1])
        every = np.concatenate([columns + block * width for block in range(self.blocks)])
        kept = np.concatenate((np.arange(self.joint), self.joint + rows))
        owner = np.concatenate((self.owner[: self.joint], np.repeat(np.arange(len(which)), np.diff(counts))))
        return replace(
            self, number=self.group[kept], about=owner, matrix=self.matrix[kept][:, every], offsets=offsets
        )  # fmt: skip

    @abstractmethod
    def numbers(self, parts: Any) -> Floats:
        """Returns the numbers of the parts that rows speak of, as one vector."""

    @abstractmethod
    def lower(self, scores: Any, amounts: Floats) -> Any:
        """Returns scores less amounts, one for each of `numbers`."""

    def count(self, parts: Any) -> Floats:
        """A·y of every row for one output per input, given as parts."""
        counted: Floats = self.matrix @ self.numbers(parts)
        return counted

    def shift(self, scores: Any, prices: Floats) -> Any:
        """θ - Aᵀλ."""
        self.require(scores)
        return self.lower(scores, self.matrix.T @ prices)

    def forbid(self, scores: Any) -> Any:
        """-inf wherever a row has an entry."""
        self.require(scores)
        return self.lower(scores, np.where(np.asarray(abs(self.matrix).sum(axis=0)).ravel() > 0, np.inf, 0.0))

    def unforbid(self, scores: Any, parts: Any) -> Any:
        """Expected parts under what `forbid` made of these scores."""
        return parts

    def require(self, scores: Any) -> None:
        """Raise unless scores and rows are about the same inputs."""
        if not np.array_equal(scores.offsets, self.offsets):
            raise DataError("the rows were compiled for another batch than the scores")

    def direction(self, scores: Any, prices: Floats, factor: float) -> Any:
        """factor * θ - Aᵀλ, with nothing where θ is -inf."""
        return self.lower(_finite(scores).times(factor), self.matrix.T @ prices)

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
        """Marginals of (θ - Aᵀλ) / T; with `steps`, every input first improves its own prices, as `Rows.tilt` has it.

        bound, curve, limit: of every row about a single input. `tolerance` is the largest move of a price by a step of
        one.
        """
        first = slice(self.joint, None)
        count = len(self) - self.joint
        most = np.full(count, np.inf) if limit is None else limit
        box = np.maximum(self.low[first], -most), np.minimum(self.high[first], most)
        climb = _Climb(
            self, scores, prices[: self.joint].copy(), temperature, self.bound[first] if bound is None else bound,
            np.zeros(count) if curve is None else curve, *box, n_jobs,
        )  # fmt: skip
        return climb.improve(prices, steps if count else 0, tolerance)


def _finite(parts: Any) -> Any:
    """Scores with zero where they are -inf."""
    return parts.changed(lambda table: np.where(np.isfinite(table), table, 0.0))


@dataclass(frozen=True)
class _PricedPoint:
    """Prices, the marginals there, every input's share of the dual, and its slope in the input's own prices."""

    tilted: Tilted
    own: Floats
    value: Floats
    slope: Floats


@dataclass(frozen=True)
class _Climb:
    """Own prices of all inputs on their way up: maximise -T log Z - b·λ - Σ curve λ² / 2 within a box.

    This is the dual of the projection for each input alone (Eq. 8 and 23 of Ganchev et al. 2010).
    """

    rows: PartRows
    scores: Any
    corpus: Floats
    temperature: float
    bound: Floats
    curve: Floats
    low: Floats
    high: Floats
    n_jobs: int

    @cached_property
    def owner(self) -> Longs:
        """The input of each price."""
        return self.rows.owner[self.rows.joint :]

    def sums(self, values: Floats) -> Floats:
        """Sums over the rows of each input."""
        return np.bincount(self.owner, weights=values, minlength=self.rows.sequences).astype(float)

    def at(self, prices: Floats) -> _PricedPoint:
        """What these prices lead to."""
        scores = self.rows.shift(self.scores, prices).divide(self.temperature)
        found = self.rows.structure(self.n_jobs).marginals(scores)
        expected = self.rows.count(found.parts)
        own = self.rows.own(prices)
        slope = self.rows.own(expected) - self.bound - self.curve * own
        value = -self.temperature * found.log_partition - self.sums(own * self.bound + 0.5 * self.curve * own**2)
        return _PricedPoint(Tilted(found.log_partition, expected, found.parts, prices, 1.0), own, value, slope)

    def move(self, now: _PricedPoint, length: Floats) -> Floats:
        """Own prices after a step along the slope; length: of each input."""
        return np.clip(now.own + length[self.owner] * now.slope, self.low, self.high)

    def improve(self, prices: Floats, steps: int, tolerance: float) -> Tilted:
        """Steps with lengths by Barzilai and Borwein, each input's own; those that gain too little are shortened."""
        now, passes = self.at(prices), 1.0
        length = np.ones(self.rows.sequences)
        for left in range(steps, 0, -1):
            moved = np.abs(self.move(now, np.ones_like(length)) - now.own)
            active = np.unique(self.owner[moved > tolerance])
            if not len(active):
                break
            if len(active) <= _FEW * len(length):  # the others are done
                some = np.isin(self.owner, active)
                found = self._some(active, some).improve(self._prices(now.own[some]), left, tolerance)
                own = now.own.copy()
                own[some] = found.prices[len(self.corpus) :]
                now, passes = self.at(self._prices(own)), passes + 1.0 + found.passes * len(active) / len(length)
                break
            then = self.at(self._prices(self.move(now, length)))
            passes += 1.0
            step, bend = then.own - now.own, now.slope - then.slope
            promised, along, square = self.sums(now.slope * step), self.sums(step * bend), self.sums(step**2)
            better = then.value >= now.value + _GAIN * promised - 1e-12 * np.abs(now.value)
            fresh = square / np.where(along > 0, along, np.inf)
            length = np.where(better, np.where(along > 0, fresh, 4.0 * length), _SHORTER * length)
            length = np.clip(length, _SHORTEST, _LONGEST)
            now = self._joined(now, then, better)
        return replace(now.tilted, passes=passes)

    def _prices(self, own: Floats) -> Floats:
        """The prices of the corpus rows, and these of single inputs."""
        return np.concatenate((self.corpus, own))

    def _some(self, which: Longs, rows: Flags) -> "_Climb":
        """The same for some of the inputs, which have these rows."""
        low, high, bound, curve = (values[rows] for values in (self.low, self.high, self.bound, self.curve))
        return replace(
            self, rows=self.rows.take(which), scores=self.scores.take(which), low=low, high=high, bound=bound,
            curve=curve,
        )  # fmt: skip

    def _joined(self, now: _PricedPoint, then: _PricedPoint, better: Flags) -> _PricedPoint:
        """The better one of two for each input."""
        if better.all():
            return then
        if not better.any():
            return now
        return self.at(self._prices(np.where(better[self.owner], then.own, now.own)))


def _laid_out(
    statements: Sequence[Any], entries: Sequence[tuple[Longs, Longs, Longs, Floats]], width: int
) -> tuple[tuple[Any, ...], Longs, Longs, Any]:
    """Statements with those about the corpus first, and their rows: group, owner and matrix.

    entries: of each statement (owner of its rows, row, number, value).
    """
    from scipy.sparse import csr_array

    order = sorted(range(len(statements)), key=lambda k: not statements[k].corpus)
    nothing = np.empty(0, np.int64)
    owner = np.concatenate([nothing, *(entries[k][0] for k in order)])
    group = np.concatenate([nothing, *(np.full(len(entries[k][0]), n) for n, k in enumerate(order))])
    first = np.cumsum([0, *(len(entries[k][0]) for k in order)])
    row = np.concatenate([nothing, *(entries[k][1] + first[n] for n, k in enumerate(order))])
    column = np.concatenate([nothing, *(entries[k][2] for k in order)])
    value = np.concatenate([np.empty(0), *(entries[k][3] for k in order)])
    by_input = np.argsort(owner, kind="stable")
    place = np.empty_like(by_input)
    place[by_input] = np.arange(len(by_input))
    matrix = csr_array((value, (place[row], column)), shape=(len(owner), width))
    return tuple(statements[k] for k in order), group[by_input], owner[by_input], matrix


@dataclass(frozen=True)
class FlatRows(PartRows):
    """Rows over flat parts; flat: the structure whose parts these are."""

    flat: FlatStructure

    @classmethod
    def compile(
        cls,
        rules: Sequence[Rule],
        view: PartView,
        structure: FlatStructure,
        units: Sequence[float] | None = None,
        room: Sequence[float] = (),
    ) -> "FlatRows":
        """Rows of rules as statements about the parts of a batch; units, room: as in `Rows.compile`."""
        return cls.of(part_statements(rules, view, units, room), view, structure)

    @classmethod
    def of(cls, statements: Sequence[PartStatement], view: PartView, structure: FlatStructure) -> "FlatRows":
        """Rows of statements about the parts of a batch."""
        entries = [(one.owner, one.row, one.part, one.value) for one in statements]
        return cls(*_laid_out(statements, entries, int(view.offsets[-1])), view.offsets, structure)

    def structure(self, n_jobs: int) -> FlatStructure:
        """The structure."""
        return replace(self.flat, n_jobs=n_jobs)

    def numbers(self, parts: FlatParts) -> Floats:
        """The numbers of all parts."""
        return parts.values

    def lower(self, scores: FlatParts, amounts: Floats) -> FlatParts:
        """Scores less amounts."""
        with np.errstate(invalid="ignore"):
            return replace(scores, values=np.where(scores.values == -np.inf, -np.inf, scores.values - amounts))


@dataclass(frozen=True)
class SegmentRows(PartRows):
    """Rows over tokens of segments: their labels, and where segments open."""

    labels: int

    @classmethod
    def compile(
        cls,
        rules: Sequence[Rule],
        X: Sequence[Any],
        labels: Sequence[str],
        units: Sequence[float] | None = None,
        room: Sequence[float] = (),
    ) -> "SegmentRows":
        """Rows of rules; one whose amount depends on the label of the segment before is refused."""
        lengths = [len(x) for x in X]
        edges = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        found = compile_statements(rules, X, labels, units, room)
        owners = np.repeat(np.arange(len(X)), lengths)
        entries = []
        for one in found:
            amounts = _amounts(one, edges)
            number = np.flatnonzero(amounts)
            token = number % (len(owners) * len(labels)) // len(labels)
            row = np.zeros(len(number), np.int64) if one.corpus else owners[token]
            entries.append((np.array([-1]) if one.corpus else np.arange(len(X)), row, number, amounts[number]))
        width = 2 * len(owners) * len(labels)
        return cls(*_laid_out(found, entries, width), edges * len(labels), len(labels))

    @property
    def blocks(self) -> int:
        """Labels of tokens, and labels of first tokens of segments."""
        return 2

    @cached_property
    def reach(self) -> Floats:
        """Σ over positions of the largest squared entry of each corpus row."""
        out = []
        for s in (s for s in self.statements if s.corpus):
            largest = np.abs(s.table.amount).max(axis=(1, 2)) ** 2
            ends = float((s.table.at_end**2).max(initial=0.0)) * self.sequences
            out.append(_VARIANCE * (largest[s.table.kind].sum() + ends))
        return np.array(out, float)

    def require(self, scores: SegmentParts) -> None:
        """Raise unless scores and rows are about the same sequences and labels."""
        if scores.labels != self.labels or not np.array_equal(scores.offsets * self.labels, self.offsets):
            raise DataError("the rows were compiled for another batch than the scores")

    def structure(self, n_jobs: int) -> Segmentation:
        """Segmentations."""
        return Segmentation(n_jobs)

    def numbers(self, parts: SegmentParts) -> Floats:
        """Labels of tokens, and labels of first tokens of segments."""
        return np.concatenate((parts.unary.ravel(), parts.opens.ravel()))

    def lower(self, scores: SegmentParts, amounts: Floats) -> SegmentParts:
        """Scores less amounts of these."""
        here, opening = amounts.reshape(2, *scores.unary.shape)
        return replace(scores, unary=scores.unary - here, opens=scores.opens - opening)

    def direction(self, scores: Any, prices: Floats, factor: float) -> Any:
        """Not offered: there are no derivatives of expectations of segments."""
        raise NotSupported("derivatives of expectations need label chains; use PosteriorRegularization")

    def forbid(self, scores: Any) -> Any:
        """-inf wherever a row has an entry; a step within a segment cannot be forbidden where opening one is not."""
        for group in np.unique(self.group):
            within, opening = _opening(self.statements[group])
            if ((within != 0) & (opening == 0)).any():
                raise NotSupported(
                    f"{self.statements[group].title!r} forbids steps within segments alone; allow some slack, or use "
                    "CRF"
                )
        here, more = np.split(np.asarray(abs(self.matrix).sum(axis=0)).ravel(), 2)
        gone = np.concatenate((here, np.where(here > 0, 0.0, more)))
        return self.lower(scores, np.where(gone > 0, np.inf, 0.0))


def _amounts(statement: Statement, offsets: Longs) -> Floats:
    """What a token in a segment adds, and what it adds more where the segment opens."""
    within, opening = _opening(statement)
    kind, heads = statement.table.kind, offsets[:-1]
    here, more = within[kind], (opening - within)[kind]
    here[heads], more[heads] = statement.table.amount[kind[heads], -1], 0.0
    here[offsets[1:] - 1] += statement.table.at_end
    return np.concatenate((here.ravel(), more.ravel()))


def _opening(statement: Statement) -> tuple[Floats, Floats]:
    """Amounts of a step within a segment, and of opening one after another label: (kinds, labels) each."""
    steps = statement.table.amount[:, :-1]
    labels = steps.shape[2]
    within = np.diagonal(steps, axis1=1, axis2=2)
    others = ~np.eye(labels, dtype=bool)
    least = np.where(others, steps, np.inf).min(axis=1)
    most = np.where(others, steps, -np.inf).max(axis=1)
    if labels == 1:
        return within.copy(), within.copy()
    if (least != most).any():
        raise NotSupported(
            f"{statement.title!r} depends on the label of the segment before, and expectations of that are worked out "
            "on label chains alone; use CRF or HMM, or CCM or CoDL with hard or soft rules"
        )
    return within.copy(), least
