import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from sidelight.solvers.certificate import Step, duality_gap, penalty, reached, residual
from sidelight.solvers.lbfgs import minimize
from tests.solvers.test_losses import make

LENGTHS = (1, 3, 6, 4, 5, 2)


def objective(loss, w, l1, l2):
    return loss(w)[0] + penalty(w, l1, l2)


@pytest.fixture(scope="module")
def optimum():
    """The elastic-net optimum of one problem to nine digits, per (order, l1, l2)."""
    kept = {}

    def find(order, l1, l2):
        if (order, l1, l2) not in kept:
            loss, _ = make(5, order=order, lengths=LENGTHS)
            start = np.zeros(loss.scorer.size)
            kept[order, l1, l2] = minimize(loss, start, l1=l1, l2=l2, tolerance=1e-9, max_iterations=3000)
        return kept[order, l1, l2]

    return find


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("l1", "l2"), [(0.0, 1.0), (0.0, 0.05), (0.5, 0.3)])
@pytest.mark.parametrize("tolerance", [1e-1, 1e-4])
def test_the_gap_certifies_the_optimum(optimum, order, l1, l2, tolerance):
    loss, _ = make(5, order=order, lengths=LENGTHS)
    best = optimum(order, l1, l2)
    assert best.converged
    solution = minimize(loss, np.zeros(loss.scorer.size), l1=l1, l2=l2, tolerance=tolerance, max_iterations=1000)
    assert solution.converged
    assert solution.last.gap <= tolerance * max(solution.last.objective, 1.0)
    lowest = objective(loss, best.weights, l1, l2)
    for step in solution.steps:
        assert step.objective - lowest <= step.gap + 1e-9 * lowest
    np.testing.assert_allclose(objective(loss, solution.weights, l1, l2), solution.last.objective, rtol=1e-9)


def test_the_gap_bounds_the_objective_of_any_point(optimum):
    for order, l1, l2 in ((1, 0.0, 1.0), (2, 0.5, 0.3)):
        loss, w = make(5, order=order, lengths=LENGTHS)
        lowest = objective(loss, optimum(order, l1, l2).weights, l1, l2)
        for scale in (0.0, 0.1, 1.0, 5.0):
            value, gradient = loss(scale * w)
            above = value + penalty(scale * w, l1, l2) - lowest
            assert 0 <= above <= duality_gap(scale * w, gradient, l1, l2)


@pytest.mark.parametrize("l1", [0.0, 0.7])
def test_gap_formula(l1):
    """R(w) + R*(r) - w·r with the conjugate R*(r) = max_v v·r - R(v) found by a search."""
    rng = np.random.default_rng(0)
    w, gradient, l2 = rng.normal(size=5), 2 * rng.normal(size=5), 0.4

    def conjugate(r):
        grid = np.linspace(-20, 20, 400_001)
        return (grid * r - l1 * np.abs(grid) - l2 * grid**2).max()

    expected = penalty(w, l1, l2) + sum(conjugate(-g) for g in gradient) + w @ gradient
    np.testing.assert_allclose(duality_gap(w, gradient, l1, l2), expected, rtol=1e-6)
    if l1 == 0:
        np.testing.assert_allclose(expected, ((gradient + 2 * l2 * w) ** 2).sum() / (4 * l2), rtol=1e-6)
    assert np.isnan(duality_gap(w, gradient, l1, 0.0))


@pytest.mark.parametrize(("l1", "l2"), [(0.5, 0.3), (1.0, 0.0)])
def test_l1_gives_zeros_where_the_subgradient_allows(optimum, l1, l2):
    loss, _ = make(5, lengths=LENGTHS)
    if l2 > 0:
        w = optimum(1, l1, l2).weights
    else:
        w = minimize(loss, np.zeros(loss.scorer.size), l1=l1, l2=0, tolerance=1e-5, max_iterations=3000).weights
    smooth = loss(w)[1] + 2 * l2 * w
    zero = w == 0
    assert 0.2 < zero.mean() < 1
    np.testing.assert_allclose(smooth[~zero], -l1 * np.sign(w[~zero]), atol=1e-3)
    assert (np.abs(smooth[zero]) <= l1 + 1e-3).all()
    assert residual(w, loss(w)[1], l1, l2) < 1e-3


def test_more_l1_more_zeros():
    loss, _ = make(5, lengths=LENGTHS)
    zeros = [
        (
            minimize(loss, np.zeros(loss.scorer.size), l1=l1, l2=0.1, tolerance=1e-6, max_iterations=2000).weights == 0
        ).sum()
        for l1 in (0.01, 0.3, 1.0, 100.0)
    ]
    assert zeros == sorted(zeros)
    assert zeros[-1] == loss.scorer.size
    assert zeros[0] < zeros[-1]


def test_agrees_with_another_optimiser():
    loss, _ = make(8, lengths=(2, 3))
    ours = minimize(loss, np.zeros(loss.scorer.size), l1=0.0, l2=0.5, tolerance=1e-10, max_iterations=1000)
    other = scipy_minimize(
        lambda w: objective(loss, w, 0.0, 0.5), np.zeros(loss.scorer.size), method="BFGS", options={"gtol": 1e-6}
    )
    np.testing.assert_allclose(ours.weights, other.x, atol=1e-4)


def test_starts_where_it_is_told():
    loss, _ = make(5, lengths=LENGTHS)
    cold = minimize(loss, np.zeros(loss.scorer.size), l1=0.2, l2=0.2, tolerance=1e-5, max_iterations=1000)
    warm = minimize(loss, cold.weights, l1=0.2, l2=0.2, tolerance=1e-5, max_iterations=1000)
    assert warm.converged
    assert len(warm.steps) <= 2 < len(cold.steps)
    assert warm.steps[0].objective <= cold.last.objective * (1 + 1e-9)


def test_says_when_it_did_not_get_there():
    loss, _ = make(5, lengths=LENGTHS)
    told = []
    short = minimize(
        loss, np.zeros(loss.scorer.size), l1=0, l2=0.01, tolerance=1e-9, max_iterations=3, on_step=told.append
    )
    assert not short.converged
    assert tuple(told) == short.steps
    assert [s.iteration for s in short.steps] == [1, 2, 3]


def test_without_a_bound_the_progress_decides():
    loss, _ = make(5, lengths=LENGTHS, partial=True)
    solution = minimize(
        loss, np.zeros(loss.scorer.size), l1=0, l2=0.1, tolerance=1e-4, max_iterations=1000, convex=False
    )
    assert solution.converged
    assert all(np.isnan(s.gap) for s in solution.steps)
    longer = minimize(loss, solution.weights, l1=0, l2=0.1, tolerance=1e-9, max_iterations=1000, convex=False)
    assert solution.last.objective <= longer.last.objective * (1 + 1e-3)


def test_the_relative_gap_is_a_share_of_the_objective():
    step = Step(1, 10.0, 8.0, 0.0)
    assert (step.gap, step.relative_gap) == (2.0, 0.2)
    assert reached([step], 0.2)
    assert not reached([step], 0.19)
    assert Step(1, 10.0, 10.5, 0.0).gap == 0.0  # by rounding
    assert Step(1, 0.0, -1e-9, 0.0).relative_gap == 1.0  # what is nearly nothing is not divided by


def test_when_to_stop():
    def falling(*objectives, dual=np.nan):
        return [Step(k, value, dual, 1.0) for k, value in enumerate(objectives, start=1)]

    assert reached(falling(5.0, dual=5.0 - 4e-4), 1e-4)
    assert not reached(falling(5.0, dual=5.0 - 6e-4), 1e-4)
    flat = falling(*[5.0] * 10)
    assert not reached(flat, 1e-4)
    assert reached([*flat, Step(11, 5.0 - 4e-5, np.nan, 1.0)], 1e-4)
    steps = [*flat, Step(11, 5.0 - 4e-3, np.nan, 1.0)]
    assert not reached(steps, 1e-4)
    assert reached(steps, 1e-4, least=10.0)
    assert not reached(steps, 1e-4, least=5.0)
    assert not reached([*flat, Step(11, 5.0 - 6e-5, np.nan, 1.0)], 1e-4)
    assert reached([Step(1, 5.0, np.nan, 0.0)], 1e-4)
    assert not reached([Step(1, np.nan, 4.0, np.nan)], 1e-4)


def test_steps_tell_the_objective_of_the_weights_on_the_way():
    """With an l1 penalty the optimiser sees two parts of every weight; a step is about the weights."""
    loss, start = make(5, lengths=LENGTHS)
    calls, told = [], []

    def watched(w):
        calls.append(w.copy())
        return loss(w)

    minimize(
        watched, start, l1=0.5, l2=0.3, tolerance=1e-6, max_iterations=1000,
        on_step=lambda step: told.append((step.objective, objective(loss, calls[-1], 0.5, 0.3))),
    )  # fmt: skip
    assert len(told) > 5
    for said, true in told:
        np.testing.assert_allclose(said, true)
