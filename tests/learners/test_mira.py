import numpy as np
import pytest

from sidelight import Mira, StructuredPerceptron, load
from sidelight.errors import DataError, NotSupported
from tests.learners.samples import labelled

X, Y = labelled()


def test_one_batch_of_partial_fit_is_one_epoch():
    one, other = Mira(epochs=1).fit(X, Y), Mira(epochs=7).partial_fit(X, Y)
    np.testing.assert_array_equal(one.weights_, other.weights_)
    assert one.mistakes_ == other.mistakes_
    assert len(one.mistakes_) == 1


def test_partial_fit_goes_on():
    learner = Mira(features=["word"])
    for _ in range(6):
        learner.partial_fit(X[:15], Y[:15])
    before = learner.weights_.copy()
    learner.partial_fit(X[15:], Y[15:])
    assert len(learner.mistakes_) == 7
    assert not np.array_equal(before, learner.weights_)


def test_a_model_from_a_file_predicts_but_does_not_go_on(tmp_path):
    fitted = Mira().fit(X, Y)
    fitted.save(tmp_path / "m")
    read = load(tmp_path / "m")
    assert read.mistakes_ == fitted.mistakes_
    with pytest.raises(NotSupported, match="a Mira read from a file cannot be trained on"):
        read.partial_fit(X, Y)
    np.testing.assert_array_equal(read.fit(X, Y).weights_, fitted.weights_)


def test_stops_when_all_margins_are_met():
    data = [["a", "b"], ["b"], ["a"], ["b", "b", "a"]]
    learner = Mira(epochs=1000).fit(data, [[w.upper() for w in x] for x in data])
    assert learner.mistakes_[-1] == 0
    assert len(learner.mistakes_) < 100
    assert learner.predict([["b", "a"]]) == [["B", "A"]]


def test_second_order_learns_a_pattern_of_three():
    data = [["x"] * n for n in (6, 7, 8, 9, 11)]
    y = [list("AAB" * 4)[: len(x)] for x in data]
    options = {"features": ["bias"], "epochs": 50}
    assert Mira(order=2, **options).fit(data, y).score(data, y) == 1.0
    assert Mira(order=1, **options).fit(data, y).score(data, y) < 1.0


def test_steps_are_as_long_as_they_must_be():
    """Beside the perceptron's steps of length one, those of MIRA do not grow with the size of the features."""
    large = [np.array([[1000.0 * (w == v) for v in ("a", "b")] for w in x]) for x in (["a", "b"], ["b"], ["a"])]
    y = [["A", "B"], ["B"], ["A"]]
    options = {"boundaries": False, "epochs": 5}
    assert np.abs(Mira(**options).fit(large, y).weights_).max() < 1
    assert np.abs(StructuredPerceptron(**options).fit(large, y).weights_).max() > 100


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        ({"k": 0}, "k must be a whole number of at least 1, got 0"),
        ({"k": 2.5}, "k must be a whole number of at least 1, got 2.5"),
        ({"C": 0}, "C must be a finite number above 0, got 0"),
        ({"C": -1.0}, "C must be a finite number above 0, got -1.0"),
        ({"C": float("nan")}, "C must be a finite number above 0, got nan"),
        ({"order": 3}, "order must be 1 or 2, got 3"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(DataError, match=message):
        Mira(**parameters).fit(X, Y)
