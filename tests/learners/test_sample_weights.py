"""sample_weight: a weight of 2 is the sequence twice, one of 0 is the sequence left out, and who cannot says so."""

import inspect
import re

import numpy as np
import pytest
from scipy import sparse

import sidelight
from sidelight import (
    BAD,
    CCM,
    CRF,
    DMV,
    GOOD,
    HMM,
    JLIS,
    LCLR,
    MIRA,
    CoDL,
    DataError,
    FlatParts,
    KernelPerceptron,
    LatentStructuralSVM,
    MaxEnt,
    NotSupported,
    Parsing,
    SemiCRF,
    StructuralSVM,
    StructuredPerceptron,
)
from sidelight.learners.model import prepare
from sidelight.learners.registry import REGISTRY
from sidelight.solvers.losses import LogLoss
from tests.learners.samples import labelled

X, Y = labelled(count=8, longest=4)
WEIGHTS = [2, 0, 1, 3, 1, 1, 2, 1]
TIMES = [i for i, n in enumerate(WEIGHTS) for _ in range(n)]
F = ["word"]


@pytest.mark.parametrize(
    "learner",
    [
        CRF(F, tolerance=1e-9),
        SemiCRF(F, tolerance=1e-9),
        HMM(rare=2),
        CCM(CRF(F, tolerance=1e-9), guard=False),
        StructuralSVM(F, tolerance=1e-6),
        StructuralSVM(F, tolerance=1e-6, loss="hinge"),
        StructuralSVM(F, tolerance=1e-6, loss="logistic"),
        LatentStructuralSVM(F, tolerance=1e-6),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_weight_of_two_is_the_sequence_twice(learner):
    weighed = sidelight.learners_by_name()[type(learner).__name__](**learner.get_params(deep=False))
    weighed.fit(X, Y, sample_weight=WEIGHTS)
    learner.fit([X[i] for i in TIMES], [Y[i] for i in TIMES])
    exact = isinstance(learner, HMM)
    np.testing.assert_allclose(weighed.scores(X).unary, learner.scores(X).unary, atol=1e-12 if exact else 5e-3)
    plain = type(learner)(**learner.get_params(deep=False)).fit(X, Y)
    assert np.abs(plain.scores(X).unary - weighed.scores(X).unary).max() > 0.02


def test_documents_and_partial_labels():
    words, labels = [x[:2] for x in X], [y[0] for y in Y]
    known = [{label, "A"} for label in labels]
    for y in (labels, known):
        one = MaxEnt(tolerance=1e-9).fit(words, y, sample_weight=WEIGHTS)
        other = MaxEnt(tolerance=1e-9).fit([words[i] for i in TIMES], [y[i] for i in TIMES])
        np.testing.assert_allclose(one.predict_proba(words), other.predict_proba(words), atol=1e-3)
    matrix = sparse.coo_array(np.eye(8))
    zero = MaxEnt().fit(matrix, labels, sample_weight=WEIGHTS).predict_proba(matrix)
    np.testing.assert_allclose(
        zero[1], MaxEnt().fit(np.eye(8)[TIMES], [labels[i] for i in TIMES]).predict_proba(np.eye(8))[1], atol=1e-3
    )
    halves = MaxEnt(tolerance=1e-9, l2=0.5).fit(words, labels, sample_weight=np.array(WEIGHTS) / 2)
    twice = MaxEnt(tolerance=1e-9, l2=1.0).fit(words, labels, sample_weight=WEIGHTS)
    np.testing.assert_allclose(halves.weights_, twice.weights_, atol=1e-3)


def test_companions():
    known = [*Y[:4], GOOD, BAD, GOOD, BAD]
    options = {"tolerance": 1e-4, "random_ties": False, "max_rounds": 3}
    one = JLIS(F, guard=False, **options).fit(X, known, sample_weight=WEIGHTS)
    other = JLIS(F, guard=False, **options).fit([X[i] for i in TIMES], [known[i] for i in TIMES])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=0.02)
    answers = [GOOD, BAD] * 4
    learner = {"classes": ["A", "T", "Y"], "initial": {"word=Ann": 1.0}, "class_weight": "balanced", **options}
    one = LCLR(F, **learner).fit(X, answers, sample_weight=WEIGHTS)
    other = LCLR(F, **learner).fit([X[i] for i in TIMES], [answers[i] for i in TIMES])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=0.02)


def test_trees():
    sentences, heads = [["a", "b", "c"], ["b", "a"], ["c"]], [[2, 0, 2], [0, 1], [0]]
    one = DMV("word").fit(sentences, heads, sample_weight=[2, 0, 1])
    other = DMV("word").fit([sentences[i] for i in (0, 0, 2)], [heads[i] for i in (0, 0, 2)])
    np.testing.assert_allclose(one.scores(sentences[:1]).values, other.scores(sentences[:1]).values)
    tagged = [[(w, w.upper()) for w in s] for s in sentences]
    models = [
        StructuredPerceptron(task=Parsing(), epochs=1, random_state=3).fit(tagged, heads, sample_weight=w)
        for w in (None, [3, 3, 3])
    ]
    np.testing.assert_allclose(3 * models[0].weights_, models[1].weights_)


def test_steps_are_as_long_as_their_weights():
    """One visit from zero: the step of the perceptron, and the cap of MIRA, times the weight."""
    x, y = [["Ann", "run"]], [["T", "A"]]
    once, thrice = (StructuredPerceptron(F, epochs=1).fit(x, y, sample_weight=[w]) for w in (1, 3))
    np.testing.assert_allclose(3 * once.weights_, thrice.weights_)
    np.testing.assert_array_equal(once.weights_, StructuredPerceptron(F, epochs=1).fit(x, y).weights_)
    once, thrice = (MIRA(F, C=0.01, k=1, epochs=1).fit(x, y, sample_weight=[w]) for w in (1, 3))
    np.testing.assert_allclose(3 * once.weights_, thrice.weights_)
    np.testing.assert_array_equal(thrice.weights_, MIRA(F, C=0.03, k=1, epochs=1).fit(x, y).weights_)
    with pytest.raises(DataError, match="no effect on C=inf"):
        MIRA(F, C=np.inf).fit(x, y, sample_weight=[2])
    left, out = (model(F).fit(X, Y, sample_weight=WEIGHTS) for model in (StructuredPerceptron, MIRA))
    assert left.score(X, Y) > 0.5 < out.score(X, Y)


def test_what_cannot_be_weighed():
    for name, row in REGISTRY.items():
        learner = sidelight.learners_by_name()[name]
        assert "sample_weight" in inspect.signature(learner.fit).parameters
        if not row.weighted:
            model = learner([HMM(), HMM()]) if name == "Agreement" else learner(HMM()) if row.inside else learner()
            with pytest.raises(NotSupported, match=rf"{name} has no use for sample_weight; use .*"):
                model.fit(X, Y, sample_weight=WEIGHTS)
    with pytest.raises(NotSupported, match="KernelPerceptron has no use for sample_weight"):
        CCM(KernelPerceptron(F), guard=False).fit(X, Y, sample_weight=WEIGHTS)
    with pytest.raises(NotSupported, match="use Combined"):
        CoDL(HMM()).fit(X, Y, sample_weight=WEIGHTS)
    with pytest.raises(NotSupported, match="solver 'eg' needs no sample_weight"):
        CRF(F, solver="eg").fit(X, Y, sample_weight=WEIGHTS)
    with pytest.raises(NotSupported, match="solver 'sgd' has no use for sample_weight; use solver='dcd'"):
        StructuralSVM(F, solver="sgd").fit(X, Y, sample_weight=WEIGHTS)


@pytest.mark.parametrize(
    ("bad", "came"),
    [
        ([1], "1 of them"),
        (2.0, "an array of shape ()"),
        ([1, 1, -1, 1, 1, 1, 1, 1], "-1 for sequence 2"),
        ([np.nan] * 8, "nan for sequence 0"),
        (["a"] * 8, "something that is not numbers: ['a', 'a', 'a'"),
        (np.ones((8, 1)), "an array of shape (8, 1)"),
    ],
)
def test_bad_weights(bad, came):
    expected = f"sample_weight must be a number of at least 0 for each of the 8 sequences, got {came}"
    with pytest.raises(DataError, match=re.escape(expected)):
        HMM().fit(X, Y, sample_weight=bad)


def test_nothing_is_left():
    with pytest.raises(DataError, match="sample_weight is zero for all sequences"):
        CRF().fit(X, Y, sample_weight=np.zeros(8))
    with pytest.raises(DataError, match="sequence 1 has"):
        CRF().fit(X, [Y[0], ["A"] * 9, *Y[2:]], sample_weight=WEIGHTS)


@pytest.mark.parametrize(
    "learner",
    [CRF(F), CRF(F, order=2), CRF(F, edges=True), SemiCRF(F), MaxEnt()],
    ids=["chain", "order 2", "edges", "segments", "documents"],
)
@pytest.mark.parametrize("partial", [False, True])
def test_a_weighed_loss_is_the_sum_of_the_inputs_losses(learner, partial):
    words, y = X[:5], [[{label, "A"} if partial else label for label in labels] for labels in Y[:5]]
    if isinstance(learner, MaxEnt):
        y = [labels[0] for labels in y]
    data = prepare(learner, words, y)
    w = np.random.default_rng(0).normal(size=data.scorer.size)
    structure, counts = learner.task_.structure(1), np.array([0.5, 2.0, 2.0, 0.3, 1.0])
    value, gradient = LogLoss(data.scorer, structure, data.encoded, data.known, counts)(w)
    alone = [
        LogLoss(data.scorer, structure, data.encoded.sequences(i, i + 1), data.known.inputs(i, i + 1))(w)
        for i in range(5)
    ]
    np.testing.assert_allclose(value, sum(c * loss for c, (loss, _) in zip(counts, alone, strict=True)))
    np.testing.assert_allclose(gradient, sum(c * slope for c, (_, slope) in zip(counts, alone, strict=True)), atol=1e-9)


def test_flat_parts_are_weighed_input_by_input():
    parts = FlatParts(np.arange(1.0, 6.0), np.array([0, 2, 5]), np.array([[2], [3]]))
    assert parts.apart().weighed(np.array([2.0, 0.5])).values.tolist() == [2.0, 4.0, 1.5, 2.0, 2.5]
