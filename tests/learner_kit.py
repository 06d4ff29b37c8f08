"""One set of claims for every learner: scikit-learn's conventions, predictions against enumeration, files, errors."""

import copy
import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from sidelight import BAD, GOOD, load
from sidelight.errors import DataError, NotSupported
from sidelight.features.encoded import Encoded
from sidelight.kernels import parallel
from sidelight.structures.segmentation import Segmentation, Segments
from sidelight.supervision import Signal
from tests.structure_kit import enumerate_outputs


def check_learner(learner, X, y, folder):
    """Check an unfitted learner on a small data set with full labels, some of its sequences short."""
    check_parameters(learner)
    check_not_fitted(learner, X, y, folder)
    fitted = check_fit(learner, X, y)
    check_predictions(fitted, X, y)
    check_against_enumeration(fitted, X)
    check_kbest(fitted, X)
    check_explanations(fitted, X)
    check_repeatable(learner, fitted, X, y)
    check_copies(fitted, X, folder)
    check_model_selection(learner, fitted, X, y)
    check_bad_input(learner, fitted, X, y)
    check_signals(learner, X, y)


def equal(a, b):
    """Deep equality of anything X and y are made of."""
    if sparse.issparse(a):
        return type(a) is type(b) and a.shape == b.shape and equal(a.toarray(), b.toarray()) and a.nnz == b.nnz
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    return type(a) is type(b) and a == b


def short(scores, limit=100):
    """A few sequences with few enough outputs to list."""
    found = [i for i, n in enumerate(np.diff(scores.offsets)) if scores.labels**n <= limit][:6]
    assert found
    return found


def enumerate_labels(fitted, scores, index):
    """Every label sequence of one input with its score; a learner's outputs are one to one with these."""
    outputs, values = enumerate_outputs(fitted.structure_, scores, index)
    labels = [tuple(fitted.structure_.token_labels(np.array(output, np.int32)).tolist()) for output in outputs]
    assert len(set(labels)) == len(labels)
    return labels, values


def relabelled(fitted, scores, output, t, label):
    """The output with another label at token t, or for the whole segment that holds it; None if there is none."""
    flipped = output.copy()
    if not isinstance(fitted.structure_, Segmentation):
        flipped[t] = label
        return flipped
    cut = Segments.of(scores.offsets, output)
    s = int(np.searchsorted(cut.first, t, side="right")) - 1
    if label in cut.labels[max(s - 1, 0) : s + 2]:
        return None
    flipped[cut.first[s] : cut.last[s] + 1] += 2 * (label - cut.labels[s])
    return flipped


def check_parameters(learner):
    """The constructor stores and does nothing else; get, set, clone and repr agree with it."""
    parameters = learner.get_params()
    assert vars(learner).keys() == parameters.keys()
    again = type(learner)(**parameters)
    assert all(getattr(again, name) is value for name, value in parameters.items())
    twin = clone(learner)
    assert repr(twin) == repr(learner)
    assert repr(learner).startswith(type(learner).__name__ + "(")
    nonsense = object()
    for name in parameters:  # nothing is checked before fit
        assert getattr(type(learner)(**{**parameters, name: nonsense}), name) is nonsense
        assert twin.set_params(**{name: nonsense}) is twin
        assert twin.get_params()[name] is nonsense
    with pytest.raises(ValueError, match="Invalid parameter"):
        twin.set_params(no_such_parameter=1)


def check_not_fitted(learner, X, y, folder):
    calls = [
        lambda m: m.predict(X),
        lambda m: m.predict_marginals(X),
        lambda m: m.predict_kbest(X),
        lambda m: m.scores(X),
        lambda m: m.encode(X),
        lambda m: m.log_partition(X),
        lambda m: m.score(X, y),
        lambda m: m.explain(X[0], 0),
        lambda m: m.save(folder / "never.model"),
    ]
    for call in calls:
        with pytest.raises(NotFittedError):
            call(clone(learner))
    assert not (folder / "never.model").exists()
    failed = clone(learner)
    with pytest.raises(DataError):
        failed.fit(X, y[:-1])
    with pytest.raises(NotFittedError):
        failed.predict(X)


def check_fit(learner, X, y):
    """fit returns the learner, leaves its inputs and parameters alone, and names what it learned with a last _."""
    fitted = clone(learner)
    parameters = fitted.get_params()
    X_before, y_before, parameters_before = copy.deepcopy(X), copy.deepcopy(y), copy.deepcopy(parameters)
    assert fitted.fit(X, y) is fitted
    assert equal(X, X_before)
    assert equal(y, y_before)
    assert all(fitted.get_params()[name] is value for name, value in parameters.items())
    assert repr(parameters) == repr(parameters_before)
    learned = vars(fitted).keys() - parameters.keys()
    assert learned
    assert all(name.endswith("_") for name in learned)
    assert list(fitted.classes_) == sorted({label for labels in y for label in labels})
    return fitted


def check_predictions(fitted, X, y):
    predicted = fitted.predict(X)
    assert [len(labels) for labels in predicted] == [len(labels) for labels in y]
    assert {type(label) for labels in predicted for label in labels} == {str}
    assert {label for labels in predicted for label in labels} <= set(fitted.classes_)
    right = [a == b for labels, truth in zip(predicted, y, strict=True) for a, b in zip(labels, truth, strict=False)]
    np.testing.assert_allclose(fitted.score(X, y), np.mean(right))
    assert np.mean(right) > 0.8  # of its own training data
    weights = np.arange(len(y)) % 3 + 0.5
    each = np.repeat(weights, [len(labels) for labels in y])
    np.testing.assert_allclose(fitted.score(X, y, sample_weight=weights), np.average(right, weights=each))
    assert fitted.predict(X[:1]) == predicted[:1]
    assert fitted.predict([]) == []
    encoded = fitted.encode(X)
    assert isinstance(encoded, Encoded)
    assert fitted.predict(encoded) == predicted
    for one, other in zip(fitted.predict_marginals(encoded), fitted.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(one, other)


def check_against_enumeration(fitted, X):
    """Best output, log-partition and marginals of short sequences by listing every output."""
    scores = fitted.scores(X)
    marginals, log_z, predicted = fitted.predict_marginals(X), fitted.log_partition(X), fitted.predict(X)
    for (a, b), chance in zip(pairwise(scores.offsets), marginals, strict=True):
        assert chance.shape == (b - a, len(fitted.classes_))
        assert (chance >= 0).all()
        np.testing.assert_allclose(chance.sum(axis=1), 1, atol=1e-9)
    for i in short(scores):
        outputs, values = enumerate_labels(fitted, scores, i)
        np.testing.assert_allclose(log_z[i], logsumexp(values))
        expected = np.zeros_like(marginals[i])
        for output, p in zip(outputs, np.exp(values - logsumexp(values)), strict=True):
            expected[np.arange(len(output)), list(output)] += p
        np.testing.assert_allclose(marginals[i], expected, atol=1e-9)
        number = [fitted.labels_.index(label) for label in predicted[i]]
        np.testing.assert_allclose(values[outputs.index(tuple(number))], values.max())


def leading(ranked):
    """The labels of the best outputs: rounding decides between several of the same score."""
    return [one.labels for one in ranked if np.isclose(one.score, ranked[0].score, rtol=1e-12, atol=1e-12)]


def check_kbest(fitted, X):
    ranked, predicted, log_z = fitted.predict_kbest(X, 4), fitted.predict(X), fitted.log_partition(X)
    scores = fitted.scores(X)
    for lists, best in zip(ranked, predicted, strict=True):
        values = [one.score for one in lists]
        assert values == sorted(values, reverse=True)
        np.testing.assert_allclose(values[0], max(values))
        assert len({tuple(one.labels) for one in lists}) == len(lists) <= 4
        assert best in leading(lists)
    for (alone,), lists in zip(fitted.predict_kbest(X, 1), ranked, strict=True):
        assert alone.labels in leading(lists)
        np.testing.assert_allclose(alone.score, lists[0].score)
    i = min(short(scores), key=lambda i: scores.offsets[i + 1] - scores.offsets[i])
    outputs, values = enumerate_labels(fitted, scores, i)
    everything = fitted.predict_kbest(X[i : i + 1], 10_000)[0]
    assert len(everything) == len(outputs)
    by_output = {tuple(fitted.classes_[c] for c in y): v for y, v in zip(outputs, values, strict=True)}
    for labels, score, probability in everything:
        np.testing.assert_allclose(score, by_output[tuple(labels)])
        np.testing.assert_allclose(probability, np.exp(score - log_z[i]))
    np.testing.assert_allclose(sum(one.probability for one in everything), 1)
    with pytest.raises(DataError, match="k >= 1"):
        fitted.predict_kbest(X, 0)


def check_explanations(fitted, X):
    """All evidence together is the difference of the total scores of the output and of the one with the rival."""
    structure = fitted.structure_
    for i in range(min(len(X), 6)):
        scores = fitted.scores(X[i : i + 1])
        output = structure.argmax(scores).outputs.values
        labels = fitted.structure_.token_labels(output)
        chances = fitted.predict_marginals(X[i : i + 1])[0]
        for t in range(len(labels)):
            told = fitted.explain(X[i], t, top=10_000)
            assert told.position == t
            assert told.label == fitted.classes_[labels[t]]
            assert told.rival != told.label
            np.testing.assert_allclose(told.probability, chances[t, labels[t]])
            others = np.delete(chances[t], labels[t])
            np.testing.assert_allclose(told.rival_probability, others.max())
            flipped = relabelled(fitted, scores, output, t, fitted.labels_.index(told.rival))
            if flipped is not None:
                difference = structure.score(scores, output)[0] - structure.score(scores, flipped)[0]
                np.testing.assert_allclose(sum(e.difference for e in told.evidence), difference, atol=1e-9)
            sizes = [abs(e.difference) for e in told.evidence]
            assert sizes == sorted(sizes, reverse=True)
            if i == 0:  # fewer reasons, and positions from the end
                assert fitted.explain(X[i], t, top=2).evidence == told.evidence[:2]
                assert fitted.explain(X[i], t - len(labels), top=1).position == t
            assert f"{told.place} {t}: {told.label}" in str(told)
        with pytest.raises(DataError, match=f"position {len(labels)} is outside the {fitted.task_.noun}"):
            fitted.explain(X[i], len(labels))


def check_repeatable(learner, fitted, X, y):
    """The same data give the same model, fitted again or anew, with one thread or several."""
    before, scores = fitted.predict(X), fitted.scores(X)
    anew = clone(learner).fit(X, y)
    np.testing.assert_array_equal(anew.scores(X).unary, scores.unary)
    np.testing.assert_array_equal(anew.scores(X).pair, scores.pair)
    again = copy.deepcopy(fitted).fit(X, y)
    np.testing.assert_array_equal(again.scores(X).unary, scores.unary)
    tokens = len(scores.unary)
    copies = 140 // tokens + 1  # enough for three shards of at least 40 tokens
    many_X, many_y = [*X] * copies, [*y] * copies
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "_SMALLEST_SHARD", 40)
        one, three = (clone(learner).set_params(n_jobs=n).fit(many_X, many_y) for n in (1, 3))
        assert one.predict(many_X) == three.predict(many_X)
        # Sums in another order send an iterative solver along another path to the same tolerance.
        np.testing.assert_allclose(one.scores(X).unary, three.scores(X).unary, rtol=0.05, atol=0.1)
    assert again.predict(X) == before


def check_copies(fitted, X, folder):
    """Copies by pickle and by file predict the same, and know the same parameters."""
    path = folder / "copy.model"
    fitted.save(path)
    for copied in (pickle.loads(pickle.dumps(fitted)), load(path), type(fitted).load(path)):
        assert type(copied) is type(fitted)
        assert equal(copied.classes_, fitted.classes_)
        assert repr(copied) == repr(fitted)
        assert equal(copied.predict(X), fitted.predict(X))
        np.testing.assert_array_equal(copied.scores(X).unary, fitted.scores(X).unary)
        np.testing.assert_array_equal(copied.log_partition(X), fitted.log_partition(X))
        assert copied.explain(X[0], 0) == fitted.explain(X[0], 0)
        assert copied.top_weights(5) == fitted.top_weights(5)


def check_model_selection(learner, fitted, X, y):
    halves = [(np.arange(0, len(y), 2), np.arange(1, len(y), 2))]
    scores = cross_val_score(learner, X, y, cv=halves, error_score="raise")
    assert scores.shape == (1,)
    assert ((scores >= 0) & (scores <= 1)).all()
    search = GridSearchCV(learner, {"n_jobs": [2]}, cv=halves, error_score="raise").fit(X, y)
    np.testing.assert_allclose(search.score(X, y), fitted.score(X, y))


def check_bad_input(learner, fitted, X, y):
    empty = X[0][:0] if not sparse.issparse(X[0]) else sparse.csr_array((0, X[0].shape[1]))
    cases = [
        (X[:-1], y, f"X has {len(X) - 1} sequences but y has {len(y)}"),
        (X, [*y[:2], [*y[2], "A"], *y[3:]], f"sequence 2 has {len(y[2])} tokens but {len(y[2]) + 1} labels"),
        ([*X[:1], empty, *X[1:]], [*y[:1], ["A"], *y[1:]], "sequence 1 has 0 tokens but 1 labels"),
        (
            [empty, *X],
            [[], *y[:2], [*y[2], "A"], *y[3:]],
            f"sequence 3 has {len(y[2])} tokens but {len(y[2]) + 1} labels",
        ),
        ([empty], [[]], "all sequences are empty, so there is nothing to learn from"),
        ([], [], "no sequences were given"),
        ("abc", y, "X must be a list of sequences"),
        (None, y, "X must be a list of sequences"),
        (X, None, "y must be a list with one element per sequence"),
        (X, [*y[:1], "".join(y[1]), *y[2:]], "y of sequence 1 must be a list of labels"),
        (X, [*y[:1], [7, *y[1][1:]], *y[2:]], "sequence 1, token 0: a label is a string, None or a non-empty set"),
    ]
    for bad_X, bad_y, message in cases:
        with pytest.raises(DataError, match=message):
            clone(learner).fit(bad_X, bad_y)
    check_empty(fitted, X, y, empty)
    foreign = replace(fitted.encode(X), attributes=fitted.encode(X).attributes + 1)
    with pytest.raises(DataError, match="X was encoded by another model"):
        fitted.predict(foreign)


def check_empty(fitted, X, y, empty):
    """Sequences without tokens have outputs without labels."""
    batch = [empty, *X[:2], empty]
    assert fitted.predict(batch) == [[], *fitted.predict(X[:2]), []]
    assert fitted.predict([empty]) == [[]]
    assert fitted.predict_kbest(batch, 2)[::3] == [[([], 0.0, 1.0)], [([], 0.0, 1.0)]]
    assert fitted.predict_marginals(batch)[0].shape == (0, len(fitted.classes_))
    assert fitted.log_partition(batch)[0] == 0.0
    assert np.diff(fitted.infer(batch, 2).outputs.offsets).tolist() == [0, len(y[0]), len(y[1]), 0]
    assert fitted.complete(batch, [None, *y[:2], []]) == [[], *y[:2], []]
    assert fitted.score(batch, [[], *y[:2], []]) == fitted.score(X[:2], y[:2])


def check_signals(learner, X, y):
    """A kind of y that the learner cannot use is refused with the sequence's number; the others are learned from."""
    examples = {
        Signal.FULL: y[1],
        Signal.PARTIAL: [{label} for label in y[1]],
        Signal.NOTHING: None,
        Signal.COMPANION: GOOD,
    }
    empty = X[0][:0] if not sparse.issparse(X[0]) else sparse.csr_array((0, X[0].shape[1]))
    for signal, example in examples.items():
        mixed = [*y[:1], example, *y[2:]]
        if signal in learner.signals:
            clone(learner).set_params(
                **{"solver": type(learner)().solver} if "solver" in learner.get_params() else {}
            ).fit([*X, empty], [*mixed, []])  # an empty one does not matter
        else:
            name = type(learner).__name__
            with pytest.raises(NotSupported, match=rf"{name} cannot learn from .* \(sequence 1\); "):
                clone(learner).fit(X, mixed)
    if Signal.COMPANION not in learner.signals:
        with pytest.raises(NotSupported, match=r"GOOD / BAD \(sequence 0\)"):
            clone(learner).fit(X, [BAD for _ in y])
    if Signal.NOTHING not in learner.signals:
        with pytest.raises(NotSupported, match=r"unlabelled sequences \(None\) \(sequence 0\)"):
            clone(learner).fit(X, [None for _ in y])
