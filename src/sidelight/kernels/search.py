"""Automata over chains: counting violations, and best-first search for the best outputs under rules.

Automata of a batch are stacked into padded arrays: kinds (R, tokens), events (R, kinds, L + 1, L), after and degree
(R, states, events), final (R, states, L), initial (R,), sizes (R,) the numbers of states. A joint state is one integer
with a digit for every automaton. A node of the search is (position, label, joint state); its estimate is the score so
far less penalties plus a completion that ignores the rules but pays Lagrangian prices for the counters. It is never
too low, so the first complete output taken from the heap is the best (A*, section 3.1.2 and Theorem 1 of Chang 2011;
the prices make the estimate so close that few nodes are left).
"""

import numpy as np

from .compiling import Floats, Ints, Longs, inner, kernel
from .hashing import slot_of

FOUND, EMPTY, LIMIT = 0, 1, 2
# Subgradient steps before a search.
ROUNDS = 40


@kernel
def count_violations(
    offsets: Longs,
    labels: Ints,
    kinds: Ints,
    events: Ints,
    after: Ints,
    degree: Floats,
    final: Floats,
    initial: Ints,
    out: Floats,
) -> None:
    """Degree of violation of every sequence (rows) by every automaton (columns)."""
    L = events.shape[3]
    for i in range(len(offsets) - 1):
        p, q = offsets[i], offsets[i + 1]
        for r in range(len(initial)):
            state, total, before = initial[r], 0.0, L
            for t in range(p, q):
                e = events[r, kinds[r, t], before, labels[t]]
                total += degree[r, state, e]
                state = after[r, state, e]
                before = labels[t]
            out[i, r] = total + final[r, state, labels[q - 1]]


@inner
def step_price(t: int, before: int, label: int, kinds: Ints, events: Ints, amount: Floats, price: Floats) -> float:
    """Σ_r price * amount of one step."""
    total = 0.0
    for r in range(len(price)):
        if price[r] != 0.0:
            total += price[r] * amount[r, events[r, kinds[r, t], before, label]]
    return total


@inner
def largest_gain(amount: Floats, price: Floats) -> float:
    """The most that prices can add to the score of a step: no step does better than its score plus this."""
    total = 0.0
    for r in range(len(price)):
        if price[r] != 0.0:
            most = 0.0
            for e in range(amount.shape[1]):
                most = max(most, -price[r] * amount[r, e])
            total += most
    return total


@inner
def completions(
    u: Floats,
    pair: Floats,
    types: Ints,
    end: Floats,
    kinds: Ints,
    events: Ints,
    amount: Floats,
    price: Floats,
    best: Floats,
) -> None:
    """best[t, c]: the highest priced score of what can follow label c at position t, rules aside."""
    n, L = u.shape
    gain = largest_gain(amount, price)
    for c in range(L):
        best[n - 1, c] = end[c]
    for t in range(n - 2, -1, -1):
        table = pair[types[t + 1]]
        for a in range(L):
            high = -np.inf
            for c in range(L):
                v = table[a, c] + u[t + 1, c] + best[t + 1, c]
                if v + gain > high:
                    v -= step_price(t + 1, a, c, kinds, events, amount, price)
                    high = v if v > high else high
            best[t, a] = high


@inner
def price_rules(
    u: Floats,
    pair: Floats,
    types: Ints,
    start: Floats,
    end: Floats,
    kinds: Ints,
    events: Ints,
    after: Ints,
    degree: Floats,
    final: Floats,
    initial: Ints,
    penalty: Floats,
    amount: Floats,
    slack: Floats,
    low: Floats,
    high: Floats,
    rounds: int,
    price: Floats,
    ahead: Floats,
) -> None:
    """Lagrangian prices of the counters by projected subgradient steps, and the completions under them.

    For prices p within [low, high], which is at most the penalty, max_y [θ·y - Σ p (Σ amount - slack)] bounds the best
    score from above. The steps lower this bound; the best prices found are kept.
    """
    n, L = u.shape
    R = len(price)
    trial, best_bound, best_value = np.zeros(R), np.inf, -np.inf
    labels, gradient = np.empty(n, np.int32), np.empty(R)
    work = np.empty((n, L))
    for attempt in range(rounds):
        completions(u, pair, types, end, kinds, events, amount, trial, work)
        bound, y = -np.inf, 0
        for c in range(L):
            v = u[0, c] + start[c] + work[0, c] - step_price(0, L, c, kinds, events, amount, trial)
            if v > bound:
                bound, y = v, c
        if bound == -np.inf:
            return
        for r in range(R):
            bound += trial[r] * slack[r, initial[r]]
        labels[0] = y
        gain = largest_gain(amount, trial)
        for t in range(1, n):
            table, target, highest = pair[types[t]], 0, -np.inf
            for c in range(L):
                v = table[y, c] + u[t, c] + work[t, c]
                if v + gain > highest:
                    v -= step_price(t, y, c, kinds, events, amount, trial)
                    if v > highest:
                        target, highest = c, v
            labels[t] = y = target
        if bound < best_bound:
            best_bound = bound
            for r in range(R):
                price[r] = trial[r]
            for t in range(n):
                for c in range(L):
                    ahead[t, c] = work[t, c]
        value, before, norm = end[labels[n - 1]] + start[labels[0]], L, 0.0
        for t in range(n):
            value += u[t, labels[t]]
            if t > 0:
                value += pair[types[t], labels[t - 1], labels[t]]
        for r in range(R):
            state, total, before = initial[r], 0.0, L
            gradient[r] = -slack[r, initial[r]]
            for t in range(n):
                e = events[r, kinds[r, t], before, labels[t]]
                total += degree[r, state, e]
                gradient[r] += amount[r, e]
                state = after[r, state, e]
                before = labels[t]
            total += final[r, state, labels[n - 1]]
            if total > 0.0:
                value -= penalty[r] * total
            if (trial[r] <= low[r] and gradient[r] < 0.0) or (trial[r] >= high[r] and gradient[r] > 0.0):
                gradient[r] = 0.0
            norm += gradient[r] * gradient[r]
        best_value = max(best_value, value)
        if norm == 0.0 or bound <= best_value + 1e-9:
            break
        room = bound - best_value if best_value > -np.inf else 10.0
        step = room / norm / (1.0 + 0.1 * attempt)
        for r in range(R):
            trial[r] = min(max(trial[r] + step * gradient[r], low[r]), high[r])


@inner
def push(heap_value: Floats, heap_node: Longs, size: int, value: float, node: int) -> None:
    """Add to a binary heap with the highest value on top; `size` is the number of entries before."""
    at = size
    while at > 0:
        parent = (at - 1) // 2
        if heap_value[parent] >= value:
            break
        heap_value[at] = heap_value[parent]
        heap_node[at] = heap_node[parent]
        at = parent
    heap_value[at] = value
    heap_node[at] = node


@inner
def pop(heap_value: Floats, heap_node: Longs, size: int) -> None:
    """Remove the top of a heap of `size` entries, by moving the last one into its place."""
    value, node = heap_value[size - 1], heap_node[size - 1]
    at, size = 0, size - 1
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap_value[child + 1] > heap_value[child]:
            child += 1
        if value >= heap_value[child]:
            break
        heap_value[at] = heap_value[child]
        heap_node[at] = heap_node[child]
        at = child
    if size > 0:
        heap_value[at] = value
        heap_node[at] = node


@inner
def doubled(array: Longs) -> Longs:
    """A copy with twice the room."""
    out = np.empty(2 * len(array), np.int64)
    out[: len(array)] = array
    return out


@inner
def doubled_floats(array: Floats) -> Floats:
    """A copy with twice the room."""
    out = np.empty(2 * len(array))
    out[: len(array)] = array
    return out


@inner
def visits(key: int, slots: Longs, seen: Longs) -> int:
    """Count one more visit of a key in a hash table; returns how many there were before."""
    mask = len(slots) - 1
    s = slot_of(key, mask)
    while slots[s] != key and slots[s] != -1:
        s = (s + 1) & mask
    if slots[s] == -1:
        slots[s] = key
        seen[s] = 0
    seen[s] += 1
    return int(seen[s] - 1)


@inner
def grow_table(slots: Longs, seen: Longs) -> tuple[Longs, Longs]:
    """The same table with twice as many slots."""
    more, counts = np.full(2 * len(slots), -1, np.int64), np.zeros(2 * len(slots), np.int64)
    mask = len(more) - 1
    for j in range(len(slots)):
        if slots[j] != -1:
            s = slot_of(slots[j], mask)
            while more[s] != -1:
                s = (s + 1) & mask
            more[s] = slots[j]
            counts[s] = seen[j]
    return more, counts


@inner
def step_all(
    joint: int,
    t: int,
    before: int,
    label: int,
    kinds: Ints,
    events: Ints,
    after: Ints,
    degree: Floats,
    sizes: Longs,
    penalty: Floats,
    slack: Floats,
    price: Floats,
) -> tuple[int, float, float]:
    """Joint state after one more label, the step's penalty (inf if a hard rule forbids it), and Σ price * slack."""
    cost, out, base, allowance = 0.0, 0, 1, 0.0
    for r in range(len(sizes)):
        state = joint % sizes[r]
        joint //= sizes[r]
        e = events[r, kinds[r, t], before, label]
        d = degree[r, state, e]
        if d > 0.0:
            cost += penalty[r] * d
        state = after[r, state, e]
        out += state * base
        base *= sizes[r]
        allowance += price[r] * slack[r, state]
    return out, cost, allowance


@inner
def final_cost(joint: int, label: int, final: Floats, sizes: Longs, penalty: Floats) -> float:
    """Penalty at the end of a sequence."""
    cost = 0.0
    for r in range(len(sizes)):
        d = final[r, joint % sizes[r], label]
        joint //= sizes[r]
        if d > 0.0:
            cost += penalty[r] * d
    return cost


@kernel
def best_first(
    u: Floats,
    pair: Floats,
    types: Ints,
    start: Floats,
    end: Floats,
    kinds: Ints,
    events: Ints,
    after: Ints,
    degree: Floats,
    final: Floats,
    initial: Ints,
    sizes: Longs,
    penalty: Floats,
    k: int,
    amount: Floats,
    slack: Floats,
    low: Floats,
    high: Floats,
    limit: int,
    labels: Ints,
    scores: Floats,
) -> tuple[int, int, int, float]:
    """The k best outputs of one sequence; returns (status, outputs found, nodes expanded, bound on what is left).

    labels: (k, n); scores: (k,). The completion that estimates a node is priced for the counters (`price_rules`), and
    what a node's state still allows is added: never too low, and consistent from node to node. Each (position, label,
    joint state) is expanded at most k times, which is enough since what follows depends on nothing else.
    """
    n, L = u.shape
    ahead, price = np.full((n, L), -np.inf), np.zeros(len(sizes))
    price_rules(
        u, pair, types, start, end, kinds, events, after, degree, final, initial, penalty, amount, slack, low, high,
        ROUNDS, price, ahead,
    )  # fmt: skip
    room = 1024
    place, parent, joints, value = (
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(room),
    )
    heap_value, heap_node = np.empty(room), np.empty(room, np.int64)
    slots, seen, filled = np.full(1024, -1, np.int64), np.zeros(1024, np.int64), 0
    nodes, size, expanded, found = 0, 0, 0, 0
    first: int = 0
    base: int = 1
    for r in range(len(sizes)):
        first += initial[r] * base
        base *= sizes[r]
    for c in range(L):
        if u[0, c] + start[c] + ahead[0, c] == -np.inf:
            continue
        joint, cost, allowance = step_all(first, 0, L, c, kinds, events, after, degree, sizes, penalty, slack, price)
        g = u[0, c] + start[c] - cost
        if g == -np.inf:
            continue
        place[nodes], parent[nodes], joints[nodes], value[nodes] = c, -1, joint, g
        push(heap_value, heap_node, size, g + ahead[0, c] + allowance, nodes)
        size += 1
        nodes += 1
    while size > 0 and found < k:
        if expanded >= limit:
            return LIMIT, found, expanded, heap_value[0]
        estimate, node = heap_value[0], heap_node[0]
        pop(heap_value, heap_node, size)
        size -= 1
        if place[node] < 0:  # a complete output
            scores[found] = estimate
            back = parent[node]
            for t in range(n - 1, -1, -1):
                labels[found, t] = place[back] % L
                back = parent[back]
            found += 1
            continue
        t, a, joint, g = place[node] // L, place[node] % L, joints[node], value[node]
        if 2 * (filled + 1) > len(slots):
            slots, seen = grow_table(slots, seen)
        times = visits((joint * n + t) * L + a, slots, seen)
        if times == 0:
            filled += 1
        if times >= k:
            continue
        expanded += 1
        if nodes + L + 1 > len(place):
            place, parent, joints, value = doubled(place), doubled(parent), doubled(joints), doubled_floats(value)
        if size + L + 1 > len(heap_value):
            heap_value, heap_node = doubled_floats(heap_value), doubled(heap_node)
        if t == n - 1:
            v = g + end[a] - final_cost(joint, a, final, sizes, penalty)
            if v > -np.inf:
                place[nodes], parent[nodes] = -1, node
                push(heap_value, heap_node, size, v, nodes)
                size += 1
                nodes += 1
            continue
        table = pair[types[t + 1]]
        for c in range(L):
            v = g + table[a, c] + u[t + 1, c]
            if v + ahead[t + 1, c] == -np.inf:
                continue
            moved, cost, allowance = step_all(
                joint, t + 1, a, c, kinds, events, after, degree, sizes, penalty, slack, price
            )
            v -= cost
            if v == -np.inf:
                continue
            place[nodes], parent[nodes], joints[nodes], value[nodes] = (t + 1) * L + c, node, moved, v
            push(heap_value, heap_node, size, v + ahead[t + 1, c] + allowance, nodes)
            size += 1
            nodes += 1
    return (FOUND if found > 0 else EMPTY), found, expanded, -np.inf


@kernel
def beam_search(
    u: Floats,
    pair: Floats,
    types: Ints,
    start: Floats,
    end: Floats,
    kinds: Ints,
    events: Ints,
    after: Ints,
    degree: Floats,
    final: Floats,
    initial: Ints,
    sizes: Longs,
    penalty: Floats,
    k: int,
    width: int,
    labels: Ints,
    scores: Floats,
) -> int:
    """As `best_first`, but only the `width` best prefixes of each length are kept; returns nodes expanded.

    Prefixes are ranked by score so far less penalties plus the best completion without rules.
    """
    n, L = u.shape
    ahead, free, nothing = np.empty((n, L)), np.zeros(len(sizes)), np.zeros((len(sizes), after.shape[1]))
    completions(u, pair, types, end, kinds, events, nothing, free, ahead)
    width = max(width, k)
    back, last = np.empty((n, width), np.int64), np.empty((n, width), np.int64)
    joint, value = np.empty(width, np.int64), np.empty(width)
    fresh_joint, fresh_value = np.empty(width * L, np.int64), np.empty(width * L)
    estimate = np.empty(width * L)
    alive, expanded = 1, 0
    joint[0], value[0] = 0, 0.0
    base: int = 1
    for r in range(len(sizes)):
        joint[0] += initial[r] * base
        base *= sizes[r]
    for t in range(n):
        for j in range(alive):
            expanded += 1
            a = L if t == 0 else last[t - 1, j]
            for c in range(L):
                v = value[j] + u[t, c]
                v += start[c] if t == 0 else pair[types[t], a, c]
                moved, cost, _ = step_all(
                    joint[j], t, a, c, kinds, events, after, degree, sizes, penalty, nothing, free
                )
                v -= cost
                fresh_joint[j * L + c], fresh_value[j * L + c] = moved, v
                estimate[j * L + c] = -(v + ahead[t, c])
        order = np.argsort(estimate[: alive * L], kind="mergesort")
        kept = 0
        for o in order:
            if kept == width or estimate[o] == np.inf:
                break
            back[t, kept], last[t, kept] = o // L, o % L
            kept += 1
        for j in range(kept):
            joint[j], value[j] = fresh_joint[back[t, j] * L + last[t, j]], fresh_value[back[t, j] * L + last[t, j]]
        alive = kept
    for j in range(alive):
        value[j] += end[last[n - 1, j]] - final_cost(joint[j], last[n - 1, j], final, sizes, penalty)
    order = np.argsort(-value[:alive], kind="mergesort")
    for rank in range(min(k, alive)):
        at = order[rank]
        if value[at] == -np.inf:
            break
        scores[rank] = value[at]
        for t in range(n - 1, -1, -1):
            labels[rank, t] = last[t, at]
            at = back[t, at]
    return expanded
