from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sidelight import CRF, DataError, SemiCRF, generate_references, load
from sidelight.features.segments import SegmentEncoder
from sidelight.learners.labelled import crf
from sidelight.learners.tasks.segmenting import Segmenting
from sidelight.scorers.segments import SegmentScorer
from sidelight.solvers.certificate import duality_gap, penalty
from sidelight.solvers.losses import LogLoss
from sidelight.structures.segmentation import Segmentation
from tests.learners.samples import labelled

PUNCTUATED = {"begin_features": [], "end_features": ["word.ispunct()"]}


@pytest.fixture(scope="module")
def references():
    X, y = generate_references(60, seed=1)[:2]
    return X[:40], y[:40], X[40:], y[40:]


def test_without_segment_features_it_is_the_chain_model():
    """The same weights, label sequences and probabilities as a CRF, through other recursions."""
    X, y = labelled(longest=9)
    features = ["word", "word[-1]"]
    chain = CRF(features, solver="lbfgs", l2=0.3, tolerance=1e-7).fit(X, y)
    segments = SemiCRF(
        features, begin_features=[], end_features=[], length=False, max_length=9, l2=0.3, tolerance=1e-7
    ).fit(X, y)
    np.testing.assert_allclose(segments.trace_[-1].objective, chain.trace_[-1].objective, rtol=1e-6)
    np.testing.assert_allclose(segments.weights_, chain.weights_, atol=1e-3)
    assert segments.predict(X) == chain.predict(X)
    for one, other in zip(segments.predict_marginals(X), chain.predict_marginals(X), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)


def test_the_gradient_is_that_of_the_loss():
    X, y = labelled(count=12)
    fitted = SemiCRF(max_iterations=500, l2=1.0).fit(X, y)
    loss = _loss_of(fitted, X, y)
    rng = np.random.default_rng(0)
    w = rng.normal(size=fitted.scorer_.size)
    _, gradient = loss(w)
    for direction in (rng.normal(size=len(w)) for _ in range(5)):
        up, down = loss(w + 1e-5 * direction)[0], loss(w - 1e-5 * direction)[0]
        np.testing.assert_allclose((up - down) / 2e-5, gradient @ direction, rtol=1e-6)
    edges = np.cumsum([0, *(len(fitted.scorer_.weights_of(p, w)) for p in ("token", "first", "last", "length"))])
    for k in [int(e) for e in edges[:-1]] + [int(e) - 1 for e in edges[1:]]:
        moved = [w.copy(), w.copy()]
        moved[0][k] += 1e-5
        moved[1][k] -= 1e-5
        np.testing.assert_allclose((loss(moved[0])[0] - loss(moved[1])[0]) / 2e-5, gradient[k], atol=1e-6)


def _loss_of(fitted, X, y):
    from sidelight.labels import encode_labels
    from sidelight.structures.segmentation import runs

    encoded = fitted.encode(X)
    targets = encode_labels(y, [len(x) for x in X], fitted.classes_)
    known = replace(targets, written=runs(encoded.offsets, targets.labels))
    return LogLoss(fitted.scorer_, Segmentation(), encoded, known)


def test_stops_at_a_certified_gap(monkeypatch, tmp_path):
    X, y = labelled()
    exact = SemiCRF(l2=0.5, tolerance=1e-9).fit(X, y)
    assert exact.solver_ == "lbfgs"  # visits are in single precision
    best = exact.trace_[-1].objective
    for solver in ("eg", "lbfgs"):
        fitted = CRF(task=Segmenting(), l2=0.5, tolerance=1e-4, solver=solver).fit(X, y)
        last = fitted.trace_[-1]
        assert fitted.converged_
        assert 0 <= last.gap <= 1e-4 * last.objective
        loss, gradient = _loss_of(fitted, X, y)(fitted.weights_)
        np.testing.assert_allclose(loss + penalty(fitted.weights_, 0.0, 0.5), last.objective)
        assert best - 1e-9 <= last.objective <= best + last.gap + 1e-9
    np.testing.assert_allclose(duality_gap(fitted.weights_, gradient, 0.0, 0.5), last.gap, rtol=1e-5, atol=1e-9)
    assert SemiCRF(l2=0.5, tolerance=1e-4).fit(X, y).solver_ == "eg"
    monkeypatch.setattr(crf, "_PASSES", 2)
    both = SemiCRF(l2=0.5, tolerance=1e-4).fit(X, y)
    assert both.converged_
    assert both.solver_ == "eg, then lbfgs"
    both.save(tmp_path / "both.model")
    assert load(tmp_path / "both.model").solver_ == "eg, then lbfgs"
    assert CRF(task=Segmenting(), l2=0.5, tolerance=1e-4, solver="eg").fit(X, y).solver_ == "eg"
    with pytest.warns(ConvergenceWarning, match="SemiCRF stopped before its tolerance"):
        SemiCRF(max_iterations=1).fit(X, y)


def test_lengths_tell_what_words_do_not():
    """Two kinds of runs of the same word differ in nothing but their length."""
    rng = np.random.default_rng(0)
    y = []
    for _ in range(130):
        short, long = int(rng.integers(1, 3)), int(rng.integers(5, 8))
        y.append(["A"] * short + ["B"] * long + ["A"] * int(rng.integers(1, 3)) + ["B"] * int(rng.integers(5, 8)))
    X = [
        ["." if t + 1 == len(labels) or labels[t] != labels[t + 1] else "x" for t in range(len(labels))] for labels in y
    ]
    X = [[("stop" if w == "." and rng.random() < 0.5 else "x") for w in x] for x in X]
    kind = {"features": ["word"], "begin_features": [], "end_features": ["word"]}
    plain = SemiCRF(**kind, length=False).fit(X[:30], y[:30]).score(X[30:], y[30:])
    aware = SemiCRF(**kind).fit(X[:30], y[:30]).score(X[30:], y[30:])
    assert aware > plain + 0.03
    assert aware > 0.92


def test_segment_features_help_on_references(references):
    X, y, X_new, y_new = references
    kind = {"features": ["word", "word.shape()"], "l2": 0.1, "tolerance": 1e-5}
    chain = CRF(**kind).fit(X, y).score(X_new, y_new)
    segments = SemiCRF(**kind, **PUNCTUATED, length=False).fit(X, y).score(X_new, y_new)
    both = SemiCRF(**kind).fit(X, y).score(X_new, y_new)
    assert both >= chain
    assert both >= segments - 0.01


def test_max_length():
    X, y = [["a"] * 6, ["a", "b", "b"]], [["A"] * 6, ["A", "B", "B"]]
    assert SemiCRF().fit(X, y).max_length_ == 9
    assert SemiCRF(max_length=6).fit(X, y).max_length_ == 6
    with pytest.raises(
        DataError, match=r"sequence 0, token 0: a segment of 6 equal labels .* max_length = 5 \(1 such\)"
    ):
        SemiCRF(max_length=5).fit(X, y)
    for bad in (0, -1, 2.5):
        with pytest.raises(DataError, match="max_length must be a whole number"):
            SemiCRF(max_length=bad).fit(X, y)
    predicted = SemiCRF(max_length=6).fit(X, y).predict([["a"] * 20])[0]
    longest = max(len(run) for run in "".join(predicted).replace("AB", "A|B").replace("BA", "B|A").split("|"))
    assert longest <= 6


def test_one_label_fits_sequences_of_any_length():
    fitted = SemiCRF().fit([["a", "b"]], [["A", "A"]])
    assert fitted.predict([["a"] * 50]) == [["A"] * 50]
    np.testing.assert_allclose(fitted.predict_marginals([["a"] * 50])[0], 1.0)


def test_templates_where_there_are_no_columns_are_refused():
    with pytest.raises(DataError, match="end_features are templates over columns"):
        SemiCRF(end_features=["word"]).fit([[{"a": 1}]], [["A"]])
    with pytest.raises(DataError, match="put it into a list"):
        SemiCRF(begin_features="word").fit([["a"]], [["A"]])
    with pytest.raises(DataError, match="features are a list of templates, got <generator"):
        SemiCRF(end_features=(one for one in ["word"])).fit([["a"]], [["A"]])


def test_input_encoded_without_segments_is_refused():
    X, y = labelled()
    fitted = SemiCRF().fit(X, y)
    with pytest.raises(DataError, match="encoded"):
        fitted.predict(CRF().fit(X, y).encode(X))
    other = SemiCRF(begin_features=["word"]).fit(X, y)
    with pytest.raises(DataError, match="another model"):
        fitted.predict(other.encode(X))


def test_weights_exist_for_labels_seen_with_an_attribute():
    X, y = [["a", "b", "c"]], [["A", "A", "B"]]
    encoder = SegmentEncoder.choose(X, ["word"], ["word"], ["word", "word[1]"], 1, 1)
    encoded = encoder.fit_transform(X)
    from sidelight.labels import encode_labels

    targets = encode_labels(y, [3], ["A", "B"])
    scorer = SegmentScorer.observed(encoded, targets, 2, longest=4)
    sizes = [len(scorer.weights_of(place, np.zeros(scorer.size))) for place in ("token", "first", "last", "length")]
    assert sizes == [3 + 1 + 1 + 1, 3, 6, 2 * 4]  # words, pair A B, start A, end B; words; words and next; lengths
    assert (
        SegmentScorer.observed(encoded, targets, 2, longest=4, lengths=False).size == sizes[0] + 1 + 3 + 6
    )  # pair A A


def test_top_weights_tell_where_in_a_segment():
    X, y = labelled()
    told = SemiCRF(["word"]).fit(X, y).top_weights(1000)
    assert {t.split(" with ")[0] for t, _, _ in told if " with " in t} == {"begins", "ends"}
    assert all(label == "A" for _, label, _ in SemiCRF(["word"]).fit(X, y).top_weights(9, "A"))


def test_labels_that_the_data_lack(tmp_path):
    X, y = labelled()
    model = SemiCRF(classes=["A", "B", "T", "Y"]).fit(X, y)
    assert model.classes_ == ["A", "B", "T", "Y"]
    assert model.predict_marginals(X[:1])[0].shape == (len(X[0]), 4)
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").predict(X) == model.predict(X)
    with pytest.raises(DataError, match="classes must be different labels"):
        SemiCRF(classes=["A", "A", "T", "Y"]).fit(X, y)
