"""The best outputs of any structure under rows that are no part of it, by its own argmax.

    maximise  θ·y - Σ_r ρ_r max(0, A_r·y - b_r)       over the outputs y of a structure; ρ_r = inf for hard rows

That is Eq. 3.2 of Chang 2011, for rules whose violation is the excess of a count. For prices 0 <= λ <= ρ, max over y of
(θ - Aᵀλ)·y + λ·b is at least the optimum (Lagrangian relaxation), and outputs met on the way are candidates. Where the
two do not meet, the outputs are parted by whether they have a certain part, and the share with the highest bound is
looked at next (branch and bound). So any structure that has an argmax, and can force a part (`rivals`), is solved
exactly, and every answer has a bound. Time is looked at before every argmax.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from time import monotonic
from typing import Any

import numpy as np

from ..kernels.compiling import Floats, Ints, Longs
from ..kernels.parallel import stop_event
from ..structures.flat import FlatStructure, Shape
from ..structures.polytope import LinearRows

# Steps on the prices at first and in every share; shares that are looked at before it gives up.
_FIRST_STEPS, _STEPS, _SHARES = 60, 15, 2_000
# Steps without a better bound after which steps become half as long.
_PATIENCE = 4
# What a bound and a score may differ by and count as equal, as a share of the score.
_EQUAL = 1e-9
# Outputs met last, among which the next part to decide on is sought.
_RECENT = 12


@dataclass(frozen=True)
class UpperRows:
    """Rows A y <= b over the parts of one input; penalty: (rows,) what each unit beyond costs, inf if it must hold."""

    matrix: Any
    bound: Floats
    penalty: Floats

    def linear(self) -> LinearRows:
        """The same rows as programs have them."""
        matrix, high = self.matrix.tocsr(), self.bound
        start, index = (array.astype(np.int32) for array in (matrix.indptr, matrix.indices))
        return LinearRows(np.full(len(high), -np.inf), high, start, index, matrix.data)

    def cost(self, counted: Floats) -> float:
        """What an output with these counts A y costs."""
        over = counted - self.bound
        broken = over > _EQUAL * (1 + np.abs(self.bound))
        return float((self.penalty[broken] * over[broken]).sum())


@dataclass(frozen=True)
class Found:
    """The k best outputs of one input: outputs and scores, best first; what no other output exceeds; and whether that
    is proved; nodes: shares that were looked at.
    """

    outputs: list[Ints]
    scores: list[float]
    bound: float
    exact: bool
    nodes: int


@dataclass
class _Share:
    """Outputs with some parts forced and others forbidden, which scores of -inf say, and what is known of them."""

    theta: Floats
    fixed: frozenset[int]
    prices: Floats
    bound: float = np.inf
    best: Ints | None = None
    value: float = -np.inf
    recent: list[Longs] = field(default_factory=list)


def best_under_rows(
    structure: FlatStructure, theta: Floats, shape: Shape, rows: UpperRows, k: int, time_limit: float = np.inf
) -> Found:
    """Returns the k best outputs under rows; no output at all where hard rows cannot hold together."""
    return _BranchSearch(structure, theta, shape, rows, monotonic() + time_limit).run(k)


@dataclass
class _BranchSearch:
    structure: FlatStructure
    theta: Floats
    shape: Shape
    rows: UpperRows
    end: float
    nodes: int = 0
    queue: list[tuple[float, int, _Share]] = field(default_factory=list)
    number: Iterator[int] = field(default_factory=count)
    met: _Share | None = None  # that of the best output met

    def run(self, k: int) -> Found:
        """Shares by their bounds; the best output of one whose bound it reaches is the next one."""
        found, scores, exact = list[Ints](), list[float](), True
        self.offer(_Share(self.theta, frozenset(), np.zeros(len(self.rows.bound))), _FIRST_STEPS)
        while self.queue and len(found) < k:
            share = heappop(self.queue)[2]
            if k == 1 and self.met is not None and self.met.value >= share.bound - self.slack(self.met.value):
                share = self.met
                share.bound = share.value
            if self.closed(share):
                assert share.best is not None
                found.append(share.best)
                scores.append(share.value)
                if len(found) < k:
                    self.without(share, share.best)
            elif self.nodes > _SHARES or self.late:
                exact = False
                heappush(self.queue, (-share.bound, next(self.number), share))
                break
            else:
                self.branch(share)
        bound = max([*scores[:1], *(() if exact else (item[2].bound for item in self.queue))], default=-np.inf)
        if not exact:
            self.fill(found, scores, k)
        return Found(found, scores, bound, exact, self.nodes)

    @property
    def late(self) -> bool:
        """Whether it is to end: it is out of time, or asked to (`stop_event`)."""
        return monotonic() > self.end or stop_event().is_set()

    def offer(self, share: _Share, steps: int) -> None:
        """Puts a share into the queue, unless it has no output that could be meant."""
        if self.relax(share, steps):
            if share.best is not None and (self.met is None or share.value > self.met.value):
                self.met = share
            heappush(self.queue, (-share.bound, next(self.number), share))

    def fill(self, found: list[Ints], scores: list[float], k: int) -> None:
        """The best outputs met, where time or work ended the search."""
        met = [(item[2].value, item[2].best) for item in self.queue]
        for value, output in sorted(met, key=lambda one: -one[0]):
            if output is not None and len(found) < k:
                found.append(output)
                scores.append(value)

    def slack(self, value: float) -> float:
        """What a bound may be above a score and count as equal."""
        return _EQUAL * (1 + abs(value)) if np.isfinite(value) else 0.0

    def closed(self, share: _Share) -> bool:
        """Whether the best output met in a share is the best of it."""
        return share.best is not None and share.value >= share.bound - self.slack(share.value)

    @cached_property
    def lowest(self) -> float:
        """No output that satisfies the hard rows scores less."""
        worst = self.structure.best(np.where(np.isfinite(self.theta), -self.theta, -np.inf), self.shape, 1)
        if not worst:
            return np.inf
        soft = np.isfinite(self.rows.penalty)
        most = np.asarray(self.rows.matrix.maximum(0).sum(axis=1)).ravel() - self.rows.bound
        charged = float((self.rows.penalty[soft] * np.maximum(most[soft], 0.0)).sum())
        return float(self.theta[self.structure.parts_of(self.shape, worst[0])].sum()) - charged

    def relax(self, share: _Share, steps: int) -> bool:
        """Better prices for a share; False where it has no output that could be meant."""
        self.nodes += 1
        matrix, prices, factor, stale = self.rows.matrix, share.prices, 1.0, 0
        for _ in range(steps):
            if share.bound < np.inf and self.late:
                break
            moved = share.theta - matrix.T @ prices if prices.any() else share.theta
            outputs = self.structure.best(moved, self.shape, 1)
            if not outputs:
                return False
            parts = self.structure.parts_of(self.shape, outputs[0])
            counted = np.asarray(matrix[:, parts].sum(axis=1)).ravel()
            value = float(share.theta[parts].sum()) - self.rows.cost(counted)
            bound = float(moved[parts].sum() + prices @ self.rows.bound)
            if value > share.value:
                share.best, share.value = outputs[0], value
            stale = 0 if bound < share.bound - 1e-12 * (1 + abs(bound)) else stale + 1
            if bound < share.bound:
                share.bound, share.prices = bound, prices
            share.recent = [*share.recent[1 - _RECENT :], parts]
            if self.closed(share):
                return True
            if share.value == -np.inf and share.bound < self.lowest - self.slack(self.lowest):
                return False
            if stale >= _PATIENCE:
                factor, stale, prices = 0.5 * factor, 0, share.prices
            slope = counted - self.rows.bound
            slope = np.where((slope < 0) & (prices <= 0), 0.0, slope)
            size = float(slope @ slope)
            if size <= 0:
                break
            aim = share.value if share.value > -np.inf else self.lowest - 1.0
            prices = np.clip(prices + factor * max(bound - aim, 1e-6) / size * slope, 0.0, self.rows.penalty)
        return True

    def branch(self, share: _Share) -> None:
        """A share in two: with and without the part that the outputs met last agree on least."""
        seen, times = np.unique(np.concatenate(share.recent), return_counts=True)
        free = np.array([part not in share.fixed for part in seen.tolist()], bool)
        if not free.any():  # there is one output only
            share.bound = share.value
            if share.best is not None:
                heappush(self.queue, (-share.bound, next(self.number), share))
            return
        unsure = np.where(free, np.abs(times / len(share.recent) - 0.5), np.inf)
        part = int(seen[int(unsure.argmin())])
        out, inside = share.theta.copy(), share.theta.copy()
        out[part] = -np.inf
        inside[self.structure.rivals(self.shape, part)] = -np.inf
        shares = (
            _Share(out, share.fixed, share.prices, share.bound),
            _Share(inside, share.fixed | {part}, share.prices, share.bound),
        )
        if share.best is not None:  # it is in one of the two
            mine = shares[int(part in self.structure.parts_of(self.shape, share.best))]
            mine.best, mine.value = share.best, share.value
        for one in shares:
            self.offer(one, _STEPS)

    def without(self, share: _Share, output: Ints) -> None:
        """Offers the other outputs of a share, parted by the first part of the output that they lack."""
        left, fixed = share.theta.copy(), share.fixed
        for part in self.structure.parts_of(self.shape, output).tolist():
            if part in fixed:
                continue
            out = left.copy()
            out[part] = -np.inf
            self.offer(_Share(out, fixed, share.prices, share.bound), _STEPS)
            left[self.structure.rivals(self.shape, part)] = -np.inf
            fixed = fixed | {part}
