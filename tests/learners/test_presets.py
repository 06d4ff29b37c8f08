"""Settings of other learners under their own names."""

from itertools import product

import numpy as np
import pytest

from sidelight import CRF, MaxEnt, count, label_regularization, measurements, share, token_accuracy
from sidelight.errors import DataError
from tests.learners.samples import labelled

X, Y = labelled(seed=1, count=16, longest=6)
HALF = [labels if i < 8 else None for i, labels in enumerate(Y)]
BASE = CRF(["word"], l2=1.0, n_jobs=1)


def shares(model, data):
    """The expected share of each label."""
    return np.concatenate(model.predict_marginals(data)).mean(axis=0)


def test_label_regularization_draws_shares_towards_those_of_the_labels():
    """Also with the divergence as the words of the objective have it: it is lower than without."""
    known = [label for labels in Y[:8] for label in labels]
    plain = BASE.fit(X[:8], Y[:8])
    target = np.array([known.count(label) / len(known) for label in plain.classes_])
    model = label_regularization(BASE, HALF, strength=30.0, guard=False).fit(X, HALF)
    divergence = [float(target @ np.log(target / shares(one, X[8:]))) for one in (plain, model)]
    assert divergence[1] < 0.5 * divergence[0]
    bounded = label_regularization(BASE, HALF, target="bounds", guard=False)
    assert (bounded.distance, bounded.label_shares) == ("squared", False)
    assert 0 < token_accuracy(Y, bounded.fit(X, HALF).predict(X)) <= 1


@pytest.mark.parametrize("more", [(), ("ZZ",)])
def test_label_regularization_has_the_objective_of_its_docstring(more):
    """Also where a label has no share at all."""
    base = CRF(["word"], l2=1.0, n_jobs=1, classes=sorted({*(a for labels in Y for a in labels), *more}))
    model = label_regularization(base, np.array(HALF, object), strength=3.0, unlabeled_weight=2.0, guard=False)
    model.fit(X, HALF)
    known = [label for labels in Y[:8] for label in labels]
    target = np.array([known.count(label) / len(known) for label in model.classes_])
    there, expected, tokens = target > 0, shares(model, X[8:]), sum(map(len, X[8:]))
    value = model.base_.l2 * model.base_.weights_ @ model.base_.weights_ + model.base_.log_partition(X[:8]).sum()
    for x, labels in zip(X[:8], Y[:8], strict=True):
        value -= model.base_.structure_.score(
            model.base_.scores([x]), np.array([model.classes_.index(a) for a in labels], np.int32)
        )[0]
    value += 3.0 * 2.0 * tokens * target[there] @ np.log(target[there] / expected[there])
    np.testing.assert_allclose(model.trace_[-1].objective, value, rtol=1e-6)


def test_label_regularization_of_documents():
    y = ["A", "B", "A", None]
    model = label_regularization(MaxEnt(), y, guard=False)
    assert [str(rule) for rule in model.rules] == [
        f"share('A') == {2 / 3}",
        f"share('B') == {1 / 3}",
    ]
    assert set(model.fit([["x"], ["z"], ["x", "u"], ["u"]], y).predict([["x"], ["z"]])) <= {"A", "B"}


def test_a_measured_share_is_a_mean_of_independent_noise():
    """Its miss in tokens per sequence counts for each sequence: the width is that of one sequence's count."""
    wide = measurements(BASE, [share("A") == 0.9], width=2.0, decode="projected", iterations=1, guard=False)
    wide.set_params(tolerance=1e-6).fit(X[:11], HALF[:11])
    pool, place = X[8:11], wide.classes_.index("A")
    found = sum(table[:, place].sum() for table in wide.predict_marginals(pool))
    missed = (0.9 * sum(map(len, pool)) - found) / len(pool)
    # q ∝ p exp(λ count) with λ = missed / width², the derivative of n missed² / (2 width²) by the count in all.
    tilted = 0.0
    for x in pool:
        scores = wide.base_.scores([x])
        outputs = list(product(range(len(wide.classes_)), repeat=len(x)))
        counts = np.array([output.count(place) for output in outputs], float)
        values = [wide.structure_.score(scores, np.array(output, np.int32))[0] for output in outputs]
        q = np.exp(values + missed / 4.0 * counts - np.logaddexp.reduce(values + missed / 4.0 * counts))
        tilted += q @ counts
    np.testing.assert_allclose(found, tilted, rtol=1e-3)


def test_measurements_are_met_up_to_their_noise():
    rule = share("A") == 0.6
    tight, wide = (
        measurements(BASE, [rule], width=w, decode="projected", iterations=3, guard=False).fit(X, HALF)
        for w in (0.1, 10.0)
    )
    first = BASE.fit(X[:8], Y[:8])
    place, missed = first.classes_.index("A"), []
    for model in (tight, wide, first):
        missed.append(abs(shares(model, X[8:])[place] - 0.6))
    assert missed[0] < 0.6 * missed[2]
    assert missed[0] < missed[1]
    box = measurements(BASE, [count("A") >= 1], noise="box", width=0.5)
    assert (box.norm, box.bound, box.penalty) == ("linf", 0.5, None)
    assert box.set_params(iterations=1, guard=False).fit(X[:12], HALF[:12]).rules_used_


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: label_regularization(BASE, [None, None]), "come from full labels, and y has none"),
        (lambda: label_regularization(BASE, Y, target="none"), "target is 'shares' or 'bounds', got 'none'"),
        (lambda: measurements(BASE, [], noise="pink"), "noise is 'box' or 'gaussian', got 'pink'"),
        (lambda: measurements(BASE, [], width=0.0), "the width of the noise is a finite number above 0, got 0.0"),
        (lambda: measurements(BASE, [], width="1"), "the width of the noise is a finite number above 0, got '1'"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(DataError, match=message):
        make()
