"""Steps of prices that share a budget: for each label, those of a group's members add up to at most its radius.

Members of a group lie next to each other, group g at edges[g] to edges[g + 1]; a member is an occurrence of a word and
has a price for each label. The nearest point of the budget takes a threshold τ from all prices of a label in a group,
found by Newton's method on Σ max(v - τ, 0) = radius, which is piecewise linear and convex: a few sweeps, no sorting
(Michelot 1986). `inference.norms` has the plain version.

Legend: v prices after a step, τ threshold.
"""

import numpy as np

from .compiling import Floats, Longs, ordered, ordered_inner


@ordered_inner
def thresholds(v: Floats, radius: float, tau: Floats, total: Floats, above: Longs, before: Longs) -> None:
    """τ (labels,) with Σ max(v - τ, 0) = radius in each column of v (members, labels), or 0 if v has room.

    v is not negative; above, before: how many of a column are above its threshold, and were above the last one.
    """
    n, L = v.shape
    tau[:] = 0.0
    before[:] = 0
    moved = True
    while moved:
        moved = False
        total[:] = 0.0
        above[:] = 0
        for i in range(n):
            for c in range(L):
                if v[i, c] > tau[c]:
                    total[c] += v[i, c]
                    above[c] += 1
        for c in range(L):
            if above[c] == 0 or above[c] == before[c]:
                continue
            before[c] = above[c]
            higher = (total[c] - radius) / above[c]
            if higher > tau[c]:
                tau[c] = higher
                moved = True


@ordered
def step_within(
    first: int, last: int, edges: Longs, radius: Floats, prices: Floats, gradient: Floats, step: float, out: Floats
) -> None:
    """For groups first to last: the point nearest to prices - step * gradient (members, labels) within the radius."""
    L = prices.shape[1]
    tau, total, above, before = np.empty(L), np.empty(L), np.empty(L, np.int64), np.empty(L, np.int64)
    for g in range(first, last):
        a, b = edges[g], edges[g + 1]
        for i in range(a, b):
            for c in range(L):
                out[i, c] = max(prices[i, c] - step * gradient[i, c], 0.0)
        thresholds(out[a:b], radius[g], tau, total, above, before)
        for i in range(a, b):
            for c in range(L):
                out[i, c] = max(out[i, c] - tau[c], 0.0)
