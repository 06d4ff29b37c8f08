"""Exponentials in vector registers against NumPy's."""

import numpy as np
import pytest

from sidelight.kernels.compiling import Floats, kernel
from sidelight.kernels.exponential import exponentiate


@kernel
def run(values: Floats) -> None:
    exponentiate(values)


@pytest.mark.parametrize("count", [1, 7, 8, 22, 5000])
def test_within_two_units_in_the_last_place(count):
    x = -np.random.default_rng(count).exponential(60.0, size=count)
    found = x.copy()
    run(found)
    there = x >= -708.0
    np.testing.assert_allclose(found[there], np.exp(x[there]), rtol=5e-16)
    assert (found[~there] == 0.0).all()


def test_ends_of_the_range():
    found = np.array([0.0, -0.0, -1e-300, -708.0, -708.5, -746.0, -1e300, -np.inf, np.nan])
    run(found)
    np.testing.assert_array_equal(found[:3], 1.0)
    assert found[3] == pytest.approx(np.exp(-708.0), rel=5e-16)
    np.testing.assert_array_equal(found[4:8], 0.0)
    assert np.isnan(found[8])


def test_halves_of_the_logarithm_of_two():
    """Where the whole number nearest to x / log 2 changes, both neighbours are right."""
    x = np.concatenate([np.nextafter(-(k + 0.5) * np.log(2.0), [-np.inf, np.inf]) for k in range(1000)])
    found = x.copy()
    run(found)
    np.testing.assert_allclose(found, np.exp(x), rtol=5e-16)
