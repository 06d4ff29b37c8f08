"""What the perceptron and MIRA have in common: passes, and going on from them."""

import numpy as np
import pytest

from sidelight import MIRA, Classifying, StructuredPerceptron, load
from sidelight.errors import DataError, NotSupported
from tests.learners.samples import FORMS, labelled

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
@pytest.mark.parametrize("form", ["words", "columns", "dicts", "arrays"])
def test_one_input_after_another_is_one_epoch(learner, form):
    """With a weight for every attribute and label, batches of one input in the order of a pass are that pass."""
    some, options = FORMS[form](X[:10]), {"all_weights": True, "epochs": 1}
    options["features"] = {"words": ["word[-1] & word", "word[1].lower()"], "columns": ["word[-2] & pos"]}.get(form)
    whole = learner(**options).fit(some, Y[:10])
    order = np.random.default_rng(whole.seed(0)).permutation(10)
    model = learner(**options)
    for i in order:
        model.partial_fit([some[i]], [Y[i]], classes=["A", "T", "Y"])
    assert sum(model.mistakes_) == whole.mistakes_[0]
    test = FORMS[form](X[:14])
    np.testing.assert_allclose(model.scores(test).unary, whole.scores(test).unary, atol=1e-12)
    np.testing.assert_allclose(model.scores(test).pair, whole.scores(test).pair, atol=1e-12)
    one, other = ({(a, c): weight for a, c, weight in some.top_weights(10_000)} for some in (model, whole))
    assert one == pytest.approx(other)


@both
def test_later_attributes_get_weights_and_later_labels_are_refused(learner, tmp_path):
    model = learner().partial_fit([["a", "b"]], [["A", "B"]], classes=["A", "B", "C"])
    assert model.classes_ == ["A", "B", "C"]
    size = len(model.weights_)
    for _ in range(5):
        model.partial_fit([["new", "a"], ["a", "b"]], [["C", "A"], ["A", "B"]], classes=["C", "A", "B"])
    assert len(model.weights_) > size
    assert model.predict([["new", "a"], ["a", "b"]]) == [["C", "A"], ["A", "B"]]
    assert {name for name, label, _ in model.top_weights(1000) if label == "C"} >= {"word=new"}
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").predict([["new", "b"]]) == model.predict([["new", "b"]])
    with pytest.raises(DataError, match="sequence 0, token 0: label 'Q' was never seen in training"):
        model.partial_fit([["a"]], [["Q"]])
    with pytest.raises(DataError, match="classes are fixed by the first call of partial_fit: A, B, C"):
        model.partial_fit([["a"]], [["A"]], classes=["A", "B"])
    with pytest.raises(DataError, match="sequence 0, token 1: label 'Q' was never seen"):
        learner().partial_fit([["a", "b"]], [["A", "Q"]], classes=["A", "B"])
    with pytest.raises(DataError, match="trained on tokens of 1 column, these have 2"):
        model.partial_fit([[("a", "b")]], [["A"]])


def test_attributes_of_pairs_and_documents_grow():
    options = {"all_weights": True, "epochs": 1, "features": ["word"]}
    whole = StructuredPerceptron(edges=True, **options).fit(X[:6], Y[:6])
    model = StructuredPerceptron(edges=True, **options)
    for i in np.random.default_rng(whole.seed(0)).permutation(6):
        model.partial_fit([X[i]], [Y[i]], classes=["A", "T", "Y"])
    np.testing.assert_allclose(model.scores(X[:6]).pair, whole.scores(X[:6]).pair, atol=1e-12)
    documents = StructuredPerceptron(task=Classifying()).partial_fit([["a", "b"]], [1], classes=np.array([1, 2]))
    for _ in range(4):
        documents.partial_fit([["new"], ["a"]], [2, 1])
    assert documents.predict([["new"], ["a"]]) == [2, 1]


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
