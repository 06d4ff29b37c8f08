"""Online exponentiated gradient for log-linear chains of order one, by marginals over parts.

Legend: θ the dual scores of a sequence (its dual distribution is α ∝ exp θ·y), μ the marginals of α, H its entropy,
λ = 2 l2. Throughout, w = Fᵀ(y - μ) / λ. See `solvers.exponentiated`.
"""

import numpy as np

from .chain import RANGE, backward, forward, log_forward_backward
from .compiling import Floats, Ints, Longs, Singles, inner, kernel
from .linear import add_scores, move_weights

# An accepted rate grows by this factor for the sequence's next visit.
FASTER = 1.2


@inner
def move_table(table: Floats, free: Floats, mass: Floats, factor: float) -> float:
    """table += factor * mass where a weight is free; how much the squared norm grew."""
    growth = 0.0
    for c in range(len(table)):
        step = factor * mass[c] * free[c]
        growth += step * (2 * table[c] + step)
        table[c] += step
    return growth


@inner
def move_all(
    rows: Longs,
    indices: Ints,
    values: Floats,
    pointer: Longs,
    label: Ints,
    w: Floats,
    pair: Floats,
    start: Floats,
    end: Floats,
    free_pair: Floats,
    free_start: Floats,
    free_end: Floats,
    unary_mass: Floats,
    pair_mass: Floats,
    factor: float,
) -> float:
    """Move all weights along the features of one sequence's parts; how much ‖w‖² grew."""
    n = len(unary_mass)
    growth = move_weights(rows, indices, values, pointer, label, unary_mass, factor, w)
    growth += move_table(pair, free_pair, pair_mass, factor)
    growth += move_table(start, free_start, unary_mass[0], factor)
    growth += move_table(end, free_end, unary_mass[n - 1], factor)
    return growth


@inner
def mix(old: Singles, new: Floats, rate: float, out: Floats) -> None:
    """out = (1 - rate) old + rate new, rounded as it will be stored."""
    for c in range(len(out)):
        out[c] = np.float32((1 - rate) * old[c] + rate * new[c])


@inner
def exponentiate(arcs: Floats, e_arcs: Floats, top: Floats) -> bool:
    """e_arcs = exp(arcs - top) on both levels; whether the scores fit the scaled recursion."""
    L = arcs.shape[-1]
    high, low = -np.inf, np.inf
    for a in range(L):
        for c in range(L):
            high = max(high, arcs[1, 0, 0, a, c])
            low = min(low, arcs[1, 0, 0, a, c])
    for a in range(L):
        for c in range(L):
            v = np.exp(arcs[1, 0, 0, a, c] - high)
            e_arcs[0, 0, 0, a, c] = v
            e_arcs[1, 0, 0, a, c] = v
    top[0, 0] = top[1, 0] = high
    return high - low <= RANGE


@kernel
def dual_pass(
    order: Longs,
    offsets: Longs,
    indptr: Longs,
    indices: Ints,
    values: Floats,
    pointer: Longs,
    label: Ints,
    w: Floats,
    pair: Floats,
    start: Floats,
    end: Floats,
    free_pair: Floats,
    free_start: Floats,
    free_end: Floats,
    strength: float,
    theta: Singles,
    theta_pair: Singles,
    mu: Singles,
    mu_pair: Singles,
    entropy: Floats,
    rate: Floats,
    first_pass: bool,
) -> float:
    """Visit the sequences in `order` once; returns the gain of the dual objective.

    Each visit proposes θ ← (1 - η) θ + η θ(w) and keeps it if the dual rises; else η is halved and the proposal made
    again. pair, free_pair: (labels * labels,) flat; theta, mu: (tokens, labels) float32, the start and end scores
    folded in; theta_pair, mu_pair: (sequences, labels * labels) float32; entropy, rate: (sequences,). In the first
    pass the weights do not know of the sequence yet, and the marginals of θ as it stands are taken into them.
    """
    L = theta.shape[1]
    longest = 0
    for i in order:
        longest = max(longest, offsets[i + 1] - offsets[i])
    target = np.empty((longest, L))
    u = np.empty((longest, L))
    gamma = np.empty((longest, L))
    e = np.empty((longest, L))
    alpha = np.empty((longest, L))
    scale = np.empty(longest)
    beta = np.empty(L)
    weight = np.empty(L)
    zeros = np.zeros(L)
    arcs = np.empty((2, 1, 1, L, L))
    e_arcs = np.empty((2, 1, 1, L, L))
    factors = np.empty((2, 1, 1, L, L))
    sums = np.empty((2, 1, 1, L, L))
    top = np.zeros((2, 1))
    types = np.zeros(longest, np.int32)
    nowhere = np.empty((0, 0, 0, 0))
    no_rows = np.empty(0, np.int32)
    no_dense = np.empty((0, 0))
    flat = np.empty(L * L)
    pair_mass = np.empty(L * L)
    pair_mean = np.empty(L * L)
    gain = 0.0
    for i in order:
        p, q = offsets[i], offsets[i + 1]
        n = q - p
        rows = indptr[p : q + 1]
        u_here = u[:n]
        e_here = e[:n]
        alpha_here = alpha[:n]
        gamma_here = gamma[:n]
        target_here = target[:n]
        for t in range(n):
            for c in range(L):
                target[t, c] = 0.0
        add_scores(rows, indices, values, pointer, label, w, no_rows, no_dense, target_here)
        for c in range(L):
            target[0, c] += start[c]
            target[n - 1, c] += end[c]
        eta = 0.0 if first_pass else rate[i]
        for _ in range(40):
            for t in range(n):
                mix(theta[p + t], target[t], eta, u[t])
            mix(theta_pair[i], pair, eta, flat)
            for a in range(L):
                for c in range(L):
                    arcs[0, 0, 0, a, c] = arcs[1, 0, 0, a, c] = flat[a * L + c]
                    factors[0, 0, 0, a, c] = factors[1, 0, 0, a, c] = 0.0
                    sums[0, 0, 0, a, c] = sums[1, 0, 0, a, c] = 0.0
            log_partition = 0.0
            trusted = exponentiate(arcs, e_arcs, top)
            if trusted:
                log_partition, trusted = forward(u_here, e_arcs, top, types, zeros, zeros, e_here, alpha_here, scale)
            if trusted:
                backward(e_arcs, types, e_here, alpha_here, scale, beta, gamma_here, weight, factors, nowhere, p)
            else:
                log_partition = log_forward_backward(u_here, arcs, types, zeros, zeros, gamma_here, sums, nowhere, p)
            h = log_partition
            for t in range(n):
                for c in range(L):
                    gamma[t, c] = np.float32(gamma[t, c])
                    h -= gamma[t, c] * u[t, c]
                    e[t, c] = mu[p + t, c] - gamma[t, c]
            for a in range(L):
                for c in range(L):
                    k = a * L + c
                    total = sums[0, 0, 0, a, c] + sums[1, 0, 0, a, c]
                    total += (factors[0, 0, 0, a, c] + factors[1, 0, 0, a, c]) * e_arcs[1, 0, 0, a, c]
                    pair_mean[k] = np.float32(total)
                    h -= pair_mean[k] * flat[k]
                    pair_mass[k] = mu_pair[i, k] - pair_mean[k]
            accepted, rise = False, 0.0
            for direction in (1.0, -1.0):  # there, and back again unless the dual rose
                growth = move_all(
                    rows, indices, values, pointer, label, w, pair, start, end, free_pair, free_start, free_end,
                    e_here, pair_mass, direction / strength,
                )  # fmt: skip
                if direction > 0:
                    rise = h - entropy[i] - 0.5 * strength * growth
                    accepted = first_pass or rise >= -1e-9 * (1.0 + abs(h))
                    if accepted:
                        break
            if not accepted:
                eta *= 0.5
                rate[i] = eta
                continue
            gain += rise
            entropy[i] = h
            for t in range(n):
                for c in range(L):
                    theta[p + t, c] = u[t, c]
                    mu[p + t, c] = gamma[t, c]
            for k in range(L * L):
                theta_pair[i, k] = flat[k]
                mu_pair[i, k] = pair_mean[k]
            if not first_pass:
                rate[i] = min(1.0, FASTER * eta)
            break
    return gain
