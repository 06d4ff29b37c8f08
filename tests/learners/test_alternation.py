"""Posterior regularization, unified EM and deterministic annealing: objectives, special cases, conventions."""

import warnings
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sidelight import (
    CRF,
    EM,
    HMM,
    Classifying,
    DataError,
    Infeasible,
    MaxEnt,
    NotSupported,
    SemiCRF,
    StructuredPerceptron,
    TagDictionary,
    changes,
    changes_only_after,
    count,
    each,
    few_labels,
    generate_references,
    load,
    min_length,
    runs,
    share,
    starts_with,
    token_accuracy,
    where,
    word,
)
from sidelight.inference.linear_program import relax
from sidelight.inference.norms import Slack
from sidelight.inference.projection import project
from sidelight.inference.rows import Rows
from sidelight.learners.choosing import guard
from sidelight.learners.wrappers import posterior
from sidelight.solvers import projections
from sidelight.solvers.expected import DescentFit
from tests import learner_kit
from tests.learners.as_published import (
    DeterministicAnnealing,
    EntropyRegularization,
    GeneralizedExpectation,
    PosteriorRegularization,
    UnifiedEM,
)
from tests.learners.samples import from_parts, labelled
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
LOOSE = HMM(rare=0)
FAST = CRF(l2=1.0, tolerance=0.01)
CASES = [
    PosteriorRegularization(HMM(), RULES, iterations=3),
    PosteriorRegularization(FAST, RULES, iterations=2, decode="projected", strength=0.7),
    PosteriorRegularization(FAST, RULES[:2], iterations=2, norm="l1", penalty=0.5),
    UnifiedEM(HMM(), RULES, gamma=0.5, penalty=1.0, iterations=2),
    UnifiedEM(HMM(), [], gamma=-np.inf, iterations=2),
    DeterministicAnnealing(FAST, RULES, temperatures=2, iterations=2),
    DeterministicAnnealing(HMM(), RULES, temperatures=3, iterations=1, start=1.5, rate=0.5),
    DeterministicAnnealing(FAST, RULES, temperatures=2, iterations=2, begin="nothing"),
]


@pytest.mark.parametrize("learner", CASES, ids=lambda m: str(m)[:60])
def test_conventions(learner, tmp_path):
    check_composite(learner, X, Y, tmp_path)
    fitted = learner.fit(X, HALF)
    learner_kit.check_against_enumeration(fitted, X)
    learner_kit.check_kbest(fitted, X)
    assert token_accuracy(Y, fitted.predict(X)) > 0.75
    fitted.fit(X, MIXED)
    fitted.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.trace_ == fitted.trace_
    np.testing.assert_array_equal(again.prices_, fitted.prices_)
    assert again.units_ == fitted.units_
    assert again.predict(X) == fitted.predict(X)


def never_rises(model, since=1, slack=1e-6):
    """Usually from the second round on: before it, an HMM knows the words of labelled sequences only."""
    steps = model.trace_[since:]
    assert len(steps) > 1
    for before, after in pairwise(steps):
        if before.temperature == after.temperature:
            allowed = abs(before.gap) + abs(after.gap) + slack * (1 + abs(before.objective))
            assert after.objective <= before.objective + allowed


TIGHT = {"tolerance": 1e-6, "iterations": 6}
SLACKS = [
    {"penalty": 5.0},
    *({"norm": norm, "penalty": 0.5} for norm in ("l1", "l2", "linf", "group")),
    *({"norm": norm, "penalty": None, "bound": 0.5} for norm in ("l1", "l2", "linf")),
    {"norm": "group", "penalty": None, "bound": 1.0},
]


@pytest.mark.parametrize(
    ("base", "y", "strength"),
    [(LOOSE, HALF, 1.0), (LOOSE, MIXED, 0.4), (FAST, HALF, 0.4), (FAST, MIXED, 1.0)],
    ids=["hmm-half", "hmm-mixed", "crf-half", "crf-mixed"],
)
@pytest.mark.filterwarnings("ignore:the projection onto the rules stopped")
def test_the_objective_of_posterior_regularization_never_rises(base, y, strength):
    """Proposition 2.3, scaled as in Appendix A; 2.1 and 2.2 are about the projection."""
    for slack in SLACKS:
        rules = RULES[:2] if slack.get("bound") else RULES
        model = PosteriorRegularization(base, rules, strength=strength, tolerance=1e-6, iterations=4, **slack)
        never_rises(model.fit(X, y), since=1 if base is LOOSE else 0)
        assert model.trace_[-1].objective < model.trace_[1].objective
        slow = slack["penalty"] is None and slack["norm"] in ("l1", "group")
        assert all(abs(step.gap) <= (3e-4 if slow else 1e-6) * len(X) for step in model.trace_)


@pytest.mark.parametrize("gamma", [-np.inf, -1.5, 0.0, 0.2, 0.7, 1.0, 1.5, 4.0, np.inf])
@pytest.mark.parametrize("rules", [[], [runs("A") <= 1, where(word.isdigit()).label("Y")]], ids=["free", "rules"])
def test_the_objective_of_unified_em_never_rises(gamma, rules):
    """Theorem 2; at gamma = inf q is always the same, and so is the objective."""
    if rules and -np.inf < gamma < 0:
        pytest.skip("there is no exact E step")
    model = UnifiedEM(LOOSE, rules, gamma=gamma, **TIGHT).fit(X, HALF)
    never_rises(model)
    alone = UnifiedEM(LOOSE, rules, gamma=gamma, classes=LABELS, random_state=3, **TIGHT).fit(X, [None] * len(X))
    never_rises(alone)
    dictionary = TagDictionary({"Ann": {"A", "T"}, "run": {"T", "Y"}, "7": {"Y"}}, open={"A", "T", "Y"})
    told = UnifiedEM(LOOSE, rules, gamma=gamma, **TIGHT).fit(X, dictionary.apply(X), initial=even())
    never_rises(told, since=0)
    if gamma == np.inf:
        np.testing.assert_allclose([step.objective for step in told.trace_], told.trace_[0].objective, rtol=1e-6)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("slack", [{"penalty": 2.0}, {"bound": 0.2}], ids=str)
@pytest.mark.filterwarnings("ignore:the projection onto the rules stopped")
def test_the_objective_of_unified_em_never_rises_with_slack(gamma, slack):
    rules = [runs("A") <= 0.7, count("T") >= 1]
    model = UnifiedEM(LOOSE, rules, gamma=gamma, norm="l1", **slack, **TIGHT).fit(X, HALF)
    never_rises(model)
    assert model.trace_[-1].slack > 0


def even():
    """The model of even distributions."""
    return UnifiedEM(LOOSE, gamma=np.inf, iterations=1, classes=LABELS).fit(X, [None] * len(X)).base_


def test_a_model_to_begin_with():
    """Labelled sequences begin, and are not counted again; the first round is of that model."""
    known = HMM(classes=[*LABELS, "Z"]).fit(X[:12], Y[:12])
    model = UnifiedEM(LOOSE, iterations=1).fit(X[12:], [None] * 18, initial=known)
    assert model.classes_ == known.classes_
    counts = known.structure_.marginals(known.scores(X[12:])).parts
    expected = from_parts(LOOSE, X[12:], counts, known.classes_)
    np.testing.assert_allclose(model.scores(X).unary, expected.scores(X).unary)
    log_p = -known.structure_.marginals(known.scores(X[12:])).log_partition.sum() - known.log_prior()
    np.testing.assert_allclose(model.trace_[0].objective, log_p)
    for cls in (PosteriorRegularization, UnifiedEM):
        kept = cls(LOOSE, iterations=0).fit(X, HALF, initial=known).base_
        assert kept is not known
        assert kept.predict(X) == known.predict(X)


def test_even_distributions_are_those_of_gamma_infinity():
    tags = TagDictionary({"x": {"A", "T"}, "Ann": {"A"}}, open={"T", "Y"}).apply(X)
    flat = np.array([[(label in known) / len(known) for label in LABELS] for y in tags for known in y])
    model = UnifiedEM(LOOSE, gamma=np.inf, iterations=1).fit(X, tags).base_
    counts = [flat[[w == word for x in X for w in x]].sum(axis=0) for word in ("x", "Ann", "run")]
    found = [model.counts_.emission[list(model.encoder_.words).index(word)] for word in ("x", "Ann", "run")]
    np.testing.assert_allclose(found, counts)


def test_hard_em_below_zero_without_rules():
    some = [UnifiedEM(LOOSE, gamma=g, iterations=4).fit(X, HALF).scores(X).unary for g in (-np.inf, -2.0, 0.0)]
    np.testing.assert_allclose(some[0], some[1])
    np.testing.assert_allclose(some[0], some[2])


def test_em_is_a_special_case():
    """No rules and nothing labelled: the same rounds as EM; the objectives are -log p(x) and the prior."""
    usual = EM(LOOSE, classes=LABELS, iterations=6, random_state=2).fit(X, [None] * len(X))
    for cls in (PosteriorRegularization, UnifiedEM):
        model = cls(LOOSE, classes=LABELS, iterations=6, random_state=2).fit(X, [None] * len(X))
        np.testing.assert_allclose(model.scores(X).unary, usual.scores(X).unary)
        np.testing.assert_allclose(model.scores(X).pair, usual.scores(X).pair)
        ours = [-step.objective for step in model.trace_]
        np.testing.assert_allclose(ours[1:-1], [step.objective for step in usual.trace_[1:]])


@pytest.mark.parametrize("base", [LOOSE, FAST], ids=["hmm", "crf"])
def test_annealing_at_one_is_posterior_regularization(base):
    annealed = DeterministicAnnealing(base, RULES, start=1.0, rate=1.0, temperatures=2, iterations=2)
    plain = PosteriorRegularization(base, RULES, iterations=4, unlabeled_weight=None, decode="projected")
    annealed.fit(X, HALF)
    plain.fit(X, HALF)
    np.testing.assert_allclose(annealed.scores(X).unary, plain.scores(X).unary)
    assert annealed.trace_ == plain.trace_
    unified = UnifiedEM(base, RULES, penalty=1.0, iterations=4, unlabeled_weight=None).fit(X, HALF)
    assert unified.trace_ == plain.trace_


@pytest.mark.parametrize("base", [LOOSE, CRF(tolerance=1e-4, all_weights=True)], ids=["hmm", "crf"])
def test_annealing_may_begin_with_nothing(base):
    def fitted(begin, X, y, **options):
        return DeterministicAnnealing(base, [], begin=begin, temperatures=1, unlabeled_weight=1.0, **options).fit(X, y)

    first = fitted("nothing", X, HALF, iterations=1).trace_[0]
    if isinstance(base, CRF):  # weights of zero: the labelled loss is that of even distributions, the divergence 0
        np.testing.assert_allclose(first.objective, np.log(3) * sum(map(len, X[:12])))
        np.testing.assert_allclose(first.primal, 0, atol=1e-9)
        known, nothing = (fitted(b, X, HALF, iterations=300) for b in ("labelled", "nothing"))
        np.testing.assert_allclose(nothing.trace_[-1].objective, known.trace_[-1].objective, rtol=1e-3)
    assert first != fitted("labelled", X, HALF, iterations=1).trace_[0]
    told = [fitted(b, X, Y, iterations=1) for b in ("labelled", "nothing")]  # all labelled: nothing to begin with
    np.testing.assert_array_equal(told[0].scores(X).unary, told[1].scores(X).unary)


def test_gamma_zero_is_a_linear_program():
    rules = [runs("A") <= 0.7, count("T") >= 0.5]
    inputs, known = [x[:4] for x in X], [y[:4] if i < 4 else None for i, y in enumerate(Y)]
    model = UnifiedEM(LOOSE, rules, gamma=0.0, penalty=3.0, norm="l1", iterations=1, classes=LABELS)
    model.fit(inputs, known)
    pool = inputs[4:]
    rows = Rows.compile(rules, pool, LABELS)
    scores = model.base_.scores(pool)
    slack = Slack("l1", penalty=3.0)
    np.testing.assert_allclose(model.trace_[-1].primal, relax(scores, rows, slack).primal)
    cold = project(scores, rows, slack, temperature=0.05, max_iterations=2000)
    outputs = sum(np.log(3) * len(x) for x in pool)
    assert model.trace_[-1].primal - 0.05 * outputs <= cold.primal <= model.trace_[-1].primal + 1e-3


def test_objective_by_enumeration():
    """The first round of a CRF: labelled loss, penalty, and the divergence of the projection."""
    rules = [runs("A") <= 0.5]
    model = PosteriorRegularization(CRF(tolerance=1e-6), rules, iterations=0, penalty=2.0, unlabeled_weight=0.5)
    model.fit(X, HALF)
    assert len(model.trace_) == 1
    base = model.base_
    scores = base.scores(X[:12])
    codes = np.array([LABELS.index(c) for y in Y[:12] for c in y], np.int32)
    known = base.log_partition(X[:12]).sum() - base.structure_.score(scores, codes).sum()
    found = project(base.scores(X[12:]), Rows.compile(rules, X[12:], LABELS), Slack(penalty=2.0))
    total = known + base.l2 * float(base.weights_ @ base.weights_) + 0.5 * found.primal
    np.testing.assert_allclose(model.trace_[0].objective, total, rtol=1e-4)


def test_rough_projections_lead_almost_as_far():
    """L-BFGS follows the dual, which is near its optimum where rules are stiff and the primal is not."""
    references, gold = generate_references(16, seed=1)
    known = [labels if i < 4 else None for i, labels in enumerate(gold)]
    flat = [label for labels in gold for label in labels]
    fields = sorted(set(flat))
    rules = [
        (runs(each) <= 1).expected(3),
        *((share(field) == flat.count(field) / len(flat)).expected(3000) for field in fields),
    ]
    base = CRF(l2=0.03, all_weights=True, tolerance=1e-4, classes=fields)
    lowest = [
        PosteriorRegularization(base, rules, iterations=40, tolerance=tolerance, unlabeled_weight=None)
        .fit(references, known)
        .trace_[-1]
        for tolerance in (0.02, 1e-4)
    ]
    rough, exact = (step.objective - 4 / 12 * step.gap for step in lowest)
    assert rough == pytest.approx(exact, rel=0.01)
    assert lowest[0].iteration == lowest[1].iteration == 41  # no line search gave up


def test_rules_hold_more_and_more():
    references, gold = generate_references(60, seed=1)
    known = [labels if i < 4 else None for i, labels in enumerate(gold)]
    rules = [runs(each) <= 1, starts_with("author", "editor")]
    fields = sorted({label for labels in gold for label in labels} | {"editor"})
    model = PosteriorRegularization(HMM(), rules, penalty=10.0, iterations=5, classes=fields).fit(references, known)
    before, after = model.trace_[0].slack, model.trace_[-1].slack
    assert after < before
    rows = Rows.compile(rules, references, model.classes_)
    left = []
    for decode in ("model", "projected"):
        labels = model.set_params(decode=decode).predict(references)
        codes = np.array([model.classes_.index(c) for y in labels for c in y], np.int32)
        left.append(np.abs(rows.excess(rows.count(codes))).sum())
    assert left[1] < left[0]


def test_transductive_prediction_uses_the_prices_of_training():
    model = DeterministicAnnealing(LOOSE, RULES, temperatures=2, iterations=2, tolerance=1e-7).fit(X, HALF)
    assert len(model.prices_) == len(model.units_) == 3
    assert model.temperature_ == 0.8
    rows = Rows.compile(RULES, X[12:], LABELS)
    last = project(model.base_.scores(X[12:]), rows, Slack(penalty=1.0), temperature=model.temperature_, tolerance=1e-8)
    np.testing.assert_allclose(model.prices_, last.prices[:3], atol=0.02)
    unary = np.concatenate(model.predict_marginals(X[12:]))
    np.testing.assert_allclose(unary, last.parts.unary, atol=1e-3)
    assert len(model.predict([["nothing", "known"]])[0]) == 2  # no token that a rule about the corpus speaks of
    alone = DeterministicAnnealing(LOOSE, RULES, temperatures=1).fit(X, Y)
    assert alone.trace_ == ()
    assert len(alone.predict(X)) == len(X)


PARTIAL = [[c if t % 3 else {c, "A", "T"} for t, c in enumerate(y)] for y in Y]
SOME = [y if i < 3 else one if i < 20 else None for i, (y, one) in enumerate(zip(Y, PARTIAL, strict=True))]


@pytest.mark.parametrize("batches", [1, 3])
@pytest.mark.parametrize("base", [LOOSE, FAST], ids=["hmm", "crf"])
@pytest.mark.parametrize("y", [PARTIAL, SOME], ids=["partial", "some"])
def test_the_likelihood_of_partial_labels_counts_in_full(base, y, batches):
    """Eq. 60: without rules there is no divergence, and its weight does not matter."""
    strengths = (1.0, 0.3, 0.01) if batches == 1 else (1.0, 0.01)
    options = {"batches": batches, "iterations": 8 if batches == 1 else 20}
    some = slice(None) if batches == 1 else slice(None, None, 2)
    found = [PosteriorRegularization(base, [], strength=alpha, **options).fit(X[some], y[some]) for alpha in strengths]
    if batches > 1:  # they come at other times, and lead to the same in the end
        np.testing.assert_allclose(
            [one.trace_[-1].objective for one in found], found[0].trace_[-1].objective, rtol=1e-3
        )
        return
    if y is PARTIAL:
        found += [UnifiedEM(base, [], unlabeled_weight=w, iterations=8).fit(X, y) for w in (0.0, 0.1)]
    for one in found[1:]:
        np.testing.assert_allclose(one.trace_[-1].objective, found[0].trace_[-1].objective, rtol=1e-6)
        np.testing.assert_allclose(one.scores(X).unary, found[0].scores(X).unary, atol=1e-4)


def test_partial_labels_without_rules_are_those_of_the_base():
    """Likelihood and weights of a CRF on partial labels, and the rounds of EM."""
    base = CRF(tolerance=1e-7)
    alone = base.fit(X, PARTIAL)
    model = PosteriorRegularization(base, [], strength=0.1, unlabeled_weight=0.5, iterations=200).fit(X, PARTIAL)
    np.testing.assert_allclose(model.trace_[-1].objective, alone.trace_[-1].objective, rtol=1e-6)
    np.testing.assert_allclose(model.base_.weights_, alone.weights_, atol=1e-3)
    usual = EM(LOOSE, iterations=6, random_state=2).fit(X, PARTIAL)
    same = PosteriorRegularization(LOOSE, [], strength=0.1, unlabeled_weight=0.5, iterations=6, random_state=2)
    same.fit(X, PARTIAL)
    np.testing.assert_allclose(same.scores(X).unary, usual.scores(X).unary)
    np.testing.assert_allclose([-s.objective for s in same.trace_[1:-1]], [s.objective for s in usual.trace_[1:]])


@pytest.mark.parametrize("base", [LOOSE, FAST], ids=["hmm", "crf"])
@pytest.mark.parametrize("weight", [0.2, 3.0, None])
def test_the_objective_never_rises_with_partial_labels(base, weight):
    """Whatever sequences with partial labels, unlabelled ones and the divergence count, at any temperature."""
    rules = [runs(each) <= 0.7, where(word.isdigit()).label("Y")]
    options = {"unlabeled_weight": weight, "tolerance": 1e-7, "iterations": 6}
    models = [
        PosteriorRegularization(base, rules, strength=0.4, penalty=3.0, **options),
        PosteriorRegularization(base, rules, strength=0.4, penalty=3.0, batches=4, **options),
        UnifiedEM(base, rules, gamma=0.3, penalty=3.0, **options),
        DeterministicAnnealing(base, rules, start=3.0, rate=0.2, temperatures=2, penalty=3.0, **options),
    ]
    for model in models:
        never_rises(model.fit(X, SOME))
        never_rises(model.fit(X, PARTIAL))
        assert model.trace_[-1].primal > 0


@pytest.mark.parametrize("base", [LOOSE, CRF(tolerance=1e-6)], ids=["hmm", "crf"])
def test_objective_with_partial_labels_by_enumeration(base):
    """-log p(labels) - log p(partial labels) - ω log p(x), the prior, and ω α times the divergence given all that."""
    rules = [runs("A") <= 0.5]
    options = {"penalty": 2.0, "unlabeled_weight": 0.5, "strength": 0.3, "tolerance": 1e-9}
    words = HMM(rare=0).fit(X, Y)  # a first model that knows all words, so that no class has to be shared
    more = {"initial": words} if isinstance(base, HMM) else {}
    model = PosteriorRegularization(base, rules, iterations=0, **options).fit(X, SOME, **more)
    one, chain = model.base_, model.structure_
    partly, nothing = slice(3, 20), slice(20, 30)
    allowed = np.array([[label in c for label in LABELS] for y in PARTIAL[partly] for c in y])
    given = one.scores(X[partly]).restrict(allowed)
    log_z = [chain.marginals(scores).log_partition.sum() for scores in (given, one.scores(X[nothing]))]
    codes = np.array([LABELS.index(c) for y in Y[:3] for c in y], np.int32)
    total = -chain.score(one.scores(X[:3]), codes).sum() - log_z[0]
    if isinstance(base, CRF):
        total += one.log_partition(X[:20]).sum() + one.l2 * one.weights_ @ one.weights_
    else:
        total -= 0.5 * log_z[1] + one.log_prior()
    for some, scores in ((partly, given), (nothing, one.scores(X[nothing]))):
        rows = Rows.compile(rules, X[some], LABELS)
        total += 0.5 * 0.3 * project(scores, rows, Slack(penalty=2.0), tolerance=1e-9).primal
    np.testing.assert_allclose(model.trace_[0].objective, total, rtol=1e-7)


def test_partial_labels_are_kept():
    known = [*Y[:10], *[["A", *[None] * (len(y) - 1)] for y in Y[10:]]]
    model = PosteriorRegularization(LOOSE, [count("T") >= 0.1], iterations=4).fit(X, known)
    assert np.mean([labels[0] == "A" for labels in model.predict(X[10:])]) > 0.9


SEGMENTS = SemiCRF(["word"], l2=0.5, tolerance=0.01, max_length=4, n_jobs=1)


@pytest.mark.parametrize(
    "learner",
    [
        PosteriorRegularization(SEGMENTS, RULES, iterations=2, n_jobs=1),
        PosteriorRegularization(SEGMENTS, RULES[:2], iterations=2, decode="projected", n_jobs=1),
        UnifiedEM(SEGMENTS, RULES, gamma=0.5, penalty=1.0, iterations=2, n_jobs=1),
        UnifiedEM(SEGMENTS, [], gamma=-np.inf, iterations=2, n_jobs=1),
        DeterministicAnnealing(SEGMENTS, RULES[:2], temperatures=2, iterations=1, n_jobs=1),
    ],
    ids=lambda m: str(m)[:40],
)
@pytest.mark.filterwarnings("ignore:the projection onto the rules stopped")
def test_segments(learner, tmp_path):
    fitted = learner.fit(X, HALF)
    learner_kit.check_against_enumeration(fitted, X)
    learner_kit.check_kbest(fitted, X)
    assert token_accuracy(Y, fitted.predict(X)) > 0.75
    fitted.save(tmp_path / "m")
    assert load(tmp_path / "m").predict(X) == fitted.predict(X)


@pytest.mark.parametrize("y", [HALF, MIXED], ids=["half", "mixed"])
def test_the_objective_never_rises_on_segments(y):
    base = clone(SEGMENTS).set_params(tolerance=1e-6)
    for slack in ({"norm": "l1", "penalty": 2.0}, {"norm": "squared", "penalty": 3.0}):
        model = PosteriorRegularization(base, RULES[:3], iterations=4, tolerance=1e-6, **slack).fit(X, y)
        never_rises(model, since=0, slack=1e-4)
        assert model.trace_[-1].objective < model.trace_[0].objective
        assert all(abs(step.gap) <= 1e-6 * len(X) for step in model.trace_)


def test_what_is_refused():
    with pytest.raises(NotSupported, match="cannot learn from expected parts; use HMM, CRF or SemiCRF"):
        PosteriorRegularization(StructuredPerceptron(), RULES).fit(X, HALF)
    with pytest.raises(NotSupported, match="gamma = 0 needs label chains"):
        UnifiedEM(SemiCRF(), RULES, gamma=0.0).fit(X, HALF)
    with pytest.raises(NotSupported, match="is projected onto on label chains alone"):
        PosteriorRegularization(SemiCRF(), [few_labels()]).fit(X, HALF)
    with pytest.raises(NotSupported, match="needs derivatives of expectations, which segmentations have not"):
        GeneralizedExpectation(SemiCRF(), RULES).fit(X, HALF)
    with pytest.raises(NotSupported, match="CRF of order 2"):
        PosteriorRegularization(CRF(order=2), RULES).fit(X, HALF)
    with pytest.raises(NotSupported, match="is not a sum over parts"):
        PosteriorRegularization(HMM(), [min_length(2)]).fit(X, HALF)
    with pytest.raises(NotSupported, match="is read as soft"):
        PosteriorRegularization(HMM(), [starts_with("A").soft(3)]).fit(X, HALF)
    with pytest.raises(Infeasible, match=r"count\('A'\) >= 10"):
        PosteriorRegularization(HMM(), [count("A") >= 10], penalty=None).fit(X, HALF)
    with pytest.raises(DataError, match="the data has none of them"):
        PosteriorRegularization(HMM(), [share("A", where=word.isin("zebra")) == 1]).fit(X, HALF)
    with pytest.raises(DataError, match="no label is known"):
        PosteriorRegularization(HMM()).fit(X, [None] * len(X))
    for base in (HMM(), CRF()):
        with pytest.raises(DataError, match="nothing to learn in 0 iterations"):
            PosteriorRegularization(base, classes=LABELS, iterations=0).fit(X, [None] * len(X))
    cases = [
        (PosteriorRegularization(HMM(), strength=0), "strength must be a finite number above 0 and at most 1"),
        (PosteriorRegularization(HMM(), strength="a"), "strength must be a finite number .* at most 1, got 'a'"),
        (UnifiedEM(HMM(), gamma=1e-16), "a temperature of 1e-16 is too low"),
        (DeterministicAnnealing(HMM(), rate=0.5, temperatures=60), "the schedule ends at 1.7.*e-18, .*; cool less"),
        (PosteriorRegularization(HMM(), decode="both"), "decode must be 'rules', 'projected' or 'model', got 'both'"),
        (PosteriorRegularization(HMM(), norm="l7"), "norm must be 'l1', 'l2', 'linf', 'squared' or 'group'"),
        (PosteriorRegularization(HMM(), iterations=-1), "iterations must be"),
        (DeterministicAnnealing(HMM(), start=0), "a temperature is above 0 and finite, got 0"),
        (DeterministicAnnealing(HMM(), start=-2), "a temperature is above 0"),
        (DeterministicAnnealing(HMM(), rate=1.5), "rate must be a finite number above 0 and at most 1"),
        (DeterministicAnnealing(HMM(), temperatures=0), "temperatures must be"),
        (DeterministicAnnealing(HMM(), begin="even"), "begin must be 'labelled' or 'nothing', got 'even'"),
        (DeterministicAnnealing(FAST, begin="nothing", iterations=0), "learns nothing in 0 iterations"),
        (UnifiedEM(HMM(), gamma=float("nan")), "gamma must be a number"),
        (UnifiedEM(HMM(), gamma=1.0, start=0.5), "start must be above gamma"),
        (UnifiedEM(HMM(), start=np.inf), "a temperature is above 0 and finite, got inf"),
        (UnifiedEM(HMM(), start="warm"), "start must be a number or None, got 'warm'"),
        (DeterministicAnnealing(HMM(), start=np.inf), "a temperature is above 0 and finite, got inf"),
        (DeterministicAnnealing(HMM(), rate=1e-9, temperatures=50), "the schedule ends at 0, .*; cool less"),
    ]
    for learner, message in cases:
        with pytest.raises(DataError, match=message):
            learner.fit(X, HALF)
    with pytest.raises(NotSupported, match="gamma is at least 0 or -inf"):
        UnifiedEM(HMM(), RULES, gamma=-0.5).fit(X, HALF)
    with pytest.raises(NotSupported, match="rules are hard"):
        UnifiedEM(HMM(), RULES, gamma=-np.inf, penalty=1.0).fit(X, HALF)
    for rule in (starts_with("Y").soft(0.001), starts_with("Y").expected(5)):
        with pytest.raises(
            NotSupported, match=r"at gamma = -inf rules are hard, and \"starts_with\('Y'\)\" is read as"
        ):
            UnifiedEM(HMM(), [rule], gamma=-np.inf).fit(X, HALF)
    with pytest.raises(NotSupported, match="at gamma = inf a penalty is nothing beside the entropy"):
        UnifiedEM(HMM(), RULES, gamma=np.inf, penalty=1.0).fit(X, HALF)
    with pytest.raises(NotSupported, match="decode='projected' needs a gamma"):
        UnifiedEM(HMM(), RULES, gamma=0.0, decode="projected").fit(X, HALF)
    with pytest.raises(NotSupported, match="start needs a gamma of at least 0, got -inf"):
        UnifiedEM(HMM(), gamma=-np.inf, start=2.0).fit(X, HALF)


def test_what_is_refused_as_a_model_to_begin_with():
    few = HMM(classes=["A", "T"]).fit([["Ann", "run"]], [["A", "T"]])
    with pytest.raises(DataError, match="the initial model lacks the labels Y; fit it with `classes`"):
        UnifiedEM(HMM()).fit(X, HALF, initial=few)
    with pytest.raises(DataError, match="here all are labelled"):
        UnifiedEM(HMM()).fit(X, Y, initial=HMM().fit(X, Y))
    with pytest.raises(DataError, match="begin='nothing' and an initial model contradict"):
        DeterministicAnnealing(HMM(), begin="nothing").fit(X, HALF, initial=HMM().fit(X, Y))
    with pytest.raises(NotFittedError):
        UnifiedEM(HMM()).fit(X, HALF, initial=HMM())
    with pytest.raises(DataError, match="must be of the base's kind, HMM, got CRF"):
        UnifiedEM(HMM()).fit(X, HALF, initial=CRF().fit(X, Y))
    with pytest.raises(NotSupported, match="CRF begins with labels"):
        UnifiedEM(CRF()).fit(X, HALF, initial=CRF().fit(X, Y))


LEARNERS = [
    PosteriorRegularization(HMM(), iterations=2),
    UnifiedEM(HMM(), iterations=2),
    DeterministicAnnealing(FAST, iterations=1, temperatures=2),
    GeneralizedExpectation(FAST),
    EntropyRegularization(FAST),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("y", [HALF, Y], ids=["half", "all labelled"])
def test_rules_are_checked_whatever_is_labelled(learner, y):
    cases = [
        ([share("A", where=word.isin("zebra")) == 1], DataError, "about tokens of the corpus, and the data has none"),
        ([(count("A", where=word.isin("zebra")) >= 1).over_corpus()], DataError, "and the data has none of them"),
        ([min_length(2)], NotSupported, "is not a sum over parts"),
        ([starts_with("A").soft(3)], NotSupported, "is read as soft"),
        ([count("Q") <= 1], DataError, "names the label 'Q'; known are A, T, Y"),
        (["count('A') <= 1"], DataError, "expected a rule, got .*; parse_rule"),
        (count("A") <= 1, DataError, r"rules is a list of rules; write \w+\(base, \[rule\]\)"),
    ]
    for rules, error, message in cases:
        with pytest.raises(error, match=message):
            clone(learner).set_params(rules=rules, classes=LABELS).fit(X, y)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda m: type(m).__name__)
def test_no_rules(learner):
    """An empty list is as good as None, and something is learned."""
    found = [clone(learner).set_params(rules=rules).fit(X, HALF).predict(X) for rules in ([], (), None)]
    assert found[0] == found[1] == found[2]
    assert token_accuracy(Y, found[0]) > 0.75


CONTRARY = [
    ([count("A") >= 2, count("A") <= 1], r'sequence 12 has no .* "count\(\'A\'\) >= 2" and "count\(\'A\'\) <= 1"'),
    ([count("A") >= 1, count("A") == 0], r'sequence 12 has no .* "count\(\'A\'\) >= 1".* "count\(\'A\'\) == 0"'),
    ([share("A") >= 0.9, share("T") >= 0.9], r"no distribution satisfies .*share\('A'\) >= 0.9.*share\('T'\) >= 0.9"),
]


@pytest.mark.parametrize(("rules", "message"), CONTRARY)
def test_bounds_that_contradict(rules, message):
    """Without slack they are named; with slack, and as criteria, they are met half-way."""
    strict = [
        PosteriorRegularization(HMM(), rules, penalty=None),
        DeterministicAnnealing(FAST, rules, penalty=None),
        *(UnifiedEM(HMM(), rules, gamma=gamma) for gamma in (0.0, 0.5, 1.0, np.inf)),
    ]
    for learner in strict:
        with pytest.raises(Infeasible, match=message):
            learner.fit(X, HALF)
    for learner in LEARNERS:
        loose = clone(learner).set_params(rules=rules)
        if type(learner).__name__ == "UnifiedEM":
            loose.set_params(penalty=1.0)
        loose.fit(X, HALF)
        assert np.isfinite(loose.trace_[-1].objective)
    if not any(rule.corpus for rule in rules):
        with pytest.raises(Infeasible, match=message):
            UnifiedEM(HMM(), rules, gamma=-np.inf).fit(X, HALF)


def test_slack_at_gamma_zero_is_linear_whatever_is_labelled():
    for y in (HALF, Y):
        with pytest.raises(NotSupported, match="slack in the norm squared makes no linear program"):
            UnifiedEM(HMM(), [count("A") <= 1], gamma=0.0, penalty=1.0).fit(X, y)


@pytest.mark.parametrize("base", [LOOSE, FAST], ids=["hmm", "crf"])
def test_batches(base):
    """The model is fitted after each batch, and the objective falls from round to round."""
    rules = [runs(each) <= 1, where(word.isdigit()).label("Y")]
    model = PosteriorRegularization(base, rules, batches=4, penalty=3.0, **TIGHT).fit(X, MIXED)
    never_rises(model)
    assert len(model.trace_) == 7
    options = {"penalty": 3.0, "tolerance": 1e-6}
    some, known = X[:20:2], MIXED[:20:2]
    whole = PosteriorRegularization(base, rules, iterations=20, **options).fit(some, known)
    many = PosteriorRegularization(base, rules, iterations=20, batches=3, **options).fit(some, known)
    np.testing.assert_allclose(many.trace_[-1].objective, whole.trace_[-1].objective, rtol=5e-3)
    with pytest.raises(NotSupported, match="is about the corpus and cannot be kept batch by batch"):
        PosteriorRegularization(base, RULES, batches=2).fit(X, HALF)
    for slack in SLACKS[2:6]:
        with pytest.raises(NotSupported, match=f"slack in the norm {slack['norm']} is that of all batches together"):
            PosteriorRegularization(base, rules, batches=2, **slack).fit(X, HALF)


def test_the_gap_of_a_round_of_batches_is_that_of_its_projections(monkeypatch):
    """Each round names how far its projections may be from the best: rough ones are far, and no further than that."""
    made = []

    def spy(scores, rows, *slack, **options):
        if slack:  # the projection of the final model, of all batches together
            return project(scores, rows, *slack, **options)
        found = project(scores, rows, **options)
        best = project(scores, rows, **{**options, "tolerance": 1e-9})
        made.append((found.primal - found.dual, found.primal - best.primal))
        return found

    monkeypatch.setattr(projections, "project", spy)
    rules = [runs(each) <= 1, where(word.isdigit()).label("Y")]
    model = PosteriorRegularization(LOOSE, rules, batches=3, penalty=3.0, tolerance=0.3, iterations=4).fit(X, MIXED)
    for step, some in zip(model.trace_, batched(made, 3), strict=False):
        gap, missed = np.sum(some, axis=0)
        np.testing.assert_allclose(step.gap, gap)
        assert step.gap >= missed - 1e-6
    assert max(step.gap for step in model.trace_[:4]) > 1e-3
    assert max(missed for _, missed in made) > 1e-5


def batched(values, size):
    return [values[k : k + size] for k in range(0, len(values), size)]


def test_work_is_counted_in_passes_over_the_pool():
    rules = [runs(each) <= 1]
    one, many = (PosteriorRegularization(LOOSE, rules, batches=n, iterations=3).fit(X, HALF) for n in (1, 6))
    assert many.trace_[0].passes == pytest.approx(one.trace_[0].passes, rel=0.3)


def test_annealed_unified_em():
    model = UnifiedEM(LOOSE, RULES[:1], gamma=1.0, start=3.0, rate=0.5, iterations=4).fit(X, HALF)
    assert [step.temperature for step in model.trace_] == [3.0, 1.5, 1.0, 1.0, 1.0]


def test_rules_about_the_corpus_hold_where_all_is_labelled():
    """Their prices are those of the labelled sequences: nothing is dropped."""
    rule = (share("T") == 0.1).expected(1e4)
    learner = PosteriorRegularization(LOOSE, [rule], decode="projected").fit(X, Y)
    marginals = np.concatenate(learner.predict_marginals(X))
    assert marginals[:, LABELS.index("T")].mean() == pytest.approx(0.1, abs=0.02)
    plain = np.concatenate(learner.set_params(decode="model").predict_marginals(X))
    assert plain[:, LABELS.index("T")].mean() > 0.2
    later = PosteriorRegularization(LOOSE, [rule]).fit(X, Y).set_params(decode="projected")
    np.testing.assert_allclose(np.concatenate(later.predict_marginals(X)), marginals)


@pytest.mark.parametrize("norm", ["l2", "linf", "group"])
def test_norms_that_join_rows(norm):
    """Rules about each sequence are projected onto anew; the price of one about the corpus cannot be kept."""
    each_one = [runs(each) <= 1, where(word.isdigit()).label("Y")]
    learner = PosteriorRegularization(LOOSE, each_one, norm=norm, penalty=5.0, iterations=2, decode="projected")
    assert len(learner.fit(X, HALF).predict(X)) == len(X)
    with pytest.raises(NotSupported, match="cannot be kept for decode='projected' with the norm"):
        learner.set_params(rules=[*each_one, share("T") == 0.3]).fit(X, HALF)
    with pytest.raises(NotSupported, match="cannot be kept for decode='projected' with the norm"):
        learner.set_params(penalty=None, bound=0.05, rules=[share("T") == 0.3]).fit(X, HALF)


@pytest.mark.parametrize("nothing", [{"penalty": None}, {"bound": 0.0}], ids=str)
def test_without_slack_every_norm_is_the_same_at_gamma_zero(nothing):
    rules = [share("T") == 0.3, count("A") <= 1]
    found = [
        UnifiedEM(LOOSE, rules, gamma=0.0, norm=norm, iterations=3, **nothing).fit(X, HALF)
        for norm in ("l1", "l2", "linf", "group")
    ]
    for one in found:
        assert one.trace_ == found[0].trace_
        np.testing.assert_allclose(one.trace_[-1].slack, 0, atol=1e-9)


def test_without_slack_every_norm_is_the_same():
    rules = [share("T") == 0.3, count("A") <= 2]
    found = [UnifiedEM(LOOSE, rules, norm=norm, decode="projected").fit(X, HALF).predict(X) for norm in ("l2", "l1")]
    assert found[0] == found[1]


@pytest.mark.parametrize("slack", [{"penalty": None}, {"norm": "l1", "penalty": 5.0}, {"penalty": 5.0}], ids=str)
def test_predictions_do_not_depend_on_each_other(slack):
    """Prices of rules about the corpus are those of training, whatever is predicted."""
    rules = [(count("T") >= 2).over_corpus(), count("A") <= 4, share("Y") == 0.2]
    model = PosteriorRegularization(LOOSE, rules, iterations=2, decode="projected", **slack).fit(X, HALF)
    one_by_one = [model.predict_marginals([x])[0] for x in X]
    np.testing.assert_allclose(np.concatenate(one_by_one), np.concatenate(model.predict_marginals(X)), atol=1e-6)


def test_projections_without_rules_are_at_the_temperature():
    model = DeterministicAnnealing(LOOSE, [], start=0.5, temperatures=1).fit(X, HALF)
    idle = DeterministicAnnealing(LOOSE, [count("A") <= 99], start=0.5, temperatures=1).fit(X, HALF)
    found = [np.concatenate(one.predict_marginals(X)) for one in (model, idle)]
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)


def test_the_solver_of_the_base_is_told():
    labelled_only = PosteriorRegularization(CRF()).fit(X, Y)
    assert labelled_only.base_.solver_ == CRF().fit(X, Y).solver_
    assert PosteriorRegularization(CRF(), iterations=2).fit(X, HALF).base_.solver_ == "lbfgs"


@pytest.mark.guarded
@pytest.mark.parametrize("cls", [PosteriorRegularization, DeterministicAnnealing, GeneralizedExpectation])
def test_one_label_everywhere_is_told(cls, monkeypatch):
    """It has each run once, and that is all the rule asks; with the shares as well it is no answer."""
    monkeypatch.setattr(guard, "_LEAST", 100)  # no comparison with the base
    few = {"temperatures": 3} if cls is DeterministicAnnealing else {}
    references, gold = generate_references(30, seed=1)
    known = [labels if i < 5 else None for i, labels in enumerate(gold)]
    flat = [label for labels in gold[:5] for label in labels]
    once = (runs(each) <= 1).expected(30)
    with pytest.warns(UserWarning, match="the unlabelled sequences get [12] of the [0-9]+ labels that labelled ones"):
        model = cls(CRF(l2=1.0, tolerance=0.01), [once], **few).fit(references, known)
    assert len({label for labels in model.predict(references[5:]) for label in labels}) <= 2
    shares = [(share(label) == flat.count(label) / len(flat)).expected(3) for label in sorted(set(flat))]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert not cls(CRF(l2=1.0, tolerance=0.01), [once, *shares], **few).fit(references, known).guard_.collapsed


def documents(count=80):
    """Feature dicts of four words; a document is good if it has one of two."""
    rng = np.random.default_rng(0)
    found = [{str(w): 1.0 for w in rng.choice([f"w{i}" for i in range(12)], 4, replace=False)} for _ in range(count)]
    return found, ["good" if "w0" in words or "w1" in words else "bad" for words in found]


def test_a_crf_on_single_tokens_is_maximum_entropy():
    X, y = documents()
    base = CRF(l2=1.0, all_weights=True, boundaries=False, tolerance=1e-8)
    model = base.fit([[x] for x in X[:60]], [[c] for c in y[:60]])
    same = MaxEnt(bias=False, tolerance=1e-8).fit(X[:60], y[:60])
    np.testing.assert_allclose(
        np.concatenate(model.predict_marginals([[x] for x in X])),
        np.reshape(same.predict_marginals(X), (-1, 2)),
        atol=1e-4,
    )


@pytest.mark.parametrize(
    "cls", [PosteriorRegularization, UnifiedEM, DeterministicAnnealing, GeneralizedExpectation, EntropyRegularization]
)
def test_maximum_entropy_under_rules(cls):
    """All learners of expectations, on documents: with their share, unlabelled ones help as much as is asked."""
    X, y = documents()
    inputs, known = [[x] for x in X], [[c] if i < 8 else None for i, c in enumerate(y)]
    truth = y.count("good") / len(y)
    rule = (share("good") == truth).expected(3000)
    options = {UnifiedEM: {"penalty": 1.0}, DeterministicAnnealing: {"temperatures": 3}}.get(cls, {})
    model = cls(CRF(all_weights=True, boundaries=False), [rule], **options).fit(inputs, known)
    chance = np.concatenate(model.predict_marginals(inputs[8:]))[:, model.classes_.index("good")]
    assert chance.mean() == pytest.approx(truth, abs=0.1)
    assert token_accuracy([[c] for c in y], model.predict(inputs)) > 0.6
    told = [c if i < 8 else None for i, c in enumerate(y)]
    same = cls(CRF(all_weights=True, task=Classifying(bias=False)), [rule], **options).fit(X, told)
    assert same.predict(X) == [labels[0] for labels in model.predict(inputs)]
    np.testing.assert_allclose(same.predict_proba(X), np.concatenate(model.predict_marginals(inputs)), atol=1e-6)


def test_words_that_do_not_occur():
    with pytest.raises(DataError, match="is about words of the corpus, and the data has none of them"):
        PosteriorRegularization(LOOSE, [few_labels(word, at_least=1000)]).fit(X, HALF)


def test_numbers_of_numpy_are_numbers():
    model = DeterministicAnnealing(LOOSE, RULES, start=np.float32(1), rate=np.float64(0.5), temperatures=np.int64(2))
    assert model.set_params(penalty=np.int64(2), iterations=np.int64(1)).fit(X, HALF).temperature_ == 0.5
    assert UnifiedEM(LOOSE, gamma=np.int64(1), iterations=1).fit(X, HALF).temperature_ == 1


def test_an_unfinished_projection_is_told(monkeypatch):
    """To the caller of fit, and of predict where rules are projected onto anew."""
    for module in (posterior, projections):
        monkeypatch.setattr(module, "project", partial(project, max_iterations=20))
    rules = [few_labels(word).expected(1e4)], [runs(each) <= 0.9, count("T") >= 0.5]
    slacks = {"penalty": 1.0}, {"penalty": None, "norm": "group", "bound": 0.01}
    for known, slack in zip(rules, slacks, strict=True):
        learner = PosteriorRegularization(LOOSE, known, iterations=1, tolerance=1e-16, decode="projected", **slack)
        for call in (learner.fit, lambda X, _, learner=learner: learner.predict(X)):
            with pytest.warns(ConvergenceWarning, match="the projection onto the rules stopped") as told:
                call(X, HALF)
            assert told[0].filename == __file__


def test_a_schedule_that_does_not_arrive():
    with pytest.raises(DataError, match=r"after 3 rounds gamma would still be 4.05, not 1.0: take more iterations"):
        UnifiedEM(LOOSE, gamma=1.0, start=5.0, rate=0.9, iterations=3).fit(X, HALF)


def test_no_projection_at_gamma_zero():
    model = UnifiedEM(LOOSE, RULES[:1], gamma=0.0, iterations=1).fit(X, HALF)
    with pytest.raises(NotSupported, match="between gamma = 0 and inf, not at 0"):
        model.project(X)


@pytest.mark.parametrize("base", [LOOSE, FAST], ids=["hmm", "crf"])
def test_rules_without_slack_that_forbid_changes(base):
    """They make a new kind of pair in the projection, and none in the model that is fitted to it."""
    rules = [changes_only_after(word.isdigit()), starts_with("A", "Y")]
    model = UnifiedEM(base, rules, iterations=4, decode="projected").fit(X, HALF)
    never_rises(model)
    for x, labels in zip(X, model.predict(X), strict=True):
        assert all(a == b or w.isdigit() for w, a, b in zip(x, labels, labels[1:], strict=False))


@pytest.mark.parametrize("learner", [PosteriorRegularization(HMM()), UnifiedEM(HMM()), GeneralizedExpectation(CRF())])
def test_labels_that_only_rules_name(learner):
    model = clone(learner).set_params(rules=[starts_with("A", "Q")]).fit(X, HALF)
    assert model.classes_ == ["A", "Q", "T", "Y"]
    assert model.predict_marginals(X)[0].shape == (len(X[0]), 4)


@pytest.mark.parametrize("y", [HALF, MIXED], ids=["half", "mixed"])
def test_the_slope_of_the_objective_with_the_projection_minimised_out(monkeypatch, y):
    """What L-BFGS goes down around a CRF: its gradient is that of finite differences (Danskin)."""
    seen = []
    monkeypatch.setattr(DescentFit, "_descend", lambda self, loss, *_, **__: seen.append((self, loss)))
    PosteriorRegularization(FAST, RULES, iterations=1, tolerance=1e-9, strength=0.7, unlabeled_weight=0.6).fit(X, y)
    (fitting, loss), rng = seen[0], np.random.default_rng(0)
    at = rng.normal(size=len(fitting.learner.weights_))
    for _ in range(3):
        way, small = rng.normal(size=len(at)), 1e-4
        slope = (loss(at + small * way)[0] - loss(at - small * way)[0]) / (2 * small)
        np.testing.assert_allclose(loss(at)[1] @ way, slope, rtol=1e-4)
