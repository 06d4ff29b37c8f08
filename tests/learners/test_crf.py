import logging
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from sidelight import CRF, GOOD, generate_references, word
from sidelight.errors import DataError, NotSupported
from sidelight.structures.chain import Chain
from tests.learners.samples import as_arrays, as_dicts, labelled
from tests.structure_kit import enumerate_outputs

X, Y = labelled(longest=4)
FEATURES = ["word", "word[-1]"]


def log_likelihood(learner, X, y):
    """log P of what is known, by listing every label sequence that agrees with it."""
    total = 0.0
    scores = learner.scores(X)
    for i, known in enumerate(y):
        outputs, values = enumerate_outputs(Chain(), scores, i)
        agrees = [
            all(
                label is None or learner.classes_[c] in ({label} if isinstance(label, str) else label)
                for c, label in zip(output, known, strict=True)
            )
            for output in outputs
        ]
        total += logsumexp(values[agrees]) - logsumexp(values)
    return total


@pytest.mark.parametrize(("solver", "l1"), [("eg", 0.0), ("lbfgs", 0.0), ("lbfgs", 0.3)])
def test_the_objective_is_the_penalised_likelihood(solver, l1):
    learner = CRF(FEATURES, solver=solver, l1=l1, l2=0.5, tolerance=1e-4).fit(X, Y)
    w = learner.weights_
    objective = -log_likelihood(learner, X, Y) + l1 * np.abs(w).sum() + 0.5 * w @ w
    np.testing.assert_allclose(learner.trace_[-1].objective, objective, rtol=1e-6)
    assert learner.converged_
    assert learner.solver_ == solver
    assert learner.trace_[-1].gap <= 1e-4 * objective * 1.001


def test_both_solvers_find_the_same_model():
    eg, lbfgs = (CRF(FEATURES, solver=s, l2=1.0, tolerance=1e-6).fit(X, Y) for s in ("eg", "lbfgs"))
    np.testing.assert_allclose(eg.weights_, lbfgs.weights_, atol=3e-3)
    assert eg.predict(X) == lbfgs.predict(X)


def test_stochastic_gradient_steps_find_the_optimum():
    some, known = X[:8], Y[:8]
    sgd, again, lbfgs = (
        CRF(FEATURES, solver=s, l2=1.0, tolerance=0.01).fit(some, known) for s in ("sgd", "sgd", "lbfgs")
    )
    assert sgd.converged_
    np.testing.assert_allclose(sgd.trace_[-1].objective, lbfgs.trace_[-1].objective, rtol=0.01)
    np.testing.assert_array_equal(sgd.weights_, again.weights_)
    partial = [[None, *labels[1:]] if len(labels) > 1 else labels for labels in known]
    sgd, lbfgs = (CRF(FEATURES, solver=s, l2=1.0, tolerance=0.01).fit(some, partial) for s in ("sgd", "lbfgs"))
    np.testing.assert_allclose(sgd.trace_[-1].objective, lbfgs.trace_[-1].objective, rtol=0.01)
    with pytest.raises(NotSupported, match="solver 'sgd' needs l1 = 0 and l2 > 0; use solver='lbfgs'"):
        CRF(solver="sgd", l1=0.1, l2=0.0).fit(X, Y)


def test_auto_takes_the_fast_solver_where_it_applies():
    quick = {"features": FEATURES, "tolerance": 0.1}
    assert CRF(**quick).fit(X, Y).solver_ == "eg"
    for changed in ({"l1": 0.1}, {"l2": 0.0, "l1": 0.1}, {"order": 2}):
        assert CRF(**{**quick, **changed}).fit(X, Y).solver_ == "lbfgs"
    long = [["Ann"] * 2001]
    assert CRF(**quick).fit(long, [["A"] * 2001]).solver_ == "lbfgs"
    assert CRF(**quick).fit(X, [[{label} for label in labels] for labels in Y]).solver_ == "lbfgs"


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({"l1": 0.1}, Y, "solver 'eg' needs l1 = 0; use solver='lbfgs'"),
        ({"l2": 0.0}, Y, "solver 'eg' needs l2 > 0"),
        ({"order": 2, "l1": 1.0}, Y, "needs l1 = 0 and label chains of order 1"),
        ({}, [[None, *labels[1:]] if len(labels) > 1 else labels for labels in Y], "needs full labels"),
    ],
)
def test_eg_says_what_it_needs(parameters, y, message):
    learner = CRF(solver="eg", **parameters)
    with pytest.raises(NotSupported, match=message):
        learner.fit(X, y)


@pytest.mark.parametrize("order", [1, 2])
def test_determined_completions_are_full_labels(order):
    options = {"features": FEATURES, "order": order, "solver": "lbfgs", "tolerance": 1e-6}
    full = CRF(**options).fit(X, Y)
    sets = CRF(**options).fit(X, [[{label} for label in labels] for labels in Y])
    assert full.weights_.shape == sets.weights_.shape
    np.testing.assert_allclose(sets.trace_[-1].objective, full.trace_[-1].objective, rtol=1e-5)
    np.testing.assert_allclose(sets.weights_, full.weights_, atol=0.01)


def partially(y, seed=0):
    """Some labels hidden, some blurred, some known."""
    rng = np.random.default_rng(seed)
    hidden = []
    for labels in y:
        choice = rng.integers(3, size=len(labels))
        row = [(None, {label, "A"}, label)[k] for k, label in zip(choice, labels, strict=True)]
        hidden.append(row if any(row) else labels)
    return hidden


@pytest.mark.parametrize("order", [1, 2])
def test_partial_labels_become_likelier(order):
    y = partially(Y)
    assert {type(label) for labels in y for label in labels} == {str, set, type(None)}
    learner = CRF(FEATURES, order=order, l2=0.1).fit(X, y)
    objectives = [step.objective for step in learner.trace_]
    assert all(b <= a + 1e-9 for a, b in pairwise(objectives))
    reached = log_likelihood(learner, X, y)
    np.testing.assert_allclose(objectives[-1], -reached + 0.1 * learner.weights_ @ learner.weights_, rtol=1e-6)
    learner.model_ = replace(learner.model_, weights=np.zeros_like(learner.weights_))
    assert reached > log_likelihood(learner, X, y) + 1.0
    assert np.isnan(learner.trace_[-1].gap)  # not convex: no certificate is claimed


def test_partial_labels_teach_what_full_labels_would():
    """Every word is blurred with another label each time; only its own label explains all occurrences."""
    data = [["a", "b"], ["b", "c"], ["c", "a"]] * 4
    blur = {"a": ["AB", "AC"], "b": ["BA", "BC"], "c": ["CA", "CB"]}
    y = [[set(blur[w][k % 2]) for w in x] for k, x in enumerate(data)]
    learner = CRF(["word"], l2=0.01).fit(data, y)
    assert learner.predict([["a", "b", "c"]]) == [["A", "B", "C"]]


def test_partial_and_full_labels_may_be_mixed_but_nothing_at_all_is_refused():
    y = partially(Y)
    CRF(FEATURES, tolerance=0.1).fit(X, [*Y[:10], *y[10:]])
    for nothing in (None, [None] * len(Y[5])):
        with pytest.raises(NotSupported, match=r"CRF cannot learn from unlabelled sequences \(None\) \(sequence 5\)"):
            CRF(FEATURES).fit(X, [*Y[:5], nothing, *Y[6:]])
    with pytest.raises(NotSupported, match=r"CRF cannot learn from GOOD / BAD \(sequence 5\)"):
        CRF(FEATURES).fit(X, [*Y[:5], GOOD, *Y[6:]])


def test_a_second_order_sees_patterns_that_a_first_order_cannot():
    data = [["x"] * n for n in (6, 7, 8, 9, 11)]
    y = [list("AAB" * 4)[: len(x)] for x in data]
    first, second = (CRF(["bias"], order=o, l2=0.01, solver="lbfgs", tolerance=1e-5).fit(data, y) for o in (1, 2))
    assert second.score(data, y) == 1.0
    assert second.trace_[-1].objective < 0.7 * first.trace_[-1].objective
    one, two = (CRF(FEATURES, order=o, l2=1e-3, solver="lbfgs").fit(X, Y) for o in (1, 2))
    assert log_likelihood(two, X, Y) >= log_likelihood(one, X, Y)


@pytest.mark.parametrize("solver", ["eg", "lbfgs"])
def test_warm_start(solver):
    learner = CRF(FEATURES, solver=solver, l2=1.0, tolerance=1e-5, warm_start=True).fit(X, Y)
    cold, objective = len(learner.trace_), learner.trace_[-1].objective
    learner.fit(X, Y)
    assert len(learner.trace_) <= 3 < cold
    np.testing.assert_allclose(learner.trace_[-1].objective, objective, rtol=1e-4)
    again = CRF(FEATURES, solver=solver, l2=1.0, tolerance=1e-5).fit(X, Y)
    again.fit(X, Y)
    assert len(again.trace_) == cold
    with pytest.raises(DataError, match="warm_start needs the features and labels of the last fit"):
        learner.set_params(features=["word"]).fit(X, Y)
    with pytest.raises(DataError, match="warm_start needs the features and labels"):
        learner.set_params(features=FEATURES).fit(X, [[label + "!" for label in labels] for labels in Y])
    assert learner.predict(X) == again.predict(X)


def test_penalties():
    strong, weak = CRF(FEATURES, l2=100.0).fit(X, Y), CRF(FEATURES, l2=0.01).fit(X, Y)
    assert np.linalg.norm(strong.weights_) < np.linalg.norm(weak.weights_)
    assert log_likelihood(strong, X, Y) < log_likelihood(weak, X, Y)
    sparse = CRF(FEATURES, l1=1.0).fit(X, Y)
    assert 0.3 < (sparse.weights_ == 0).mean() < 1


def test_layout_options():
    base = CRF(FEATURES, tolerance=0.1).fit(X, Y)
    bare = CRF(FEATURES, tolerance=0.1, boundaries=False).fit(X, Y)
    assert len(bare.weights_) == len(base.weights_) - len(base.scorer_.starts) - len(base.scorer_.ends)
    assert not bare.scores(X).start.any()
    full = CRF(FEATURES, tolerance=0.1, all_weights=True).fit(X, Y)
    attributes = full.encoder_.attributes_
    assert len(full.weights_) == 3 * attributes + 9 + 6
    rare = CRF(FEATURES, tolerance=0.1, min_count=5).fit(X, Y)
    assert rare.encoder_.attributes_ < attributes
    assert CRF([word], tolerance=0.1).fit(X, Y).predict(X) == CRF(["word"], tolerance=0.1).fit(X, Y).predict(X)


def test_top_weights_are_the_largest():
    learner = CRF(FEATURES).fit(X, Y)
    told = learner.top_weights(6)
    flat = learner.scorer_.attribute_weights(learner.weights_)
    np.testing.assert_allclose([abs(v) for _, _, v in told], np.sort(np.abs(flat))[::-1][:6])
    for feature, label, value in told:
        attribute = [learner.encoder_.describe(a) for a in range(learner.encoder_.attributes_)].index(feature)
        assert learner.scorer_.weight_at(learner.weights_, attribute)[learner.classes_.index(label)] == value
    mine = learner.top_weights(10_000, label="T")
    assert mine == [one for one in learner.top_weights(10_000) if one[1] == "T"]
    with pytest.raises(DataError, match="Q"):
        learner.top_weights(label="Q")


def test_one_label_is_no_choice():
    for solver in ("eg", "lbfgs"):
        learner = CRF(solver=solver).fit([["a", "b"]], [["A", "A"]])
        assert learner.predict([["c"]]) == [["A"]]
        assert learner.trace_[-1].objective == 0
        told = learner.explain(["a"], 0)
        assert (told.label, told.rival, told.evidence) == ("A", "A", ())


def test_tokens_without_features_are_labelled_by_their_neighbours():
    data, y = [[{}, {}, {}]] * 3, [["A", "B", "B"]] * 3
    assert CRF(l2=0.01).fit(data, y).predict([[{}, {}, {}]]) == [["A", "B", "B"]]


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    learner = CRF(FEATURES).fit(X, Y)
    before, scores = learner.predict(X), learner.scores(X).unary
    other = [["P", "Q"]]
    for fit in (
        lambda: learner.fit([["a", 3]], other),
        lambda: learner.fit([["a"]], other),
        lambda: learner.set_params(solver="eg", order=2).fit([["a", "b"]], other),
    ):
        with pytest.raises((DataError, NotSupported)):
            fit()
        learner.set_params(solver="auto", order=1)
        assert learner.predict(X) == before
        np.testing.assert_array_equal(learner.scores(X).unary, scores)


def test_says_when_it_did_not_converge():
    for solver in ("eg", "lbfgs"):
        learner = CRF(FEATURES, solver=solver, max_iterations=2, tolerance=1e-9)
        with pytest.warns(
            ConvergenceWarning, match="CRF stopped before its tolerance, at objective .* after 2 iterations"
        ):
            learner.fit(X, Y)
        assert not learner.converged_
        assert len(learner.trace_) == 2


def test_verbose_logs_its_steps(caplog):
    with caplog.at_level(logging.INFO, logger="sidelight"):
        CRF(FEATURES, solver="lbfgs", verbose=True).fit(X, Y)
        told = [record.message for record in caplog.records]
        assert len(told) > 2
        assert all("objective" in line and "gap" in line for line in told)
        caplog.clear()
        CRF(FEATURES, solver="lbfgs").fit(X, Y)
        assert not caplog.records


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_numbers_must_be_finite(bad):
    arrays, dicts = as_arrays(X), as_dicts(X)
    arrays[1][0, 3] = bad
    dicts[1][0]["length"] = bad
    fitted_arrays, fitted_dicts = CRF().fit(as_arrays(X), Y), CRF().fit(as_dicts(X), Y)
    for call in (lambda: CRF().fit(arrays, Y), lambda: fitted_arrays.predict(arrays)):
        with pytest.raises(DataError, match="sequence 1, token 0: feature 3 is not a finite number"):
            call()
    for call in (lambda: CRF().fit(dicts, Y), lambda: fitted_dicts.predict(dicts)):
        with pytest.raises(DataError, match=f"sequence 1, token 0: feature 'length' is {bad}"):
            call()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"l1": -1.0}, "l1 must be a finite number of at least 0, got -1.0"),
        ({"l2": float("inf")}, "l2 must be a finite number of at least 0, got inf"),
        ({"l2": float("nan")}, "l2 must be a finite number"),
        ({"tolerance": 0.0}, "tolerance must be a finite number above 0, got 0.0"),
        ({"max_iterations": 0}, "max_iterations must be a whole number of at least 1, got 0"),
        ({"order": 0}, "order must be 1 or 2, got 0"),
        ({"solver": "adam"}, "solver must be 'auto', 'eg', 'lbfgs' or 'sgd', got 'adam'"),
        ({"features": ["word["]}, "cannot read the expression"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(DataError, match=message):
        CRF(**parameters).fit(X, Y)


def test_inputs_of_another_kind_are_refused():
    words, dicts, arrays = CRF().fit(X, Y), CRF().fit(as_dicts(X), Y), CRF().fit(as_arrays(X), Y)
    with pytest.raises(DataError, match="sequence 0, token 0: expected a feature dict as in the training data"):
        dicts.predict(X)
    with pytest.raises(DataError, match="sequence 0: expected an array of 12 columns, got 'list'"):
        arrays.predict(X)
    with pytest.raises(DataError, match="sequence 0, token 0: expected a string in column 0"):
        CRF().fit([[(["a"], "1"), (["b"], "2")]], [["P", "Q"]])
    with pytest.raises(DataError, match="sequence 0, token 0: expected a string or a tuple of strings"):
        words.predict(as_dicts(X))
    with pytest.raises(DataError, match="sequence 0: expected a list of tokens, got 'Ann runs'"):
        words.predict(["Ann runs"])


@pytest.mark.parametrize("parameters", [{"l2": 0.0, "l1": 1.0}, {"l2": 1.0}])
def test_without_a_gap_it_stops_near_the_optimum(parameters):
    """Partial labels and l1 alone have no duality gap; "converged" must still mean near the optimum."""
    X, y = generate_references(60, seed=5)
    if "l1" not in parameters:
        y = [[label if t % 3 else None for t, label in enumerate(labels)] for labels in y]
    loose = CRF(["word", "word.shape()"], **parameters).fit(X, y)
    tight = CRF(["word", "word.shape()"], tolerance=1e-7, max_iterations=3000, **parameters).fit(X, y)
    assert loose.converged_
    assert loose.trace_[-1].objective <= tight.trace_[-1].objective * 1.01


def test_auto_leaves_the_dual_solver_where_it_would_crawl():
    X, y = generate_references(10, seed=5)
    assert CRF(["word"]).fit(X, y).solver_ == "eg"
    assert CRF(["word"], l2=1e-3).fit(X, y).solver_ == "lbfgs"
    dense = [np.random.default_rng(len(x)).normal(scale=30.0, size=(len(x), 5)) for x in X]
    assert CRF(l2=1.0).fit(dense, y).solver_ == "lbfgs"
    short = [[f"w{k}"] for k in range(40)]
    assert CRF(["word"]).fit(short, [[f"label{k}"] for k in range(40)]).solver_ == "lbfgs"
