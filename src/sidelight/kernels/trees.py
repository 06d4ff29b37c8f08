"""Dependency trees over batches: from scores of labelled arcs to the best trees, probabilities and draws, and back.

An input of n words and L labels has the parts (c * n + s) * L + l, for word c, the slot s of its head (0 for the root,
see `projective_trees`) and the label l. Every tree has one arc for each word, so a number that all arcs of a word have
in common changes no answer: the largest score of each word is taken off before anything is added up.
"""

import numpy as np

from .chain import draw, sequence_stream
from .compiling import Floats, Ints, Longs, inner, kernel, ordered_inner
from .projective_trees import GROWTH, arc_chances, best_tree, draw_tree, log_arc_chances, log_chart, log_total
from .spanning_trees import (
    best_spanning_tree,
    copy_words,
    draw_spanning_tree,
    known_root,
    settle_head,
    spanning_chances,
)  # fmt: skip

# Scores beyond this could add up to more than numbers can be; they are made smaller by a power of two.
LARGEST = 1e290
SMALLER = 2.0**-64


@ordered_inner
def longest_of(lo: int, hi: int, sizes: Longs) -> int:
    """Most words of an input from lo to hi."""
    longest = 1
    for i in range(lo, hi):
        longest = max(longest, sizes[i])
    return longest


@ordered_inner
def greatest(theta: Floats) -> float:
    """The greatest size of a score that is not -inf; NaN if a score is not a number below infinity."""
    most = 0.0
    for p in range(len(theta)):
        if not theta[p] < np.inf:
            return np.nan
        if theta[p] > -np.inf:
            most = max(most, abs(theta[p]))
    return most


@ordered_inner
def top_of(theta: Floats) -> float:
    """The largest score, or 0 where all are -inf."""
    top = -np.inf
    for p in range(len(theta)):
        top = max(top, theta[p])
    return top if top > -np.inf else 0.0


@ordered_inner
def widest(theta: Floats, n: int) -> float:
    """How far finite scores of a word lie apart at most, halved; NaN if a score is not a number below infinity."""
    width, most = len(theta) // n, 0.0
    for c in range(n):
        word = theta[c * width : (c + 1) * width]
        top = top_of(word)
        for p in range(width):
            if not word[p] < np.inf:
                return np.nan
            if word[p] > -np.inf:
                most = max(most, 0.5 * top - 0.5 * word[p])
    return most


# Best trees ----------------------------------------------------------------------------------------------------------


@ordered_inner
def best_arcs(theta: Floats, L: int, factor: float, arcs: Floats) -> None:
    """The score of the best label of every arc, times a factor and less the largest of its word."""
    n = len(arcs)
    for c in range(n):
        top = factor * top_of(theta[c * n * L : (c + 1) * n * L])
        for s in range(n):
            best = -np.inf
            for p in range((c * n + s) * L, (c * n + s + 1) * L):
                best = theta[p] if theta[p] > best else best
            arcs[c, s] = factor * best - top


@ordered_inner
def write_best(theta: Floats, L: int, slots: Ints, output: Ints) -> float:
    """Writes head * L + label of every word, with the best label of its arc, and returns the score."""
    n = len(slots)
    total = 0.0
    for c in range(n):
        s = slots[c]
        first = (c * n + s) * L
        label = 0
        for k in range(1, L):
            if theta[first + k] > theta[first + label]:
                label = k
        total += theta[first + label]
        output[c] = (s if s <= c else s + 1) * L + label
    return total


@kernel
def best_projective_trees(
    lo: int,
    hi: int,
    sizes: Longs,
    labels: Longs,
    offsets: Longs,
    words: Longs,
    values: Floats,
    single: bool,
    outputs: Ints,
    scores: Floats,
) -> None:
    """The best projective trees of inputs lo to hi; offsets: where parts begin, words: where outputs begin."""
    longest = longest_of(lo, hi, sizes)
    space, rows = np.empty(5 * longest * longest), np.empty(2 * longest + 2)
    stack, slots = np.empty((longest, 3), np.int32), np.empty(longest, np.int32)
    for i in range(lo, hi):
        n, theta = sizes[i], values[offsets[i] : offsets[i + 1]]
        size = greatest(theta)
        if not size < np.inf:
            scores[i] = np.nan
            continue
        charts = space[: 5 * n * n].reshape(5, n, n)
        best_arcs(theta, labels[i], SMALLER if size > LARGEST else 1.0, charts[4])
        best = best_tree(charts[4], single, charts, rows[: 2 * n + 2].reshape(2, n + 1), stack, slots)
        scores[i] = -np.inf
        if best > -np.inf:
            scores[i] = write_best(theta, labels[i], slots[:n], outputs[words[i] : words[i + 1]])


@kernel
def best_spanning_trees(
    lo: int,
    hi: int,
    sizes: Longs,
    labels: Longs,
    offsets: Longs,
    words: Longs,
    values: Floats,
    single: bool,
    outputs: Ints,
    scores: Floats,
) -> None:
    """The best trees of inputs lo to hi, whether arcs cross or not."""
    longest = longest_of(lo, hi, sizes)
    space, square = np.empty(longest * longest), np.empty((longest + 1) ** 2)
    table, rows = np.empty(2 * (longest + 1) ** 2, np.int32), np.empty(9 * (2 * longest + 1), np.int32)
    slots = np.empty(longest, np.int32)
    for i in range(lo, hi):
        n, theta = sizes[i], values[offsets[i] : offsets[i + 1]]
        size = greatest(theta)
        if not size < np.inf:
            scores[i] = np.nan
            continue
        arcs = space[: n * n].reshape(n, n)
        best_arcs(theta, labels[i], SMALLER if size > LARGEST else 1.0, arcs)
        N = n + 1
        found = best_spanning_tree(
            arcs, single, square[: N * N].reshape(N, N), table[: 2 * N * N].reshape(2, N, N),
            rows[: 9 * (N + n)].reshape(9, N + n), slots,
        )  # fmt: skip
        scores[i] = -np.inf
        if found:
            scores[i] = write_best(theta, labels[i], slots[:n], outputs[words[i] : words[i + 1]])


# Probabilities -------------------------------------------------------------------------------------------------------


@inner
def arc_weights(theta: Floats, L: int, mass: Floats, weights: Floats, tops: Floats) -> None:
    """Weights of all arcs, Σ_l exp(θ - top), with those of the single parts in `mass`; tops: (n,)."""
    n = len(weights)
    for c in range(n):
        top = tops[c] = top_of(theta[c * n * L : (c + 1) * n * L])
        for s in range(n):
            total = 0.0
            for p in range((c * n + s) * L, (c * n + s + 1) * L):
                mass[p] = np.exp(theta[p] - top)
                total += mass[p]
            weights[c, s] = total


@inner
def log_arc_weights(theta: Floats, L: int, tops: Floats, drops: Floats, arcs: Floats) -> None:
    """Logarithms of the weights of arcs, less a number for each word."""
    n = len(arcs)
    for c in range(n):
        for s in range(n):
            first = (c * n + s) * L
            arcs[c, s] = log_total(theta[first : first + L]) - tops[c] - drops[c]


@inner
def share_out(theta: Floats, L: int, weights: Floats, chances: Floats, mass: Floats) -> None:
    """Chances of arcs, shared out among their labels by the weights in `mass`.

    Where weights of an arc that has a chance vanish, its labels are weighed against each other alone.
    """
    n = len(chances)
    for c in range(n):
        for s in range(n):
            first, chance = (c * n + s) * L, chances[c, s]
            if weights[c, s] < 1e-200 and chance > 0.0:
                top = top_of(theta[first : first + L])
                total = 0.0
                for p in range(first, first + L):
                    mass[p] = np.exp(theta[p] - top)
                    total += mass[p]
                chance /= total
            elif weights[c, s] > 0.0:
                chance /= weights[c, s]
            for p in range(first, first + L):
                mass[p] *= chance


@inner
def expected_score(theta: Floats, tops: Floats, mass: Floats) -> float:
    """Σ (θ - top) μ, where parts without mass count zero."""
    n = len(tops)
    width, total = len(theta) // n, 0.0
    for c in range(n):
        for p in range(c * width, (c + 1) * width):
            if mass[p] > 0.0:
                total += (theta[p] - tops[c]) * mass[p]
    return total


@kernel
def projective_marginals(
    lo: int,
    hi: int,
    sizes: Longs,
    labels: Longs,
    offsets: Longs,
    values: Floats,
    single: bool,
    mass: Floats,
    sums: Floats,
) -> None:
    """Probabilities of all parts of inputs lo to hi under projective trees.

    sums: (inputs, 3) log-partitions of scores less each word's largest, the sums of these largest, and expected scores
    less these; NaN where scores are so far apart that it cannot be done, or no numbers.
    """
    longest = longest_of(lo, hi, sizes)
    space, rows, words = np.empty(10 * longest * longest), np.empty(4 * longest + 4), np.empty((2, longest))
    for i in range(lo, hi):
        n, L, theta, out = sizes[i], labels[i], values[offsets[i] : offsets[i + 1]], mass[offsets[i] : offsets[i + 1]]
        sums[i, :] = np.nan
        if not widest(theta, n) < LARGEST:
            continue
        charts, vectors = space[: 10 * n * n].reshape(10, n, n), rows[: 4 * n + 4].reshape(4, n + 1)
        weights, chances, tops, drops = charts[8], charts[9], words[0, :n], words[1, :n]
        arc_weights(theta, L, out, weights, tops)
        arcs = charts[7]
        for c in range(n):
            most = 0.0
            for s in range(n):
                most = max(most, weights[c, s])
            most = GROWTH * (most if most > 0.0 else 1.0)
            for s in range(n):
                arcs[c, s] = weights[c, s] / most
            drops[c] = np.log(most)
        total = arc_chances(arcs, single, charts, vectors, chances)
        if not total > -np.inf:
            log_arc_weights(theta, L, tops, drops, weights)
            total = log_arc_chances(weights, single, charts, vectors, chances)
            if total == -np.inf:
                sums[i, 0] = total
                continue
            weights[:, :] = 0.0
        share_out(theta, L, weights, chances, out)
        sums[i, 0], sums[i, 1] = total + drops.sum(), tops.sum()
        sums[i, 2] = expected_score(theta, tops, out)


@inner
def word_weights(weights: Floats, drops: Floats, matrix: Floats, roots: Floats) -> None:
    """Weights by (child, head) and of the root, those of a word summing to one; drops: (n,) logarithms of the sums."""
    n = len(weights)
    roots[:, :] = 0.0
    for c in range(n):
        total = weights[c].sum()
        total = total if total > 0.0 else 1.0
        drops[c] = np.log(total)
        roots[0, c] = weights[c, 0] / total
        for h in range(n):
            matrix[c, h] = weights[c, h + 1 if h < c else h] / total if h != c else 0.0


@inner
def log_word_weights(arcs: Floats, single: bool, matrix: Floats, roots: Floats) -> None:
    """Logarithms of weights by (child, head) and of the root: a single one's are those of small weights."""
    n = len(arcs)
    roots[:, :] = -np.inf
    for c in range(n):
        roots[1 if single else 0, c] = arcs[c, 0]
        for h in range(n):
            matrix[c, h] = arcs[c, h + 1 if h < c else h] if h != c else -np.inf


@inner
def depth_of(n: int) -> int:
    """How often n words can be halved, and one more."""
    depth, size = 1, 1
    while size < n:
        depth, size = depth + 1, 2 * size
    return depth


@kernel
def spanning_marginals(
    lo: int,
    hi: int,
    sizes: Longs,
    labels: Longs,
    offsets: Longs,
    values: Floats,
    single: bool,
    mass: Floats,
    sums: Floats,
) -> None:
    """`projective_marginals` for trees whose arcs may cross."""
    longest = longest_of(lo, hi, sizes)
    depth = depth_of(longest)
    space, level_space = np.empty(5 * longest * longest + 3 * longest), np.empty(depth * longest * longest)
    vectors, words = np.empty((2 * depth + 4) * longest), np.empty((2, longest))
    numbers, bounds = np.empty((5, max(longest, depth)), np.int64), np.empty((longest, 2), np.int64)
    for i in range(lo, hi):
        n, L, theta, out = sizes[i], labels[i], values[offsets[i] : offsets[i + 1]], mass[offsets[i] : offsets[i + 1]]
        sums[i, :] = np.nan
        if not widest(theta, n) < LARGEST:
            continue
        square = n * n
        squares = space[: 3 * square].reshape(3, n, n)
        weights, matrix, chances = squares[0], squares[1], squares[2]
        heads = space[3 * square : 4 * square + n].reshape(n, n + 1)
        ways = space[4 * square + n : 5 * square + 3 * n].reshape(n, n + 2)
        levels = level_space[: depth * square].reshape(depth, n, n)
        level_roots = vectors[: 2 * depth * n].reshape(depth, 2, n)
        roots = vectors[2 * depth * n : (2 * depth + 2) * n].reshape(2, n)
        e = vectors[(2 * depth + 2) * n : (2 * depth + 4) * n].reshape(2, n)
        tops, drops = words[0, :n], words[1, :n]
        arc_weights(theta, L, out, weights, tops)
        word_weights(weights, drops, matrix, roots)
        root = known_root(matrix, roots, False) if single else -1
        if root >= 0:
            settle_head(root, n, matrix, roots, True, False)
        total, only = -np.inf, single and root < 0
        for logs in (False, True):
            if total > -np.inf:
                break
            if logs:
                log_arc_weights(theta, L, tops, drops, weights)
                log_word_weights(weights, single, matrix, roots)
                only = single
            total = spanning_chances(
                matrix, roots, only, logs, levels, level_roots, ways, e, numbers, bounds, heads
            )  # fmt: skip
            if logs:
                weights[:, :] = 0.0
        if total == -np.inf:
            sums[i, 0] = total
            continue
        for c in range(n):
            chances[c, 0] = heads[c, n]
            for h in range(n):
                if h != c:
                    chances[c, h + 1 if h < c else h] = heads[c, h]
        share_out(theta, L, weights, chances, out)
        sums[i, 0], sums[i, 1] = total + drops.sum(), tops.sum()
        sums[i, 2] = expected_score(theta, tops, out)


# Draws ---------------------------------------------------------------------------------------------------------------


@inner
def log_arcs(theta: Floats, L: int, tops: Floats, drops: Floats, arcs: Floats) -> None:
    """Logarithms of weights of arcs, those of each word summing to one."""
    n = len(arcs)
    for c in range(n):
        tops[c] = log_total(theta[c * n * L : (c + 1) * n * L])
        tops[c] = tops[c] if tops[c] > -np.inf else 0.0
        drops[c] = 0.0
    log_arc_weights(theta, L, tops, drops, arcs)


@kernel
def sample_projective_trees(
    lo: int,
    hi: int,
    sizes: Longs,
    labels: Longs,
    offsets: Longs,
    words: Longs,
    values: Floats,
    single: bool,
    draws: int,
    seed: int,
    outputs: Ints,
) -> None:
    """Draws of projective trees, from the last root and the outermost arcs inwards; outputs: (draws, words)."""
    longest = longest_of(lo, hi, sizes)
    most = 1
    for i in range(lo, hi):
        most = max(most, labels[i])
    space, rows, vectors = np.empty(5 * longest * longest), np.empty(3 * longest + 3), np.empty((2, longest))
    stack, slots, chance = np.empty((longest, 3), np.int32), np.empty(longest, np.int32), np.empty(most)
    for i in range(lo, hi):
        n, L, theta = sizes[i], labels[i], values[offsets[i] : offsets[i + 1]]
        charts, vector = space[: 5 * n * n].reshape(5, n, n), rows[: 3 * n + 3].reshape(3, n + 1)
        log_arcs(theta, L, vectors[0, :n], vectors[1, :n], charts[4])
        log_chart(charts[4], single, charts, vector)
        stream = sequence_stream(seed, i)
        for d in range(draws):
            draw_tree(single, charts[:4], vector, stack, stream, slots)
            for c in range(n):
                first, s = (c * n + slots[c]) * L, slots[c]
                label = draw(theta[first : first + L], chance, stream)
                outputs[d, words[i] + c] = (s if s <= c else s + 1) * L + label


@kernel
def sample_spanning_trees(
    lo: int,
    hi: int,
    sizes: Longs,
    labels: Longs,
    offsets: Longs,
    words: Longs,
    values: Floats,
    single: bool,
    draws: int,
    seed: int,
    outputs: Ints,
) -> None:
    """Draws of trees whose arcs may cross; outputs: (draws, words)."""
    for i in range(lo, hi):
        n, L, theta = sizes[i], labels[i], values[offsets[i] : offsets[i + 1]]
        arcs, weights, matrix, logs = np.empty((n, n)), np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
        roots, log_roots, vectors = np.empty((2, n)), np.empty((2, n)), np.empty((2, n))
        log_arcs(theta, L, vectors[0], vectors[1], arcs)
        log_word_weights(arcs, single, logs, log_roots)
        word_weights(np.exp(arcs), vectors[0], matrix, roots)
        root = known_root(logs, log_roots, True) if single else -1
        if root >= 0:
            settle_head(root, n, matrix, roots, True, False)
            settle_head(root, n, logs, log_roots, True, True)
        one, one_log, one_roots, one_log_roots = weights, np.empty((n, n)), np.empty((2, n)), np.empty((2, n))
        level, level_roots, ways, e = np.empty((n, n)), np.empty((2, n)), np.empty((n, n + 2)), np.empty((2, n))
        order, bounds, slots = np.empty(n, np.int64), np.empty((n, 2), np.int64), np.empty(n, np.int32)
        chances, chance = np.empty(n + 1), np.empty(L)
        stream = sequence_stream(seed, i)
        for d in range(draws):
            copy_words(0, n, matrix, roots, one, one_roots)
            copy_words(0, n, logs, log_roots, one_log, one_log_roots)
            draw_spanning_tree(
                one, one_log, one_roots, one_log_roots, single and root < 0, level, level_roots, ways, e, order, bounds,
                chances, stream, slots,
            )  # fmt: skip
            for c in range(n):
                first, s = (c * n + slots[c]) * L, slots[c]
                label = draw(theta[first : first + L], chance, stream)
                outputs[d, words[i] + c] = (s if s <= c else s + 1) * L + label
