"""Posterior sparsity: learners under the rule that each word has few labels (section 8 of Ganchev et al. 2010)."""

from itertools import pairwise

import numpy as np
import pytest

from sidelight import (
    CRF,
    EM,
    HMM,
    DataError,
    NotSupported,
    count,
    few_labels,
    labels_per_word,
    load,
    word,
)
from tests.learners.as_published import (
    DeterministicAnnealing,
    GeneralizedExpectation,
    PosteriorRegularization,
    UnifiedEM,
)
from tests.learners.samples import labelled

X, Y = labelled(count=60)
NOTHING = [None] * len(X)
HALF = [y if i < 12 else None for i, y in enumerate(Y)]
LABELS = ["A", "T", "Y"]
RULE = few_labels(word, at_least=3)
HMM_ = HMM(unknown=None, rare=0)
TIGHT = {"classes": LABELS, "tolerance": 1e-5}


def chance(seed: int = 0) -> HMM:
    """A random model to begin with, the same as that of EM."""
    return HMM(unknown=None, rare=0).fit_random(X, LABELS, 1.0, np.random.default_rng(seed))


@pytest.mark.parametrize("known", [NOTHING, HALF], ids=["nothing", "half"])
@pytest.mark.parametrize("estimate", ["frequencies", "variational"])
def test_the_objective_never_rises(known, estimate):
    """Up to the gap of the projection."""
    base = HMM(unknown=None, rare=0, estimate=estimate)
    first = EM(base, classes=LABELS, iterations=5, spread=1.0).fit(X, NOTHING).driven_
    model = PosteriorRegularization(base, [RULE.expected(4.0)], iterations=10, **TIGHT).fit(X, known, initial=first)
    assert len(model.trace_) == 11
    for before, after in pairwise(model.trace_):
        assert after.objective <= before.objective + after.gap + 1e-9 * abs(before.objective)
        assert -1e-9 <= after.gap <= 1e-5 * len(X)
    assert all(step.slack > 0 for step in model.trace_)


@pytest.mark.parametrize("seed", range(3))
def test_words_have_fewer_labels_than_with_em(seed):
    em = EM(HMM_, classes=LABELS, spread=1.0, iterations=15, random_state=seed).fit(X, NOTHING)
    learner = PosteriorRegularization(HMM_, [RULE.expected(8.0)], iterations=15)
    sparse = learner.fit(X, NOTHING, initial=chance(seed))
    few, many = (labels_per_word(X, model.predict_marginals(X), at_least=3) for model in (sparse, em))
    assert few < many
    under = sparse.set_params(decode="projected").predict_marginals(X)
    assert labels_per_word(X, under, at_least=3) < few


def test_a_rule_that_costs_nothing_leaves_em():
    """The same random model to begin with, and the same rounds."""
    em = EM(HMM_, classes=LABELS, spread=1.0, iterations=6, random_state=3).fit(X, NOTHING)
    model = PosteriorRegularization(HMM_, [RULE.expected(1e-9)], iterations=6).fit(X, NOTHING, initial=chance(3))
    np.testing.assert_allclose(model.base_.scores(X).unary, em.driven_.scores(X).unary, atol=1e-6)


def test_the_penalty_of_a_learner_is_that_of_rules_without_their_own():
    options = {**TIGHT, "iterations": 4}
    own, other, none = (
        PosteriorRegularization(HMM_, [rule], penalty=penalty, **options).fit(X, NOTHING, initial=chance())
        for rule, penalty in ((RULE.expected(6.0), 2.0), (RULE, 6.0), (RULE, "learned"))
    )
    assert own.trace_ == other.trace_
    assert [one.penalty for one in none.rule_readings()] == [1.0]


def test_projected_predictions_are_those_of_the_last_round():
    """On the text that was learned from: the projection of the final model, found again."""
    model = PosteriorRegularization(HMM_, [RULE.expected(4.0)], iterations=5, decode="projected", **TIGHT)
    marginals = np.concatenate(model.fit(X, NOTHING, initial=chance()).predict_marginals(X))
    value = labels_per_word(X, model.predict_marginals(X), at_least=3)
    words = sum(n >= 3 for n in np.unique([w for x in X for w in x], return_counts=True)[1])
    np.testing.assert_allclose(value * words, model.trace_[-1].slack, rtol=1e-3)
    plain = np.concatenate(model.set_params(decode="model").predict_marginals(X))
    assert np.abs(marginals - plain).max() > 0.01


def test_files_keep_the_rule(tmp_path):
    model = PosteriorRegularization(HMM_, [RULE.expected(4.0)], iterations=3, decode="projected", **TIGHT)
    model.fit(X, HALF).save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert repr(again.rules) == "[(few_labels(word, at_least=3)).expected(4.0)]"
    assert again.trace_ == model.trace_
    assert again.predict(X) == model.predict(X)


def test_other_learners_that_project():
    """A temperature of one is posterior regularization, also on the way of annealing; a CRF is a base as well."""
    options = {"classes": LABELS, "tolerance": 1e-5, "iterations": 3}
    usual = PosteriorRegularization(HMM_, [RULE.expected(4.0)], **options).fit(X, HALF)
    unified = UnifiedEM(HMM_, [RULE.expected(4.0)], gamma=1.0, penalty=1.0, **options).fit(X, HALF)
    np.testing.assert_allclose(unified.base_.scores(X).unary, usual.base_.scores(X).unary)
    cooled = DeterministicAnnealing(HMM_, [RULE.expected(4.0)], temperatures=2, **options).fit(X, HALF)
    assert len(cooled.trace_) == 7
    crf = PosteriorRegularization(CRF(tolerance=0.01), [RULE.expected(4.0)], **options).fit(X, HALF)
    assert crf.trace_[-1].objective <= crf.trace_[0].objective + 1e-3


@pytest.mark.parametrize(
    ("learner", "error", "message"),
    [
        (PosteriorRegularization(HMM_, [RULE, count("A") <= 1]), NotSupported, "projected onto alone, without .*count"),
        (PosteriorRegularization(HMM_, [RULE.soft(2.0)]), NotSupported, "is read as soft"),
        (PosteriorRegularization(HMM_, [RULE, "few"]), DataError, "expected a rule, got 'few'"),
        (PosteriorRegularization(HMM_, [RULE], penalty=None), DataError, "penalty of the learner cannot be None"),
        (PosteriorRegularization(HMM_, [RULE], batches=2), NotSupported, "cannot be kept batch by batch"),
        (UnifiedEM(HMM_, [RULE], gamma=0.0, penalty=1.0), NotSupported, "few_labels needs a gamma above 0"),
        (UnifiedEM(HMM_, [RULE], gamma=np.inf, penalty=1.0), NotSupported, "few_labels needs a gamma above 0"),
        (UnifiedEM(HMM_, [RULE], gamma=-np.inf), NotSupported, "is about the corpus, not about one output"),
        (GeneralizedExpectation(CRF(), [RULE]), NotSupported, "a charge that only PosteriorRegularization"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_is_refused(learner, error, message):
    with pytest.raises(error, match=message):
        learner.set_params(classes=LABELS).fit(X, HALF)
