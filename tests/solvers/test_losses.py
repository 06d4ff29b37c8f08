import numpy as np
import pytest
from scipy.special import logsumexp

from sidelight.scorers.linear import LinearScorer
from sidelight.solvers.losses import LogLoss
from sidelight.structures.chain import Chain
from sidelight.structures.known import KnownLabels
from sidelight.supervision import Signal
from tests.scorers.test_linear import options, random_encoded, random_targets

CASES = [(order, partial) for order in (1, 2) for partial in (False, True)]


def make(seed, *, order=1, partial=False, lengths=(1, 2, 5, 4), labels=3, all_weights=False, n_jobs=1):
    rng = np.random.default_rng(seed)
    encoded = random_encoded(rng, list(lengths), values=True)
    targets = random_targets(rng, encoded, labels, partial)
    scorer = LinearScorer.observed(encoded, targets, labels, order=order, all_weights=all_weights)
    return LogLoss(scorer, Chain(n_jobs), encoded, targets), rng.normal(size=scorer.size)


@pytest.mark.parametrize(("order", "partial"), CASES)
def test_value_against_enumeration(order, partial):
    for seed in range(4):
        loss, w = make(seed, order=order, partial=partial)
        scores = loss.scorer.scores(loss.encoded, w)
        may = options(loss.known, 3)
        expected = 0.0
        for i in range(len(scores)):
            one = scores.sequences(i, i + 1)
            here = may[scores.offsets[i] : scores.offsets[i + 1]]
            outputs = list(Chain().support(scores, i))
            values = np.array([Chain().score(one, np.array(y, np.int32))[0] for y in outputs])
            agrees = np.array([all(c in allowed for c, allowed in zip(y, here, strict=True)) for y in outputs])
            expected += logsumexp(values) - logsumexp(values[agrees])
        np.testing.assert_allclose(loss(w)[0], expected)


@pytest.mark.parametrize(("order", "partial"), CASES)
@pytest.mark.parametrize("all_weights", [False, True])
def test_gradient_by_central_differences(order, partial, all_weights):
    loss, w = make(7, order=order, partial=partial, all_weights=all_weights)
    _, gradient = loss(w)
    numeric = np.empty_like(gradient)
    for k in range(len(w)):
        step = np.zeros_like(w)
        step[k] = 1e-5
        numeric[k] = (loss(w + step)[0] - loss(w - step)[0]) / 2e-5
    np.testing.assert_allclose(gradient, numeric, atol=1e-7)


def test_sets_of_one_label_are_labels():
    loss, w = make(1, order=2)
    allowed = np.eye(3, dtype=bool)[loss.known.labels]
    kinds = (Signal.PARTIAL,) * len(loss.encoded)
    same = LogLoss(
        loss.scorer, Chain(1), loss.encoded, KnownLabels(kinds, loss.known.labels, allowed, loss.encoded.offsets)
    )
    np.testing.assert_allclose(same(w)[0], loss(w)[0])
    np.testing.assert_allclose(same(w)[1], loss(w)[1], atol=1e-10)


def test_knowing_nothing_costs_nothing():
    loss, w = make(2, partial=True, all_weights=True)
    everything = KnownLabels(
        (Signal.PARTIAL,) * 4, np.full(12, -1, np.int32), np.ones((12, 3), bool), loss.encoded.offsets
    )
    value, gradient = LogLoss(loss.scorer, Chain(1), loss.encoded, everything)(w)
    assert abs(value) < 1e-10
    np.testing.assert_allclose(gradient, 0, atol=1e-10)


def test_a_batch_is_the_sum_of_its_sequences():
    """Long enough for several blocks and shards."""
    loss, w = make(3, lengths=[40] * 150)
    value, gradient = loss(w)
    threads = LogLoss(loss.scorer, Chain(3), loss.encoded, loss.known)
    assert threads(w)[0] == value  # to the last bit
    np.testing.assert_array_equal(threads(w)[1], gradient)
    total, parts = 0.0, np.zeros_like(w)
    for i in range(150):
        one = LogLoss(loss.scorer, Chain(1), loss.encoded.sequences(i, i + 1), loss.known.inputs(i, i + 1))
        value_i, gradient_i = one(w)
        total += value_i
        parts += gradient_i
    np.testing.assert_allclose(total, value)
    np.testing.assert_allclose(parts, gradient, atol=1e-9)
