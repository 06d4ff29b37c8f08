"""Dual coordinate descent over sparse rows, and the rows of outputs of chains.

Row r is a vector v_r with a margin m_r that belongs to a group g. The problem is

    minimise  ‖w‖² / 2 + Σ_g C_g ℓ(ξ_g),   ξ_g = max(0, max_{r in g} m_r - w·v_r),   ℓ(ξ) = ξ or ξ²
                                           ξ_g = max_{r in g} m_r - w·v_r,           ℓ(ξ) = log(1 + e^ξ)

and w = Σ α_r v_r at all times. Rows lie one after the other: row r has the entries pointer[r] to pointer[r + 1].
"""

from math import exp

import numpy as np

from .compiling import Floats, Ints, Longs, Singles, inner, kernel
from .difference import difference_row, row_bound


@inner
def row_dot(r: int, pointer: Longs, index: Ints, value: Singles, w: Floats) -> float:
    """w·v_r."""
    total = 0.0
    for n in range(pointer[r], pointer[r + 1]):
        total += value[n] * w[index[n]]
    return total


@inner
def row_add(r: int, step: float, pointer: Longs, index: Ints, value: Singles, w: Floats) -> None:
    """w += step * v_r."""
    for n in range(pointer[r], pointer[r + 1]):
        w[index[n]] += step * value[n]


@kernel
def violations(
    rows: Longs, pointer: Longs, index: Ints, value: Singles, margin: Floats, w: Floats, out: Floats
) -> None:
    """m_r - w·v_r of some rows."""
    for n in range(len(rows)):
        out[n] = margin[rows[n]] - row_dot(rows[n], pointer, index, value, w)


@kernel
def weighted_sum(count: int, pointer: Longs, index: Ints, value: Singles, alpha: Floats, w: Floats) -> None:
    """w = Σ α_r v_r."""
    for k in range(len(w)):
        w[k] = 0.0
    for r in range(count):
        if alpha[r] > 0.0:
            row_add(r, alpha[r], pointer, index, value, w)


@kernel
def descend_squared(
    order: Longs,
    pointer: Longs,
    index: Ints,
    value: Singles,
    norm: Floats,
    margin: Floats,
    group: Ints,
    cost: Floats,
    threshold: float,
    alpha: Floats,
    total: Floats,
    w: Floats,
) -> tuple[int, float]:
    """One pass for the squared loss (Eq. 6.9 and 6.10 of Chang 2011) over the rows in `order`.

    total: Σ α of every group. Rows that stand at zero with a slope below -threshold are left out of `order`, which is
    shortened in place; returns how many are left, and the largest slope that a step could use.
    """
    kept, largest = 0, 0.0
    for position in range(len(order)):
        r = order[position]
        g = group[r]
        slope = margin[r] - row_dot(r, pointer, index, value, w) - total[g] / (2.0 * cost[g])
        if alpha[r] == 0.0 and slope <= 0.0:
            if slope < -threshold:
                continue
            order[kept] = r
            kept += 1
            continue
        order[kept] = r
        kept += 1
        largest = max(largest, abs(slope))
        step = max(-alpha[r], slope / (norm[r] + 1.0 / (2.0 * cost[g])))
        if step != 0.0:
            alpha[r] += step
            total[g] += step
            row_add(r, step, pointer, index, value, w)
    return kept, largest


@inner
def rows_dot(r: int, s: int, pointer: Longs, index: Ints, value: Singles, scratch: Floats) -> float:
    """v_r·v_s; scratch is zero before and after."""
    for n in range(pointer[r], pointer[r + 1]):
        scratch[index[n]] = value[n]
    total = row_dot(s, pointer, index, value, scratch)
    for n in range(pointer[r], pointer[r + 1]):
        scratch[index[n]] = 0.0
    return total


@inner
def logistic_mass(slope: float, norm: float, total: float, cost: float) -> float:
    """The best Σ_g α where that of one row of this squared length may change.

    It is C_g σ(u) for u + norm (C_g σ(u) - Σ_g α) = slope. The left side rises with u at least as fast as u, so
    Newton's method within bounds on u finds it.
    """
    low, high = slope - norm * (cost - total), slope + norm * total
    u = 0.5 * (low + high)
    for _ in range(100):
        share = 1.0 / (1.0 + exp(-u)) if u > 0.0 else exp(u) / (1.0 + exp(u))
        excess = u + norm * (cost * share - total) - slope
        if excess > 0.0:
            high = u
        else:
            low = u
        if abs(excess) <= 1e-12 * max(1.0, abs(slope)) or high - low <= 1e-14:
            break
        u -= excess / (1.0 + norm * cost * share * (1.0 - share))
        if not low < u < high:
            u = 0.5 * (low + high)
    return cost / (1.0 + exp(-u)) if u > 0.0 else cost * exp(u) / (1.0 + exp(u))


@kernel
def descend_linear(
    order: Longs,
    groups: Ints,
    heads: Longs,
    members: Longs,
    pointer: Longs,
    index: Ints,
    value: Singles,
    norm: Floats,
    margin: Floats,
    cost: Floats,
    alpha: Floats,
    total: Floats,
    w: Floats,
    scratch: Floats,
    logistic: bool,
) -> float:
    """One pass for the linear or the logistic loss, whose duals keep Σ_g α at most C_g.

    members[heads[j]:heads[j + 1]] are the rows of groups[j]. The mass C_g - Σ_g α that no row has counts as that of a
    zero row, of slope zero for the linear loss and log(Σ_g α / (C_g - Σ_g α)) for the logistic one; each step moves
    mass to the row of highest slope from the one of lowest that has any. Returns the largest slope difference used.
    """
    largest = 0.0
    for j in order:
        g, a, b = groups[j], heads[j], heads[j + 1]
        for _ in range(b - a + 1):
            zero, left = 0.0, cost[g] - total[g]
            if logistic:
                zero = np.inf if left <= 0.0 else -np.inf if total[g] <= 0.0 else np.log(total[g] / left)
            top, high, bottom, low = -1, zero, -1, np.inf
            if left > 1e-12 * cost[g]:
                low = zero
            for n in range(a, b):
                r = members[n]
                slope = margin[r] - row_dot(r, pointer, index, value, w)
                if slope > high:
                    top, high = r, slope
                if alpha[r] > 0.0 and slope < low:
                    bottom, low = r, slope
            if high - low <= 1e-12:
                break
            largest = max(largest, high - low)
            length, most = 0.0, cost[g] - total[g]
            if top >= 0:
                length += norm[top]
            if bottom >= 0:
                length += norm[bottom]
                most = alpha[bottom]
            if top >= 0 and bottom >= 0:
                length -= 2.0 * rows_dot(top, bottom, pointer, index, value, scratch)
            if logistic and (top < 0 or bottom < 0):
                r = max(top, bottom)
                slope = high if top >= 0 else low
                step = min(abs(logistic_mass(slope, norm[r], total[g], cost[g]) - total[g]), most)
            else:
                step = min((high - low) / length, most) if length > 0.0 else most
            if top >= 0:
                alpha[top] += step
                total[g] += step
                row_add(top, step, pointer, index, value, w)
            if bottom >= 0:
                alpha[bottom] = 0.0 if step == most else alpha[bottom] - step
                total[g] -= step
                row_add(bottom, -step, pointer, index, value, w)
    return largest


@inner
def room_for(needed: int, index: Ints, value: Singles) -> tuple[Ints, Singles]:
    """The arrays with room for this many entries."""
    if needed <= len(index):
        return index, value
    size = max(needed, 2 * len(index))
    more_index, more_value = np.empty(size, np.int32), np.empty(size, np.float32)
    for k in range(len(index)):
        more_index[k], more_value[k] = index[k], value[k]
    return more_index, more_value


@kernel
def chain_rows(
    sequences: Longs,
    offsets: Longs,
    indptr: Longs,
    indices: Ints,
    values: Floats,
    pointer: Longs,
    label: Ints,
    places: Ints,
    labels: int,
    plus: Ints,
    minus: Ints,
    scratch: Floats,
    row_pointer: Longs,
) -> tuple[Ints, Singles]:
    """F(x, plus) - F(x, minus) of each of some sequences as sparse rows; an empty `plus` or `minus` counts as nothing.

    row_pointer: (rows + 1,) is filled; returns indices and values. scratch: one zero per weight.
    """
    index, value = np.empty(1024, np.int32), np.empty(1024, np.float32)
    touched, nothing = np.empty(1024, np.int64), np.empty(0, np.int32)
    second_order = len(places) > 2 * labels + labels * labels
    filled = 0
    row_pointer[0] = 0
    for number in range(len(sequences)):
        i = sequences[number]
        p, q = offsets[i], offsets[i + 1]
        rows = indptr[p : q + 1]
        if row_bound(rows, 2) > len(touched):
            touched = np.empty(row_bound(rows, 2), np.int64)
        count = difference_row(
            rows, indices, values, pointer, label, places, labels, second_order,
            plus[p:q] if len(plus) > 0 else nothing, minus[p:q] if len(minus) > 0 else nothing, scratch, touched,
        )  # fmt: skip
        index, value = room_for(filled + count, index, value)
        for n in range(count):
            k = touched[n]
            if scratch[k] != 0.0:
                index[filled], value[filled] = k, scratch[k]
                scratch[k] = 0.0
                filled += 1
        row_pointer[number + 1] = filled
    return index[:filled].copy(), value[:filled].copy()
