"""The compiled pass against a plain twin that lists all outputs and leaves the quadratic program to SciPy."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import Bounds, minimize

from sidelight.kernels.mira import hildreth
from sidelight.scorers.linear import LinearScorer
from sidelight.solvers.mira import run
from sidelight.solvers.perceptron import Examples, PerceptronState
from sidelight.structures.chain import Chain
from tests.scorers.test_linear import random_encoded, random_targets
from tests.solvers.test_perceptron import WithoutChain, features, names


def vector(known, counts):
    """Counts of features as a vector over the weights."""
    return np.array([counts.get(name, 0.0) for name in known])


def best_step(rows, violation, cap):
    """max violation·α - ‖αᵀ rows‖² / 2 over 0 <= α <= cap."""
    gram = rows @ rows.T
    found = minimize(
        lambda a: a @ gram @ a / 2 - violation @ a, np.zeros(len(rows)), jac=lambda a: gram @ a - violation,
        bounds=Bounds(0, cap), method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10000},
    )  # fmt: skip
    return found.x


def twin(w, scorer, encoded, gold, visits, k, cap):
    """Weights after the visits, the sum of the weights after each, and the wrong tokens of the best outputs."""
    known = names(scorer)
    total, mistakes = np.zeros(len(known)), 0
    for i in visits:
        y = tuple(int(c) for c in gold[encoded.offsets[i] : encoded.offsets[i + 1]])
        outputs = list(product(range(scorer.labels), repeat=len(y)))
        table = np.array([vector(known, features(encoded, i, z, scorer.order)) for z in outputs])
        loss = np.array([sum(a != b for a, b in zip(z, y, strict=True)) for z in outputs])
        best = np.argsort(-(table @ w), kind="stable")[:k]
        mistakes += loss[best[0]]
        best = best[loss[best] > 0]
        rows = table[outputs.index(y)] - table[best]
        if len(rows):
            w = w + best_step(rows, loss[best] - rows @ w, cap) @ rows
        total += w
    return w, total, mistakes


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize(("k", "cap"), [(1, np.inf), (1, 0.05), (4, 0.1), (4, 1.0), (30, 0.02)])
def test_against_the_twin(order, values, k, cap):
    """From random weights, since among tied outputs the k best are whichever come first."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        encoded = random_encoded(rng, [1, 2, 3, 2, 3], values=values)
        gold = random_targets(rng, encoded, 3)
        scorer = LinearScorer.observed(encoded, gold, 3, order=order, all_weights=True)
        first = rng.normal(size=scorer.size)
        state = PerceptronState(first.copy(), np.zeros(scorer.size))
        run(Examples(scorer, Chain(1), encoded, gold), state, k=k, C=cap, passes=1, seed=seed)
        visits = np.random.default_rng(seed).permutation(len(encoded))
        w, total, mistakes = twin(first, scorer, encoded, gold.labels, visits, k, cap)
        np.testing.assert_allclose(state.weights, w, atol=1e-4)
        np.testing.assert_allclose(state.average(), (first + total) / (len(visits) + 1), atol=1e-4)
        assert state.mistakes == [mistakes]


def random_program(rng, m, features=6, spread=1.0):
    rows = rng.normal(size=(m, features)) * spread
    return rows, rng.integers(1, 5, size=m) - rng.normal(size=m)


@pytest.mark.parametrize("cap", [0.05, 0.5, np.inf])
def test_hildreth_finds_the_optimum(cap):
    """KKT: the margin of a row is met, or met exactly where 0 < α < cap, or missed only at the cap."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows, violation = random_program(rng, 4)
        alpha = np.empty(4)
        hildreth(rows @ rows.T, violation, cap, alpha)
        left = violation - rows @ (alpha @ rows)
        assert (alpha >= 0).all()
        assert (alpha <= cap).all()
        size = 1e-3 * np.abs(violation).max()
        assert (left[alpha < cap] <= size).all()
        assert (left[alpha > 0] >= -size).all()

        def dual(a, rows=rows, violation=violation):
            return violation @ a - (a @ rows) @ (a @ rows) / 2

        np.testing.assert_allclose(dual(alpha), dual(best_step(rows, violation, cap)), rtol=1e-5, atol=1e-8)


def test_one_output_has_a_closed_form():
    """Section 2.2 of Chang 2011: the step is the violation over the squared length, up to the cap."""
    alpha = np.empty(1)
    hildreth(np.array([[4.0]]), np.array([3.0]), np.inf, alpha)
    np.testing.assert_allclose(alpha, 0.75)
    hildreth(np.array([[4.0]]), np.array([3.0]), 0.5, alpha)
    np.testing.assert_allclose(alpha, 0.5)
    hildreth(np.array([[4.0]]), np.array([-3.0]), 0.5, alpha)
    np.testing.assert_array_equal(alpha, 0)


def test_contradictions_and_empty_rows_end():
    """Opposite rows cannot both have a margin: the cap ends it; without one, the number of sweeps does."""
    gram = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    alpha = np.empty(3)
    hildreth(gram, np.ones(3), 2.0, alpha)
    np.testing.assert_allclose(alpha[:2], 2.0)
    assert alpha[2] == 0
    hildreth(gram, np.ones(3), np.inf, alpha)
    assert np.isfinite(alpha).all()


def test_all_margins_are_met_in_the_end():
    """On separable data, with k above the number of outputs, the gold output is its Hamming loss above all others."""
    rng = np.random.default_rng(2)
    encoded = random_encoded(rng, [3, 2, 3], attributes=30)
    gold = random_targets(rng, encoded, 3)
    scorer = LinearScorer.observed(encoded, gold, 3, all_weights=True)
    state = PerceptronState.zero(scorer)
    run(Examples(scorer, Chain(1), encoded, gold), state, k=27, C=np.inf, passes=500, seed=0)
    scores = scorer.scores(encoded, state.weights)
    best = Chain().argmax(scores + Chain().loss(scores, gold).cost)
    np.testing.assert_allclose(best.scores, Chain().score(scores, gold.labels), atol=1e-3)


def test_passes_go_on_from_the_state():
    rng = np.random.default_rng(9)
    encoded = random_encoded(rng, [3, 4, 2])
    gold = random_targets(rng, encoded, 3)
    scorer = LinearScorer.observed(encoded, gold, 3)
    whole, parts = PerceptronState.zero(scorer), PerceptronState.zero(scorer)
    run(Examples(scorer, Chain(1), encoded, gold), whole, k=2, C=1.0, passes=1, seed=4)
    second = whole.copy()
    run(Examples(scorer, Chain(1), encoded, gold), second, k=2, C=1.0, passes=1, seed=5)
    for seed in (4, 5):
        run(Examples(scorer, Chain(1), encoded, gold), parts, k=2, C=1.0, passes=1, seed=seed)
    np.testing.assert_array_equal(parts.weights, second.weights)
    np.testing.assert_array_equal(parts.average(), second.average())
    assert parts.clock == 7


@pytest.mark.parametrize(("cap", "weights"), [(0.1, ()), (np.inf, ()), (0.1, (0.3, 2.0, 1.0, 0.1, 5.0))])
def test_passes_on_any_structure_do_what_compiled_ones_do(cap, weights):
    """Also where the cap of each sequence is multiplied by what it counts."""
    rng = np.random.default_rng(8)
    encoded = random_encoded(rng, [3, 1, 4, 2, 5], values=True)
    gold = random_targets(rng, encoded, 3)
    scorer = LinearScorer.observed(encoded, gold, 3, all_weights=True)
    states = []
    for one in (scorer, WithoutChain(scorer)):
        states.append(PerceptronState.zero(scorer))
        examples = Examples(one, Chain(1), encoded, gold, weights=np.array(weights))
        run(examples, states[-1], k=3, C=cap, passes=4, seed=2)
    assert states[0].mistakes == states[1].mistakes
    np.testing.assert_allclose(states[1].weights, states[0].weights, atol=1e-4)
    np.testing.assert_allclose(states[1].average(), states[0].average(), atol=1e-4)
