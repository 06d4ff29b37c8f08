"""The best matching of two sets whose links also gain in pairs, by prices and branch and bound.

    max over matchings x    Σ weight[a] x[a] + Σ deletions + Σ_p gain[p] x[first[p]] x[second[p]]

A pair of links gains where both are chosen, as those of the ends of two edges do. Any shares 0 <= s[p] <= 1 give a
matching without pairs that bounds this one from above, since for 0/1 values

    g x y <= g (s x + (1 - s) y)         where g > 0,
    g x y <= g s (x + y - 1)             where g < 0.

Shares go down the subgradient of the bound. At their best it is that of the linear program with the rows y <= x[a],
y <= x[b], x[a] + x[b] - y <= 1 (Eq. 5.8 of Chang 2011). Where that leaves a gap, a link that the bound and the score
disagree about is chosen, and then forbidden.
"""

import numpy as np

from .assignment import match
from .compiling import Flags, Floats, Longs, ordered, ordered_inner

# What a link is in a node of the search.
OPEN, ON, OFF = 0, 1, 2
# ROOT_STEPS and STEPS are the steps at the root and at other nodes, at most. The root ends when the bound fell by less
# than LITTLE, as a share of the gap, in PATIENCE steps.
ROOT_STEPS, STEPS, PATIENCE, LITTLE = 150, 25, 15, 0.02
# Scores differ if they do so by more than this share of their size.
CLOSE = 1e-10


@ordered_inner
def spread(
    weight: Floats, first: Longs, second: Longs, gain: Floats, share: Floats, state: Longs, tilted: Floats
) -> float:
    """Writes the weights of links with their shares of the gains; returns the constant beside them."""
    constant = 0.0
    for k in range(len(weight)):  # arrays that are assigned as a whole take a second to compile
        tilted[k] = weight[k]
    for p in range(len(gain)):
        a, b, g, s = first[p], second[p], gain[p], share[p]
        if state[a] != OPEN or state[b] != OPEN:
            off = state[a] == OFF or state[b] == OFF
            if g < 0:
                s = 0.0 if off else 1.0
            elif off:
                s = 1.0 if state[a] == OFF else 0.0
            else:
                s = 0.0 if state[a] == ON else 1.0
        if g > 0:
            tilted[a] += g * s
            tilted[b] += g * (1.0 - s)
        else:
            tilted[a] += g * s
            tilted[b] += g * s
            constant -= g * s
    return constant


@ordered_inner
def fix(link: int, source: Longs, target: Longs, state: Longs, left: Floats, right: Floats) -> None:
    """Chooses a link: others of its items are forbidden, and so are their deletions."""
    for a in range(len(source)):
        if a != link and (source[a] == source[link] or target[a] == target[link]):
            state[a] = OFF
    state[link] = ON
    left[source[link]] = -np.inf
    right[target[link]] = -np.inf


@ordered_inner
def best_tilted(
    source: Longs, target: Longs, tilted: Floats, state: Longs, left: Floats, right: Floats, table: Floats,
    mates: Longs, on: Floats,
) -> float:  # fmt: skip
    """The best matching under the weights of links, into `on`; returns its score, -inf where there is none."""
    n, m = len(left), len(right)
    table[:] = -np.inf
    for a in range(len(source)):
        if state[a] != OFF:
            table[source[a] * m + target[a]] = tilted[a]
    if not match(table, n, m, left, right, mates):
        return -np.inf
    total, linked = 0.0, np.zeros(m, np.bool_)
    for i in range(n):
        if mates[i] == -1:
            total += left[i]
        else:
            linked[mates[i]] = True
            total += table[i * m + mates[i]]
    for j in range(m):
        if not linked[j]:
            total += right[j]
    for a in range(len(source)):
        on[a] = 1.0 if mates[source[a]] == target[a] else 0.0
    return total


@ordered_inner
def value_of(
    on: Floats, source: Longs, target: Longs, weight: Floats, left: Floats, right: Floats, first: Longs, second: Longs,
    gain: Floats,
) -> float:  # fmt: skip
    """The score of a matching with its pairs."""
    total, gone, lost = 0.0, np.ones(len(left), np.bool_), np.ones(len(right), np.bool_)
    for a in range(len(on)):
        if on[a] > 0:
            total += weight[a]
            gone[source[a]] = lost[target[a]] = False
    for i in range(len(left)):
        if gone[i]:
            total += left[i]
    for j in range(len(right)):
        if lost[j]:
            total += right[j]
    for p in range(len(gain)):
        if on[first[p]] * on[second[p]] > 0:
            total += gain[p]
    return total


@ordered_inner
def move(on: Floats, first: Longs, second: Longs, gain: Floats, share: Floats, state: Longs, gap: float) -> bool:
    """Moves the shares along the subgradient by a step of Polyak's length; whether there was any way to go."""
    norm = 0.0
    for p in range(len(gain)):
        a, b = first[p], second[p]
        if state[a] != OPEN or state[b] != OPEN or gain[p] == 0.0:
            continue
        slope = (on[a] - on[b]) if gain[p] > 0 else 1.0 - on[a] - on[b]
        if (slope > 0 and share[p] > 0.0) or (slope < 0 and share[p] < 1.0):
            norm += slope * slope
    if norm == 0.0:
        return False
    step = gap / norm
    for p in range(len(gain)):
        a, b = first[p], second[p]
        if state[a] != OPEN or state[b] != OPEN or gain[p] == 0.0:
            continue
        slope = (on[a] - on[b]) if gain[p] > 0 else 1.0 - on[a] - on[b]
        share[p] = min(max(share[p] - step * slope / abs(gain[p]), 0.0), 1.0)
    return True


@ordered_inner
def disputed(on: Floats, first: Longs, second: Longs, gain: Floats, share: Floats, state: Longs) -> int:
    """The open link of the pair for which the bound promises most beyond the score; -1 if there is none."""
    most, link = 0.0, -1
    for p in range(len(gain)):
        a, b, g, s = first[p], second[p], gain[p], share[p]
        if state[a] != OPEN or state[b] != OPEN:
            continue
        x, y = on[a], on[b]
        promised = g * (s * x + (1.0 - s) * y) if g > 0 else g * s * (x + y - 1.0)
        beyond = promised - g * x * y
        if beyond > most:
            most, link = beyond, a if x >= y else b
    return link


@ordered
def best_alignment(
    source: Longs, target: Longs, weight: Floats, left: Floats, right: Floats, first: Longs, second: Longs,
    gain: Floats, share: Floats, most: int, best: Flags,
) -> tuple[float, float, int]:  # fmt: skip
    """The best matching of one input into `best`; returns its score, a bound, and how many nodes were looked at.

    source, target: (links,) their items; weight: (links,), left, right: of deletions, -inf where forbidden; first,
    second: (pairs,) links; gain: (pairs,), finite; share: (pairs,) in [0, 1], where to begin, and where it ended; most:
    nodes at most; best: (links,). Score and bound are -inf where there is no matching, and the bound is above the score
    only where the search ended early.
    """
    links = len(source)
    own_left, own_right = np.empty(len(left)), np.empty(len(right))
    state, tilted, on = np.zeros(links, np.int64), np.empty(links), np.zeros(links)
    table, mates = np.empty(len(left) * len(right)), np.empty(len(left), np.int64)
    path, chosen = np.empty(links + 1, np.int64), np.empty(links + 1, np.bool_)
    low, top, depth, nodes = -np.inf, np.inf, 0, 0
    while True:
        # This node: what the path has fixed.
        state[:] = OPEN
        for k in range(len(left)):
            own_left[k] = left[k]
        for k in range(len(right)):
            own_right[k] = right[k]
        for d in range(depth):
            if chosen[d]:
                fix(path[d], source, target, state, own_left, own_right)
            else:
                state[path[d]] = OFF
        nodes += 1
        bound, link, mark, waited = np.inf, -1, np.inf, 0
        for _ in range(ROOT_STEPS if depth == 0 else STEPS):
            constant = spread(weight, first, second, gain, share, state, tilted)
            here = best_tilted(source, target, tilted, state, own_left, own_right, table, mates, on) + constant
            if here == -np.inf:
                bound = -np.inf
                break
            value = value_of(on, source, target, weight, left, right, first, second, gain)
            if value > low:
                low = value
                for k in range(links):
                    best[k] = on[k] > 0
            bound = min(bound, here)
            close = CLOSE * max(abs(low), abs(bound), 1e-300)
            if bound <= low + close:
                break
            if link == -1 or here <= bound:
                link = disputed(on, first, second, gain, share, state)
            waited += 1
            if bound < mark - LITTLE * (mark - low):
                mark, waited = bound, 0
            if waited >= PATIENCE:
                break
            if not move(on, first, second, gain, share, state, here - low):
                break
        if depth == 0:
            top = bound
        if bound > low + CLOSE * max(abs(low), abs(bound), 1e-300) and link != -1:
            if nodes >= most:
                return low, top, nodes
            path[depth], chosen[depth] = link, True
            depth += 1
            continue
        while depth > 0 and not chosen[depth - 1]:
            depth -= 1
        if depth == 0:
            return low, low, nodes
        chosen[depth - 1] = False
