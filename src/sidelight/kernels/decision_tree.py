"""Decision trees on categorical columns, grown by information gain: what is asked on the way to a decision."""

import numpy as np

from .compiling import Floats, Ints, Longs, inner, kernel

# Ways to compare columns: information gain, or C4.5's gain ratio among the columns of at least average gain.
GAIN, RATIO = 0, 1


@inner
def _x_log_x(x: int) -> float:
    return x * np.log2(x) if x > 0 else 0.0


@inner
def _column_gain(
    rows: Ints, values: Ints, decisions: Ints, labels: int, least: int, entropy: float, counts: Ints, totals: Ints,
    cells: Longs, pool: Longs,
) -> tuple[float, float]:  # fmt: skip
    """Information gain of a column and the entropy of its branches, both in bits times rows; 0 without two branches.

    entropy: that of the decisions; counts: (values * labels,), totals: (values,), zero before and after; cells: room
    for as many cells as rows. Values of fewer than `least` rows are one branch together.
    """
    touched = 0
    for r in rows:
        v = values[r]
        cell = np.int64(v) * labels + decisions[r]
        if counts[cell] == 0:
            cells[touched] = cell
            touched += 1
        counts[cell] += 1
        totals[v] += 1
    pool[:] = 0
    rest, within, between, branches = 0, 0.0, 0.0, 0
    for k in range(touched):
        v = cells[k] // labels
        if totals[v] >= least:
            within -= _x_log_x(counts[cells[k]])
        else:
            pool[cells[k] - v * labels] += counts[cells[k]]
            rest += counts[cells[k]]
    for k in range(touched):
        v = cells[k] // labels
        if totals[v] >= least:
            within += _x_log_x(totals[v])
            between -= _x_log_x(totals[v])
            branches += 1
        totals[v] = 0
        counts[cells[k]] = 0
    if rest > 0:
        branches += 1
        between -= _x_log_x(rest)
        within += _x_log_x(rest)
        for c in range(labels):
            within -= _x_log_x(pool[c])
    if branches < 2:
        return 0.0, 0.0
    return max(entropy - within, 0.0), between + _x_log_x(len(rows))


@inner
def _split(rows: Ints, values: Ints, least: int, totals: Ints, order: Ints, ends: Longs) -> int:
    """Sort rows by their branches; returns how many branches there are, and where they end in `ends`.

    Values of fewer than `least` rows are the last branch.
    """
    for r in rows:
        totals[values[r]] += 1
    branches, at = 0, 0
    # totals of a value become minus one minus the place where its next row goes.
    for r in rows:
        v = values[r]
        if totals[v] >= least:
            size = totals[v]
            totals[v] = -1 - at
            at += size
            ends[branches] = at
            branches += 1
    rest = at
    for r in rows:
        v = values[r]
        if totals[v] < 0:
            order[-1 - totals[v]] = r
            totals[v] -= 1
        else:
            order[rest] = r
            rest += 1
    if rest > at:
        ends[branches] = rest
        branches += 1
    for k in range(len(rows)):
        totals[values[order[k]]] = 0
        rows[k] = order[k]
    return branches


@kernel
def grow(
    columns: Ints, sizes: Longs, decisions: Ints, labels: int, depth: int, least: int, criterion: int
) -> tuple[Longs, Longs, Longs, Floats]:
    """Grow a tree; returns for every split its parent (-1 for the first), its column, its rows and its gain in bits.

    columns: (columns, rows), values from 0; sizes: how many values each column has; decisions: (rows,), below `labels`;
    depth: splits on a path at most; least: rows of a branch at least, and twice that of what is split.
    """
    n, C = len(decisions), len(columns)
    rows, order = np.arange(n).astype(np.int32), np.empty(n, np.int32)
    largest = 1
    for size in sizes:
        largest = max(largest, size)
    counts, totals = np.zeros(largest * labels, np.int32), np.zeros(largest, np.int32)
    cells, pool, ends = np.empty(n, np.int64), np.zeros(labels, np.int64), np.empty(n, np.int64)
    gains, ratios, asked = np.zeros(C), np.zeros(C), np.zeros(C, np.bool_)
    parents, chosen, sums, bits = [np.int64(0)], [np.int64(0)], [np.int64(0)], [0.0]
    parents.clear()
    chosen.clear()
    sums.clear()
    bits.clear()
    stack = [(np.int64(0), np.int64(n), np.int64(-1), np.int64(0))]
    while len(stack) > 0:
        first, last, parent, level = stack.pop()
        some = rows[first:last]
        if level >= depth or len(some) < 2 * least:
            continue
        asked[:] = False
        up = parent
        while up >= 0:
            asked[chosen[up]] = True
            up = parents[up]
        pool[:] = 0
        for r in some:
            pool[decisions[r]] += 1
        entropy = _x_log_x(len(some))
        for c in range(labels):
            entropy -= _x_log_x(pool[c])
        if entropy <= 1e-9 * len(some):
            continue
        usable, mean = 0, 0.0
        for c in range(C):
            gains[c] = ratios[c] = 0.0
            if asked[c]:
                continue
            gains[c], between = _column_gain(
                some, columns[c], decisions, labels, least, entropy, counts, totals, cells, pool
            )  # fmt: skip
            if gains[c] > 1e-9 * len(some):
                ratios[c] = gains[c] / between
                usable += 1
                mean += gains[c]
        if usable == 0:
            continue
        mean /= usable
        best = -1
        for c in range(C):
            if ratios[c] <= 0.0:
                continue
            if criterion == RATIO:
                if gains[c] < mean * (1 - 1e-9):
                    continue
                better = best < 0 or ratios[c] > ratios[best]
            else:
                better = best < 0 or gains[c] > gains[best]
            if better:
                best = c
        number = np.int64(len(parents))
        parents.append(parent)
        chosen.append(np.int64(best))
        sums.append(np.int64(len(some)))
        bits.append(gains[best] / len(some))
        branches = _split(some, columns[best], least, totals, order, ends)
        begin = first
        for k in range(branches):
            stack.append((begin, first + ends[k], number, level + 1))
            begin = first + ends[k]
    return np.array(parents), np.array(chosen), np.array(sums), np.array(bits)
