"""Online exponentiated gradient for chains of order one, by marginals over parts: log loss or hinge loss.

Legend: θ the dual scores of a sequence (its dual distribution is α ∝ exp θ·y), μ the marginals of α, λ the strength of
the penalty λ ‖w‖² / 2. Throughout, w = Fᵀ(y - μ) / λ. What a sequence adds to the dual is the entropy of α for the log
loss, the expected Hamming loss under α for the hinge loss. See `solvers.exponentiated`.

Sequences are visited in groups, and there are two kinds of work. That on the weights is to score the sequences of a
group, and later to move the weights along their proposals; that on marginals is to propose new dual points by these
scores. In step k of a pass the weights are moved along group k - lag, then group k is scored; group k - lag is settled,
then group k has its proposals. So two threads can share the steps, one for each kind, while everything is worked out by
the same operations in the same order as by one; and no weight is ever read or written by more than one thread.
"""

from typing import Any, NamedTuple

import numpy as np

from .chain import RANGE, backward, forward
from .compiling import Bytes, Floats, Ints, Longs, Singles, inner, kernel
from .exponential import exponentiate
from .lanes import advance, reached
from .linear import add_scores, move_weights

# An accepted rate grows by this factor for the sequence's next visit, up to a limit: since a refused one is halved,
# about one visit of eight is refused.
FASTER = 1.1
FASTEST = 1.0
FASTEST_HINGE = 10.0
# Who does what: both kinds of work, or that on the weights or on marginals beside another lane.
BOTH, WEIGHTS, MARGINALS = -1, 0, 1
# What `visit` returns: all is done; it waits for the other lane, or was stopped; a proposal waits for log space.
DONE, WAITS, NEEDS_LOG_SPACE = 0, 1, 2
# Places in a lane's state: the step; whether its work on the weights is done; the place in the order of the sequence
# whose proposal is to be made, and whether its marginals are there.
STEP, MOVED, AT, RESUMED = 0, 1, 2, 3
# What became of a sequence: its proposal is to be settled, was accepted, was refused as the dual would fall, needs log
# space.
OPEN, ACCEPTED, REFUSED, POSTPONED = 0, 1, 2, 3


class Rows(NamedTuple):
    """The sequences' attributes, and where the weights of an attribute are, as for `linear`: those of an attribute with
    a dense row are there alone.
    """

    offsets: Longs
    indptr: Longs
    indices: Ints
    values: Floats
    spans: Longs
    label: Ints


class Weights(NamedTuple):
    """Weights, those of label pairs in the order of `Dual.kept`; which of them are free, as bits for dense rows, else
    as 1 or 0.
    """

    w: Floats
    dense: Floats
    pair: Floats
    start: Floats
    end: Floats
    free_dense: Bytes
    free_pair: Floats
    free_start: Floats
    free_end: Floats


class Dual(NamedTuple):
    """The dual point.

    kept: the flat positions of the label pairs whose θ may differ from zero; theta, mu: (tokens, labels), the start and
    end scores folded in; theta_pair, mu_pair: (sequences, kept); all four float32, or float64 for the hinge loss;
    share, rate: (sequences,), what each sequence adds to the dual, and its η; gold: (tokens,) for the hinge loss, empty
    for the log loss.
    """

    kept: Longs
    theta: Singles | Floats
    theta_pair: Singles | Floats
    mu: Singles | Floats
    mu_pair: Singles | Floats
    share: Floats
    rate: Floats
    gold: Ints


class Visits(NamedTuple):
    """The sequences to visit, and what is known of them on the way; `lag` + 1 groups at a time, which take turns.

    order: the sequences; edges: where groups begin in the order, and its end; places: the row of each sequence's first
    token in tables of (groups, tokens, labels): target, the scores under w; u, gamma, θ and μ as proposed; mass, μ as
    it was less the new one. Those of label pairs are (groups, kept), and of each sequence in the order (groups,
    sequences, kept). What one lane writes and another reads, target and mass, has the precision of θ, since moving it
    from core to core costs more than making it. h: the new share, change: by how much it grows, found: what became of
    it, (sequences,).
    """

    order: Longs
    edges: Longs
    places: Longs
    target: Singles | Floats
    u: Floats
    gamma: Floats
    mass: Singles | Floats
    target_pair: Singles | Floats
    u_pair: Floats
    mean_pair: Floats
    mass_pair: Singles | Floats
    h: Floats
    change: Floats
    found: Longs


class Space(NamedTuple):
    """A lane's state, and its workspaces for one sequence.

    unary: (tokens, labels) the scores of a sequence. A proposal that waits for log space has its scores in `u` of the
    group and in `arcs`; what is found goes to `gamma` and to `sums`. The fields that begin with `flat` are views of
    arrays over arcs, (2, labels * labels).
    """

    state: Longs
    gain: Floats
    unary: Floats
    e: Floats
    alpha: Floats
    scale: Floats
    types: Ints
    beta: Floats
    weight: Floats
    zeros: Floats
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


def visits(order: Longs, lengths: Longs, edges: Longs, lag: int, L: int, kept: int, precision: Any) -> Visits:
    """Room for visits of these sequences, of which these are the lengths, in groups that begin at `edges`."""
    before = np.cumsum(lengths) - lengths
    places = before - np.repeat(before[edges[:-1]], np.diff(edges))
    groups, size, tokens = lag + 1, int(np.diff(edges).max()), int((places + lengths).max())
    arrays: list[Any] = [order, edges, places]
    arrays += [np.empty((groups, tokens, L), one) for one in (precision, np.float64, np.float64, precision)]
    arrays += [np.empty((groups, kept), precision), *(np.empty((groups, size, kept)) for _ in range(2))]
    arrays += np.empty((groups, size, kept), precision), np.empty(len(order)), np.empty(len(order))
    arrays.append(np.full(len(order), OPEN))
    return Visits(*arrays)


def space(longest: int, L: int) -> Space:
    """A lane at the beginning of its visits, of sequences of at most so many tokens."""
    arrays: list[Any] = [np.zeros(4, np.int64), np.zeros(1), *(np.empty((longest, L)) for _ in range(3))]
    arrays += np.empty(longest), np.zeros(longest, np.int32), np.empty(L), np.empty(L), np.zeros(L)
    arcs = [np.empty((2, 1, 1, L, L)) for _ in range(4)]
    arrays += [*arcs, *(table.reshape(2, L * L) for table in arcs)]
    arrays += np.zeros((2, 1)), np.empty((0, 0, 0, 0))
    return Space(*arrays)


@inner
def move_table(table: Floats, free: Floats, mass: Singles | Floats, factor: float) -> float:
    """table += factor * mass where a weight is free; how much the squared norm grew."""
    growth = 0.0
    for c in range(len(table)):
        step = factor * mass[c] * free[c]
        growth += step * (2 * table[c] + step)
        table[c] += step
    return growth


@inner
def stored(value: float, single: bool) -> float:
    """The value as single or double precision keeps it."""
    return float(np.float32(value)) if single else value


@inner
def mix(old: Singles | Floats, new: Singles | Floats, keep: float, rate: float, single: bool, out: Floats) -> None:
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
def lay_arcs(kept: Longs, u_pair: Floats, flat: Floats) -> None:
    """The scores of all arcs, (2, labels * labels): those of label pairs that are not kept are zero."""
    for k in range(flat.shape[1]):
        flat[0, k] = flat[1, k] = 0.0
    for j in range(len(kept)):
        flat[0, kept[j]] = flat[1, kept[j]] = u_pair[j]


@inner
def exponentiate_arcs(kept: Longs, u_pair: Floats, out: Floats, top: Floats, e_arcs: Floats) -> bool:
    """e_arcs = exp(scores - top) on both levels, (2, labels * labels); whether the scores fit the scaled recursion.

    out: (kept,) a workspace.
    """
    all_kept = len(kept) == e_arcs.shape[1]
    high, low = -np.inf if all_kept else 0.0, np.inf if all_kept else 0.0
    for j in range(len(kept)):
        high = u_pair[j] if u_pair[j] > high else high
        low = u_pair[j] if u_pair[j] < low else low
    if not all_kept:
        rest = np.exp(-high)
        for k in range(e_arcs.shape[1]):
            e_arcs[0, k] = e_arcs[1, k] = rest
    for j in range(len(kept)):
        out[j] = u_pair[j] - high
    exponentiate(out)
    for j in range(len(kept)):
        e_arcs[0, kept[j]] = e_arcs[1, kept[j]] = out[j]
    top[0, 0] = top[1, 0] = high
    return high - low <= RANGE


@inner
def score(group: int, slot: int, rows: Rows, weights: Weights, visits: Visits, unary: Floats) -> None:
    """The scores under the weights of every sequence of a group; unary: a workspace, (tokens, labels)."""
    for j in range(len(weights.pair)):
        visits.target_pair[slot, j] = weights.pair[j]
    for v in range(visits.edges[group], visits.edges[group + 1]):
        i, base = visits.order[v], visits.places[v]
        p, q = rows.offsets[i], rows.offsets[i + 1]
        n, L = q - p, unary.shape[1]
        for t in range(n):
            for c in range(L):
                unary[t, c] = 0.0
        add_scores(
            rows.indptr[p : q + 1], rows.indices, rows.values, rows.spans, rows.label, weights.w, weights.dense,
            unary[:n],
        )  # fmt: skip
        for c in range(L):
            unary[0, c] += weights.start[c]
            unary[n - 1, c] += weights.end[c]
        for t in range(n):
            for c in range(L):
                visits.target[slot, base + t, c] = unary[t, c]


@inner
def take(
    group: int, slot: int, first_pass: bool, strength: float, rows: Rows, weights: Weights, visits: Visits
) -> float:
    """Move the weights along each proposal of a group, and back again where the dual falls; what it gains."""
    gain = 0.0
    begin = visits.edges[group]
    for v in range(begin, visits.edges[group + 1]):
        change = visits.change[v]
        if change == np.inf:
            visits.found[v] = POSTPONED
            continue
        i, base = visits.order[v], visits.places[v]
        p, q = rows.offsets[i], rows.offsets[i + 1]
        mass, mass_pair = visits.mass[slot, base : base + q - p], visits.mass_pair[slot, v - begin]
        for direction in (1.0, -1.0):
            factor = direction / strength
            growth = move_weights(
                rows.indptr[p : q + 1], rows.indices, rows.values, rows.spans, rows.label, mass, factor, weights.w,
                weights.dense, weights.free_dense,
            )  # fmt: skip
            growth += move_table(weights.pair, weights.free_pair, mass_pair, factor)
            growth += move_table(weights.start, weights.free_start, mass[0], factor)
            growth += move_table(weights.end, weights.free_end, mass[q - p - 1], factor)
            if direction > 0:
                rise = change - 0.5 * strength * growth
                if first_pass or rise >= -1e-9 * (1.0 + abs(visits.h[v])):
                    visits.found[v] = ACCEPTED
                    gain += rise
                    break
                visits.found[v] = REFUSED
    return gain


@inner
def propose(
    v: int, s: int, slot: int, first_pass: bool, offsets: Longs, dual: Dual, visits: Visits, space: Space
) -> tuple[float, bool]:
    """Propose θ ← (1 - η) θ + η θ(w), or θ ← θ + η (θ(w) + Δ) for the hinge loss, for the s-th sequence of a group.

    Its log-partition and, in `gamma` and the tables of arcs, its marginals; whether they can be trusted.
    """
    i, base = visits.order[v], visits.places[v]
    p, n, L = offsets[i], offsets[i + 1] - offsets[i], dual.theta.shape[1]
    hinge = len(dual.gold) > 0
    eta = 0.0 if first_pass else dual.rate[i]
    keep = 1.0 if hinge else 1.0 - eta
    kept, u_pair = dual.kept, visits.u_pair[slot, s]
    u = visits.u[slot, base : base + n]
    for t in range(n):
        if first_pass:  # in which nobody knows of weights
            for c in range(L):
                u[t, c] = dual.theta[p + t, c]
        else:
            mix(dual.theta[p + t], visits.target[slot, base + t], keep, eta, not hinge, u[t])
        if hinge:
            for c in range(L):
                u[t, c] += eta if c != dual.gold[p + t] else 0.0
            settle(u[t])
    for j in range(len(kept)):
        new = 0.0 if first_pass else eta * visits.target_pair[slot, j]
        u_pair[j] = stored(keep * dual.theta_pair[i, j] + new, not hinge)
    if hinge:
        settle(u_pair)
    for k in range(L * L):
        space.flat_factors[0, k] = space.flat_factors[1, k] = 0.0
    trusted = exponentiate_arcs(kept, u_pair, visits.mean_pair[slot, s], space.top, space.flat_e_arcs)
    log_partition = 0.0
    if trusted:
        e, alpha = space.e[:n], space.alpha[:n]
        log_partition, trusted = forward(
            u, space.e_arcs, space.top, space.types, space.zeros, space.zeros, e, alpha, space.scale
        )
        if trusted:
            backward(
                space.e_arcs, space.types, e, alpha, space.scale, space.beta, visits.gamma[slot, base : base + n],
                space.weight, space.factors, space.nowhere, p,
            )  # fmt: skip
    if not trusted:
        lay_arcs(kept, u_pair, space.flat_arcs)
        for k in range(L * L):
            space.flat_sums[0, k] = space.flat_sums[1, k] = 0.0
    return log_partition, trusted


@inner
def weigh(
    v: int,
    s: int,
    slot: int,
    log_partition: float,
    in_log_space: bool,
    offsets: Longs,
    dual: Dual,
    visits: Visits,
    space: Space,
) -> None:
    """Complete a proposal whose marginals are known: what it adds to the dual, and which mass it moves."""
    i, base = visits.order[v], visits.places[v]
    p, q = offsets[i], offsets[i + 1]
    hinge = len(dual.gold) > 0
    h, wrong = log_partition, 0.0
    for t in range(q - p):
        gamma, u = visits.gamma[slot, base + t], visits.u[slot, base + t]
        mass, mu = visits.mass[slot, base + t], dual.mu[p + t]
        for c in range(len(gamma)):
            g = stored(gamma[c], not hinge)
            gamma[c] = g
            h -= g * u[c]
            mass[c] = mu[c] - g
            wrong += g
        if hinge:
            wrong -= gamma[dual.gold[p + t]]
    factors, sums = space.flat_factors, space.flat_sums
    for j in range(len(dual.kept)):
        k = dual.kept[j]
        scaled = (factors[0, k] + factors[1, k]) * space.flat_e_arcs[1, k]
        mean = stored(sums[0, k] + sums[1, k] if in_log_space else scaled, not hinge)
        visits.mean_pair[slot, s, j] = mean
        h -= mean * visits.u_pair[slot, s, j]
        visits.mass_pair[slot, s, j] = dual.mu_pair[i, j] - mean
    visits.h[v] = wrong if hinge else h
    visits.change[v] = visits.h[v] - dual.share[i]


@inner
def settle_group(group: int, slot: int, first_pass: bool, offsets: Longs, dual: Dual, visits: Visits) -> None:
    """Make the accepted proposals of a group the dual points of their sequences; new rates."""
    begin = visits.edges[group]
    fastest = FASTEST_HINGE if len(dual.gold) > 0 else FASTEST
    for v in range(begin, visits.edges[group + 1]):
        i, base = visits.order[v], visits.places[v]
        if visits.found[v] == REFUSED:
            dual.rate[i] *= 0.5
        elif visits.found[v] == ACCEPTED:
            p, q = offsets[i], offsets[i + 1]
            for t in range(q - p):
                for c in range(dual.theta.shape[1]):
                    dual.theta[p + t, c] = visits.u[slot, base + t, c]
                    dual.mu[p + t, c] = visits.gamma[slot, base + t, c]
            for j in range(len(dual.kept)):
                dual.theta_pair[i, j] = visits.u_pair[slot, v - begin, j]
                dual.mu_pair[i, j] = visits.mean_pair[slot, v - begin, j]
            dual.share[i] = visits.h[v]
            if not first_pass:
                dual.rate[i] = min(fastest, FASTER * dual.rate[i])


@kernel
def visit(
    role: int,
    lag: int,
    first_pass: bool,
    strength: float,
    rows: Rows,
    weights: Weights,
    dual: Dual,
    visits: Visits,
    space: Space,
    log_space: bool,
    log_partition: float,
    counter: Longs,
) -> int:
    """Visit sequences once, in groups, as a lane that does what its role says.

    space.gain[0] is what the dual gains, in the lane of the weights; visits.found says what became of the sequences.
    The value says why it ended: unless it is done, it goes on where it was when it is called again.

    A proposal that lowers the dual is refused, and the rate of its sequence halved. In the first pass the weights do
    not know of the sequences yet, and the marginals of θ as it stands are taken into them.

    Where a proposal needs log space, which few do, the sequence is postponed. With `log_space` the kernel returns
    instead and goes on when it is called with the marginals in its tables, and the log-partition. So it compiles
    without.
    """
    state, groups = space.state, len(visits.edges) - 1
    while state[STEP] < groups + lag:
        step = state[STEP]
        slot, before = step % (lag + 1), (step + 1) % (lag + 1)  # of this group, and of that `lag` groups before
        if role != MARGINALS and state[MOVED] == 0:
            if step >= lag:
                if role == WEIGHTS and not reached(counter, MARGINALS, step - lag + 1):
                    return WAITS
                space.gain[0] += take(step - lag, before, first_pass, strength, rows, weights, visits)
            if step < groups:
                if not first_pass:
                    score(step, slot, rows, weights, visits, space.unary)
                state[AT] = visits.edges[step]
            state[MOVED] = 1
            if role == WEIGHTS:
                advance(counter, WEIGHTS)
        if role != WEIGHTS:
            if role == MARGINALS and not reached(counter, WEIGHTS, step + 1):
                return WAITS
            if step >= lag and state[RESUMED] == 0:
                settle_group(step - lag, before, first_pass, rows.offsets, dual, visits)
            if step < groups:
                begin = visits.edges[step]
                for v in range(max(begin, state[AT]), visits.edges[step + 1]):
                    if state[RESUMED] == 0:
                        log_partition, trusted = propose(
                            v, v - begin, slot, first_pass, rows.offsets, dual, visits, space
                        )
                        if not trusted:
                            if log_space:
                                state[AT], state[RESUMED] = v, 1
                                return NEEDS_LOG_SPACE
                            visits.change[v] = np.inf
                            continue
                    resumed, state[RESUMED] = state[RESUMED] == 1, 0
                    weigh(v, v - begin, slot, log_partition, resumed, rows.offsets, dual, visits, space)
            if role == MARGINALS:
                advance(counter, MARGINALS)
        state[MOVED] = 0
        state[STEP] += 1
    return DONE
