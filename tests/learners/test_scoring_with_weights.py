"""score with sample_weight: a weight of 2 is the input twice and one of 0 the input left out, for every task."""

import re
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn import config_context
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score

from sidelight import (
    GOOD,
    HMM,
    LCLR,
    Aligning,
    Classifying,
    DataError,
    GraphAligning,
    Labelling,
    Matching,
    MaxEnt,
    NotSupported,
    Parsing,
    Partial,
    PartsTask,
    Segmenting,
    flat_f1,
    span_f1,
)
from sidelight.learners.tasks.program import Program
from sidelight.metrics import label_scores, span_scores, token_accuracy
from tests.learners.samples import labelled

X, Y = labelled(count=8, longest=4)
WEIGHTS = [2, 0, 1, 3, 1, 1, 2, 1]
TIMES = [i for i, n in enumerate(WEIGHTS) for _ in range(n)]
WRONG = [["T", *labels[1:]] for labels in Y]
SPANS = [["O" if label == "A" else f"B-{label}" for label in labels] for labels in Y]
WRONG_SPANS = [["O" if label == "A" else f"B-{label}" for label in labels] for labels in WRONG]


class Fixed:
    """A model that predicts what it is told to."""

    def __init__(self, predicted):
        self.predicted = predicted

    def predict(self, X):
        return [self.predicted[i] for i in X]


class Nothing(Program):
    """Declares no variable: only outputs are compared."""

    declare = None


class Whole(PartsTask):
    """Outputs are compared as they are."""

    structure = describe = to_output = to_y = None


def repeated(values):
    return [values[i] for i in TIMES]


@pytest.mark.parametrize(
    ("task", "y", "predicted"),
    [
        (Labelling(), Y, WRONG),
        (Segmenting(), Y, WRONG),
        (Classifying(), list("abcabcab"), list("abbacbcb")),
        (Parsing(), [[0, 1], [2, 0], [0, 1, 1], [0, None]] * 2, [[0, 1], [0, 1], [0, 1, 2], [2, 0]] * 2),
        (Parsing(labelled=True), [[(0, "a"), (1, "b")], [(2, "b"), (0, "a")]] * 4, [[(0, "a"), (1, "a")]] * 8),
        (Aligning(), [[(0, 0)], [(0, 1), (1, 0)], [], Partial([(1, 1)])] * 2, [[(0, 0), (1, 1)]] * 8),
        (Matching(), [[(0, 0)], [(0, 1), (1, 0)]] * 4, [[(0, 0), (1, 1)]] * 8),
        (GraphAligning(), [[(0, 0)], [(0, 1), (1, 0)]] * 4, [[(0, 0), (1, 1)]] * 8),
        (Nothing(), [["a"], ["b", "a"], Partial({"a": True}), ["b"]] * 2, [["a"], ["a", "b"], ["a"], ["a"]] * 2),
        (Whole(), [(0, 1), (1, 2)] * 4, [(0, 1)] * 8),
    ],
    ids=lambda one: type(one).__name__ if not isinstance(one, list) else "",
)
def test_every_task(task, y, predicted):
    score = task.score(y, predicted, np.array(WEIGHTS, float))
    np.testing.assert_allclose(score, task.score(repeated(y), repeated(predicted)), rtol=1e-12)
    assert score != task.score(y, predicted)
    assert task.score(y, predicted, np.ones(8)) == task.score(y, predicted) == task.score(y, predicted, None)


def test_learners():
    model = HMM().fit(X[:4], Y[:4])
    score = model.score(X, WRONG, sample_weight=WEIGHTS)
    np.testing.assert_allclose(score, model.score(repeated(X), repeated(WRONG)))
    assert score == model.score(X, WRONG, WEIGHTS) != model.score(X, WRONG)
    known = [*WRONG[:5], None, GOOD, None]  # those that are not labelled have weights too
    np.testing.assert_allclose(
        model.score(X, known, sample_weight=WEIGHTS), model.score(X[:5], WRONG[:5], sample_weight=WEIGHTS[:5])
    )
    with_empty = model.score([*X, []], [*WRONG, []], sample_weight=[*WEIGHTS, 5])
    np.testing.assert_allclose(with_empty, score)
    rows, labels = np.arange(8.0)[:, None], np.array(["a", "b"] * 4)
    documents = MaxEnt().fit(rows, labels)
    expected = accuracy_score(labels, documents.predict(rows), sample_weight=WEIGHTS)
    np.testing.assert_allclose(documents.score(rows, labels, sample_weight=WEIGHTS), expected)
    answers = [True, False] * 4
    judge = LCLR(["word"], classes=["A", "T"], initial={"word=Ann": 1.0}).fit(X, answers)
    expected = accuracy_score(answers, judge.predict(X), sample_weight=WEIGHTS)
    np.testing.assert_allclose(judge.score(X, answers, sample_weight=WEIGHTS), expected)


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
    model = HMM().fit(X, Y)
    for score in (model.score, lambda *given, **weights: span_f1(model, *given, **weights)):
        with pytest.raises(DataError, match=re.escape(expected)):
            score(X, Y, sample_weight=bad)


def test_nothing_counts():
    model = HMM().fit(X, Y)
    with pytest.raises(DataError, match="sample_weight is zero for all sequences, so there is nothing to score"):
        model.score(X, Y, sample_weight=np.zeros(8))
    with pytest.raises(DataError, match="zero for all sequences that are labelled, so there is nothing to score"):
        model.score(X, [None, Y[1], *[None] * 6], sample_weight=WEIGHTS)
    with pytest.raises(DataError, match="no head is known of a sentence that counts"):
        Parsing().score([[None], [0]], [[0], [0]], np.array([1.0, 0.0]))
    with pytest.raises(DataError, match="that counts the whole output is known"):
        Nothing().score([Partial({"a": True}), ["a"]], [["a"], ["a"]], np.array([1.0, 0.0]))


@dataclass(frozen=True)
class Unweighted(Labelling):
    """A task whose score knows nothing of weights, as tasks outside of the package may."""

    def score(self, y, predicted):
        return 0.25


def test_a_task_that_cannot_weigh_says_so():
    class Own(HMM):
        task_ = Unweighted()

    model = Own().fit(X, Y)
    assert model.score(X, Y) == 0.25
    with pytest.raises(NotSupported, match="the score of Unweighted takes no weights: give it a third parameter"):
        model.score(X, Y, sample_weight=WEIGHTS)


def test_metrics():
    for metric in (token_accuracy, span_scores, label_scores):
        twice = metric(repeated(SPANS), repeated(WRONG_SPANS))
        found = metric(SPANS, WRONG_SPANS, sample_weight=WEIGHTS)
        if metric is span_scores:
            assert (found.overall, found.by_type, found.accuracy) == (twice.overall, twice.by_type, twice.accuracy)
            assert isinstance(twice.overall.support, int)
        else:
            assert found == twice
        with pytest.raises(DataError, match="for each of the 8 sequences"):
            metric(SPANS, WRONG_SPANS, sample_weight=[1])


def test_ready_scorers():
    model, numbers = Fixed(WRONG_SPANS), list(range(8))
    for scorer in (span_f1, flat_f1):
        expected = scorer(model, TIMES, repeated(SPANS))
        np.testing.assert_allclose(scorer(model, numbers, SPANS, sample_weight=WEIGHTS), expected)
        assert abs(scorer(model, numbers, SPANS) - expected) > 1e-3


def test_weights_are_routed_to_scores():
    weights, halves = np.arange(8) % 3 + 0.5, [(np.arange(0, 8, 2), np.arange(1, 8, 2))]
    known = [WRONG[i] if i % 4 == 1 else Y[i] for i in range(8)]
    train, test = ([[some[i] for i in which] for some in (X, known)] for which in halves[0])
    options = {"cv": halves, "error_score": "raise"}
    with config_context(enable_metadata_routing=True):
        model = HMM().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = cross_val_score(model, X, known, params={"sample_weight": weights}, **options)
        search = GridSearchCV(model, {"rare": [1]}, **options).fit(X, known, sample_weight=weights)
        scorer = make_scorer(token_accuracy).set_score_request(sample_weight=True)
        other = cross_val_score(model, X, known, params={"sample_weight": weights}, scoring=scorer, **options)
        unweighed = HMM().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        plain = cross_val_score(unweighed, X, known, params={"sample_weight": weights}, **options)
    fitted = HMM().fit(*train, sample_weight=weights[::2])
    expected = fitted.score(*test, sample_weight=weights[1::2])
    np.testing.assert_allclose([*found, search.best_score_, *other], expected)
    np.testing.assert_allclose(plain, fitted.score(*test))
    assert abs(plain[0] - expected) > 1e-3


def test_sequences_that_do_not_count_are_left_out_altogether():
    truth, guess = [["B-x", "O"], ["z"]], [["B-x", "O"], ["y"]]
    assert span_scores(truth, guess, sample_weight=[1, 0]) == span_scores(truth[:1], guess[:1])
    assert label_scores(truth, guess, sample_weight=[1, 0]) == label_scores(truth[:1], guess[:1])
    with pytest.raises(DataError, match="at least one token in the sequences that count"):
        token_accuracy([["a"], []], [["b"], []], sample_weight=[0, 1])


def test_lengths_are_compared_whatever_the_weights():
    model = HMM().fit(X, Y)
    with pytest.raises(DataError, match="X has 8 sequences but y has 3"):
        model.score(X, Y[:3], sample_weight=[1, 0, 1])
