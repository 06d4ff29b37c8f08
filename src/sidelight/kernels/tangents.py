"""Directional derivatives of chain marginals: forward-backward in which every number carries its derivative.

With scores θ + ε δ, log Z has the derivative E[δ·y] at ε = 0, and the expected parts μ the derivative Cov(y, δ·y). So
the covariance of all parts with any one sum over parts costs about two passes, however many rules the sum is made of.
The algebra is the expectation semiring of Li and Eisner 2009.

States and arcs are those of `kernels.chain`; δ has pair types of its own. Prices of statements about each sequence are
laid over δ when its turn comes, as in `kernels.tilting`, so no table of all sequences exists.

Legend: e exponentials of unary scores, α forward, β backward, γ state marginals; d direction of unary scores with that
of start and end, turn that of arcs, by kinds of position; a dot, as in α̇, marks a derivative.
"""

from typing import NamedTuple

import numpy as np

from .chain import forward, log_forward, log_sum, step_back_in_log_space
from .compiling import Floats, Ints, Longs, inner, kernel, ordered_inner
from .tilting import Entries, list_types


class Scores(NamedTuple):
    """θ of a batch: unary (tokens, L), arcs (2, types, B, L, L) with exponentials as `forward` takes them."""

    unary: Floats
    arcs: Floats
    e_arcs: Floats
    top: Floats
    fits: bool
    types: Ints
    start: Floats
    end: Floats


class Own(NamedTuple):
    """Statements about each sequence (chains of order one): sparse tables at each token's code and at each kind of
    position, for labels and for pairs, and prices (sequences, statements).
    """

    code: Ints
    unary: Entries
    pair: Entries
    price: Floats


class Direction(NamedTuple):
    """δ of the same batch: factor * unary - shift[code] at labels that are not forbidden, then arcs, start and end, all
    finite; less what `own` charges.
    """

    factor: float
    unary: Floats
    code: Ints
    shift: Floats
    arcs: Floats
    types: Ints
    start: Floats
    end: Floats
    own: Own


@inner
def forward_tangent(
    e_arcs: Floats, types: Ints, e: Floats, alpha: Floats, scale: Floats,
    d: Floats, turn: Floats, kinds: Ints, alpha_dot: Floats, mean: Floats,
) -> float:  # fmt: skip
    """α̇ of the scaled forward pass, and mean: (n,) the derivative of log scale; returns that of log Z.

    The scale is differentiated too, so every row of α̇ sums to zero and nothing grows with the sequence.
    """
    n, L = e.shape
    B = e_arcs.shape[2]
    slope = 0.0
    for t in range(n):
        row = alpha_dot[t]
        for b in range(B):
            part = row[b * L : (b + 1) * L]
            for c in range(L):
                part[c] = 0.0
            if t > 0:
                k = min(t, 2) - 1
                for a in range(L):
                    before, moved = alpha[t - 1, a * B + b], alpha_dot[t - 1, a * B + b]
                    arc, bend = e_arcs[k, types[t], b, a], turn[k, kinds[t], b, a]
                    for c in range(L):
                        part[c] += (moved + before * bend[c]) * arc[c]
                for c in range(L):
                    part[c] *= e[t, c] / scale[t]
            for c in range(L):
                part[c] += alpha[t, b * L + c] * d[t, c]
        total = 0.0
        for s in range(B * L):
            total += row[s]
        for s in range(B * L):
            row[s] -= total * alpha[t, s]
        mean[t] = total
        slope += total
    return slope


@inner
def backward_tangent(
    e_arcs: Floats, types: Ints, e: Floats, alpha: Floats, scale: Floats,
    d: Floats, turn: Floats, kinds: Ints, alpha_dot: Floats, mean: Floats, work: Floats, gamma_dot: Floats,
    factors: Floats,
) -> None:  # fmt: skip
    """γ̇ into gamma_dot (n, L); `factors` times `e_arcs` is the derivative of the arc marginals summed over positions.

    work: (4, B * L).
    """
    n, L = e.shape
    B = e_arcs.shape[2]
    beta, beta_dot, weight, weight_dot = work[0], work[1], work[2], work[3]
    for s in range(B * L):
        beta[s] = 1.0
        beta_dot[s] = 0.0
    for t in range(n - 1, -1, -1):
        for c in range(L):
            gamma_dot[t, c] = 0.0
        for s in range(B * L):
            weight[s], weight_dot[s] = 0.0, 0.0
            if alpha[t, s] > 0.0:  # what no path reaches has no part in any path back
                c = s % L
                gamma_dot[t, c] += alpha_dot[t, s] * beta[s] + alpha[t, s] * beta_dot[s]
                weight[s] = e[t, c] * beta[s] / scale[t]
                weight_dot[s] = e[t, c] * beta_dot[s] / scale[t] + weight[s] * (d[t, c] - mean[t])
        if t == 0:
            break
        k, y, z = min(t, 2) - 1, types[t], kinds[t]
        for b in range(B):
            w, w_dot = weight[b * L : (b + 1) * L], weight_dot[b * L : (b + 1) * L]
            for a in range(L):
                before, moved = alpha[t - 1, a * B + b], alpha_dot[t - 1, a * B + b]
                arc, bend, out = e_arcs[k, y, b, a], turn[k, z, b, a], factors[k, y, b, a]
                total, total_dot = 0.0, 0.0
                for c in range(L):
                    v = w_dot[c] + bend[c] * w[c]
                    total += arc[c] * w[c]
                    total_dot += arc[c] * v
                    out[c] += moved * w[c] + before * v
                beta[a * B + b], beta_dot[a * B + b] = total, total_dot


@ordered_inner
def log_tangents(
    u: Floats, arcs: Floats, types: Ints, start: Floats, end: Floats,
    d: Floats, turn: Floats, kinds: Ints, gamma_dot: Floats, sums: Floats,
) -> tuple[float, float]:  # fmt: skip
    """The same in log space, by mean directions of the prefixes and suffixes of each state; (log Z, its derivative)."""
    n, L = u.shape
    B = arcs.shape[2]
    S = B * L
    alpha, taken = log_forward(u, arcs, types, start, end)
    if not taken > -np.inf:
        return taken, 0.0
    ahead, behind, onward = np.zeros((n, S)), np.zeros(S), np.empty(S)
    mass, weights, xi = np.empty(S), np.empty(L), np.empty((B, L, L))
    for t in range(n):
        if t > 0:
            k = min(t, 2) - 1
            mass[:] = 1.0  # so that the marginals of arcs are shares of prefixes
            step_back_in_log_space(arcs[k, types[t]], alpha[t - 1], mass, weights, xi)
            bend = turn[k, kinds[t]]
            for b in range(B):
                for a in range(L):
                    for c in range(L):
                        if alpha[t, b * L + c] > -np.inf:
                            ahead[t, b * L + c] += xi[b, a, c] * (ahead[t - 1, a * B + b] + bend[b, a, c])
        for s in range(S):
            if alpha[t, s] > -np.inf:
                ahead[t, s] += d[t, s % L]
    log_z, slope = log_sum(alpha[n - 1]), 0.0
    for s in range(S):
        mass[s] = np.exp(alpha[n - 1, s] - log_z)
        slope += mass[s] * ahead[n - 1, s]
    for t in range(n - 1, -1, -1):
        for c in range(L):
            gamma_dot[t, c] = 0.0
        for s in range(S):
            gamma_dot[t, s % L] += mass[s] * (ahead[t, s] + behind[s] - slope)
        if t == 0:
            break
        k, y = min(t, 2) - 1, types[t]
        step_back_in_log_space(arcs[k, y], alpha[t - 1], mass, weights, xi)
        for s in range(S):
            onward[s] = behind[s] + d[t, s % L]
            mass[s], behind[s] = 0.0, 0.0
        bend = turn[k, kinds[t]]
        for b in range(B):
            for a in range(L):
                for c in range(L):
                    p, s = xi[b, a, c], a * B + b
                    further = bend[b, a, c] + onward[b * L + c]
                    mass[s] += p
                    behind[s] += p * further
                    sums[k, y, b, a, c] += p * (ahead[t - 1, s] + further - slope)
        for s in range(S):
            behind[s] = behind[s] / mass[s] if mass[s] > 0.0 else 0.0
    return taken + log_z, slope


@inner
def lay_labels(i: int, p: int, q: int, u: Floats, direction: Direction, d: Floats) -> None:
    """δ of the labels of sequence i, at tokens p to q, with that of start and end."""
    L, own = u.shape[1], direction.own
    for t in range(q - p):
        code, first = direction.code[p + t], own.code[p + t]
        for c in range(L):
            v = direction.factor * direction.unary[p + t, c] - direction.shift[code, c]
            d[t, c] = v if u[t, c] > -np.inf else 0.0
        for k in range(own.unary.pointer[first], own.unary.pointer[first + 1]):
            d[t, own.unary.cell[k]] -= own.price[i, own.unary.row[k]] * own.unary.value[k]
    for c in range(L):
        d[0, c] += direction.start[c]
        d[q - p - 1, c] += direction.end[c]


@inner
def lay_arcs(price: Floats, direction: Direction, used: Longs, turn: Floats) -> None:
    """δ of the arcs of one sequence, for the kinds of position that it has."""
    L, own = turn.shape[3], direction.own
    for z in used:
        for k in range(2):
            cells = turn[k, z].reshape(L * L)
            for m in range(L * L):
                cells[m] = direction.arcs[k, z, 0, m // L, m % L]
            for m in range(own.pair.pointer[z], own.pair.pointer[z + 1]):
                cells[own.pair.cell[m]] -= price[own.pair.row[m]] * own.pair.value[m]


@kernel
def tangents(
    lo: int,
    hi: int,
    offsets: Longs,
    scores: Scores,
    direction: Direction,
    log_partition: Floats,
    slope: Floats,
    gamma_dot: Floats,
) -> tuple[Floats, Floats]:
    """Log-partitions, their derivatives and γ̇ of sequences lo to hi; returns (sums, factors), both like the arcs.

    The derivative of the arc marginals summed over positions is sums + factors * e_arcs.
    """
    L, B = scores.unary.shape[1], scores.arcs.shape[2]
    longest = 0
    for i in range(lo, hi):
        longest = max(longest, offsets[i + 1] - offsets[i])
    e, d = np.empty((longest, L)), np.empty((longest, L))
    alpha, alpha_dot = np.empty((longest, B * L)), np.empty((longest, B * L))
    scale, mean, work = np.empty(longest), np.empty(longest), np.empty((4, B * L))
    sums, factors = np.zeros_like(scores.arcs), np.zeros_like(scores.arcs)
    charged, turn, used = len(direction.own.pair.row) > 0, direction.arcs, np.empty(direction.arcs.shape[1], np.int64)
    if charged:
        turn = np.empty_like(direction.arcs)
    for i in range(lo, hi):
        p, q = offsets[i], offsets[i + 1]
        n = q - p
        u, types, kinds = scores.unary[p:q], scores.types[p:q], direction.types[p:q]
        lay_labels(i, p, q, u, direction, d)
        if charged:
            lay_arcs(direction.own.price[i], direction, used[: list_types(kinds, used)], turn)
        trusted = scores.fits
        if trusted:
            log_partition[i], trusted = forward(
                u, scores.e_arcs, scores.top, types, scores.start, scores.end, e[:n], alpha[:n], scale
            )
        if trusted:
            slope[i] = forward_tangent(
                scores.e_arcs, types, e[:n], alpha[:n], scale, d, turn, kinds, alpha_dot[:n], mean
            )
            backward_tangent(
                scores.e_arcs, types, e[:n], alpha[:n], scale, d, turn, kinds, alpha_dot[:n], mean, work,
                gamma_dot[p:q], factors,
            )  # fmt: skip
        else:
            log_partition[i], slope[i] = log_tangents(
                u, scores.arcs, types, scores.start, scores.end, d, turn, kinds, gamma_dot[p:q], sums
            )
    return sums, factors
