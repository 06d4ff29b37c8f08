"""Expectation-maximisation: its objective, and Baum-Welch by listing every output."""

import warnings
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.base import clone

from sidelight import (
    CRF,
    EM,
    GOOD,
    HMM,
    CoDL,
    DataError,
    NotSupported,
    TagDictionary,
    count,
    generate_references,
    load,
    token_accuracy,
)
from tests import learner_kit
from tests.learners.samples import from_parts, labelled
from tests.learners.test_ccm import check_composite

X, Y = labelled()
HALF = [y if i < 12 else None for i, y in enumerate(Y)]
LABELS = ["A", "T", "Y"]


CASES = [EM(HMM()), EM(HMM("word.lower()", unknown=None), balance=0.9, iterations=2)]


@pytest.mark.parametrize("learner", CASES, ids=str)
def test_conventions(learner, tmp_path):
    check_composite(learner, X, Y, tmp_path)
    fitted = learner.fit(X, HALF)
    learner_kit.check_against_enumeration(fitted, X)
    learner_kit.check_kbest(fitted, X)
    assert token_accuracy(Y, fitted.predict(X)) > 0.75


@pytest.mark.parametrize("seed", range(4))
def test_the_objective_never_falls(seed):
    """Σ log P(x) and the log-prior together, from the second round on: the first begins from another model."""
    references, gold = generate_references(25, seed=seed)
    known = [labels if i < 6 else None for i, labels in enumerate(gold)]
    model = EM(HMM(rare=0), balance=0, iterations=10).fit(references, known)
    objective = [step.objective for step in model.trace_[1:]]
    assert len(objective) == 9
    assert all(after >= before - 1e-9 * abs(before) for before, after in pairwise(objective))
    assert objective[-1] > objective[0]


@pytest.mark.parametrize("seed", range(3))
def test_the_objective_never_falls_without_labels(seed):
    model = EM(HMM(rare=0, emission_smoothing=0.01), classes=LABELS, iterations=15, random_state=seed).fit(
        X, [None] * 30
    )
    assert model.base_ is None
    assert model.weight_ == 0
    objective = [step.objective for step in model.trace_[1:]]
    assert all(after >= before - 1e-9 * abs(before) for before, after in pairwise(objective))
    assert objective[-1] > objective[0] + 1
    other = EM(HMM(rare=0), classes=LABELS, iterations=3, random_state=seed + 10).fit(X, [None] * 30)
    assert other.trace_ != model.trace_[:3]


def expected_counts(score, pool, words):
    """Starts, transitions and emissions of every output, weighted by its probability; and Σ log Z."""
    start, move, emit, log_z = np.zeros(3), np.zeros((3, 3)), np.zeros((3, len(words))), 0.0
    for x in pool:
        outputs = list(product(range(3), repeat=len(x)))
        values = np.array([score(x, y) for y in outputs])
        total = np.logaddexp.reduce(values)
        log_z += total
        for y, p in zip(outputs, np.exp(values - total), strict=True):
            start[y[0]] += p
            for a, b in pairwise(y):
                move[a, b] += p
            for a, w in zip(y, x, strict=True):
                emit[a, words[w]] += p
    return start, move, emit, log_z


@pytest.mark.parametrize("balance", [0.0, 0.4])
def test_baum_welch_by_enumeration(balance):
    """Three rounds on sequences of at most four tokens: counts, probabilities and the objective."""
    inputs, known = [x[:4] for x in X[:14]], [y[:4] if i < 5 else None for i, y in enumerate(Y[:14])]
    pool = inputs[5:]
    words = {w: k for k, w in enumerate(dict.fromkeys(w for x in pool for w in x))}
    base = HMM(rare=0, unknown=None, classes=LABELS).fit(inputs[:5], known[:5])

    def first(x, y):
        return base.structure_.score(base.scores([x]), np.array(y, np.int32))[0]

    score, prior = first, 0.0
    for rounds in (1, 2, 3):
        start, move, emit, log_z = expected_counts(score, pool, words)
        model = EM(HMM(rare=0, unknown=None), balance=balance, iterations=rounds).fit(inputs, known)
        np.testing.assert_allclose(model.trace_[-1].objective, log_z + prior)
        np.testing.assert_allclose(model.driven_.counts_.start, start)
        np.testing.assert_allclose(model.driven_.counts_.transition, move)
        np.testing.assert_allclose(model.driven_.counts_.emission.T, emit)
        padded = np.concatenate((emit, np.zeros((3, 2))), axis=1) + 0.1  # two symbols stand for unknown words
        log_start = np.log((start + 0.1) / (start + 0.1).sum())
        log_move = np.log((move + 0.1) / (move + 0.1).sum(axis=1, keepdims=True))
        log_emit = np.log(padded / padded.sum(axis=1, keepdims=True))
        prior = 0.1 * (log_start.sum() + log_move.sum() + log_emit.sum())

        def score(x, y, log_start=log_start, log_move=log_move, log_emit=log_emit):
            value = log_start[y[0]] + sum(log_move[a, b] for a, b in pairwise(y))
            value += sum(log_emit[a, words[w]] for a, w in zip(y, x, strict=True))
            return value if balance == 0 else balance * first(x, y) + (1 - balance) * value

        for x in pool[:3]:
            y = [0, 1, 2, 0][: len(x)]
            np.testing.assert_allclose(model.structure_.score(model.scores([x]), np.array(y, np.int32))[0], score(x, y))


def test_partial_labels_forbid_the_others():
    """Two rounds by enumeration over the label sequences that agree, and the objective never falls."""
    known = TagDictionary.of(X, Y).apply(X)
    inputs, known = [x[:4] for x in X[:10]], [y[:4] for y in known[:10]]
    words = {w: k for k, w in enumerate(dict.fromkeys(w for x in inputs for w in x))}
    first = EM(HMM(rare=0, unknown=None), iterations=1).fit(inputs, known).driven_

    def agrees(x, y):
        return all(LABELS[c] in labels for c, labels in zip(y, known[inputs.index(x)], strict=True))

    def score(x, y):
        if not agrees(x, y):
            return -np.inf
        return first.structure_.score(first.scores([x]), np.array(y, np.int32))[0]

    start, move, emit, log_z = expected_counts(score, inputs, words)
    model = EM(HMM(rare=0, unknown=None), iterations=2).fit(inputs, known)
    np.testing.assert_allclose(model.trace_[-1].objective, log_z + first.log_prior())
    np.testing.assert_allclose(model.driven_.counts_.start, start, atol=1e-12)
    np.testing.assert_allclose(model.driven_.counts_.transition, move, atol=1e-12)
    np.testing.assert_allclose(model.driven_.counts_.emission.T, emit, atol=1e-12)
    longer = EM(HMM(rare=0, unknown=None), iterations=15).fit(inputs, known)
    objective = [step.objective for step in longer.trace_[1:]]
    assert all(after >= before - 1e-9 * abs(before) for before, after in pairwise(objective))


def test_partial_labels_beside_full_ones():
    known = TagDictionary.of(X, Y).apply(X)
    mixed = [y if i < 6 else known[i] if i % 2 else None for i, y in enumerate(Y)]
    model = EM(HMM(), iterations=3).fit(X, mixed)
    assert model.base_ is not None
    assert model.run_objectives_ == ()
    assert token_accuracy(Y, model.complete(X, known)) > 0.75


def test_the_most_likely_restart_is_kept(tmp_path):
    base = HMM(rare=0, emission_smoothing=0.01)
    several = EM(base, classes=LABELS, iterations=10, restarts=4).fit(X, [None] * 30)
    assert len(set(several.run_objectives_)) == 4
    final = several.driven_.log_partition(X).sum() + several.driven_.log_prior()
    np.testing.assert_allclose(max(several.run_objectives_), final)
    alone = EM(base, classes=LABELS, iterations=10).fit(X, [None] * 30)
    np.testing.assert_allclose(
        several.run_objectives_[0], alone.driven_.log_partition(X).sum() + alone.driven_.log_prior(), rtol=1e-12
    )
    assert (
        EM(base, classes=LABELS, iterations=10, restarts=4).fit(X, [None] * 30).run_objectives_
        == several.run_objectives_
    )
    several.save(tmp_path / "m")
    assert load(tmp_path / "m").run_objectives_ == several.run_objectives_
    with pytest.raises(DataError, match="restarts must be a whole number of at least 1"):
        EM(base, classes=LABELS, restarts=0).fit(X, [None] * 30)


def test_full_balance_is_the_supervised_model():
    model, alone = EM(HMM(), balance=1.0).fit(X, HALF), HMM().fit(X[:12], Y[:12])
    np.testing.assert_array_equal(model.scores(X).unary, alone.scores(X).unary)
    assert model.predict(X) == alone.predict(X)
    only_labelled = EM(HMM()).fit(X[:12], Y[:12])
    assert only_labelled.driven_ is None
    assert only_labelled.trace_ == ()
    assert only_labelled.predict(X) == alone.predict(X)


def test_certain_posteriors_are_counts():
    """Expected parts that are one output each give the supervised model."""
    alone = HMM().fit(X, Y)
    codes = np.array([LABELS.index(c) for y in Y for c in y], np.int32)
    parts = alone.structure_.indicator(alone.scores(X), codes)
    again = from_parts(HMM(), X, parts, LABELS)
    np.testing.assert_allclose(again.scores(X).unary, alone.scores(X).unary)
    np.testing.assert_allclose(again.scores(X).pair, alone.scores(X).pair)


def test_files(tmp_path):
    model = EM(HMM(), iterations=3).fit(X, HALF)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.trace_ == model.trace_
    assert again.weight_ == 0.8
    np.testing.assert_array_equal(again.scores(X).unary, model.scores(X).unary)
    np.testing.assert_array_equal(again.driven_.counts_.emission, model.driven_.counts_.emission)


def test_what_it_cannot_do():
    with pytest.raises(NotSupported, match="EM needs a generative base learner, HMM or DMV, not CRF"):
        EM(CRF()).fit(X, HALF)
    with pytest.raises(NotSupported, match=r"EM cannot learn from GOOD / BAD \(sequence 0\)"):
        EM(HMM()).fit(X, [GOOD, *Y[1:]])
    with pytest.raises(DataError, match="no label is known: give labelled sequences"):
        EM(HMM()).fit(X, [None] * 30)
    with pytest.raises(DataError, match="nothing to learn in 0 iterations"):
        EM(HMM(), classes=LABELS, iterations=0).fit(X, [None] * 30)
    for balance in (-0.1, 1.1, float("nan")):
        with pytest.raises(DataError, match=r"balance must be a finite number from 0 to 1 or None"):
            EM(HMM(), balance=balance).fit(X, HALF)
    with pytest.raises(DataError, match="iterations must be a whole number of at least 0, got -1"):
        EM(HMM(), iterations=-1).fit(X, HALF)
    with pytest.raises(DataError, match="label 'Y' was never seen"):
        EM(HMM(), classes=["A", "T"]).fit(X, HALF)


VARIATIONAL = HMM(unknown=None, rare=0, estimate="variational", emission_smoothing=0.3)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("spread", [None, 1.0])
def test_the_variational_bound_never_falls(seed, spread):
    model = EM(VARIATIONAL, classes=LABELS, iterations=15, spread=spread, random_state=seed).fit(X, [None] * 30)
    objective = [step.objective for step in model.trace_[1:]]
    assert all(after >= before - 1e-9 * abs(before) for before, after in pairwise(objective))
    assert objective[-1] > objective[0]


def test_the_variational_bound_is_below_the_evidence():
    """log p(x) with all tables integrated out, by listing the outputs of the corpus; exact if only one is left."""
    some = [["a", "b", "a"], ["b", "c"], ["a"]]
    symbols, heads, tokens = {"a": 0, "b": 1, "c": 2}, {0, 3, 5}, [w for x in some for w in x]

    def log_beta(a, axis):
        return (gammaln(a).sum(axis=axis) - gammaln(a.sum(axis=axis))).sum()

    def joint(y):
        start, arcs, words = np.zeros(2), np.zeros((2, 2)), np.zeros((5, 2))
        for t, c in enumerate(y):
            words[symbols[tokens[t]], c] += 1
            if t in heads:
                start[c] += 1
            else:
                arcs[y[t - 1], c] += 1
        tables = ((start, 0.1, 0), (arcs, 0.1, 1), (words, 0.3, 0))
        return sum(log_beta(n + alpha, axis) - log_beta(0 * n + alpha, axis) for n, alpha, axis in tables)

    model = EM(VARIATIONAL, classes=["A", "T"], iterations=30, spread=1.0).fit(some, [None] * 3)
    evidence = np.logaddexp.reduce([joint(y) for y in product(range(2), repeat=6)])
    assert evidence - 5 < model.trace_[-1].objective < evidence
    told = [[{"A"}, {"T"}, {"A"}], [{"T"}, {"T"}], [{"A"}]]
    model = EM(VARIATIONAL, classes=["A", "T"], iterations=2).fit(some, told)
    np.testing.assert_allclose(model.trace_[-1].objective, joint([0, 1, 0, 1, 1, 0]))


def test_variational_models_are_saved_and_checked(tmp_path):
    model = EM(VARIATIONAL, classes=LABELS, iterations=3, spread=0.5).fit(X, [None] * 30)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.predict(X) == model.predict(X)
    np.testing.assert_array_equal(again.driven_.scorer_.emission, model.driven_.scorer_.emission)
    learner_kit.check_against_enumeration(model, X)
    for wrong, message in (
        ({"estimate": "bayes"}, "estimate must be 'frequencies' or 'variational', got 'bayes'"),
        ({"start_smoothing": 0.0}, "start_smoothing must be a finite number above 0"),
        ({"emission_smoothing": -1.0}, "emission_smoothing must be a finite number of at least 0"),
    ):
        bad = HMM(**{"estimate": "variational", **wrong})
        with pytest.raises(DataError, match=message):
            bad.fit(X, Y)
        with pytest.raises(DataError, match=message):
            EM(bad, classes=LABELS).fit(X, [None] * 30)


def test_random_models_treat_all_tokens_of_a_word_alike():
    """After one round from them, too: the first scores differ between words only."""
    known = [None] * 30
    first, again, other = (
        EM(HMM(rare=0), classes=LABELS, iterations=3, spread=1.0, random_state=seed).fit(X, known) for seed in (0, 0, 1)
    )
    assert first.trace_ == again.trace_
    assert first.trace_ != other.trace_
    model = HMM(rare=0).fit_random(X, LABELS, 1.0, np.random.default_rng(0))
    assert first.trace_[0].objective == float(model.log_partition(X).sum())
    scores = model.scores([["Ann", "run", "Ann"]]).unary
    np.testing.assert_array_equal(scores[0], scores[2])
    assert (scores[0] != scores[1]).all()
    restarts = EM(HMM(rare=0), classes=LABELS, iterations=3, spread=1.0, restarts=2).fit(X, known).run_objectives_
    assert restarts[0] != restarts[1]
    for spread in (0, -1, "much", np.inf):
        with pytest.raises(DataError, match="spread must be a finite number above 0"):
            EM(HMM(), classes=LABELS, spread=spread).fit(X, known)


@pytest.mark.parametrize("learner", [EM(HMM()), CoDL(HMM()), CoDL(HMM(), [count("N") >= 1])], ids=str)
def test_unlabelled_sequences_are_not_used_where_one_label_has_most_tokens(learner, tmp_path):
    """The driven model would learn little but that label; a balance that is asked for is kept, without a warning."""
    inputs = [["a", "b", "c", "d"], ["b", "d", "a", "c"], ["c", "c", "a", "e"], ["e", "b", "a"]]
    known = [["O", "O", "O", "N"], ["O", "N", "O", "O"], None, None]
    learner = clone(learner).set_params(guard=False)
    with pytest.warns(
        UserWarning, match="most labelled tokens have the label 'O', and .* makes no use of them"
    ) as told:
        learner.fit(inputs, known)
    assert told[0].filename == __file__
    assert (learner.weight_, learner.driven_) == (1.0, None)
    if not getattr(learner, "rules", None):
        assert learner.predict(inputs) == HMM().fit(inputs[:2], known[:2]).predict(inputs)
    learner.save(tmp_path / "m")
    assert load(tmp_path / "m").predict(inputs) == learner.predict(inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.set_params(balance=0.5).fit(inputs, known)
        assert learner.driven_ is not None
        assert learner.weight_ == 0.5


def test_the_usual_balance():
    half = [["A", "B", "C"], ["C", "A", "B"], None]
    inputs = [["a", "b", "c"], ["c", "a", "b"], ["a", "c", "b"]]
    assert EM(HMM(), guard=False).fit(inputs, half).weight_ == 0.8
    assert CoDL(HMM(), guard=False).fit(inputs, half).weight_ == 0.5
    sets = [{"O", "N"}] * 3
    partial = EM(HMM(), guard=False).fit(inputs, [["O", "O", "N"], ["O", "N", "O"], sets])
    assert partial.weight_ == 0.0
    even = [["A", "B", "A", "B"]] * 3  # neither of two labels has most tokens
    assert EM(HMM(), guard=False).fit([["a", "b", "a", "c"]] * 4, [*even, None]).weight_ == 0.8
    with warnings.catch_warnings():  # of what most tokens have, where there is nothing unlabelled that it could harm
        warnings.simplefilter("error")
        assert EM(HMM(), guard=False).fit(inputs, [["A", "A", "B"]] * 3).weight_ == 0.8
