"""Maximum entropy classification: the optimum, the conventions, every form of document."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from sidelight import BAD, GOOD, Choice, DataError, MaxEnt, NotSupported, load
from sidelight.labels import as_sequences, encode_labels
from sidelight.scorers.choice import ChoiceScorer
from sidelight.solvers.losses import LogLoss
from tests import learner_kit

WORDS = {"A": ["Ann", "Bob", "Cid", "x"], "T": ["run", "sits", "on", "x"], "Y": ["1999", "2001", "7", "x"]}


def labelled(count=40, seed=0):
    """Documents of a few words that mostly tell their label."""
    rng = np.random.default_rng(seed)
    y = [str(label) for label in rng.choice(list("ATY"), size=count)]
    y[:3] = "ATY"
    return [[str(w) for w in rng.choice(WORDS[label], size=rng.integers(1, 6))] for label in y], y


def as_dicts(X):
    return [{**{w: x.count(w) for w in x}, "first": x[0], "long": len(x) > 3} for x in X]


def as_matrix(X):
    words = sorted({w for x in X for w in x})
    return np.array([[float(x.count(w)) for w in words] for x in X])


FORMS = {
    "words": list,
    "dicts": as_dicts,
    "matrix": as_matrix,
    "sparse": lambda X: sparse.csr_array(as_matrix(X)),
    "rows": lambda X: list(as_matrix(X)),
    "sparse rows": lambda X: [sparse.csr_array(row[None]) for row in as_matrix(X)],
}
X, Y = labelled()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("learner", [MaxEnt(l2=0.1), MaxEnt(l1=0.1, bias=False, all_weights=False, min_count=2)])
def test_conventions(learner, form, tmp_path):
    """The claims of the kit that are not about sequences of tokens; labels have one letter, as its lists of them."""
    documents = FORMS[form](X)
    learner_kit.check_parameters(learner)
    fitted = learner_kit.check_fit(learner, documents, Y)
    predicted = list(fitted.predict(documents))
    assert isinstance(fitted.predict(documents), np.ndarray if hasattr(documents, "shape") else list)
    assert isinstance(fitted.classes_, np.ndarray)
    assert fitted.score(documents, Y) == np.mean([a == b for a, b in zip(predicted, Y, strict=True)]) > 0.8
    assert fitted.predict(fitted.encode(documents)) == predicted
    assert fitted.predict([]) == []
    learner_kit.check_against_enumeration(fitted, documents)
    learner_kit.check_copies(fitted, documents, tmp_path) if form != "sparse" else None
    learner_kit.check_model_selection(learner, fitted, documents, Y)
    proba = fitted.predict_proba(documents)
    assert proba.shape == (40, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert [fitted.classes_[k] for k in proba.argmax(axis=1)] == predicted
    ranked = fitted.predict_kbest(documents, 5)
    assert [row[0].labels for row in ranked] == [[label] for label in predicted]
    assert {len(row) for row in ranked} == {3}


@pytest.mark.parametrize("form", ["words", "dicts", "rows"])
def test_explanations(form):
    learner_kit.check_explanations(MaxEnt().fit(FORMS[form](X), Y), FORMS[form](X))


def test_all_forms_of_the_same_counts_give_the_same_model():
    models = {name: MaxEnt(l2=0.3, tolerance=1e-9).fit(FORMS[name](X), Y) for name in FORMS if name != "dicts"}
    first = models["words"].predict_proba(X)
    for name, model in models.items():
        np.testing.assert_allclose(model.predict_proba(FORMS[name](X)), first, atol=1e-6)


@pytest.mark.parametrize("strength", [0.1, 1.0, 10.0])
def test_the_optimum_is_that_of_logistic_regression(strength):
    """Σ loss + l2 ‖w‖² with l2 = 1 / (2 C); a column of ones stands for the penalised biases."""
    matrix = as_matrix(X)
    ours = MaxEnt(l2=1 / (2 * strength), tolerance=1e-10).fit(matrix, Y)
    with_ones = np.column_stack((matrix, np.ones(len(Y))))
    theirs = LogisticRegression(C=strength, fit_intercept=False, tol=1e-8, max_iter=10_000).fit(with_ones, Y)
    np.testing.assert_allclose(ours.predict_proba(matrix), theirs.predict_proba(with_ones), atol=1e-4)
    weights = ours.scorer_.linear.attribute_weights(ours.weights_).reshape(-1, 3).T
    np.testing.assert_allclose(weights, theirs.coef_[:, :-1], atol=1e-3)
    np.testing.assert_allclose(ours.scorer_.biases(ours.weights_), theirs.coef_[:, -1], atol=1e-3)
    assert ours.converged_


def test_sets_of_labels():
    """The gradient of the likelihood of the allowed labels, by finite differences; and sets of one are labels."""
    partial = [{label} if i % 3 else {label, "A"} for i, label in enumerate(Y)]
    model = MaxEnt().fit(X, partial)
    assert model.score(X, Y) > 0.8
    np.testing.assert_allclose(
        MaxEnt(tolerance=1e-9).fit(X, [{label} for label in Y]).weights_,
        MaxEnt(tolerance=1e-9).fit(X, Y).weights_,
        atol=1e-3,
    )
    targets = encode_labels(as_sequences(partial, 40), [1] * 40, model.classes_)
    loss = LogLoss(model.scorer_, Choice(), model.encode(X), targets)
    rng = np.random.default_rng(0)
    w, direction = rng.normal(size=(2, model.scorer_.size))
    step = 1e-5
    slope = (loss(w + step * direction)[0] - loss(w - step * direction)[0]) / (2 * step)
    np.testing.assert_allclose(loss(w)[1] @ direction, slope, rtol=1e-6)


def test_completion_keeps_to_what_is_known():
    model = MaxEnt().fit(X, Y)
    assert model.complete(X, [None] * 40) == model.predict(X)
    assert model.complete(X, [{"T"}] * 40) == ["T"] * 40
    assert set(model.complete(X, [{"T", "Y"}] * 40)) == {"T", "Y"}


def test_files(tmp_path):
    for form in ("words", "sparse"):
        model = MaxEnt(min_count=2).fit(FORMS[form](X), Y)
        model.save(tmp_path / "m")
        again = load(tmp_path / "m")
        np.testing.assert_array_equal(again.predict_proba(FORMS[form](X)), model.predict_proba(FORMS[form](X)))
        assert again.converged_
        assert list(map(str, again.trace_)) == list(map(str, model.trace_))
        again.save(tmp_path / "n")
        assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()


def test_numbers_as_labels(tmp_path):
    numbers = np.array(["ATY".index(label) for label in Y])
    model = MaxEnt().fit(X, numbers)
    assert model.classes_.tolist() == [0, 1, 2]
    assert ["ATY"[k] for k in model.predict(X)] == MaxEnt().fit(X, Y).predict(X)
    assert model.score(X, numbers) == MaxEnt().fit(X, Y).score(X, Y) == MaxEnt().fit(X, numbers * 1.0).score(X, numbers)
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").predict(X) == model.predict(X)
    assert set(model.complete(X, [{1, 2}] * 40)) == {1, 2}
    with pytest.raises(DataError, match="document 0: label 3 is not known; known are 0, 1, 2"):
        model.complete(X[:1], [3])


def test_weights_of_what_was_observed_only():
    encoded = MaxEnt().fit(X, Y).encode(X)
    targets = encode_labels(as_sequences(Y, 40), [1] * 40, list("ATY"))
    few = ChoiceScorer.observed(encoded, targets, 3, all_weights=False)
    assert few.size < ChoiceScorer.observed(encoded, targets, 3).size == 3 * encoded.attributes + 3


def test_bad_input():
    cases = [
        (X, Y[:-1], "X has 40 documents but y has 39"),
        ([], [], "no documents were given"),
        ("abc", Y, "X must be a list of documents or a matrix, got str"),
        (None, Y, "X must be a list of documents or a matrix, got NoneType"),
        (X, None, "y must be a list with one element per document"),
        (X, [(3,), *Y[1:]], r"document 0: expected a label \(a string or a whole number\)"),
        (X, [3, *Y[1:]], "y has labels of several kinds; write all as strings, all as whole numbers"),
        (X, [0.5, *Y[1:]], "document 0: a label is a string or a whole number, got the continuous value 0.5"),
        (X, [set(), *Y[1:]], "document 0: expected a label"),
        (["a b", *X[1:]], Y, "document 0: expected a list of words or a feature dict, got 'a b'"),
        ([["a", 3], *X[1:]], Y, "document 0: expected words"),
        ([{"a": object()}, *X[1:]], Y, "document 0: feature 'a' is <object"),
        (np.full((40, 2), np.nan), Y, "document 0: feature 0 is not a finite number"),
        (np.zeros(40), Y, "X must be a matrix with a row for every document"),
        (np.zeros((40, 0)), Y, "X has 0 feature"),
        (np.zeros((40, 2), complex), Y, "Complex data not supported"),
        ([np.zeros(2), np.zeros(3)], ["A", "T"], "document 1: expected a row of 2 numbers"),
    ]
    for documents, y, message in cases:
        with pytest.raises(DataError, match=message):
            MaxEnt().fit(documents, y)
    with pytest.raises(DataError, match="trained on 10 columns, these documents have 3"):
        MaxEnt().fit(as_matrix(X), Y).predict(np.zeros((2, 3)))
    with pytest.raises(NotSupported, match=r"GOOD / BAD \(document 1\); use JLIS or Combined or Doc"):
        MaxEnt().fit(X, [Y[0], GOOD, *Y[2:]])
    with pytest.raises(
        NotSupported,
        match=r"MaxEnt cannot learn from unlabelled documents \(None\) \(document 0\); use Combined",
    ):
        MaxEnt().fit(X, [None, BAD, *Y[2:]])
    with pytest.raises(DataError, match="document 1: label 'Q' is not known; known are A, T, Y"):
        MaxEnt(classes=list("ATY")).fit(X[:2], ["A", {"T", "Q"}])
    with pytest.raises(DataError, match="document 0: label 'Q' is not known; known are A, T, Y"):
        MaxEnt().fit(X, Y).complete(X[:1], ["Q"])
    with pytest.raises(DataError, match="l2 must be a finite number"):
        MaxEnt(l2=-1).fit(X, Y)
