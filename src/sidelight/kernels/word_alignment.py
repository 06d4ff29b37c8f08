"""Compiled inner loops of word aligners: IBM model 1 and the hidden Markov model, free or under constraints.

A sentence pair has I source and J target words. In the forward direction target words are emitted by source words or by
the null word, backward it is the other way round. Cells are pairs of positions, target by target: cell j * I + i of a
pair is its target word j beside its source word i, and `cells` has the number of this pair of words in the tables.

The hidden Markov model of a direction whose states are I words, with the words before as memory (0: none yet):

    p(state i | memory m) = (1 - null) jump(i - (m - 1)) / Σ_i' jump(i' - (m - 1))       p(null word | m) = null

The null word leaves the memory as it is (Och and Ney 2003), so that two numbers a state are enough: A[j, m], the
probability of the words up to j with memory m, and its counterpart B for the words after j.

Legend: e emissions of the words, u those of the null word (both scaled for each position), T transitions with their
factor 1 - null, stay the factor null.
"""

from typing import NamedTuple

import numpy as np

from .compiling import Flags, Floats, Ints, Longs, Singles, inner, kernel

NONE, BIJECTIVE, SYMMETRIC = 0, 1, 2
# The share of the expected rise that a step of the dual must reach, how often it is halved, and the longest step / γ.
_ARMIJO, _HALVINGS, _FARTHEST = 1e-4, 12, 1e3
# At a small γ weights leave the range of numbers: the null word keeps this weight, and tilts are no larger than exp of
# the second, so that every pair has an alignment.
_LEAST, _STEEPEST = 1e-290, 500.0


# Numbers of co-occurring words ----------------------------------------------------------------------------------------


@kernel
def count_pairs(target: Ints, target_offsets: Longs, sentences: Longs, starts: Longs, words: int) -> Longs:
    """Returns, for every source word, the number of different target words that stand beside it, as offsets.

    sentences: the sentence pair of each source token, these sorted by word; starts: where every word begins among
    them; words: number of different target words.
    """
    seen = np.full(words, -1, np.int64)
    out = np.zeros(len(starts), np.int64)
    for e in range(len(starts) - 1):
        found = 0
        for k in range(starts[e], starts[e + 1]):
            s = sentences[k]
            for t in range(target_offsets[s], target_offsets[s + 1]):
                if seen[target[t]] != e:
                    seen[target[t]] = e
                    found += 1
        out[e + 1] = out[e] + found
    return out


@inner
def sort(numbers: Ints) -> None:
    """Put numbers in order, in their place: Shell's sort, which compiles in a tenth of the time of NumPy's."""
    gap = len(numbers) // 2
    while gap > 0:
        for k in range(gap, len(numbers)):
            number, at = numbers[k], k
            while at >= gap and numbers[at - gap] > number:
                numbers[at] = numbers[at - gap]
                at -= gap
            numbers[at] = number
        gap = 1 if gap == 2 else gap * 5 // 11


@kernel
def number_pairs(
    source_offsets: Longs,
    target: Ints,
    target_offsets: Longs,
    tokens: Longs,
    sentences: Longs,
    starts: Longs,
    rows: Longs,
    cell_offsets: Longs,
    words: int,
    partners: Ints,
    cells: Ints,
) -> None:
    """Fills `partners` with the target words beside each source word, in order, and `cells` with their numbers.

    tokens: the source tokens sorted by word.
    """
    place = np.full(words, -1, np.int64)
    for e in range(len(starts) - 1):
        begin = rows[e]
        end = begin
        for k in range(starts[e], starts[e + 1]):
            s = sentences[k]
            for t in range(target_offsets[s], target_offsets[s + 1]):
                f = target[t]
                if place[f] < begin:
                    place[f] = begin
                    partners[end] = f
                    end += 1
        sort(partners[begin:end])
        for k in range(begin, end):
            place[partners[k]] = k
        for k in range(starts[e], starts[e + 1]):
            s = sentences[k]
            i = tokens[k] - source_offsets[s]
            length = source_offsets[s + 1] - source_offsets[s]
            for j in range(target_offsets[s + 1] - target_offsets[s]):
                cells[cell_offsets[s] + j * length + i] = place[target[target_offsets[s] + j]]


@kernel
def find_pairs(wanted_source: Ints, wanted_target: Ints, rows: Longs, partners: Ints) -> Longs:
    """Returns the numbers of pairs of words in a table, -1 for those that it does not have."""
    out = np.full(len(wanted_source), -1, np.int64)
    for k in range(len(wanted_source)):
        e, f = wanted_source[k], wanted_target[k]
        if e < 0 or f < 0:
            continue
        low, high = rows[e], rows[e + 1]
        while low < high:
            middle = (low + high) // 2
            if partners[middle] < f:
                low = middle + 1
            else:
                high = middle
        if low < rows[e + 1] and partners[low] == f:
            out[k] = low
    return out


# One direction of one pair --------------------------------------------------------------------------------------------


class Lattice(NamedTuple):
    """What one direction of one pair is worked out with: `length` words, each from one of `states` or the null word.

    e, u, T: see the legend above, raised to 1 / γ; totals: what rows of T were divided by; stay: the null word's share;
    q, q_null: posteriors; x: emissions after the prices of constraints. The rest is room for the passes.
    """

    states: int
    length: int
    e: Floats
    u: Floats
    T: Floats
    totals: Floats
    stay: float
    q: Floats
    q_null: Floats
    x: Floats
    A: Floats
    R: Floats
    scales: Floats
    B: Floats
    W: Floats
    back: Longs
    path: Longs


@inner
def _lattice(states: int, length: int, stay: float) -> Lattice:
    return Lattice(
        states, length,
        np.empty((length, states)), np.empty(length), np.empty((states + 1, states)), np.ones(states + 1), stay,
        np.empty((length, states)), np.empty(length), np.empty((length, states)),
        np.empty((length + 1, states + 1)), np.empty((length, states)), np.empty(length), np.empty(states + 1),
        np.empty((length, states)), np.empty((length, states), np.int64), np.empty(length, np.int64),
    )  # fmt: skip


@inner
def _jump(m: int, i: int, reach: int) -> int:
    """The number of a jump from memory m to state i: from a word to another, or to the first word."""
    if m == 0:
        return 2 * reach + 1 + min(i, reach)
    return max(-reach, min(reach, i - (m - 1))) + reach


@inner
def _set_transitions(one: Lattice, jumps: Floats, null: float, power: float, markov: bool) -> None:
    """Fills T, raised to a power, and the sums that its rows were divided by."""
    reach = (len(jumps) - 2) // 3
    if not markov:
        one.T[:] = ((1.0 - null) / one.states) ** power
        return
    for m in range(one.states + 1):
        total = 0.0
        for i in range(one.states):
            weight = jumps[_jump(m, i, reach)]
            one.T[m, i] = weight
            total += weight
        one.totals[m] = total
        for i in range(one.states):
            share = (1.0 - null) * one.T[m, i] / total
            one.T[m, i] = share if power == 1.0 else share**power


@inner
def _set_emissions(
    one: Lattice, cells: Ints, by_state: int, by_word: int, table: Singles, null_row: Singles, words: Ints, power: float
) -> float:
    """Fills e and u, raised to a power, each word's divided by their largest; returns the log of what was divided by.

    by_state, by_word: how far apart the cells of neighbouring states and words are.
    """
    e, u, log_scale = one.e, one.u, 0.0
    for j in range(one.length):
        top = np.float64(null_row[words[j]])
        u[j] = top
        for i in range(one.states):
            value = np.float64(table[cells[j * by_word + i * by_state]])
            e[j, i] = value
            top = max(top, value)
        log_scale += np.log(top)
        u[j] /= top
        for i in range(one.states):
            e[j, i] /= top
        if power != 1.0:
            u[j] = max(u[j] ** power, _LEAST / one.stay)
            for i in range(one.states):
                e[j, i] = e[j, i] ** power
    return log_scale * power


@inner
def _sum_product(one: Lattice, markov: bool) -> float:
    """Fills the posteriors q and q_null for the emissions x; returns log Z."""
    states, length, x, u, T, A, R, B, W = one.states, one.length, one.x, one.u, one.T, one.A, one.R, one.B, one.W
    log_z = 0.0
    if not markov:
        share = T[0, 0]
        for j in range(length):
            total = one.stay * u[j]
            for i in range(states):
                one.q[j, i] = share * x[j, i]
                total += one.q[j, i]
            for i in range(states):
                one.q[j, i] /= total
            one.q_null[j] = one.stay * u[j] / total
            log_z += np.log(total)
        return log_z
    A[0, 0] = 1.0
    A[0, 1:] = 0.0
    for j in range(length):
        for i in range(states):
            R[j, i] = A[j, 0] * T[0, i]
        if j > 0:
            for m in range(1, states + 1):
                a = A[j, m]
                for i in range(states):
                    R[j, i] += a * T[m, i]
        keep = one.stay * u[j]
        total = keep * A[j, 0]
        for i in range(states):
            R[j, i] *= x[j, i]
            total += R[j, i] + keep * A[j, i + 1]
        one.scales[j] = total
        log_z += np.log(total)
        inverse = 1.0 / total
        A[j + 1, 0] = keep * A[j, 0] * inverse
        for i in range(states):
            R[j, i] *= inverse
            A[j + 1, i + 1] = R[j, i] + keep * A[j, i + 1] * inverse
    B[:] = 1.0
    for j in range(length - 1, -1, -1):
        inverse = 1.0 / one.scales[j]
        keep = one.stay * u[j] * inverse
        none = A[j, 0] * B[0]
        for i in range(states):
            one.q[j, i] = R[j, i] * B[i + 1]
            W[j, i] = x[j, i] * B[i + 1] * inverse
            none += A[j, i + 1] * B[i + 1]
        one.q_null[j] = keep * none
        if j > 0:
            for m in range(states + 1):
                total = 0.0
                for i in range(states):
                    total += T[m, i] * W[j, i]
                B[m] = total + keep * B[m]
    return log_z


@inner
def _max_product(one: Lattice, markov: bool) -> float:
    """Fills q and q_null with the zeros and ones of the best alignment; returns the log of its weight."""
    states, length, x, u, T, A, back, path = one.states, one.length, one.x, one.u, one.T, one.A, one.back, one.path
    log_best = 0.0
    if not markov:
        for j in range(length):
            best, path[j] = one.stay * u[j], -1
            for i in range(states):
                if T[0, 0] * x[j, i] > best:
                    best, path[j] = T[0, 0] * x[j, i], i
            log_best += np.log(best)
    else:
        A[0, 0] = 1.0
        A[0, 1:] = 0.0
        for j in range(length):
            keep = one.stay * u[j]
            A[j + 1, 0] = keep * A[j, 0]
            top = A[j + 1, 0]
            for i in range(states):
                best, before = 0.0, 0
                for m in range(states + 1):
                    if A[j, m] * T[m, i] > best:
                        best, before = A[j, m] * T[m, i], m
                best *= x[j, i]
                if keep * A[j, i + 1] > best:
                    best, before = keep * A[j, i + 1], -1
                A[j + 1, i + 1], back[j, i] = best, before
                top = max(top, best)
            log_best += np.log(top)
            for m in range(states + 1):
                A[j + 1, m] /= top
        m = 0
        for k in range(1, states + 1):
            if A[length, k] > A[length, m]:
                m = k
        for j in range(length - 1, -1, -1):
            path[j] = -1
            if m > 0 and back[j, m - 1] >= 0:
                path[j] = m - 1
                m = back[j, m - 1]
    one.q[:] = 0.0
    one.q_null[:] = 0.0
    for j in range(length):
        if path[j] < 0:
            one.q_null[j] = 1.0
        else:
            one.q[j, path[j]] = 1.0
    return log_best


@inner
def _count_jumps(one: Lattice, hard: bool, reach: int, uses: Floats, chances: Floats) -> None:
    """Adds the expected jumps to `uses`, and to `chances` what they are divided by for the next jumps.

    Jumps are normalised among those that stay in the sentence. Their likelihood Σ_d n_d log c_d - Σ_m N_m log Σ_i c_mi
    is raised by c_d = n_d / Σ_m (N_m / Σ_i c_mi), the outer sum over the memories that d is possible from (a
    minorisation; Hunter 2004).
    """
    C = np.zeros((one.states + 1, one.states))
    if hard:
        m = 0
        for j in range(one.length):
            if one.path[j] >= 0:
                C[m, one.path[j]] += 1.0
                m = one.path[j] + 1
    else:
        for j in range(one.length):
            for m in range(1 if j == 0 else one.states + 1):
                a = one.A[j, m]
                for i in range(one.states):
                    C[m, i] += a * one.W[j, i]
        for m in range(one.states + 1):
            for i in range(one.states):
                C[m, i] *= one.T[m, i]
    for m in range(one.states + 1):
        used = 0.0
        for i in range(one.states):
            uses[_jump(m, i, reach)] += C[m, i]
            used += C[m, i]
        if used > 0.0:
            for i in range(one.states):
                chances[_jump(m, i, reach)] += used / one.totals[m]


# Constraints ----------------------------------------------------------------------------------------------------------


@inner
def _dual(
    sides: tuple[Lattice, Lattice], constraint: int, prices: Floats, gamma: float, markov: bool, gradient: Floats
) -> float:
    """Fills the posteriors under these prices and the gradient of the dual, and returns its value.

    Bijective: a price λ >= 0 for every word of both sides, which pays for each of its links above one,
    -γ log Z_1(λ) - γ log Z_2(λ) - Σ λ. Symmetric: a price for every cell, which forward links pay and backward links
    get, -γ log Z_1(λ) - γ log Z_2(-λ).
    """
    one, two = sides
    n, m = one.states, one.length
    heat = 1.0 if gamma == 0.0 else gamma
    value = 0.0
    if constraint == NONE:
        for j in range(m):
            for i in range(n):
                one.x[j, i], two.x[i, j] = one.e[j, i], two.e[i, j]
    elif constraint == BIJECTIVE:
        for k in range(n + m):
            value -= prices[k]
            tilt = np.exp(-min(prices[k] / heat, _STEEPEST))
            if k < n:
                for j in range(m):
                    one.x[j, k] = one.e[j, k] * tilt
            else:
                for i in range(n):
                    two.x[i, k - n] = two.e[i, k - n] * tilt
    else:
        for j in range(m):
            for i in range(n):
                tilt = np.exp(max(-_STEEPEST, min(_STEEPEST, prices[j * n + i] / heat)))
                one.x[j, i] = one.e[j, i] / tilt
                two.x[i, j] = two.e[i, j] * tilt
    for side in sides:
        if gamma == 0.0:
            value -= _max_product(side, markov)
        else:
            value -= gamma * _sum_product(side, markov)
    if constraint == BIJECTIVE:
        gradient[:] = -1.0
        for j in range(m):
            for i in range(n):
                gradient[i] += one.q[j, i]
                gradient[n + j] += two.q[i, j]
    elif constraint == SYMMETRIC:
        for j in range(m):
            for i in range(n):
                gradient[j * n + i] = one.q[j, i] - two.q[i, j]
    return value


@inner
def _project(
    sides: tuple[Lattice, Lattice], constraint: int, gamma: float, markov: bool, steps: int, tolerance: float
) -> float:
    """Fills the posteriors that keep to the constraint; returns their objective, E_q[log p] + γ H(q).

    For γ > 0 the dual is raised by projected gradients with spectral steps, halved until it rises. For γ = 0 its
    subgradients are followed with steps that get shorter whenever it falls (Rush et al. 2010). This is Algorithm 9 of
    Chang 2011, in which the signs of lines 5 and 6 contradict line 7 as printed; here all follow from its Lagrange
    function. Ends when no constraint is missed by more than the tolerance, or after this many steps.
    """
    n, m = sides[0].states, sides[0].length
    size = 0 if constraint == NONE else n + m if constraint == BIJECTIVE else n * m
    lowest = 0.0 if constraint == BIJECTIVE else -np.inf
    hard = gamma == 0.0
    prices, gradient, trial, new = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
    value, rate, rise, taken, halved, falls, ending = -np.inf, 1.0 if hard else gamma, 0.0, 0, 0, 0, False
    while True:
        new_value = _dual(sides, constraint, trial, gamma, markov, new)
        if ending:
            break
        if hard or taken == 0 or new_value >= value + _ARMIJO * rise:
            along, bend, worst = 0.0, 0.0, 0.0
            for k in range(size):
                move = trial[k] - prices[k]
                along += move * move
                bend -= move * (new[k] - gradient[k])
                prices[k] = trial[k]
                gradient[k] = new[k]
                missed = abs(new[k]) if constraint == SYMMETRIC else max(new[k], min(-new[k], prices[k]))
                worst = max(worst, missed)
            falls += 1 if new_value < value else 0
            value = new_value
            if worst <= tolerance or taken >= steps:
                break
            if hard:
                rate = 1.0 / (1.0 + falls)
            elif taken > 0:
                rate = min(_FARTHEST * gamma, along / bend) if bend > 0.0 else 2.0 * rate
            taken, halved = taken + 1, 0
        elif halved >= _HALVINGS:
            ending = True
        else:
            rate, halved = 0.5 * rate, halved + 1
        rise = 0.0
        for k in range(size):
            trial[k] = prices[k] if ending else max(lowest, prices[k] + rate * gradient[k])
            rise += gradient[k] * (trial[k] - prices[k])
    return -value


# Sentence pairs -------------------------------------------------------------------------------------------------------


class Direction(NamedTuple):
    """The parameters of one direction. table: of each pair of words; null_row: what the null word emits; jumps: 2 K + 1
    jumps between words by their distance, of at least -K and at most K, and K + 1 jumps to the first word."""

    table: Singles
    null_row: Singles
    jumps: Floats
    null: float


class Pairs(NamedTuple):
    """Sentence pairs: words of both sides with their offsets, and the cells with theirs."""

    source: Ints
    source_offsets: Longs
    target: Ints
    target_offsets: Longs
    cells: Ints
    cell_offsets: Longs


@kernel
def expect(
    pairs: Pairs,
    first: int,
    last: int,
    forward: Direction,
    backward: Direction,
    markov: bool,
    constraint: int,
    gamma: float,
    steps: int,
    tolerance: float,
    start: int,
    q_forward: Singles,
    q_backward: Singles,
    null_forward: Singles,
    null_backward: Singles,
    uses: Floats,
    chances: Floats,
) -> float:
    """Fills the posteriors of the pairs from `first` to `last` - 1; returns their objective.

    start: the pair that the arrays of posteriors begin with; these have the order of cells, of target words and of
    source words. uses, chances: (2, jumps), to which the jumps of both directions are added.
    """
    hard = gamma == 0.0
    power = 1.0 if hard else 1.0 / gamma
    reach = (len(forward.jumps) - 2) // 3
    objective = 0.0
    for s in range(first, last):
        source = pairs.source[pairs.source_offsets[s] : pairs.source_offsets[s + 1]]
        target = pairs.target[pairs.target_offsets[s] : pairs.target_offsets[s + 1]]
        cells = pairs.cells[pairs.cell_offsets[s] : pairs.cell_offsets[s + 1]]
        n, m = len(source), len(target)
        if n == 0 or m == 0:
            continue
        sides = (_lattice(n, m, forward.null**power), _lattice(m, n, backward.null**power))
        one, two = sides
        _set_transitions(one, forward.jumps, forward.null, power, markov)
        _set_transitions(two, backward.jumps, backward.null, power, markov)
        log_scale = _set_emissions(one, cells, 1, n, forward.table, forward.null_row, target, power)
        log_scale += _set_emissions(two, cells, n, 1, backward.table, backward.null_row, source, power)
        objective += log_scale / power + _project(sides, constraint, gamma, markov, steps, tolerance)
        if markov:
            _count_jumps(one, hard, reach, uses[0], chances[0])
            _count_jumps(two, hard, reach, uses[1], chances[1])
        cell = pairs.cell_offsets[s] - pairs.cell_offsets[start]
        for j in range(m):
            for i in range(n):
                q_forward[cell + j * n + i] = one.q[j, i]
                q_backward[cell + j * n + i] = two.q[i, j]
        for j in range(m):
            null_forward[pairs.target_offsets[s] - pairs.target_offsets[start] + j] = one.q_null[j]
        for i in range(n):
            null_backward[pairs.source_offsets[s] - pairs.source_offsets[start] + i] = two.q_null[i]
    return objective


# Estimates ------------------------------------------------------------------------------------------------------------


@kernel
def add_counts(numbers: Ints, expected: Singles, counts: Floats) -> None:
    """Adds expected uses to the counts with these numbers, in order."""
    for k in range(len(numbers)):
        counts[numbers[k]] += expected[k]


@inner
def _exp_digamma(x: float) -> float:
    """The exponential of the digamma function, for x > 0."""
    shift = 0.0
    while x < 6.0:
        shift += 1.0 / x
        x += 1.0
    r = 1.0 / (x * x)
    digamma = np.log(x) - 0.5 / x - r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r / 240)))
    return float(np.exp(digamma - shift))


@kernel
def normalise(
    counts: Floats, owners: Ints, number: int, prior: float, extra: Floats, spread: float, lowest: float, table: Singles
) -> None:
    """Fills a table of probabilities given `owners`: counts divided by their sums, or for a Dirichlet prior above 0
    what variational Bayes puts in their place.

    extra: uses that are added to the counts (none if it is empty), which sum up to `spread` for every owner at most.
    """
    totals = np.zeros(number)
    for k in range(len(counts)):
        totals[owners[k]] += counts[k] + prior
    for k in range(number):
        totals[k] += spread
        if prior > 0.0 and totals[k] > 0.0:
            totals[k] = _exp_digamma(totals[k])
    for k in range(len(counts)):
        value = counts[k] + (extra[k] if len(extra) else 0.0)
        if prior > 0.0:
            value = _exp_digamma(value + prior)
        total = totals[owners[k]]
        table[k] = max(value / total, lowest) if total > 0.0 else lowest


# Words that are alike -------------------------------------------------------------------------------------------------


@kernel
def number_stems(rows: Longs, partners: Ints, words: Longs, starts: Longs, stems: Ints, number: int, out: Ints) -> int:
    """Fills `out` with a number for every pair's pair of stems, and returns how many there are.

    words: the source words sorted by stem; starts: where every stem begins among them; stems: those of the target
    words; number: how many of these there are.
    """
    seen = np.full(number, -1, np.int64)
    count = 0
    for stem in range(len(starts) - 1):
        begin = count
        for k in range(starts[stem], starts[stem + 1]):
            for pair in range(rows[words[k]], rows[words[k] + 1]):
                other = stems[partners[pair]]
                if seen[other] < begin:
                    seen[other] = count
                    count += 1
                out[pair] = seen[other]
    return count


@inner
def largest(numbers: Ints) -> int:
    """The largest of some numbers, at least 0."""
    found = 0
    for number in numbers:
        found = max(found, number)
    return found


@kernel
def stem_uses(
    counts: Floats,
    pairs: Ints,
    number: int,
    owners: Ints,
    owner_stems: Ints,
    partners: Ints,
    partner_stems: Ints,
    uses: float,
    out: Floats,
) -> None:
    """Fills `out` with `uses` of every word, shared out as its stem's: p(stem of f | stem of e) p(f | stem of f).

    pairs: the number of each pair's pair of stems, of which there are `number`.
    """
    both = np.zeros(number)
    given, emitted = np.zeros(largest(owner_stems) + 1), np.zeros(largest(partner_stems) + 1)
    words = np.zeros(len(partner_stems))
    for k in range(len(counts)):
        both[pairs[k]] += counts[k]
        given[owner_stems[owners[k]]] += counts[k]
        emitted[partner_stems[partners[k]]] += counts[k]
        words[partners[k]] += counts[k]
    for k in range(len(counts)):
        total = given[owner_stems[owners[k]]] * emitted[partner_stems[partners[k]]]
        out[k] = uses * both[pairs[k]] * words[partners[k]] / total if total > 0.0 else 0.0


@kernel
def likeness(
    owners: Ints, partners: Ints, source: Ints, source_offsets: Longs, target: Ints, target_offsets: Longs, out: Singles
) -> None:
    """Fills `out` with how alike the words of each pair are: letters that they begin with together, divided by the
    longer one's; 0 if these are less than four and not both whole words, or less than half."""
    for k in range(len(owners)):
        a, b = source_offsets[owners[k]], target_offsets[partners[k]]
        n, m = source_offsets[owners[k] + 1] - a, target_offsets[partners[k] + 1] - b
        same = 0
        while same < n and same < m and source[a + same] == target[b + same]:
            same += 1
        longest = max(n, m)
        out[k] = 0.0
        if 2 * same >= longest and (same >= 4 or (same == longest and same >= 2)):
            out[k] = same / longest


# Links ----------------------------------------------------------------------------------------------------------------


@kernel
def grow_links(source_offsets: Longs, target_offsets: Longs, forward: Flags, backward: Flags, links: Flags) -> None:
    """Fills `links` with grow-diag-final-and of the links of both directions (Koehn, Och and Marcu 2003).

    Links of both directions first; then, as long as any is added, links of either beside one that is there, if one of
    their words has none; then links of either, forward ones first, both of whose words have none.
    """
    cell = 0
    for s in range(len(source_offsets) - 1):
        n, m = source_offsets[s + 1] - source_offsets[s], target_offsets[s + 1] - target_offsets[s]
        one = forward[cell : cell + n * m].reshape(m, n)
        two = backward[cell : cell + n * m].reshape(m, n)
        out = links[cell : cell + n * m].reshape(m, n)
        cell += n * m
        sources, targets = np.zeros(n, np.bool_), np.zeros(m, np.bool_)
        for j in range(m):
            for i in range(n):
                out[j, i] = one[j, i] and two[j, i]
                if out[j, i]:
                    sources[i] = targets[j] = True
        added = True
        while added:
            added = False
            for i in range(n):
                for j in range(m):
                    if not out[j, i]:
                        continue
                    for near in range(9):
                        k, h = i + near % 3 - 1, j + near // 3 - 1
                        if not (0 <= k < n and 0 <= h < m) or out[h, k] or (sources[k] and targets[h]):
                            continue
                        if one[h, k] or two[h, k]:
                            out[h, k] = sources[k] = targets[h] = added = True
        for turn in range(2):
            given = one if turn == 0 else two
            for i in range(n):
                for j in range(m):
                    if given[j, i] and not sources[i] and not targets[j]:
                        out[j, i] = sources[i] = targets[j] = True
