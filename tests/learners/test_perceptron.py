import numpy as np
import pytest

from sidelight import StructuredPerceptron, load
from sidelight.errors import DataError, NotSupported
from tests.learners.samples import labelled

X, Y = labelled()


def test_one_batch_of_partial_fit_is_one_epoch():
    one, other = StructuredPerceptron(epochs=1).fit(X, Y), StructuredPerceptron(epochs=7).partial_fit(X, Y)
    np.testing.assert_array_equal(one.weights_, other.weights_)
    assert one.mistakes_ == other.mistakes_
    assert len(one.mistakes_) == 1


def test_partial_fit_goes_on():
    learner = StructuredPerceptron(features=["word"])
    for _ in range(6):
        learner.partial_fit(X[:15], Y[:15])
    before = learner.weights_.copy()
    learner.partial_fit(X[15:], Y[15:])
    assert len(learner.mistakes_) == 7
    assert not np.array_equal(before, learner.weights_)
    assert sum(learner.mistakes_[3:6]) < 3 * learner.mistakes_[0]
    after_fit = StructuredPerceptron(features=["word"], epochs=2).fit(X, Y)
    passes = len(after_fit.mistakes_)
    assert len(after_fit.partial_fit(X, Y).mistakes_) == passes + 1
    assert len(after_fit.fit(X, Y).mistakes_) == passes


def test_later_attributes_are_ignored_and_later_labels_refused():
    learner = StructuredPerceptron().partial_fit([["a", "b"]], [["A", "B"]], classes=["A", "B", "C"])
    assert learner.classes_ == ["A", "B", "C"]
    size = len(learner.weights_)
    learner.partial_fit([["new", "a"]], [["C", "A"]])
    assert len(learner.weights_) == size
    with pytest.raises(DataError, match="sequence 0, token 0: label 'Q' was never seen in training"):
        learner.partial_fit([["a"]], [["Q"]])
    with pytest.raises(DataError, match="sequence 0, token 1: label 'Q' was never seen"):
        StructuredPerceptron().partial_fit([["a", "b"]], [["A", "Q"]], classes=["A", "B"])


def test_a_model_from_a_file_predicts_but_does_not_go_on(tmp_path):
    StructuredPerceptron().fit(X, Y).save(tmp_path / "m")
    read = load(tmp_path / "m")
    with pytest.raises(NotSupported, match="read from a file cannot be trained on"):
        read.partial_fit(X, Y)
    np.testing.assert_array_equal(read.fit(X, Y).weights_, StructuredPerceptron().fit(X, Y).weights_)


def test_stops_when_nothing_is_wrong():
    data = [["a", "b"], ["b"], ["a"], ["b", "b", "a"]]
    learner = StructuredPerceptron(epochs=100).fit(data, [[w.upper() for w in x] for x in data])
    assert learner.mistakes_[-1] == 0
    assert len(learner.mistakes_) < 20
    assert learner.predict([["b", "a"]]) == [["B", "A"]]


def test_second_order_learns_a_pattern_of_three():
    data = [["x"] * n for n in (6, 7, 8, 9, 11)]
    y = [list("AAB" * 4)[: len(x)] for x in data]
    options = {"features": ["bias"], "epochs": 50, "boundaries": True}
    assert StructuredPerceptron(order=2, **options).fit(data, y).score(data, y) == 1.0
    assert StructuredPerceptron(order=1, **options).fit(data, y).score(data, y) < 1.0


def test_random_state_orders_the_visits():
    one, same, other = (StructuredPerceptron(random_state=s, epochs=2).fit(X, Y).weights_ for s in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        ({"margin": -1.0}, "margin must be a finite number of at least 0, got -1.0"),
        ({"margin": float("nan")}, "margin must be a finite number"),
        ({"order": 3}, "order must be 1 or 2, got 3"),
        ({"features": []}, "at least one template"),
        ({"features": "word"}, "put it into a list"),
        ({"features": ["wrd"]}, "'wrd' is not known here"),
        ({"features": ["pos"]}, "template pos needs column 1, but tokens have 1"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(DataError, match=message):
        StructuredPerceptron(**parameters).fit(X, Y)
