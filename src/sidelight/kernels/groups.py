"""Groups of chains, from which one sequence and its labels are drawn together: p(i, y) ∝ exp θ_i·y.

Forward-backward over the labels that are not forbidden, so that a sequence with two or three possible labels a token
costs little however many labels there are. A group's sequences are gone through twice: forward for their
log-partitions, whose softmax are their weights, then forward and backward for the weighted marginals.

Both orders are one recursion. alpha[t, j, i] stands for all prefixes with the j-th possible label at t and the i-th at
t - 1; for order one (an empty triple table) all i are added up in i = 0. Probabilities are scaled to sum to one at
every token where that is safe (see `kernels.chain`), and logarithms elsewhere.

Legend: r unary scores with start and end, live the possible labels of each token, α forward, β backward.
"""

import numpy as np

from .chain import FLOOR, RANGE
from .compiling import Floats, Ints, Longs, inner, kernel


@inner
def log_add(a: float, b: float) -> float:
    """log(exp a + exp b)."""
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@inner
def live_labels(u: Floats, start: Floats, end: Floats, r: Floats, live: Ints, count: Ints) -> bool:
    """Write the possible labels of each token, live[t, : count[t]], and their scores with start and end into r.

    Returns whether no token's scores span more than RANGE.
    """
    n, L = u.shape
    narrow = True
    for t in range(n):
        k = 0
        low, high = np.inf, -np.inf
        for c in range(L):
            if u[t, c] == -np.inf:
                continue
            value = u[t, c]
            if t == 0:
                value += start[c]
            if t == n - 1:
                value += end[c]
            if value > -np.inf:
                live[t, k], r[t, k] = c, value
                low, high = min(low, value), max(high, value)
                k += 1
        count[t] = k
        narrow = narrow and high - low <= RANGE
    return narrow


@inner
def scaled_forward(
    r: Floats, live: Ints, count: Ints, e_pair: Floats, types: Ints, e_triple: Floats, e: Floats, alpha: Floats,
    scale: Floats,
) -> tuple[float, bool]:  # fmt: skip
    """Log-partition of one sequence but for the largest arc scores, and whether it can be trusted.

    e_pair, e_triple: exponentials of the arc scores; writes e, those of r by token, alpha, and the tokens' scales.
    """
    n = len(r)
    second = len(e_triple) > 0
    log_z = 0.0
    for t in range(n):
        if count[t] == 0:
            return -np.inf, True
        high = -np.inf
        for j in range(count[t]):
            high = max(high, r[t, j])
        total = 0.0
        deep = second and t >= 2
        for j in range(count[t]):
            c = live[t, j]
            e[t, j] = np.exp(r[t, j] - high)
            if t == 0:
                alpha[0, j, 0] = e[0, j]
                total += e[0, j]
                continue
            together = 0.0
            for i in range(count[t - 1]):
                b = live[t - 1, i]
                mass = 0.0
                if deep:
                    for h in range(count[t - 2]):
                        mass += alpha[t - 1, i, h] * e_triple[live[t - 2, h], b, c]
                else:
                    mass = alpha[t - 1, i, 0]
                mass *= e_pair[types[t], b, c] * e[t, j]
                if second:
                    alpha[t, j, i] = mass
                together += mass
            if not second:
                alpha[t, j, 0] = together
            total += together
        if total == 0.0:
            return -np.inf, True
        scale[t] = total
        log_z += np.log(total) + high
        for j in range(count[t]):
            for i in range(count[t - 1] if second and t >= 1 else 1):
                alpha[t, j, i] /= total
                if 0.0 < alpha[t, j, i] < FLOOR:
                    return log_z, False
    return log_z, True


@inner
def scaled_backward(
    live: Ints, count: Ints, e_pair: Floats, types: Ints, e_triple: Floats, e: Floats, alpha: Floats, scale: Floats,
    beta: Floats, weight: float, gamma: Floats, pair_sums: Floats, triple_sums: Floats,
) -> None:  # fmt: skip
    """`log_backward` after `scaled_forward`."""
    n = len(gamma)
    second = len(e_triple) > 0
    gamma[:] = 0.0
    now, then = beta[0], beta[1]
    now[:] = 1.0
    for t in range(n - 1, 0, -1):
        deep = second and t >= 2
        for i in range(count[t - 1]):
            b = live[t - 1, i]
            for h in range(count[t - 2] if deep else 1):
                then[i, h] = 0.0
            for j in range(count[t]):
                c = live[t, j]
                onward = e_pair[types[t], b, c] * e[t, j] * now[j, i if second else 0] / scale[t]
                mass = 0.0
                for h in range(count[t - 2] if deep else 1):
                    if alpha[t - 1, i, h] == 0.0:
                        continue
                    a = live[t - 2, h] if deep else 0
                    step = onward * e_triple[a, b, c] if deep else onward
                    then[i, h] += step
                    p = weight * alpha[t - 1, i, h] * step
                    if deep:
                        triple_sums[a, b, c] += p
                    mass += p
                pair_sums[types[t], b, c] += mass
                gamma[t, c] += mass
        now, then = then, now
    for j in range(count[0]):
        gamma[0, live[0, j]] = weight * alpha[0, j, 0] * now[j, 0]


@inner
def log_forward(r: Floats, live: Ints, count: Ints, pair: Floats, types: Ints, triple: Floats, alpha: Floats) -> float:
    """Log-partition of one sequence; writes alpha in logarithms."""
    n = len(r)
    second = len(triple) > 0
    for j in range(count[0]):
        alpha[0, j, 0] = r[0, j]
    for t in range(1, n):
        step = pair[types[t]]
        before = count[t - 2] if second and t >= 2 else 1
        for j in range(count[t]):
            c = live[t, j]
            together = -np.inf
            for i in range(count[t - 1]):
                b = live[t - 1, i]
                total = -np.inf
                for h in range(before):
                    extra = triple[live[t - 2, h], b, c] if second and t >= 2 else 0.0
                    total = log_add(total, alpha[t - 1, i, h] + extra)
                total += step[b, c] + r[t, j]
                if second:
                    alpha[t, j, i] = total
                together = log_add(together, total)
            if not second:
                alpha[t, j, 0] = together
    log_z = -np.inf
    for j in range(count[n - 1]):
        for i in range(count[n - 2] if second and n >= 2 else 1):
            log_z = log_add(log_z, alpha[n - 1, j, i])
    return log_z


@inner
def log_backward(
    r: Floats,
    live: Ints,
    count: Ints,
    pair: Floats,
    types: Ints,
    triple: Floats,
    alpha: Floats,
    beta: Floats,
    log_z: float,
    weight: float,
    gamma: Floats,
    pair_sums: Floats,
    triple_sums: Floats,
) -> None:
    """Write the label marginals of one sequence, and add its pair and triple marginals, all times `weight`.

    beta: workspace (2, L, L), as alpha for the tokens t and t - 1.
    """
    n = len(r)
    second = len(triple) > 0
    gamma[:] = 0.0
    beta[:] = 0.0
    for t in range(n - 1, 0, -1):
        now, then = beta[t % 2], beta[(t - 1) % 2]
        then[:] = -np.inf
        step, sums = pair[types[t]], pair_sums[types[t]]
        before = count[t - 2] if second and t >= 2 else 1
        for j in range(count[t]):
            c = live[t, j]
            for i in range(count[t - 1]):
                b = live[t - 1, i]
                onward = step[b, c] + r[t, j] + now[j, i if second else 0]
                mass = 0.0
                for h in range(before):
                    extra = triple[live[t - 2, h], b, c] if second and t >= 2 else 0.0
                    then[i, h] = log_add(then[i, h], onward + extra)
                    p = weight * np.exp(alpha[t - 1, i, h] + onward + extra - log_z)
                    if second and t >= 2:
                        triple_sums[live[t - 2, h], b, c] += p
                    mass += p
                sums[b, c] += mass
                gamma[t, c] += mass
    for j in range(count[0]):
        c = live[0, j]
        gamma[0, c] = weight * np.exp(alpha[0, j, 0] + beta[0, j, 0] - log_z)


@kernel
def group_marginals(
    lo: int,
    hi: int,
    groups: Longs,
    offsets: Longs,
    u: Floats,
    pair: Floats,
    e_pair: Floats,
    types: Ints,
    triple: Floats,
    e_triple: Floats,
    top: Floats,
    fits: bool,
    start: Floats,
    end: Floats,
    log_partition: Floats,
    gamma: Floats,
) -> tuple[Floats, Floats]:
    """Log-partitions and label marginals of groups lo to hi; returns their pair and triple marginals, summed.

    groups: where each group begins among the sequences; triple: empty for order one; e_pair, e_triple: exponentials
    of the tables less their largest scores `top`, pairs first; fits: whether these span no more than RANGE.
    """
    L = u.shape[1]
    longest, largest = 1, 1
    for g in range(lo, hi):
        largest = max(largest, groups[g + 1] - groups[g])
        for i in range(groups[g], groups[g + 1]):
            longest = max(longest, offsets[i + 1] - offsets[i])
    width = L if len(triple) > 0 else 1
    alpha, beta = np.empty((longest, L, width)), np.empty((2, L, width))
    r, e, scale = np.empty((longest, L)), np.empty((longest, L)), np.empty(longest)
    live, count = np.empty((longest, L), np.int32), np.empty(longest, np.int32)
    log_z, trusted = np.empty(largest), np.empty(largest, np.bool_)
    pair_sums, triple_sums = np.zeros_like(pair), np.zeros_like(triple)
    for g in range(lo, hi):
        first, last = groups[g], groups[g + 1]
        total = -np.inf
        for i in range(first, last):
            p, q = offsets[i], offsets[i + 1]
            n, m = q - p, i - first
            trusted[m] = live_labels(u[p:q], start, end, r[:n], live, count) and fits
            if trusted[m]:
                log_z[m], trusted[m] = scaled_forward(r[:n], live, count, e_pair, types[p:q], e_triple, e, alpha, scale)
                log_z[m] += top[0] * (n - 1) + top[1] * max(n - 2, 0)
            if not trusted[m]:
                log_z[m] = log_forward(r[:n], live, count, pair, types[p:q], triple, alpha)
            total = log_add(total, log_z[m])
        log_partition[g] = total
        for i in range(first, last):
            p, q = offsets[i], offsets[i + 1]
            n, m = q - p, i - first
            weight = np.exp(log_z[m] - total) if total > -np.inf else 0.0
            if weight == 0.0:
                gamma[p:q] = 0.0
                continue
            again = last - first > 1  # else all of it still stands from the first round
            if again:
                live_labels(u[p:q], start, end, r[:n], live, count)
            if trusted[m]:
                if again:
                    scaled_forward(r[:n], live, count, e_pair, types[p:q], e_triple, e, alpha, scale)
                scaled_backward(
                    live, count, e_pair, types[p:q], e_triple, e, alpha, scale, beta, weight, gamma[p:q],
                    pair_sums, triple_sums,
                )  # fmt: skip
                continue
            if again:
                log_forward(r[:n], live, count, pair, types[p:q], triple, alpha)
            log_backward(
                r[:n], live, count, pair, types[p:q], triple, alpha, beta, log_z[m], weight, gamma[p:q],
                pair_sums, triple_sums,
            )  # fmt: skip
    return pair_sums, triple_sums
