"""Online exponentiated gradient for segmentations, by marginals over parts (`solvers.segment_ascent`).

Legend: θ the dual scores of a sequence (its dual distribution is α ∝ exp θ·y), μ the marginals of α, λ the strength of
the penalty λ ‖w‖² / 2. Throughout, w = Fᵀ(y - μ) / λ, and a sequence adds the entropy of α to the dual.

A visit of a sequence is a proposal, its marginals, by the kernels that everybody uses, and the proposal's acceptance
or refusal. `step` does the last of one sequence and the first of the next: with the marginals in the same kernel, that
would take seconds more to compile.
"""

from typing import NamedTuple

import numpy as np

from .compiling import Bytes, Floats, Ints, Longs, Singles, inner, kernel, ordered_inner
from .exponentiated import FASTER, FASTEST, mix, move_table, stored
from .linear import add_scores, move_weights

# Proposals of one visit, at most: each has half the rate of the one before.
TRIES = 40
# Places in the state of a pass: in the order, of the sequence that has a proposal, and how many it has had before.
AT, TRIED = 0, 1


class Rows(NamedTuple):
    """Attributes of all tokens, then of all as first tokens and of all as last tokens, and their weights, as for
    `linear`; free: where a dense row has a weight, as bits.
    """

    indptr: Longs
    indices: Ints
    values: Floats
    spans: Longs
    label: Ints
    w: Floats
    dense: Floats
    free: Bytes


class Tables(NamedTuple):
    """Weights that are no attributes': flat, those of starts, ends and steps within a segment for every label, then of
    label pairs, then of lengths, by bucket and label.

    free: where there is a weight, 1 or 0; kept: the flat positions of the label pairs; buckets: that of each length, -1
    where lengths have no weights.
    """

    weights: Floats
    free: Floats
    kept: Longs
    buckets: Longs


class Dual(NamedTuple):
    """The dual point.

    theta, mu: (3, tokens, labels) of tokens, first and last tokens, scores of starts, ends and steps folded in;
    theta_table, mu_table: (sequences, pairs and lengths) as in `Tables`; all four float32. share, rate: (sequences,)
    what each sequence adds to the dual, and its η.
    """

    theta: Singles
    theta_table: Singles
    mu: Singles
    mu_table: Singles
    share: Floats
    rate: Floats


class Proposal(NamedTuple):
    """What is known of a sequence on the way.

    target, u, gamma, mass: (3, tokens, labels) scores under w, θ and μ as proposed, μ as it was less the new one;
    u_table, mean_table: of pairs and lengths; mass_table: like the weights of `Tables`; pair, length: tables of θ
    for the recursions; on_pair, on_length: their marginals.
    """

    target: Floats
    u: Floats
    gamma: Floats
    mass: Floats
    u_table: Floats
    mean_table: Floats
    mass_table: Floats
    pair: Floats
    length: Floats
    on_pair: Floats
    on_length: Floats


@inner
def score(p: int, q: int, rows: Rows, tables: Tables, target: Floats) -> None:
    """The scores of a sequence under the weights."""
    n, L, tokens = q - p, target.shape[2], len(rows.indptr) // 3
    for k in range(3):
        for t in range(n):
            for c in range(L):
                target[k, t, c] = 0.0
        at = k * tokens
        add_scores(
            rows.indptr[at + p : at + q + 1], rows.indices, rows.values, rows.spans, rows.label, rows.w, rows.dense,
            target[k, :n],
        )  # fmt: skip
    weights = tables.weights
    for c in range(L):
        target[1, 0, c] += weights[c]
        target[2, n - 1, c] += weights[L + c]
    for t in range(n):
        for c in range(L):
            target[0, t, c] += weights[2 * L + c]
            target[1, t, c] -= weights[2 * L + c]


@inner
def propose(i: int, p: int, n: int, eta: float, tables: Tables, dual: Dual, proposal: Proposal) -> None:
    """θ ← (1 - η) θ + η θ(w), and its tables of label pairs and lengths, whose marginals are still zero."""
    L, kept = proposal.pair.shape[0], len(tables.kept)
    for k in range(3):
        for t in range(n):
            mix(dual.theta[k, p + t], proposal.target[k, t], 1.0 - eta, eta, True, proposal.u[k, t])
    mix(dual.theta_table[i], tables.weights[3 * L :], 1.0 - eta, eta, True, proposal.u_table)
    for a in range(L):
        for c in range(L):
            proposal.pair[a, c] = -np.inf if a == c else 0.0
            proposal.on_pair[a, c] = 0.0
    for j in range(kept):
        proposal.pair[tables.kept[j] // L, tables.kept[j] % L] = proposal.u_table[j]
    for m in range(min(n, len(tables.buckets))):
        begin = kept + L * tables.buckets[m]
        for c in range(L):
            proposal.length[m, c] = proposal.u_table[begin + c] if tables.buckets[m] >= 0 else 0.0
            proposal.on_length[m, c] = 0.0


@ordered_inner
def weigh(i: int, p: int, n: int, log_partition: float, tables: Tables, dual: Dual, proposal: Proposal) -> float:
    """Which mass a proposal moves, and its entropy."""
    L, kept = proposal.pair.shape[0], len(tables.kept)
    moved, mean = proposal.mass_table, proposal.mean_table
    for j in range(len(moved)):
        moved[j] = 0.0
    for j in range(len(mean)):
        mean[j] = 0.0
    h = log_partition
    for k in range(3):
        for t in range(n):
            gamma, u, mass, mu = proposal.gamma[k, t], proposal.u[k, t], proposal.mass[k, t], dual.mu[k, p + t]
            for c in range(L):
                g = stored(gamma[c], True)
                gamma[c] = g
                h -= g * u[c]
                mass[c] = mu[c] - g
    for c in range(L):
        moved[c], moved[L + c] = proposal.mass[1, 0, c], proposal.mass[2, n - 1, c]
    for t in range(n):
        for c in range(L):
            moved[2 * L + c] += proposal.mass[0, t, c] - proposal.mass[1, t, c]
    for j in range(kept):
        mean[j] = proposal.on_pair[tables.kept[j] // L, tables.kept[j] % L]
    for m in range(min(n, len(tables.buckets))):
        if tables.buckets[m] >= 0:
            begin = kept + L * tables.buckets[m]
            for c in range(L):
                mean[begin + c] += proposal.on_length[m, c]
    for j in range(len(mean)):
        mean[j] = stored(mean[j], True)
        h -= mean[j] * proposal.u_table[j]
        moved[3 * L + j] = dual.mu_table[i, j] - mean[j]
    return h


@inner
def move(p: int, q: int, factor: float, rows: Rows, tables: Tables, proposal: Proposal) -> float:
    """w += factor * Fᵀ mass; how much ‖w‖² grew."""
    growth, tokens = move_table(tables.weights, tables.free, proposal.mass_table, factor), len(rows.indptr) // 3
    for k in range(3):
        at = k * tokens
        growth += move_weights(
            rows.indptr[at + p : at + q + 1], rows.indices, rows.values, rows.spans, rows.label,
            proposal.mass[k, : q - p], factor, rows.w, rows.dense, rows.free,
        )  # fmt: skip
    return growth


@inner
def settle(i: int, p: int, n: int, h: float, dual: Dual, proposal: Proposal) -> None:
    """Make a proposal the dual point of its sequence."""
    for k in range(3):
        for t in range(n):
            for c in range(dual.theta.shape[2]):
                dual.theta[k, p + t, c] = proposal.u[k, t, c]
                dual.mu[k, p + t, c] = proposal.gamma[k, t, c]
    for j in range(len(proposal.u_table)):
        dual.theta_table[i, j] = proposal.u_table[j]
        dual.mu_table[i, j] = proposal.mean_table[j]
    dual.share[i] = h


@kernel
def step(
    order: Longs,
    offsets: Longs,
    first_pass: bool,
    strength: float,
    rows: Rows,
    tables: Tables,
    dual: Dual,
    proposal: Proposal,
    state: Longs,
    log_partition: Floats,
    gain: Floats,
) -> int:
    """Accept or refuse the proposal whose marginals are there, and make the next one: how many tokens it has, or 0.

    state: where the pass is, at first before its order: (-1, 0); what the dual gains is added to gain[0].

    A proposal that lowers the dual is refused, and made again with half of the rate; so is one that has no marginals,
    since its scores are too large, whose log-partition is no number. In the first pass the weights do not know of the
    sequences yet, and the marginals of θ as it stands are taken into them.
    """
    if state[AT] >= 0:
        i = order[state[AT]]
        p, q = offsets[i], offsets[i + 1]
        judged, h, rise = abs(log_partition[0]) < np.inf, 0.0, -np.inf
        if judged:
            h = weigh(i, p, q - p, log_partition[0], tables, dual, proposal)
            growth = move(p, q, 1.0 / strength, rows, tables, proposal)
            rise = h - dual.share[i] - 0.5 * strength * growth
        if judged and (first_pass or rise >= -1e-9 * (1.0 + abs(h))):
            settle(i, p, q - p, h, dual, proposal)
            gain[0] += rise
            if not first_pass:
                dual.rate[i] = min(FASTEST, FASTER * dual.rate[i])
            state[TRIED] = TRIES
        else:
            if judged:
                move(p, q, -1.0 / strength, rows, tables, proposal)
            dual.rate[i] *= 0.5
            state[TRIED] += 1
    if state[AT] < 0 or state[TRIED] >= TRIES:
        state[AT] += 1
        state[TRIED] = 0
    if state[AT] == len(order):
        return 0
    i = order[state[AT]]
    p, q = offsets[i], offsets[i + 1]
    if not first_pass and state[TRIED] == 0:
        score(p, q, rows, tables, proposal.target)
    propose(i, p, q - p, 0.0 if first_pass else dual.rate[i], tables, dual, proposal)
    return int(q - p)
