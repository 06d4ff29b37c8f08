"""Matchings with deletions over batches stored flat: the assignment problem, by shortest augmenting paths.

Every left item i is linked to a right item j at the score w[i, j] or deleted at left[i], and every right item that is
not linked is deleted at right[j]. The dual problem has a price for every item,

    min Σ u[i] + Σ v[j]    where  u[i] + v[j] >= w[i, j],  u[i] >= left[i],  v[j] >= right[j],

and an output is best if its links and deletions are tight. So deletions need no rows and columns of their own. Left
items come in one after the other, each by the shortest path over reduced scores u[i] + v[j] - w[i, j] to a right item
without a link, or to a left item that is then deleted (Jonker & Volgenant 1987, without their start; Crouse 2016).

A right item without a link should have the price right[j]. Where it is likely to be linked, or that price is -inf, or
so low that other scores would lose their digits beside it, its first price is its best link, and if it has no link in
the end it comes in then, by the same paths from the other side. What is there is optimal after every item, so a score
that the best output has no use for, however low, never becomes a part of a price.
"""

import numpy as np

from .compiling import Flags, Floats, Ints, Longs, ordered, ordered_inner

# Prices are sums and differences of scores of up to all items, and beyond this could be no numbers.
LARGEST = 4e307
# A deletion that is worse than the best link by this many times its size is no price to begin with, since it would cost
# other prices their digits.
FAR = 1e3


@ordered_inner
def join(j: int, start: int, back: Longs, mates: Longs, others: Longs) -> None:
    """Links j to the item that it was reached from, whose mate so far goes to the one before, up to the start."""
    while True:
        i = back[j]
        after = mates[i]
        mates[i], others[j] = j, i
        if i == start:
            break
        j = after


@ordered_inner
def insert(
    start: int,
    w: Floats,
    across: int,
    along: int,
    deletion: Floats,
    u: Floats,
    v: Floats,
    mates: Longs,
    others: Longs,
    distance: Floats,
    back: Longs,
    done: Flags,
) -> bool:
    """An item comes in; whether there is a matching with it.

    w: the score of items i of this and j of the other side at i * across + j * along; deletion: (this side,); u, v:
    prices of this and the other side; mates, others: to whom items are linked, or -1. The rest are workspaces of the
    size of the other side.
    """
    high, place = deletion[start], -1
    for j in range(len(v)):
        gain = w[start * across + j * along] - v[j]
        if gain > high:
            high, place = gain, j
    u[start], mates[start] = high, -1
    if place == -1:
        return bool(high > -np.inf)
    if others[place] == -1:
        mates[start], others[place] = place, start
        return True
    distance[:] = np.inf
    done[:] = False
    i, here, end, deleted, free = start, 0.0, np.inf, -1, -1
    while True:
        if here + (u[i] - deletion[i]) < end:
            end, deleted = here + (u[i] - deletion[i]), i
        low, place = np.inf, -1
        for j in range(len(v)):
            if done[j]:
                continue
            there = here + ((u[i] + v[j]) - w[i * across + j * along])
            if there < distance[j]:
                distance[j], back[j] = there, i
            if distance[j] < low:
                low, place = distance[j], j
        if not low < end:
            break
        if others[place] == -1:
            end, free = low, place
            break
        done[place] = True
        i, here = others[place], low
    if end == np.inf:
        return False
    u[start] -= end
    for j in range(len(v)):
        if done[j]:
            v[j] += end - distance[j]
            u[others[j]] -= end - distance[j]
    if free == -1:
        free = mates[deleted]
        u[deleted], mates[deleted] = deletion[deleted], -1
    if free != -1:
        join(free, start, back, mates, others)
    return True


@ordered_inner
def first_prices(w: Floats, n: int, m: int, left: Floats, right: Floats, v: Floats, late: Flags) -> None:
    """Prices of right items before there are links, none below its deletion, and which of them come in at the end."""
    top = -np.inf
    for i in range(n):
        top = max(top, left[i])
    for j in range(m):
        high = -np.inf
        for i in range(n):
            high = max(high, w[i * m + j])
        late[j] = right[j] < high and (right[j] + top < high or right[j] < high - FAR * abs(high))
        v[j] = high if late[j] else right[j]


@ordered_inner
def match(w: Floats, n: int, m: int, left: Floats, right: Floats, mates: Longs) -> bool:
    """The best matching of one input into mates, -1 for left items that are deleted; whether there is one."""
    u, v, late = np.empty(n), np.empty(m), np.empty(m, np.bool_)
    others, back = np.full(m, -1), np.empty(max(n, m), np.int64)
    distance, done = np.empty(max(n, m)), np.empty(max(n, m), np.bool_)
    first_prices(w, n, m, left, right, v, late)
    for j in range(m):
        if v[j] == -np.inf:
            return False
    for i in range(n):
        if not insert(i, w, m, 1, left, u, v, mates, others, distance[:m], back, done[:m]):
            return False
    for j in range(m):
        late_here = late[j] and others[j] == -1
        if late_here and not insert(j, w, 1, m, right, v, u, others, mates, distance[:n], back, done[:n]):
            return False
    return True


@ordered_inner
def best_labels(theta: Floats, L: int, w: Floats) -> None:
    """The score of the best label of every link."""
    for p in range(len(w)):
        w[p] = theta[p * L]
        for c in range(1, L):
            w[p] = max(w[p], theta[p * L + c])


@ordered_inner
def write(theta: Floats, n: int, m: int, L: int, w: Floats, mates: Longs, output: Ints) -> float:
    """Writes an output, each link with the first of its best labels; returns its score."""
    total, linked = 0.0, np.zeros(m, np.bool_)
    for i in range(n):
        j = mates[i]
        if j == -1:
            output[i] = m * L
            total += theta[n * m * L + i]
            continue
        c = 0
        while theta[(i * m + j) * L + c] < w[i * m + j]:
            c += 1
        output[i], linked[j] = j * L + c, True
        total += w[i * m + j]
    for j in range(m):
        if not linked[j]:
            total += theta[n * m * L + n + j]
    return total


@ordered_inner
def solve(theta: Floats, n: int, m: int, L: int, output: Ints) -> float:
    """Writes the best matching of one input and returns its score, -inf where there is none."""
    links, w, mates = n * m * L, np.empty(n * m), np.empty(n, np.int64)
    best_labels(theta, L, w)
    if not match(w, n, m, theta[links : links + n], theta[links + n :], mates):
        return -np.inf
    return write(theta, n, m, L, w, mates, output)


@ordered_inner
def force(theta: Floats, n: int, m: int, L: int, i: int, p: int) -> None:
    """Forbids whatever shares an item with what becomes of left item i, the number p of an output."""
    links = n * m * L
    for q in range(m * L):
        if q != p:
            theta[i * m * L + q] = -np.inf
    if p == m * L:
        return
    j = p // L
    theta[links + i] = -np.inf
    theta[links + n + j] = -np.inf
    for h in range(n):
        if h != i:
            theta[(h * m + j) * L : (h * m + j + 1) * L] = -np.inf


@ordered_inner
def extreme(score: Floats, number: Longs, least: bool) -> int:
    """The place of the best or the worst score, of equal ones the one that came first or last."""
    place = 0
    for p in range(1, len(score)):
        better = score[p] > score[place] or (score[p] == score[place] and number[p] < number[place])
        if better != least:
            place = p
    return place


@ordered_inner
def rank_matchings(theta: Floats, n: int, m: int, L: int, outputs: Ints, best: Floats) -> None:
    """The k best matchings of one input (Murty 1968).

    Outputs other than the best one are parted by the first left item of which another thing becomes. Each share has a
    best output, and the best of these is the next one; only as many shares are kept as there are places.
    """
    k, now, count = len(best), 0, 1
    score, number = np.full(k, -np.inf), np.zeros(k, np.int64)
    share, fixed = np.empty((k, len(theta))), np.zeros((k, n), np.bool_)
    found, output, known = np.empty((k, n), np.int32), np.empty(n, np.int32), np.empty(n, np.bool_)
    left, without = np.empty(len(theta)), np.empty(len(theta))
    for q in range(len(theta)):
        share[0, q] = theta[q]
    score[0] = solve(theta, n, m, L, found[0])
    for r in range(k):
        now = extreme(score, number, False)
        best[r] = score[now]
        for i in range(n):
            outputs[r, i] = found[now, i] if score[now] > -np.inf else -1
        if score[now] == -np.inf:
            continue
        score[now] = -np.inf
        if r == k - 1:
            break
        for q in range(len(theta)):
            left[q] = share[now, q]
        for i in range(n):
            known[i] = fixed[now, i]
        for i in range(n):
            if known[i]:
                continue
            p = outputs[r, i]
            part = n * m * L + i if p == m * L else i * m * L + p
            for q in range(len(theta)):
                without[q] = left[q]
            without[part] = -np.inf
            value = solve(without, n, m, L, output)
            place = extreme(score, number, True)
            if value > score[place]:
                score[place], number[place] = value, count
                for q in range(len(theta)):
                    share[place, q] = without[q]
                for h in range(n):
                    found[place, h], fixed[place, h] = output[h], known[h]
                count += 1
            force(left, n, m, L, i, p)
            known[i] = True


@ordered
def best_matchings(
    lo: int, hi: int, offsets: Longs, shapes: Longs, theta: Floats, slots: Longs, outputs: Ints, best: Floats
) -> None:
    """The k best matchings of inputs lo to hi.

    outputs: (k, slots) and best: (inputs, k), -1 and -inf where there are fewer; NaN where scores are too large.
    """
    for x in range(lo, hi):
        n, m, L = shapes[x, 0], shapes[x, 1], shapes[x, 2]
        scores, fits = theta[offsets[x] : offsets[x + 1]], True
        for value in scores:
            if abs(value) > LARGEST / (n + m) and value > -np.inf:
                fits = False
        if fits:
            rank_matchings(scores, n, m, L, outputs[:, slots[x] : slots[x + 1]], best[x])
        else:
            best[x] = np.nan


@ordered_inner
def mark(output: Ints, n: int, m: int, L: int, on: Floats) -> bool:
    """Sets the parts of an output to one; whether it is an output. One that is not known, all -1, has no parts."""
    if (output == -1).all():
        return True
    links = n * m * L
    on[links + n :] = 1.0
    for i in range(n):
        p = output[i]
        if p < 0 or p > m * L:
            return False
        if p == m * L:
            on[links + i] = 1.0
            continue
        if on[links + n + p // L] == 0.0:
            return False
        on[links + n + p // L] = 0.0
        on[i * m * L + p] = 1.0
    return True


@ordered
def mark_matchings(lo: int, hi: int, offsets: Longs, shapes: Longs, slots: Longs, outputs: Ints, on: Floats) -> int:
    """Sets the parts of the outputs of inputs lo to hi to one; returns the first input whose output is none, or -1."""
    for x in range(lo, hi):
        n, m, L = shapes[x, 0], shapes[x, 1], shapes[x, 2]
        if not mark(outputs[slots[x] : slots[x + 1]], n, m, L, on[offsets[x] : offsets[x + 1]]):
            return x
    return -1
