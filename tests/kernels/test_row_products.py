"""Rows of matrices against NumPy: sums of products, maxima of sums, and steps of one row."""

import numpy as np
import pytest

from sidelight.kernels.compiling import Bytes, Floats, Singles, kernel
from sidelight.kernels.row_products import bits_of, maxima_of_sums, step_row, sums_of_products


@kernel
def run(maxima: bool, row: Floats, skip: int, matrix: Floats, out: Floats) -> None:
    if maxima:
        maxima_of_sums(row, skip, matrix, out)
    else:
        sums_of_products(row, skip, matrix, out)


@kernel
def run_step(table: Floats, row: int, free: Bytes, mass: Singles | Floats, factor: float) -> float:
    return step_row(table, row, free, mass, factor)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("labels", [1, 2, 7, 8, 9, 16, 22])
def test_steps_of_a_row(labels, precision):
    rng = np.random.default_rng(labels)
    table, free = rng.normal(size=(3, labels)), (rng.random((3, labels)) < 0.5).astype(float)
    mass = rng.normal(size=labels).astype(precision)
    mass[free[1] == 0] = np.nan  # of no concern where there is no weight
    before, after = table.copy(), table.copy()
    after[1] += np.where(free[1] > 0, -0.3 * np.nan_to_num(mass.astype(float)), 0.0)
    growth = run_step(table, 1, bits_of(free), mass, -0.3)
    np.testing.assert_allclose(table, after, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(table[[0, 2]], before[[0, 2]])
    assert growth == pytest.approx((after**2).sum() - (before**2).sum(), abs=1e-12)


@pytest.mark.parametrize("skip", [1, 3])
@pytest.mark.parametrize("labels", [1, 2, 7, 8, 9, 15, 16, 17, 22, 40])
@pytest.mark.parametrize("before", [1, 5, 8, 22])
def test_against_numpy(before, labels, skip):
    rng = np.random.default_rng(labels)
    room, matrix = rng.normal(size=before * skip), rng.normal(size=(before, labels))
    around = np.full(labels + 2, 7.0)
    out = around[1:-1]
    run(False, room, skip, matrix, out)
    np.testing.assert_allclose(out, room[::skip] @ matrix, rtol=1e-13, atol=1e-13)
    run(True, room, skip, matrix, out)
    np.testing.assert_array_equal(out, (room[::skip, None] + matrix).max(axis=0))
    assert around[0] == around[-1] == 7.0  # nothing is written beside it


@pytest.mark.parametrize("labels", [3, 11])
def test_forbidden_steps(labels):
    rng = np.random.default_rng(0)
    row, matrix, out = rng.normal(size=labels), rng.normal(size=(labels, labels)), np.empty(labels)
    row[1], matrix[:, 2], matrix[0, 0] = -np.inf, -np.inf, -np.inf
    run(True, row, 1, matrix, out)
    np.testing.assert_array_equal(out, (row[:, None] + matrix).max(axis=0))
    assert out[2] == -np.inf
