"""Chains tilted by prices of statements: marginals of (θ - Aᵀλ) / T, and each sequence's own best prices.

Statements about the corpus have one price for all sequences; their shift comes as ready tables, one per kind of
position. A statement about each sequence has a price per sequence; its shift is laid over a sequence's scores when
its turn comes, so no table of all sequences exists. The recursions are those of `kernels.chain`, order one.

Sparse tables: table k has the entries pointer[k] to pointer[k + 1], each adds value at cell for a statement (`row`).
A cell is a label, or a * L + c for the labels a and c of neighbours.

Legend: θ scores, A rows, λ prices, T temperature, u unary scores, γ marginals, E expectations, b bounds, ξ slack.
"""

from typing import NamedTuple

import numpy as np

from .chain import RANGE, backward, forward, log_forward_backward
from .compiling import Floats, Ints, Longs, inner, ordered, ordered_inner

# RANGE is what pair scores may span, WIDE the ratio of their exponentials.
WIDE = float(np.exp(RANGE))


class Entries(NamedTuple):
    """Sparse tables, see above."""

    pointer: Longs
    row: Ints
    cell: Ints
    value: Floats


class Batch(NamedTuple):
    """Scores of a batch: unary (tokens, L) to be shifted by shift[code] and divided by T; pair (types, L, L), start and
    end with that done.
    """

    offsets: Longs
    unary: Floats
    code: Ints
    shift: Floats
    pair: Floats
    types: Ints
    start: Floats
    end: Floats
    temperature: float


class Own(NamedTuple):
    """Statements about each sequence: tables at each token's code and pair type; E - bound, price range, curvature."""

    code: Ints
    unary: Entries
    pair: Entries
    bound: Floats
    low: Floats
    high: Floats
    curve: Floats


class Space(NamedTuple):
    """Room for one sequence; `used` lists its pair types, `mass` its pair marginals summed by type."""

    u: Floats
    e: Floats
    alpha: Floats
    scale: Floats
    beta: Floats
    weight: Floats
    arcs: Floats
    e_arcs: Floats
    top: Floats
    common: Floats
    factors: Floats
    mass: Floats
    used: Longs
    nothing: Floats


@inner
def room(longest: int, types: int, L: int) -> Space:
    """Workspace for sequences up to a length."""
    shape = (2, types, 1, L, L)
    return Space(
        np.empty((longest, L)),
        np.empty((longest, L)),
        np.empty((longest, L)),
        np.empty(longest),
        np.empty(L),
        np.empty(L),
        np.empty(shape),
        np.empty(shape),
        np.empty((2, types)),
        np.empty((types, L, L)),
        np.zeros(shape),
        np.zeros((types, L, L)),
        np.zeros(types, np.int64),
        np.empty((0, 0, 0, 0)),
    )


@inner
def list_types(types: Ints, used: Longs) -> int:
    """The pair types of one sequence, each once, at the front of `used`; returns how many."""
    count = 0
    for t in range(1, len(types)):
        found = False
        for k in range(count):
            found = found or used[k] == types[t]
        if not found:
            used[count] = types[t]
            count += 1
    return count


@inner
def lay_common(batch: Batch, space: Space) -> bool:
    """Pair scores that all sequences share, and their exponentials; whether they span little."""
    types, L, _ = batch.pair.shape
    fits = True
    for y in range(types):
        high, low = span(batch.pair[y])
        fits &= high - low <= RANGE
        high = 0.0 if high == -np.inf else high
        for k in range(2):
            space.top[k, y] = high
            for a in range(L):
                for c in range(L):
                    space.arcs[k, y, 0, a, c] = batch.pair[y, a, c]
                    space.common[y, a, c] = np.exp(batch.pair[y, a, c] - high)
                    space.e_arcs[k, y, 0, a, c] = space.common[y, a, c]
    return fits


@inner
def span(table: Floats) -> tuple[float, float]:
    """Largest and smallest finite entry; (-inf, inf) if there is none."""
    high, low = -np.inf, np.inf
    for a in range(len(table)):
        for c in range(len(table)):
            v = table[a, c]
            high = v if v > high else high
            low = v if v < low and v > -np.inf else low
    return high, low


@inner
def lay_own(y: int, batch: Batch, own: Own, price: Floats, space: Space) -> bool:
    """The exponentials of one type's pair scores with a sequence's own shift; whether they still span little."""
    L = batch.unary.shape[1]
    table, again = space.e_arcs[0, y, 0].reshape(L * L), space.e_arcs[1, y, 0].reshape(L * L)
    common = space.common[y].reshape(L * L)
    for m in range(L * L):
        table[m] = common[m]
    row, value, factor = -1, 0.0, 1.0
    for k in range(own.pair.pointer[y], own.pair.pointer[y + 1]):
        if own.pair.row[k] != row or own.pair.value[k] != value:  # most entries of a row are equal
            row, value = own.pair.row[k], own.pair.value[k]
            shift = price[row] * value / batch.temperature
            if abs(shift) > RANGE:
                return False
            factor = np.exp(-shift)
        table[own.pair.cell[k]] *= factor
    high, low = 0.0, np.inf
    for m in range(L * L):
        high = max(high, table[m])
        low = min(low, table[m] if common[m] > 0.0 else np.inf)
    for m in range(L * L):
        again[m] = table[m]
    return WIDE * low >= high and WIDE * high >= 1.0 and high <= WIDE


@inner
def lay_own_scores(y: int, batch: Batch, own: Own, price: Floats, space: Space) -> None:
    """The pair scores themselves, of which `lay_own` makes the exponentials."""
    L = batch.unary.shape[1]
    table, again = space.arcs[0, y, 0].reshape(L * L), space.arcs[1, y, 0].reshape(L * L)
    for m in range(L * L):
        table[m] = batch.pair[y, m // L, m % L]
    for k in range(own.pair.pointer[y], own.pair.pointer[y + 1]):
        table[own.pair.cell[k]] -= price[own.pair.row[k]] * own.pair.value[k] / batch.temperature
    for m in range(L * L):
        again[m] = table[m]


@inner
def tilt(
    p: int, q: int, batch: Batch, own: Own, price: Floats, count: int, fits: bool, space: Space, gamma: Floats
) -> float:
    """Log-partition of the sequence at tokens p to q at its prices; γ into `gamma` (n, L), pairs into `space.mass`."""
    L = batch.unary.shape[1]
    n = q - p
    types, u, e, alpha = batch.types[p:q], space.u[:n], space.e[:n], space.alpha[:n]
    for k in range(count):
        y = space.used[k]
        space.factors[:, y] = 0.0
        if len(own.pair.row) > 0:
            fits &= lay_own(y, batch, own, price, space)
    inverse = 1.0 / batch.temperature
    for t in range(n):
        code, first = batch.code[p + t], own.code[p + t]
        for c in range(L):
            u[t, c] = (batch.unary[p + t, c] - batch.shift[code, c]) * inverse
        for k in range(own.unary.pointer[first], own.unary.pointer[first + 1]):
            u[t, own.unary.cell[k]] -= price[own.unary.row[k]] * own.unary.value[k] * inverse
    log_partition, trusted = -np.inf, False
    if fits:
        log_partition, trusted = forward(
            u, space.e_arcs, space.top, types, batch.start, batch.end, e, alpha, space.scale
        )
    if trusted:
        backward(
            space.e_arcs, types, e, alpha, space.scale, space.beta, gamma, space.weight, space.factors,
            space.nothing, p,
        )  # fmt: skip
    else:
        if len(own.pair.row) > 0:
            for k in range(count):
                lay_own_scores(space.used[k], batch, own, price, space)
        log_partition = log_forward_backward(
            u, space.arcs, types, batch.start, batch.end, gamma, space.factors, space.nothing, p
        )
    for k in range(count):
        y = space.used[k]
        for a in range(L):
            for c in range(L):
                both = space.factors[0, y, 0, a, c] + space.factors[1, y, 0, a, c]
                space.mass[y, a, c] = both * space.e_arcs[0, y, 0, a, c] if trusted else both
    return log_partition


@ordered_inner
def read_own(p: int, q: int, own: Own, count: int, space: Space, gamma: Floats, expected: Floats) -> None:
    """E of each own statement from the marginals of one sequence."""
    L = gamma.shape[1]
    expected[:] = 0.0
    for t in range(q - p):
        code = own.code[p + t]
        for k in range(own.unary.pointer[code], own.unary.pointer[code + 1]):
            expected[own.unary.row[k]] += own.unary.value[k] * gamma[t, own.unary.cell[k]]
    for k in range(count):
        y = space.used[k]
        mass = space.mass[y].reshape(L * L)
        for m in range(own.pair.pointer[y], own.pair.pointer[y + 1]):
            expected[own.pair.row[m]] += own.pair.value[m] * mass[own.pair.cell[m]]


@ordered_inner
def own_value(own: Own, temperature: float, log_partition: float, price: Floats) -> float:
    """T log Z + b·λ + Σ curve λ² / 2, which the best prices make smallest."""
    value = temperature * log_partition
    for j in range(len(price)):
        value += own.bound[j] * price[j] + 0.5 * own.curve[j] * price[j] * price[j]
    return value


@ordered_inner
def own_gradient(own: Own, expected: Floats, price: Floats, gradient: Floats) -> float:
    """Its gradient b - E + curve λ; returns a measure of what is missed.

    Where slack has a curved cost, and prices no limit, it is the duality gap

        Σ [ξ² / (2 curve) + curve λ² / 2 - λ (E - b)]

    with the slack ξ: E - b, or the part of it that is not allowed. Elsewhere it is the largest move that a step of one
    would make inside the range.
    """
    gap, largest = 0.0, 0.0
    for j in range(len(price)):
        gradient[j] = own.bound[j] - expected[j] + own.curve[j] * price[j]
        if own.curve[j] > 0.0:
            above = expected[j] - own.bound[j]
            slack = above if own.low[j] < 0.0 else max(above, 0.0)
            slack = slack if own.high[j] > 0.0 else min(slack, 0.0)
            gap += 0.5 * slack * slack / own.curve[j] + 0.5 * own.curve[j] * price[j] * price[j] - price[j] * above
        else:
            moved = min(max(price[j] - gradient[j], own.low[j]), own.high[j])
            largest = max(largest, abs(moved - price[j]))
    return max(gap, largest)


@ordered
def tilted_marginals(
    lo: int,
    hi: int,
    batch: Batch,
    own: Own,
    prices: Floats,
    steps: int,
    tolerance: float,
    log_partition: Floats,
    gamma: Floats,
    expected: Floats,
) -> tuple[Floats, Floats, int]:
    """Marginals of sequences lo to hi, after at most `steps` steps on each sequence's own prices (in place).

    Returns the marginals summed by code (codes, L) and the pair marginals by type (types, L, L), and how many tokens
    were visited, visits counted. Own prices move by projected gradient with Barzilai-Borwein steps, each taken only if
    the value falls (Birgin et al. 2000, monotone), until `own_gradient` finds `tolerance` or less missed.
    """
    offsets, L = batch.offsets, batch.unary.shape[1]
    longest = 0
    for i in range(lo, hi):
        longest = max(longest, offsets[i + 1] - offsets[i])
    types, J = len(batch.pair), prices.shape[1]
    space = room(longest, types, L)
    fits = lay_common(batch, space)
    by_code, by_type = np.zeros((len(batch.shift), L)), np.zeros((types, L, L))
    gradient, trial, change = np.empty(J), np.empty(J), np.empty(J)
    visited = 0
    for i in range(lo, hi):
        p, q = offsets[i], offsets[i + 1]
        price, here = prices[i], gamma[p:q]
        count = list_types(batch.types[p:q], space.used)
        log_partition[i] = tilt(p, q, batch, own, price, count, fits, space, here)
        visited += q - p
        read_own(p, q, own, count, space, here, expected[i])
        value = own_value(own, batch.temperature, log_partition[i], price)
        miss = own_gradient(own, expected[i], price, gradient)
        step, taken, stale = batch.temperature, 0, False
        while taken < steps and miss > tolerance:
            descent = 0.0
            for j in range(J):
                trial[j] = min(max(price[j] - step * gradient[j], own.low[j]), own.high[j])
                change[j] = trial[j] - price[j]
                descent += gradient[j] * change[j]
            log_z = tilt(p, q, batch, own, trial, count, fits, space, here)
            visited += q - p
            taken += 1
            moved = own_value(own, batch.temperature, log_z, trial)
            if moved > value + 1e-4 * descent + 1e-12 * abs(value):
                if step < 1e-12 * batch.temperature:
                    stale = True
                    break
                step, stale = 0.25 * step, True
                continue
            stale = False
            read_own(p, q, own, count, space, here, expected[i])
            bent, size = 0.0, 0.0
            for j in range(J):
                price[j] = trial[j]
                slope = own.bound[j] - expected[i, j] + own.curve[j] * price[j]
                bent += change[j] * (slope - gradient[j])
                size += change[j] * change[j]
            value, log_partition[i] = moved, log_z
            miss = own_gradient(own, expected[i], price, gradient)
            step = min(max(size / bent, 1e-3 * step), 1e3 * step) if bent > 0.0 else 10.0 * step
        if stale:  # the last trial was not taken
            log_partition[i] = tilt(p, q, batch, own, price, count, fits, space, here)
            visited += q - p
        for t in range(q - p):
            code = batch.code[p + t]
            for c in range(L):
                by_code[code, c] += here[t, c]
        for k in range(count):
            y = space.used[k]
            for a in range(L):
                for c in range(L):
                    by_type[y, a, c] += space.mass[y, a, c]
    return by_code, by_type, visited
