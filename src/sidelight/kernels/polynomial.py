"""Polynomial kernels over tokens: scores by counters of training tokens, and passes of the kernel perceptron.

The score of label c at a token x is Σ_s α_sc (x_s·x + 1)^d over the training tokens s with a counter other than zero,
the supports. Products are worked out through posting lists: for every attribute the supports that have it, one after
the other, `begin` where the room of each list begins and `fill` how many are in it. A support that shares nothing with
x counts α_sc, so that only the others need to be visited.
"""

import numpy as np

from .chain import best_path
from .compiling import Flags, Floats, Ints, Longs, inner, kernel
from .perceptron import bump, bump_tables


@inner
def _post(
    s: int, indptr: Longs, indices: Ints, values: Floats, begin: Longs, fill: Longs, post: Ints, amounts: Floats
) -> None:
    """Put a training token into the lists of its attributes."""
    for n in range(indptr[s], indptr[s + 1]):
        a = indices[n]
        post[begin[a] + fill[a]] = s
        if len(values) > 0:
            amounts[begin[a] + fill[a]] = values[n]
        fill[a] += 1


@inner
def _add_row(
    first: int, last: int, indices: Ints, values: Floats, begin: Longs, fill: Longs, post: Ints, amounts: Floats,
    counters: Floats, sums: Floats, degree: int, dots: Floats, seen: Flags, touched: Ints, row: Floats,
) -> None:  # fmt: skip
    """Add the scores of the token with the entries first to last - 1; sums: those of all counters for each label.

    dots, seen: (supports,) zero before and after; touched: room for as many.
    """
    found = 0
    for n in range(first, last):
        a = indices[n]
        value = values[n] if len(values) > 0 else 1.0
        for k in range(begin[a], begin[a] + fill[a]):
            s = post[k]
            if not seen[s]:
                seen[s] = True
                touched[found] = s
                found += 1
            dots[s] += value * (amounts[k] if len(amounts) > 0 else 1.0)
    for c in range(len(row)):
        row[c] += sums[c]
    for j in range(found):
        s = touched[j]
        more = (dots[s] + 1.0) ** degree - 1.0
        dots[s], seen[s] = 0.0, False
        for c in range(len(row)):
            row[c] += more * counters[s, c]


@kernel
def kernel_scores(
    indptr: Longs, indices: Ints, values: Floats, begin: Longs, post: Ints, amounts: Floats, counters: Floats,
    degree: int, unary: Floats,
) -> None:  # fmt: skip
    """Write the scores of tokens, (tokens, labels), by the counters of supports, (supports, labels)."""
    S, fill, sums = len(counters), begin[1:] - begin[:-1], np.zeros(unary.shape[1])
    dots, seen, touched = np.zeros(S), np.zeros(S, np.bool_), np.empty(S, np.int32)
    for s in range(S):
        sums += counters[s]
    unary[:] = 0.0
    for t in range(len(unary)):
        _add_row(indptr[t], indptr[t + 1], indices, values, begin, fill, post, amounts, counters, sums, degree, dots,
                 seen, touched, unary[t])  # fmt: skip


@kernel
def posting_lists(
    indptr: Longs, indices: Ints, values: Floats, attributes: int
) -> tuple[Longs, Ints, Floats]:  # fmt: skip
    """The lists of all tokens: where the list of every attribute begins, its tokens, and the attribute's values."""
    begin, fill = np.zeros(attributes + 1, np.int64), np.zeros(attributes, np.int64)
    for n in range(indptr[0], indptr[-1]):
        begin[indices[n] + 1] += 1
    for a in range(attributes):
        begin[a + 1] += begin[a]
    post = np.empty(begin[-1], np.int32)
    amounts = np.empty(begin[-1] if len(values) > 0 else 0)
    for s in range(len(indptr) - 1):
        _post(s, indptr, indices, values, begin, fill, post, amounts)
    return begin, post, amounts


@kernel
def kernel_pass(
    order: Longs, offsets: Longs, indptr: Longs, indices: Ints, values: Floats, gold: Ints, places: Ints, degree: int,
    margin: float, counters: Floats, late_counters: Floats, support: Ints, begin: Longs, fill: Longs, post: Ints,
    amounts: Floats, w: Floats, late: Floats, arcs: Floats, start: Floats, end: Floats, clock: float,
) -> int:  # fmt: skip
    """Visit the sequences in `order`; returns how many tokens were wrong. The clock ticks once a sequence.

    counters: (tokens, labels), late_counters: their changes times the clock; support: (tokens,) 1 where a token is in
    the lists already. The others are as in `perceptron_pass`, w and late those of label tables alone.
    """
    L, B = len(start), arcs.shape[2]
    longest = 0
    for i in order:
        longest = max(longest, offsets[i + 1] - offsets[i])
    unary, delta = np.empty((longest, L)), np.empty((longest, B * L))
    guess, types = np.empty(longest, np.int32), np.zeros(longest, np.int32)
    no_stream = np.empty(0, np.uint64)
    S, sums = len(counters), np.zeros(L)
    dots, seen, touched = np.zeros(S), np.zeros(S, np.bool_), np.empty(S, np.int32)
    for s in range(S):
        sums += counters[s]
    mistakes = 0
    for i in order:
        p, q = offsets[i], offsets[i + 1]
        n = q - p
        for t in range(n):
            for c in range(L):
                unary[t, c] = 0.0 if c == gold[p + t] else margin
            _add_row(indptr[p + t], indptr[p + t + 1], indices, values, begin, fill, post, amounts, counters, sums,
                     degree, dots, seen, touched, unary[t])  # fmt: skip
        best_path(unary[:n], arcs, types[:n], start, end, delta, guess[:n], no_stream)
        wrong = 0
        for t in range(n):
            if guess[t] == gold[p + t]:
                continue
            wrong += 1
            if support[p + t] == 0:
                support[p + t] = 1
                _post(p + t, indptr, indices, values, begin, fill, post, amounts)
            bump(counters[p + t], late_counters[p + t], gold[p + t], 1.0, clock)
            bump(counters[p + t], late_counters[p + t], guess[t], -1.0, clock)
            sums[gold[p + t]] += 1.0
            sums[guess[t]] -= 1.0
        if wrong > 0:
            bump_tables(gold[p:q], 1.0, clock, places, w, late, arcs, start, end)
            bump_tables(guess[:n], -1.0, clock, places, w, late, arcs, start, end)
        mistakes += wrong
        clock += 1.0
    return mistakes
