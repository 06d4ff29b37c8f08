"""Balls of norms: nearest points, shrinking and duals by what defines them."""

import numpy as np
import pytest

from sidelight.inference.norms import Norm

GROUP = np.array([0, 1, 0, 2, 1, 0])
NAMES = ["l1", "l2", "linf", "group", "most"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_nearest_points(name, seed):
    rng = np.random.default_rng(seed)
    norm, v = Norm(name, GROUP), 2 * rng.normal(size=6)
    radius = 0.6 * norm.size(v)
    near = norm.project(v, radius)
    np.testing.assert_allclose(norm.size(near), radius)
    for _ in range(50):  # the nearest point makes no acute angle with any other of the ball
        other = norm.project(rng.normal(size=6) * 3, radius)
        assert (v - near) @ (other - near) <= 1e-7
    np.testing.assert_array_equal(norm.project(v, 2 * radius / 0.6), v)


@pytest.mark.parametrize("name", NAMES)
def test_shrinking_and_duals(name):
    rng = np.random.default_rng(0)
    norm, v = Norm(name, GROUP), rng.normal(size=6)
    for _ in range(100):
        u = rng.normal(size=6)
        assert abs(u @ v) <= norm.size(u) * norm.dual.size(v) + 1e-12
    small = norm.shrink(v, 0.3)

    def value(u):
        return 0.5 * ((u - v) ** 2).sum() + 0.3 * norm.size(u)

    for _ in range(200):
        assert value(small) <= value(small + 0.1 * rng.normal(size=6)) + 1e-12
    assert norm.dual.dual.name == name
    assert Norm(name, np.empty(0, np.int64)).size(np.empty(0)) == 0.0
