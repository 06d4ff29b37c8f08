"""The learner that tries others."""

import logging
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import sidelight.learners.choosing.race as race_module
from sidelight import (
    BAD,
    CCM,
    CRF,
    EM,
    GOOD,
    HMM,
    JLIS,
    Auto,
    CoDL,
    DataError,
    Infeasible,
    NotSupported,
    StructuralSVM,
    TagDictionary,
    before,
    count,
    generate_references,
    load,
    once_each,
    pos,
    share,
    shuffled,
    starts_with,
    where,
    word,
)
from sidelight.demo.rules import REFERENCE_RULES
from sidelight.learners.choosing.candidates import Candidate, Knowledge, fallback, too_slow
from sidelight.learners.choosing.race import Race, Result, Tried
from sidelight.learners.choosing.trials import Fold
from tests.learner_kit import check_learner
from tests.learners.samples import FORMS, labelled

X, Y = generate_references(80, seed=2)
TRUE = [starts_with("author", "editor"), where(word.isin("pp", "pages")).label("pages"), once_each()]
FALSE = [starts_with("title").named("title first"), before("title", "author").named("backwards")]


def few(learner):
    """Only quick bases and these."""
    everything = Knowledge.candidates

    def chosen(self):
        return (one for one in everything(self) if one.name in ("HMM", "CRF", *learner))

    return chosen


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(Knowledge, "candidates", few(("CoDL(HMM)", "CCM(HMM)", "EM(HMM)")))


@pytest.mark.parametrize(("form", "around"), [("words", "EM(HMM)"), ("dicts", "SelfTraining(CRF)")])
def test_conventions(form, around, tmp_path, monkeypatch):
    monkeypatch.setattr(Knowledge, "candidates", few((around,)))
    data, gold = labelled()
    check_learner(Auto(budget=1e6), FORMS[form](data), gold, tmp_path)


def test_rules_and_unlabelled_sequences(quick, tmp_path):
    known = [labels if i < 12 else None for i, labels in enumerate(Y[:36])]
    model = Auto(TRUE, budget=1e6, n_jobs=1).fit(X[:36], known)
    assert [result.candidate for result in model.results_] == [
        "HMM", "CRF", "CCM(HMM)", "CoDL(HMM)", "EM(HMM)",
    ]  # fmt: skip
    assert all(result.sequences == 12 for result in model.results_ if not result.outcome)
    (best,) = [result for result in model.results_ if result.chosen]
    assert model.why_.startswith(
        f"{best.candidate} has {100 * best.score:.1f} % token accuracy on 12 labelled sequence"
    )
    assert model.metric_ == "token accuracy"
    assert [cost.rule for cost in model.rule_costs_] == [rule.title for rule in TRUE]
    remarks = {result.candidate: result.note for result in model.results_}
    assert remarks["EM(HMM)"] == "without rules"
    assert remarks["CCM(HMM)"] == "without 24 sequences that have no full labels"
    assert model.predict(X[60:]) == model.best_.predict(X[60:])
    model.save(tmp_path / "m")
    for copied in (load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        assert copied.predict(X[60:70]) == model.predict(X[60:70])
        assert (copied.results_, copied.why_, copied.rule_costs_) == (model.results_, model.why_, model.rule_costs_)
        assert type(copied.best_) is type(model.best_)
    again = clone(model).fit(X[:36], known)
    assert [r.score for r in again.results_] == [r.score for r in model.results_]


def test_what_is_chosen_is_fitted_to_everything(monkeypatch):
    monkeypatch.setattr(Knowledge, "candidates", few(("CoDL(HMM)",)))
    known = [labels if i < 20 else None for i, labels in enumerate(Y)]
    model = Auto(REFERENCE_RULES, budget=1e6, most_unlabeled=20).fit(X, known)
    (best,) = [result.candidate for result in model.results_ if result.chosen]
    assert best == "CoDL(HMM)"
    expected = CoDL(HMM(classes=model.classes_), REFERENCE_RULES, guard=False).fit(X, known)
    assert model.predict(X) == expected.predict(X)
    assert model.trace_ == expected.trace_
    assert model.best_.guard_ is None


def test_rules_that_most_sequences_break_are_left_out(quick):
    known = [labels if i < 12 else None for i, labels in enumerate(Y[:36])]
    model = Auto([*TRUE, *FALSE], budget=1e6).fit(X[:36], known)
    notes = {result.candidate: result.note for result in model.results_}
    assert notes["CoDL(HMM)"] == "without 2 rules: title first, backwards"
    assert type(model.best_) in (CCM, CoDL)
    assert "; without 'title first', 'backwards', which the labelled sequences break at most places" in model.why_
    kept = Auto(TRUE, budget=1e6).fit(X[:36], known)
    assert [r.score for r in kept.results_] == [r.score for r in model.results_]


def test_rules_that_cost_are_tried_without(quick, monkeypatch):
    monkeypatch.setattr(race_module, "_mostly_broken", lambda known: [])
    wrong = where(word.isin(".", ",")).label("date").soft(50.0).named("wrong")
    model = Auto([*TRUE, wrong], budget=1e6).fit(X[:12], Y[:12])
    found = {result.candidate: result for result in model.results_}
    assert model.rule_costs_[-1].gain < -0.01
    assert found["CCM(HMM), without rules that cost"].score > found["CCM(HMM)"].score
    assert found["CCM(HMM), without rules that cost"].note == "without 1 rule: wrong"
    assert "wrong" not in str(getattr(model.best_, "rules", ""))


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([["O", "O", "O", "A"], ["O", "O", "B", "O"]], "CRF"),
        ([["A", "A", "A", "B", "B", "B"], ["C", "C", "C", "B", "B", "B"]], "SemiCRF"),
        ([["A", "B", "A", "C"], ["C", "A", "B"]], "StructuralSVM"),
    ],
)
def test_the_usual_learner(y, expected):
    words = [["a"] * len(labels) for labels in y]
    assert Knowledge(words, y, ["A", "B", "C", "O"]).usual == expected


def test_of_equals_the_usual_learner_is_the_base(monkeypatch):
    """Nothing tells learners apart where no span of a few messages is found again."""
    monkeypatch.setattr(Knowledge, "candidates", few(("CCM(HMM)", "CCM(CRF)")))
    data = [["a", "b", "c", "d"]] * 2 + [["e", "f", "g", "h"]] * 2
    gold = [["O", "B-X", "O", "O"]] * 2 + [["O", "O", "O", "B-Y"]] * 2
    model = Auto(folds=2, budget=1e6, n_jobs=1).fit(data, gold)
    assert len({result.score for result in model.results_}) == 1
    assert type(model.best_) is CRF
    one = Auto(budget=1e6, n_jobs=1).fit(data[:2], [gold[0], None])
    assert type(one.best_) is CRF
    ruled = Auto([starts_with("O").hard()], folds=2, budget=1e6, n_jobs=1).fit(data, gold)
    assert (type(ruled.best_), type(ruled.best_.base)) == (CCM, CRF)


def test_hard_rules_are_kept_unless_they_clearly_cost(monkeypatch):
    monkeypatch.setattr(Knowledge, "candidates", few(("CCM(HMM)",)))
    never = where(word.isin("nowhere")).never("date").hard()
    model = Auto([never], budget=1e6, n_jobs=1).fit(X[:8], Y[:8])
    assert type(model.best_) is CCM
    assert "+0.0 ± 0.0 points against" in model.why_
    assert "; it keeps to the hard rules." in model.why_
    soft = Auto([where(word.isin("nowhere")).never("date").soft(1.0)], budget=1e6, n_jobs=1).fit(X[:8], Y[:8])
    assert type(soft.best_) is not CCM
    assert soft.why_.endswith("; it uses no rules.")
    monkeypatch.setattr(race_module, "_mostly_broken", lambda known: [])
    costly = where(word.isin(".", ",")).label("date").hard()
    without = Auto([costly], budget=1e6, n_jobs=1).fit(X[:8], Y[:8])
    assert type(without.best_) is not CCM


def raced(known, *, hard=()):
    """A race whose trials are over: candidates with scores of ten tokens in each sequence held out."""
    race = Race(Knowledge(X[:4], Y[:4], ["A"]), parts=2, budget=1e6, most=0, seed=0, show=lambda *_, **__: None)
    race.tried, race.hard = list(known), set(hard)
    race.base = race.tried[0]
    return race


def ruled(name, right, rules):
    one = tried(name, right)
    one.candidate = replace(one.candidate, rules=tuple(rules))
    return one


def test_learners_that_keep_to_hard_rules_go_before_others():
    """Unless they are worse than the base by more than the standard error."""
    rule, base, better = starts_with("A").hard(), tried("base", [5, 6, 5, 6], supervised=True), tried("b", [7, 7, 7, 7])
    a_bit_worse, clearly_worse = ruled("c", [5, 5, 6, 5], [rule]), ruled("d", [3, 3, 3, 3], [rule])
    assert raced([base, better, a_bit_worse], hard=[rule]).ranked[0] is a_bit_worse
    assert raced([base, better, clearly_worse], hard=[rule]).ranked[0] is better
    assert raced([base, better, a_bit_worse]).ranked[0] is better


def test_rules_that_no_learner_can_keep_to_change_nothing(monkeypatch):
    monkeypatch.setattr(Knowledge, "candidates", few(("CCM(HMM)",)))
    never, corpus = where(word.isin("nowhere")).never("date").hard(), (share("title") <= 0.9).hard()
    model = Auto([never, corpus], budget=1e6, n_jobs=1).fit(X[:8], Y[:8])
    assert type(model.best_) is CCM
    assert "; it keeps to the other hard rules; without \"share('title') <= 0.9\"" in model.why_


def test_where_the_usual_learner_is_not_tried_a_crf_is_the_base(monkeypatch):
    monkeypatch.setattr(Knowledge, "candidates", few(()))
    monkeypatch.setattr(Knowledge, "usual", "StructuralSVM")
    data = [["a", "b", "c", "d"]] * 4
    model = Auto(folds=2, budget=1e6, n_jobs=1).fit(data, [["O", "A", "O", "O"]] * 4)
    assert type(model.best_) is CRF
    without = Auto([starts_with("O").soft(1.0)], folds=2, budget=1e6, n_jobs=1).fit(data, [["O", "A", "O", "O"]] * 4)
    assert "and no other that was tried has more; it uses no rules." in without.why_


def test_sequences_without_outputs_have_their_numbers_among_all(monkeypatch):
    monkeypatch.setattr(Knowledge, "candidates", few(("CCM(CRF)",)))
    data = [["a", "b"]] * 7 + [["z", "b"]] + [["a", "b"]] * 4
    rules = [where(word.isin("z")).label("A").hard(), where(word.isin("z")).label("B").hard()]
    model = Auto(rules, budget=1e6, n_jobs=1).fit(data, [["A", "B"]] * 12)
    (failed,) = [result for result in model.results_ if result.candidate == "CCM(CRF)"]
    assert failed.outcome.startswith("failed: sequence 7 has no output")


def test_each_learner_has_the_rules_that_it_can_read():
    known = [labels if i < 4 else None for i, labels in enumerate(Y[:10])]
    logic = (count("journal") >= 1) >> (count("booktitle") == 0)
    rules = [once_each(), logic, share("title") <= 0.5, once_each().expected(2.0), starts_with("author").hard()]
    classes = sorted({label for labels in Y for label in labels})
    found = {one.name: one for one in Knowledge(X[:10], known, classes, tuple(rules)).candidates()}
    assert found["CCM(HMM)"].rules == (rules[0], rules[1], rules[4])
    assert found["CoDL(SemiCRF)"].left_out == (rules[2], rules[3])
    assert found["PosteriorRegularization(CRF)"].rules == (rules[0], rules[2], rules[3])
    assert found["PosteriorRegularization(CRF)"].left_out == (rules[1], rules[4])
    assert found["CCM(HMM)"].remark.startswith("without 2 rules: share('title') <= 0.5, once_each()")
    assert list(found)[:4] == ["HMM", "CRF", "SemiCRF", "StructuralSVM"]
    assert not any(one.learner.get_params().get("guard") for one in found.values())
    companions = Knowledge(X[:10], [*Y[:4], *[GOOD] * 6], classes, tuple(rules))
    assert next(one for one in companions.candidates() if one.name == "JLIS").rules == (rules[4],)


def test_rules_about_expectations_alone_do_not_break_it(quick):
    known = [labels if i < 8 else None for i, labels in enumerate(Y[:20])]
    model = Auto([once_each().expected(), share("title") <= 0.5], budget=1e6).fit(X[:20], known)
    assert "CCM(HMM)" not in {result.candidate for result in model.results_}


def test_good_and_bad_sequences(monkeypatch):
    monkeypatch.setattr(Knowledge, "candidates", few(("StructuralSVM", "JLIS")))
    data, gold = labelled(count=12)
    bad = shuffled(data)
    inputs, known = data + bad, gold[:6] + [GOOD] * 6 + [BAD] * len(bad)
    model = Auto(features=["word"], folds=2, budget=1e6, n_jobs=1).fit(inputs, known)
    assert [result.candidate for result in model.results_] == ["HMM", "CRF", "StructuralSVM", "JLIS"]


def test_good_sequences_are_unlabelled_ones_to_others(quick):
    data, gold = labelled()
    model = Auto(budget=1e6, n_jobs=1).fit(data, gold[:10] + [GOOD] * 10 + [BAD] * 10)
    (em,) = [result for result in model.results_ if result.candidate == "EM(HMM)"]
    assert em.note == "without 10 sequences that have no full labels"


def test_partial_labels_and_a_dictionary(quick):
    data, gold = labelled()
    tags = TagDictionary.of(data, gold)
    model = Auto(dictionary=tags, budget=1e6, n_jobs=1).fit(data, gold[:10] + [None] * 20)
    (crf,) = [result for result in model.results_ if result.candidate == "CRF"]
    (em,) = [result for result in model.results_ if result.candidate == "EM(HMM)"]
    assert (crf.note, em.note) == ("", "")
    partial = Auto(budget=1e6, n_jobs=1).fit(data, gold[:10] + tags.apply(data[10:]))
    assert [r.score for r in partial.results_] == [r.score for r in model.results_]


@pytest.mark.parametrize(
    ("y", "rules", "dictionary", "expected"),
    [
        ([Y[0], *[None] * 9], TRUE, None, CoDL),
        ([None] * 10, TRUE, None, CoDL),
        ([Y[0], *[None] * 9], (), None, HMM),
        ([None] * 10, (), TagDictionary.of(X[10:], Y[10:]), EM),
        ([GOOD, BAD], (), TagDictionary.of(X[10:], Y[10:]), JLIS),
        (Y[:1], TRUE, None, CCM),
    ],
    ids=["rules", "rules alone", "labels", "dictionary", "companions", "no pool"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_too_little_is_labelled(y, rules, dictionary, expected):
    classes = sorted({label for labels in Y for label in labels})
    model = Auto(list(rules), dictionary=dictionary, classes=classes).fit(X[: len(y)], y)
    assert isinstance(model.best_, expected)
    assert "fully labelled nothing can be compared" in model.why_
    assert [result.chosen for result in model.results_] == [True]


def hidden(y, share=0.4):
    """The labels, of which this share is unknown."""
    draw = np.random.default_rng(0)
    return [[None if draw.random() < share else label for label in one] for one in y]


FIELDS = [["a"] * 4 + ["b"] * 4 + ["c"] * 4] * 10
TAGS = [["a", "b", "c"] * 4] * 10
MOSTLY = [["a"] * 4 + ["o"] * 16 + ["b"] * 4] * 10
SETS = [[{"a", "b"}, {"c"}, {"a"}, None] * 3] * 10


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (hidden(FIELDS), "SemiCRF"),
        ([*FIELDS[:1], *hidden(FIELDS[1:])], "SemiCRF"),
        ([*hidden(FIELDS), *SETS], "SemiCRF"),
        (hidden(TAGS), "CRF"),
        (hidden(MOSTLY), "CRF"),
        (SETS, "EM(HMM)"),
        ([*SETS, [None] * 12], "EM(HMM)"),
    ],
    ids=["long runs", "one full", "long runs and sets", "short runs", "one label", "sets", "sets and nothing"],
)
def test_partial_labels_are_learned_from_as_full_ones_like_them(y, expected):
    words = [[f"w{t}" for t in range(len(one))] for one in y]
    assert fallback(Knowledge(words, y, ["a", "b", "c", "o"]), 120).name == expected


def test_known_labels_in_long_runs_are_left_to_a_crf_where_segments_take_too_long():
    y = [["a", *[None] * 498, "a", "a", "b"]] * 5 + FIELDS
    known = Knowledge([["w"] * len(one) for one in y], y, ["a", "b", "c"])
    assert known.usual_partial == "SemiCRF"
    assert known.partial_segment_seconds == pytest.approx((5 * 502 + 120) * 9 * 501 / 1e7)
    assert [fallback(known, budget).name for budget in (120, 11)] == ["SemiCRF", "CRF"]


@pytest.mark.parametrize("y", [FIELDS, TAGS, MOSTLY], ids=["long runs", "short runs", "one label"])
def test_the_usual_learner_of_full_labels_is_that_of_partial_ones(y):
    known = Knowledge([["w"] * len(one) for one in y], y, ["a", "b", "c", "o"])
    assert known.usual_partial == known.usual.replace("StructuralSVM", "CRF")


def test_a_learner_for_partial_labels_is_chosen_and_predicts():
    data, gold = labelled()
    model = Auto(n_jobs=1).fit(data, [[None, *one[1:]] for one in hidden(gold, 0.2)])
    name = type(model.best_).__name__
    assert name in ("CRF", "SemiCRF")
    assert model.why_ == (
        f"With no sequence fully labelled nothing can be compared; {name} is a usual choice for what is known."
    )
    assert model.score(data, gold) > 0.9


def test_feature_dicts_have_no_words():
    found = Knowledge(FORMS["dicts"](X[:4]), [*Y[:3], None], ["author", "title"]).candidates()
    assert not [one.name for one in found if "HMM" in one.name]
    with pytest.raises(DataError, match="no label is known"):
        Auto().fit(X[:3], [None] * 3)
    with pytest.raises(DataError, match="no label is known"):
        fallback(Knowledge(FORMS["dicts"](X[:4]), [None] * 4, ["author"]), 120)


def test_the_time(monkeypatch, quick):
    known = [labels if i < 10 else None for i, labels in enumerate(Y[:30])]
    model = Auto(TRUE, budget=0, n_jobs=1).fit(X[:30], known)
    outcomes = {result.candidate: result.outcome for result in model.results_}
    assert (outcomes["HMM"], outcomes["CRF"]) == ("", "")
    assert outcomes["CoDL(HMM)"] == "not tried: the time was up"
    assert isinstance(model.best_, HMM | CRF)


def test_the_time_that_others_would_take():
    base = tried("b", [5] * 5, supervised=True)
    race = Race(Knowledge(X[:10], Y[:10], ["author"]), parts=5, budget=20.0, most=0, seed=0, show=lambda _: None)
    race.base, race.tried = base, [base]
    slow = Tried(Candidate("s", HMM()), [Fold((k,), np.array([[5.0, 10.0]]), 10.0, None) for k in range(2)])
    assert "20 s were left, and the others would take 30 s or more" in race._reason_to_stop(slow)
    race.budget = 40.0
    assert race._reason_to_stop(slow) is None
    race.budget = 0.0
    assert race._reason_to_stop(slow) == "the time was up"


def test_fits_that_take_too_long_are_left_out():
    long = [["a"] * 1000 + ["b"] * 1000] * 10
    known = Knowledge(long, long, ["a", "b"])
    (segments,) = [one for one in known.candidates() if one.name == "SemiCRF"]
    assert too_slow(known, segments, budget=0.1).startswith("with segments as long as these, a fit may take")
    assert too_slow(known, segments, budget=1e6) is None
    margins, many = Candidate("StructuralSVM", StructuralSVM()), replace(known, X=X * 100, y=Y * 100)
    assert too_slow(known, margins, budget=60.0) is None
    assert "and a CRF does as well there" in too_slow(many, margins, budget=60.0)
    assert too_slow(many, margins, budget=1e6) is None


def tried(name, right, *, supervised=False):
    counts = np.array([[n, 10.0] for n in right])
    return Tried(Candidate(name, HMM(), supervised), [Fold(tuple(range(len(right))), counts, 1.0, None)])


def choice(*entries):
    race = Race(Knowledge(X[:10], Y[:10], ["author"]), parts=5, budget=1.0, most=0, seed=0, show=lambda _: None)
    race.tried = list(entries)
    race.base = max((one for one in entries if one.candidate.supervised), key=lambda one: one.trial.score)
    return race.ranked[0].candidate.name


def test_the_choice():
    """The largest advantage less half a standard error; none is none."""
    base, worse = tried("b", [5] * 10, supervised=True), tried("w", [4] * 10, supervised=True)
    sure, chance = tried("sure", [6] * 10), tried("chance", [10, 10, 10, 10, 0, 0, 0, 0, 0, 10 + 1])
    assert choice(base, worse) == "b"
    assert choice(base, sure) == "sure"
    assert choice(base, chance) == "b"
    assert choice(base, chance, sure) == "sure"
    assert choice(base, tried("same", [5] * 10)) == "b"
    assert choice(worse, base, tried("between", [4] * 10)) == "b"


def test_a_base_with_a_lower_score_is_not_called_the_best():
    base, above = tried("b", [5] * 10, supervised=True), tried("above", [9, 9, 9, 9, 2, 2, 2, 2, 3, 5], supervised=True)
    race = Race(Knowledge(X[:10], Y[:10], ["author"]), parts=5, budget=1.0, most=0, seed=0, show=lambda _: None)
    race.tried, race.base = [base, above], base
    assert " and no other is better by more than a standard error (above: +" in race._why(base)
    race.tried = [base, tried("below", [4] * 10, supervised=True)]
    assert race._why(base).endswith(", the most of those that were tried.")
    race.tried = [base, tried("level", [5] * 10, supervised=True)]
    assert race._why(base).endswith(", and no other that was tried has more.")
    assert Result("one", False, score=0.5, difference=0.1, error=float("nan"), sequences=1).points == "+10.0"


def test_a_candidate_that_fails_is_told_of(monkeypatch):
    def broken(self, X, y):
        raise Infeasible("of no use")

    monkeypatch.setattr(Knowledge, "candidates", few(("CCM(HMM)",)))
    monkeypatch.setattr(CCM, "fit", broken)
    model = Auto(TRUE, budget=1e6).fit(X[:10], Y[:10])
    assert model.results_[-1].outcome == "failed: of no use"
    assert model.results_[-1].score is None


def test_one_that_cannot_be_fitted_to_everything_makes_way(monkeypatch):
    monkeypatch.setattr(Knowledge, "candidates", few(("CoDL(HMM)",)))
    fit = CoDL.fit

    def fits_little(self, X, y):
        if len(X) > 60:
            raise NotSupported("too much")
        return fit(self, X, y)

    monkeypatch.setattr(CoDL, "fit", fits_little)
    known = [labels if i < 20 else None for i, labels in enumerate(Y)]
    model = Auto(REFERENCE_RULES, budget=1e6, most_unlabeled=20).fit(X, known)
    assert model.results_[-1].outcome == "could not be fitted to everything: too much"
    assert not isinstance(model.best_, CoDL)


def test_far_below_is_not_tried_to_the_end(monkeypatch):
    monkeypatch.setattr(Knowledge, "candidates", few(("CCM(HMM)",)))
    monkeypatch.setattr(race_module, "_mostly_broken", lambda known: [])
    monkeypatch.setattr(race_module, "_COST", 2.0)
    nonsense = [where(~word.isin("no such word")).label("date").soft(1000.0)]
    model = Auto(nonsense, budget=1e6).fit(X[:20], Y[:20])
    assert model.results_[-1].outcome.startswith("stopped after 1 of 5 parts: far below ")
    assert model.results_[-1].sequences == 4


def test_fewer_parts_of_many_sequences():
    for size, parts in ((20, 5), (101, 3), (301, 1)):
        race = Race(
            Knowledge([["a"]] * size, [["A"]] * size, ["A"]), parts=5, budget=1.0, most=0, seed=0, show=lambda _: None
        )
        assert len(race.parts) == parts


def test_results_are_shown_as_they_come(quick, caplog):
    with caplog.at_level(logging.INFO, "sidelight"):
        Auto(budget=1e6, verbose=True, n_jobs=1).fit(X[:10], Y[:10])
    lines = [record.getMessage() for record in caplog.records]
    assert [line.split(",")[0] for line in lines] == ["trial: HMM", "trial: CRF"]
    assert " %, " in lines[0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rules": starts_with("author")}, r"rules is a list of rules; write Auto\("),
        ({"rules": [where(pos.isdigit()).label("author")]}, "column 1"),
        ({"features": ["pos"]}, "needs column 1"),
        ({"budget": -1}, "budget must be a finite number of at least 0"),
        ({"folds": 1}, "folds must be a whole number of at least 2"),
        ({"dictionary": {}}, "dictionary must be a TagDictionary or None, got {"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(DataError, match=message):
        Auto(**parameters).fit(X[:10], Y[:10])
    assert Auto([starts_with("Author")], classes=["Author", "author"]).rules
