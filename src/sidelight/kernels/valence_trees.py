"""Projective trees whose arcs know whether they lead to the nearest child of a head on its side.

Words, slots and charts are those of `projective_trees`, and every arc has two parts: it leads to the nearest child
(0), or to one that is further away (1). A head has no child on its right within right[i, i], and has one in every other
right[i, k], so the arc i -> j is one to the nearest child in the first term of inner[i, j] and one to a further child
in all others; the arc j -> i, with left, in its last term. All is done with logarithms. The best tree takes the same
way as sums over all trees, with the largest term in the place of each sum.
"""

import numpy as np

from .compiling import Floats, Longs, inner, kernel
from .projective_trees import inner_terms, left_terms, log_total, right_terms, shares
from .trees import LARGEST, SMALLER, expected_score, greatest, longest_of, top_of, widest


@inner
def total_of(terms: Floats, best: bool) -> float:
    """log Σ exp(terms), or the largest term."""
    if not best:
        return log_total(terms)
    high = -np.inf
    for k in range(len(terms)):
        high = max(high, terms[k])
    return high


@inner
def hand_on(mass: float, terms: Floats, best: bool) -> None:
    """Turns terms into shares of a mass: in proportion to exp(terms), or all of it for the first largest term."""
    if not best:
        shares(mass, terms)
        return
    at = 0
    for k in range(1, len(terms)):
        at = k if terms[k] > terms[at] else at
    terms[:] = 0.0
    terms[at] = mass


@inner
def root_terms(arcs: Floats, right: Floats, left: Floats, out: Floats) -> int:
    """The terms of the sum over trees, by the word that depends on the root."""
    n = len(arcs)
    for r in range(n):
        out[r] = left[0, r] + arcs[r, 0, 0] + right[r, n - 1]
    return n


@inner
def valence_chart(arcs: Floats, best: bool, charts: Floats, terms: Floats) -> float:
    """Fills the charts and returns the total: the logarithm of the sum over all trees, or the score of the best one.

    arcs: (n, n, 2); charts: (8, n, n) right, left, onward to nearest and to further children, back in the same way, and
    both kinds of onward and of back together; terms: (n + 1,) is a workspace.
    """
    n = len(arcs)
    right, left, onward, back, to_any, from_any = charts[0], charts[1], charts[2:4], charts[4:6], charts[6], charts[7]
    for i in range(n - 1, -1, -1):
        right[i, i] = left[i, i] = 0.0
        for j in range(i + 1, n):
            count = inner_terms(i, j, right, left, terms)
            onward[0, i, j] = terms[0] + arcs[j, i + 1, 0]
            onward[1, i, j] = total_of(terms[1:count], best) + arcs[j, i + 1, 1]
            back[0, i, j] = terms[count - 1] + arcs[i, j, 0]
            back[1, i, j] = total_of(terms[: count - 1], best) + arcs[i, j, 1]
            terms[0], terms[1] = onward[0, i, j], onward[1, i, j]
            to_any[i, j] = total_of(terms[:2], best)
            terms[0], terms[1] = back[0, i, j], back[1, i, j]
            from_any[i, j] = total_of(terms[:2], best)
            right[i, j] = total_of(terms[: right_terms(i, j, to_any, right, terms)], best)
            left[i, j] = total_of(terms[: left_terms(i, j, from_any, left, terms)], best)
    return total_of(terms[: root_terms(arcs, right, left, terms)], best)


@inner
def valence_chances(
    arcs: Floats, best: bool, charts: Floats, slopes: Floats, terms: Floats, pair: Floats, chances: Floats
) -> None:
    """Hands the chance of every chart entry on to the entries that it is made of; writes the chances of all parts.

    slopes: (4, n, n) chances of right, left, onward and back; pair: (2,) is a workspace; chances: (n, n, 2).
    """
    n = len(arcs)
    right, left, onward, back = charts[0], charts[1], charts[2:4], charts[4:6]
    p_right, p_left, p_onward, p_back = slopes[0], slopes[1], slopes[2], slopes[3]
    slopes[:] = 0.0
    chances[:] = 0.0
    hand_on(1.0, terms[: root_terms(arcs, right, left, terms)], best)
    for r in range(n):
        chances[r, 0, 0] = terms[r]
        p_right[r, n - 1] += terms[r]
        p_left[0, r] += terms[r]
    for i in range(n):
        for j in range(n - 1, i, -1):
            if p_right[i, j] > 0.0:
                hand_on(p_right[i, j], terms[: right_terms(i, j, charts[6], right, terms)], best)
                for k in range(i + 1, j + 1):
                    p_onward[i, k] += terms[k - i - 1]
                    p_right[k, j] += terms[k - i - 1]
            if p_left[i, j] > 0.0:
                hand_on(p_left[i, j], terms[: left_terms(i, j, charts[7], left, terms)], best)
                for k in range(i, j):
                    p_left[i, k] += terms[k - i]
                    p_back[k, j] += terms[k - i]
            if p_onward[i, j] > 0.0:
                pair[0], pair[1] = onward[0, i, j], onward[1, i, j]
                hand_on(p_onward[i, j], pair, best)
                chances[j, i + 1, 0], chances[j, i + 1, 1] = pair[0], pair[1]
                p_left[i + 1, j] += pair[0]
                if pair[1] > 0.0:
                    count = inner_terms(i, j, right, left, terms)
                    hand_on(pair[1], terms[1:count], best)
                    for k in range(i + 1, j):
                        p_right[i, k] += terms[k - i]
                        p_left[k + 1, j] += terms[k - i]
            if p_back[i, j] > 0.0:
                pair[0], pair[1] = back[0, i, j], back[1, i, j]
                hand_on(p_back[i, j], pair, best)
                chances[i, j, 0], chances[i, j, 1] = pair[0], pair[1]
                p_right[i, j - 1] += pair[0]
                if pair[1] > 0.0:
                    count = inner_terms(i, j, right, left, terms)
                    hand_on(pair[1], terms[: count - 1], best)
                    for k in range(i, j - 1):
                        p_right[i, k] += terms[k - i]
                        p_left[k + 1, j] += terms[k - i]


@kernel
def valence_trees(
    lo: int, hi: int, sizes: Longs, offsets: Longs, values: Floats, best: bool, mass: Floats, sums: Floats
) -> None:
    """Probabilities of all parts of inputs lo to hi, or the best trees as parts.

    sums: as in `trees.projective_marginals`; its first column is the logarithm of the sum over trees, or the score of
    the best tree.
    """
    longest = longest_of(lo, hi, sizes)
    space, vectors, pair = np.empty(14 * longest * longest), np.empty((2, longest + 1)), np.empty(2)
    for i in range(lo, hi):
        n, theta, out = sizes[i], values[offsets[i] : offsets[i + 1]], mass[offsets[i] : offsets[i + 1]]
        sums[i, :] = np.nan
        out[:] = 0.0
        size = greatest(theta) if best else widest(theta, n)
        if not size < (np.inf if best else LARGEST):
            continue
        factor = SMALLER if best and size > LARGEST else 1.0
        charts, slopes = space[: 8 * n * n].reshape(8, n, n), space[8 * n * n : 12 * n * n].reshape(4, n, n)
        arcs, tops, terms = space[12 * n * n : 14 * n * n].reshape(n, n, 2), vectors[0, :n], vectors[1, : n + 1]
        for c in range(n):
            tops[c] = top_of(theta[2 * c * n : 2 * (c + 1) * n])
            for s in range(n):
                for v in range(2):
                    arcs[c, s, v] = factor * theta[2 * (c * n + s) + v] - factor * tops[c]
        total = valence_chart(arcs, best, charts, terms)
        sums[i, 0], sums[i, 1] = total, tops.sum()
        if total > -np.inf:
            valence_chances(arcs, best, charts, slopes, terms, pair, out.reshape(n, n, 2))
            sums[i, 2] = expected_score(theta, tops, out)
