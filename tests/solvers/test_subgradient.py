"""Subgradient steps against Algorithm 4 written out over listed outputs, and against the optimum."""

import numpy as np
import pytest

from sidelight.scorers.linear import LinearScorer
from sidelight.solvers.losses import HingeLoss
from sidelight.solvers.subgradient import minimize
from sidelight.structures.chain import Chain
from tests.scorers.test_linear import random_encoded, random_targets
from tests.solvers.margin_oracle import listed, objective, optimum


def make(seed, *, order=1, lengths=(1, 3, 2, 4), labels=3, values=True, attributes=5):
    rng = np.random.default_rng(seed)
    encoded = random_encoded(rng, list(lengths), attributes=attributes, values=values)
    gold = random_targets(rng, encoded, labels)
    return LinearScorer.observed(encoded, gold, labels, order=order), encoded, gold


def twin(everything, C, squared, visits):
    """Algorithm 4, line 15 in two halves: shrink, then move along the worst output; the mean of w weighted by t."""
    n, w, total, weight = len(everything), np.zeros(everything[0][0].shape[1]), 0.0, 0.0
    alpha = [np.zeros(len(loss)) for _, loss in everything]
    for t, i in enumerate(visits, start=1):
        rows, loss = everything[i]
        w = (1 - 1 / t) * w
        worst = np.argmax(loss - rows @ w)
        row = rows[worst]
        if loss[worst] > 0:
            reach = n * C / t
            slope = 2 * (loss[worst] - row @ w) / (1 + 2 * reach * (row @ row)) if squared else 1.0
            w = w + reach * slope * row
            alpha[i][worst] += slope
        total, weight = total + t * w, weight + t
    return total / weight, [C * n / len(visits) * a for a in alpha]


def dual(everything, alpha, C, squared):
    """The dual objective, written out."""
    w = sum(a @ rows for a, (rows, _) in zip(alpha, everything, strict=True))
    gain = sum(a @ loss for a, (_, loss) in zip(alpha, everything, strict=True))
    return gain - w @ w / 2 - (sum(a.sum() ** 2 for a in alpha) / (4 * C) if squared else 0.0)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("C", [0.05, 2.0])
def test_against_the_twin(order, squared, C):
    """Feature values are random, so that no outputs tie but in the very first visit, where w is zero."""
    for seed in range(3):
        scorer, encoded, gold = make(seed, order=order, labels=2)
        found = minimize(scorer, encoded, gold, C=C, squared=squared, tolerance=1e-9, max_iterations=3, seed=7)
        visits = np.concatenate([np.random.default_rng(7 + k).permutation(len(encoded)) for k in (1, 2, 3)])
        everything = listed(scorer, encoded, gold)
        means, duals = [], []
        for count in range(n := len(encoded), 3 * n + 1, n):
            w, alpha = twin(everything, C, squared, visits[:count])
            assert all(a.sum() <= C * (1 + 1e-9) for a in alpha) or squared
            means.append(w)
            half, whole = (dual(everything, [share * a for a in alpha], C, squared) for share in (0.5, 1.0))
            bend, slope = 2 * whole - 4 * half, 4 * half - whole  # the dual of a share s is slope s + bend s²
            share = np.clip(-slope / (2 * bend), 0, np.inf if squared else 1)
            duals.append(dual(everything, [share * a for a in alpha], C, squared))
        objectives = [objective(everything, w, C, squared) for w in means]
        np.testing.assert_allclose(found.weights, means[np.argmin(objectives)], atol=1e-9)
        np.testing.assert_allclose([step.objective for step in found.steps], np.minimum.accumulate(objectives))
        np.testing.assert_allclose([step.dual for step in found.steps], np.maximum.accumulate(duals))


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("C", [0.02, 0.5])
def test_comes_near_the_optimum(squared, C):
    for seed in range(2):
        scorer, encoded, gold = make(seed)
        everything = listed(scorer, encoded, gold)
        lowest = objective(everything, optimum(everything, C, squared), C, squared)
        found = minimize(scorer, encoded, gold, C=C, squared=squared, tolerance=0.01, max_iterations=3000, seed=0)
        assert found.converged
        assert found.last.dual <= lowest * (1 + 1e-6)
        assert lowest * (1 - 1e-6) <= found.last.objective <= lowest * 1.01


@pytest.mark.parametrize("squared", [False, True])
def test_it_has_not_converged_before_the_gap_is_small(squared):
    """Progress may stop far from the optimum, and the objective may rise: neither is convergence."""
    scorer, encoded, gold = make(0)
    everything = listed(scorer, encoded, gold)
    C = 2.0
    lowest = objective(everything, optimum(everything, C, squared), C, squared)
    for passes in (20, 100, 400):
        found = minimize(scorer, encoded, gold, C=C, squared=squared, tolerance=0.01, max_iterations=passes, seed=0)
        assert found.converged == (found.last.relative_gap <= 0.01)
        assert found.last.dual <= lowest * (1 + 1e-6) <= found.last.objective * (1 + 2e-6)
        np.testing.assert_allclose(found.last.objective, objective(everything, found.weights, C, squared))
        falling = [step.objective for step in found.steps]
        assert falling == sorted(falling, reverse=True)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("squared", [False, True])
def test_the_loss_is_that_of_the_worst_output(order, squared):
    scorer, encoded, gold = make(3, order=order)
    w = np.random.default_rng(0).normal(size=scorer.size)
    expected = objective(listed(scorer, encoded, gold), w, 1.0, squared) - w @ w / 2
    np.testing.assert_allclose(HingeLoss(scorer, Chain(1), encoded, gold, squared)(w), expected)


def test_a_loss_in_threads_is_the_same():
    scorer, encoded, gold = make(3, lengths=[40] * 100)
    w = np.random.default_rng(0).normal(size=scorer.size)
    one, three = (HingeLoss(scorer, Chain(jobs), encoded, gold)(w) for jobs in (1, 3))
    np.testing.assert_allclose(one, three)


def test_a_seed_fixes_the_result():
    scorer, encoded, gold = make(4)
    one, same, other = (
        minimize(scorer, encoded, gold, C=0.3, squared=False, tolerance=1e-9, max_iterations=4, seed=s).weights
        for s in (1, 1, 9)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_large_features_do_not_blow_up_the_squared_loss():
    scorer, encoded, gold = make(5)
    large = type(encoded)(encoded.offsets, encoded.indptr, encoded.indices, encoded.values * 1e3, encoded.attributes)
    found = minimize(scorer, large, gold, C=100.0, squared=True, tolerance=1e-9, max_iterations=50, seed=0)
    objectives = [step.objective for step in found.steps]
    assert np.isfinite(objectives).all()
    assert objectives[-1] < objectives[0]
