"""Sparse rows against dense ones."""

import numpy as np

from sidelight.structures.polytope import LinearRows


def dense(rows, width):
    out = np.zeros((len(rows), width))
    for r in range(len(rows)):
        at = slice(rows.start[r], rows.start[r + 1])
        assert (np.diff(rows.index[at]) > 0).all()
        out[r, rows.index[at]] = rows.value[at]
    return out


def test_entries_of_the_same_place_add_up():
    rng = np.random.default_rng(0)
    row, variable = rng.integers(4, size=40), rng.integers(6, size=40)
    value = rng.integers(-2, 3, size=40).astype(float)
    row[0] = row[1] = variable[0] = variable[1] = 3
    table = np.zeros((5, 6))
    np.add.at(table, (row, variable), value)
    rows = LinearRows.of(np.zeros(5), np.ones(5), row, variable, value)
    np.testing.assert_array_equal(dense(rows, 6), table)
    assert (rows.value != 0).all()
    x = rng.normal(size=6)
    np.testing.assert_allclose(rows.times(x), table @ x)
    table[2, 5] += 7.0
    np.testing.assert_array_equal(dense(rows.adding(np.array([2]), np.array([5]), np.array([7.0])), 6), table)


def test_rows_after_rows():
    first = LinearRows.equal(
        np.array([1.0, 2.0]), (1.0, np.array([0, 1]), np.array([4, 0])), (-1.0, *[np.array([1])] * 2)
    )
    second = LinearRows.of(np.array([-np.inf]), np.array([3.0]), np.array([0]), np.array([2]), np.array([0.5]))
    both = LinearRows.none() + first + second
    np.testing.assert_array_equal(dense(both, 5), [[0, 0, 0, 0, 1], [1, -1, 0, 0, 0], [0, 0, 0.5, 0, 0][:5]])
    assert both.low.tolist() == [1.0, 2.0, -np.inf]
    assert both.high.tolist() == [1.0, 2.0, 3.0]
