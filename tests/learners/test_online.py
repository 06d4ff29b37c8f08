"""What the perceptron and MIRA have in common: passes, and going on from them."""

import numpy as np
import pytest

from sidelight import MIRA, StructuredPerceptron, load
from sidelight.errors import DataError, NotSupported
from tests.learners.samples import labelled

X, Y = labelled()
both = pytest.mark.parametrize("learner", [StructuredPerceptron, MIRA])


@both
def test_one_batch_of_partial_fit_is_one_epoch(learner):
    one, other = learner(epochs=1).fit(X, Y), learner(epochs=7).partial_fit(X, Y)
    np.testing.assert_array_equal(one.weights_, other.weights_)
    assert one.mistakes_ == other.mistakes_
    assert len(one.mistakes_) == 1


@both
def test_partial_fit_goes_on(learner):
    model = learner(features=["word"])
    for _ in range(6):
        model.partial_fit(X[:15], Y[:15])
    before = model.weights_.copy()
    model.partial_fit(X[15:], Y[15:])
    assert len(model.mistakes_) == 7
    assert not np.array_equal(before, model.weights_)
    assert sum(model.mistakes_[3:6]) < 3 * model.mistakes_[0]
    after_fit = learner(features=["word"], epochs=2).fit(X, Y)
    passes = len(after_fit.mistakes_)
    assert len(after_fit.partial_fit(X, Y).mistakes_) == passes + 1
    assert len(after_fit.fit(X, Y).mistakes_) == passes


@both
def test_later_attributes_are_ignored_and_later_labels_refused(learner):
    model = learner().partial_fit([["a", "b"]], [["A", "B"]], classes=["A", "B", "C"])
    assert model.classes_ == ["A", "B", "C"]
    size = len(model.weights_)
    model.partial_fit([["new", "a"]], [["C", "A"]])
    assert len(model.weights_) == size
    with pytest.raises(DataError, match="sequence 0, token 0: label 'Q' was never seen in training"):
        model.partial_fit([["a"]], [["Q"]])
    with pytest.raises(DataError, match="sequence 0, token 1: label 'Q' was never seen"):
        learner().partial_fit([["a", "b"]], [["A", "Q"]], classes=["A", "B"])


@both
def test_a_model_from_a_file_predicts_but_does_not_go_on(learner, tmp_path):
    fitted = learner().fit(X, Y)
    fitted.save(tmp_path / "m")
    read = load(tmp_path / "m")
    assert read.mistakes_ == fitted.mistakes_
    with pytest.raises(NotSupported, match=f"a {learner.__name__} read from a file cannot be trained on"):
        read.partial_fit(X, Y)
    np.testing.assert_array_equal(read.fit(X, Y).weights_, fitted.weights_)


@pytest.mark.parametrize(("learner", "most"), [(StructuredPerceptron, 20), (MIRA, 100)])
def test_stops_when_all_is_right(learner, most):
    data = [["a", "b"], ["b"], ["a"], ["b", "b", "a"]]
    model = learner(epochs=1000).fit(data, [[w.upper() for w in x] for x in data])
    assert model.mistakes_[-1] == 0
    assert len(model.mistakes_) < most
    assert model.predict([["b", "a"]]) == [["B", "A"]]


@both
def test_second_order_learns_a_pattern_of_three(learner):
    data = [["x"] * n for n in (6, 7, 8, 9, 11)]
    y = [list("AAB" * 4)[: len(x)] for x in data]
    options = {"features": ["bias"], "epochs": 50}
    assert learner(order=2, **options).fit(data, y).score(data, y) == 1.0
    assert learner(order=1, **options).fit(data, y).score(data, y) < 1.0


@both
def test_random_state_orders_the_visits(learner):
    one, same, other = (learner(random_state=s, epochs=2).fit(X, Y).weights_ for s in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
