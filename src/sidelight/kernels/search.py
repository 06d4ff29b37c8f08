"""Automata over label sequences: counting violations, and best-first search for the best outputs under rules.

Scores are those of a lattice (`structures.lattice`): unary u, opens and closes (n, L), pair (types, L, L), types (n,),
length (longest, L). A chain is the case of segments of one token. Outputs are written as 2 * label, plus one where a
segment begins.

Automata of a batch are stacked into padded arrays: kinds (R, tokens), events (R, kinds, L + 1, L), after and degree
(R, states, events), final (R, states, L), initial (R,), sizes (R,) the numbers of states. They step token by token. A
joint state is one integer with a digit for every automaton. A node of the search is (last token of a segment, its
label, joint state); its estimate is the score so far less penalties plus a completion that ignores the rules but pays
Lagrangian prices for the counters. It is never too low, so the first complete output taken from the heap is the best
(A*, section 3.1.2 and Theorem 1 of Chang 2011; the prices make the estimate so close that few nodes are left).
"""

import numpy as np

from .compiling import Floats, Ints, Longs, inner, kernel
from .hashing import slot_of

FOUND, EMPTY, LIMIT = 0, 1, 2
# Nodes kept in memory, at 48 bytes each.
MADE = 8_000_000


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
    opens: Floats,
    closes: Floats,
    pair: Floats,
    types: Ints,
    length: Floats,
    kinds: Ints,
    events: Ints,
    amount: Floats,
    price: Floats,
    within: Floats,
    begun: Floats,
    best: Floats,
) -> None:
    """best[t, c]: the highest priced score of what can follow a segment of label c that ends at t, rules aside.

    within[t, c]: the priced score of a further token t of a segment; begun[t, c]: the highest priced score of a segment
    that begins at t and of what follows it, but for the price of its first step.
    """
    n, L = u.shape
    longest = len(length)
    gain = largest_gain(amount, price)
    for t in range(1, n if longest > 1 else 1):
        for c in range(L):
            within[t, c] = u[t, c] - step_price(t, c, c, kinds, events, amount, price)
    for t in range(n - 1, -1, -1):
        for a in range(L):
            high = 0.0 if t == n - 1 else -np.inf
            if t < n - 1:
                table = pair[types[t + 1]]
                for c in range(L):
                    v = table[a, c] + begun[t + 1, c]
                    if v + gain > high:
                        v -= step_price(t + 1, a, c, kinds, events, amount, price)
                        high = v if v > high else high
            best[t, a] = high
        for c in range(L):
            _, begun[t, c] = best_segment(t, c, u, opens, closes, length, within, best)


@inner
def best_segment(
    t: int, c: int, u: Floats, opens: Floats, closes: Floats, length: Floats, within: Floats, best: Floats
) -> tuple[int, float]:
    """Tokens of the best segment of label c that begins at t, and its priced score with what follows."""
    n = len(u)
    total = opens[t, c] + u[t, c]
    size, high = 1, total + closes[t, c] + length[0, c] + best[t, c]
    for m in range(1, min(len(length), n - t)):
        total += within[t + m, c]
        v = total + closes[t + m, c] + length[m, c] + best[t + m, c]
        if v > high:
            size, high = m + 1, v
    return size, high


@inner
def price_rules(
    u: Floats,
    opens: Floats,
    closes: Floats,
    pair: Floats,
    types: Ints,
    length: Floats,
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
    work, within, begun = np.empty((n, L)), np.empty((n, L)), np.empty((n, L))
    for attempt in range(rounds):
        completions(u, opens, closes, pair, types, length, kinds, events, amount, trial, within, begun, work)
        gain = largest_gain(amount, trial)
        t, before, value, bound = 0, L, 0.0, -np.inf
        while t < n:  # follow the best priced output
            label, highest = 0, -np.inf
            for c in range(L):
                v = begun[t, c] if t == 0 else pair[types[t], before, c] + begun[t, c]
                if v + gain > highest:
                    v -= step_price(t, before, c, kinds, events, amount, trial)
                    if v > highest:
                        label, highest = c, v
            if highest == -np.inf:
                return
            if t == 0:
                bound = highest
            else:
                value += pair[types[t], before, label]
            size, _ = best_segment(t, label, u, opens, closes, length, within, work)
            value += opens[t, label] + closes[t + size - 1, label] + length[size - 1, label]
            for at in range(t, t + size):
                labels[at] = label
                value += u[at, label]
            t, before = t + size, label
        for r in range(R):
            bound += trial[r] * slack[r, initial[r]]
        if bound < best_bound:
            best_bound = bound
            for r in range(R):
                price[r] = trial[r]
            for t in range(n):
                for c in range(L):
                    ahead[t, c] = work[t, c]
        norm = 0.0
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
    for k in range(len(array)):
        out[k] = array[k]
    return out


@inner
def doubled_floats(array: Floats) -> Floats:
    """A copy with twice the room."""
    out = np.empty(2 * len(array))
    for k in range(len(array)):
        out[k] = array[k]
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


@inner
def write_output(node: int, n: int, L: int, place: Longs, parent: Longs, out: Ints) -> None:
    """The output that ends with a node, segment by segment from the back."""
    while node >= 0:
        last, c = place[node] // L, place[node] % L
        node = parent[node]
        first = place[node] // L + 1 if node >= 0 else 0
        for t in range(first, last + 1):
            out[t] = 2 * c
        out[first] += 1


@kernel
def best_first(
    u: Floats,
    opens: Floats,
    closes: Floats,
    pair: Floats,
    types: Ints,
    length: Floats,
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
    rounds: int,
    limit: int,
    outputs: Ints,
    scores: Floats,
) -> tuple[int, int, int, float]:
    """The k best outputs of one sequence; returns (status, outputs found, nodes expanded, bound on what is left).

    outputs: (k, n); scores: (k,). The completion that estimates a node is priced for the counters (`price_rules`), and
    what a node's state still allows is added: never too low, and consistent from node to node. Each (last token, label,
    joint state) is expanded at most k times, which is enough since what follows depends on nothing else. Search stops
    after `limit` nodes expanded, or when memory would run out for those made. rounds: steps of `price_rules`.
    """
    n, L = u.shape
    longest = len(length)
    ahead, price = np.full((n, L), -np.inf), np.zeros(len(sizes))
    price_rules(
        u, opens, closes, pair, types, length, kinds, events, after, degree, final, initial, penalty, amount, slack,
        low, high, rounds, price, ahead,
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
    joint: int = 0
    base: int = 1
    for r in range(len(sizes)):
        joint += initial[r] * base
        base *= sizes[r]
    node, t, a, g = -1, -1, L, 0.0  # the empty prefix
    while True:
        most = L * min(longest, n - 1 - t) + 1
        while nodes + most > len(place):
            place, parent, joints, value = doubled(place), doubled(parent), doubled(joints), doubled_floats(value)
        while size + most > len(heap_value):
            heap_value, heap_node = doubled_floats(heap_value), doubled(heap_node)
        if t == n - 1:
            v = g - final_cost(joint, a, final, sizes, penalty)
            if v > -np.inf:
                place[nodes], parent[nodes] = -1, node
                push(heap_value, heap_node, size, v, nodes)
                size += 1
                nodes += 1
        for c in range(L if t < n - 1 else 0):
            v = g + opens[t + 1, c]
            if t >= 0:
                v += pair[types[t + 1], a, c]
            moved, before = joint, a
            for m in range(min(longest, n - 1 - t)):
                at = t + 1 + m
                v += u[at, c]
                if v == -np.inf or (longest == 1 and ahead[at, c] == -np.inf):
                    break
                moved, cost, allowance = step_all(
                    moved, at, before, c, kinds, events, after, degree, sizes, penalty, slack, price
                )
                before = c
                v -= cost
                if v == -np.inf:
                    break
                whole = v + closes[at, c] + length[m, c]
                if whole + ahead[at, c] > -np.inf:
                    place[nodes], parent[nodes], joints[nodes], value[nodes] = at * L + c, node, moved, whole
                    push(heap_value, heap_node, size, whole + ahead[at, c] + allowance, nodes)
                    size += 1
                    nodes += 1
        while size > 0 and found < k:  # the next node to expand
            if expanded >= limit or nodes >= MADE:
                return LIMIT, found, expanded, heap_value[0]
            estimate, node = heap_value[0], heap_node[0]
            pop(heap_value, heap_node, size)
            size -= 1
            if place[node] < 0:  # a complete output
                scores[found] = estimate
                write_output(parent[node], n, L, place, parent, outputs[found])
                found += 1
                continue
            t, a, joint, g = place[node] // L, place[node] % L, joints[node], value[node]
            if 2 * (filled + 1) > len(slots):
                slots, seen = grow_table(slots, seen)
            times = visits((joint * n + t) * L + a, slots, seen)
            if times == 0:
                filled += 1
            if times < k:
                expanded += 1
                break
        else:
            return (FOUND if found > 0 else EMPTY), found, expanded, -np.inf


@kernel
def beam_search(
    u: Floats,
    opens: Floats,
    closes: Floats,
    pair: Floats,
    types: Ints,
    length: Floats,
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
    outputs: Ints,
    scores: Floats,
) -> int:
    """As `best_first`, but only the `width` best prefixes of each length are kept; returns nodes expanded.

    Prefixes are ranked by score so far less penalties plus the best completion without rules. Those that end at one
    token are a heap with the worst on top, until it is their turn to be expanded.
    """
    n, L = u.shape
    ahead, free, nothing = np.empty((n, L)), np.zeros(len(sizes)), np.zeros((len(sizes), after.shape[1]))
    within, begun = np.empty((n, L)), np.empty((n, L))
    completions(u, opens, closes, pair, types, length, kinds, events, nothing, free, within, begun, ahead)
    width = max(width, k)
    place, parent = np.empty(n * width, np.int64), np.empty(n * width, np.int64)
    joint, value = np.empty(n * width, np.int64), np.empty(n * width)
    worst, slot, alive = np.empty((n, width)), np.empty((n, width), np.int64), np.zeros(n, np.int64)
    first: int = 0
    base: int = 1
    for r in range(len(sizes)):
        first += initial[r] * base
        base *= sizes[r]
    expanded = 0
    for t in range(-1, n - 1):
        for j in range(1 if t < 0 else alive[t]):
            expanded += 1
            node = -1 if t < 0 else t * width + j
            a, g = (L, 0.0) if t < 0 else (place[node] % L, value[node])
            for c in range(L):
                v = g + opens[t + 1, c]
                if t >= 0:
                    v += pair[types[t + 1], a, c]
                moved, before = first if t < 0 else joint[node], a
                for m in range(min(len(length), n - 1 - t)):
                    at = t + 1 + m
                    moved, cost, _ = step_all(
                        moved, at, before, c, kinds, events, after, degree, sizes, penalty, nothing, free
                    )
                    before = c
                    v += u[at, c] - cost
                    whole = v + closes[at, c] + length[m, c]
                    estimate = whole + ahead[at, c]
                    if estimate == -np.inf or (alive[at] == width and -estimate >= worst[at, 0]):
                        continue
                    if alive[at] == width:
                        new = slot[at, 0]
                        pop(worst[at], slot[at], width)
                        alive[at] -= 1
                    else:
                        new = at * width + alive[at]
                    push(worst[at], slot[at], alive[at], -estimate, new)
                    alive[at] += 1
                    place[new], parent[new], joint[new], value[new] = at * L + c, node, moved, whole
    last = (n - 1) * width
    for j in range(last, last + alive[n - 1]):
        value[j] -= final_cost(joint[j], place[j] % L, final, sizes, penalty)
    for rank in range(min(k, alive[n - 1])):
        node = last
        for j in range(last + 1, last + alive[n - 1]):
            if value[j] > value[node]:
                node = j
        if value[node] == -np.inf:
            break
        scores[rank] = value[node]
        value[node] = -np.inf
        write_output(node, n, L, place, parent, outputs[rank])
    return expanded
