"""BFGS within ranges against SciPy, and what its curvature is worth to the next problem."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import Bounds
from scipy.optimize import minimize as reference
from scipy.special import expit

from sidelight.kernels.compiling import Floats
from sidelight.solvers.quasi_newton import Curvature, minimize

SIZE = 6


@dataclass
class At:
    x: Floats
    value: float
    gradient: Floats
    done: bool


class Logistic:
    """Σ log(1 + exp(a·x)) + ‖x - shift‖² / 2, ill-conditioned; counts its evaluations."""

    def __init__(self, seed, shift=0.0):
        generator = np.random.default_rng(seed)
        self.rows = generator.normal(size=(40, SIZE)) * np.logspace(0, 1.5, SIZE)
        self.shift, self.calls = shift, 0

    def parts(self, x):
        margins = self.rows @ x
        value = np.logaddexp(0, margins).sum() + 0.5 * ((x - self.shift) ** 2).sum()
        return value, self.rows.T @ expit(margins) + x - self.shift

    def best(self, low, high):
        return reference(
            self.parts, np.zeros(SIZE), jac=True, bounds=Bounds(low, high), options={"gtol": 1e-10, "ftol": 1e-15}
        ).fun

    def __call__(self, x):
        self.calls += 1
        value, gradient = self.parts(x)
        move = np.abs(np.clip(x - gradient, self.low, self.high) - x).max()
        return At(x, value, gradient, bool(move < 1e-6))

    def solve(self, curvature, low, high):
        self.low, self.high = low, high
        curvature.begin(np.ones(SIZE))
        start = np.clip(np.zeros(SIZE), low, high)
        return minimize(self, start, self(start), low, high, curvature, 300)


RANGES = [(-np.inf, np.inf), (0.0, np.inf), (-0.05, 0.02)]


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("seed", range(4))
def test_finds_the_minimum_within_ranges(seed, low, high):
    low, high = np.full(SIZE, low), np.full(SIZE, high)
    problem = Logistic(seed, shift=0.3)
    found = problem.solve(Curvature(), low, high)
    assert found.done
    assert np.all((low <= found.x) & (found.x <= high))
    assert found.value == pytest.approx(problem.best(low, high), abs=1e-7)


def test_the_next_problem_begins_with_what_was_learned():
    low, high, curvature = np.full(SIZE, -np.inf), np.full(SIZE, np.inf), Curvature()
    Logistic(0).solve(curvature, low, high)
    alone, after = Logistic(0, shift=0.1), Logistic(0, shift=0.1)
    assert alone.solve(Curvature(), low, high).done
    assert after.solve(curvature, low, high).done
    assert after.calls < 0.5 * alone.calls


def test_curvature_stays_positive_definite_and_fits_the_last_move():
    curvature, generator = Curvature(), np.random.default_rng(0)
    curvature.begin(np.ones(SIZE))
    true = np.diag(np.logspace(0, 3, SIZE))
    for _ in range(50):
        change = generator.normal(size=SIZE)
        curvature.learn(change, true @ change)
        assert np.allclose(curvature.matrix @ change, true @ change)
        assert np.linalg.eigvalsh(curvature.matrix).min() > 0
    before = curvature.matrix.copy()
    curvature.learn(change, -change)  # not convex, so noise: nothing is learned
    assert np.array_equal(curvature.matrix, before)


class Quadratic:
    """g·x + x·Hx / 2; done where no move within the range would lower it."""

    def __init__(self, H, g):
        self.H, self.g, self.calls = H, g, 0

    def __call__(self, x):
        self.calls += 1
        gradient = self.H @ x + self.g
        move = np.abs(np.maximum(x - gradient, 0.0) - x).max()
        return At(x, float(self.g @ x + 0.5 * x @ self.H @ x), gradient, bool(move < 1e-9))


@pytest.mark.parametrize("learned", [True, False])
def test_starts_next_to_an_end_of_the_range(learned):
    """Prices of the last problem are often nearly, but not quite, at their ends."""
    generator = np.random.default_rng(0)
    for _ in range(60):
        root = generator.normal(size=(2, 2))
        problem = Quadratic(root @ root.T + 0.01 * np.eye(2), 3 * generator.normal(size=2))
        start, curvature = np.array([10.0 ** generator.uniform(-9, -2), generator.uniform(0, 3)]), Curvature()
        curvature.begin(np.ones(2))
        if learned:
            curvature.matrix = problem.H.copy()
        low, high = np.zeros(2), np.full(2, np.inf)
        assert minimize(problem, start, problem(start), low, high, curvature, 200).done


def test_stops_at_a_corner():
    """Where nothing can move, whatever the caller thinks of the point."""
    problem = Quadratic(np.eye(2), np.ones(2))
    curvature = Curvature()
    curvature.begin(np.ones(2))

    def never_done(x):
        found = problem(x)
        return At(found.x, found.value, found.gradient, False)

    found = minimize(never_done, np.zeros(2), never_done(np.zeros(2)), np.zeros(2), np.full(2, 9.0), curvature, 200)
    assert np.array_equal(found.x, np.zeros(2))
    assert problem.calls == 1


def test_forgets_what_turns_out_wrong():
    """A curvature ten million times too small, from another problem."""
    problem, curvature = Quadratic(1e4 * np.eye(1), np.array([-1e4])), Curvature()
    curvature.begin(np.ones(1))
    curvature.matrix = np.array([[1e-3]])
    low, high = np.zeros(1), np.full(1, np.inf)
    assert minimize(problem, np.zeros(1), problem(np.zeros(1)), low, high, curvature, 50).done
    assert curvature.matrix[0, 0] == pytest.approx(1e4)


def test_what_was_learned_keeps_up_with_the_scale():
    curvature = Curvature()
    curvature.begin(np.array([1.0, 4.0]))
    curvature.learn(np.array([1.0, 1.0]), np.array([3.0, 5.0]))
    learned = curvature.matrix
    curvature.begin(np.array([2.0, 8.0]))
    np.testing.assert_allclose(curvature.matrix, 2.0 * learned)
    assert not curvature.is_guess


def test_another_size_begins_anew():
    curvature = Curvature()
    curvature.begin(np.ones(3))
    curvature.learn(np.ones(3), 2 * np.ones(3))
    curvature.begin(np.full(2, 5.0))
    assert np.array_equal(curvature.matrix, 5 * np.eye(2))


def test_stops_where_the_numbers_say_nothing():
    """A gradient that promises a descent that never comes."""
    calls = 0

    def flat(x):
        nonlocal calls
        calls += 1
        return At(x, 1.0, np.ones(SIZE), False)

    curvature = Curvature()
    curvature.begin(np.ones(SIZE))
    low = np.full(SIZE, -np.inf)
    found = minimize(flat, np.zeros(SIZE), flat(np.zeros(SIZE)), low, -low, curvature, 100)
    assert np.array_equal(found.x, np.zeros(SIZE))
    assert calls < 30
