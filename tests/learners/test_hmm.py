from itertools import pairwise

import numpy as np
import pytest

from sidelight import CRF, EM, HMM, load
from sidelight.errors import DataError, Infeasible, SidelightError
from sidelight.labels import encode_labels
from tests.learners.samples import as_arrays, as_dicts, labelled

X, Y = labelled()
X_NEW, _ = labelled(seed=1)


def same(one, other, data):
    assert one.classes_ == other.classes_
    np.testing.assert_array_equal(one.scores(data).unary, other.scores(data).unary)
    np.testing.assert_array_equal(one.scores(data).pair, other.scores(data).pair)
    np.testing.assert_array_equal(one.scores(data).start, other.scores(data).start)


@pytest.mark.parametrize("cut", [1, 7, 29])
def test_two_batches_are_one(cut):
    whole = HMM().fit(X, Y)
    parts = HMM().partial_fit(X[:cut], Y[:cut]).partial_fit(X[cut:], Y[cut:])
    same(whole, parts, [*X_NEW, ["never", "SEEN"]])


def test_a_model_from_a_file_goes_on_counting(tmp_path):
    HMM().fit(X[:10], Y[:10]).save(tmp_path / "m")
    same(HMM().fit(X, Y), load(tmp_path / "m").partial_fit(X[10:], Y[10:]), X_NEW)


def test_fit_forgets():
    learner = HMM().fit(X_NEW, [["Q"] * len(x) for x in X_NEW])
    same(learner.fit(X, Y), HMM().fit(X, Y), X_NEW)


def test_labels_may_be_named_beforehand():
    learner = HMM().partial_fit([["a"]], [["A"]], classes=["A", "B"])
    assert learner.classes_ == ["A", "B"]
    learner.partial_fit([["b", "b"]], [["B", "B"]])
    assert learner.predict([["a"], ["b"]]) == [["A"], ["B"]]
    with pytest.raises(DataError, match="sequence 0, token 1: label 'C' was never seen in training; known are A, B"):
        learner.partial_fit([["a", "c"]], [["A", "C"]])
    assert learner.predict([["a"], ["b"]]) == [["A"], ["B"]]


def test_a_bad_batch_changes_nothing():
    learner, twin = HMM().fit(X, Y), HMM().fit(X, Y)
    for bad_X, bad_y in (([["new", 3]], [["A", "T"]]), ([["new"]], [["Q"]]), ([["new"]], [["A", "T"]])):
        with pytest.raises(DataError):
            learner.partial_fit(bad_X, bad_y)
    same(learner, twin, [*X_NEW, ["new"]])


def test_the_probability_of_data_by_hand():
    """P(A) P(a|A) P(B|A) P(b|B) with a half added to every count, and one class for unknown words."""
    learner = HMM(unknown=None, start_smoothing=0.5, transition_smoothing=0.5, emission_smoothing=0.5)
    learner.fit([["a", "b"], ["a", "b"]], [["A", "B"], ["A", "B"]])
    best = learner.predict_kbest([["a", "b"]], 1)[0][0]
    assert best.labels == ["A", "B"]
    emission = 2.5 / 4  # of a: 2 counts, and 0.5 for a, b, the unknown class and the class never seen
    np.testing.assert_allclose(np.exp(best.score), 2.5 / 3 * emission * 2.5 / 3 * emission)


def test_unknown_words_take_after_the_words_seen_once():
    data = [["Ann", "runs", "x"], ["Bob", "sits", "x"], ["Cid", "goes", "x"]]
    learner = HMM(emission_smoothing=0.01, transition_smoothing=100.0, start_smoothing=100.0)
    learner.fit(data, [["A", "T", "T"]] * 3)
    assert learner.predict([["Dan"], ["eats"]]) == [["A"], ["T"]]


def test_without_smoothing_the_unseen_is_infeasible():
    learner = HMM(start_smoothing=0, transition_smoothing=0, emission_smoothing=0).fit([["a", "b"]], [["A", "B"]])
    assert learner.predict([["a", "b"]]) == [["A", "B"]]
    assert len(learner.predict_kbest([["a", "b"]], 5)[0]) == 1
    np.testing.assert_array_equal(learner.predict_marginals([["a", "b"]])[0], np.eye(2))
    for bad in (["b"], ["a", "a"]):
        with pytest.raises(Infeasible, match="sequence 1 has no output of finite score"):
            learner.predict([["a"], bad])
    assert [w[0] for w in learner.top_weights(5)] == ["word=a", "word=b"]


@pytest.mark.parametrize(
    ("batch", "labels"),
    [
        ([["new", "words"], []], [["A", "T"], ["A"]]),
        ([["new", "words"], ["x"]], [["A", "T"], ["Q"]]),
        ([["new", "words"], ["x"]], [["A", "T"], None]),
        ([["new", ("two", "columns")]], [["A", "T"]]),
    ],
    ids=["a label without a token", "an unknown label", "nothing known", "two kinds of tokens"],
)
def test_a_refused_batch_leaves_the_model_as_it_was(batch, labels):
    learner, other = (HMM().partial_fit(X[:10], Y[:10], classes=["A", "T", "Y"]) for _ in range(2))
    with pytest.raises(SidelightError):
        learner.partial_fit(batch, labels)
    assert learner.encoder_ == other.encoder_
    same(learner, other, X)
    same(learner.partial_fit(X[10:], Y[10:]), other.partial_fit(X[10:], Y[10:]), X)


def test_top_weights():
    learner = HMM(unknown=None).fit(
        [["a", "b", "x"]] * 3 + [["b", "a", "x"]], [["A", "B", "A"]] * 3 + [["B", "A", "B"]]
    )
    told = learner.top_weights(3)
    assert {(feature, label) for feature, label, _ in told[:2]} == {("word=a", "A"), ("word=b", "B")}
    assert told[0][2] > 0
    assert len(learner.top_weights(1)) == 1
    mine = learner.top_weights(10_000, label="B")
    assert mine == [one for one in learner.top_weights(10_000) if one[1] == "B"]
    with pytest.raises(DataError, match="Q"):
        learner.top_weights(label="Q")


@pytest.mark.parametrize("name", ["start_smoothing", "transition_smoothing", "emission_smoothing"])
@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf")])
def test_bad_smoothing(name, value):
    with pytest.raises(DataError, match=f"{name} must be a finite number of at least 0"):
        HMM(**{name: value}).fit(X, Y)


@pytest.mark.parametrize("form", [as_dicts, as_arrays])
def test_features_are_refused(form):
    with pytest.raises(DataError, match=r"HMM emits words.*feature dicts and arrays suit CRF"):
        HMM().fit(form(X), Y)
    CRF().fit(form(X), Y)


def test_bad_expressions():
    with pytest.raises(DataError, match="emission must be one column"):
        HMM("word & pos").fit(X, Y)
    with pytest.raises(DataError, match="unknown must be one column"):
        HMM(unknown="word[1]").fit(X, Y)
    with pytest.raises(DataError, match="pos needs column 1, but tokens have 1"):
        HMM("pos").fit(X, Y)


def test_a_model_of_order_two_by_hand(tmp_path):
    X, y = [["a", "b", "a", "b"], ["b", "a"]], [["P", "Q", "Q", "P"], ["Q", "P"]]
    smoothing = {"start_smoothing": 1, "transition_smoothing": 0.5, "emission_smoothing": 1}
    model = HMM(order=2, unknown=None, rare=0, **smoothing).fit(X, y)
    words = {("a", "P"): 3, ("b", "P"): 2, ("a", "Q"): 2, ("b", "Q"): 3}  # smoothed; two more symbols are never seen
    # P(Q | P), the second label, P(Q | P Q) and P(P | Q Q), each of two labels with half a count more
    expected = (2 / 4) * (1.5 / 2) * (1.5 / 2) * (1.5 / 2)
    for token, label in zip(X[0], y[0], strict=True):
        expected *= words[token, label] / 7
    known = encode_labels([y[0]], [4], model.classes_).labels
    np.testing.assert_allclose(np.exp(model.structure_.score(model.scores([X[0]]), known)), expected)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").scores(X).triple, model.scores(X).triple)
    total = np.exp(model.log_partition([["a", "b", "a"]]))
    assert 0 < total < 1


def test_em_of_order_two_raises_the_likelihood():
    rng = np.random.default_rng(0)
    X = [["ab"[k] for k in rng.integers(2, size=6)] for _ in range(15)]
    model = EM(HMM(order=2, rare=0, unknown=None), classes=["P", "Q"], iterations=8, spread=1.0, guard=False)
    steps = [step.objective for step in model.fit(X, [None] * len(X)).trace_ if step.comparable]
    assert all(b >= a - 1e-9 for a, b in pairwise(steps))
    assert EM(HMM(order=2), iterations=2, guard=False).fit(X, [["P", "Q"] * 3, *[None] * 14]).predict(X[:1])
    with pytest.raises(DataError, match="transition_smoothing"):
        HMM(order=2, transition_smoothing=0).fit(X, [["P", "Q"] * 3] * 15)
