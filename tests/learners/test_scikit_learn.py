"""What scikit-learn's tools rely on: scorers, its own checks, searches over parameters, pipelines."""

import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from sidelight import (
    CCM,
    CRF,
    HMM,
    Classifying,
    DataError,
    InducedTemplates,
    MaxEnt,
    NotSupported,
    StructuredPerceptron,
    flat_f1,
    span_f1,
)
from sidelight.metrics import span_scores
from tests.learners.samples import labelled

X, Y = labelled()
SPANS = [["O" if label == "T" else f"B-{label}" for label in labels] for labels in Y]
# Checks of scikit-learn that documents are not meant to pass, and why.
EXPECTED = {
    "check_dtype_object": "an entry that is no number is a DataError, not a TypeError",
    "check_n_features_in_after_fitting": "the error of other columns has words of its own",
    "check_classifier_data_not_an_array": "X is a list, an array, a sparse matrix or a data frame",
    "check_sample_weights_not_an_array": "the same",
    "check_supervised_y_2d": "y has an element for each document, not a column of them",
}
# A weight is the length of a step in learners that visit one document after another.
STEPS = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"), "steps"
)


class Fixed:
    """Predicts what it is given."""

    def __init__(self, outputs):
        self.outputs = outputs

    def predict(self, X):
        return self.outputs[: len(X)]


def test_scorers_measure_what_they_say():
    predicted = [["O" if t == 1 else label for t, label in enumerate(labels)] for labels in SPANS]
    model = Fixed(predicted)
    assert span_f1(model, X, SPANS) == span_scores(SPANS, predicted).overall.f1 < 1.0
    flat = [[label for labels in some for label in labels] for some in (SPANS, predicted)]
    labels = sorted(set(flat[0]) - {"O"})
    np.testing.assert_allclose(flat_f1(model, X, SPANS), f1_score(*flat, labels=labels, average="weighted"))
    assert flat_f1(Fixed([["O"]]), [["a"]], [["O"]]) == 0.0
    known = [*SPANS[:5], *[None] * (len(X) - 5)]
    assert span_f1(model, X, known) == span_f1(Fixed(predicted[:5]), X[:5], SPANS[:5])
    for scorer in (span_f1, flat_f1):
        with pytest.raises(DataError, match="no sequence is labelled"):
            scorer(model, X, [None] * len(X))


def test_scorers_in_model_selection():
    search = GridSearchCV(HMM(), {"emission": ["word", "word.lower()"]}, scoring=span_f1, cv=2, error_score="raise")
    assert search.fit(X, Y).best_score_ > 0.5
    both = cross_validate(HMM(), X, Y, scoring={"spans": span_f1, "flat": flat_f1}, cv=2, error_score="raise")
    assert ((both["test_flat"] > 0.5) & (both["test_spans"] > 0)).all()


@pytest.mark.parametrize(
    ("learner", "expected"),
    [
        (MaxEnt(), EXPECTED),
        (CRF(task=Classifying(), l2=0.5), EXPECTED),
        (StructuredPerceptron(task=Classifying()), EXPECTED | STEPS),
    ],
    ids=["MaxEnt", "CRF", "StructuredPerceptron"],
)
def test_checks_of_scikit_learn(learner, expected):
    """Learners of documents take matrices, so that scikit-learn's own checks apply."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(learner, expected_failed_checks=expected, on_fail=None)
    failed = {one["check_name"]: one["exception"] for one in results if one["status"] == "failed"}
    assert failed == {}
    assert {one["check_name"] for one in results if one["status"] == "xfail"} == expected.keys()


def test_searches_and_pipelines():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    labels = np.where(rows[:, 0] > 0, "p", "q")
    scores = cross_val_score(MaxEnt(), rows, labels, scoring="neg_log_loss", cv=3, error_score="raise")
    assert (scores > np.log(0.5)).all()
    chain = make_pipeline(StandardScaler(), MaxEnt())
    search = GridSearchCV(chain, {"maxent__l2": [0.1, 10.0]}, scoring="roc_auc", cv=2, error_score="raise")
    assert search.fit(rows, labels).best_score_ > 0.9
    nested = GridSearchCV(
        CCM(CRF(["word"]), guard=False), {"base__l2": [0.01, 100.0]}, scoring=flat_f1, cv=2, error_score="raise"
    )
    assert nested.fit(X, Y).best_params_ == {"base__l2": 0.01}
    assert clone(nested.best_estimator_).get_params()["base__l2"] == 0.01
    assert "CCM(base=CRF(features=['word'], l2=0.01)" in repr(nested.best_estimator_)


def test_weights_are_routed():
    weights = np.arange(len(X)) % 3 + 0.5
    halves = [(np.arange(0, len(X), 2), np.arange(1, len(X), 2))]
    some = [X[i] for i in halves[0][0]], [Y[i] for i in halves[0][0]], [X[i] for i in halves[0][1]]
    expected = HMM().fit(*some[:2], sample_weight=weights[::2]).log_partition(some[2]).sum()

    def log_likelihood(model, X, y):
        return model.log_partition(X).sum()

    with config_context(enable_metadata_routing=True):
        model = HMM().set_fit_request(sample_weight=True)
        options = {"cv": halves, "scoring": log_likelihood, "error_score": "raise"}
        found = cross_val_score(model, X, Y, params={"sample_weight": weights}, **options)
        search = GridSearchCV(model, {"rare": [1]}, **options).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose([*found, search.best_score_], expected)
    assert abs(HMM().fit(*some[:2]).log_partition(some[2]).sum() - expected) > 0.01


def test_frames_of_features():
    pandas = pytest.importorskip("pandas")
    found = InducedTemplates(["word", "word[-1]"], min_rows=1).set_output(transform="pandas").fit(X, Y)
    frames, arrays = found.transform(X[:2]), clone(found).set_output(transform="default").fit(X, Y).transform(X[:2])
    assert [type(one) for one in frames] == [pandas.DataFrame] * 2
    assert list(frames[0].columns) == list(found.get_feature_names_out())
    np.testing.assert_array_equal(frames[0].to_numpy(), arrays[0].toarray())
    assert frames[0].loc[0, "word=Ann"] == 1.0
    assert make_pipeline(found, CRF()).fit(X, Y).score(X, Y) > 0.8
    with config_context(transform_output="pandas"):
        assert isinstance(InducedTemplates(["word"]).fit(X, Y).transform(X[:1])[0], pandas.DataFrame)
    with pytest.raises(DataError, match="transform must be 'default', 'pandas' or None"):
        found.set_output(transform="polars")
    dicts = [[{"w": w} for w in x] for x in X]
    with pytest.raises(NotSupported, match="feature dicts stay dicts"):
        InducedTemplates().set_output(transform="pandas").fit(dicts, Y).transform(dicts)
