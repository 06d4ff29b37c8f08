"""Contrastive estimation: objective and gradient by listing every output, the conventions, restarts, files."""

import warnings
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sidelight import BAD, CRF, ContrastiveEstimation, DataError, NotSupported, TagDictionary, load
from tests import learner_kit
from tests.learners.samples import FORMS, labelled

X, Y = labelled()
KNOWN = TagDictionary.of(X, Y).apply(X)
CASES = [
    (ContrastiveEstimation(), "words"),
    (ContrastiveEstimation(order=2, l2=0.5, restarts=2, random_state=3), "columns"),
    (ContrastiveEstimation(["word", "word[-1] & word"], neighbourhood="shuffle", shuffles=4), "words"),
    (ContrastiveEstimation(boundaries=False, min_count=2), "dicts"),
    (ContrastiveEstimation(), "arrays"),
    (ContrastiveEstimation(), "sparse"),
]


@pytest.mark.parametrize(("learner", "form"), CASES, ids=lambda value: str(value)[:40])
def test_conventions(learner, form, tmp_path):
    """The claims for every learner but those about full labels, which say nothing here."""
    inputs = FORMS[form](X)
    learner_kit.check_parameters(learner)
    learner_kit.check_not_fitted(learner, inputs, KNOWN, tmp_path)
    fitted = clone(learner)
    assert fitted.fit(inputs, KNOWN) is fitted
    assert fitted.classes_ == ["A", "T", "Y"]
    assert all(name.endswith("_") for name in vars(fitted).keys() - fitted.get_params().keys())
    learner_kit.check_against_enumeration(fitted, inputs)
    learner_kit.check_kbest(fitted, inputs)
    learner_kit.check_explanations(fitted, inputs)
    learner_kit.check_copies(fitted, inputs, tmp_path)
    learner_kit.check_repeatable(learner, fitted, inputs, KNOWN)
    found = fitted.complete(inputs, KNOWN)
    right = [a == b for labels, truth in zip(found, Y, strict=True) for a, b in zip(labels, truth, strict=True)]
    assert np.mean(right) > 0.75


def neighbours(x, y):
    """The sequence and its transpositions with what is allowed, each once."""
    out = [(tuple(x), tuple(map(frozenset, y)))]
    for t in range(len(x) - 1):
        order = [*range(t), t + 1, t, *range(t + 2, len(x))]
        out.append((tuple(x[i] for i in order), tuple(frozenset(y[i]) for i in order)))
    return list(dict.fromkeys(out))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("features", [["word"], ["word", "word[-1] & word"]], ids=str)
def test_the_objective_by_enumeration(order, features):
    """Every neighbour with every allowed label sequence, scored one by one."""
    short = [(x[:4], y[:4]) for x, y in zip(X[:8], KNOWN[:8], strict=True)]
    inputs, known = [x for x, _ in short], [y for _, y in short]
    learner = ContrastiveEstimation(features, order=order, classes=["A", "T", "Y"])
    prepared, loss = learner._contrast(inputs, known)
    w = np.random.default_rng(0).normal(size=prepared.scorer.size)

    def log_z(x, y):
        scores = prepared.scorer.scores(prepared.encoder.transform([list(x)]), w)
        outputs = product(*(["ATY".index(label) for label in allowed] for allowed in y))
        return logsumexp([learner.structure_.score(scores, np.array(o, np.int32))[0] for o in outputs])

    expected = 0.0
    for x, y in short:
        around = neighbours(x, y)
        expected += logsumexp([log_z(*one) for one in around]) - log_z(*around[0])
    value, gradient = loss(w)
    np.testing.assert_allclose(value, expected)
    for seed in range(3):
        direction = np.random.default_rng(seed + 1).normal(size=len(w))
        slope = (loss(w + 1e-5 * direction)[0] - loss(w - 1e-5 * direction)[0]) / 2e-5
        np.testing.assert_allclose(gradient @ direction, slope, rtol=1e-6)


def test_every_weight_of_the_gradient():
    _, loss = ContrastiveEstimation(neighbourhood="shuffle", shuffles=5)._contrast(X[:6], KNOWN[:6])
    w = np.random.default_rng(0).normal(size=loss.scorer.size)
    steps = 1e-5 * np.eye(len(w))
    slopes = [(loss(w + step)[0] - loss(w - step)[0]) / 2e-5 for step in steps]
    np.testing.assert_allclose(loss(w)[1], slopes, atol=1e-6)


def test_threads_do_not_change_the_loss():
    many, known = X * 10, KNOWN * 10
    values = []
    for n in (1, 3):
        _, loss = ContrastiveEstimation(n_jobs=n)._contrast(many, known)
        values.append(loss(np.random.default_rng(0).normal(size=loss.scorer.size)))
    np.testing.assert_allclose(values[0][0], values[1][0])
    np.testing.assert_allclose(values[0][1], values[1][1], atol=1e-9)


def test_order_is_learned_from_order():
    """Two words of two possible labels each, and one sure word that always stands between them."""
    inputs = [["p", "the", "q"], ["q2", "the", "q"], ["p", "the", "q3"]] * 3
    known = [[{"V", "N"}, {"D"}, {"N"}], [{"V"}, {"D"}, {"V", "N"}], [{"V"}, {"D"}, {"N"}]] * 3
    model = ContrastiveEstimation(l2=0.01).fit(inputs, known)
    assert model.complete(inputs, known)[:2] == [["V", "D", "N"], ["V", "D", "N"]]


def test_the_objective_falls_and_the_best_restart_is_kept():
    model = ContrastiveEstimation(restarts=4, random_state=1, l2=0.01, tolerance=1e-5).fit(X, KNOWN)
    objective = [step.objective for step in model.trace_]
    assert all(after <= before + 1e-9 for before, after in pairwise(objective))
    assert len(model.run_objectives_) == 4
    assert len(set(model.run_objectives_)) > 1  # each begins from weights of its own
    assert model.trace_[-1].objective == min(model.run_objectives_)
    alone = ContrastiveEstimation(restarts=1, random_state=1, l2=0.01, tolerance=1e-5).fit(X, KNOWN)
    assert alone.run_objectives_ == model.run_objectives_[:1]


def test_nothing_known_but_the_labels():
    model = ContrastiveEstimation(classes=["A", "B"], restarts=2).fit(X, [None] * 30)
    assert {label for labels in model.predict(X) for label in labels} <= {"A", "B"}
    mixed = ContrastiveEstimation().fit(X, [None if i % 2 else known for i, known in enumerate(KNOWN)])
    assert mixed.classes_ == ["A", "T", "Y"]


def test_files(tmp_path):
    model = ContrastiveEstimation(restarts=2).fit(X, KNOWN)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.run_objectives_ == model.run_objectives_
    assert again.converged_ == model.converged_
    assert again.complete(X, KNOWN) == model.complete(X, KNOWN)


def test_stopping_early_is_told():
    with pytest.warns(ConvergenceWarning, match="ContrastiveEstimation stopped before its tolerance"):
        ContrastiveEstimation(max_iterations=1, l2=0.01).fit(X, KNOWN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ContrastiveEstimation().fit(X, KNOWN).converged_


def test_bad_input():
    with pytest.raises(DataError, match="no token has more than one allowed label"):
        ContrastiveEstimation().fit(X, Y)
    with pytest.raises(DataError, match="no token has more than one allowed label"):
        ContrastiveEstimation().fit(X, [None] * 30)
    with pytest.raises(NotSupported, match=r"ContrastiveEstimation cannot learn from GOOD / BAD \(sequence 0\)"):
        ContrastiveEstimation().fit(X, [BAD, *KNOWN[1:]])
    with pytest.raises(DataError, match="neighbourhood must be 'transpose' or 'shuffle', got 'delete'"):
        ContrastiveEstimation(neighbourhood="delete").fit(X, KNOWN)
    for name in ("shuffles", "restarts", "max_iterations"):
        with pytest.raises(DataError, match=f"{name} must be a whole number of at least 1"):
            ContrastiveEstimation(**{name: 0}).fit(X, KNOWN)
    with pytest.raises(DataError, match="all sequences are empty"):
        ContrastiveEstimation().fit([[]], [[]])
    with pytest.raises(DataError, match="label 'Y' was never seen in training"):
        ContrastiveEstimation(classes=["A", "T"]).fit(X, KNOWN)


@pytest.mark.parametrize("learner", [CRF(), ContrastiveEstimation()], ids=str)
def test_completion_keeps_to_what_is_known(learner):
    model = learner.fit(X, KNOWN)
    assert model.complete(X, Y) == Y
    assert model.complete(X, [None] * 30) == model.predict(X)
    with pytest.raises(DataError, match="label 'Z' was never seen"):
        model.complete(X[:1], [[{"Z"}] * len(X[0])])
    with pytest.raises(DataError, match="X has 1 sequences but y has 2"):
        model.complete(X[:1], Y[:2])
