"""Constraint-driven learning: its objective, hard EM by hand, and what it takes."""

from itertools import groupby, pairwise, product

import numpy as np
import pytest
from sklearn.base import clone

from sidelight import (
    CRF,
    GOOD,
    HMM,
    CoDL,
    DataError,
    Infeasible,
    NotSupported,
    SemiCRF,
    StructuredPerceptron,
    changes_only_after,
    check,
    count,
    generate_references,
    load,
    once_each,
    punctuation,
    starts_with,
    token_accuracy,
    transitions,
    when,
    where,
    word,
)
from sidelight.inference.compiled import learn_penalties, log_prior
from tests.learners.samples import labelled
from tests.learners.test_ccm import check_composite

X, Y = labelled()
RULES = [starts_with("A").soft(0.5), (count("Y") >= 1).soft(), where(word.isin("x")).never("Y"), once_each("T").soft(1)]
HALF = [y if i < 12 else None for i, y in enumerate(Y)]


@pytest.mark.parametrize(
    "learner",
    [
        CoDL(HMM(), RULES),
        CoDL(CRF(), RULES[:3], balance=0.9, k=2),
        CoDL(StructuredPerceptron(), RULES, rules_at_prediction=False, iterations=2),
        CoDL(HMM(), [], reading="hard"),
        CoDL(SemiCRF(), RULES),
    ],
    ids=["hmm", "crf", "perceptron", "no rules", "semicrf"],
)
def test_conventions(learner, tmp_path):
    check_composite(learner, X, Y, tmp_path)


@pytest.mark.parametrize(
    "base", [HMM(), CRF(), StructuredPerceptron(), SemiCRF()], ids=lambda base: type(base).__name__
)
def test_learning_from_half_of_the_labels(base, tmp_path):
    model = CoDL(base, RULES, iterations=3).fit(X, HALF)
    assert token_accuracy(Y, model.predict(X)) > 0.75
    assert model.driven_ is not None
    assert 1 <= len(model.trace_) <= 3
    assert [step.iteration for step in model.trace_] == list(range(1, len(model.trace_) + 1))
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.predict(X) == model.predict(X)
    assert again.trace_ == model.trace_
    assert again.weight_ == model.weight_
    np.testing.assert_array_equal(again.penalties_, model.penalties_)
    assert repr(again) == repr(model)
    both = 0.5 * model.base_.scores(X).unary + 0.5 * model.driven_.scores(X).unary
    np.testing.assert_allclose(model.scores(X).unary, both)


FIELDS = sorted({"editor", *(label for labels in generate_references(90, seed=0)[1] for label in labels)})
REFERENCE_RULES = {
    "no rules": [],
    "once": [once_each()],
    "once, and it begins somewhere": [once_each(), starts_with("author", "editor", "title")],
    "local": [changes_only_after(punctuation), transitions("title", "author") <= 0],
    "counts": [count("title") >= 1, count("volume") <= 3, changes_only_after(punctuation)],
}


@pytest.mark.parametrize("name", REFERENCE_RULES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_objective_never_falls(name, seed):
    """Hard rules, an HMM whose smoothing is a prior, and no weight on the first model: both steps raise one objective.

    The first round's scores come from another model, so it is left out.
    """
    references, gold = generate_references(30, seed=seed)
    known = [labels if i < 8 else None for i, labels in enumerate(gold)]
    rules = REFERENCE_RULES[name]
    model = CoDL(HMM(rare=0, classes=FIELDS), rules, reading="hard", balance=0, iterations=7).fit(references, known)
    objective = [step.objective for step in model.trace_[1:]]
    assert len(objective) >= 2
    for before, after in pairwise(objective):
        assert after >= before - 1e-7 * abs(before)
    assert objective[-1] > objective[0]
    assert all(step.violations == 0 for step in model.trace_)
    assert all(found.violations == 0 for found in check(rules, references, model.predict(references)))


@pytest.mark.parametrize("name", REFERENCE_RULES)
@pytest.mark.parametrize("k", [1, 3])
def test_the_objective_never_falls_with_learned_penalties(name, k):
    """The penalties are parameters of the objective too."""
    rounds, base = 0, HMM(rare=0, classes=FIELDS)
    for seed in range(3):
        references, gold = generate_references(40, seed=seed)
        known = [labels if i < 4 else None for i, labels in enumerate(gold)]
        model = CoDL(base, REFERENCE_RULES[name], reading="soft", balance=0, iterations=7, k=k, counting="tokens")
        model.fit(references, known)
        objective = [step.objective for step in model.trace_[1:]]
        assert all(after >= before - 1e-7 * abs(before) for before, after in pairwise(objective))
        rounds += len(objective)
    assert rounds > 5


def test_errors_name_sequences_by_their_place_among_all():
    known = [Y[0], None, *Y[2:]]
    with pytest.raises(Infeasible, match="sequence 1 has no output that satisfies") as caught:
        CoDL(HMM(), [(count("A") >= 99).hard()]).fit(X, known)
    assert caught.value.sequence == 1
    with pytest.raises(DataError, match="at sequence 1, token 0"):
        CoDL(HMM(), [where(when(lambda x, t: 1 / (x is not X[1]))).label("A")]).fit(X, known)


def test_score_leaves_unlabelled_sequences_out():
    model = CoDL(HMM(), RULES).fit(X, HALF)
    labelled = [i for i, labels in enumerate(HALF) if labels is not None]
    assert model.score(X, HALF) == model.score([X[i] for i in labelled], [HALF[i] for i in labelled])
    with pytest.raises(DataError, match="no sequence is labelled"):
        model.score(X, [None] * len(X))


@pytest.mark.parametrize("seed", [0, 1])
def test_the_objective_never_falls_without_labels(seed):
    references, _ = generate_references(15, seed=seed)
    rules = [
        once_each("author", "title", "date"),
        where(word.matches("^(19|20)[0-9][0-9]$")).label("date"),
        starts_with("author"),
    ]
    model = CoDL(HMM(rare=0), rules, reading="hard", iterations=8, random_state=seed).fit(references, [None] * 15)
    assert model.base_ is None
    assert model.classes_ == ["author", "date", "title"]
    objective = [step.objective for step in model.trace_[1:]]
    assert all(after >= before - 1e-7 * abs(before) for before, after in pairwise(objective))
    assert all(found.violations == 0 for found in check(rules, references, model.predict(references)))
    twin = CoDL(HMM(rare=0), rules, reading="hard", iterations=8, random_state=seed).fit(references, [None] * 15)
    assert twin.trace_ == model.trace_


class PlainHMM:
    """Relative frequencies with `smoothing` added, in dicts; every unknown word has the same share."""

    def __init__(self, X, y, labels, smoothing=0.1):
        words = {w for x in X for w in x}
        self.words, self.labels = words, labels
        start = dict.fromkeys(labels, smoothing)
        move = {(a, b): smoothing for a in labels for b in labels}
        emit = {(a, w): smoothing for a in labels for w in words}
        for x, labelling in zip(X, y, strict=True):
            start[labelling[0]] += 1
            for a, b in pairwise(labelling):
                move[a, b] += 1
            for a, w in zip(labelling, x, strict=True):
                emit[a, w] += 1
        total = {a: sum(emit[a, w] for w in words) + 2 * smoothing for a in labels}  # and two symbols for the unknown
        self.start = {a: np.log(n / sum(start.values())) for a, n in start.items()}
        self.move = {(a, b): np.log(n / sum(move[a, c] for c in labels)) for (a, b), n in move.items()}
        self.emit = {(a, w): np.log(n / total[a]) for (a, w), n in emit.items()}
        self.other = {a: np.log(smoothing / total[a]) for a in labels}

    def score(self, x, y):
        out = self.start[y[0]] + sum(self.move[p] for p in pairwise(y))
        return out + sum(self.emit.get((a, w), self.other[a]) for a, w in zip(y, x, strict=True))


@pytest.mark.parametrize("seed", [2, 3, 4])  # without ties between outputs, which could be broken either way
@pytest.mark.parametrize("balance", [0.0, 0.3])
def test_without_rules_it_is_hard_em(balance, seed):
    short = [(x, y) for x, y in zip(*labelled(seed), strict=True) if len(x) < 6]
    X, Y = [x for x, _ in short], [y for _, y in short]
    known, labels = [y if n < 6 else None for n, y in enumerate(Y)], ["A", "T", "Y"]
    first, driven, before = PlainHMM(X[:6], Y[:6], labels), None, None

    def value(x, y):
        if driven is None:
            return first.score(x, y)
        return balance * first.score(x, y) + (1 - balance) * driven.score(x, y)

    for rounds in range(1, 6):
        guessed, objective = [], 0.0 if driven is None else model_prior(driven)
        for x in X[6:]:
            ranked = sorted(((value(x, y), y) for y in product(labels, repeat=len(x))), reverse=True)
            assert ranked[0][0] > ranked[1][0] + 1e-9
            guessed.append(list(ranked[0][1]))
            objective += ranked[0][0]
        model = CoDL(HMM(rare=0, unknown=None), balance=balance, iterations=rounds).fit(X, known)
        assert len(model.trace_) == rounds
        np.testing.assert_allclose(model.trace_[-1].objective, objective)
        if guessed == before:
            assert model.trace_[-1].changed == 0
            break
        driven, before = PlainHMM(X[6:], guessed, labels), guessed
        for x in X:
            scores = model.scores([x])
            for y in (["A"] * len(x), ["T"] * len(x), (["A", "T", "Y"] * 2)[: len(x)]):
                codes = np.array([labels.index(c) for c in y], np.int32)
                np.testing.assert_allclose(model.structure_.score(scores, codes)[0], value(x, y))
    assert rounds >= 2


def model_prior(model, smoothing=0.1):
    """Σ smoothing * log-probability over every entry of every table: the log of the Dirichlet priors."""
    tables = (*model.start.values(), *model.move.values(), *model.emit.values(), *(2 * v for v in model.other.values()))
    return smoothing * sum(tables)


def test_full_balance_is_the_supervised_model():
    model = CoDL(HMM(), RULES, balance=1.0).fit(X, HALF)
    alone = HMM().fit(X[:12], Y[:12])
    np.testing.assert_array_equal(model.scores(X).unary, alone.scores(X).unary)
    np.testing.assert_array_equal(model.scores(X).pair, alone.scores(X).pair)
    only_labelled = CoDL(HMM(), RULES).fit(X[:12], Y[:12])
    np.testing.assert_allclose(model.penalties_, only_labelled.penalties_)
    assert model.predict(X) == only_labelled.predict(X)
    assert only_labelled.trace_ == ()
    assert only_labelled.driven_ is None


@pytest.mark.parametrize("balance", [0.5, 0.2])
def test_penalties_are_mixed_like_models(balance):
    """ρ = β ρ_0 + (1 - β) ρ_U, as the weights (Algorithm 8 of Chang 2011)."""
    rules = [(count("Y") >= 1).soft(), starts_with("A").soft(0.5), once_each("T").hard()]
    model = CoDL(HMM(), rules, iterations=1, balance=balance, counting="tokens").fit(X, HALF)
    first = learn_penalties(np.array([sum("Y" not in y for y in Y[:12])], float), sum(map(len, Y[:12])))
    labels = clone(model).set_params(balance=1.0).fit(X, HALF).predict(X[12:])
    second = learn_penalties(np.array([sum("Y" not in y for y in labels)], float), sum(map(len, Y[12:])))
    assert abs(first[0] - second[0]) > 0.1
    np.testing.assert_allclose(model.penalties_, [balance * first[0] + (1 - balance) * second[0], 0.5, np.inf])


def test_the_objective_has_the_log_prior_of_learned_penalties():
    """Σ [w·F - Σ ρ d] of the best outputs, and T log (1 - P) + log P + log (1 - P) of the penalty that is learned."""
    rules = [(count("Y") >= 1).soft(), starts_with("A").soft(0.5), once_each("T").hard()]
    one, none = (CoDL(HMM(), rules, iterations=n, counting="tokens").fit(X, HALF) for n in (1, 0))
    score = sum(best[0].score for best in none.predict_kbest(X[12:], 1))
    prior = log_prior(none.penalties_[:1], sum(map(len, X[12:])))
    np.testing.assert_allclose(one.trace_[0].objective, score + prior)


def test_several_outputs_of_each_sequence():
    """With k outputs the second model is counted over all of them."""
    model = CoDL(HMM(), RULES, k=3, iterations=1, balance=0.5).fit(X, HALF)
    guide = CoDL(HMM(), RULES, iterations=0).fit(X, HALF)
    outputs = [(x, one.labels) for x in X[12:] for one in guide.predict_kbest([x], 3)[0]]
    expected = HMM(classes=["A", "T", "Y"]).fit([x for x, _ in outputs], [y for _, y in outputs])
    np.testing.assert_allclose(model.driven_.counts_.transition, expected.counts_.transition)
    np.testing.assert_allclose(model.driven_.scores(X).unary, expected.scores(X).unary)


def test_rules_only_in_learning():
    rules = [starts_with("T").hard()]
    with_rules = CoDL(HMM(), rules).fit(X, HALF)
    without = CoDL(HMM(), rules, rules_at_prediction=False).fit(X, HALF)
    np.testing.assert_array_equal(with_rules.scores(X).unary, without.scores(X).unary)
    assert all(labels[0] == "T" for labels in with_rules.predict(X))
    assert any(labels[0] != "T" for labels in without.predict(X))
    assert sum(map(len, without.predict_marginals(X))) == sum(map(len, X))


def test_rules_teach_what_labels_do_not():
    """On references, mean accuracy rises from few labels alone, to hard EM, to rules in learning."""
    rules = [once_each(), changes_only_after(punctuation)]
    accuracy = []
    for seed in range(4, 10):
        references, gold = generate_references(160, seed=seed, noise=0)
        known = [y if i < 5 else None for i, y in enumerate(gold[:80])]
        models = (
            HMM().fit(references[:5], gold[:5]),
            CoDL(HMM()).fit(references[:80], known),
            CoDL(HMM(), rules, reading="hard").fit(references[:80], known),
        )
        accuracy.append([model.score(references[80:], gold[80:]) for model in models])
    alone, hard_em, driven = np.mean(accuracy, axis=0)
    assert alone < hard_em < driven


@pytest.mark.parametrize("max_length", [None, 2])
def test_segments_from_rules_alone(max_length):
    """With no label given, rules and chance label the first round, in segments no longer than allowed."""
    rules = [starts_with("A").hard(), where(word.isdigit()).never("T").hard(), count("Y") >= 1]
    long = [x for x in X if len(x) > 2]
    model = CoDL(SemiCRF(max_length=max_length), rules, iterations=3).fit(long, [None] * len(long))
    assert model.base_ is None
    assert all(labels[0] == "A" for labels in model.predict(long))
    assert all(found.violations == 0 for found in check(rules[:2], long, model.predict(long)))
    if max_length:
        runs = [len(list(run)) for labels in model.predict(long) for _, run in groupby(labels)]
        assert max(runs) <= max_length


def test_hard_em_with_segments_by_hand():
    """Without rules and labels of weight zero, a round is: label the pool by the last model, and learn from that."""
    model = SemiCRF(classes=["A", "T", "Y"]).fit(X[:12], Y[:12])
    for rounds in (1, 2):
        model = SemiCRF(classes=["A", "T", "Y"]).fit(X[12:], model.predict(X[12:]))
        learner = CoDL(SemiCRF(), balance=0.0, iterations=rounds).fit(X, HALF)
        np.testing.assert_allclose(learner.scores(X).unary, model.scores(X).unary, atol=1e-9)
        assert learner.predict(X) == model.predict(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"balance": -0.1}, "balance must be a finite number from 0 to 1 or None, got -0.1"),
        ({"balance": 1.1}, "balance must be a finite number from 0 to 1 or None, got 1.1"),
        ({"balance": "0.5"}, "balance must be a finite number"),
        ({"iterations": -1}, "iterations must be a whole number of at least 0"),
        ({"k": 0}, "k must be a whole number of at least 1"),
        ({"reading": "firm"}, "reading must be 'hard' or 'soft'"),
        ({"method": "guess"}, "method must be 'exact', 'beam' or 'program', got 'guess'"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(DataError, match=message):
        CoDL(HMM(), RULES, **options).fit(X, HALF)


def test_what_it_cannot_learn_from():
    with pytest.raises(NotSupported, match=r"CoDL cannot learn from GOOD / BAD \(sequence 2\); "):
        CoDL(HMM()).fit(X, [*Y[:2], GOOD, *Y[3:]])
    with pytest.raises(NotSupported, match=r"CoDL cannot learn from partial labels \(sequence 1\)"):
        CoDL(HMM()).fit(X, [Y[0], [{"A", "T"}, *Y[1][1:]], *Y[2:]])
    with pytest.raises(DataError, match="no label is known: give labelled sequences"):
        CoDL(HMM()).fit(X, [None] * len(X))
    with pytest.raises(DataError, match="nothing to learn in 0 iterations"):
        CoDL(HMM(), RULES, iterations=0).fit(X, [None] * len(X))
    with pytest.raises(Infeasible, match=r"sequence \d+ has no output that satisfies \"count\('A'\) >= 99\""):
        CoDL(HMM(), [(count("A") >= 99).hard()]).fit(X, HALF)


def test_a_rule_with_a_function_learns_but_is_not_saved(tmp_path):
    model = CoDL(HMM(), [where(when(lambda x, t: t == 0)).label("A").soft(1)]).fit(X, HALF)
    with pytest.raises(DataError, match="cannot be written to a file: it holds a Python function"):
        model.save(tmp_path / "m")
