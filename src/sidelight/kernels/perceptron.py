"""One pass of the averaged structured perceptron, or of averaged subgradient steps of a structural SVM, over chains.

Sequences are visited in batches: the best outputs of all sequences of a batch are found with the same weights, then
each of them moves these. So lanes can share the first half of the work, and the weights do not depend on their number.
"""

import numpy as np

from .chain import best_path
from .compiling import Floats, Ints, Longs, inner, kernel
from .difference import difference_row, row_bound
from .lanes import advance, reached
from .linear import add_scores

# Places in a lane's state: the batch; whether its share of the best outputs is there; wrong tokens so far.
BATCH, FOUND, MISTAKES = 0, 1, 2


@inner
def bump(w: Floats, late: Floats, k: int, step: float, clock: float) -> None:
    """Change one weight now, and in the sum that makes the average (w - late / clock at the end)."""
    w[k] += step
    late[k] += clock * step


@inner
def bump_row(
    indptr: Longs,
    indices: Ints,
    values: Floats,
    t: int,
    pointer: Longs,
    label: Ints,
    gold: int,
    guess: int,
    step: float,
    w: Floats,
    late: Floats,
    clock: float,
    spans: Longs,
    dense: Floats,
) -> None:
    """The weights of token t's attributes: a step up for the gold label, down for the guessed one."""
    for n in range(indptr[t], indptr[t + 1]):
        a = indices[n]
        value = step * values[n] if len(values) > 0 else step
        for k in range(pointer[a], pointer[a + 1]):
            if label[k] == gold:
                bump(w, late, k, value, clock)
            elif label[k] == guess:
                bump(w, late, k, -value, clock)
            else:
                continue
            if spans[a] < 0:
                dense[-1 - spans[a], label[k]] = w[k]


@inner
def bump_tables(
    y: Ints,
    step: float,
    clock: float,
    places: Ints,
    w: Floats,
    late: Floats,
    arcs: Floats,
    start: Floats,
    end: Floats,
) -> None:
    """The weights of one output's starts, ends, pairs and triples, and the tables that mirror them.

    places: position in w of each start, end, pair (L * L) and triple (L^3, if order two), one after the other; -1
    where there is no weight.
    """
    L, n = len(start), len(y)
    second_order = arcs.shape[2] > 1
    k = places[y[0]]
    if k >= 0:
        bump(w, late, k, step, clock)
        start[y[0]] += step
    k = places[L + y[n - 1]]
    if k >= 0:
        bump(w, late, k, step, clock)
        end[y[n - 1]] += step
    for t in range(1, n):
        b, c = y[t - 1], y[t]
        k = places[2 * L + b * L + c]
        if k >= 0:
            bump(w, late, k, step, clock)
            if second_order:
                arcs[0, 0, b, 0, c] += step
                for a in range(L):
                    arcs[1, 0, b, a, c] += step
            else:
                arcs[0, 0, 0, b, c] += step
                arcs[1, 0, 0, b, c] += step
        if second_order and t >= 2:
            a = y[t - 2]
            k = places[2 * L + L * L + (a * L + b) * L + c]
            if k >= 0:
                bump(w, late, k, step, clock)
                arcs[1, 0, b, a, c] += step


@inner
def implicit_step(count: int, touched: Longs, scratch: Floats, w: Floats, loss: float, margin: float) -> float:
    """How far to go along a row Φ for the squared hinge, as seen after the step; sets the row back to zero.

    With v = w + γ Φ the scaled weights, γ = 2 (loss - v·Φ / margin), at least 0, solved for γ.
    """
    norm, product = 0.0, 0.0
    for j in range(count):
        value = scratch[touched[j]]
        scratch[touched[j]] = 0.0
        norm += value * value
        product += value * w[touched[j]]
    return max(0.0, 2.0 * (margin * loss - product) / (margin + 2.0 * norm))


@kernel
def perceptron_pass(
    order: Longs,
    offsets: Longs,
    indptr: Longs,
    indices: Ints,
    values: Floats,
    pointer: Longs,
    label: Ints,
    places: Ints,
    gold: Ints,
    weight: Floats,
    margin: float,
    growth: float,
    squared: bool,
    w: Floats,
    late: Floats,
    arcs: Floats,
    start: Floats,
    end: Floats,
    spans: Longs,
    dense: Floats,
    clock: float,
    sums: Floats,
    lane: int,
    lanes: int,
    state: Longs,
    guesses: Ints,
    counter: Longs,
) -> bool:
    """Visit the sequences in `order` as one of several lanes; False if it waits for another, or was stopped.

    Then it goes on where it was when it is called again. state[MISTAKES] says how many tokens were wrong, in the first
    lane, which alone moves the weights. The clock ticks once a sequence.

    A wrong token adds margin + growth * clock to the score of an output. weight: (sequences,) the length of the steps
    of each, empty for 1; with `squared` it is that of `implicit_step`. sums: (sequences, 2), to which the steps of each
    sequence and the steps times their wrong tokens are added; (0, 2) for neither. spans, dense: where the
    weights of attributes are, and the rows that mirror w for those with several labels (`linear`). guesses: (batch,
    tokens) best outputs, which all lanes share.
    """
    L, B = len(start), arcs.shape[2]
    longest, widest = 0, 0
    for i in order:
        longest = max(longest, offsets[i + 1] - offsets[i])
        if squared:
            widest = max(widest, row_bound(indptr[offsets[i] : offsets[i + 1] + 1], min(B, 2)))
    scratch = np.zeros(len(w) if squared else 0)
    touched = np.empty(widest, np.int64)
    unary, delta = np.empty((longest, L)), np.empty((longest, B * L))
    types = np.zeros(longest, np.int32)
    no_stream = np.empty(0, np.uint64)
    batch = len(guesses)
    while state[BATCH] * batch < len(order):
        begin, edge = state[BATCH] * batch, min((state[BATCH] + 1) * batch, len(order))
        if state[FOUND] == 0:
            if lane > 0 and not reached(counter, 0, state[BATCH]):
                return False
            for k in range(begin + lane, edge, lanes):
                i = order[k]
                p, q = offsets[i], offsets[i + 1]
                n = q - p
                price = margin + growth * (clock + k)
                for t in range(n):
                    for c in range(L):
                        unary[t, c] = 0.0 if c == gold[p + t] else price
                add_scores(indptr[p : q + 1], indices, values, spans, label, w, dense, unary[:n])
                best_path(unary[:n], arcs, types[:n], start, end, delta, guesses[k - begin, :n], no_stream)
            state[FOUND] = 1
        if lane == 0:
            for other in range(1, lanes):
                if not reached(counter, other, state[BATCH] + 1):
                    return False
            for k in range(begin, edge):
                i, now = order[k], clock + k
                p, q = offsets[i], offsets[i + 1]
                guess = guesses[k - begin, : q - p]
                wrong, step = 0, weight[i] if len(weight) > 0 else 1.0
                for t in range(q - p):
                    wrong += guess[t] != gold[p + t]
                if wrong == 0:
                    continue
                if squared:
                    count = difference_row(
                        indptr[p : q + 1], indices, values, pointer, label, places, L, B > 1, gold[p:q], guess,
                        scratch, touched,
                    )  # fmt: skip
                    step = implicit_step(count, touched, scratch, w, wrong, margin + growth * now)
                if len(sums) > 0:
                    sums[i, 0] += step
                    sums[i, 1] += step * wrong
                for t in range(q - p):
                    if guess[t] != gold[p + t]:
                        bump_row(
                            indptr, indices, values, p + t, pointer, label, gold[p + t], guess[t], step, w, late, now,
                            spans, dense,
                        )  # fmt: skip
                bump_tables(gold[p:q], step, now, places, w, late, arcs, start, end)
                bump_tables(guess, -step, now, places, w, late, arcs, start, end)
                state[MISTAKES] += wrong
        state[BATCH] += 1
        state[FOUND] = 0
        if lanes > 1:
            advance(counter, lane)
    return True
