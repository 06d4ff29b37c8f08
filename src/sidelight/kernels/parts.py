"""Sparse linear scores of flat parts, and the transposed sums.

Rows are those of attributes in CSR form (indptr, indices, values); empty `values` means that all are one. Every row
stands for as many parts as there are labels, and table[a, c] is the weight of attribute a and label c. Sums are taken
in the order of the rows, so that they do not depend on how a batch is cut.
"""

from .compiling import Floats, Ints, Longs, ordered


@ordered
def score_parts(indptr: Longs, indices: Ints, values: Floats, table: Floats, out: Floats) -> None:
    """out[t, c] = Σ_a value * table[a, c] for all rows t."""
    L = out.shape[1]
    for t in range(len(indptr) - 1):
        for c in range(L):
            total = 0.0
            if len(values) > 0:
                for n in range(indptr[t], indptr[t + 1]):
                    total += values[n] * table[indices[n], c]
            else:
                for n in range(indptr[t], indptr[t + 1]):
                    total += table[indices[n], c]
            out[t, c] = total


@ordered
def expect_parts(indptr: Longs, indices: Ints, values: Floats, mass: Floats, table: Floats) -> None:
    """table[a, c] += Σ_t value * mass[t, c]: the transpose of `score_parts`."""
    L = mass.shape[1]
    for t in range(len(indptr) - 1):
        for c in range(L):
            m = mass[t, c]
            if m == 0.0:
                continue
            if len(values) > 0:
                for n in range(indptr[t], indptr[t + 1]):
                    table[indices[n], c] += values[n] * m
            else:
                for n in range(indptr[t], indptr[t + 1]):
                    table[indices[n], c] += m
