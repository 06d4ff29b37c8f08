"""Dependency trees that may cross, of one input: the best one, and sums over all of them.

Words are 0 to n - 1, and slots are those of `projective_trees`. The best tree is found by contracting cycles
(Chu & Liu 1965, Edmonds 1967) in n² steps. Where only one word may hang on the root, a word or a contracted cycle takes
an arc from the root only if it has no other: that is the same algorithm for scores that are compared by the number of
root arcs first, so it is exact (Zmigrod et al. 2020 discuss the problem).

Sums over trees are determinants of the Laplacian of the weights (Koo et al. 2007, Smith & Smith 2007). Differences in
elimination and in its inverse cancel where words prefer each other to the root, so words are eliminated here without
any subtraction (Grassmann, Taksar & Heyman 1985): with w[c, h] the weight of head h for word c,

    s = Σ_h w[x, h] over the heads h that are left      w[c, h] += w[c, x] w[x, h] / s      Z = Π s

which keeps all digits. With every word but c eliminated, e[h] is the weight of the ways from h to the root that avoid
c, and c has the head h with a probability in proportion to w[c, h] e[h]. To have every word as the last one in n³
steps, the words are halved again and again: one half is eliminated before the other half is gone through, and the
reverse. A single root is the limit of small weights of root arcs: these count only where nothing else is left.

All weights of a word sum to at most 1, so that Z is the probability that heads drawn word by word make a tree. What
underflows in a sum is below 1e-307, so that a Z of at least FLOOR is exact; else all is done with logarithms.
"""

import numpy as np

from .chain import random_unit
from .compiling import Floats, Ints, Longs, Stream, inner, ordered_inner
from .projective_trees import log_total

FLOOR = 1e-250
# States of the words on the way to the root.
_NEW, _ON_PATH, _DONE = 0, 1, 2


@ordered_inner
def slot_of(child: int, head: int) -> int:
    """The slot of a head of a word, where heads are 0 for the root and 1 + word."""
    return head if head <= child else head - 1


@ordered_inner
def spread(arcs: Floats, matrix: Floats, heads: Ints, children: Ints) -> None:
    """Writes scores by (head, child), both counted from the root as 0, and which arc each of them is."""
    n = len(arcs)
    for h in range(n + 1):
        for c in range(n):
            matrix[h, c + 1] = arcs[c, slot_of(c, h)] if h != c + 1 else -np.inf
            heads[h, c + 1], children[h, c + 1] = h, c


@ordered_inner
def best_head(node: int, matrix: Floats, alive: Ints, single: bool) -> int:
    """The best head of a node among those that are left, -1 if there is none; the root last if only one may use it."""
    best, head = -np.inf, -1
    for u in range(1 if single else 0, len(alive)):
        if alive[u] and u != node and matrix[u, node] > best:
            best, head = matrix[u, node], u
    if single and head < 0 and matrix[0, node] > -np.inf:
        head = 0
    return head


@ordered_inner
def contract(cycle: Ints, chosen: Ints, matrix: Floats, heads: Ints, children: Ints, alive: Ints) -> None:
    """Makes the nodes of a cycle one, in the place of the last of them.

    An arc into the cycle takes the place of the cycle's own arc to where it ends, which it is charged for.
    """
    place = cycle[-1]
    for node in cycle:
        alive[node] = 0
    for x in range(len(alive)):
        if not alive[x]:
            continue
        into, out = -np.inf, -np.inf
        into_head, into_child, out_head, out_child = 0, 0, 0, 0
        for node in cycle:
            v = matrix[x, node] - matrix[chosen[node], node]
            if v > into:
                into, into_head, into_child = v, heads[x, node], children[x, node]
            v = matrix[node, x]
            if x > 0 and v > out:
                out, out_head, out_child = v, heads[node, x], children[node, x]
        matrix[x, place], heads[x, place], children[x, place] = into, into_head, into_child
        if x > 0:
            matrix[place, x], heads[place, x], children[place, x] = out, out_head, out_child
    alive[place] = 1


@ordered_inner
def best_spanning_tree(arcs: Floats, single: bool, matrix: Floats, table: Ints, rows: Ints, slots: Ints) -> bool:
    """Writes the head slots of the best tree and returns whether there is one.

    matrix: (n + 1, n + 1), table: (2, n + 1, n + 1) and rows: (9, 2 n + 1) are workspaces. A path of best heads is
    followed from each word in turn, and whenever it meets itself that cycle is contracted.
    """
    n = len(arcs)
    heads, children = table[0], table[1]
    alive, state, chosen, path, name = rows[0, : n + 1], rows[1], rows[2], rows[3], rows[4]
    parent, from_head, to_child, cycle = rows[5], rows[6], rows[7], rows[8]
    spread(arcs, matrix, heads, children)
    for v in range(n + 1):
        alive[v], state[v], name[v] = 1, _NEW, v
    parent[:] = -1
    state[0], names = _DONE, n + 1
    for start in range(1, n + 1):
        if not alive[start] or state[start] != _NEW:
            continue
        node, length = start, 0
        while True:
            head = best_head(node, matrix, alive, single)
            if head < 0:
                return False
            chosen[node], path[length], state[node] = head, node, _ON_PATH
            from_head[name[node]], to_child[name[node]] = heads[head, node], children[head, node]
            length += 1
            if state[head] == _DONE:
                break
            if state[head] == _NEW:
                node = head
                continue
            size = 0
            while size == 0 or cycle[size - 1] != head:
                length -= 1
                cycle[size] = path[length]
                parent[name[path[length]]] = names
                size += 1
            contract(cycle[:size], chosen, matrix, heads, children, alive)
            name[head], state[head], node = names, _NEW, head
            names += 1
        for k in range(length):
            state[path[k]] = _DONE
    return expand(n, names, parent, from_head, to_child, single, slots)


@ordered_inner
def expand(n: int, names: int, parent: Ints, from_head: Ints, to_child: Ints, single: bool, slots: Ints) -> bool:
    """Opens contracted cycles, the last one first; returns whether no more words hang on the root than may."""
    for cycle in range(names - 1, n, -1):
        node = to_child[cycle] + 1
        while parent[node] != cycle:
            node = parent[node]
        from_head[node], to_child[node] = from_head[cycle], to_child[cycle]
    roots = 0
    for c in range(n):
        slots[c] = slot_of(c, from_head[c + 1])
        roots += slots[c] == 0
    return roots == 1 or not single


# Sums over trees -----------------------------------------------------------------------------------------------------


@inner
def eliminate(x: int, first: int, last: int, w: Floats, roots: Floats, single: bool, ways: Floats) -> tuple[float, int]:
    """Eliminates word x while words first to last - 1 are left, and returns the logarithm of s, NaN if it vanishes.

    w: (n, n) and roots: (2, n), whose second row is not used. ways[x]: (n + 2,) becomes the shares of these words
    among the heads of x, and at place n of the root; with a single root that share is relative to its small weight.
    """
    n = len(w)
    row, to_root = ways[x], roots[0]
    total = 0.0 if single else to_root[x]
    for j in range(first, last):
        total += w[x, j]
    if not total > 0.0:
        return np.nan, 0
    for j in range(first, last):
        row[j] = w[x, j] / total
    row[n] = to_root[x] / total
    for i in range(first, last):
        share = w[i, x]
        if share > 0.0:
            for j in range(first, last):
                w[i, j] += share * row[j]
            to_root[i] += share * row[n]
            w[i, i] = 0.0
    return np.log(total), 0


@inner
def log_add(a: float, b: float) -> float:
    """log(exp(a) + exp(b))."""
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + np.log1p(np.exp(b - a))


@inner
def log_eliminate(x: int, first: int, last: int, w: Floats, roots: Floats, ways: Floats) -> tuple[float, int]:
    """`eliminate` with logarithms; returns that of s, and 1 if s is of the order of a single root's small weight.

    roots[1] are the logarithms of weights in units of that small weight, and roots[0] those of usual weights, for words
    that reach the root through one that has no other head left. Shares of these are at the places n + 1 and n of ways.
    """
    n = len(w)
    row = ways[x]
    total = roots[0, x]
    for j in range(first, last):
        total = log_add(total, w[x, j])
    order = 0
    if total == -np.inf:
        total, order = roots[1, x], 1
        row[first:last] = -np.inf
        row[n], row[n + 1] = 0.0, -np.inf
        if total == -np.inf:
            return total, order
    else:
        for j in range(first, last):
            row[j] = w[x, j] - total
        row[n], row[n + 1] = roots[0, x] - total, roots[1, x] - total
    for i in range(first, last):
        share = w[i, x]
        if share > -np.inf:
            for j in range(first, last):
                w[i, j] = log_add(w[i, j], share + row[j])
            roots[0, i] = log_add(roots[0, i], share + row[n])
            roots[1, i] = log_add(roots[1, i], share + row[n + 1])
            w[i, i] = -np.inf
    return total, order


@inner
def chances_of(
    c: int, count: int, order: Longs, bounds: Longs, w: Floats, roots: Floats, ways: Floats, e: Floats, out: Floats
) -> None:
    """Writes the chances of the heads of c, the root's at place n, when all other words have been eliminated in order.

    w and roots are the weights before; bounds: (n, 2) the words that were left behind each; e: (2, n) is a workspace.
    """
    n = len(w)
    reach = e[0]
    reach[c] = 0.0
    for place in range(count - 1, -1, -1):
        x = order[place]
        row = ways[x]
        value = row[n]
        for j in range(bounds[x, 0], bounds[x, 1]):
            value += row[j] * reach[j]
        reach[x] = value
    total = roots[0, c]
    for h in range(n):
        total += w[c, h] * reach[h]
    for h in range(n):
        out[h] = w[c, h] * reach[h] / total
    out[n] = roots[0, c] / total


@inner
def log_chances_of(
    c: int, count: int, order: Longs, bounds: Longs, w: Floats, roots: Floats, ways: Floats, e: Floats, out: Floats
) -> None:
    """`chances_of` with logarithms; weights in units of the small one count only if there are no others."""
    n = len(w)
    for kind in range(2):
        reach = e[kind]
        reach[c] = -np.inf
        for place in range(count - 1, -1, -1):
            x = order[place]
            row = ways[x]
            value = row[n + kind]
            for j in range(bounds[x, 0], bounds[x, 1]):
                value = log_add(value, row[j] + reach[j])
            reach[x] = value
        for h in range(n):
            out[h] = w[c, h] + reach[h]
        out[n] = roots[kind, c]
        total = log_total(out)
        if total > -np.inf:
            break
    for h in range(n + 1):
        out[h] = np.exp(out[h] - total)


@inner
def verdict(log_sum: float, order: int, single: bool, logs: bool) -> float:
    """The logarithm of a sum over trees, -inf if there is no tree with as many roots as may be, NaN if it is not
    exact.
    """
    if logs:
        return log_sum if order == (1 if single else 0) else -np.inf
    return log_sum if np.log(FLOOR) <= log_sum < np.inf else np.nan


@inner
def copy_words(first: int, last: int, w: Floats, roots: Floats, to: Floats, to_roots: Floats) -> None:
    """Weights among words first to last - 1, and those of the root."""
    for i in range(first, last):
        to_roots[0, i], to_roots[1, i] = roots[0, i], roots[1, i]
        for j in range(first, last):
            to[i, j] = w[i, j]


@inner
def spanning_chances(
    w: Floats,
    roots: Floats,
    single: bool,
    logs: bool,
    levels: Floats,
    level_roots: Floats,
    ways: Floats,
    e: Floats,
    rows: Longs,
    bounds: Longs,
    out: Floats,
) -> float:
    """Writes the chances of heads, (n, n + 1) with the root at place n, and returns the logarithm of the sum.

    w: (n, n) weights of heads that are words, by rows of children; roots: (2, n), see `eliminate`; or with `logs`
    their logarithms. Without these, NaN is returned where the sum is not exact. levels: (depth, n, n), level_roots:
    (depth, 2, n), ways: (n, n + 2), e: (2, n), rows: (5, n) and bounds: (n, 2) are workspaces.
    """
    n = len(w)
    order, firsts, lasts, stage, done = rows[0], rows[1], rows[2], rows[3], rows[4]
    log_sum, orders = 0.0, 0
    copy_words(0, n, w, roots, levels[0], level_roots[0])
    depth, firsts[0], lasts[0], stage[0], done[0] = 0, 0, n, 0, 0
    while depth >= 0:
        first, last, count = firsts[depth], lasts[depth], done[depth]
        stage[depth] += 1
        if last - first == 1:
            if first == 0:  # every order of elimination gives the same sum: the first one is taken
                value, more = last_pivot(0, level_roots[depth], logs)
                log_sum = verdict(log_sum + value, orders + more, single, logs)
                if not log_sum > -np.inf:
                    return log_sum
            if logs:
                log_chances_of(first, count, order, bounds, w, roots, ways, e, out[first])
            else:
                chances_of(first, count, order, bounds, w, roots, ways, e, out[first])
        if last - first == 1 or stage[depth] > 2:
            depth -= 1
            continue
        middle = (first + last) // 2
        below, below_roots = levels[depth + 1], level_roots[depth + 1]
        copy_words(first, last, levels[depth], level_roots[depth], below, below_roots)
        value, more = eliminate_half(
            first, middle, last, stage[depth] == 1, below, below_roots, single, logs, ways, order, bounds, count
        )
        if not value > -np.inf:
            return value
        if first == 0 and stage[depth] == 1:
            log_sum += value
            orders += more
        depth += 1
        stage[depth] = 0
        if stage[depth - 1] == 1:
            firsts[depth], lasts[depth], done[depth] = first, middle, count + last - middle
        else:
            firsts[depth], lasts[depth], done[depth] = middle, last, count + middle - first
    return log_sum


@inner
def last_pivot(c: int, roots: Floats, logs: bool) -> tuple[float, int]:
    """The logarithm of what is left of the last word's weight, all of it the root's, and its order."""
    if not logs:
        return np.log(roots[0, c]), 0
    if roots[0, c] > -np.inf:
        return roots[0, c], 0
    return roots[1, c], 1


@inner
def eliminate_half(
    first: int,
    middle: int,
    last: int,
    upper: bool,
    w: Floats,
    roots: Floats,
    single: bool,
    logs: bool,
    ways: Floats,
    order: Longs,
    bounds: Longs,
    count: int,
) -> tuple[float, int]:
    """Eliminates the upper half of words first to last - 1, from the end, or the lower half, from the beginning.

    Returns the logarithm of the product of all s, and of what order it is.
    """
    log_sum, orders = 0.0, 0
    for step in range(last - middle if upper else middle - first):
        x = last - 1 - step if upper else first + step
        a, b = (first, x) if upper else (x + 1, last)
        if logs:
            value, more = log_eliminate(x, a, b, w, roots, ways)
        else:
            value, more = eliminate(x, a, b, w, roots, single, ways)
        if not value > -np.inf:
            return value, more
        order[count + step], bounds[x, 0], bounds[x, 1] = x, a, b
        log_sum += value
        orders += more
    return log_sum, orders


@inner
def settle_head(c: int, h: int, w: Floats, roots: Floats, single: bool, logs: bool) -> None:
    """Leaves one head to word c, the root at place n, and if that is to be single it is taken from all others."""
    n = len(w)
    nothing, one = (-np.inf, 0.0) if logs else (0.0, 1.0)
    w[c, :] = nothing
    if single and h == n:
        roots[:, :] = nothing
    roots[:, c] = nothing
    if h == n:
        roots[0, c] = one
    else:
        w[c, h] = one


@inner
def known_root(w: Floats, roots: Floats, logs: bool) -> int:
    """The first word without any head but the root, as where heads are known in part; -1 if every word has others.

    If there is to be a single root, this is it. With `settle_head` it is one of several that may be, so that no small
    weights are needed, which only logarithms can tell from others.
    """
    n, nothing = len(w), -np.inf if logs else 0.0
    for c in range(n):
        h = 0
        while h < n and not w[c, h] > nothing:
            h += 1
        if h == n and (roots[0, c] > nothing or roots[1, c] > nothing):
            return c
    return -1


# Draws ---------------------------------------------------------------------------------------------------------------


@inner
def head_chances(
    c: int,
    w: Floats,
    roots: Floats,
    single: bool,
    logs: bool,
    level: Floats,
    level_roots: Floats,
    ways: Floats,
    e: Floats,
    order: Longs,
    bounds: Longs,
    out: Floats,
) -> float:
    """`spanning_chances` of one word alone; level: (n, n) and level_roots: (2, n) are workspaces."""
    n = len(w)
    copy_words(0, n, w, roots, level, level_roots)
    log_sum, orders = 0.0, 0
    for upper in (True, False):  # the words behind c, then those before it
        middle, last, count = (c + 1, n, 0) if upper else (c, c + 1, n - 1 - c)
        value, more = eliminate_half(
            0, middle, last, upper, level, level_roots, single, logs, ways, order, bounds, count
        )  # fmt: skip
        if not value > -np.inf:
            return value
        log_sum += value
        orders += more
    value, more = last_pivot(c, level_roots, logs)
    log_sum = verdict(log_sum + value, orders + more, single, logs)
    if log_sum > -np.inf:
        if logs:
            log_chances_of(c, n - 1, order, bounds, w, roots, ways, e, out)
        else:
            chances_of(c, n - 1, order, bounds, w, roots, ways, e, out)
    return log_sum


@inner
def draw_spanning_tree(
    weights: Floats,
    log_weights: Floats,
    weight_roots: Floats,
    log_roots: Floats,
    single: bool,
    level: Floats,
    level_roots: Floats,
    ways: Floats,
    e: Floats,
    order: Longs,
    bounds: Longs,
    chances: Floats,
    stream: Stream,
    slots: Ints,
) -> bool:
    """Writes the head slots of a tree that is drawn word by word, each given those before it; False if there is none.

    All weights, (n, n) and (2, n), are changed. Once a single root is drawn it is one of several that may be.
    """
    n = len(weights)
    for c in range(n):
        total = -np.inf
        for logs in (False, True):
            w, roots = (log_weights, log_roots) if logs else (weights, weight_roots)
            if not total > -np.inf:
                total = head_chances(c, w, roots, single, logs, level, level_roots, ways, e, order, bounds, chances)
        if not total > -np.inf:
            return False
        left, head = random_unit(stream), n
        for h in range(n + 1):
            if chances[h] > 0.0:
                head = h
                left -= chances[h]
                if left < 0.0:
                    break
        slots[c] = 0 if head == n else slot_of(c, head + 1)
        for logs in (False, True):
            w, roots = (log_weights, log_roots) if logs else (weights, weight_roots)
            settle_head(c, head, w, roots, single, logs)
        single = single and head < n
    return True
