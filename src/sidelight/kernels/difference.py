"""The sparse row F(x, y) - F(x, z) of two outputs of one sequence, merged through a scratch array over the weights."""

from .compiling import Floats, Ints, Longs, inner


@inner
def note(k: int, step: float, scratch: Floats, touched: Longs, count: int) -> int:
    """scratch[k] += step; lists k as touched if it was zero. Returns how many are listed."""
    if k < 0:
        return count
    if scratch[k] == 0.0:
        touched[count] = k
        count += 1
    scratch[k] += step
    return count


@inner
def note_output(
    rows: Longs,
    indices: Ints,
    values: Floats,
    pointer: Longs,
    label: Ints,
    places: Ints,
    labels: int,
    second_order: bool,
    y: Ints,
    other: Ints,
    sign: float,
    scratch: Floats,
    touched: Longs,
    count: int,
) -> int:
    """scratch += sign * F(x, y), but for parts that `other` (it may be empty) has too; rows: indptr of the sequence."""
    L, n, alone = labels, len(y), len(other) == 0
    if alone or y[0] != other[0]:
        count = note(places[y[0]], sign, scratch, touched, count)
    if alone or y[n - 1] != other[n - 1]:
        count = note(places[L + y[n - 1]], sign, scratch, touched, count)
    for t in range(n):
        here = alone or y[t] != other[t]
        before = t >= 1 and (alone or y[t - 1] != other[t - 1])
        if here:
            for m in range(rows[t], rows[t + 1]):
                a = indices[m]
                value = values[m] if len(values) > 0 else 1.0
                for k in range(pointer[a], pointer[a + 1]):
                    if label[k] == y[t]:
                        count = note(k, sign * value, scratch, touched, count)
        if t >= 1 and (here or before):
            count = note(places[2 * L + y[t - 1] * L + y[t]], sign, scratch, touched, count)
        if second_order and t >= 2 and (here or before or y[t - 2] != other[t - 2]):
            triple = (y[t - 2] * L + y[t - 1]) * L + y[t]
            count = note(places[2 * L + L * L + triple], sign, scratch, touched, count)
    return count


@inner
def row_bound(rows: Longs, order: int) -> int:
    """How many times a row of this sequence can touch a weight at most."""
    n = len(rows) - 1
    entries: int = rows[n] - rows[0]
    return 2 * (entries + order * n + 2)


@inner
def difference_row(
    rows: Longs,
    indices: Ints,
    values: Floats,
    pointer: Longs,
    label: Ints,
    places: Ints,
    labels: int,
    second_order: bool,
    y: Ints,
    z: Ints,
    scratch: Floats,
    touched: Longs,
) -> int:
    """scratch += F(x, y) - F(x, z); the places that may not be zero go into `touched`, their number is returned.

    scratch: (weights,), zero before; a place may be listed twice. Who reads it sets it back to zero. An empty output
    counts as nothing.
    """
    count = 0
    if len(y) > 0:
        count = note_output(
            rows, indices, values, pointer, label, places, labels, second_order, y, z, 1.0, scratch, touched, count
        )  # fmt: skip
    if len(z) > 0:
        count = note_output(
            rows, indices, values, pointer, label, places, labels, second_order, z, y, -1.0, scratch, touched, count
        )  # fmt: skip
    return count
