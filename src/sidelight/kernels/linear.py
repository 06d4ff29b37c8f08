"""Sparse linear scores: sums of weights of a token's attributes, and the transposed sums.

The weights of attribute a are w[pointer[a]] to w[pointer[a + 1]], for the labels given there by `label`. Attributes
with many labels, those listed in `heavy`, also have a row each in a dense table, which is read instead: one vector
operation is cheaper than a few scattered ones. What visits attributes at random reads one number of each, its *span*
(`spans_of`): the row, as -1 - row, or where its weights begin and how many there are. Rows are token rows in CSR form
(indptr, indices, values); empty `values` means that all are one.
"""

import numpy as np

from .compiling import Bits, Bytes, Flags, Floats, Ints, Longs, Singles, kernel
from .fetching import fetch
from .row_products import add_rows, step_row

# Bits of a span that count weights.
COUNT = 20
_MOST = (1 << COUNT) - 1
# How many attributes ahead spans, and then weights, are asked for; entries of a cache line, and of a dense row that are
# asked for at most: the processor itself goes on from there.
_SPANS_AHEAD, _WEIGHTS_AHEAD = 24, 12
_LINE, _LONGEST = 8, 32


def spans_of(pointer: Longs, heavy: Longs) -> Longs:
    """The spans of attributes."""
    spans: Longs = pointer[:-1] << COUNT
    spans |= np.diff(pointer)
    spans[heavy] = -1 - np.arange(len(heavy))
    return spans


@kernel
def add_scores(
    indptr: Longs,
    indices: Ints,
    values: Floats,
    spans: Longs,
    label: Ints,
    w: Floats,
    dense: Floats,
    unary: Floats,
) -> None:
    """unary[t, c] += Σ_a value * w[a, c] for all rows t."""
    widest, end, L, flat = 0, indptr[-1], unary.shape[1], dense.reshape(dense.size)
    for t in range(len(indptr) - 1):
        widest = max(widest, indptr[t + 1] - indptr[t])
    rows, factors = np.empty(widest, np.int64), np.ones(widest)
    for t in range(len(indptr) - 1):
        row, count = unary[t], 0
        for n in range(indptr[t], indptr[t + 1]):
            if n + _SPANS_AHEAD < end:
                fetch(spans, indices[n + _SPANS_AHEAD])
            if n + _WEIGHTS_AHEAD < end:
                ahead = spans[indices[n + _WEIGHTS_AHEAD]]
                if ahead < 0:
                    for c in range(0, min(L, _LONGEST), _LINE):
                        fetch(flat, (-1 - ahead) * L + c)
                    fetch(flat, -ahead * L - 1)
                else:
                    fetch(w, ahead >> COUNT)
                    fetch(label, ahead >> COUNT)
            span = spans[indices[n]]
            value = values[n] if len(values) > 0 else 1.0
            if span < 0:
                rows[count], factors[count] = -1 - span, value
                count += 1
            else:
                begin = span >> COUNT
                for k in range(begin, begin + (span & _MOST)):
                    row[label[k]] += value * w[k]
        add_rows(rows, factors, count, dense, row)


@kernel
def add_expectations(
    indptr: Longs,
    indices: Ints,
    values: Floats,
    spans: Longs,
    label: Ints,
    mass: Floats,
    dense: Floats,
    out: Floats,
) -> None:
    """(dense or out)[a, c] += Σ_t value * mass[t, c]: the transpose of `add_scores`."""
    L = mass.shape[1]
    for t in range(len(indptr) - 1):
        row = mass[t]
        for n in range(indptr[t], indptr[t + 1]):
            span = spans[indices[n]]
            value = values[n] if len(values) > 0 else 1.0
            if span < 0:
                total = dense[-1 - span]
                for c in range(L):
                    total[c] += value * row[c]
            else:
                begin = span >> COUNT
                for k in range(begin, begin + (span & _MOST)):
                    out[k] += value * row[label[k]]


@kernel
def spread(pointer: Longs, label: Ints, w: Floats, heavy: Longs, dense: Floats) -> None:
    """Copy the weights of heavy attributes into their dense rows."""
    for row in range(len(heavy)):
        for k in range(pointer[heavy[row]], pointer[heavy[row] + 1]):
            dense[row, label[k]] = w[k]


@kernel
def collect(pointer: Longs, label: Ints, dense: Floats, heavy: Longs, out: Floats) -> None:
    """Copy dense rows back to the weights they stand for."""
    for row in range(len(heavy)):
        for k in range(pointer[heavy[row]], pointer[heavy[row] + 1]):
            out[k] = dense[row, label[k]]


@kernel
def move_weights(
    indptr: Longs,
    indices: Ints,
    values: Floats,
    spans: Longs,
    label: Ints,
    mass: Singles | Floats,
    factor: float,
    w: Floats,
    dense: Floats,
    free: Bytes,
) -> float:
    """(dense or w) += factor * Fᵀ mass, and how much ‖w‖² grew by it.

    free: where a row of `dense` has weights, as bits (`row_products.bits_of`).
    """
    growth = 0.0
    for t in range(len(indptr) - 1):
        row = mass[t]
        for n in range(indptr[t], indptr[t + 1]):
            span = spans[indices[n]]
            value = factor * values[n] if len(values) > 0 else factor
            if span < 0:
                growth += step_row(dense, -1 - span, free, row, value)
            else:
                begin = span >> COUNT
                for k in range(begin, begin + (span & _MOST)):
                    before = w[k]
                    step = value * row[label[k]]
                    growth += step * (2 * before + step)
                    w[k] = before + step
    return growth


@kernel
def mark_pairs(indptr: Longs, indices: Ints, labels: Ints, allowed: Flags, seen: Bits) -> None:
    """Set the bit of every (attribute, label) that occurs; seen: (attributes, words of 64 bits).

    labels: (tokens,) the known label, or -1 for those in `allowed`, (tokens, labels), where given.
    """
    one = np.uint64(1)
    for t in range(len(indptr) - 1):
        for n in range(indptr[t], indptr[t + 1]):
            a = indices[n]
            if labels[t] >= 0:
                seen[a, labels[t] // 64] |= one << np.uint64(labels[t] % 64)
            else:
                for c in range(allowed.shape[1]):
                    if allowed[t, c]:
                        seen[a, c // 64] |= one << np.uint64(c % 64)


@kernel
def list_labels(seen: Bits, L: int, pointer: Longs, label: Ints) -> None:
    """Turn bits into lists: fills `pointer`, and with a non-empty `label` the labels of each attribute too."""
    one = np.uint64(1)
    n = 0
    for a in range(len(seen)):
        pointer[a] = n
        for c in range(L):
            if seen[a, c // 64] & (one << np.uint64(c % 64)):
                if len(label) > 0:
                    label[n] = c
                n += 1
    pointer[len(seen)] = n
