"""Rows times matrices against NumPy: sums of products, and maxima of sums."""

import numpy as np
import pytest

from sidelight.kernels.compiling import Floats, kernel
from sidelight.kernels.row_products import maxima_of_sums, sums_of_products


@kernel
def run(maxima: bool, row: Floats, skip: int, matrix: Floats, out: Floats) -> None:
    if maxima:
        maxima_of_sums(row, skip, matrix, out)
    else:
        sums_of_products(row, skip, matrix, out)


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
