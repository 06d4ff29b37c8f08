import os
import signal
from threading import Timer, active_count
from time import sleep

import numpy as np
import pytest

from sidelight.features.encoded import Encoded
from sidelight.scorers.linear import LinearScorer
from sidelight.solvers import exponentiated, lbfgs
from sidelight.solvers.certificate import penalty
from sidelight.solvers.exponentiated import minimize
from sidelight.solvers.losses import LogLoss
from sidelight.structures.chain import Chain
from sidelight.structures.known import KnownLabels
from tests.solvers.test_losses import make

LENGTHS = (1, 3, 6, 4, 5, 2, 1, 8)


def lowest(loss, l2):
    best = lbfgs.minimize(loss, np.zeros(loss.scorer.size), l1=0, l2=l2, tolerance=1e-10, max_iterations=5000)
    assert best.converged
    return best.weights, loss(best.weights)[0] + penalty(best.weights, 0, l2)


def duals(solution):
    """The dual objective after every pass."""
    return np.array([s.dual for s in solution.steps])


def run(loss, l2, tolerance, *, start=None, seed=0, max_iterations=2000):
    start = np.zeros(loss.scorer.size) if start is None else start
    return minimize(loss, start, l2=l2, tolerance=tolerance, max_iterations=max_iterations, seed=seed)


@pytest.mark.parametrize(
    ("l2", "all_weights", "labels"),
    [(1.0, False, 1), (1.0, False, 2), (0.05, False, 3), (1.0, True, 4), (0.2, True, 2)],
)
def test_same_optimum_as_lbfgs(l2, all_weights, labels):
    loss, _ = make(labels, lengths=LENGTHS, labels=labels, all_weights=all_weights)
    w, value = lowest(loss, l2)
    for tolerance in (1e-2, 1e-6):
        found = run(loss, l2, tolerance)
        reached = loss(found.weights)[0] + penalty(found.weights, 0, l2)
        assert found.converged
        np.testing.assert_allclose(found.last.objective, reached)
        assert value - 1e-8 <= reached <= value + found.last.gap + 1e-8
        assert found.last.gap <= tolerance * max(value, 1.0) * 1.01
    np.testing.assert_allclose(found.weights, w, atol=0.01)


@pytest.mark.parametrize("l2", [1.0, 0.05, 0.005])
def test_the_dual_rises_and_stays_below_the_primal(l2):
    for seed in range(2):
        loss, _ = make(seed, lengths=LENGTHS)
        _, value = lowest(loss, l2)
        found = run(loss, l2, 1e-6, max_iterations=150)
        trace = duals(found)
        assert (np.diff(trace) >= -1e-7 * value).all()
        assert (trace <= value * (1 + 1e-7)).all()
        assert trace[-1] > trace[0]
        assert l2 < 0.01 or trace[-1] > value * (1 - 1e-5)


def test_says_when_it_did_not_get_there():
    loss, _ = make(1, lengths=LENGTHS)
    short = run(loss, 0.05, 1e-9, max_iterations=2)
    assert not short.converged
    assert [s.iteration for s in short.steps] == [1, 2]
    assert short.last.gap > 1e-9 * short.last.objective


def test_a_seed_fixes_the_result():
    loss, _ = make(3, lengths=LENGTHS)
    one, same, other = (run(loss, 0.5, 1e-4, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.weights, same.weights)
    assert not np.array_equal(one.weights, other.weights)
    np.testing.assert_allclose(one.last.objective, other.last.objective, rtol=2e-4)


def test_a_start_at_the_optimum_needs_few_passes():
    loss, _ = make(4, lengths=LENGTHS)
    w, value = lowest(loss, 0.1)
    warm, cold = run(loss, 0.1, 1e-5, start=w), run(loss, 0.1, 1e-5)
    assert warm.converged
    assert len(warm.steps) <= 2 < len(cold.steps)
    np.testing.assert_allclose(warm.last.objective, value, rtol=1e-5)


@pytest.mark.parametrize("scale", [1e-3, 1e3, 1e6])
def test_feature_values_of_any_size(scale):
    """Scores far beyond what exp can hold: the certificate stays true and the dual keeps rising."""
    loss, _ = make(6, lengths=LENGTHS)
    encoded = loss.encoded
    large = Encoded(encoded.offsets, encoded.indptr, encoded.indices, encoded.values * scale, encoded.attributes)
    scaled = LogLoss(loss.scorer, Chain(1), large, loss.known)
    found = run(scaled, 1.0, 1e-4, max_iterations=300)
    assert np.isfinite(found.weights).all()
    trace = duals(found)
    assert np.isfinite(trace).all()
    assert (np.diff(trace) >= -1e-6 * (1 + np.abs(trace[:-1]))).all()
    objective = scaled(found.weights)[0] + penalty(found.weights, 0, 1.0)
    np.testing.assert_allclose(found.last.objective, objective)
    bound = lbfgs.minimize(scaled, np.zeros(scaled.scorer.size), l1=0.0, l2=1.0, tolerance=1e-6, max_iterations=400)
    assert (trace <= bound.last.objective * (1 + 1e-6)).all()


def test_separable_data_are_learned_by_heart():
    """One attribute per token tells the label, nothing else matters: a tiny penalty gives a tiny loss."""
    offsets, y = np.array([0, 3, 5, 6]), np.array([0, 1, 2, 1, 0, 2], np.int32)
    encoded = Encoded(offsets, np.arange(7), y.copy(), np.empty(0), 3)
    targets = KnownLabels.complete(y, offsets)
    loss = LogLoss(LinearScorer.observed(encoded, targets, 3, all_weights=True), Chain(1), encoded, targets)
    found = run(loss, 1e-3, 1e-3)
    assert found.converged
    assert loss(found.weights)[0] < 0.2
    np.testing.assert_array_equal(Chain().argmax(loss.scorer.scores(encoded, found.weights)).outputs.values, y)


@pytest.fixture
def in_threads(monkeypatch):
    """Small data in groups of about three, in as many threads as asked for."""
    monkeypatch.setattr(exponentiated, "_PACES", ((np.inf, 3, 2, 20),))
    monkeypatch.setattr(exponentiated, "WORTH_TOKENS", 0)
    monkeypatch.setattr(exponentiated, "available_cores", lambda: 4)


def lengths_of(sequences, seed=0):
    return tuple(np.random.default_rng(seed).integers(1, 12, size=sequences).tolist())


def on(n_jobs, loss, values=1.0):
    """The same loss with another number of threads, and values of features this many times as large."""
    some = loss.encoded
    encoded = Encoded(some.offsets, some.indptr, some.indices, some.values * values, some.attributes)
    return LogLoss(loss.scorer, Chain(n_jobs), encoded, loss.known)


@pytest.mark.parametrize(("scale", "l2"), [(1.0, 0.5), (1.0, 0.01), (1e3, 1.0)])
def test_the_same_to_the_last_bit_for_any_number_of_threads(scale, l2, in_threads):
    """Also where proposals are refused (small l2) and where scores need log space (large features)."""
    loss, _ = make(5, lengths=lengths_of(45))
    one, *others = (run(on(n_jobs, loss, scale), l2, 1e-4, max_iterations=12) for n_jobs in (1, 2, 3, 4, 2))
    for other in others:
        np.testing.assert_array_equal(one.weights, other.weights)
        assert [(s.iteration, s.dual) for s in one.steps] == [(s.iteration, s.dual) for s in other.steps]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("l2", [1.0, 0.05])
def test_groups_reach_the_same_optimum_and_the_dual_never_falls(n_jobs, l2, in_threads):
    loss, _ = make(7, lengths=lengths_of(30, seed=1))
    _, value = lowest(loss, l2)
    found = run(on(n_jobs, loss), l2, 1e-5)
    assert found.converged
    trace = duals(found)
    assert (np.diff(trace) >= -1e-7 * value).all()
    assert (trace <= value * (1 + 1e-7)).all()
    np.testing.assert_allclose(found.last.objective, value, rtol=1.1e-5)


def test_few_sequences_are_visited_one_after_the_other():
    assert [exponentiated.pace(n) for n in (1, 999, 1000)] == [(1, 1, 64), (1, 1, 64), (4, 2, 1000)]
    for lengths in ([5], [1, 1, 1], [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5], [1, 1, 1000, 1, 1]):
        edges = exponentiated._groups(np.array(lengths), 4)
        assert edges[0] == 0
        assert edges[-1] == len(lengths)
        assert (np.diff(edges) > 0).all()


def test_ctrl_c_ends_all_threads(in_threads):
    """It is heard between visits of groups, and a later fit is none the worse for it."""
    loss, _ = make(5, lengths=lengths_of(300))
    before, heard = active_count(), signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer = Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            run(on(2, loss), 0.05, 1e-15, max_iterations=10**6)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, heard)
    assert any(active_count() == before or sleep(0.01) for _ in range(200))  # where it came while threads began
    one, two = (run(on(n_jobs, loss), 0.5, 1e-3).weights for n_jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("size", [2, 8, 33])
def test_groups_have_about_equally_many_tokens(size):
    lengths = np.random.default_rng(size).integers(1, 30, 200)
    edges = exponentiated._groups(lengths, size)
    tokens = np.add.reduceat(lengths, edges[:-1])
    assert (edges[0], edges[-1]) == (0, 200)
    assert (np.abs(tokens[:-1] - size * lengths.mean()) <= lengths.max()).all()
    assert tokens[-1] <= size * lengths.mean() + lengths.max()
