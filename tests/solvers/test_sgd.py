"""Averaged stochastic gradient steps against the equations, written out."""

import numpy as np
import pytest

from sidelight.solvers import lbfgs, sgd
from sidelight.solvers.losses import LogLoss
from sidelight.solvers.sgd import _AveragedSteps, _first_rate, minimize
from tests.solvers.test_losses import make

LENGTHS = (1, 3, 6, 4, 5, 2)


def one_input(loss, i):
    return LogLoss(loss.scorer, loss.structure, loss.encoded.sequences(i, i + 1), loss.known.inputs(i, i + 1))


@pytest.mark.parametrize("l2", [0.3, 1.0])
def test_steps_and_their_mean(l2):
    """w moves by -η_t [n ∇f_i(w) + 2 l2 w] with η_t = η_0 / (1 + 2 l2 η_0 t); the mean weighs w_t by t."""
    loss, start = make(5, lengths=LENGTHS)
    n, rate, order = len(LENGTHS), 0.05, [3, 0, 5, 1, 1, 4, 2]
    way = _AveragedSteps(loss, start, start, l2, rate)
    w, total, weights = start.copy(), np.zeros_like(start), 0
    for t, i in enumerate(order):
        way.visit(np.array([i]))
        w = w - rate / (1 + 2 * l2 * rate * t) * (n * one_input(loss, i)(w)[1] + 2 * l2 * w)
        total, weights = total + (t + 1) * w, weights + t + 1
        np.testing.assert_allclose(way.weights, w)
        np.testing.assert_allclose(way.mean, total / weights)
    np.testing.assert_allclose(start, make(5, lengths=LENGTHS)[1])  # the start is not changed


def test_the_first_step_size_is_a_power_of_two_of_the_share_that_was_tried(monkeypatch):
    """η_0 is m / n times 2^k, at most 1 / (2 l2), where a sample of m of the n inputs is visited."""
    monkeypatch.setattr(sgd, "_SAMPLE", 20)
    loss, _ = make(0, lengths=[1] * 30)
    start = np.zeros(loss.scorer.size)
    l2, ends = 0.01, []
    rate = _first_rate(loss, start, l2, np.random.default_rng(0)) * 30 / 20
    assert rate < 0.5 / l2
    assert np.log2(rate) == np.round(np.log2(rate))
    for one in (rate, rate / 32, min(32 * rate, 0.5 / l2)):  # much shorter or longer steps end higher
        way = _AveragedSteps(loss, start, start, l2, one * 20 / 30)
        way.visit(np.random.default_rng(1).permutation(30))
        ends.append(loss(way.mean)[0] + l2 * way.mean @ way.mean)
    assert ends[0] < min(ends[1:])


def test_the_gap_bounds_the_distance_to_the_optimum():
    loss, _ = make(5, lengths=LENGTHS)
    start = np.zeros(loss.scorer.size)
    found = minimize(loss, start, l2=0.5, tolerance=1e-3, max_iterations=200, seed=0)
    best = lbfgs.minimize(loss, start, l1=0.0, l2=0.5, tolerance=1e-9, max_iterations=1000).last.objective
    assert found.converged
    for step in found.steps:
        assert 0 <= step.objective - best <= step.gap + 1e-9
