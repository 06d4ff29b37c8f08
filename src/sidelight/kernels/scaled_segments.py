"""Marginals of segmentations without logarithms: the recursions of `segmentation`, on scaled numbers.

The sums over prefixes in which a segment closes at a boundary are divided by their total, and so is whatever is still
open there. With the product of the scaled exponentials of unary scores since some boundary taken out, the *reach* of a
label, the sum over the segments that close (or open) at a boundary is one of products of a number per boundary and one
per length. Before a reach leaves the numbers from 1 / MOST to MOST, it is multiplied into the boundaries of the window
and begins anew at one.

What a sum loses where a number is too small to be one, below 1e-307, is too small to matter if no sum over suffixes,
which is what it would be multiplied by, is above MOST; sums over prefixes are at most exp(TOP). Else, and where there
is no output, a sequence is not trusted, and is done again by `segmentation.log_forward_backwards`.

Legend: P columns, labels and some more that are zero (`window_sums`); space: (KINDS, tokens + 1, P) workspaces.
"""

import numpy as np

from .compiling import Flags, Floats, Longs, inner, kernel
from .exponential import exponentiate
from .row_products import sums_of_products
from .segmentation import longest_of, weighted_sum
from .window_sums import padded, spread_opening, sum_closing

MOST = 1e100
TOP = 100.0

# Exponentials of the scores of tokens, first tokens and last tokens; sums over prefixes in which a segment opens and in
# which one closes, and over suffixes after a pair of labels; what is in the window; marginals of tokens.
E_TOKEN, E_OPEN, E_CLOSE, OPENED, CLOSED, FOLLOWING, WINDOW, TOKENS, KINDS = range(9)


@inner
def largest(table: Floats) -> float:
    """The largest entry, 0 where all are -inf."""
    high = -np.inf
    for r in range(table.shape[0]):
        for c in range(table.shape[1]):
            high = table[r, c] if table[r, c] > high else high
    return high if high > -np.inf else 0.0


@inner
def exponentials_of(table: Floats, top: float, out: Floats) -> None:
    """out = exp(table - top), and zero in further columns."""
    R, L = table.shape
    P = out.shape[1]
    for r in range(R):
        for c in range(L):
            out[r, c] = table[r, c] - top
        for c in range(L, P):
            out[r, c] = -np.inf
    exponentiate(out[:R].reshape(R * P))


@inner
def exponentials_by_row(table: Floats, out: Floats) -> float:
    """out = exp(table - its row's largest entry), and one in further columns; the sum of these entries."""
    R, L = table.shape
    P = out.shape[1]
    total = 0.0
    for r in range(R):
        high = -np.inf
        for c in range(L):
            high = table[r, c] if table[r, c] > high else high
        for c in range(L):
            out[r, c] = table[r, c] - high
        for c in range(L, P):
            out[r, c] = 0.0
        total += high
    exponentiate(out[:R].reshape(R * P))
    return total


@inner
def far(reach: Floats) -> bool:
    """Whether a reach is beyond MOST, or below 1 / MOST."""
    count = 0
    for c in range(len(reach)):
        count += not (reach[c] > 1.0 / MOST and reach[c] < MOST)
    return count > 0


@inner
def begin_anew(window: Floats, lo: int, hi: int, reach: Floats, factor: Floats) -> None:
    """Multiply reaches that are far from one into rows lo to hi - 1 of the window; factor: a workspace."""
    P = len(reach)
    for c in range(P):
        near = reach[c] > 1.0 / MOST and reach[c] < MOST
        factor[c] = 1.0 if near else reach[c]
        reach[c] = reach[c] if near else 1.0
    for x in range(lo, hi):
        row = window[x]
        for c in range(P):
            row[c] *= factor[c]


@inner
def forward(
    n: int, factors: Floats, e_pair: Floats, e_length: Floats, space: Floats, rows: Floats, scale: Floats
) -> float:
    """Scaled sums over prefixes, and what each boundary was divided by; the logarithm of the product of these, or NaN.

    factors: what the exponentials of a first, a later opening and a closing token's score are to be multiplied by.
    """
    P, M = space.shape[2], e_length.shape[0]
    opened, closed, window = space[OPENED], space[CLOSED], space[WINDOW]
    reach, sums, factor = rows[0], rows[1], rows[2]
    begin = space[E_OPEN, 0]
    for c in range(P):
        reach[c] = 1.0
        opened[0, c] = window[0, c] = begin[c] * factors[0]
    total, product = 0.0, 1.0
    for t in range(1, n + 1):
        e_token, e_close, here = space[E_TOKEN, t - 1], space[E_CLOSE, t - 1], closed[t]
        for c in range(P):
            reach[c] *= e_token[c]
        if far(reach):
            begin_anew(window, max(0, t - M), t, reach, factor)
        sum_closing(window, e_length, t - 1, min(M, t), sums)
        z = 0.0
        for c in range(P):
            here[c] = e_close[c] * factors[2] * (reach[c] * sums[c])
            z += here[c]
        if z == 0.0 and t < n:
            z = 1.0  # no segment closes here
        if not (z > 1.0 / MOST and z < MOST):
            return np.nan
        scale[t] = z
        product *= z
        if not (product > 1.0 / MOST and product < MOST):
            total += np.log(product)
            product = 1.0
        inverse = 1.0 / z
        for c in range(P):
            here[c] *= inverse
            reach[c] *= inverse
        if t < n:
            sums_of_products(here, 1, e_pair, sums)
            e_open, opens, enters = space[E_OPEN, t], opened[t], window[t]
            for c in range(P):
                opens[c] = e_open[c] * factors[1] * sums[c]
                enters[c] = opens[c] / reach[c]
    value: float = total + np.log(product)
    return value


@inner
def backward(
    n: int,
    factors: Floats,
    e_pair_back: Floats,
    e_length: Floats,
    space: Floats,
    rows: Floats,
    scale: Floats,
    lengths: Floats,
    on_open: Floats,
    on_close: Floats,
) -> bool:
    """Marginals from `forward`'s sums; whether they can be trusted.

    e_pair_back: (labels, P) exponentials of pair scores, by the second label; lengths: (longest, P) gets the marginals
    of lengths, less their own exponentials.
    """
    P, M, L = space.shape[2], e_length.shape[0], on_open.shape[1]
    window, tokens = space[WINDOW], space[TOKENS]
    reach, sums, factor, follows, weight = rows[0], rows[1], rows[2], rows[3], rows[4]
    for c in range(P):
        reach[c] = follows[c] = 1.0
    for t in range(n):
        for c in range(P):
            tokens[t, c] = 0.0
    for m in range(min(n, M)):
        for c in range(P):
            lengths[m, c] = 0.0
    lost = 0
    for t in range(n - 1, -1, -1):
        e_token, e_close, e_open = space[E_TOKEN, t], space[E_CLOSE, t], space[E_OPEN, t]
        enters, opened, closed, after = window[t + 1], space[OPENED, t], space[CLOSED, t + 1], space[FOLLOWING, t]
        for c in range(L):
            on_close[t, c] = closed[c] * follows[c]
        inverse = 1.0 / scale[t + 1]
        for c in range(P):
            enters[c] = e_close[c] * factors[2] * follows[c] / reach[c]
            reach[c] *= e_token[c] * inverse
        hi = min(n, t + M) + 1
        if far(reach):
            begin_anew(window, t + 1, hi, reach, factor)
        for c in range(P):
            weight[c] = opened[c] * reach[c]
        spread_opening(window, e_length, t + 1, hi - t - 1, weight, sums, lengths, tokens)
        for c in range(P):
            sums[c] *= reach[c]
            lost += not sums[c] < MOST
            after[c] = e_open[c] * factors[1] * sums[c]
        for c in range(L):
            on_open[t, c] = opened[c] * sums[c]
        if t > 0:
            sums_of_products(after, 1, e_pair_back, follows)
            for c in range(P):
                lost += not follows[c] < MOST
    return lost == 0


@kernel
def forward_backward(
    lo: int,
    hi: int,
    offsets: Longs,
    u: Floats,
    opens: Floats,
    closes: Floats,
    pair: Floats,
    length: Floats,
    trusted: Flags,
    log_partition: Floats,
    expected: Floats,
    on_token: Floats,
    on_open: Floats,
    on_close: Floats,
    on_pair: Floats,
    on_length: Floats,
) -> None:
    """Log-partitions and marginals of sequences lo to hi; `trusted` says of which, others need log space.

    expected: their expected scores, where that is not empty; on_pair: (labels, labels) and on_length: (longest,
    labels), to which is added, are sums over sequences.
    """
    L, M = u.shape[1], length.shape[0]
    P = padded(L)
    space = np.zeros((KINDS, longest_of(lo, hi, offsets) + 1, P))
    scale, rows, factors = np.ones(space.shape[1]), np.zeros((5, P)), np.zeros(3)
    e_pair, e_pair_back, pairs = np.zeros((L, P)), np.zeros((L, P)), np.zeros((L, P))
    e_length, lengths = np.zeros((M, P)), np.zeros((M, P))
    closed = space[CLOSED].reshape(space.shape[1] * P)
    pair_top, length_top = largest(pair), largest(length)
    exponentials_of(pair, pair_top, e_pair)
    exponentials_of(length, length_top, e_length)
    for a in range(L):
        for c in range(L):
            e_pair_back[c, a] = e_pair[a, c]
    for i in range(lo, hi):
        p, q = offsets[i], offsets[i + 1]
        n = q - p
        trusted[i] = False
        open_top, close_top = largest(opens[p:q]), largest(closes[p:q])
        if max(open_top, open_top + pair_top, close_top + length_top) > TOP:
            continue
        factors[0], factors[1] = np.exp(open_top), np.exp(open_top + pair_top)
        factors[2] = np.exp(close_top + length_top)
        exponentials_of(opens[p:q], open_top, space[E_OPEN])
        exponentials_of(closes[p:q], close_top, space[E_CLOSE])
        log_partition[i] = exponentials_by_row(u[p:q], space[E_TOKEN])
        log_partition[i] += forward(n, factors, e_pair, e_length, space, rows, scale)
        if not abs(log_partition[i]) < np.inf:
            continue
        trusted[i] = backward(
            n, factors, e_pair_back, e_length, space, rows, scale, lengths, on_open[p:q], on_close[p:q]
        )
        if not trusted[i]:
            continue
        for t in range(n):
            for c in range(L):
                on_token[p + t, c] = space[TOKENS, t, c]
        for a in range(L):
            if n > 1:
                sums_of_products(closed[P + a :], P, space[FOLLOWING, 1:n], pairs[a])
            for c in range(L):
                pairs[a, c] *= e_pair[a, c] if n > 1 else 0.0
                on_pair[a, c] += pairs[a, c]
        for m in range(min(n, M)):
            for c in range(L):
                lengths[m, c] *= e_length[m, c]
                on_length[m, c] += lengths[m, c]
        if len(expected) > 0:
            expected[i] = weighted_sum(u[p:q], on_token[p:q]) + weighted_sum(opens[p:q], on_open[p:q])
            expected[i] += weighted_sum(closes[p:q], on_close[p:q]) + weighted_sum(pair, pairs)
            expected[i] += weighted_sum(length[:n], lengths)
