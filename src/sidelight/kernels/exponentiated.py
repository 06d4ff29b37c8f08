"""Online exponentiated gradient for chains of order one, by marginals over parts: log loss or hinge loss.

Legend: θ the dual scores of a sequence (its dual distribution is α ∝ exp θ·y), μ the marginals of α, λ the strength of
the penalty λ ‖w‖² / 2. Throughout, w = Fᵀ(y - μ) / λ. What a sequence adds to the dual is the entropy of α for the log
loss, the expected Hamming loss under α for the hinge loss. See `solvers.exponentiated`.
"""

from typing import Any, NamedTuple

import numpy as np

from .chain import RANGE, backward, forward
from .compiling import Floats, Ints, Longs, Singles, inner, kernel
from .linear import add_scores, move_weights

# An accepted rate grows by this factor for the sequence's next visit, up to a limit.
FASTER = 1.2
FASTEST = 1.0
FASTEST_HINGE = 10.0


class Space(NamedTuple):
    """Workspaces of a pass: for each position of a sequence, for each label, for label pairs and for arcs.

    A proposal that waits for log space has its scores in `u` and `arcs`; what is found goes to `gamma` and `sums`. The
    fields that begin with `flat` are views of arrays over arcs, (2, labels * labels).
    """

    target: Floats
    u: Floats
    gamma: Floats
    e: Floats
    alpha: Floats
    scale: Floats
    types: Ints
    beta: Floats
    weight: Floats
    zeros: Floats
    flat: Floats
    pair_mass: Floats
    flat_kept: Floats
    pair_mean: Floats
    arcs: Floats
    e_arcs: Floats
    factors: Floats
    sums: Floats
    flat_arcs: Floats
    flat_e_arcs: Floats
    flat_factors: Floats
    flat_sums: Floats
    top: Floats
    nowhere: Floats
    no_rows: Ints
    no_dense: Floats


def space(longest: int, L: int, kept: int) -> Space:
    """Workspaces for sequences of at most `longest` tokens; kept: how many label pairs have dual scores."""
    arrays: list[Any] = [np.empty((longest, L)) for _ in range(5)]
    arrays += np.empty(longest), np.zeros(longest, np.int32), np.empty(L), np.empty(L), np.zeros(L)
    arrays += np.zeros(L * L), np.zeros(L * L), np.empty(kept), np.empty(kept)
    arcs = [np.empty((2, 1, 1, L, L)) for _ in range(4)]
    arrays += [*arcs, *(table.reshape(2, L * L) for table in arcs)]
    arrays += np.zeros((2, 1)), np.empty((0, 0, 0, 0)), np.empty(0, np.int32), np.empty((0, 0))
    return Space(*arrays)


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
def stored(value: float, single: bool) -> float:
    """The value as single or double precision keeps it."""
    return float(np.float32(value)) if single else value


@inner
def mix(old: Singles | Floats, new: Floats, keep: float, rate: float, single: bool, out: Floats) -> None:
    """out = keep * old + rate * new, rounded as it will be stored."""
    for c in range(len(out)):
        out[c] = stored(keep * old[c] + rate * new[c], single)


@inner
def settle(row: Floats) -> None:
    """Shift a row of dual scores so that its largest is zero: that changes no distribution and keeps them precise."""
    high = -np.inf
    for c in range(len(row)):
        high = row[c] if row[c] > high else high
    for c in range(len(row)):
        row[c] -= high


@inner
def exponentiate(flat: Floats, e_arcs: Floats, top: Floats) -> bool:
    """e_arcs = exp(flat - top) on both levels, (2, labels * labels); whether the scores fit the scaled recursion."""
    high, low = -np.inf, np.inf
    for k in range(len(flat)):
        high = flat[k] if flat[k] > high else high
        low = flat[k] if flat[k] < low else low
    for k in range(len(flat)):
        e_arcs[0, k] = e_arcs[1, k] = np.exp(flat[k] - high)
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
    kept: Longs,
    strength: float,
    theta: Singles | Floats,
    theta_pair: Singles | Floats,
    mu: Singles | Floats,
    mu_pair: Singles | Floats,
    share: Floats,
    rate: Floats,
    gold: Ints,
    first_pass: bool,
    work: Space,
    at: Longs,
    log_partition: float,
) -> float:
    """Visit the sequences in `order` once; returns the gain of the dual objective.

    It stops where a proposal needs log space, which few do, so that it compiles without. Called again with the
    marginals in `work` and the log-partition, it goes on. at: place in `order`, at which it is done if it is the end;
    proposals that were made there; whether one waits, 1 or 0.

    Each visit proposes θ ← (1 - η) θ + η θ(w), or θ ← θ + η (θ(w) + Δ) for the hinge loss, and keeps it if the dual
    rises; else η is halved and the proposal made again. In the first pass the weights do not know of the sequence yet,
    and the marginals of θ as it stands are taken into them.

    pair, free_pair: (labels * labels,) flat; theta, mu: (tokens, labels), the start and end scores folded in; kept: the
    flat positions of the label pairs whose θ may differ from zero; theta_pair, mu_pair: (sequences, kept); all four
    float32, or float64 for the hinge loss; share, rate: (sequences,), what each sequence adds to the dual, and its η;
    gold: (tokens,) for the hinge loss, empty for the log loss.
    """
    L = theta.shape[1]
    hinge = len(gold) > 0
    single = not hinge
    target, u, gamma, e, alpha, scale, types = (
        work.target, work.u, work.gamma, work.e, work.alpha, work.scale, work.types,
    )  # fmt: skip
    flat, flat_kept, pair_mass, pair_mean = work.flat, work.flat_kept, work.pair_mass, work.pair_mean
    arcs, e_arcs, factors, sums = work.flat_arcs, work.flat_e_arcs, work.flat_factors, work.flat_sums
    zeros = work.zeros
    gain = 0.0
    while at[0] < len(order):
        i = order[at[0]]
        p, q = offsets[i], offsets[i + 1]
        n = q - p
        rows = indptr[p : q + 1]
        u_here = u[:n]
        e_here = e[:n]
        alpha_here = alpha[:n]
        gamma_here = gamma[:n]
        target_here = target[:n]
        resumed = at[2] == 1
        at[2] = 0
        if not resumed:
            at[1] = 0
            for t in range(n):
                for c in range(L):
                    target[t, c] = 1.0 if hinge and c != gold[p + t] else 0.0
            add_scores(rows, indices, values, pointer, label, w, work.no_rows, work.no_dense, target_here)
            for c in range(L):
                target[0, c] += start[c]
                target[n - 1, c] += end[c]
        eta = 0.0 if first_pass else rate[i]
        while at[1] < 40:
            if not resumed:
                keep = 1.0 if hinge else 1.0 - eta
                for t in range(n):
                    mix(theta[p + t], target[t], keep, eta, single, u[t])
                    if hinge:
                        settle(u[t])
                for j in range(len(kept)):
                    flat_kept[j] = stored(keep * theta_pair[i, j] + eta * pair[kept[j]], single)
                if hinge:
                    settle(flat_kept)
                for j in range(len(kept)):
                    flat[kept[j]] = flat_kept[j]
                for k in range(L * L):
                    arcs[0, k] = arcs[1, k] = flat[k]
                    factors[0, k] = factors[1, k] = sums[0, k] = sums[1, k] = 0.0
                trusted = exponentiate(flat, e_arcs, work.top)
                if trusted:
                    log_partition, trusted = forward(
                        u_here, work.e_arcs, work.top, types, zeros, zeros, e_here, alpha_here, scale
                    )
                if not trusted:
                    at[2] = 1
                    return gain
                backward(
                    work.e_arcs, types, e_here, alpha_here, scale, work.beta, gamma_here, work.weight, work.factors,
                    work.nowhere, p,
                )  # fmt: skip
            resumed = False
            at[1] += 1
            h = log_partition
            wrong = 0.0
            for t in range(n):
                for c in range(L):
                    gamma[t, c] = stored(gamma[t, c], single)
                    h -= gamma[t, c] * u[t, c]
                    e[t, c] = mu[p + t, c] - gamma[t, c]
                    if hinge and c != gold[p + t]:
                        wrong += gamma[t, c]
            for j in range(len(kept)):
                k = kept[j]
                total = sums[0, k] + sums[1, k] + (factors[0, k] + factors[1, k]) * e_arcs[1, k]
                pair_mean[j] = stored(total, single)
                h -= pair_mean[j] * flat_kept[j]
                pair_mass[k] = mu_pair[i, j] - pair_mean[j]
            if hinge:
                h = wrong
            accepted, rise = False, 0.0
            for direction in (1.0, -1.0):  # there, and back again unless the dual rose
                growth = move_all(
                    rows, indices, values, pointer, label, w, pair, start, end, free_pair, free_start, free_end,
                    e_here, pair_mass, direction / strength,
                )  # fmt: skip
                if direction > 0:
                    rise = h - share[i] - 0.5 * strength * growth
                    accepted = first_pass or rise >= -1e-9 * (1.0 + abs(h))
                    if accepted:
                        break
            if not accepted:
                eta *= 0.5
                rate[i] = eta
                continue
            gain += rise
            share[i] = h
            for t in range(n):
                for c in range(L):
                    theta[p + t, c] = u[t, c]
                    mu[p + t, c] = gamma[t, c]
            for j in range(len(kept)):
                theta_pair[i, j] = flat_kept[j]
                mu_pair[i, j] = pair_mean[j]
            if not first_pass:
                rate[i] = min(FASTEST_HINGE if hinge else FASTEST, FASTER * eta)
            break
        at[0] += 1
    return gain
