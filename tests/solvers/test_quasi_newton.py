"""BFGS within ranges against SciPy, and what its curvature is worth to the next problem."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import Bounds
from scipy.optimize import minimize as reference

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
        return value, self.rows.T @ (1 / (1 + np.exp(-margins))) + x - self.shift

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
