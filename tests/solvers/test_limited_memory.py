"""L-BFGS against the recursion of the textbook, and on functions with known optima."""

import numpy as np
import pytest

from sidelight.solvers.limited_memory import Changes, Point, minimize


def quadratic(seed=0, size=40, steepest=1e4):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(size, size)))[0]
    matrix = turn @ np.diag(np.geomspace(1.0, steepest, size)) @ turn.T
    best = rng.normal(size=size)
    return (lambda x: (0.5 * float((x - best) @ matrix @ (x - best)), matrix @ (x - best))), best


def two_loops(pairs, gradient):
    """-H∇f by Algorithm 7.4 of Nocedal and Wright 2006."""
    q, kept = gradient.copy(), []
    for s, y in reversed(pairs):
        kept.append((s @ q) / (s @ y))
        q -= kept[-1] * y
    s, y = pairs[-1]
    q *= (s @ y) / (y @ y)
    for (s, y), a in zip(pairs, reversed(kept), strict=True):
        q += s * (a - (y @ q) / (s @ y))
    return -q


def test_steps_are_those_of_the_recursion():
    function, _ = quadratic()
    rng = np.random.default_rng(1)
    changes, pairs = Changes(40), []
    point = Point(np.zeros(40), *function(np.zeros(40)))
    np.testing.assert_array_equal(changes.step(point.gradient), -point.gradient)
    for _ in range(25):
        at = point.at + 0.1 * rng.normal(size=40)
        now = Point(at, *function(at))
        changes.learn(point, now)
        pairs.append((now.at - point.at, now.gradient - point.gradient))
        point = now
        expected = two_loops(pairs[-10:], point.gradient)
        np.testing.assert_allclose(changes.step(point.gradient), expected, rtol=1e-6, atol=1e-8 * abs(expected).max())
    changes.forget()
    np.testing.assert_array_equal(changes.step(point.gradient), -point.gradient)


def watched(function):
    """The function, and what it was asked."""
    asked = []

    def ask(x):
        asked.append(x)
        return function(x)

    return ask, asked


def test_finds_optima():
    function, best = quadratic(steepest=100.0)
    np.testing.assert_allclose(minimize(function, np.zeros(40), 500, lambda x: False), best, atol=1e-6)

    def valley(x):  # Rosenbrock's: curved, and not convex
        gap = x[1] - x[0] ** 2
        return float(100 * gap**2 + (1 - x[0]) ** 2), np.array([-400 * gap * x[0] - 2 * (1 - x[0]), 200 * gap])

    np.testing.assert_allclose(minimize(valley, np.array([-1.2, 1.0]), 200, lambda x: False), 1.0, atol=1e-6)


def test_values_fall_and_each_point_was_asked_last():
    function, _ = quadratic(2)
    ask, asked = watched(function)
    points = []

    def after(descent):
        assert descent.point.at is asked[-1]
        points.append(descent.point.at)
        return len(points) == 7

    last = minimize(ask, np.ones(40), 100, after)
    assert len(points) == 7
    assert last is points[-1]
    values = [function(x)[0] for x in (np.ones(40), *points)]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) == 8
    points.clear()
    minimize(ask, np.ones(40), 3, after)
    assert len(points) == 3


@pytest.mark.parametrize(("start", "asked", "end"), [(4.0, [4.0, 3.0], 3.0), (20.0, [20.0, 19.0, 16.0], 16.0)])
def test_a_step_that_leaves_nine_tenths_of_the_slope_is_taken(start, asked, end):
    """Of x² / (2 start), whose slope is 1 at the start: a step of 1 leaves 3/4 of it, or 19/20, which is too much."""
    ask, points = watched(lambda x: (float(x[0] ** 2) / (2 * start), x / start))
    assert minimize(ask, np.array([start]), 1, lambda x: False) == pytest.approx(end)
    np.testing.assert_allclose(np.concatenate(points), asked)


@pytest.mark.parametrize("beyond", [np.inf, np.nan])
def test_a_step_too_far_is_shortened(beyond):
    def function(x):
        if (x >= 1).any():
            return beyond, np.full_like(x, beyond)
        return float((-np.log(1 - x) - 3 * x).sum()), 1 / (1 - x) - 3

    np.testing.assert_allclose(minimize(function, np.full(3, -20.0), 100, lambda x: False), 2 / 3, atol=1e-6)


def test_at_an_optimum_there_is_nothing_to_do():
    function, best = quadratic()
    ask, asked = watched(function)
    assert minimize(ask, best, 100, lambda x: False) is best
    assert len(asked) == 1
