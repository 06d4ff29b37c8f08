"""Self-training."""

import numpy as np
import pytest

from sidelight import (
    CRF,
    GOOD,
    HMM,
    DataError,
    NotSupported,
    SelfTraining,
    SemiCRF,
    StructuredPerceptron,
    load,
    token_accuracy,
)
from tests import learner_kit
from tests.learners.samples import as_sparse, labelled
from tests.learners.test_ccm import check_composite

X, Y = labelled()
HALF = [y if i < 12 else None for i, y in enumerate(Y)]


@pytest.mark.parametrize(
    "learner",
    [
        SelfTraining(HMM()),
        SelfTraining(CRF(), threshold=0.5, iterations=2),
        SelfTraining(StructuredPerceptron()),
        SelfTraining(SemiCRF(), iterations=2),
    ],
    ids=str,
)
def test_conventions(learner, tmp_path):
    check_composite(learner, X, Y, tmp_path)
    fitted = learner.fit(X, HALF)
    learner_kit.check_against_enumeration(fitted, X)
    learner_kit.check_kbest(fitted, X)
    learner_kit.check_explanations(fitted, X)
    assert token_accuracy(Y, fitted.predict(X)) > 0.75


def test_rounds_by_hand():
    """Each round learns from the labelled sequences and from those whose best output is probable enough."""
    model = HMM(classes=["A", "T", "Y"]).fit(X[:12], Y[:12])
    kept = []
    for rounds in (1, 2, 3):
        chosen = []
        for x in X[12:]:
            best = model.predict_kbest([x], 1)[0][0]
            if np.exp(best.score - model.log_partition([x])[0]) >= 0.6:
                chosen.append((x, best.labels))
        kept.append(len(chosen))
        model = HMM(classes=["A", "T", "Y"]).fit(X[:12] + [x for x, _ in chosen], Y[:12] + [y for _, y in chosen])
        learner = SelfTraining(HMM(), threshold=0.6, iterations=rounds).fit(X, HALF)
        assert learner.kept_ == tuple(kept)
        np.testing.assert_allclose(learner.scores(X).unary, model.scores(X).unary)
        assert learner.predict(X) == model.predict(X)
    assert 0 < kept[0] < 18


def test_thresholds():
    alone = HMM().fit(X[:12], Y[:12])
    strict = SelfTraining(HMM(), threshold=1.0).fit(X, HALF)
    assert set(strict.kept_) == {0}
    assert strict.predict(X) == alone.predict(X)
    trusting = SelfTraining(HMM(), threshold=0.0, iterations=1).fit(X, HALF)
    assert trusting.kept_ == (18,)
    everything = HMM().fit(X, Y[:12] + alone.predict(X[12:]))
    np.testing.assert_allclose(trusting.scores(X).unary, everything.scores(X).unary)
    assert SelfTraining(HMM(), iterations=0).fit(X, HALF).predict(X) == alone.predict(X)
    assert SelfTraining(HMM()).fit(X[:12], Y[:12]).kept_ == ()


def test_arrays_are_fine():
    arrays = as_sparse(X)
    model = SelfTraining(CRF(), threshold=0.5, iterations=1).fit(arrays, HALF)
    assert token_accuracy(Y, model.predict(arrays)) > 0.75


def test_files(tmp_path):
    model = SelfTraining(CRF(["word"]), threshold=0.6, iterations=2).fit(X, HALF)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.kept_ == model.kept_
    assert again.predict(X) == model.predict(X)
    assert again.explain(X[0], 1) == model.explain(X[0], 1)


def test_what_it_cannot_do():
    with pytest.raises(DataError, match="self-training begins from labelled sequences, and there are none"):
        SelfTraining(HMM()).fit(X, [None] * 30)
    with pytest.raises(NotSupported, match=r"SelfTraining cannot learn from GOOD / BAD \(sequence 3\)"):
        SelfTraining(HMM()).fit(X, [*Y[:3], GOOD, *Y[4:]])
    for threshold in (-0.1, 1.5, float("nan")):
        with pytest.raises(DataError, match=r"threshold (is a probability|must be a finite number)"):
            SelfTraining(HMM(), threshold=threshold).fit(X, HALF)
    with pytest.raises(DataError, match="iterations must be a whole number of at least 0"):
        SelfTraining(HMM(), iterations=-1).fit(X, HALF)
