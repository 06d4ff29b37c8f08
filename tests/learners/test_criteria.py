"""Generalized expectation and entropy regularization: objectives, special cases, conventions."""

import re
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

import sidelight
from sidelight import (
    CRF,
    HMM,
    Chain,
    DataError,
    NotSupported,
    changes,
    count,
    each,
    generate_references,
    load,
    min_length,
    runs,
    share,
    token_accuracy,
    where,
    word,
)
from sidelight.inference.rows import Rows
from sidelight.solvers.certificate import penalty
from tests import learner_kit
from tests.learners.as_published import EntropyRegularization, GeneralizedExpectation, PosteriorRegularization
from tests.learners.samples import FORMS, labelled
from tests.learners.test_ccm import check_composite

X, Y = labelled()
HALF = [y if i < 12 else None for i, y in enumerate(Y)]
MIXED = [y if i < 8 else [y[0], *[None] * (len(y) - 1)] if i < 16 else None for i, y in enumerate(Y)]
LABELS = ["A", "T", "Y"]
RULES = [
    runs(each) <= 1,
    where(word.isdigit()).label("Y"),
    share("A", where=word.istitle()) == 1,
    (share("T") == 0.35).expected(3),
    (changes() >= 1).over_corpus(),
]
BASE = CRF(l2=1.0, tolerance=0.01)
CASES = [
    GeneralizedExpectation(BASE, RULES),
    GeneralizedExpectation(CRF(l1=0.1, l2=0.1), RULES[2:], distance="kl", strength=0.3),
    EntropyRegularization(BASE, [], strength=0.1),
    EntropyRegularization(CRF(order=2), [], strength=0.02),
    EntropyRegularization(BASE, RULES, strength=0.1, rule_strength=2.0),
]


@pytest.mark.parametrize("learner", CASES, ids=lambda m: str(m)[:60])
def test_conventions(learner, tmp_path):
    check_composite(learner, X, Y, tmp_path)
    fitted = learner.fit(X, HALF)
    learner_kit.check_against_enumeration(fitted, X)
    learner_kit.check_kbest(fitted, X)
    learner_kit.check_explanations(fitted, X)
    assert token_accuracy(Y, fitted.predict(X)) > 0.75
    assert fitted.converged_
    fitted.fit(X, MIXED)
    fitted.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert str(again.trace_) == str(fitted.trace_)
    assert again.converged_ == fitted.converged_
    assert again.top_weights(5) == fitted.top_weights(5)
    assert again.predict(X) == fitted.predict(X)


@pytest.mark.parametrize("learner", CASES, ids=lambda m: str(m)[:60])
@pytest.mark.parametrize("y", [HALF, MIXED], ids=["half", "mixed"])
def test_the_objective_falls(learner, y):
    trace = learner.fit(X, y).trace_
    assert len(trace) > 2
    assert all(after.objective <= before.objective + 1e-9 for before, after in pairwise(trace))


@pytest.mark.parametrize(("given", "weight"), [(1.0, 1.0), (None, 12 / 18)], ids=str)
def test_the_objective_is_what_is_said(given, weight):
    """Likelihood, penalty, distances and entropy, each worked out from the fitted model; without a weight the 18
    unlabelled sequences together count as much as the 12 labelled ones.
    """
    options = {"strength": 0.2, "rule_strength": 0.7, "unlabeled_weight": given}
    model = EntropyRegularization(CRF(l2=0.5), RULES, **options).fit(X, HALF)
    scores, labels = model.scores(X[:12]), [model.classes_.index(c) for y in Y[:12] for c in y]
    likelihood = Chain().score(scores, np.array(labels, np.int32)) - Chain().marginals(scores).log_partition
    pool = model.scores(X[12:])
    rows = Rows.compile(RULES, X[12:], LABELS)
    excess = rows.excess(rows.tilt(pool, np.zeros(len(rows))).expected)
    objective = -likelihood.sum() + penalty(model.base_.weights_, 0, 0.5) + weight * 0.2 * Chain().entropy(pool).sum()
    objective += weight * 0.35 * (rows.penalty * rows.copies * excess**2).sum()
    np.testing.assert_allclose(model.trace_[-1].objective, objective)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # begun at the optimum
def test_without_criteria_it_is_the_crf():
    base = CRF(l2=1.0, all_weights=True, solver="lbfgs", tolerance=1e-6)
    plain = clone(base).fit(X[:12], Y[:12])
    for model in (
        GeneralizedExpectation(base, RULES, strength=0.0),
        GeneralizedExpectation(base, []),
        EntropyRegularization(base, strength=0.0),
    ):
        found = model.fit(X, HALF)
        np.testing.assert_allclose(found.scores(X[:12]).unary, plain.scores(X[:12]).unary, atol=1e-3)
    for y in (Y[:12], [*Y[:11], [{label} for label in Y[11]]]):
        full = EntropyRegularization(base).fit(X[:12], y)
        np.testing.assert_allclose(full.scores(X[:12]).unary, plain.scores(X[:12]).unary, atol=1e-3)


@pytest.mark.parametrize("distance", ["squared", "l1", "l2", "kl"])
def test_strong_rules_are_met(distance):
    rules = [share("A") == 0.5, share("T") == 0.2, share("Y") == 0.3, share("A", where=word.isin("x")) >= 0.9]
    misses = []
    for strength in (0.01, 1.0, 100.0):
        model = GeneralizedExpectation(CRF(l2=0.1, tolerance=1e-6), rules, distance=distance, strength=strength)
        pool = model.fit(X, HALF).scores(X[12:])
        rows = Rows.compile(rules, X[12:], LABELS)
        misses.append(np.abs(rows.excess(rows.tilt(pool, np.zeros(len(rows))).expected)).max())
    assert misses[0] > misses[1] > misses[2]
    assert misses[2] < 0.02


@pytest.mark.parametrize("form", FORMS)
def test_without_rules_any_form_of_input_will_do(form):
    some = FORMS[form](X)
    model = EntropyRegularization(BASE, strength=0.01).fit(some, HALF)
    assert token_accuracy(Y, model.predict(some)) > 0.75


def test_entropy_falls_with_strength():
    left = []
    for strength in (0.0, 0.1, 1.0):
        model = EntropyRegularization(CRF(tolerance=1e-5), strength=strength).fit(X, HALF)
        left.append(Chain().entropy(model.scores(X[12:])).sum())
    assert left[0] > left[1] > left[2]


def test_rules_alone_are_enough_to_begin():
    """No labels at all: the words that rules speak of get their fields."""
    X, _ = generate_references(120, seed=3)
    year, page = "^(19|20)[0-9][0-9]$", ("pp", "pages")
    rules = [
        share("date", where=word.matches(year)) >= 0.95,
        share("pages", where=word.isin(*page)) >= 0.95,
        share("author", where=word.matches("^[A-Z]$")) >= 0.95,
    ]
    model = GeneralizedExpectation(CRF(l2=0.1), rules, strength=10.0).fit(X, [None] * len(X))
    assert model.classes_ == ["author", "date", "pages"]
    tokens = [(w, p) for x, labels in zip(X, model.predict(X), strict=True) for w, p in zip(x, labels, strict=True)]
    assert np.mean([p == "date" for w, p in tokens if re.match(year, w)]) > 0.9
    assert np.mean([p == "pages" for w, p in tokens if w in page]) > 0.9


def test_unlabelled_references_and_rules_help():
    more, truth = generate_references(400, seed=1)
    y = [*truth[:5], *[None] * 195]
    test = more[200:], truth[200:]
    rules = [
        share("pages", where=word.isin("pp", "pages")) == 1,
        share("booktitle", where=word.lower().isin("proc", "proceedings")) == 1,
        share("journal", where=word.lower().isin("journal", "transactions")) == 1,
        share("date", where=word.matches("^(19|20)[0-9][0-9]$")) >= 0.9,
    ]
    plain = CRF(l2=0.1).fit(more[:5], truth[:5]).score(*test)
    for learner in (sidelight.GeneralizedExpectation, sidelight.EntropyRegularization):
        assert learner(CRF(l2=0.1), rules).fit(more[:200], y).score(*test) > plain + 0.02


@pytest.mark.parametrize("learner", [GeneralizedExpectation, EntropyRegularization])
def test_what_is_refused(learner):
    for bad, message in (
        ({"strength": -1}, "strength must be a finite number of at least 0"),
        ({"base": CRF(tolerance=0)}, "tolerance must be a finite number above 0"),
        ({"base": CRF(max_iterations=0)}, "max_iterations must be a whole number of at least 1"),
        ({"distance": "l3"}, "distance must be 'squared', 'l1', 'l2' or 'kl', got 'l3'"),
        ({"base": CRF(l2=-1)}, "l2 must be a finite number of at least 0"),
    ):
        with pytest.raises(DataError, match=message):
            learner(**{"base": BASE, "rules": RULES, **bad}).fit(X, HALF)
    with pytest.raises(NotSupported, match="needs the gradient of a CRF, and HMM has none; use CRF as base, or Post"):
        learner(HMM(), RULES).fit(X, HALF)
    with pytest.raises(NotSupported, match="need a CRF of order 1, got order 2"):
        learner(CRF(order=2), RULES).fit(X, HALF)
    with pytest.raises(NotSupported, match="is not a sum over parts"):
        learner(BASE, [min_length(2)]).fit(X, HALF)
    with pytest.raises(NotSupported, match=r"'kl' is between counts, and .* can be below zero"):
        learner(BASE, [count("A") - count("T") == 0], distance="kl").fit(X, HALF)
    with pytest.raises(DataError, match="neither labels nor rules say anything"):
        learner(BASE, classes=LABELS).fit(X, [None] * len(X))
    with pytest.raises(DataError, match="no label is known"):
        learner(BASE).fit(X, [None] * len(X))
    with pytest.raises(DataError, match="is about tokens of the corpus, and the data has none of them"):
        learner(BASE, [share("A", where=word.isin("zebra")) == 1]).fit(X, HALF)


@pytest.mark.parametrize("learner", [GeneralizedExpectation, EntropyRegularization])
def test_distances_are_checked_whatever_is_labelled(learner):
    for y in (HALF, Y):
        for rules in ([], RULES):
            with pytest.raises(DataError, match="distance must be 'squared', 'l1', 'l2' or 'kl', got 'l3'"):
                learner(BASE, rules, distance="l3").fit(X, y)
        with pytest.raises(NotSupported, match="can be below zero"):
            learner(BASE, [count("A") - count("T") == 0], distance="kl").fit(X, y)


def test_too_few_steps_are_told():
    with pytest.warns(UserWarning, match="GeneralizedExpectation stopped before its tolerance, at objective"):
        model = GeneralizedExpectation(CRF(max_iterations=1, tolerance=1e-9), RULES).fit(X, HALF)
    assert not model.converged_
    assert len(model.trace_) == 1


def test_it_stops_when_steps_gain_less_than_the_tolerance():
    for learner in CASES:
        base = clone(learner.base).set_params(tolerance=0.003)
        trace = clone(learner).set_params(base=base).fit(X, HALF).trace_
        gains = [before.objective - now.objective for before, now in zip(trace, trace[10:], strict=False)]
        enough = [gain > 20 * 0.003 * max(now.objective, 1.0) for gain, now in zip(gains, trace[10:], strict=True)]
        assert enough == [True] * (len(enough) - 1) + [False]


def test_the_same_rules_as_posterior_regularization():
    """Both move the expectations of the pool towards the rules."""
    rows = Rows.compile(RULES, X[12:], LABELS)

    def missed(model):
        return np.abs(rows.excess(rows.tilt(model.scores(X[12:]), np.zeros(len(rows))).expected)).sum()

    plain = missed(CRF(classes=LABELS).fit(X[:12], Y[:12]))
    for learner in (GeneralizedExpectation, PosteriorRegularization):
        assert missed(learner(CRF(), RULES).fit(X, HALF)) < plain
