"""Monotone alignments of two strings over batches stored flat: recursions over pairs of prefixes.

A node (i, j) lies behind the first i source and the first j target items. Between two links the deletions of source
items come first, so that every output is one path. For that a node has two states:

    X[i, j]   paths to the node whose last step is no deletion of a target item
    A[i, j]   all paths to the node

    X[i, j] = X[i - 1, j] + source[i - 1]  or  A[i - a, j - b] + link of the segments (i - a, a) and (j - b, b)
    A[i, j] = X[i, j]                      or  A[i, j - 1] + target[j - 1]

and on the way back, of what follows the node,

    R[i, j] = link of (i, a) and (j, b) + F[i + a, j + b]  or  target[j] + R[i, j + 1]
    F[i, j] = R[i, j]                                      or  source[i] + F[i + 1, j]

where F is for paths that came by X and R for all. The segments of n items of length at most k are numbered by where
they begin, then by length. Link (s, t, l) of source segment s, target segment t and label l has the number (s * target
segments + t) * labels + l; behind the links are the deletions of source items and those of target items.

All sums are taken as logarithms: one exponential for every link.

Sections: segments; the k best; forward-backward; sampling; outputs as parts.
"""

import numpy as np

from .chain import draw, sequence_stream
from .compiling import Floats, Ints, Longs, ordered, ordered_inner

# Nodes of a probability below exp(UNLIKELY) do not matter for how exact the others are.
UNLIKELY = -50.0
EPS = 2.0**-52


@ordered_inner
def first_segments(n: int, longest: int) -> Longs:
    """Returns the number of the first segment that begins at each of n items, and how many segments there are."""
    first = np.zeros(n + 1, np.int64)
    for i in range(n):
        first[i + 1] = first[i] + min(longest, n - i)
    return first


@ordered_inner
def segments(n: int, longest: int) -> Longs:
    """Returns where each segment of n items begins, and its length: (segments, 2)."""
    k = min(n, longest)
    found = np.empty((n * k - k * (k - 1) // 2, 2), np.int64)
    s = 0
    for i in range(n):
        for a in range(1, min(k, n - i) + 1):
            found[s, 0], found[s, 1] = i, a
            s += 1
    return found


# The k best ----------------------------------------------------------------------------------------------------------


@ordered_inner
def offer(value: float, arc: int, rank: int, values: Floats, arcs: Longs, ranks: Longs) -> bool:
    """Enters a path into a list of best ones, behind equal ones; whether it had a place."""
    p = len(values) - 1
    if not value > values[p]:
        return False
    while p > 0 and values[p - 1] < value:
        values[p], arcs[p], ranks[p] = values[p - 1], arcs[p - 1], ranks[p - 1]
        p -= 1
    values[p], arcs[p], ranks[p] = value, arc, rank
    return True


@ordered_inner
def offer_all(step: float, arc: int, before: Floats, values: Floats, arcs: Longs, ranks: Longs) -> None:
    """Enters all paths to an earlier node with one more step; the first that has no place ends it."""
    for rank in range(len(before)):
        if not offer(before[rank] + step, arc, rank, values, arcs, ranks):
            break


@ordered_inner
def best_prefixes(theta: Floats, n: int, m: int, L: int, longest: int, value: Floats, arc: Longs, rank: Longs) -> None:
    """The best paths to every node.

    value, arc, rank: (2, n + 1, m + 1, k), first for X, then for A. arc is the number of the link, or -1 for a deletion
    of a source item; for A it is 0 where the path is one of X, and 1 for a deletion of a target item.
    """
    sf, tf = first_segments(n, longest), first_segments(m, longest)
    T = tf[m]
    source = sf[n] * T * L
    target = source + n
    value[:] = -np.inf
    value[0, 0, 0, 0] = 0.0
    for i in range(n + 1):
        for j in range(m + 1):
            values, arcs, ranks = value[0, i, j], arc[0, i, j], rank[0, i, j]
            if i > 0:
                offer_all(theta[source + i - 1], -1, value[0, i - 1, j], values, arcs, ranks)
            for a in range(1, min(longest, i) + 1):
                row = (sf[i - a] + a - 1) * T
                for b in range(1, min(longest, j) + 1):
                    first, before = (row + tf[j - b] + b - 1) * L, value[1, i - a, j - b]
                    for p in range(first, first + L):
                        offer_all(theta[p], p, before, values, arcs, ranks)
            offer_all(0.0, 0, values, value[1, i, j], arc[1, i, j], rank[1, i, j])
            if j > 0:
                offer_all(theta[target + j - 1], 1, value[1, i, j - 1], value[1, i, j], arc[1, i, j], rank[1, i, j])


@ordered_inner
def write_path(n: int, m: int, L: int, longest: int, r: int, arc: Longs, rank: Longs, output: Ints) -> None:
    """Writes the path of rank r, from its end."""
    source_segments, target_segments = segments(n, longest), segments(m, longest)
    T = len(target_segments)
    links = len(source_segments) * T * L
    i, j, free = n, m, 1
    while i > 0 or j > 0:
        p, r = arc[free, i, j, r], rank[free, i, j, r]
        if free == 1:
            j, free = j - p, p
        elif p == -1:
            i -= 1
            output[i] = links + i
        else:
            a, b = source_segments[p // L // T, 1], target_segments[p // L % T, 1]
            output[i - a : i] = p
            i, j, free = i - a, j - b, 1


@ordered
def best_alignments(
    lo: int,
    hi: int,
    offsets: Longs,
    shapes: Longs,
    theta: Floats,
    longest: int,
    slots: Longs,
    outputs: Ints,
    best: Floats,
) -> None:
    """The k best alignments of inputs lo to hi.

    outputs: (k, slots) and best: (inputs, k), -1 and -inf where there are fewer.
    """
    k = best.shape[1]
    for x in range(lo, hi):
        n, m, L = shapes[x, 0], shapes[x, 1], shapes[x, 2]
        value = np.empty((2, n + 1, m + 1, k))
        arc, rank = np.zeros((2, n + 1, m + 1, k), np.int64), np.zeros((2, n + 1, m + 1, k), np.int64)
        best_prefixes(theta[offsets[x] : offsets[x + 1]], n, m, L, longest, value, arc, rank)
        for r in range(k):
            best[x, r] = value[1, n, m, r]
            output = outputs[r, slots[x] : slots[x + 1]]
            if best[x, r] > -np.inf:
                write_path(n, m, L, longest, r, arc, rank, output)
            else:
                output[:] = -1


# Forward-backward ----------------------------------------------------------------------------------------------------


@ordered_inner
def log_sum(terms: Floats, count: int) -> float:
    """log Σ exp of the first terms."""
    top = -np.inf
    for t in range(count):
        top = max(top, terms[t])
    if top == -np.inf:
        return top
    total = 0.0
    for t in range(count):
        if terms[t] > -np.inf:
            total += np.exp(terms[t] - top)
    value: float = top + np.log(total)
    return value


@ordered_inner
def log_add(one: float, other: float) -> float:
    """log(exp(one) + exp(other))."""
    high, low = max(one, other), min(one, other)
    if low == -np.inf:
        return high
    value: float = high + np.log1p(np.exp(low - high))
    return value


@ordered_inner
def sum_labels(theta: Floats, L: int, joint: Floats) -> None:
    """The log-sum over the labels of every pair of segments."""
    for p in range(len(joint)):
        joint[p] = theta[p] if L == 1 else log_sum(theta[p * L : (p + 1) * L], L)


@ordered_inner
def arriving(
    i: int, j: int, sf: Longs, tf: Longs, longest: int, joint: Floats, source: Floats, X: Floats, A: Floats, out: Floats
) -> int:
    """The paths of X[i, j] by their last step, the deletion of a source item and then links by (a, b); how many."""
    T, count = tf[len(tf) - 1], 1
    out[0] = X[i - 1, j] + source[i - 1] if i > 0 else -np.inf
    for a in range(1, min(longest, i) + 1):
        row = (sf[i - a] + a - 1) * T
        for b in range(1, min(longest, j) + 1):
            out[count] = A[i - a, j - b] + joint[row + tf[j - b] + b - 1]
            count += 1
    return count


@ordered_inner
def forward(
    sf: Longs,
    tf: Longs,
    longest: int,
    joint: Floats,
    source: Floats,
    target: Floats,
    X: Floats,
    A: Floats,
    terms: Floats,
) -> float:
    """The log-sums X and A, and the log-partition."""
    n, m = len(source), len(target)
    for i in range(n + 1):
        for j in range(m + 1):
            if i == 0 and j == 0:
                X[i, j] = 0.0
            else:
                X[i, j] = log_sum(terms, arriving(i, j, sf, tf, longest, joint, source, X, A, terms))
            A[i, j] = X[i, j] if j == 0 else log_add(X[i, j], A[i, j - 1] + target[j - 1])
    value: float = A[n, m]
    return value


@ordered_inner
def leaving(
    i: int, j: int, sf: Longs, tf: Longs, longest: int, joint: Floats, target: Floats, F: Floats, R: Floats, out: Floats
) -> int:
    """What follows node (i, j) by the next step, links by (a, b) and then the deletion of a target item; how many."""
    n, m, T, count = len(sf) - 1, len(tf) - 1, tf[len(tf) - 1], 0
    for a in range(1, min(longest, n - i) + 1):
        row = (sf[i] + a - 1) * T + tf[j]
        for b in range(1, min(longest, m - j) + 1):
            out[count] = joint[row + b - 1] + F[i + a, j + b]
            count += 1
    out[count] = target[j] + R[i, j + 1] if j < m else -np.inf
    return count + 1


@ordered_inner
def shares(terms: Floats, count: int, mass: float) -> float:
    """Parts a mass among terms in proportion to their exponentials; returns the entropy that the choice adds."""
    total = log_sum(terms, count)
    entropy = 0.0
    for t in range(count):
        distance = total - terms[t]
        terms[t] = mass * np.exp(-distance) if terms[t] > -np.inf else 0.0
        if terms[t] > 0.0:
            entropy += terms[t] * distance
    return entropy


@ordered_inner
def wide(before: float, behind: float, z: float) -> float:
    """The size of the log-sums at a node that may have a part in the distribution, else 0."""
    slack = 64.0 * EPS * (abs(before) + abs(behind) + abs(z))
    return max(abs(before), abs(behind)) if before + behind - z > UNLIKELY - slack else 0.0


@ordered_inner
def backward(
    sf: Longs,
    tf: Longs,
    longest: int,
    joint: Floats,
    source: Floats,
    target: Floats,
    X: Floats,
    A: Floats,
    z: float,
    F: Floats,
    R: Floats,
    terms: Floats,
    on_joint: Floats,
    on_source: Floats,
    on_target: Floats,
) -> tuple[float, float]:
    """The probabilities of all steps; returns the entropy of the paths, and the largest log-sum that matters."""
    n, m, T = len(source), len(target), tf[len(tf) - 1]
    on_source[:] = 0.0
    on_target[:] = 0.0
    entropy, widest = 0.0, abs(z)
    for i in range(n, -1, -1):
        for j in range(m, -1, -1):
            if i == n and j == m:
                R[i, j] = F[i, j] = 0.0
                continue
            count = leaving(i, j, sf, tf, longest, joint, target, F, R, terms)
            R[i, j] = log_sum(terms, count)
            deletion = source[i] + F[i + 1, j] if i < n else -np.inf
            F[i, j] = log_add(R[i, j], deletion)
            if R[i, j] > -np.inf:
                entropy += shares(terms, count, np.exp(A[i, j] + R[i, j] - z))
                widest = max(widest, wide(A[i, j], R[i, j], z))
            else:
                terms[:count] = 0.0
            t = 0
            for a in range(1, min(longest, n - i) + 1):
                row = (sf[i] + a - 1) * T + tf[j]
                for b in range(1, min(longest, m - j) + 1):
                    on_joint[row + b - 1] = terms[t]
                    t += 1
            if j < m:
                on_target[j] += terms[t]
            if X[i, j] > -np.inf and F[i, j] > -np.inf:
                terms[0], terms[1] = deletion, R[i, j]
                entropy += shares(terms, 2, np.exp(X[i, j] + F[i, j] - z))
                widest = max(widest, wide(X[i, j], F[i, j], z))
                if i < n:
                    on_source[i] += terms[0]
    return entropy, widest


@ordered_inner
def spread_labels(theta: Floats, L: int, on_joint: Floats, mass: Floats) -> float:
    """The probabilities of links from those of pairs of segments; returns the entropy that labels add."""
    entropy = 0.0
    for p in range(len(on_joint)):
        at = slice(p * L, (p + 1) * L)
        mass[at] = 0.0
        if on_joint[p] > 0.0:
            for k in range(p * L, (p + 1) * L):
                mass[k] = theta[k]
            entropy += shares(mass[at], L, on_joint[p])
    return entropy


@ordered
def forward_backward(
    lo: int,
    hi: int,
    offsets: Longs,
    shapes: Longs,
    theta: Floats,
    longest: int,
    log_partition: Floats,
    entropy: Floats,
    rounding: Floats,
    mass: Floats,
) -> None:
    """Log-partitions, entropies and probabilities of the parts of inputs lo to hi.

    rounding: (inputs,) by how much logarithms of probabilities may miss.
    """
    for x in range(lo, hi):
        n, m, L = shapes[x, 0], shapes[x, 1], shapes[x, 2]
        scores, on = theta[offsets[x] : offsets[x + 1]], mass[offsets[x] : offsets[x + 1]]
        sf, tf = first_segments(n, longest), first_segments(m, longest)
        pairs, terms = sf[n] * tf[m], np.empty(min(longest, n) * min(longest, m) + 2)
        joint, on_joint = np.empty(pairs), np.empty(pairs)
        source, target = scores[pairs * L : pairs * L + n], scores[pairs * L + n :]
        tables = np.empty((4, n + 1, m + 1))
        X, A, F, R = tables[0], tables[1], tables[2], tables[3]
        sum_labels(scores, L, joint)
        z = forward(sf, tf, longest, joint, source, target, X, A, terms)
        log_partition[x], entropy[x], rounding[x] = z, 0.0, 0.0
        if not z > -np.inf:
            continue
        on_source, on_target = on[pairs * L : pairs * L + n], on[pairs * L + n :]
        of_paths, widest = backward(
            sf, tf, longest, joint, source, target, X, A, z, F, R, terms, on_joint, on_source, on_target
        )
        entropy[x] = of_paths + spread_labels(scores, L, on_joint, on)
        rounding[x] = EPS * widest * (n + m)


# Sampling ------------------------------------------------------------------------------------------------------------


@ordered
def sample_alignments(
    lo: int,
    hi: int,
    offsets: Longs,
    shapes: Longs,
    theta: Floats,
    longest: int,
    seed: int,
    slots: Longs,
    outputs: Ints,
) -> None:
    """Exact samples of inputs lo to hi by forward filtering and backward sampling; outputs: (draws, slots)."""
    for x in range(lo, hi):
        n, m, L = shapes[x, 0], shapes[x, 1], shapes[x, 2]
        scores, stream = theta[offsets[x] : offsets[x + 1]], sequence_stream(seed, x)
        sf, tf = first_segments(n, longest), first_segments(m, longest)
        T, pairs, wide_b = tf[m], sf[n] * tf[m], min(longest, m)
        joint, terms = np.empty(pairs), np.empty(min(longest, n) * wide_b + 2)
        chance = np.empty(max(L, len(terms)))
        source, target = scores[pairs * L : pairs * L + n], scores[pairs * L + n :]
        X, A = np.empty((n + 1, m + 1)), np.empty((n + 1, m + 1))
        sum_labels(scores, L, joint)
        forward(sf, tf, longest, joint, source, target, X, A, terms)
        for d in range(len(outputs)):
            output = outputs[d, slots[x] : slots[x + 1]]
            i, j, free = n, m, True
            while i > 0 or j > 0:
                if free:
                    terms[0], terms[1] = X[i, j], A[i, j - 1] + target[j - 1] if j > 0 else -np.inf
                    free = draw(terms[:2], chance, stream) == 1
                    j -= free
                    continue
                count = arriving(i, j, sf, tf, longest, joint, source, X, A, terms)
                step = draw(terms[:count], chance, stream)
                if step == 0:
                    i -= 1
                    output[i] = pairs * L + i
                    continue
                a, b = (step - 1) // min(wide_b, j) + 1, (step - 1) % min(wide_b, j) + 1
                pair = (sf[i - a] + a - 1) * T + tf[j - b] + b - 1
                label = draw(scores[pair * L : (pair + 1) * L], chance, stream) if L > 1 else 0
                output[i - a : i] = pair * L + label
                i, j, free = i - a, j - b, True


# Outputs as parts ----------------------------------------------------------------------------------------------------


@ordered_inner
def mark(output: Ints, n: int, m: int, L: int, longest: int, on: Floats) -> bool:
    """Sets the parts of an output to one; whether it is an output. One that is not known, all -1, has no parts."""
    source_segments, target_segments = segments(n, longest), segments(m, longest)
    T = len(target_segments)
    links = len(source_segments) * T * L
    known = False
    for k in range(len(output)):
        known = known or output[k] != -1
    if not known:
        return True
    i, j = 0, 0
    while i < n:
        p, a = output[i], 1
        if p < 0 or p >= links:
            if p != links + i:
                return False
        else:
            s, t = p // L // T, p // L % T
            a, begin = source_segments[s, 1], target_segments[t, 0]
            if source_segments[s, 0] != i or begin < j:
                return False
            for k in range(i, i + a):
                if output[k] != p:
                    return False
            on[links + n + j : links + n + begin] = 1.0
            j = begin + target_segments[t, 1]
        on[p] = 1.0
        i += a
    on[links + n + j :] = 1.0
    return True


@ordered
def mark_alignments(
    lo: int, hi: int, offsets: Longs, shapes: Longs, longest: int, slots: Longs, outputs: Ints, on: Floats
) -> int:
    """Sets the parts of the outputs of inputs lo to hi to one; returns the first input whose output is none, or -1."""
    for x in range(lo, hi):
        n, m, L = shapes[x, 0], shapes[x, 1], shapes[x, 2]
        if not mark(outputs[slots[x] : slots[x + 1]], n, m, L, longest, on[offsets[x] : offsets[x + 1]]):
            return x
    return -1
