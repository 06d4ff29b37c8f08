"""Semi-Markov CRFs by visits of one sequence after another: the same optimum as L-BFGS, and a certificate."""

import numpy as np
import pytest

from sidelight import CRF, DataError, Segmenting
from sidelight.kernels import segmentation
from sidelight.learners.labelled.semicrf import SemiCRF
from sidelight.learners.model import prepare
from sidelight.solvers import lbfgs, segment_ascent
from sidelight.solvers.certificate import penalty
from sidelight.solvers.losses import LogLoss
from tests.learners.samples import labelled

KINDS = {
    "all": {},
    "no lengths": {"length": False},
    "no boundaries": {"boundaries": False},
    "tokens alone": {"begin_features": [], "end_features": [], "length": False},
    "a longest segment": {"max_length": 9},
    "all weights": {"all_weights": True},
}


def make(n_jobs=1, X=None, y=None, **options):
    """The loss of a model of segments."""
    if X is None:
        X, y = labelled(count=25, longest=9)
    learner = SemiCRF(["word", "word[-1]"], n_jobs=n_jobs, **options)
    prepared = prepare(learner, X, y)
    return LogLoss(prepared.scorer, learner.structure_, prepared.encoded, prepared.known)


def run(loss, l2, tolerance, *, start=None, seed=0, max_iterations=1000):
    start = np.zeros(loss.scorer.size) if start is None else start
    return segment_ascent.minimize(loss, start, l2=l2, tolerance=tolerance, max_iterations=max_iterations, seed=seed)


def lowest(loss, l2):
    best = lbfgs.minimize(loss, np.zeros(loss.scorer.size), l1=0, l2=l2, tolerance=1e-10, max_iterations=5000)
    assert best.converged
    return best.weights, loss(best.weights)[0] + penalty(best.weights, 0, l2)


@pytest.mark.parametrize("kind", KINDS)
def test_same_optimum_as_lbfgs(kind):
    for l2 in (1.0, 0.05):
        loss = make(**KINDS[kind])
        w, value = lowest(loss, l2)
        found = run(loss, l2, 1e-6)
        reached = loss(found.weights)[0] + penalty(found.weights, 0, l2)
        assert found.converged
        np.testing.assert_allclose(found.last.objective, reached)
        assert value - 1e-8 <= reached <= value + found.last.gap + 1e-8
        assert found.last.gap <= 1e-6 * value
        np.testing.assert_allclose(found.weights, w, atol=0.01)


def test_a_label_that_most_tokens_have():
    """It has a weight for the steps within its segments, beside those of lengths."""
    rng = np.random.default_rng(0)
    y = [["O"] * int(rng.integers(3, 9)) + ["A", "A"] + ["O"] * 3 + ["B"] * int(rng.integers(1, 3)) for _ in range(12)]
    X = [[label.lower() if rng.random() < 0.7 else "x" for label in labels] for labels in y]
    loss = make(X=X, y=y)
    pairs, L = loss.scorer.token.pairs, loss.scorer.labels
    assert (pairs // L == pairs % L).sum() == 1
    w, value = lowest(loss, 0.1)
    found = run(loss, 0.1, 1e-6)
    assert value - 1e-8 <= found.last.objective <= value * (1 + 1e-6)
    np.testing.assert_allclose(found.weights, w, atol=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_is_where_a_start_there_begins(kind):
    """From the scores under w the weights of the dual point are Fᵀ(y - μ) / (2 l2), which is w at the optimum."""
    loss = make(**KINDS[kind])
    w = lowest(loss, 0.5)[0]
    dual = segment_ascent._SegmentDual.at_gold(loss.scorer, loss.encoded, loss.known.outputs.values, 0.5)
    dual.take_scores(loss.encoded, w)
    dual.sweep(np.arange(len(loss.encoded)), True)
    np.testing.assert_allclose(dual.weights(), w, atol=2e-4)


def test_the_dual_rises_and_stays_below_the_primal():
    loss = make()
    for l2 in (1.0, 0.01):
        value = lowest(loss, l2)[1]
        duals = np.array([step.dual for step in run(loss, l2, 1e-6, max_iterations=100).steps])
        assert (np.diff(duals) >= -1e-7 * value).all()
        assert (duals <= value * (1 + 1e-7)).all()
        assert duals[-1] > duals[0]


def test_a_seed_fixes_the_result_and_threads_change_no_bit():
    one, same, other = (run(make(), 0.3, 1e-4, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.weights, same.weights)
    assert not np.array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(one.weights, run(make(n_jobs=3), 0.3, 1e-4, seed=1).weights)


def test_says_when_it_did_not_get_there():
    short = run(make(), 0.05, 1e-6, max_iterations=2)
    assert not short.converged
    assert [step.iteration for step in short.steps] == [1, 2]
    assert short.last.gap > 1e-6 * short.last.objective


def test_lbfgs_goes_on_after_some_passes():
    loss, told = make(), []
    start, common = np.zeros(loss.scorer.size), {"l2": 0.05, "tolerance": 1e-6, "seed": 0, "passes": 4}
    found = segment_ascent.minimize(loss, start, max_iterations=1000, on_step=told.append, **common)
    value = lowest(loss, 0.05)[1]
    assert found.converged
    assert len(found.steps) > 4
    assert [step.iteration for step in found.steps] == list(range(1, len(found.steps) + 1))
    assert [step.iteration for step in told] == [step.iteration for step in found.steps]
    assert found.went_on == "lbfgs"
    assert value - 1e-8 <= found.last.objective <= value * (1 + 1e-6)
    short = segment_ascent.minimize(loss, start, max_iterations=3, **common)
    assert len(short.steps) == 3
    assert short.went_on is None
    longer = segment_ascent.minimize(loss, start, max_iterations=6, **common)
    assert len(longer.steps) == 6
    assert not longer.converged


def test_goes_on_from_weights():
    loss = make()
    first = run(loss, 0.3, 1e-5)
    again = run(loss, 0.3, 1e-5, start=first.weights)
    assert len(again.steps) < len(first.steps)
    assert again.last.dual >= first.last.dual * (1 - 1e-4)


def test_one_token_and_one_label():
    X, y = [["a"], ["b"], ["a"], ["b", "a"]], [["A"], ["B"], ["A"], ["B", "A"]]
    loss = make(X=X, y=y)
    value = lowest(loss, 0.1)[1]
    assert value - 1e-8 <= run(loss, 0.1, 1e-6).last.objective <= value * (1 + 1e-6)
    assert not segment_ascent.suits(make(X=X, y=[["A"] * len(x) for x in X]).scorer)


def test_proposals_that_need_log_space(monkeypatch):
    """A start with scores so far apart that the first passes are done in log space, and the rest as ever."""
    calls, in_logs = [], segmentation.log_forward_backwards

    def counted(*arguments):
        calls.append(arguments)
        return in_logs(*arguments)

    monkeypatch.setattr(segmentation, "log_forward_backwards", counted)
    loss = make()
    w, value = lowest(loss, 0.3)
    assert not calls
    found = run(loss, 0.3, 1e-6, start=200.0 * w)
    assert calls
    assert found.converged
    assert value - 1e-8 <= found.last.objective <= value * (1 + 1e-6)
    np.testing.assert_allclose(found.weights, w, atol=0.01)


def test_proposals_without_marginals_are_refused(monkeypatch):
    """Scores beyond 1e10 have none: the weights stay numbers, and the rate is halved until scores are smaller."""
    in_logs, refused = segmentation.log_forward_backwards, []

    def seen(*arguments):
        in_logs(*arguments)
        refused.append(np.isnan(arguments[9][0]))

    monkeypatch.setattr(segmentation, "log_forward_backwards", seen)
    loss = make_steep(2e7)
    dual = segment_ascent._SegmentDual.at_gold(loss.scorer, loss.encoded, loss.known.outputs.values, 1.0)
    order = np.arange(len(loss.encoded))
    dual.sweep(order, True)
    values = [dual.value()]
    for _ in range(3):
        assert dual.sweep(order, False) >= -1e-6 * abs(values[-1])
        values.append(dual.value())
        assert np.isfinite(dual.weights()).all()
    assert any(refused)
    assert values[-1] > values[0]


def make_steep(size):
    rng = np.random.default_rng(0)
    X = [size * rng.normal(size=(n, 3)) for n in rng.integers(3, 9, size=20)]
    y = [["A" if row[0] > 0 and rng.random() < 0.8 else "B" for row in x] for x in X]
    learner = CRF(task=Segmenting(), n_jobs=1)
    prepared = prepare(learner, X, y)
    return LogLoss(prepared.scorer, learner.structure_, prepared.encoded, prepared.known)


def test_scores_that_grow_too_large_are_an_error_that_helps():
    loss = make_steep(1e9)
    with pytest.raises(DataError, match=r"scores under the weights of solver 'eg' grew too large .* solver='lbfgs'"):
        run(loss, 1.0, 1e-3, max_iterations=5)
    with pytest.raises(DataError, match=r"weights to start from are too large for solver 'eg'; use solver='lbfgs'"):
        run(loss, 1.0, 1e-3, start=np.full(loss.scorer.size, 1e9), max_iterations=5)
