"""Classifiers by latent structures: the objective by enumeration, both algorithms, labels, files, what is refused."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

from sidelight import (
    BAD,
    GOOD,
    JLIS,
    LCLR,
    Aligning,
    DataError,
    Matching,
    NotSupported,
    Parsing,
    Program,
    StructuralSVM,
    TwoStage,
    Variables,
    count,
    load,
    mismatched,
    ranking_scores,
    source,
    word,
)
from sidelight.learners.margins.jlis import input_sizes
from sidelight.scorers.protocol import KeepsReady
from sidelight.solvers import latent_margins
from sidelight.solvers.latent_margins import LatentProblem
from sidelight.solvers.margin_constraints import BestSearch, MarginInputs, Rejected
from tests.learners.samples import labelled
from tests.parts_data import LETTERS, sentences, shuffles, spellings
from tests.structure_kit import enumerate_outputs

PAIRS = [x for x in spellings(30)[0] if len(x[0]) > 2]
X, Y = PAIRS + mismatched(PAIRS, seed=2), [1] * len(PAIRS) + [0] * len(PAIRS)
NEW = [x for x in spellings(30, seed=9)[0] if len(x[0]) > 2]
NEW_X, NEW_Y = NEW + mismatched(NEW, seed=2), [1] * len(NEW) + [0] * len(NEW)
START = {f"pair={a} – {b}": 1.0 for a, b in LETTERS.items()}
LETTER_TASK = Aligning(features="letters")


def lclr(**more):
    return LCLR(**{"task": LETTER_TASK, "initial": START, "C": 1.0, "change": 1e-4, **more})


def listed(model, pairs):
    """The best score of each pair by listing all structures."""
    scores = model.scores(pairs)
    best = np.array([enumerate_outputs(model.structure_, scores, i)[1].max() for i in range(len(pairs))])
    return best / input_sizes(model, pairs) + model.constant * model.constant_weight_


def rises(model):
    values = [one.objective for one in model.rounds_] + [model.objective_]
    return (np.diff(values) > 1e-9 * np.abs(values[1:])).any()


@pytest.mark.parametrize(
    "task", [LETTER_TASK, Aligning(longest=2), Matching()], ids=["letters", "segments", "matching"]
)
@pytest.mark.parametrize("size", ["length", None])
def test_the_objective_is_equation_5_3(task, size):
    small = [i for i, (s, t) in enumerate(X) if len(s) <= 4 and len(t) <= 4]
    pairs, y = [X[i] for i in small], [Y[i] for i in small]
    model = LCLR(task=task, C=0.7, constant=0.5, size=size, change=1e-3).fit(pairs, y)
    best = listed(model, pairs)
    np.testing.assert_allclose(model.decision_function(pairs), best, atol=1e-9)
    slack = np.maximum(0.0, 1.0 - np.where(y, 1.0, -1.0) * best)
    weights = np.append(model.weights_, model.constant_weight_)
    np.testing.assert_allclose(model.objective_, weights @ weights / 2 + 0.7 * (slack**2).sum(), rtol=1e-6)
    np.testing.assert_array_equal(model.predict(pairs), (best > 0).astype(int))
    assert not rises(model)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_the_objective_never_rises(loss):
    for initial in (None, START):
        model = lclr(initial=initial, loss=loss).fit(X, Y)
        assert len(model.rounds_) > 1
        assert not rises(model)
        assert model.converged_
    assert LCLR().change == 1e-5  # section 5.4 of Chang 2011


def test_it_is_jlis_without_labelled_structures():
    options = {"task": LETTER_TASK, "random_ties": False, "change": 1e-4, "size": None}
    joint = JLIS(C2=1.0, guard=False, **options).fit(X, [GOOD if one else BAD for one in Y])
    alone = LCLR(C=1.0, **options).fit(X, Y)
    np.testing.assert_array_equal(joint.weights_, alone.weights_)
    np.testing.assert_array_equal(joint.decision_function(X), alone.decision_function(X))


def test_balanced_costs():
    """The same as so many copies of the rarer inputs."""
    few = PAIRS[:4]
    bad = X[len(PAIRS) :][: 3 * len(few)]
    options = {"change": 1e-6, "tolerance": 1e-6, "random_ties": False}
    balanced = lclr(class_weight="balanced", C=1.0, **options).fit(few + bad, [1] * 4 + [0] * 12)
    copied = lclr(C=16 / 24, **options).fit(few * 3 + bad, [1] * 12 + [0] * 12)
    np.testing.assert_allclose(balanced.objective_, copied.objective_, rtol=1e-3)
    np.testing.assert_allclose(balanced.decision_function(X), copied.decision_function(X), atol=0.02)


def test_both_algorithms():
    """Algorithm 12 fixes the structures of bad pairs; it ends above Algorithm 10, and may go up on its way."""
    exact = lclr(C=10.0).fit(X, Y)
    with pytest.warns(ConvergenceWarning):
        rough = lclr(C=10.0, approximate=True, max_rounds=8).fit(X, Y)
    assert exact.objective_ < rough.objective_
    assert rises(rough)
    assert rough.score(X, Y) > 0.8


def test_working_sets_that_move_or_are_dropped_change_nothing_but_the_time():
    model = lclr().fit(X, Y)
    structure, encoded = LETTER_TASK.structure(1), model.encode(X)
    good, bad = (
        Rejected(
            MarginInputs(
                KeepsReady(model.scorer_), encoded.take(np.flatnonzero(np.array(Y) == z)), BestSearch(structure)
            ),
            1.0, np.ones(len(PAIRS)), 1.0,
        )
        for z in (1, 0)
    )  # fmt: skip
    problem = LatentProblem(
        (bad,), (lambda w, number: replace(good.fixed(w), sign=1.0),), "squared_hinge", margins_stay=True
    )
    initial = np.append(model.weights_, 0.0) * 0.1
    options = {"change": 1e-6, "max_rounds": 20, "tolerance": 1e-6, "epsilon": 1e-3, "max_iterations": 2000, "seed": 0}
    problems = (replace(problem, margins_stay=stay) for stay in (True, False))
    kept, anew = (latent_margins.minimize(one, initial, **options) for one in problems)
    np.testing.assert_allclose(kept.objective, anew.objective, rtol=1e-4)
    np.testing.assert_allclose(kept.weights, anew.weights, atol=0.02)


def test_joint_learning_is_better_than_two_stages():
    """The initial weights know half of the letters."""
    some = dict(list(START.items())[:3])
    two = TwoStage(task=LETTER_TASK, initial=some).fit(X, Y)
    joint = lclr(initial=some).fit(X, Y)
    assert joint.score(NEW_X, NEW_Y) >= two.score(NEW_X, NEW_Y) >= 0.6
    assert joint.score(NEW_X, NEW_Y) > 0.85
    gold = spellings(30, seed=9)
    chosen = [i for i, x in enumerate(gold[0]) if len(x[0]) > 2]
    links = [gold[1][i] for i in chosen]
    assert LETTER_TASK.score(links, joint.predict_structure(NEW)) > LETTER_TASK.score(links, two.predict_structure(NEW))


def test_what_to_begin_with():
    two = TwoStage(task=LETTER_TASK, initial=START)
    fitted = clone(two).fit(X, Y)
    learned = {name: weight for name, _, weight in fitted.top_weights(10_000)}
    ways = [two, fitted, learned, fitted.coef_]
    values = [lclr(initial=initial).fit(X, Y).decision_function(NEW_X) for initial in ways]
    for other in values[1:]:
        np.testing.assert_allclose(values[0], other)
    pairs, links = spellings(30)
    given = {tuple(map("".join, x)): y for x, y in zip(pairs, links, strict=True)}
    known = lclr(initial=lambda x: given.get(tuple(map("".join, x)), [])).fit(X, Y)
    assert known.score(NEW_X, NEW_Y) > 0.85
    by_function = TwoStage(task=LETTER_TASK, initial=lambda x: [(0, 0)]).fit(X, Y)
    assert by_function.predict_structure(NEW[:2]) == [[(0, 0)]] * 2
    with pytest.raises(NotSupported, match="gives no reasons"):
        by_function.explain(NEW[0])
    supervised = StructuralSVM(task=LETTER_TASK).fit(pairs, links)
    assert lclr(initial=supervised).fit(X, Y).score(NEW_X, NEW_Y) > 0.85


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        ({"nothing": 1.0}, "initial names no feature that the inputs have; they have "),
        ([1.0, 2.0], r"initial has the shape \(2,\), and there are \d+ weights"),
        ("x", "initial must be a mapping, a list of numbers, a Learner, a function or None"),
        (lambda x: None, "initial gives no structure of some inputs"),
        (lambda x: [(0, 99)], "is out of range"),
    ],
)
def test_wrong_starts(initial, message):
    with pytest.raises(DataError, match=message):
        lclr(initial=initial).fit(X, Y)


def test_two_stages_need_a_start():
    with pytest.raises(DataError, match="TwoStage needs `initial`"):
        TwoStage(task=LETTER_TASK).fit(X, Y)


@pytest.mark.parametrize("labels", [(BAD, GOOD), (False, True), (0, 1), (-1, 1)], ids=str)
@pytest.mark.parametrize("learner", [lclr(change=0.01), TwoStage(task=LETTER_TASK, initial=START)], ids=["lclr", "two"])
def test_labels_and_files(learner, labels, tmp_path):
    y = [labels[one] for one in Y]
    model = clone(learner).set_params(calibration=2).fit(X, y)
    assert list(model.classes_) == list(labels)
    predicted = model.predict(NEW_X)
    assert {type(one) for one in predicted} <= {type(labels[0]), np.bool_, np.int64}
    assert [one == labels[1] for one in predicted] == (model.decision_function(NEW_X) > 0).tolist()
    assert model.score(X, y) == np.mean([a == b for a, b in zip(model.predict(X), y, strict=True)])
    chances = model.predict_proba(NEW_X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    order = np.argsort(model.decision_function(NEW_X))
    assert (np.diff(chances[order, 1]) >= 0).all()
    model.save(tmp_path / "m")
    read = load(tmp_path / "m")
    assert list(read.classes_) == list(labels)
    np.testing.assert_array_equal(read.decision_function(NEW_X), model.decision_function(NEW_X))
    np.testing.assert_array_equal(read.predict_proba(NEW_X), chances)
    assert list(read.predict(NEW_X)) == list(predicted)
    assert read.predict_structure(NEW_X) == model.predict_structure(NEW_X)
    assert read.explain(NEW[0], 0) == model.explain(NEW[0], 0)
    assert read.top_weights(5) == model.top_weights(5)
    assert read.initial == START


def test_probabilities_are_calibrated():
    """Held-out decisions, not those about the training data, say how sure to be."""
    rng = np.random.default_rng(0)
    noisy = [1 - one if rng.random() < 0.2 else one for one in Y]
    model = lclr(C=100.0, calibration=4).fit(X, noisy)
    chances = model.predict_proba(NEW_X)[:, 1]
    assert 0.05 < chances.min() < chances.max() < 0.95
    plain = lclr().fit(X, Y)
    with pytest.raises(AttributeError, match="predict_proba"):
        plain.predict_proba(NEW_X)
    with pytest.raises(DataError, match="needs at least 2 folds"):
        lclr(calibration=1).fit(X, Y)


def test_calibration_has_the_targets_of_platt(monkeypatch):
    """(N₊ + 1) / (N₊ + 2) for good inputs and 1 / (N₋ + 2) for bad ones: the fit's chances have the same sum."""
    monkeypatch.setattr(LCLR, "decision_function", lambda self, pairs: np.array([len(s) - len(t) for s, t in pairs]))
    some = X[:4] + X[len(PAIRS) : len(PAIRS) + 7]
    model = lclr(calibration=2, change=0.1).fit(some, [1] * 4 + [0] * 7)
    np.testing.assert_allclose(model.predict_proba(some)[:, 1].sum(), 4 * 5 / 6 + 7 / 9, atol=1e-3)


def test_scikit_learn():
    model = lclr(change=0.01, C=1.0)
    scores = cross_val_score(model, X, Y, cv=3, scoring="roc_auc", error_score="raise")
    assert scores.mean() > 0.7
    search = GridSearchCV(model, {"C": [0.01, 1.0]}, cv=2, error_score="raise").fit(X, Y)
    assert search.best_estimator_.score(X, Y) > 0.8
    assert repr(clone(model)) == repr(model)


def test_chains_and_trees(tmp_path):
    words, _ = labelled(seed=1, count=30, longest=8)
    good = [x for x in words if len(x) > 3]
    rng = np.random.default_rng(0)
    bad = [[x[i] for i in rng.permutation(len(x))] for x in good]
    chain = LCLR(["word", "word[-1] & word"], classes=["1", "2"], C=100.0, size="length", change=0.01)
    model = chain.fit(good + bad, [True] * len(good) + [False] * len(bad))
    assert model.score(good + bad, [True] * len(good) + [False] * len(bad)) > 0.8
    assert {label for labels in model.predict_structure(good) for label in labels} <= {"1", "2"}
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(bad), model.predict(bad))
    trees, _ = sentences(12)
    bad = [[x[i] for i in rng.permutation(len(x))] for x in trees]
    model = LCLR(task=Parsing(projective=True), C=10.0, size="length", change=0.01).fit(
        trees + bad, [1] * 12 + [0] * 12
    )
    assert model.score(trees + bad, [1] * 12 + [0] * 12) > 0.8
    with pytest.raises(DataError, match=r"name them in classes=\[...\]"):
        LCLR().fit(good + words, [1] * len(good) + [0] * len(words))


@dataclass(frozen=True)
class Covering(Program):
    """Which items of a side have a partner on the other; at most two may be without."""

    noun = "pair"

    def declare(self, x):
        found = Variables()
        for i, one in enumerate(x[0]):
            for j, other in enumerate(x[1]):
                found.add((i, j), pair=f"{one} {other}")
            found.add((i, "none"), none=True)
            found.exactly_one([*((i, j) for j in range(len(x[1]))), (i, "none")])
        for j in range(len(x[1])):
            found.at_most_one([(i, j) for i in range(len(x[0]))])
        return found


def test_programs_and_matchings():
    pairs = shuffles(12)[0]
    some, y = pairs + mismatched(pairs, seed=1), [1] * 12 + [0] * 12
    initial = {f"pair={a} {b}": 1.0 for a, b in LETTERS.items()}
    for task in (Covering(), Matching()):
        model = LCLR(task=task, initial=initial, C=100.0, change=0.01).fit(some, y)
        assert model.score(some, y) > 0.9
        assert not rises(model)


def test_rules_limit_structures():
    model = lclr(rules=[count(where=source(word.isin("a"))) == 0], change=0.01).fit(X, Y)
    for (letters, _), links in zip(NEW_X, model.predict_structure(NEW_X), strict=True):
        assert "a" not in {letters[i] for i, _ in links}


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1] * len(X), "all pairs have the same label"),
        (Y[:-1], r"X has \d+ pairs but y has"),
        (["yes", *Y[1:]], "pair 0 has the label 'yes'; a label is GOOD or BAD"),
        ([None, *Y[1:]], "pair 0 has the label None"),
        ([[(0, 0)], *Y[1:]], "JLIS learns from structures too"),
        ([2, *Y[1:]], "pair 0 has the label 2"),
        ([-1, *Y[1:]], r"y has the labels -1, 0, 1; write 1 and 0, 1 and -1, or GOOD and BAD"),
        ([GOOD, *Y[1:]], "y has the labels 0, 1, GOOD; write 1 and 0"),
        (3, "y must be a list with one label per pair"),
    ],
)
def test_wrong_labels(y, message):
    with pytest.raises(DataError, match=message):
        lclr().fit(X, y)


def test_encoded_and_no_inputs():
    for size in (None, "length"):
        for model in (
            lclr(size=size, change=0.1).fit(X, Y),
            TwoStage(task=LETTER_TASK, initial=START, size=size).fit(X, Y),
        ):
            values = model.decision_function(NEW_X)
            np.testing.assert_array_equal(model.decision_function(model.encode(NEW_X)), values)
            assert len(model.decision_function([])) == len(model.predict([])) == 0
            assert model.predict_structure([]) == []


def test_wrong_parameters():
    for name, value in (
        ("C", 0.0),
        ("size", "wide"),
        ("constant", -1.0),
        ("calibration", 1.5),
        ("class_weight", {0: 1}),
    ):
        with pytest.raises(DataError, match=name):
            lclr(**{name: value}).fit(X, Y)
    with pytest.raises(DataError, match="features must be 'items' or 'letters'"):
        LCLR(task=Aligning(features="words")).fit(X, Y)


def test_rankings():
    found = ranking_scores([[3.0, 1.0, 2.0], [1.0, 1.0, 0.0], [0.0, 5.0, 7.0]], [0, 1, {0, 1}])
    assert (found.queries, found.accuracy) == (3, 1 / 3)
    np.testing.assert_allclose(found.mrr, (1 + 1 / 2 + 1 / 2) / 3)
    for scores, right, message in (
        ([[1.0]], [1], "query 0 has 1 candidates, and 1 is right"),
        ([[1.0]], [set()], "query 0"),
        ([[float("nan"), 1.0]], [1], "is no number"),
        ([[1.0]], [], "scores of 1 queries"),
    ):
        with pytest.raises(DataError, match=message):
            ranking_scores(scores, right)
