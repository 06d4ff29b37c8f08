"""Learners from rules and unlabelled data compare themselves with their base."""

import inspect
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from sidelight import (
    BAD,
    CCM,
    CRF,
    EM,
    GOOD,
    HMM,
    JLIS,
    CoDL,
    DeterministicAnnealing,
    EntropyRegularization,
    GeneralizedExpectation,
    PosteriorRegularization,
    SelfTraining,
    StructuralSVM,
    TransductiveSVM,
    UnifiedEM,
    WorseThanBase,
    count,
    few_labels,
    generate_references,
    learners_by_name,
    load,
    once_each,
    share,
    shuffled,
    starts_with,
    where,
    word,
)
from sidelight.learners.choosing import guard
from sidelight.learners.choosing.guard import Guard, _warning, supervised
from sidelight.learners.choosing.rule_costs import Broken, RuleCost, how_often_broken, rule_costs
from sidelight.learners.choosing.trials import Metric, each_fold, folds
from tests.learners.samples import labelled

pytestmark = pytest.mark.guarded

X, Y = generate_references(36, seed=2)
HALF = [labels if i < 12 else None for i, labels in enumerate(Y)]
TRUE = [starts_with("author", "editor"), where(word.isin("pp", "pages")).label("pages")]
FALSE = [
    starts_with("date").soft(30.0).named("dates first"),
    where(word.ispunct()).label("note").soft(30.0).named("notes"),
]
FAST = CRF(tolerance=0.05, n_jobs=1)
LEARNERS = [
    (CCM(HMM(n_jobs=1), TRUE, n_jobs=1), "HMM"),
    (CoDL(HMM(n_jobs=1), TRUE, iterations=2, n_jobs=1), "HMM"),
    (EM(HMM(n_jobs=1), iterations=2, n_jobs=1), "HMM"),
    (SelfTraining(FAST, iterations=1, n_jobs=1), "CRF"),
    (PosteriorRegularization(HMM(n_jobs=1), TRUE, iterations=2, n_jobs=1), "HMM"),
    (UnifiedEM(HMM(n_jobs=1), TRUE, penalty=1.0, iterations=2, n_jobs=1), "HMM"),
    (DeterministicAnnealing(FAST, TRUE, iterations=2, temperatures=1, n_jobs=1), "CRF"),
    (GeneralizedExpectation(FAST, TRUE, n_jobs=1), "CRF"),
    (EntropyRegularization(FAST, TRUE, n_jobs=1), "CRF"),
    (JLIS(["word"], max_rounds=2, max_iterations=20, n_jobs=1), "StructuralSVM"),
    (TransductiveSVM(["word"], steps=1, max_rounds=2, max_iterations=20, n_jobs=1), "StructuralSVM"),
]


def known_to(learner):
    """What of the data a learner can use."""
    if isinstance(learner, CCM):
        return X[:12], Y[:12]
    if isinstance(learner, JLIS):
        return X[:12] + X[12:18] + shuffled(X[12:18]), Y[:12] + [GOOD] * 6 + [BAD] * 6
    return X[:24], HALF[:24]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("learner", "base"), LEARNERS, ids=lambda value: type(value).__name__)
def test_every_learner_has_a_guard(learner, base, tmp_path):
    fitted = clone(learner).fit(*known_to(learner))
    found = fitted.guard_
    assert (found.base, found.metric, found.sequences, found.failure) == (base, "token accuracy", 12, None)
    assert 0 <= found.score <= 1
    titles = {rule.title for rule in getattr(learner, "rules", None) or ()}
    assert {cost.rule for cost in found.rules} - {"label shares"} == titles
    fitted.save(tmp_path / "m")
    for copied in (load(tmp_path / "m"), pickle.loads(pickle.dumps(fitted))):
        assert copied.guard_ == found
    off = clone(learner).set_params(guard=False).fit(*known_to(learner))
    assert off.guard_ is None
    np.testing.assert_array_equal(off.scores(X[:5]).unary, fitted.scores(X[:5]).unary)
    off.save(tmp_path / "off")
    assert load(tmp_path / "off").guard_ is None


def test_no_learner_is_left_out():
    having = {name for name, cls in learners_by_name().items() if "guard" in inspect.signature(cls).parameters}
    elsewhere = {"Agreement", "Combined"}  # tests of their own
    assert having - elsewhere == {type(learner).__name__ for learner, _ in LEARNERS}


def test_rules_that_do_harm_are_named():
    rules = [*TRUE, *FALSE]
    with pytest.warns(WorseThanBase) as told:
        model = CCM(HMM(n_jobs=1), rules, n_jobs=1).fit(X[:12], Y[:12])
    assert len(told) == 1
    assert told[0].filename == __file__
    message = str(told[0].message)
    assert message.startswith("CCM does worse than HMM alone where labels are held out: token accuracy ")
    assert message.index("'notes' (-") < message.index("'dates first' (-")
    assert "broken at 12 of 12 places" in message
    assert "leave out rules that cost" in message
    assert "pages" not in message
    assert model.guard_.worse
    assert [cost.rule for cost in model.guard_.rules[:2]] == ["notes", "dates first"]


def test_good_rules_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error", WorseThanBase)
        assert not CCM(HMM(n_jobs=1), TRUE, n_jobs=1).fit(X[:12], Y[:12]).guard_.worse
        CCM(HMM(n_jobs=1), FALSE, guard=False, n_jobs=1).fit(X[:12], Y[:12])


@pytest.mark.parametrize(
    ("score", "error", "sequences", "worse"),
    [(0.5, 0.05, 10, True), (0.5, 0.15, 10, False), (0.596, 0.001, 10, False), (0.7, 0.01, 10, False)],
)
def test_what_is_worse(score, error, sequences, worse):
    """By more than half a point, and by more than a standard error."""
    found = Guard("token accuracy", "HMM", score, 0.6, error, sequences)
    assert found.worse == worse
    assert "HMM alone 60.0 %" in str(found)


@pytest.mark.parametrize(("given", "known", "collapsed"), [(1, 2, True), (2, 2, False), (5, 12, True), (6, 12, False)])
def test_what_is_collapsed(given, known, collapsed):
    found = Guard("token accuracy", "HMM", given=given, known=known)
    assert found.collapsed == collapsed
    assert not found.worse


def test_nothing_to_compare():
    assert CCM(HMM()).fit(X[:12], Y[:12]).guard_ is None
    assert CoDL(HMM()).fit(X[:12], Y[:12]).guard_ is None
    assert EM(HMM(classes=["a", "b"]), iterations=1).fit(X[:5], [None] * 5).guard_ is None
    few = EM(HMM(), iterations=1).fit(X[:12], [*Y[:2], *[None] * 10]).guard_
    assert (few.score, few.known > 0) == (None, True)
    assert str(few) == "not compared with HMM alone: too few labelled sequences"
    begun = PosteriorRegularization(HMM(), iterations=1).fit(X, HALF, initial=HMM().fit(X, Y)).guard_
    assert begun.score is None


def test_one_split_of_many_sequences(monkeypatch):
    monkeypatch.setattr(guard, "_MANY", 10)
    assert CCM(HMM(), TRUE).fit(X[:12], Y[:12]).guard_.sequences == 4


def test_a_trial_that_cannot_be_made_is_told():
    """In the folds, the hard rules leave no output."""
    data, gold = labelled(count=8)
    hard = [(count("A", where=word.isin("Ann")) == 0).hard(), where(word.isin("Ann")).label("A").hard()]
    model = CCM(HMM(), hard).fit(data, gold)
    assert model.guard_.failure.startswith("Infeasible: ")
    assert str(model.guard_).startswith("not compared with HMM alone: Infeasible: ")


def test_costs_of_rules_about_expectations():
    """A share that is far from the truth costs much when the model is projected onto it alone."""
    metric, parts = Metric.choose(Y), folds(HALF, 3)
    bases = list(each_fold(HMM(), X, HALF, parts, metric))
    rules = [(share("note") == 0.9).expected(3000), (share("note") <= 0.5).expected(3000), few_labels(word)]
    wrong, right, other = rule_costs(rules, X, HALF, bases, metric)
    assert wrong.rule == rules[0].title
    assert wrong.gain < -0.3
    assert wrong.broken is None
    assert (other.rule, np.isnan(other.gain)) == (rules[2].title, True)
    assert "cost not known: rule" in str(other)
    assert abs(right.gain) < 0.02


def test_costs_are_those_of_a_constrained_model():
    """Under one rule alone the model of a fold predicts as CCM with that rule does."""
    metric, parts = Metric.choose(Y), folds(Y[:12], 3)
    bases = list(each_fold(HMM(), X[:12], Y[:12], parts, metric))
    (cost,) = rule_costs([once_each()], X[:12], Y[:12], bases, metric)
    ruled = each_fold(CCM(HMM(), [once_each()]), X[:12], Y[:12], parts, metric)
    score = [sum(fold.counts.sum(axis=0) for fold in some) for some in (list(ruled), bases)]
    assert cost.gain == pytest.approx(score[0][0] / score[0][1] - score[1][0] / score[1][1])
    assert isinstance(cost, RuleCost)


def test_how_often_rules_are_broken():
    """At the places where they could be: tokens, or sequences."""
    data = [["a", "pp"], ["a", "b"], ["pp", "a"], ["a"]]
    gold = [["T", "P"], ["T", "T"], ["T", "T"], ["T"]]
    rules = [where(word.isin("pp")).label("P"), starts_with("T"), count("P") >= 1, share("T") <= 1]
    right, first, some, corpus = how_often_broken(rules, data, gold)
    assert (right, first, some, corpus) == (Broken(1, 2), Broken(0, 4), Broken(3, 4), None)
    assert [one.mostly for one in (right, first, some)] == [False, False, True]
    assert not Broken(1, 1).mostly
    assert [Broken(places, 10).mostly for places in (4, 5, 6)] == [False, False, True]
    assert how_often_broken(rules, data, [None] * 4) == [None] * 4


def test_what_jlis_is_compared_with():
    start = supervised(JLIS(["word"], C1=3.0, loss="hinge", order=2))
    assert isinstance(start, StructuralSVM)
    assert (start.features, start.C, start.loss, start.order) == (["word"], 3.0, "hinge", 2)
    assert start.tolerance == StructuralSVM().tolerance


def test_label_shares_are_tried_as_the_learner_uses_them():
    """What is added to the rules has a cost of its own, and a rule about the corpus that which it is used with."""
    rules = [share("author") <= 0.02]
    model = PosteriorRegularization(HMM(n_jobs=1), rules, iterations=1, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, HALF)
    costs = {cost.rule: cost for cost in model.guard_.rules}
    assert costs.keys() == {rules[0].title, "label shares"}
    assert all(cost.reason is None for cost in costs.values())
    assert costs[rules[0].title].gain < -0.2


def test_the_advice_is_about_what_the_learner_learns_from():
    worse = Guard("token accuracy", "StructuralSVM", 0.5, 0.9, 0.01, 20, 2, 2)
    assert "or let good and bad inputs count less (C2); guard=False" in str(_warning(JLIS(), worse))
    assert "or let unlabelled sequences count less; guard=False" in str(_warning(TransductiveSVM(), worse))
