"""Projective dependency trees: Eisner's recursion over one input, for the best tree and for sums over all trees.

Words are 0 to n - 1, and `arcs[c, s]` belongs to word c and its head in slot s: slot 0 is the root, slot s the word
s - 1 where that lies before c and the word s where it lies behind. A chart has an entry for every pair i <= j of words:

    right[i, j]    i heads all of i..j, directly or through others             left[i, j]     j heads all of i..j
    onward[i, j]   the same where the last arc that was added is i -> j        back[i, j]     with the arc j -> i
    inner[i, j]    the best or the sum over k of right[i, k] and left[k + 1, j]

Rows are filled from the last word to the first one. An entry that is complete is pushed to the entries behind it in the
same row, so that every inner loop runs along rows of the charts. The root is joined at the end, in n² steps.
"""

import numpy as np

from .chain import draw
from .compiling import Floats, Ints, Stream, inner, ordered_inner

# Sums of products below this may have lost what underflows in them: they are done again with logarithms.
FLOOR = 1e-250
# There are about 6.75^n projective trees of n words: with weights of at most 1 / 8 no sum over trees is large.
GROWTH = 8.0
# Kinds of chart entries, for the way back.
_RIGHT, _LEFT = 0, 1


@ordered_inner
def best_chart(arcs: Floats, right: Floats, left: Floats, onward: Floats, back: Floats, row: Floats) -> None:
    """Fills the charts (n, n) with the scores of best subtrees; row: (n,) is a workspace."""
    n = len(arcs)
    for i in range(n - 1, -1, -1):
        ahead, behind = right[i], left[i]
        for j in range(i, n):
            ahead[j] = behind[j] = -np.inf
            row[j] = left[i + 1, j] if j > i else -np.inf
        ahead[i] = behind[i] = 0.0
        for k in range(i + 1, n):
            there, here = row[k] + arcs[k, i + 1], row[k] + arcs[i, k]
            onward[i, k], back[i, k] = there, here
            a = ahead[k] = max(ahead[k], there)
            b = behind[k] = max(behind[k], here)
            if k + 1 == n:
                break
            first, second, third = left[k + 1], back[k], right[k]
            for j in range(k + 1, n):
                x, y, z = a + first[j], b + second[j], there + third[j]
                row[j] = x if x > row[j] else row[j]
                behind[j] = y if y > behind[j] else behind[j]
                ahead[j] = z if z > ahead[j] else ahead[j]


@ordered_inner
def best_roots(arcs: Floats, right: Floats, left: Floats, single: bool, prefix: Floats, last: Floats) -> float:
    """The score of the best tree.

    prefix[j]: (n + 1,) the best forest of the first j words; last[r]: (n,) the best one up to r whose last root is r.
    With a single root there is no forest before the root.
    """
    n = len(arcs)
    prefix[0] = 0.0
    for r in range(n):
        last[r] = left[0, r]
        if not single:
            for k in range(1, r + 1):
                last[r] = max(last[r], prefix[k] + left[k, r])
        last[r] += arcs[r, 0]
        prefix[r + 1] = -np.inf
        for k in range(r + 1):
            prefix[r + 1] = max(prefix[r + 1], last[k] + right[k, r])
    best: float = prefix[n]
    return best


@ordered_inner
def push(kind: int, i: int, j: int, top: int, stack: Ints) -> int:
    """Puts an entry of the charts on the stack, unless it is a word alone; returns how many are there."""
    if i == j:
        return top
    stack[top, 0], stack[top, 1], stack[top, 2] = kind, i, j
    return top + 1


@ordered_inner
def follow(
    kind: int, i: int, j: int, right: Floats, left: Floats, onward: Floats, back: Floats, stack: Ints, slots: Ints
) -> None:
    """Writes the head slots of the best subtree that an entry of the charts stands for; stack: (n, 3)."""
    top = push(kind, i, j, 0, stack)
    while top > 0:
        top -= 1
        kind, i, j = stack[top, 0], stack[top, 1], stack[top, 2]
        best, at = -np.inf, -1
        if kind == _RIGHT:
            for k in range(i + 1, j + 1):
                v = onward[i, k] + right[k, j]
                if v > best:
                    best, at = v, k
            slots[at] = i + 1
            first, last = i, at
            rest_first, rest_last = at, j
        else:
            for k in range(i, j):
                v = left[i, k] + back[k, j]
                if v > best:
                    best, at = v, k
            slots[at] = j
            first, last = at, j
            rest_first, rest_last = i, at
        top = push(kind, rest_first, rest_last, top, stack)
        best, at = -np.inf, first
        for k in range(first, last):
            v = right[first, k] + left[k + 1, last]
            if v > best:
                best, at = v, k
        top = push(_RIGHT, first, at, top, stack)
        top = push(_LEFT, at + 1, last, top, stack)


@ordered_inner
def best_tree(arcs: Floats, single: bool, charts: Floats, rows: Floats, stack: Ints, slots: Ints) -> float:
    """Writes the head slots of the best projective tree and returns its score, or -inf where there is none.

    charts: (4, n, n), rows: (2, n + 1) and stack are workspaces.
    """
    n = len(arcs)
    right, left, onward, back = charts[0], charts[1], charts[2], charts[3]
    best_chart(arcs, right, left, onward, back, rows[0])
    best = best_roots(arcs, right, left, single, rows[0], rows[1])
    if best == -np.inf:
        return best
    prefix, last = rows[0], rows[1]
    j = n
    while j > 0:
        highest, r = -np.inf, 0
        for k in range(j):
            v = last[k] + right[k, j - 1]
            if v > highest:
                highest, r = v, k
        slots[r] = 0
        follow(_RIGHT, r, j - 1, right, left, onward, back, stack, slots)
        highest, j = left[0, r], 0
        if not single:
            for k in range(1, r + 1):
                v = prefix[k] + left[k, r]
                if v > highest:
                    highest, j = v, k
        follow(_LEFT, j, r, right, left, onward, back, stack, slots)
    return best


@inner
def sum_chart(weights: Floats, right: Floats, left: Floats, onward: Floats, back: Floats, row: Floats) -> None:
    """Fills the charts with sums over all subtrees of products of weights."""
    n = len(weights)
    for i in range(n - 1, -1, -1):
        ahead, behind = right[i], left[i]
        for j in range(i, n):
            ahead[j] = behind[j] = 0.0
            row[j] = left[i + 1, j] if j > i else 0.0
        ahead[i] = behind[i] = 1.0
        for k in range(i + 1, n):
            there, here = row[k] * weights[k, i + 1], row[k] * weights[i, k]
            onward[i, k], back[i, k] = there, here
            ahead[k] += there
            behind[k] += here
            if k + 1 == n:
                break
            a, b = ahead[k], behind[k]
            first, second, third = left[k + 1], back[k], right[k]
            for j in range(k + 1, n):
                row[j] += a * first[j]
                behind[j] += b * second[j]
                ahead[j] += there * third[j]


@inner
def sum_roots(weights: Floats, right: Floats, left: Floats, single: bool, prefix: Floats, last: Floats) -> float:
    """The sum over all trees; prefix: (n + 1,) and last: (n,) are those of `best_roots`, as sums."""
    n = len(weights)
    prefix[0] = 1.0
    for r in range(n):
        last[r] = left[0, r]
        if not single:
            for k in range(1, r + 1):
                last[r] += prefix[k] * left[k, r]
        last[r] *= weights[r, 0]
        prefix[r + 1] = 0.0
        for k in range(r + 1):
            prefix[r + 1] += last[k] * right[k, r]
    total: float = prefix[n]
    return total


@inner
def root_slopes(
    weights: Floats,
    right: Floats,
    left: Floats,
    single: bool,
    total: float,
    prefix: Floats,
    last: Floats,
    d_prefix: Floats,
    d_right: Floats,
    d_left: Floats,
    chances: Floats,
) -> None:
    """Derivatives of the logarithm of the sum with respect to chart entries, by way of the root; and its chances."""
    n = len(weights)
    d_right[:, :] = 0.0
    d_left[:, :] = 0.0
    d_prefix[:] = 0.0
    d_prefix[n] = 1.0 / total
    for r in range(n - 1, -1, -1):
        slope = 0.0
        for j in range(r, n):
            d_right[r, j] = d_prefix[j + 1] * last[r]
            slope += d_prefix[j + 1] * right[r, j]
        chances[r, 0] = slope * last[r]
        slope *= weights[r, 0]
        d_left[0, r] = slope
        if not single:
            for k in range(1, r + 1):
                d_left[k, r] = slope * prefix[k]
                d_prefix[k] += slope * left[k, r]


@inner
def arc_slopes(
    weights: Floats,
    right: Floats,
    left: Floats,
    onward: Floats,
    back: Floats,
    d_right: Floats,
    d_left: Floats,
    d_back: Floats,
    row: Floats,
    chances: Floats,
) -> None:
    """Goes back through `sum_chart`, from the derivatives of chart entries to the chances of arcs.

    row: (n,) is a workspace for the derivatives of `inner`. All terms are positive, so nothing cancels.
    """
    n = len(weights)
    d_back[:, :] = 0.0
    for i in range(n):
        ahead, behind = d_right[i], d_left[i]
        for k in range(n - 1, i, -1):
            slope, a, b, there = 0.0, 0.0, 0.0, onward[i, k]
            if k + 1 < n:
                at_a, at_b = right[i, k], left[i, k]
                first, second, third = left[k + 1], back[k], right[k]
                d_first, d_second, d_third = d_left[k + 1], d_back[k], d_right[k]
                for j in range(k + 1, n):
                    x, y, z = row[j], behind[j], ahead[j]
                    a += x * first[j]
                    b += y * second[j]
                    slope += z * third[j]
                    d_first[j] += at_a * x
                    d_second[j] += at_b * y
                    d_third[j] += there * z
            ahead[k] += a
            behind[k] += b
            slope += ahead[k]
            d_back[i, k] += behind[k]
            chances[k, i + 1] = there * slope
            chances[i, k] = back[i, k] * d_back[i, k]
            row[k] = slope * weights[k, i + 1] + d_back[i, k] * weights[i, k]
        for j in range(i + 1, n):
            d_left[i + 1, j] += row[j]


@inner
def arc_chances(weights: Floats, single: bool, charts: Floats, rows: Floats, chances: Floats) -> float:
    """Writes the probabilities of all arcs and returns the logarithm of the sum over trees; NaN if it is not exact.

    weights: (n, n), at most 1 / GROWTH each; charts: (7, n, n) and rows: (4, n + 1) are workspaces.
    """
    right, left, onward, back = charts[0], charts[1], charts[2], charts[3]
    sum_chart(weights, right, left, onward, back, rows[0])
    total = sum_roots(weights, right, left, single, rows[0], rows[1])
    if not FLOOR <= total < np.inf:
        return np.nan
    root_slopes(
        weights, right, left, single, total, rows[0], rows[1], rows[2], charts[4], charts[5], chances,
    )  # fmt: skip
    arc_slopes(weights, right, left, onward, back, charts[4], charts[5], charts[6], rows[3], chances)
    return float(np.log(total))


# Logarithms ----------------------------------------------------------------------------------------------------------


@inner
def log_total(values: Floats) -> float:
    """log Σ exp(values), where -inf and no values at all add nothing."""
    high, total = -np.inf, 0.0
    for k in range(len(values)):
        high = max(high, values[k])
    if high == -np.inf:
        return high
    for k in range(len(values)):
        total += np.exp(values[k] - high)
    return float(high + np.log(total))


@inner
def right_terms(i: int, j: int, onward: Floats, right: Floats, out: Floats) -> int:
    """The terms of right[i, j], by the outermost child k = i + 1 + place of i; returns how many."""
    for k in range(i + 1, j + 1):
        out[k - i - 1] = onward[i, k] + right[k, j]
    return j - i


@inner
def left_terms(i: int, j: int, back: Floats, left: Floats, out: Floats) -> int:
    """The terms of left[i, j], by the outermost child k = i + place of j."""
    for k in range(i, j):
        out[k - i] = left[i, k] + back[k, j]
    return j - i


@inner
def inner_terms(i: int, j: int, right: Floats, left: Floats, out: Floats) -> int:
    """The terms of inner[i, j], by the last word k = i + place that i heads."""
    for k in range(i, j):
        out[k - i] = right[i, k] + left[k + 1, j]
    return j - i


@inner
def last_terms(r: int, single: bool, prefix: Floats, left: Floats, out: Floats) -> int:
    """The terms of the forests up to a root r, by how many words lie before its subtree."""
    count = 1 if single else r + 1
    for k in range(count):
        out[k] = prefix[k] + left[k, r]
    return count


@inner
def prefix_terms(j: int, last: Floats, right: Floats, out: Floats) -> int:
    """The terms of the forests of the first j words, by their last root."""
    for r in range(j):
        out[r] = last[r] + right[r, j - 1]
    return j


@inner
def log_chart(arcs: Floats, single: bool, charts: Floats, rows: Floats) -> float:
    """Fills charts with logarithms of sums over subtrees and returns that of the sum over all trees.

    charts: (4, n, n) right, left, onward, back; rows: (3, n + 1) prefix, last, and a workspace.
    """
    n = len(arcs)
    right, left, onward, back = charts[0], charts[1], charts[2], charts[3]
    prefix, last, terms = rows[0], rows[1], rows[2]
    for i in range(n - 1, -1, -1):
        right[i, i] = left[i, i] = 0.0
        for j in range(i + 1, n):
            between = log_total(terms[: inner_terms(i, j, right, left, terms)])
            onward[i, j], back[i, j] = between + arcs[j, i + 1], between + arcs[i, j]
            right[i, j] = log_total(terms[: right_terms(i, j, onward, right, terms)])
            left[i, j] = log_total(terms[: left_terms(i, j, back, left, terms)])
    prefix[0] = 0.0
    for r in range(n):
        last[r] = log_total(terms[: last_terms(r, single, prefix, left, terms)]) + arcs[r, 0]
        prefix[r + 1] = log_total(terms[: prefix_terms(r + 1, last, right, terms)])
    total: float = prefix[n]
    return total


@inner
def shares(mass: float, terms: Floats) -> None:
    """Turns logarithms of terms, one of them finite, into shares of a mass in proportion to the terms."""
    high, total = -np.inf, 0.0
    for k in range(len(terms)):
        high = max(high, terms[k])
    for k in range(len(terms)):
        terms[k] = np.exp(terms[k] - high)
        total += terms[k]
    for k in range(len(terms)):
        terms[k] *= mass / total


@inner
def log_arc_chances(arcs: Floats, single: bool, charts: Floats, rows: Floats, chances: Floats) -> float:
    """`arc_chances` from logarithms of weights, for any of these; returns -inf where there is no tree.

    charts: (8, n, n) and rows: (4, n + 1) are workspaces. The chance of every chart entry is handed on to the entries
    that it is made of, in proportion to its terms.
    """
    n = len(arcs)
    right, left, onward, back = charts[0], charts[1], charts[2], charts[3]
    p_right, p_left, p_onward, p_back = charts[4], charts[5], charts[6], charts[7]
    prefix, last, terms, p_prefix = rows[0], rows[1], rows[2], rows[3]
    total = log_chart(arcs, single, charts, rows)
    if total == -np.inf:
        return total
    charts[4:8] = 0.0
    p_prefix[:] = 0.0
    p_prefix[n] = 1.0
    for j in range(n, 0, -1):  # the last root's chance is needed before those of smaller forests
        if p_prefix[j] > 0.0:
            count = prefix_terms(j, last, right, terms)
            shares(p_prefix[j], terms[:count])
            for r in range(count):
                p_right[r, j - 1] += terms[r]
        r = j - 1
        chance = 0.0
        for k in range(r, n):
            chance += p_right[r, k]
        chances[r, 0] = chance
        if chance > 0.0:
            count = last_terms(r, single, prefix, left, terms)
            shares(chance, terms[:count])
            for k in range(count):
                p_left[k, r] += terms[k]
                if k > 0:
                    p_prefix[k] += terms[k]
    for i in range(n):
        for j in range(n - 1, i, -1):
            if p_right[i, j] > 0.0:
                count = right_terms(i, j, onward, right, terms)
                shares(p_right[i, j], terms[:count])
                for k in range(i + 1, j + 1):
                    p_onward[i, k] += terms[k - i - 1]
                    p_right[k, j] += terms[k - i - 1]
            if p_left[i, j] > 0.0:
                count = left_terms(i, j, back, left, terms)
                shares(p_left[i, j], terms[:count])
                for k in range(i, j):
                    p_left[i, k] += terms[k - i]
                    p_back[k, j] += terms[k - i]
            chances[j, i + 1] = p_onward[i, j]
            chances[i, j] = p_back[i, j]
            mass = p_onward[i, j] + p_back[i, j]
            if mass > 0.0:
                count = inner_terms(i, j, right, left, terms)
                shares(mass, terms[:count])
                for k in range(i, j):
                    p_right[i, k] += terms[k - i]
                    p_left[k + 1, j] += terms[k - i]
    return total


@inner
def draw_tree(single: bool, charts: Floats, rows: Floats, stack: Ints, stream: Stream, slots: Ints) -> None:
    """Writes the head slots of a tree drawn from the charts that `log_chart` has filled."""
    right, left, onward, back = charts[0], charts[1], charts[2], charts[3]
    prefix, last, terms = rows[0], rows[1], rows[2]
    j = right.shape[0]
    while j > 0:
        count = prefix_terms(j, last, right, terms)
        r = draw(terms[:count], terms, stream)
        slots[r] = 0
        draw_subtree(_RIGHT, r, j - 1, right, left, onward, back, terms, stack, stream, slots)
        count = last_terms(r, single, prefix, left, terms)
        j = draw(terms[:count], terms, stream)
        draw_subtree(_LEFT, j, r, right, left, onward, back, terms, stack, stream, slots)


@inner
def draw_subtree(
    kind: int,
    i: int,
    j: int,
    right: Floats,
    left: Floats,
    onward: Floats,
    back: Floats,
    terms: Floats,
    stack: Ints,
    stream: Stream,
    slots: Ints,
) -> None:
    """`follow` with every step drawn."""
    top = push(kind, i, j, 0, stack)
    while top > 0:
        top -= 1
        kind, i, j = stack[top, 0], stack[top, 1], stack[top, 2]
        if kind == _RIGHT:
            at = i + 1 + draw(terms[: right_terms(i, j, onward, right, terms)], terms, stream)
            slots[at] = i + 1
            first, last = i, at
            rest_first, rest_last = at, j
        else:
            at = i + draw(terms[: left_terms(i, j, back, left, terms)], terms, stream)
            slots[at] = j
            first, last = at, j
            rest_first, rest_last = i, at
        at = first + draw(terms[: inner_terms(first, last, right, left, terms)], terms, stream)
        top = push(kind, rest_first, rest_last, top, stack)
        top = push(_RIGHT, first, at, top, stack)
        top = push(_LEFT, at + 1, last, top, stack)
