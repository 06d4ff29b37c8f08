"""One pass of k-best MIRA over chains: a small quadratic program for every sequence."""

import numpy as np

from .chain import k_best_path
from .compiling import Floats, Ints, Longs, kernel
from .difference import difference_row, row_bound
from .linear import add_scores
from .perceptron import bump_row, bump_tables

# Hildreth's procedure ends when no step moves a margin by more than this share of the largest violation, or after so
# many sweeps (without a cap, constraints that contradict each other have no solution).
_PRECISION = 1e-6
_SWEEPS = 200
# A margin missed by less than this is met.
_MET = 1e-4


@kernel
def hildreth(gram: Floats, violation: Floats, cap: float, alpha: Floats) -> None:
    """max over 0 <= α <= cap of violation·α - αᵀ G α / 2, one coordinate after the other (Hildreth 1957).

    gram: (m, m), violation and alpha: (m,). A row without features has no say.
    """
    m = len(alpha)
    largest = 0.0
    for r in range(m):
        alpha[r] = 0.0
        largest = max(largest, abs(violation[r]))
    for _ in range(_SWEEPS):
        moved = 0.0
        for r in range(m):
            if gram[r, r] <= 0.0:
                continue
            gradient = violation[r]
            for s in range(m):
                gradient -= gram[r, s] * alpha[s]
            new = min(max(alpha[r] + gradient / gram[r, r], 0.0), cap)
            moved = max(moved, abs(new - alpha[r]) * gram[r, r])
            alpha[r] = new
        if moved <= _PRECISION * largest:
            break


@kernel
def mira_pass(
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
    k: int,
    cap: float,
    w: Floats,
    late: Floats,
    arcs: Floats,
    start: Floats,
    end: Floats,
    spans: Longs,
    dense: Floats,
    clock: float,
) -> tuple[int, int]:
    """Visit the sequences in `order`; how many tokens of the best outputs were wrong, and how many visits moved w.

    Row r of a visit is Φ_r = F(x, y) - F(x, y_r) for the r-th best output, kept sparse in row_at and row_value from
    edge[r] on; the clock ticks once a sequence. weight: (sequences,) what the cap of each is multiplied by, empty
    for 1. spans, dense: where the weights of attributes are, and the rows that mirror w (`linear`).
    """
    L, second_order = len(start), arcs.shape[2] > 1
    longest, widest = 0, 0
    for i in order:
        rows = indptr[offsets[i] : offsets[i + 1] + 1]
        longest = max(longest, len(rows) - 1)
        widest = max(widest, row_bound(rows, 2 if second_order else 1))
    unary = np.empty((longest, L))
    types = np.zeros(longest, np.int32)
    outputs = np.empty((k, longest), np.int32)
    scores = np.empty(k)
    scratch = np.zeros(len(w))
    touched = np.empty(widest, np.int64)
    row_at = np.empty(k * widest, np.int64)
    row_value = np.empty(k * widest)
    edge = np.zeros(k + 1, np.int64)
    rank = np.empty(k, np.int64)
    gram = np.empty((k, k))
    violation = np.empty(k)
    alpha = np.empty(k)
    mistakes, moves = 0, 0
    clock -= 1.0
    for i in order:
        clock += 1.0
        p, q = offsets[i], offsets[i + 1]
        n = q - p
        y, rows = gold[p:q], indptr[p : q + 1]
        unary[:n] = 0.0
        add_scores(rows, indices, values, spans, label, w, dense, unary[:n])
        k_best_path(unary[:n], arcs, types[:n], start, end, k, outputs[:, :n], scores)
        m = 0
        for r in range(k):
            if scores[r] == -np.inf:
                break
            z = outputs[r, :n]
            wrong = 0
            for t in range(n):
                wrong += z[t] != y[t]
            if r == 0:
                mistakes += wrong
            if wrong == 0:
                continue
            count = difference_row(
                rows, indices, values, pointer, label, places, L, second_order, y, z, scratch, touched
            )  # fmt: skip
            for s in range(m):
                total = 0.0
                for j in range(edge[s], edge[s + 1]):
                    total += row_value[j] * scratch[row_at[j]]
                gram[m, s] = gram[s, m] = total
            top, norm, margin = edge[m], 0.0, 0.0
            for j in range(count):
                at = touched[j]
                value = scratch[at]
                if value != 0.0:
                    scratch[at] = 0.0
                    row_at[top] = at
                    row_value[top] = value
                    norm += value * value
                    margin += value * w[at]
                    top += 1
            gram[m, m] = norm
            violation[m] = wrong - margin
            rank[m] = r
            m += 1
            edge[m] = top
        worst = 0.0
        for s in range(m):
            if gram[s, s] > 0.0:
                worst = max(worst, violation[s])
        if worst <= _MET:
            continue
        moves += 1
        hildreth(gram[:m, :m], violation[:m], cap * weight[i] if len(weight) > 0 else cap, alpha[:m])
        total = 0.0
        for s in range(m):
            step = alpha[s]
            if step > 0.0:
                total += step
                z = outputs[rank[s], :n]
                for t in range(n):
                    if z[t] != y[t]:
                        bump_row(
                            indptr, indices, values, p + t, pointer, label, y[t], z[t], step, w, late, clock,
                            spans, dense,
                        )  # fmt: skip
                bump_tables(z, -step, clock, places, w, late, arcs, start, end)
        bump_tables(y, total, clock, places, w, late, arcs, start, end)
    return mistakes, moves
