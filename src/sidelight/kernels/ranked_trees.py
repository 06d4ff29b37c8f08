"""The k best dependency trees by partition (Lawler 1972).

The trees other than the best one are parted by the first word whose arc is another: words before it keep their arcs,
its own arc is banned, and words behind it are free. Each share has its best tree, and the best of these is the next
one, whose share is parted in the same way. With n words that takes about k n calls for the best tree.
"""

import numpy as np

from .compiling import Flags, Floats, Ints, Longs, kernel, ordered_inner
from .projective_trees import best_tree
from .spanning_trees import best_spanning_tree
from .trees import LARGEST, SMALLER, best_arcs, greatest, top_of


@ordered_inner
def best_slots(arcs: Floats, projective: bool, single: bool, space: Floats, integers: Ints, slots: Ints) -> bool:
    """Writes the head slots of the best tree and returns whether there is one.

    space: 5 (n + 1)² numbers and integers: 2 (n + 1)² + 18 (n + 1) are workspaces.
    """
    n = len(arcs)
    N, square = n + 1, n * n
    if projective:
        rows = space[4 * square : 4 * square + 2 * N].reshape(2, N)
        stack = integers[: 3 * n].reshape(n, 3)
        return best_tree(arcs, single, space[: 4 * square].reshape(4, n, n), rows, stack, slots) > -np.inf
    table = integers[: 2 * N * N].reshape(2, N, N)
    rest = integers[2 * N * N : 2 * N * N + 9 * (N + n)].reshape(9, N + n)
    return best_spanning_tree(arcs, single, space[: N * N].reshape(N, N), table, rest, slots)


@ordered_inner
def share_arcs(
    base: Floats, theta: Floats, L: int, factor: float, q: int, kept: Ints, banned: Flags, arcs: Floats
) -> None:
    """The arcs of a share: words before q keep theirs, those of q whose parts are banned are left out."""
    n = len(base)
    for c in range(n):
        for s in range(n):
            arcs[c, s] = base[c, s] if c > q else -np.inf
        if c < q:
            arcs[c, kept[c] // L] = 0.0
    top = factor * top_of(theta[q * n * L : (q + 1) * n * L])
    for p in range(n * L):
        v = factor * theta[q * n * L + p] - top
        if not banned[p] and v > arcs[q, p // L]:
            arcs[q, p // L] = v


@ordered_inner
def write_parts(
    theta: Floats, L: int, factor: float, q: int, kept: Ints, banned: Flags, slots: Ints, parts: Ints
) -> float:
    """Writes slot * L + label of each word and returns the score, less the largest of each word."""
    n = len(slots)
    total = 0.0
    for c in range(n):
        word = theta[c * n * L : (c + 1) * n * L]
        best = kept[c] if c < q else -1
        if c >= q:
            for p in range(slots[c] * L, (slots[c] + 1) * L):
                if (c > q or not banned[p]) and (best < 0 or word[p] > word[best]):
                    best = p
        parts[c] = best
        total += factor * word[best] - factor * top_of(word)
    return total


@ordered_inner
def rank_trees(
    theta: Floats,
    L: int,
    factor: float,
    projective: bool,
    single: bool,
    pool: Ints,
    values: Floats,
    free: Ints,
    more: Ints,
    banned: Flags,
    arcs: Floats,
    space: Floats,
    integers: Ints,
    chosen: Ints,
) -> int:
    """Writes which trees of the pool are the best ones, best first, and returns how many.

    pool: (1 + k n, n) trees as slot * L + label, values: their scores, free: the first word of each that its share
    leaves free, more: the tree whose part at that word is banned as well, or -1; banned: (n L,) all False; arcs:
    (2, n, n); chosen: (k,).
    """
    n, k, count, found = arcs.shape[1], len(chosen), 0, 0
    base, work, slots = arcs[0], arcs[1], integers[:n]
    best_arcs(theta, L, factor, base)
    if best_slots(base, projective, single, space, integers[n:], slots):
        values[0] = write_parts(theta, L, factor, 0, slots, banned, slots, pool[0])
        free[0], more[0], count = 0, -1, 1
    while found < k:
        top = -1
        for one in range(count):
            if values[one] > -np.inf and (top < 0 or values[one] > values[top]):
                top = one
        if top < 0:
            break
        chosen[found] = top
        values[top] = -np.inf
        found += 1
        if found == k:
            break
        for q in range(free[top], n):
            # Parts are banned at q: the tree's own one and, if it was free from q on, those banned in its share.
            one = top
            while one >= 0:
                banned[pool[one, q]] = True
                one = more[one] if free[one] == q else -1
            share_arcs(base, theta, L, factor, q, pool[top], banned, work)
            if best_slots(work, projective, single, space, integers[n:], slots):
                values[count] = write_parts(theta, L, factor, q, pool[top], banned, slots, pool[count])
                free[count], more[count] = q, top
                count += 1
            banned[:] = False
    return found


@kernel
def k_best_trees(
    lo: int,
    hi: int,
    sizes: Longs,
    labels: Longs,
    offsets: Longs,
    words: Longs,
    scores: Floats,
    projective: bool,
    single: bool,
    outputs: Ints,
    ranked: Floats,
) -> None:
    """The k best trees of inputs lo to hi; outputs: (k, words), ranked: (inputs, k), both filled with -1 and -inf."""
    k = len(outputs)
    for i in range(lo, hi):
        n, L, theta = sizes[i], labels[i], scores[offsets[i] : offsets[i + 1]]
        size = greatest(theta)
        if not size < np.inf:
            ranked[i, 0] = np.nan
            continue
        N, most = n + 1, 1 + k * n
        pool, values, chosen = np.empty((most, n), np.int32), np.empty(most), np.empty(k, np.int32)
        free, more = np.empty(most, np.int32), np.empty(most, np.int32)
        found = rank_trees(
            theta, L, SMALLER if size > LARGEST else 1.0, projective, single, pool, values, free, more,
            np.zeros(n * L, np.bool_), np.empty((2, n, n)), np.empty(5 * N * N),
            np.empty(2 * N * N + 19 * N, np.int32), chosen,
        )  # fmt: skip
        for rank in range(found):
            total = 0.0
            for c in range(n):
                part = pool[chosen[rank], c]
                total += theta[c * n * L + part]
                outputs[rank, words[i] + c] = part + L if part // L > c else part
            ranked[i, rank] = total
