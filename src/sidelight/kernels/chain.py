"""Chain recursions of order one and two, over batches of sequences stored flat.

Both orders are one recursion. The state at position t is (b, c): the previous label b (order two) or nothing (order
one, a single b = 0), and the label c. An arc goes from (a, b) to (b, c), so for each b one step is a small dense
L x L step from a to c. With B = 1 or L values of b, a state's index is b * L + c as the end of an arc and a * B + b
as its beginning. `arcs[k, type, b, a, c]` holds the arc scores: k = 0 for the arc into the second position, where no
a exists yet (its place is taken by a = 0), k = 1 for later ones.

Sections: random streams; Viterbi; k-best; forward-backward, scaled and in log space; sampling.

Legend: u unary scores, α forward, β backward, γ state marginals, ξ arc marginals, δ best prefix scores.
"""

import numpy as np

from .compiling import Flags, Floats, Ints, Longs, Stream, inner, kernel, ordered_inner
from .exponential import exponentiate
from .row_products import maxima_of_sums, sums_of_products

# The scaled recursion is used only where it cannot lose a path: finite scores at a position, and finite arc scores,
# span at most RANGE, and no reachable state falls below FLOOR. One step shrinks a state by at most exp(-2 RANGE),
# about 1e-104, so a state passes (0, FLOOR) before it could vanish, and the sequence is done again in log space. On the
# way back only reachable states count, whose beta is at most 1 / FLOOR.
RANGE = 120.0
FLOOR = 1e-150
# In log space, a part of exp(SMALL) of the largest is lost in a sum, and exp(NOTHING) is 0: they need no exponentials.
SMALL = -40.0
NOTHING = -746.0
# Where one arc in FEW or less is possible, it pays to visit these alone, one by one.
FEW = 8


@inner
def random_unit(state: Stream) -> float:
    """Next number in [0, 1) of a splitmix64 stream kept in state[0]."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inner
def begin_stream(state: Stream, seed: int, index: int) -> None:
    """Set a stream to where that of one sequence begins, the same whatever shard it falls into."""
    state[0] = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(index) * np.uint64(0x2545F4914F6CDD1D)
    random_unit(state)


@inner
def sequence_stream(seed: int, index: int) -> Stream:
    """A stream for one sequence."""
    state = np.empty(1, np.uint64)
    begin_stream(state, seed, index)
    return state


@inner
def leads(v: float, best: float, ties: int, stream: Stream) -> tuple[bool, int]:
    """Whether v takes the place of the best so far, and how many have tied then; with a stream, ties are drawn."""
    if v > best:
        return True, 1
    if v == best and len(stream) > 0 and v > -np.inf:
        return random_unit(stream) * (ties + 1) < 1.0, ties + 1
    return False, ties


@inner
def step_back(state: int, step: Floats, before: Floats, stream: Stream) -> int:
    """The state before `state` on the best path: an arc (b, a, c) of `step`."""
    B, L = step.shape[0], step.shape[1]
    b, c = state // L, state % L
    highest, ties = -np.inf, 0
    for a in range(L):
        v = before[a * B + b] + step[b, a, c]
        first, ties = leads(v, highest, ties, stream)
        if first:
            highest, state = v, a * B + b
    return state


@inner
def best_path(
    u: Floats,
    arcs: Floats,
    types: Ints,
    start: Floats,
    end: Floats,
    delta: Floats,
    labels: Ints,
    stream: Stream,
) -> float:
    """Viterbi over one sequence: writes `labels`, returns the score.

    u: (n, L), delta: workspace (n, B * L). No back pointers: the way back redoes one maximum per position. With a
    stream, equal maxima are broken at random on the way back (each step evenly, so not evenly over tied outputs); else
    the state of lowest number wins.
    """
    n, L = u.shape
    B = arcs.shape[2]
    for s in range(B * L):
        delta[0, s] = -np.inf
    for c in range(L):
        delta[0, c] = u[0, c] + start[c]
    for t in range(1, n):
        step = arcs[min(t, 2) - 1, types[t]]
        for b in range(B):
            row = delta[t, b * L : (b + 1) * L]
            maxima_of_sums(delta[t - 1, b:], B, step[b], row)
            for c in range(L):
                row[c] += u[t, c]
    best, state, ties = -np.inf, 0, 0
    for s in range(B * L):
        v = delta[n - 1, s] + end[s % L]
        first, ties = leads(v, best, ties, stream)
        if first:
            best, state = v, s
    labels[n - 1] = state % L
    for t in range(n - 1, 0, -1):
        state = step_back(state, arcs[min(t, 2) - 1, types[t]], delta[t - 1], stream)
        labels[t - 1] = state % L
    return best


@kernel
def best_paths(
    lo: int,
    hi: int,
    offsets: Longs,
    u: Floats,
    arcs: Floats,
    types: Ints,
    start: Floats,
    end: Floats,
    few: Flags,
    seed: int,
    stream: Stream,
    delta: Floats,
    labels: Ints,
    scores: Floats,
) -> None:
    """`best_path` for sequences lo to hi that are not marked in `few`. An empty stream breaks ties by the lowest label.

    delta: workspace (longest sequence, B * L).
    """
    for i in range(lo, hi):
        if not few[i]:
            p, q = offsets[i], offsets[i + 1]
            if len(stream) > 0:
                begin_stream(stream, seed, i)
            scores[i] = best_path(u[p:q], arcs, types[p:q], start, end, delta, labels[p:q], stream)


@kernel
def mark_few(offsets: Longs, u: Floats, B: int, few: Flags) -> None:
    """Mark the sequences in which it pays to visit only the arcs between labels that are not forbidden."""
    L = u.shape[1]
    for i in range(len(few)):
        p, q = offsets[i], offsets[i + 1]
        arcs, limit = 0, (q - p) * B * L * L
        first, second = 1, 1  # labels that are possible two before and one before
        for t in range(p, q):
            found = 0
            for c in range(L):
                found += u[t, c] > -np.inf
            if t > p:
                arcs += found * second * (first if B > 1 else 1)
                first = second
            second = found
            if FEW * arcs > limit:
                break
        few[i] = FEW * arcs <= limit


@inner
def list_possible(u: Floats, possible: Ints, count: Longs) -> None:
    """List the labels of each position that are not forbidden: `possible` (n, L) has them at the front of its rows,
    `count` (n,) says how many.
    """
    n, L = u.shape
    for t in range(n):
        found = 0
        for c in range(L):
            possible[t, found] = c
            found += u[t, c] > -np.inf
        count[t] = found


@inner
def step_back_to(state: int, step: Floats, before: Floats, begins: Ints, stream: Stream) -> int:
    """`step_back` along an arc (b, a, c) with a among `begins`."""
    B, L = step.shape[0], step.shape[1]
    b, c = state // L, state % L
    highest, ties = -np.inf, 0
    for a in begins:
        v = before[a * B + b] + step[b, a, c]
        first, ties = leads(v, highest, ties, stream)
        if first:
            highest, state = v, a * B + b
    return state


@inner
def best_path_of_few(
    u: Floats,
    arcs: Floats,
    types: Ints,
    start: Floats,
    end: Floats,
    possible: Ints,
    count: Longs,
    only: Ints,
    delta: Floats,
    labels: Ints,
    stream: Stream,
) -> float:
    """`best_path` where few labels are possible at a position: the same output, ties included, from these alone."""
    n, L = u.shape
    B = arcs.shape[2]
    second = B > 1
    for i in range(count[0]):
        c = possible[0, i]
        delta[0, c] = u[0, c] + start[c]
    for t in range(1, n):
        step = arcs[min(t, 2) - 1, types[t]]
        begins, middles = beginnings(t, second, possible, count, only)
        for b in middles:
            for j in range(count[t]):
                c = possible[t, j]
                best = -np.inf
                for a in begins:
                    v = delta[t - 1, a * B + b] + step[b, a, c]
                    best = v if v > best else best
                delta[t, b * L + c] = best + u[t, c]
    best, state, ties = -np.inf, 0, 0
    middles = beginnings(n - 1, second, possible, count, only)[1] if n > 1 else only
    for b in middles:
        for j in range(count[n - 1]):
            s = b * L + possible[n - 1, j]
            v = delta[n - 1, s] + end[s % L]
            first, ties = leads(v, best, ties, stream)
            if first:
                best, state = v, s
    if best == -np.inf:
        for t in range(n):
            labels[t] = 0
        return best
    labels[n - 1] = state % L
    for t in range(n - 1, 0, -1):
        begins = beginnings(t, second, possible, count, only)[0]
        state = step_back_to(state, arcs[min(t, 2) - 1, types[t]], delta[t - 1], begins, stream)
        labels[t - 1] = state % L
    return best


@inner
def beginnings(t: int, second: bool, possible: Ints, count: Longs, only: Ints) -> tuple[Ints, Ints]:
    """Which a and which b an arc to position t may have; `only` is the one number, 0, where there is no label."""
    before = possible[t - 1, : count[t - 1]]
    if not second:
        return before, only
    return (possible[t - 2, : count[t - 2]] if t > 1 else only), before


@kernel
def best_paths_of_few(
    lo: int,
    hi: int,
    offsets: Longs,
    u: Floats,
    arcs: Floats,
    types: Ints,
    start: Floats,
    end: Floats,
    few: Flags,
    seed: int,
    stream: Stream,
    delta: Floats,
    possible: Ints,
    count: Longs,
    only: Ints,
    labels: Ints,
    scores: Floats,
) -> None:
    """`best_paths` for sequences that are marked in `few`: the same outputs, by arcs between possible labels alone.

    possible: workspace (longest sequence, L), count: (longest sequence,), only: (1,) the number 0.
    """
    for i in range(lo, hi):
        if few[i]:
            p, q = offsets[i], offsets[i + 1]
            if len(stream) > 0:
                begin_stream(stream, seed, i)
            list_possible(u[p:q], possible, count)
            scores[i] = best_path_of_few(
                u[p:q], arcs, types[p:q], start, end, possible, count, only, delta, labels[p:q], stream
            )


@inner
def k_best_path(
    u: Floats, arcs: Floats, types: Ints, start: Floats, end: Floats, k: int, labels: Ints, scores: Floats
) -> None:
    """The k best outputs of one sequence, best first: labels (k, n), scores (k,); -inf where there are fewer.

    Every state keeps its k best prefixes in order; an arc's end merges the lists of its L beginnings.
    """
    n, L = u.shape
    B = arcs.shape[2]
    S = B * L
    value = np.full((n, S, k), -np.inf)
    back = np.zeros((n, S, k), np.int32)
    for c in range(L):
        value[0, c, 0] = u[0, c] + start[c]
    head = np.empty(S, np.int64)
    front = np.empty(L)
    for t in range(1, n):
        step = arcs[min(t, 2) - 1, types[t]]
        for b in range(B):
            for c in range(L):
                for a in range(L):
                    head[a] = 0
                    front[a] = value[t - 1, a * B + b, 0] + step[b, a, c]
                for r in range(k):
                    best, which = -np.inf, -1
                    for a in range(L):
                        if front[a] > best:
                            best, which = front[a], a
                    if which < 0:
                        break
                    value[t, b * L + c, r] = best + u[t, c]
                    back[t, b * L + c, r] = (which * B + b) * k + head[which]
                    head[which] += 1
                    left = head[which] < k
                    front[which] = value[t - 1, which * B + b, head[which]] + step[b, which, c] if left else -np.inf
    head[:] = 0
    for r in range(k):
        best, which = -np.inf, -1
        for s in range(S):
            if head[s] < k:
                v = value[n - 1, s, head[s]] + end[s % L]
                if v > best:
                    best, which = v, s
        scores[r] = best
        if which < 0:
            labels[r] = -1
            continue
        state, rank = which, head[which]
        head[which] += 1
        for t in range(n - 1, -1, -1):
            labels[r, t] = state % L
            code = back[t, state, rank]
            state, rank = code // k, code % k


@kernel
def k_best_paths(
    lo: int,
    hi: int,
    offsets: Longs,
    u: Floats,
    arcs: Floats,
    types: Ints,
    start: Floats,
    end: Floats,
    k: int,
    labels: Ints,
    scores: Floats,
) -> None:
    """`k_best_path` for sequences lo to hi; labels: (k, tokens), scores: (sequences, k)."""
    for i in range(lo, hi):
        p, q = offsets[i], offsets[i + 1]
        k_best_path(u[p:q], arcs, types[p:q], start, end, k, labels[:, p:q], scores[i])


@inner
def scores_at(t: int, u: Floats, start: Floats, end: Floats, out: Floats) -> float:
    """Unary scores of position t with start and end scores folded in; returns the largest."""
    n, L = u.shape
    for c in range(L):
        out[c] = u[t, c]
    if t == 0:
        for c in range(L):
            out[c] += start[c]
    if t == n - 1:
        for c in range(L):
            out[c] += end[c]
    high = -np.inf
    for c in range(L):
        high = out[c] if out[c] > high else high
    return high


@inner
def settled_at(t: int, u: Floats, start: Floats, end: Floats, out: Floats) -> float:
    """`scores_at` less the largest, which it returns."""
    high = scores_at(t, u, start, end, out)
    if high > -np.inf:
        for c in range(len(out)):
            out[c] -= high
    return high


@inner
def forward(
    u: Floats,
    e_arcs: Floats,
    top: Floats,
    types: Ints,
    start: Floats,
    end: Floats,
    e: Floats,
    alpha: Floats,
    scale: Floats,
) -> tuple[float, bool]:
    """Scaled forward pass over one sequence; returns (log-partition, trusted).

    Fills e: (n, L) exponentials of the unary scores less the position's maximum, alpha: (n, B * L), each row summing
    to one, scale: (n,) what each row was divided by. Not trusted means: use log space.
    """
    n, L = u.shape
    B = e_arcs.shape[2]
    log_partition = 0.0
    lost = 0
    for t in range(n):
        high = settled_at(t, u, start, end, e[t])
        if high == -np.inf:
            return high, False
        log_partition += high
        for c in range(L):
            lost += e[t, c] < -RANGE and e[t, c] > -np.inf
    exponentiate(e.reshape(n * L))
    for t in range(n):
        row = alpha[t]
        if t == 0:
            for s in range(B * L):
                row[s] = e[0, s] if s < L else 0.0
        else:
            k, y = min(t, 2) - 1, types[t]
            log_partition += top[k, y]
            for b in range(B):
                part = row[b * L : (b + 1) * L]
                sums_of_products(alpha[t - 1, b:], B, e_arcs[k, y, b], part)
                for c in range(L):
                    part[c] *= e[t, c]
        total = 0.0
        for s in range(B * L):
            total += row[s]
        if not FLOOR < total < np.inf:
            return -np.inf, False
        scale[t] = total
        log_partition += np.log(total)
        inverse = 1.0 / total
        for s in range(B * L):
            v = row[s] * inverse
            row[s] = v
            lost += v < FLOOR and v > 0.0
    return log_partition, lost == 0


@inner
def backward(
    e_arcs: Floats,
    types: Ints,
    e: Floats,
    alpha: Floats,
    scale: Floats,
    beta: Floats,
    gamma: Floats,
    weight: Floats,
    factors: Floats,
    position: Floats,
    base: int,
) -> None:
    """Scaled backward pass: state marginals into gamma (n, L), and the sums over positions of α(a, b) w(b, c).

    `factors[k, type, b, a, c]` times `e_arcs` is the sum of the arc marginals; the product is taken once a batch.
    If `position` is (tokens, B, L, L) instead of empty it gets, from `base` on, every position's own arc marginals.
    """
    n, L = e.shape
    B = e_arcs.shape[2]
    for s in range(len(beta)):
        beta[s] = 1.0
    for t in range(n - 1, -1, -1):
        for c in range(L):
            gamma[t, c] = 0.0
        for b in range(B):
            for c in range(L):
                gamma[t, c] += alpha[t, b * L + c] * beta[b * L + c]
        if t == 0:
            break
        k, y = min(t, 2) - 1, types[t]
        inverse = 1.0 / scale[t]
        for b in range(B):
            for c in range(L):
                # A state that no path reaches has no part in any path back, but its beta may be beyond all bounds.
                reached = alpha[t, b * L + c] > 0.0
                weight[b * L + c] = e[t, c] * beta[b * L + c] * inverse if reached else 0.0
        for b in range(B):
            w = weight[b * L : (b + 1) * L]
            for a in range(L):
                before = alpha[t - 1, a * B + b]
                arc = e_arcs[k, y, b, a]
                out = factors[k, y, b, a]
                total = 0.0
                for c in range(L):
                    total += arc[c] * w[c]
                    out[c] += before * w[c]
                beta[a * B + b] = total
                if len(position) > 0:
                    for c in range(L):
                        position[base + t, b, a, c] = before * arc[c] * w[c]


@ordered_inner
def log_forward(u: Floats, arcs: Floats, types: Ints, start: Floats, end: Floats) -> tuple[Floats, float]:
    """Forward pass over one sequence in log space: alpha (n, B * L) and what was taken from its rows, whose maximum is
    0, so that sums of large scores lose no more than the scores' own last digits; -inf where there is no path, and
    NaN where a sum is no number.
    """
    n, L = u.shape
    B = arcs.shape[2]
    alpha = np.empty((n, B * L))
    for t in range(n):
        for s in range(B * L):
            alpha[t, s] = -np.inf
    here, high, total = np.empty(L), np.empty(L), np.empty(L)
    taken = 0.0
    for t in range(n):
        top = settled_at(t, u, start, end, here)
        if top == -np.inf:
            return alpha, top
        if t == 0:
            for c in range(L):
                alpha[0, c] = here[c]
        else:
            step = arcs[min(t, 2) - 1, types[t]]
            for b in range(B):
                for c in range(L):
                    high[c], total[c] = -np.inf, 0.0
                for a in range(L):
                    before = alpha[t - 1, a * B + b]
                    for c in range(L):
                        v = before + step[b, a, c]
                        high[c] = v if v > high[c] else high[c]
                for a in range(L):
                    before = alpha[t - 1, a * B + b]
                    for c in range(L):
                        below = before + step[b, a, c] - high[c]
                        if not below <= SMALL:
                            total[c] += 1.0 if below == 0.0 else np.exp(below)
                for c in range(L):
                    if high[c] > -np.inf:
                        more = 0.0 if total[c] == 1.0 else np.log(total[c])
                        alpha[t, b * L + c] = high[c] + more + here[c]
        most = -np.inf
        for s in range(B * L):
            if np.isnan(alpha[t, s]):
                return alpha, np.nan
            most = alpha[t, s] if alpha[t, s] > most else most
        if most == -np.inf:
            return alpha, most
        for s in range(B * L):
            alpha[t, s] -= most
        taken += top + most
    return alpha, taken


@ordered_inner
def log_sum(values: Floats) -> float:
    """log Σ exp(values) where the largest is 0."""
    total = 0.0
    for s in range(len(values)):
        total += np.exp(values[s])
    return float(np.log(total))


@ordered_inner
def step_back_in_log_space(step: Floats, before: Floats, mass: Floats, weights: Floats, xi: Floats) -> None:
    """Arc marginals xi (B, L, L) into states that have the marginals `mass` (B * L,), those of the states before them
    being shared by the prefixes' log-sums `before`; weights: a workspace (L,).
    """
    B, L = step.shape[0], step.shape[1]
    for b in range(B):
        for c in range(L):
            here = mass[b * L + c]
            if here == 0.0:
                for a in range(L):
                    xi[b, a, c] = 0.0
                continue
            high, total = -np.inf, 0.0
            for a in range(L):
                weights[a] = before[a * B + b] + step[b, a, c]
                high = weights[a] if weights[a] > high else high
            for a in range(L):
                below = weights[a] - high
                weights[a] = 1.0 if below == 0.0 else 0.0 if below <= NOTHING else np.exp(below)
                total += weights[a]
            for a in range(L):
                xi[b, a, c] = here * weights[a] / total


@ordered_inner
def log_forward_backward(
    u: Floats,
    arcs: Floats,
    types: Ints,
    start: Floats,
    end: Floats,
    gamma: Floats,
    sums: Floats,
    position: Floats,
    base: int,
) -> float:
    """The same in log space, for scores of any size; adds arc marginals to `sums`, returns the log-partition.

    The way back shares out the marginals of each position among the states before it. So those of a position sum to
    one, and those of arcs to those of states, however many digits the scores have before the point.
    """
    n, L = u.shape
    B = arcs.shape[2]
    S = B * L
    alpha, taken = log_forward(u, arcs, types, start, end)
    if not taken > -np.inf:
        return taken
    mass, weights, xi = np.empty(S), np.empty(L), np.empty((B, L, L))
    log_z = log_sum(alpha[n - 1])
    for s in range(S):
        mass[s] = np.exp(alpha[n - 1, s] - log_z)
    for t in range(n - 1, -1, -1):
        for c in range(L):
            gamma[t, c] = 0.0
        for s in range(S):
            gamma[t, s % L] += mass[s]
        if t == 0:
            break
        k, y = min(t, 2) - 1, types[t]
        step_back_in_log_space(arcs[k, y], alpha[t - 1], mass, weights, xi)
        for s in range(S):
            mass[s] = 0.0
        for b in range(B):
            for a in range(L):
                for c in range(L):
                    mass[a * B + b] += xi[b, a, c]
                    sums[k, y, b, a, c] += xi[b, a, c]
                    if len(position) > 0:
                        position[base + t, b, a, c] = xi[b, a, c]
    return taken + log_z


@kernel
def forward_backward(
    lo: int,
    hi: int,
    offsets: Longs,
    u: Floats,
    e_arcs: Floats,
    top: Floats,
    types: Ints,
    start: Floats,
    end: Floats,
    trusted: Flags,
    log_partition: Floats,
    gamma: Floats,
    factors: Floats,
    position: Floats,
) -> None:
    """Log-partitions and state marginals of sequences lo to hi; `trusted` says of which, others need log space.

    The arc marginals summed over positions are `factors`, to which is added, times `e_arcs`.
    """
    L, S = u.shape[1], e_arcs.shape[2] * u.shape[1]
    longest = 0
    for i in range(lo, hi):
        longest = max(longest, offsets[i + 1] - offsets[i])
    e, alpha = np.empty((longest, L)), np.empty((longest, S))
    scale, beta, weight = np.empty(longest), np.empty(S), np.empty(S)
    for i in range(lo, hi):
        p, q = offsets[i], offsets[i + 1]
        n = q - p
        u_here, types_here, e_here, alpha_here = u[p:q], types[p:q], e[:n], alpha[:n]
        log_partition[i], trusted[i] = forward(u_here, e_arcs, top, types_here, start, end, e_here, alpha_here, scale)
        if trusted[i]:
            backward(e_arcs, types_here, e_here, alpha_here, scale, beta, gamma[p:q], weight, factors, position, p)


@kernel
def log_forward_backwards(
    lo: int,
    hi: int,
    offsets: Longs,
    u: Floats,
    arcs: Floats,
    types: Ints,
    start: Floats,
    end: Floats,
    trusted: Flags,
    log_partition: Floats,
    gamma: Floats,
    sums: Floats,
    position: Floats,
) -> None:
    """`log_forward_backward` for those of sequences lo to hi that are not trusted; adds to `sums`, like `arcs`."""
    for i in range(lo, hi):
        if not trusted[i]:
            p, q = offsets[i], offsets[i + 1]
            log_partition[i] = log_forward_backward(u[p:q], arcs, types[p:q], start, end, gamma[p:q], sums, position, p)


@inner
def draw(log_weights: Floats, chance: Floats, stream: Stream) -> int:
    """Index drawn in proportion to exp(log_weights); `chance` is a workspace and may be the weights themselves."""
    high = -np.inf
    for s in range(len(log_weights)):
        high = max(high, log_weights[s])
    total = 0.0
    for s in range(len(log_weights)):
        chance[s] = np.exp(log_weights[s] - high)
        total += chance[s]
    left = random_unit(stream) * total
    last = 0
    for s in range(len(log_weights)):
        if chance[s] > 0.0:
            last = s
            left -= chance[s]
            if left < 0.0:
                break
    return last


@kernel
def sample_paths(
    lo: int,
    hi: int,
    offsets: Longs,
    u: Floats,
    arcs: Floats,
    types: Ints,
    start: Floats,
    end: Floats,
    draws: int,
    seed: int,
    labels: Ints,
) -> None:
    """Exact samples of sequences lo to hi by forward filtering and backward sampling; labels: (draws, tokens)."""
    L, B = u.shape[1], arcs.shape[2]
    chance = np.empty(B * L)
    for i in range(lo, hi):
        p, q = offsets[i], offsets[i + 1]
        n = q - p
        stream = sequence_stream(seed, i)
        alpha, _ = log_forward(u[p:q], arcs, types[p:q], start, end)
        for d in range(draws):
            state = draw(alpha[n - 1], chance, stream)
            labels[d, q - 1] = state % L
            for t in range(n - 1, 0, -1):
                step = arcs[min(t, 2) - 1, types[p + t]]
                b, c = state // L, state % L
                for a in range(L):
                    chance[a] = alpha[t - 1, a * B + b] + step[b, a, c]
                a = draw(chance[:L], chance, stream)
                state = a * B + b
                labels[d, p + t - 1] = state % L
