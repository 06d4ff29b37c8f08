"""Learners on every task: what they learn, that presets are what they say, and what is refused."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone

from sidelight import (
    BAD,
    CCM,
    CRF,
    GOOD,
    HMM,
    JLIS,
    MIRA,
    Classifying,
    CoDL,
    ContrastiveEstimation,
    DataError,
    DeterministicAnnealing,
    DocumentJLIS,
    EntropyRegularization,
    GeneralizedExpectation,
    Labelling,
    LatentStructuralSVM,
    MaxEnt,
    NotSupported,
    PosteriorRegularization,
    Segmenting,
    SelfTraining,
    SemiCRF,
    StructuralSVM,
    StructuredPerceptron,
    UnifiedEM,
    load,
    once_each,
    share,
    where,
    word,
)
from tests import learner_kit
from tests.learners.samples import labelled
from tests.learners.test_maxent import labelled as documents

X, Y = labelled()
D, TOPICS = documents()
LINEAR = [CRF, StructuredPerceptron, MIRA, StructuralSVM, LatentStructuralSVM, JLIS]


@pytest.mark.parametrize("learner", LINEAR)
def test_documents(learner, tmp_path):
    model = learner(task=Classifying(), n_jobs=1).fit(D, TOPICS)
    predicted = model.predict(D)
    assert set(predicted) == set(TOPICS)
    assert model.score(D, TOPICS) == np.mean([a == b for a, b in zip(predicted, TOPICS, strict=True)]) > 0.8
    proba = model.predict_proba(D)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert [model.classes_[k] for k in proba.argmax(axis=1)] == predicted
    assert model.explain(D[0]).label == predicted[0]
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.task == Classifying()
    np.testing.assert_array_equal(again.predict_proba(D), proba)


@pytest.mark.parametrize(
    "learner", [StructuredPerceptron(), MIRA(k=2, epochs=3), StructuralSVM(), LatentStructuralSVM()]
)
def test_segments(learner, tmp_path):
    """The claims of the kit about predictions, files and explanations, without its large fits."""
    model = clone(learner).set_params(task=Segmenting(max_length=6), n_jobs=1).fit(X, Y)
    learner_kit.check_predictions(model, X, Y)
    learner_kit.check_against_enumeration(model, X)
    learner_kit.check_explanations(model, X)
    learner_kit.check_copies(model, X, tmp_path)


def test_sequences_have_no_single_probabilities():
    assert not hasattr(CRF().fit(X, Y), "predict_proba")


def test_presets_are_what_they_say():
    options = {"length": False, "max_length": 6}
    preset = SemiCRF(l2=0.1, tolerance=1e-6, **options).fit(X, Y)
    plain = CRF(task=Segmenting(**options), l2=0.1, tolerance=1e-6).fit(X, Y)
    np.testing.assert_allclose(preset.weights_, plain.weights_)
    preset = MaxEnt(l2=0.5, tolerance=1e-6, bias=False).fit(D, TOPICS)
    plain = CRF(task=Classifying(bias=False), l2=0.5, tolerance=1e-6, all_weights=True, solver="lbfgs").fit(D, TOPICS)
    np.testing.assert_allclose(preset.weights_, plain.weights_)
    known = [*TOPICS[:20], *[GOOD] * 10, *[BAD] * 10]
    options = {"C1": 1.0, "C2": 1.0, "all_weights": True}
    preset = DocumentJLIS(**options).fit(D, known)
    plain = JLIS(task=Classifying(), size=None, guard=False, **options).fit(D, known)
    np.testing.assert_allclose(preset.weights_, plain.weights_)


def test_labelling_of_order_two_is_the_order_of_the_learner():
    one, other = StructuredPerceptron(order=2), StructuredPerceptron(task=Labelling(order=2))
    np.testing.assert_array_equal(one.fit(X, Y).weights_, other.fit(X, Y).weights_)


def test_partial_labels_of_segments():
    """The likelihood of all segmentations that agree with what is known; sets of one label are labels."""
    sets = [[{label} for label in labels] for labels in Y]
    full, same = (SemiCRF(l2=0.1, tolerance=1e-8, max_length=6).fit(X, y) for y in (Y, sets))
    np.testing.assert_allclose(same.weights_, full.weights_, atol=1e-2)
    some = [[label if t == 0 or (i + t) % 3 else None for t, label in enumerate(labels)] for i, labels in enumerate(Y)]
    assert SemiCRF(l2=0.1, max_length=6).fit(X, some).score(X, Y) > 0.8


def test_companions_of_segments():
    rng = np.random.default_rng(0)
    bad = [[str(w) for w in rng.permutation(x)] for x in X if len(x) > 3]
    model = JLIS(task=Segmenting(max_length=6), guard=False, max_rounds=3, tolerance=0.05)
    model.fit([*X, *bad], [*Y[:15], *[GOOD] * 15, *[BAD] * len(bad)])
    assert model.score(X, Y) > 0.7
    assert len(model.predict_companion(X)) == len(X)


def test_self_training_on_documents():
    known = [*TOPICS[:20], *[None] * 20]
    model = SelfTraining(CRF(task=Classifying()), threshold=0.5, guard=False).fit(D, known)
    assert set(model.predict(D)) <= set(TOPICS)
    assert model.kept_[0] > 0


def test_rules_about_documents():
    """To rules a document is one token, whose word is its text."""
    rule = where(word.matches(r"\bsits\b")).label("Y").hard()
    model = CCM(CRF(task=Classifying()), [rule], guard=False).fit(D, TOPICS)
    predicted = model.predict(D)
    assert all(label == "Y" for label, x in zip(predicted, D, strict=True) if "sits" in x)
    free = CRF(task=Classifying(), classes=["A", "T", "Y"]).fit(D, TOPICS).predict(D)
    assert [a for a, x in zip(predicted, D, strict=True) if "sits" not in x] == [
        a for a, x in zip(free, D, strict=True) if "sits" not in x
    ]
    proba = model.predict_proba(D)
    np.testing.assert_array_equal(proba, np.concatenate(model.predict_marginals(D)))
    assert [model.classes_[k] for k in proba.argmax(axis=1)] == predicted
    guarded = CCM(CRF(task=Classifying()), [rule]).fit(
        D, [f"topic {label}" if label != "Y" else "Y" for label in TOPICS]
    )
    assert guarded.guard_ is None  # documents are not compared yet
    soft = where(word.matches(r"\b(1999|2001|7)\b")).label("Y")
    driven = CoDL(CRF(task=Classifying()), [soft], guard=False).fit(D, [*TOPICS[:20], *[None] * 20])
    assert driven.score(D, TOPICS) > 0.6


EXPECTING = [PosteriorRegularization, UnifiedEM, DeterministicAnnealing, GeneralizedExpectation, EntropyRegularization]


@pytest.mark.parametrize("learner", EXPECTING)
def test_expectations_of_documents(learner, tmp_path):
    """Shares of labels, and what documents with a word are, with few labelled documents."""
    rules = [share("Y") >= 0.2, where(word.matches(r"\b(1999|2001|7)\b")).label("Y")]
    known = [*TOPICS[:8], *[None] * (len(D) - 8)]
    model = learner(CRF(task=Classifying()), rules, n_jobs=1).fit(D, known)
    assert model.score(D, TOPICS) >= CRF(task=Classifying()).fit(D[:8], TOPICS[:8]).score(D, TOPICS)
    assert len(model.rules_used_) > 2
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.predict(D) == model.predict(D)
    np.testing.assert_array_equal(again.predict_proba(D), model.predict_proba(D))


@dataclass(frozen=True)
class Strange(Labelling):
    """A task of somebody's own, which is not registered."""


def test_what_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"task must be a task or None, got 3"):
        CRF(task=3).fit(X, Y)
    with pytest.raises(DataError, match=r"task must be a task or None, got .*; write Segmenting\(\)"):
        CRF(task=Segmenting).fit(X, Y)
    with pytest.raises(NotSupported, match="solver 'sgd' needs label chains; use solver='dcd'"):
        StructuralSVM(task=Classifying(), solver="sgd").fit(D, TOPICS)
    with pytest.raises(NotSupported, match="is about whole outputs, which chains of order 2 cannot keep to"):
        CCM(CRF(task=Labelling(order=2)), [once_each()]).fit(X, Y)
    with pytest.raises(DataError, match="order, boundaries and edges belong to the task where one is given"):
        CRF(task=Segmenting(), order=2).fit(X, Y)
    with pytest.raises(DataError, match="order must be 1 or 2, got 3"):
        CRF(task=Labelling(order=3)).fit(X, Y)
    with pytest.raises(NotSupported, match=r"solver 'eg' needs label chains of order 1 or .*; use solver='lbfgs'"):
        CRF(task=Classifying(), solver="eg").fit(D, TOPICS)
    with pytest.raises(NotSupported, match="solver 'sgd' needs label chains; use solver='dcd'"):
        StructuralSVM(task=Segmenting(), solver="sgd").fit(X, Y)
    with pytest.raises(
        NotSupported, match="ContrastiveEstimation reorders the tokens of label sequences; for other tasks use CoDL"
    ):
        ContrastiveEstimation(task=Segmenting()).fit(X, [None] * len(X))
    with pytest.raises(DataError, match="documents have none; leave `features` out"):
        CRF(["word"], task=Classifying()).fit(D, TOPICS)
    with pytest.raises(DataError, match=f"X has {len(D)} documents but y has 3"):
        CRF(task=Classifying()).fit(D, TOPICS[:3])
    with pytest.raises(DataError, match=r"document 0: expected a label \(a string or a whole number\)"):
        CRF(task=Classifying()).fit(D, [[label] for label in TOPICS])
    own = clone(CRF(task=Strange())).fit(X, Y)
    with pytest.raises(DataError, match="the task Strange cannot be saved; mark its class"):
        own.save(tmp_path / "m")


@pytest.mark.parametrize(("order", "labels", "memory"), [(2, 2_000, "64.0 GB"), (1, 20_000, "3.2 GB")])
def test_tables_that_are_too_large_are_refused(order, labels, memory):
    names = [f"c{k}" for k in range(labels)]
    for learner in (CRF(order=order), HMM(order=order)):
        with pytest.raises(DataError, match=rf"labels takes {memory} of memory.* use (order=1, or )?at most"):
            learner.fit([["w"] * labels], [names])
