"""Steps within budgets against the plain projection of `inference.norms`, which sorts."""

from itertools import pairwise

import numpy as np
import pytest

from sidelight.inference.norms import Norm
from sidelight.kernels.simplex import step_within


def plain(edges, radius, v):
    """Each group and label on its own."""
    out = np.maximum(v, 0.0)
    for g, (a, b) in enumerate(pairwise(edges)):
        for c in range(v.shape[1]):
            out[a:b, c] = Norm("most", np.zeros(b - a, np.int64)).project(out[a:b, c], radius[g])
    return out


@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 30, size=6)
    edges = np.concatenate(([0], np.cumsum(sizes)))
    radius = rng.choice([0.1, 1.0, 20.0], size=6)
    prices = rng.uniform(size=(edges[-1], 3)) * rng.choice([0.0, 1.0, 10.0])
    gradient = -rng.uniform(size=prices.shape).round(seed % 3 + 1)  # with ties
    out = np.full_like(prices, np.nan)
    step_within(0, 6, edges, radius, prices, gradient, 2.0, out)
    np.testing.assert_allclose(out, plain(edges, radius, prices - 2.0 * gradient), atol=1e-12)
    assert (np.add.reduceat(out, edges[:-1]) <= radius[:, None] * (1 + 1e-12)).all()


def test_only_the_groups_asked_for():
    edges, radius = np.array([0, 2, 3]), np.array([1.0, 1.0])
    out = np.full((3, 1), np.nan)
    step_within(1, 2, edges, radius, np.zeros((3, 1)), np.array([[-1.0], [-1.0], [-4.0]]), 1.0, out)
    np.testing.assert_array_equal(out, [[np.nan], [np.nan], [1.0]])


def test_what_is_inside_stays():
    prices = np.array([[0.2, 0.0], [0.3, 0.0]])
    out = np.empty_like(prices)
    step_within(0, 1, np.array([0, 2]), np.array([0.5]), prices, np.zeros_like(prices), 1.0, out)
    np.testing.assert_array_equal(out, prices)
