"""Learners that are composed of others: what the inner ones know is not lost on the way."""

import warnings
from contextlib import suppress

import numpy as np
import pytest
from sklearn.base import is_classifier

import sidelight
from sidelight import (
    CCM,
    CRF,
    EM,
    HMM,
    JLIS,
    Auto,
    Classifying,
    CoDL,
    DataError,
    GeneralizedExpectation,
    LatentStructuralSVM,
    MaxEnt,
    NotSupported,
    Parsing,
    PosteriorRegularization,
    SelfTraining,
    SemiCRF,
    TagDictionary,
    count,
    generate_references,
    load,
    once_each,
    starts_with,
)
from sidelight.learners.model import Fitted
from sidelight.learners.registry import REGISTRY
from sidelight.report.posteriors import posteriors_of
from sidelight.supervision import Signal
from tests.learners.samples import labelled

X, Y = labelled()
HALF = [y if i < 12 else None for i, y in enumerate(Y)]
TAGS = TagDictionary({"x": frozenset({"T"})}, frozenset({"A", "T", "Y"}))


def test_a_dictionary_inside_is_kept():
    known = [["A"] * len(y) if "x" in x else y for x, y in zip(X, Y, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inner = JLIS(dictionary=TAGS, guard=False, n_jobs=1).fit(X, known)
        outer = [CCM.around(inner, []), SelfTraining(JLIS(dictionary=TAGS, guard=False), guard=False).fit(X, known)]
    said = inner.predict(X)
    assert any("x" in x for x in X)
    assert all(label == "T" for x, y in zip(X, said, strict=True) for w, label in zip(x, y, strict=True) if w == "x")
    for model in outer:
        assert model.predict(X) == said
        np.testing.assert_array_equal(model.scores(X).unary, inner.scores(X).unary)


def test_a_projection_inside_is_kept():
    rules = [count("T") >= 2]
    inner = PosteriorRegularization(CRF(["word"]), rules, penalty=5.0, decode="projected", guard=False).fit(X, HALF)
    np.testing.assert_allclose(Fitted(inner).scores(X[:3], 1).unary, inner.scores(X[:3]).unary)
    assert inner.explain(X[0], 0).label == inner.predict(X[:1])[0][0]


def test_weights_of_a_mixture_are_those_of_both_models():
    model = CoDL(CRF(["word"]), guard=False, balance=0.3).fit(X, HALF)
    every = [
        {(feature, label): weight for feature, label, weight in one.top_weights(10_000)}
        for one in (model.base_, model.driven_)
    ]
    for feature, label, weight in model.top_weights(20):
        both = 0.3 * every[0].get((feature, label), 0.0) + 0.7 * every[1].get((feature, label), 0.0)
        np.testing.assert_allclose(weight, both)


def test_a_model_that_counts_nothing_gives_no_reasons():
    model = CoDL(HMM(emission_smoothing=0.0), guard=False, balance=0.0).fit(X, HALF)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model.explain(X[0], 0, top=100).evidence
    assert {e.feature for e in found} <= {e.feature for e in model.driven_.explain(X[0], 0, top=100).evidence}


def test_rules_that_fold_count_in_probabilities_beside_others():
    model = CCM(CRF(["word"]), [starts_with("Y").hard(), once_each().soft(0.1)], guard=False).fit(X, Y)
    found = model.explain(X[0], 0)
    assert (found.label, found.probability) == ("Y", pytest.approx(1.0))


def test_two_encodings_are_not_mixed_up():
    model = EM(HMM(), guard=False).fit(X, HALF)
    with pytest.raises(NotSupported, match="each with its own encoding"):
        model.predict(model.base_.encode(X))


def test_a_fit_that_warns_is_whole():
    learner = LatentStructuralSVM(["word"], max_rounds=1, change=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Warning):
            learner.fit(X, [[None, *y[1:]] if len(y) > 1 else y for y in Y])
    assert len(learner.trace_) > 0
    assert learner.predict(X[:1])


def test_sizes_of_documents_are_those_of_training():
    D = [["good", "good"], ["bad"], ["good", "fine", "good"], ["bad", "bad", "poor"]] * 3
    model = JLIS(task=Classifying(), guard=False).fit(D, ["p", "n", "p", "n"] * 3)
    scores = model.scores(D)
    best = scores.unary.max(axis=1) / [len(x) for x in D] + model.constant * model.constant_weight_
    np.testing.assert_allclose(model.decision_function(D), best)


def test_auto_without_rules_is_its_choice_without_rules():
    model = Auto([starts_with("Y")], budget=0.0).fit(X, Y)
    model.best_ = CCM(CRF(["word"]), [starts_with("Y").hard()], guard=False).fit(X, Y)
    assert all(labels[0] == "Y" for labels in model.predict(X))
    assert model.without_rules().predict(X) == model.best_.without_rules().predict(X) == model.best_.base_.predict(X)


def test_probabilities_that_rules_do_not_change_are_not_shown_as_theirs(tmp_path):
    model = GeneralizedExpectation(CRF(["word"]), [count("T") >= 1], guard=False).fit(X, HALF)
    tables = posteriors_of(model, X[0]).tables
    assert [table.title for table in tables] == ["the model", "best labels under the rules"]
    assert set(np.unique(tables[1].chance)) <= {0.0, 1.0}
    mixed = PosteriorRegularization(HMM(), [count("T") >= 1], guard=False).fit(X, HALF)
    first = posteriors_of(mixed, X[0]).tables[0]
    np.testing.assert_allclose(first.chance, mixed.without_rules().predict_marginals(X[:1])[0])


def test_long_segments_of_labelled_sequences_stay_possible():
    texts = [["x"] * 12 + ["."] + ["y"] * 12] * 8
    labels = [["a"] * 13 + ["b"] * 12] * 8
    more = [["x", ".", "y"]] * 20
    model = CoDL(SemiCRF(), guard=False).fit(texts + more, labels + [None] * 20)
    assert model.complete(texts[:1], labels[:1]) == labels[:1]
    assert model.score(texts, labels) == 1.0


def test_a_model_without_rules_is_saved_as_such(tmp_path):
    free = CCM(CRF(["word"]), [starts_with("Y").hard()], guard=False).fit(X, Y).without_rules()
    free.save(tmp_path / "m")
    assert load(tmp_path / "m").predict(X) == free.predict(X)


def test_rules_are_in_one_place():
    inner = CCM(CRF(["word"]), [starts_with("Y").hard()], guard=False)
    with pytest.raises(NotSupported, match="the CCM inside has rules of its own, which predictions would ignore"):
        CCM.around(inner.fit(X, Y), [once_each().soft(1.0)])
    with pytest.raises(NotSupported, match="the PosteriorRegularization inside has rules of its own"):
        CCM(PosteriorRegularization(CRF(), [count("T") >= 1]), [once_each()]).fit(X, Y)


@pytest.mark.parametrize("base", [CRF, None, "crf"])
def test_a_base_that_is_no_learner(base):
    for learner in (CCM(base), CoDL(base), PosteriorRegularization(base), EM(base)):
        with pytest.raises(DataError, match=r"is a learner such as CRF\(\) or HMM\(\), got"):
            learner.fit(X, Y)


def test_empty_sequences_at_the_end():
    assert SemiCRF().fit([*X[:3], []], [*Y[:3], []]).predict([[], X[0]])[0] == []


def test_only_what_has_one_label_per_input_is_a_classifier():
    assert [is_classifier(one) for one in (MaxEnt(), CRF(task=Classifying()), CCM(CRF(task=Classifying())))] == [
        True
    ] * 3
    assert [is_classifier(one) for one in (CRF(), HMM(), CCM(HMM()), CRF(task=Parsing()))] == [False] * 4


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name, one in REGISTRY.items() if one.inside])
def test_learners_go_around_what_the_registry_says(name: str) -> None:
    X, y = generate_references(8, seed=1)
    X, y = [x[:6] for x in X], [labels[:6] for labels in y]
    known = [*y[:4], *[None if Signal.NOTHING in REGISTRY[name].signals else labels for labels in y[4:]]]
    taken = []
    for base, one in REGISTRY.items():
        if one.base:
            learner = getattr(sidelight, name)(getattr(sidelight, base)())
            few = {"guard": False, "iterations": 1}
            learner.set_params(**{key: few[key] for key in few if key in learner.get_params(deep=False)})
            with suppress(NotSupported):
                learner.fit(X, known)
                taken.append(one.command)
    bases = REGISTRY[name].around or [one.command for one in REGISTRY.values() if one.base]
    assert sorted(taken) == sorted(bases)
