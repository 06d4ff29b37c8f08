"""Exponentiated gradient on the dual of the structural SVM: its certificate, and the optimum by listing all outputs."""

import numpy as np
import pytest

from sidelight.errors import NotSupported
from sidelight.features.encoded import Encoded
from sidelight.scorers.linear import LinearScorer
from sidelight.solvers import subgradient
from sidelight.solvers.exponentiated import minimize_hinge
from sidelight.structures.chain import Chain
from sidelight.structures.known import KnownLabels
from tests.solvers.margin_oracle import listed, objective, optimum
from tests.solvers.test_subgradient import make


def run(problem, C, tolerance, *, seed=0, max_iterations=3000):
    return minimize_hinge(*problem, C=C, tolerance=tolerance, max_iterations=max_iterations, seed=seed, n_jobs=1)


@pytest.mark.parametrize(("C", "tolerance"), [(0.02, 1e-4), (0.1, 1e-4), (0.5, 1e-3), (5.0, 1e-2)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_gap_closes_at_the_optimum(C, tolerance, seed):
    problem = make(seed)
    everything = listed(*problem)
    w = optimum(everything, C, squared=False)
    lowest = objective(everything, w, C, squared=False)
    found = run(problem, C, tolerance)
    assert found.converged
    np.testing.assert_allclose(found.last.objective, objective(everything, found.weights, C, squared=False))
    assert found.last.dual <= lowest * (1 + 1e-7) <= found.last.objective * (1 + 1e-6)
    assert found.last.gap <= tolerance * max(found.last.objective, 1.0)
    # P is 1-strongly convex, so the gap bounds the distance to the optimum too.
    assert np.sum((found.weights - w) ** 2) / 2 <= found.last.gap + 1e-6


@pytest.mark.parametrize("C", [0.02, 0.5, 5.0])
def test_the_dual_never_falls(C):
    for seed in range(3):
        trace = np.array([step.dual for step in run(make(seed), C, 1e-9, max_iterations=100).steps])
        assert (np.diff(trace) >= -1e-7 * (1 + np.abs(trace[:-1]))).all()
        assert trace[-1] > trace[0]


def test_agrees_with_subgradient_steps():
    scorer, encoded, gold = make(6, lengths=[4, 6, 3, 5, 7, 2])
    found = run((scorer, encoded, gold), 0.2, 1e-3)
    other = subgradient.minimize(
        scorer, encoded, gold, C=0.2, squared=False, tolerance=1e-4, max_iterations=5000, seed=0, n_jobs=1
    )
    assert found.converged
    np.testing.assert_allclose(found.last.objective, other.last.objective, rtol=5e-3)
    assert found.last.dual <= other.last.objective


def test_says_when_it_did_not_get_there():
    short = run(make(1), 0.5, 1e-9, max_iterations=2)
    assert not short.converged
    assert [step.iteration for step in short.steps] == [1, 2]
    assert short.last.gap > 1e-9


def test_a_seed_fixes_the_result():
    one, same, other = (run(make(3), 0.3, 1e-2, seed=seed).weights for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_order_two_is_refused():
    with pytest.raises(NotSupported, match="order 1; use cutting planes"):
        run(make(0, order=2), 1.0, 1e-2)


def test_separable_data_are_learned_by_heart():
    """One attribute per token tells the label, nothing else matters: a large C leaves hardly any loss."""
    offsets, y = np.array([0, 3, 5, 6]), np.array([0, 1, 2, 1, 0, 2], np.int32)
    encoded = Encoded(offsets, np.arange(7), y.copy(), np.empty(0), 3)
    targets = KnownLabels.complete(y, offsets)
    scorer = LinearScorer.observed(encoded, targets, 3, all_weights=True)
    found = run((scorer, encoded, targets), 10.0, 2e-2)
    assert found.converged
    np.testing.assert_array_equal(Chain().argmax(scorer.scores(encoded, found.weights)).outputs.values, y)
