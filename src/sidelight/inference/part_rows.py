"""Statements about expectations on any parts: rows A as a sparse matrix over numbers of the parts.

What `rows` keeps factored for label chains is written out here, and the prices of single inputs are found by projected
gradient steps on all inputs at once, each with a step length of its own, in place of one compiled loop.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..errors import DataError, NotSupported
from ..kernels.compiling import Flags, Floats, Longs
from ..kernels.tilting import Entries
from ..rules.rows import Statement
from ..structures.segmentation import Segmentation, SegmentParts, ranges
from .rows import Rows, Tilted
from .tables import Tables

# What a step must gain of what the slope promises; how a step that gains less is shortened; lengths of steps.
_GAIN, _SHORTER, _SHORTEST, _LONGEST = 1e-4, 0.25, 1e-6, 1e6
# Where at most this share of the inputs is not done, the others are left alone.
_FEW = 0.5


@dataclass(frozen=True)
class PartRows(Rows):
    """Rows over numbers of parts.

    A subclass says which numbers these are (`numbers`), how scores are lowered by as many (`lower`), and what the
    entries of a statement are (`entries`).
    """

    @classmethod
    def of(cls, statements: Sequence[Statement], offsets: Longs, labels: int) -> Self:
        """Rows of statements whose tables are for this batch."""
        nothing = Tables(np.empty(0, np.int32), *[Entries(*[np.empty(0, np.int64)] * 4)] * 2)  # type: ignore[arg-type]
        corpus = tuple(s for s in statements if s.corpus)
        each = tuple(s for s in statements if not s.corpus)
        return cls(corpus, each, offsets, labels, nothing, nothing, np.empty(0, np.int32), 0)

    def take(self, which: Longs) -> Self:
        """The same statements on some of the inputs; those about the corpus keep their scale."""
        lengths = np.diff(self.offsets)[which]
        at = ranges(self.offsets[which], lengths)
        some = [
            replace(s, table=replace(s.table, kind=s.table.kind[at])) for s in (*self.about_corpus, *self.about_each)
        ]
        return self.of(some, np.concatenate(([0], np.cumsum(lengths))), self.labels)

    def numbers(self, parts: Any) -> Floats:
        """Returns the numbers of the parts that rows speak of, as one vector."""
        raise NotImplementedError

    def lower(self, scores: Any, amounts: Floats) -> Any:
        """Returns scores less amounts, one for each of `numbers`."""
        raise NotImplementedError

    def entries(self, statement: Statement) -> Floats:
        """Returns the amount of a statement for each of `numbers`."""
        raise NotImplementedError

    def owners(self) -> Longs:
        """Returns the input that each of `numbers` belongs to."""
        raise NotImplementedError

    @cached_property
    def matrix(self) -> Any:
        """A: (rows, numbers), sparse."""
        from scipy.sparse import csr_array

        owner, J = self.owners(), len(self.about_each)
        rows, columns, values = [], [], []
        for number, statement in enumerate((*self.about_corpus, *self.about_each)):
            amounts = self.entries(statement)
            at = np.flatnonzero(amounts)
            own = self.joint + owner[at] * J + (number - self.joint)
            rows.append(np.full(len(at), number) if statement.corpus else own)
            columns.append(at)
            values.append(amounts[at])
        nothing = [np.empty(0, np.int64)]
        place = (np.concatenate([*nothing, *rows]), np.concatenate([*nothing, *columns]))
        return csr_array((np.concatenate([np.empty(0), *values]), place), shape=(len(self), len(owner)))

    def shift(self, scores: Any, prices: Floats) -> Any:
        """θ - Aᵀλ."""
        self.require(scores)
        return self.lower(scores, self.matrix.T @ prices)

    def forbid(self, scores: Any) -> Any:
        """-inf wherever a row has an entry."""
        self.require(scores)
        return self.lower(scores, np.where(np.abs(self.matrix).sum(axis=0) > 0, np.inf, 0.0))

    def unforbid(self, scores: Any, parts: Any) -> Any:
        """Expected parts under what `forbid` made of these scores."""
        return parts

    def require(self, scores: Any) -> None:
        """Raise unless scores and rows are about the same inputs."""
        if scores.labels != self.labels or not np.array_equal(scores.offsets, self.offsets):
            raise DataError("the rows were compiled for another batch than the scores")

    def direction(self, scores: Any, prices: Floats, factor: float) -> Any:
        """Not offered: there are exact derivatives of expectations on label chains alone."""
        raise NotSupported("derivatives of expectations need label chains; use PosteriorRegularization")

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

        `tolerance` is the largest move of a price by a step of one.
        """
        J, first = len(self.about_each), slice(self.joint, self.joint + len(self.about_each))
        most = np.full(J, np.inf) if limit is None else limit
        box = np.maximum(self.low[first], -most), np.minimum(self.high[first], most)
        climb = _Climb(
            self, scores, prices[: self.joint].copy(), temperature, self.bound[first] if bound is None else bound,
            np.zeros(J) if curve is None else curve, *box, n_jobs,
        )  # fmt: skip
        return climb.improve(prices, steps if J else 0, tolerance)


@dataclass(frozen=True)
class _At:
    """Prices, the marginals there, every input's share of the dual, and its slope in the input's own prices."""

    tilted: Tilted
    own: Floats
    value: Floats
    slope: Floats


@dataclass(frozen=True)
class _Climb:
    """Own prices of all inputs on their way up: maximise -T log Z - b·λ - Σ curve λ² / 2 within a box."""

    rows: PartRows
    scores: Any
    corpus: Floats
    temperature: float
    bound: Floats
    curve: Floats
    low: Floats
    high: Floats
    n_jobs: int

    def at(self, prices: Floats) -> _At:
        """What these prices lead to."""
        scores = self.rows.shift(self.scores, prices).divide(self.temperature)
        found = self.rows.structure(self.n_jobs).marginals(scores)
        expected = self.rows.matrix @ self.rows.numbers(found.parts)
        own = self.rows.split(prices)[1]
        slope = self.rows.split(expected)[1] - self.bound - self.curve * own
        value = -self.temperature * found.log_partition - own @ self.bound - 0.5 * own**2 @ self.curve
        return _At(Tilted(found.log_partition, expected, found.parts, prices, 1.0), own, value, slope)

    def move(self, now: _At, length: Floats) -> Floats:
        """Own prices after a step along the slope."""
        return np.clip(now.own + length[:, None] * now.slope, self.low, self.high)

    def improve(self, prices: Floats, steps: int, tolerance: float) -> Tilted:
        """Steps with lengths by Barzilai and Borwein, each input's own; those that gain too little are shortened."""
        now, passes = self.at(prices), 1.0
        length = np.ones(len(now.own))
        for left in range(steps, 0, -1):
            moves = np.abs(self.move(now, np.ones_like(length)) - now.own).max(axis=1, initial=0.0) > tolerance
            active = np.flatnonzero(moves)
            if not len(active):
                break
            if len(active) <= _FEW * len(moves):  # the others are done
                found = self._some(active).improve(self._prices(now.own[active]), left, tolerance)
                own = now.own.copy()
                own[active] = self.rows.take(active).split(found.prices)[1]
                now, passes = self.at(self._prices(own)), passes + 1.0 + found.passes * len(active) / len(moves)
                break
            wanted = self.move(now, length)
            then = self.at(self._prices(wanted))
            passes += 1.0
            step, bend = then.own - now.own, now.slope - then.slope
            promised = (now.slope * step).sum(axis=1)
            better = then.value >= now.value + _GAIN * promised - 1e-12 * np.abs(now.value)
            along = (step * bend).sum(axis=1)
            fresh = (step**2).sum(axis=1) / np.where(along > 0, along, np.inf)
            length = np.where(better, np.where(along > 0, fresh, 4.0 * length), _SHORTER * length)
            length = np.clip(length, _SHORTEST, _LONGEST)
            now = self._joined(now, then, better)
        return replace(now.tilted, passes=passes)

    def _prices(self, own: Floats) -> Floats:
        """The prices of the corpus rows, and these of single inputs."""
        return np.concatenate((self.corpus, own.ravel()))

    def _some(self, which: Longs) -> "_Climb":
        """The same for some of the inputs."""
        return replace(self, rows=self.rows.take(which), scores=self.scores.take(which))

    def _joined(self, now: _At, then: _At, better: Flags) -> _At:
        """The better one of two for each input."""
        if better.all():
            return then
        if not better.any():
            return now
        own = np.where(better[:, None], then.own, now.own)
        return self.at(self._prices(own))


@dataclass(frozen=True)
class SegmentRows(PartRows):
    """Rows over tokens of segments: their labels, and where segments open."""

    @classmethod
    def of(cls, statements: Sequence[Statement], offsets: Longs, labels: int) -> Self:
        """Rows of statements; one whose amount depends on the label of the segment before is refused."""
        for statement in statements:
            _opening(statement)
        return super().of(statements, offsets, labels)

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

    def owners(self) -> Longs:
        """The sequence of each token and label, twice."""
        tokens = np.repeat(np.arange(self.sequences), np.diff(self.offsets) * self.labels)
        return np.tile(tokens, 2)

    def entries(self, statement: Statement) -> Floats:
        """What a token in a segment adds, and what it adds more where the segment opens."""
        within, opening = _opening(statement)
        kind, heads = statement.table.kind, self.offsets[:-1]
        here, more = within[kind], (opening - within)[kind]
        here[heads], more[heads] = statement.table.amount[kind[heads], -1], 0.0
        here[self.offsets[1:] - 1] += statement.table.at_end
        return np.concatenate((here.ravel(), more.ravel()))

    def forbid(self, scores: Any) -> Any:
        """-inf wherever a row has an entry; a step within a segment cannot be forbidden where opening one is not."""
        for statement in (*self.about_corpus, *self.about_each):
            within, opening = _opening(statement)
            if ((within != 0) & (opening == 0)).any():
                raise NotSupported(
                    f"{statement.title!r} forbids steps within segments alone; allow some slack, or use CRF"
                )
        here, more = np.split(np.abs(self.matrix).sum(axis=0), 2)
        gone = np.concatenate((here, np.where(here > 0, 0.0, more)))
        return self.lower(scores, np.where(gone > 0, np.inf, 0.0))


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
