"""What learners from expectations add to rules by default: penalties, label shares, weights, decoding under rules."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from sidelight import (
    CCM,
    CRF,
    EM,
    HMM,
    Combined,
    DataError,
    DeterministicAnnealing,
    EntropyRegularization,
    GeneralizedExpectation,
    NotSupported,
    PosteriorRegularization,
    UnifiedEM,
    changes_only_after,
    check,
    count,
    generate_references,
    label_shares,
    load,
    once_each,
    punctuation,
    share,
    starts_with,
    where,
    word,
)
from sidelight.inference.compiled import CompiledRules
from sidelight.inference.constrained import best_outputs
from sidelight.inference.readings import LabelledData, Readings
from sidelight.inference.rows import Rows
from sidelight.labels import encode_labels
from sidelight.learners.tasks.labelling import Labelling
from sidelight.rules.files import saved_text

X, Y = generate_references(40, seed=5)
HALF = [labels if i < 12 else None for i, labels in enumerate(Y)]
CLASSES = sorted({label for labels in Y for label in labels})
RULES = [
    starts_with("author", "editor"),
    once_each(),
    changes_only_after(punctuation),
    where(word.matches("^(19|20)[0-9][0-9]$")).label("date"),
]
QUICK = {"iterations": 2, "guard": False, "classes": CLASSES}
LEARNERS = [
    PosteriorRegularization(HMM(), RULES, **QUICK),
    PosteriorRegularization(CRF(), RULES, **QUICK),
    UnifiedEM(HMM(), RULES, gamma=0.5, **QUICK),
    DeterministicAnnealing(HMM(), RULES, temperatures=2, **QUICK),
    GeneralizedExpectation(CRF(max_iterations=5), RULES, guard=False, classes=CLASSES),
    EntropyRegularization(CRF(max_iterations=5), RULES, guard=False, classes=CLASSES),
]
each_learner = pytest.mark.parametrize(
    "number", range(len(LEARNERS)), ids=[f"{type(m).__name__}({m.base})"[:40] for m in LEARNERS]
)
unfinished = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@cache
def fitted(number):
    """One of the learners, fitted once for all tests, which leave it as it is."""
    return clone(LEARNERS[number]).fit(X, HALF)


# Label shares --------------------------------------------------------------------------------------------------------


def bounds(y, classes=None):
    """Low and high of each label; 0 and 1 where there is no bound."""
    found = {name: [0.0, 1.0] for name in classes or {label for labels in y for label in labels}}
    for rule in label_shares(y, classes):
        (name,) = rule.count.terms[0].to.names
        found[name][rule.op == "<="] = -rule.count.terms[-1].coefficient
    return found


def test_shares_are_around_those_of_the_labelled_sequences():
    y = [["a", "a", "b"], ["a", "b", "b", "b"]] * 10
    low, high = bounds(y)["a"]
    assert low < 3 / 7 < high
    assert high - low < 0.2


def test_shares_lie_within_two_standard_errors_of_a_ratio():
    """Half a token more of every label, and beside the residuals of the sequences one of independent tokens."""
    y = [["a", "a", "b"], ["a", "b", "b", "b"], ["b", "b"], ["a", "a", "b", "b", "b"]]
    n, length, tokens, (a, b) = 4, 14 / 4, 14, (5, 9)
    found = bounds(y, ["a", "b", "c"])
    for name, total, counts in (("a", a, [2, 1, 0, 2]), ("b", b, [1, 3, 2, 3]), ("c", 0, [0, 0, 0, 0])):
        p = (total + 0.5) / (tokens + 1.5)
        residuals = sum((k - p * m) ** 2 for k, m in zip(counts, [3, 4, 2, 5], strict=True))
        error = np.sqrt((residuals + p * (1 - p) * length) / (n - 1) / n) / length
        np.testing.assert_allclose(found[name], [max(p - 2 * error, 0), min(p + 2 * error, 1)], atol=1e-4)


def test_the_fewer_are_labelled_the_wider_the_bounds():
    widths = [np.mean([high - low for low, high in bounds(Y[:n], CLASSES).values()]) for n in (3, 10, 40)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < widths[0] / 2


def test_two_standard_errors_hold_the_share_of_other_sequences():
    """For nearly all labels that several of them have, though a label comes in runs and sequences differ in length."""
    pool, labels = generate_references(600, seed=1)
    tokens = sum(map(len, pool))
    truth = {name: sum(list(y).count(name) for y in labels) / tokens for name in CLASSES}
    inside = [
        low <= truth[name] <= high
        for n in (10, 25)
        for draw in range(0, 500, n)
        for name, (low, high) in bounds(labels[draw : draw + n], CLASSES).items()
        if sum(name in some for some in labels[draw : draw + n]) > 2
    ]
    assert np.mean(inside) > 0.9


def test_labels_that_are_missing_have_an_upper_bound_only():
    low, high = bounds([["a", "a", "b"]] * 10, ["a", "b", "c"])["c"]
    assert (low, 0 < high < 0.3) == (0.0, True)


def test_one_sequence_has_no_standard_error():
    with pytest.raises(DataError, match="at least two labelled sequences, got 1"):
        label_shares([["a"]])


# Rules as they are used ----------------------------------------------------------------------------------------------


def read(rules, y=Y, **changed):
    options = {"penalty": "learned", "shares": True, "decoding": True} | changed
    known = encode_labels(y, [len(x) for x in X[: len(y)]], CLASSES) if y else None
    return Readings.of(rules, LabelledData(Labelling(), X[: len(y)], y, known, CLASSES), **options)


def test_learned_penalties_are_the_log_odds_of_which_constrained_models_have_more():
    found = read(RULES)
    codes = encode_labels(Y, [len(x) for x in X], CLASSES).labels
    learned = CompiledRules.compile(RULES, X, CLASSES).learn(codes)
    np.testing.assert_allclose(found.penalties, learned)
    used = [rule.reading.penalty for rule in found.used[: len(RULES)]]
    np.testing.assert_allclose(used, np.maximum(learned, 0.01))
    np.testing.assert_allclose(CCM(HMM(), RULES).fit(X, Y).penalties_, 1.5 * learned)


def test_a_rule_that_is_broken_counts_less_than_one_that_is_kept():
    kept, broken = read([where(word.matches("^(19|20)[0-9][0-9]$")).label("date"), starts_with("title")]).penalties
    assert kept > 3
    assert broken < 0.1


def test_a_rule_that_is_broken_has_room():
    """As much as labelled sequences need on average, and a standard error more, in the direction that they need."""
    few, none, many = count("title") <= 4, count("title") <= 1000, count("title") >= 6
    titles = np.array([labels.count("title") for labels in Y], float)
    over, under = np.maximum(titles - 4, 0), np.minimum(titles - 6, 0)
    error = [some.std(ddof=1) / np.sqrt(len(Y)) for some in (over, under)]
    found = read([few, none, many], shares=False)
    np.testing.assert_allclose(found.room, [over.mean() + error[0], 0, under.mean() - error[1]])
    rows = Rows.compile(found.used, X[:1], CLASSES, room=found.room)
    np.testing.assert_allclose(rows.bound, [4 + found.room[0], 1000, 6 + found.room[2]])
    assert not any(read([few.expected(2.0), share("title") <= 0.01], shares=False).room)
    assert not read([few], penalty=2.0).room
    equal = read([count("title") == 4], shares=False).room
    np.testing.assert_allclose(equal, [(titles - 4).mean()])
    assert len(read([once_each(), few]).room) == len(CLASSES) + 1


def test_a_model_that_knows_how_often_a_rule_is_broken_hardly_changes():
    """A rule that is false at a third of the places: without room, learning from it would unlearn that."""
    rng = np.random.default_rng(0)
    words = [["a", *rng.choice(["b", "c"], size=5).tolist()] for _ in range(90)]
    labels = [[{"a": "O", "b": "N", "c": str(rng.choice(["N", "O"], p=[2 / 3, 1 / 3]))}[w] for w in x] for x in words]
    known = [y if i < 60 else None for i, y in enumerate(labels)]
    rule = where(word.isin("b", "c")).never("O")
    options = {"guard": False, "unlabeled_weight": 5.0, "label_shares": False, "n_jobs": 1}
    chances = [
        np.mean([
            row[model.classes_.index("O")]
            for x, table in zip(words[60:], model.predict_marginals(words[60:]), strict=True)
            for w, row in zip(x, table, strict=True)
            if w == "c"
        ])
        for model in (
            CRF(n_jobs=1).fit(words[:60], labels[:60]),
            PosteriorRegularization(CRF(n_jobs=1), [rule], **options).fit(words, known),
            PosteriorRegularization(CRF(n_jobs=1), [rule.expected(3.0)], **options).fit(words, known),
        )
    ]  # fmt: skip
    assert abs(chances[1] - chances[0]) < 0.1
    assert chances[2] < chances[1] - 0.1


def test_a_penalty_of_its_own_is_kept():
    own = (count("title") >= 2).expected(7.0)
    found = read([own], shares=False)
    assert found.used == (own,)
    assert found.penalties.tolist() == [7.0]
    other = count("author") >= 1
    both = read([own, other], shares=False, penalty=2.0)
    assert both.penalties.tolist() == [7.0, 2.0]
    assert [rule.reading.penalty for rule in both.used] == [7.0, 2.0]


def test_rules_about_the_corpus_are_not_decoded():
    found = read([share("title") >= 0.2, *RULES], shares=False)
    assert found.decoded == tuple(RULES)
    assert len(found.used) == 1 + len(RULES)


def test_shares_are_added_but_for_labels_that_have_a_rule():
    mine = share("title") == 0.3
    titles = [saved_text(rule) for rule in read([mine, *RULES]).used[1 + len(RULES) :]]
    assert any("author" in title for title in titles)
    assert not any("title" in title.replace("booktitle", "") for title in titles)


@pytest.mark.parametrize("changed", [{"shares": False}, {"penalty": None}, {"y": Y[:1]}])
def test_no_shares_are_added(changed):
    assert len(read(RULES, **changed).used) == len(RULES)


def test_one_penalty_means_the_same_for_a_share_and_a_count():
    """An upper bound that every sequence misses by two tokens, on average or each, costs the same."""
    size = 10
    some = [["w"] * size] * 6
    rows = [
        Rows.compile([rule], some, ["a", "b"])
        for rule in (share("a") <= 0.3, (count("a") <= 3).over_corpus(), count("a") <= 3)
    ]
    missed = []
    for one in rows:
        scores = HMM().fit(some, [["a"] * 5 + ["b"] * 5] * 6).scores(some)
        sure = scores.restrict(np.tile([[True, False]] * 5 + [[False, True]] * 5, (6, 1)))
        excess = one.excess(one.tilt(sure, np.zeros(len(one))).expected)
        missed.append(float((one.copies * excess).sum()))
    np.testing.assert_allclose(missed, 12.0)


# Decoding ------------------------------------------------------------------------------------------------------------


@each_learner
@unfinished
def test_outputs_are_the_best_under_the_rules(number):
    """Those of a constrained model with the same scores and penalties."""
    learner = fitted(number)
    readings = learner.readings_
    scores = learner.scores(X)
    weighed = CompiledRules.compile(RULES, X, learner.classes_).weigh(readings.penalties)
    found = best_outputs(learner.structure_, scores, weighed)
    flat = [label for labels in learner.predict(X) for label in labels]
    assert flat == [learner.classes_[code] for code in found.outputs.values[0]]
    best = [lists[0] for lists in learner.predict_kbest(X, 2)]
    np.testing.assert_allclose([one.score for one in best], found.scores[:, 0])


@each_learner
@unfinished
def test_what_is_fitted_comes_back_from_a_file(number, tmp_path):
    learner = fitted(number)
    learner.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert list(map(saved_text, again.rules_used_)) == list(map(saved_text, learner.rules_used_))
    assert len(again.rules_used_) > len(RULES)
    assert list(map(saved_text, again.readings_.decoded)) == list(map(saved_text, RULES))
    np.testing.assert_array_equal(again.readings_.penalties, learner.readings_.penalties)
    assert again.predict(X) == learner.predict(X)
    assert getattr(again, "balance_", 0.0) == getattr(learner, "balance_", 0.0)


def test_encoded_input_has_no_tokens_for_rules():
    learner = fitted(1)
    with pytest.raises(NotSupported, match="reads the tokens themselves; give X as it is"):
        learner.encode(X)
    with pytest.raises(NotSupported, match="read tokens, not encoded input"):
        learner.predict(learner.base_.encode(X))


# Weights -------------------------------------------------------------------------------------------------------------


def test_a_generative_model_is_mixed_with_the_supervised_one():
    learner = fitted(0)
    alone = HMM(classes=CLASSES).fit(X[:12], Y[:12])
    assert learner.balance_ == 0.7
    np.testing.assert_allclose(learner.start_.scores(X).unary, alone.scores(X).unary)
    mixed = alone.scores(X).mix(learner.base_.scores(X), 0.7)
    np.testing.assert_allclose(learner.scores(X).unary, mixed.unary)
    learner = clone(learner).set_params(balance=1.0, decode="model").fit(X, HALF)
    assert learner.predict(X) == alone.predict(X)
    learner.set_params(balance=0.0).fit(X, HALF)
    assert learner.start_ is None
    np.testing.assert_allclose(learner.scores(X).unary, learner.base_.scores(X).unary)


@pytest.mark.parametrize("cls", [PosteriorRegularization, GeneralizedExpectation])
def test_unlabelled_sequences_count_as_much_as_the_labelled_ones_for_a_crf(cls):
    """12 labelled and 16 unlabelled: each of those 12/16. Twice as many copies of the unlabelled ones are as many."""
    some, y = X[:28], HALF[:28]
    options = {"guard": False, "decode": "model", "classes": CLASSES}
    default = cls(CRF(tolerance=1e-3), RULES, **options).fit(some, y)
    given = cls(CRF(tolerance=1e-3), RULES, unlabeled_weight=12 / 16, **options).fit(some, y)
    twice = cls(CRF(tolerance=1e-3), RULES, **options).fit(some + some[12:], y + y[12:])
    np.testing.assert_array_equal(default.base_.weights_, given.base_.weights_)
    assert np.mean(np.array(default.predict(some), object) == np.array(twice.predict(some), object)) > 0.9


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"penalty": "high"}, "penalty must be a finite number above 0, 'learned' or None, got 'high'"),
        ({"decode": "best"}, "decode must be 'rules', 'projected' or 'model', got 'best'"),
        ({"balance": 1.5}, "balance must be a finite number from 0 to 1 or None, got 1.5"),
        ({"unlabeled_weight": -1.0}, "unlabeled_weight"),
    ],
)
def test_what_is_refused(changed, message):
    with pytest.raises(DataError, match=message):
        PosteriorRegularization(HMM(), RULES, **changed).fit(X, HALF)


PENALIZED = {
    "PosteriorRegularization": lambda rules, **more: PosteriorRegularization(HMM(), rules, iterations=2, **more),
    "squared": lambda rules, **more: PosteriorRegularization(HMM(), rules, iterations=2, norm="squared", **more),
    "UnifiedEM": lambda rules, **more: UnifiedEM(HMM(), rules, gamma=0.5, iterations=2, **more),
    "DeterministicAnnealing": lambda rules, **more: DeterministicAnnealing(
        CRF(), rules, temperatures=2, iterations=1, **more
    ),
    "GeneralizedExpectation": lambda rules, **more: GeneralizedExpectation(CRF(max_iterations=5), rules, **more),
    "EntropyRegularization": lambda rules, **more: EntropyRegularization(CRF(max_iterations=5), rules, **more),
    "Combined": lambda rules, **more: Combined(HMM(), rules, iterations=2, weights={}, **more),
}
each_penalized = pytest.mark.parametrize("make", PENALIZED.values(), ids=PENALIZED)


@each_penalized
def test_the_penalty_of_a_learner_is_that_of_rules_without_their_own(make):
    """What a rule is broken by costs more at a higher penalty, and as much as at a penalty of its own."""
    rule, options = count("title") >= 12, {"guard": False, "label_shares": False, "classes": CLASSES, "n_jobs": 1}

    def fitted(rule, **more):
        return make([rule], **options, **more).fit(X[:16], HALF[:16])

    def objective(model):
        return [step.objective for step in model.trace_]

    low, middle, own = fitted(rule, penalty=0.01), fitted(rule, penalty=0.5), fitted(rule.expected(0.5))
    assert low.trace_[0].objective < middle.trace_[0].objective - 0.1
    assert objective(own) == objective(middle)
    assert own.predict(X[16:]) == middle.predict(X[16:])
    assert [one.penalty for one in own.rule_readings()] == [one.penalty for one in middle.rule_readings()] == [0.5]
    assert objective(fitted(rule.expected(0.5), penalty=0.01)) == objective(own)


@each_penalized
def test_reports_call_a_penalty_learned_only_where_it_is(make):
    """A number of the rule or of the learner is given, also where it is one of NumPy."""
    rule, options = count("title") >= 12, {"guard": False, "classes": CLASSES, "n_jobs": 1}

    def learned(rule, **more):
        return [one.learned for one in make([rule], **options, **more).fit(X[:16], HALF[:16]).rule_readings()]

    assert learned(rule) == [True]
    for found in (learned(rule.expected(0.5)), learned(rule, penalty=0.5), learned(rule, penalty=np.float32(0.5))):
        assert found == [False]
        assert type(found[0]) is bool


@each_penalized
@pytest.mark.parametrize("penalty", [np.nan, np.inf, -1, 0, True, "high"], ids=str)
def test_penalties_that_make_no_sense(make, penalty):
    message = f"penalty must be a finite number above 0, 'learned' or None, got {penalty!r}$"
    with pytest.raises(DataError, match=message):
        make(RULES, penalty=penalty, guard=False).fit(X, HALF)


@pytest.mark.parametrize("name", ["GeneralizedExpectation", "EntropyRegularization", "Combined"])
def test_learners_whose_rules_always_have_slack(name):
    with pytest.raises(DataError, match="always have slack, so its penalty is a number above 0 or 'learned', got None"):
        PENALIZED[name](RULES, penalty=None, guard=False).fit(X, HALF)


def _partly(labels, seed):
    """The labels with one in ten unknown."""
    rng = np.random.default_rng(seed)
    return [None if rng.random() < 0.1 else label for label in labels]


@pytest.mark.parametrize("make", [PosteriorRegularization, EM])
def test_partial_labels_count_as_full_ones_in_predictions(make):
    """The model of full labels alone has a weight by default, but none where partial labels tell more."""
    X, y = generate_references(60, seed=5)
    known = [labels if i < 3 else _partly(labels, i) for i, labels in enumerate(y[:40])]
    model = make(HMM(n_jobs=1), iterations=2, n_jobs=1).fit(X[:40], known)
    same = make(HMM(n_jobs=1), balance=0.0, iterations=2, n_jobs=1).fit(X[:40], known)
    assert model.predict(X[40:]) == same.predict(X[40:])
    alone = HMM(n_jobs=1).fit(X[:3], y[:3])
    assert model.score(X[40:], y[40:]) > alone.score(X[40:], y[40:]) + 0.1


def test_bounds_of_shares_do_not_contradict_the_labels_they_come_from():
    y = [["A"] * 25 for _ in range(3999)] + [["A"] * 24 + ["B"]]
    for rule in label_shares(y, ["A", "B", "C"]):
        found = check([rule], [[""] * 25 for _ in y], y)[0]
        assert found.violations == 0, rule.title


def test_no_slack_no_label_shares():
    """Shares that would have to hold exactly are not added, wherever there is no slack."""
    X, y = generate_references(12, seed=1)
    known = [labels if i < 6 else None for i, labels in enumerate(y)]
    model = UnifiedEM(HMM(n_jobs=1), [count("author") >= 1], gamma=np.inf, iterations=1, n_jobs=1).fit(X, known)
    assert [rule.title for rule in model.rules_used_] == [(count("author") >= 1).title]


def test_hard_rules_of_training_are_hard_in_prediction():
    X = [["x", "x", "x"]] * 8
    y = [["A", "A", "B"]] * 6 + [None] * 2  # labelled sequences break the rule
    model = UnifiedEM(HMM(n_jobs=1), [count("A") <= 1], gamma=-np.inf, iterations=1, guard=False, n_jobs=1).fit(X, y)
    assert all(labels.count("A") <= 1 for labels in model.predict(X))


def test_two_mixed_models_explain_together():
    X, y = generate_references(8, seed=1)
    rules = [count("author") >= 1]
    model = PosteriorRegularization(HMM(n_jobs=1), rules, iterations=1, n_jobs=1).fit(X, [*y[:5], *[None] * 3])
    free = model.without_rules()
    scores, best = free.scores(X[:1]), free.predict(X[:1])[0]
    found = free.explain(X[0], 1, top=1000)
    one, other = ([model.classes_.index(c) for c in labels] for labels in (best, [best[0], found.rival, *best[2:]]))
    values = [free.structure_.score(scores, np.array(codes, np.int32))[0] for codes in (one, other)]
    np.testing.assert_allclose(sum(e.difference for e in found.evidence), values[0] - values[1], rtol=1e-6)
