"""Settings of other learners under their own names."""

import numpy as np
import pytest

from sidelight import CRF, count, label_regularization, measurements, share, token_accuracy
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
        (lambda: measurements(BASE, [], width=0.0), "the width of the noise is above 0, got 0.0"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(DataError, match=message):
        make()
