"""Rules around any model."""

import copy
import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sidelight import (
    CCM,
    CRF,
    GOOD,
    HMM,
    DataError,
    Infeasible,
    NotSupported,
    SemiCRF,
    StructuredPerceptron,
    before,
    count,
    load,
    min_length,
    once_each,
    others,
    share,
    starts_with,
    transitions,
    when,
    where,
    word,
)
from sidelight.inference.compiled import learn_penalties
from tests import learner_kit
from tests.learners.samples import labelled

X, Y = labelled()
LOCAL = [
    starts_with("A").soft(0.7).named("first"),
    (transitions("A", "A") <= 0).soft(),
    where(word.isin("x")).never("Y").soft(0.4),
    transitions("Y", "Y", where=word.isdigit()) == 0,
]
BEYOND = [(count("T") >= 1).soft(1.5), once_each("Y"), ((count("A") >= 1) >> (count("T") <= 2)).soft(2)]


def check_composite(learner, X, y, folder):
    """The claims for every learner that hold for one around other learners, with or without rules."""
    shallow = learner.get_params(deep=False)
    assert vars(learner).keys() == shallow.keys()
    assert all(getattr(type(learner)(**shallow), name) is value for name, value in shallow.items())
    assert repr(clone(learner)) == repr(learner)
    assert "base__n_jobs" in learner.get_params()
    learner_kit.check_not_fitted(learner, X, y, folder)
    fitted = learner_kit.check_fit(learner, X, y)
    assert not hasattr(fitted.base, "classes_")
    learner_kit.check_repeatable(learner, fitted, X, y)
    learner_kit.check_model_selection(learner, fitted, X, y)
    predicted = fitted.predict(X)
    assert [len(labels) for labels in predicted] == [len(labels) for labels in y]
    assert fitted.score(X, y) > 0.8
    assert fitted.predict([[], X[0]]) == [[], predicted[0]]
    assert fitted.predict([]) == fitted.predict_kbest([]) == fitted.predict_marginals([]) == []
    assert [rows[0].labels for rows in fitted.predict_kbest(X, 3)] == predicted
    check_contract(fitted, X)
    check_bad_input(learner, X, y)
    check_copies(fitted, X, folder)


def check_contract(fitted, X):
    """What reports rely on."""
    assert all(step.iteration for step in fitted.trace_)
    assert len(fitted.rule_readings()) == len(fitted.rules or ())
    assert len(fitted.rules_used_) >= len(fitted.rules or ())
    assert fitted.models_["base_"] is fitted.base_
    assert {label for _, label, _ in fitted.top_weights(50)} <= set(fitted.classes_)
    assert len(fitted.without_rules().predict(X)) == len(X)
    decoder = getattr(fitted, "decode", "")
    if decoder != "projected":
        assert fitted.explain(X[0], 0).label == fitted.predict(X[:1])[0][0]


def check_bad_input(learner, X, y):
    cases = [
        (X[:-1], y, f"X has {len(X) - 1} sequences but y has {len(y)}"),
        (X, [*y[:2], [*y[2], "A"], *y[3:]], f"sequence 2 has {len(y[2])} tokens but {len(y[2]) + 1} labels"),
        ([*X[:1], [], *X[1:]], [*y[:1], ["A"], *y[1:]], "sequence 1 has 0 tokens but 1 labels"),
        ([], [], "no sequences were given"),
        ("abc", y, "X must be a list of sequences"),
        (None, y, "X must be a list of sequences"),
        (X, None, "y must be a list with one element per sequence"),
        (X, [*y[:1], [7, *y[1][1:]], *y[2:]], "sequence 1, token 0: a label is a string, None or a non-empty set"),
    ]
    for bad_X, bad_y, message in cases:
        with pytest.raises(DataError, match=message):
            clone(learner).fit(bad_X, bad_y)
    with pytest.raises(NotSupported, match=rf"{type(learner).__name__} cannot learn from GOOD / BAD \(sequence 1\)"):
        clone(learner).fit(X, [y[0], GOOD, *y[2:]])


def check_copies(fitted, X, folder):
    """Copies by pickle and by file are the same model, and the file of a copy is the same file."""
    path = folder / "one.model"
    fitted.save(path)
    for copied in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted), load(path), type(fitted).load(path)):
        assert type(copied) is type(fitted)
        assert repr(copied) == repr(fitted)
        assert copied.classes_ == fitted.classes_
        assert copied.predict(X) == fitted.predict(X)
        assert copied.predict_kbest(X[:5], 3) == fitted.predict_kbest(X[:5], 3)
        ours, theirs = fitted.scores(X), copied.scores(X)
        np.testing.assert_array_equal(theirs.unary, ours.unary)
        np.testing.assert_array_equal(theirs.pair, ours.pair)
        copied.save(folder / "two.model")
        assert (folder / "two.model").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "learner",
    [
        CCM(HMM(), [*LOCAL, *BEYOND]),
        CCM(CRF(), LOCAL, reading="hard"),
        CCM(StructuredPerceptron(), [*LOCAL, *BEYOND]),
        CCM(CRF(), [*LOCAL, *BEYOND], method="beam", beam=20),
        CCM(HMM(), []),
        CCM(HMM()),
        CCM(SemiCRF(), [*LOCAL, *BEYOND]),
    ],
    ids=["hmm", "crf", "perceptron", "beam", "no rules", "rules left out", "semicrf"],
)
def test_conventions(learner, tmp_path):
    check_composite(learner, X, Y, tmp_path)


def by_hand(model, x):
    """All labels of one input with their score less penalties, by the model's scores and the violations alone."""
    outputs, values = learner_kit.enumerate_labels(model, model.scores([x]), 0)
    rules = model.decoder_.weighed([x]).compiled
    for n, y in enumerate(outputs):
        degree = rules.violations(np.array(y, np.int32))[0]
        values[n] -= sum(p * d for p, d in zip(model.penalties_, degree, strict=True) if d > 0)
    return outputs, values


SHORT = [x for x in X if len(x) <= 4][:8]


# `transitions` that depend on the place are no sums over the parts of segments.
BASES = {
    "hmm": (HMM(), LOCAL),
    "crf": (CRF(), LOCAL),
    "order 2": (CRF(order=2), LOCAL),
    "semicrf": (SemiCRF(), LOCAL[:3]),
}


@pytest.mark.parametrize("name", BASES)
def test_predictions_under_local_rules_by_enumeration(name):
    base, local = BASES[name]
    model = CCM(base, [*local, where(word.isin("run")).never("A").hard()]).fit(X, Y)
    ranked, chances, log_z = model.predict_kbest(SHORT, 4), model.predict_marginals(SHORT), model.log_partition(SHORT)
    for x, best, chance, z in zip(SHORT, ranked, chances, log_z, strict=True):
        outputs, values = by_hand(model, x)
        order = np.argsort(-values)
        size = min(4, int((values > -np.inf).sum()))
        np.testing.assert_allclose([one.score for one in best], values[order[:size]])
        named = {tuple(model.classes_[c] for c in y): v for y, v in zip(outputs, values, strict=True)}
        np.testing.assert_allclose([named[tuple(one.labels)] for one in best], [one.score for one in best])
        np.testing.assert_allclose(z, logsumexp(values))
        expected = np.zeros_like(chance)
        for y, p in zip(outputs, np.exp(values - logsumexp(values)), strict=True):
            expected[np.arange(len(y)), list(y)] += p
        np.testing.assert_allclose(chance, expected, atol=1e-9)


@pytest.mark.parametrize("base", [HMM(), SemiCRF()], ids=["hmm", "semicrf"])
@pytest.mark.parametrize("method", ["exact", "program"])
def test_predictions_under_any_rules_by_enumeration(base, method):
    model = CCM(base, [*LOCAL, *BEYOND], method=method).fit(X, Y)
    found = model.infer(SHORT, 3)
    assert found.exact.all()
    assert found.searched.any()
    for i, x in enumerate(SHORT):
        _, values = by_hand(model, x)
        top = np.sort(values)[::-1][:3]
        np.testing.assert_allclose(found.scores[i, : len(top)], top, atol=1e-6)


def test_there_are_no_marginals_beyond_local_rules():
    model = CCM(CRF(), [*LOCAL, (count("T") >= 1).soft(1).named("some T")]).fit(X, Y)
    for call in (model.predict_marginals, model.log_partition):
        with pytest.raises(NotSupported, match="no exact marginals under the rule 'some T'; leave it out, or ask"):
            call(X)
    switched_off = CCM(CRF(), [*LOCAL, (count("T") >= 1).soft(0)]).fit(X, Y)
    left_out = CCM(CRF(), LOCAL).fit(X, Y)
    for one, other in zip(switched_off.predict_marginals(X), left_out.predict_marginals(X), strict=True):
        np.testing.assert_allclose(one, other)


def test_what_is_local_depends_on_the_structure():
    rule = (transitions("A", "Y", where=word.isdigit()) == 0).soft(1).named("apart")
    assert len(CCM(CRF(), [rule]).fit(X, Y).predict_marginals(X)) == len(X)
    with pytest.raises(NotSupported, match="no exact marginals under the rule 'apart'"):
        CCM(SemiCRF(), [rule]).fit(X, Y).predict_marginals(X)


@pytest.mark.parametrize("k", [1, 3])
def test_segments_without_segment_features_decode_as_a_chain(k):
    """A SemiCRF without features of segments is a CRF, and stays one under rules."""
    features = ["word", "word[-1]"]
    rules = [rule.soft(1.5) for rule in (*LOCAL, *BEYOND)]
    chain = CRF(features, solver="lbfgs", l2=0.3, tolerance=1e-7).fit(X, Y)
    segments = SemiCRF(
        features, begin_features=[], end_features=[], length=False, max_length=9, l2=0.3, tolerance=1e-7
    ).fit(X, Y)
    one, other = (CCM.around(model, rules).predict_kbest(X, k) for model in (chain, segments))
    for left, right in zip(one, other, strict=True):
        np.testing.assert_allclose([y.score for y in left], [y.score for y in right], atol=0.02)


def test_rules_that_cost_nothing_change_nothing():
    plain = HMM().fit(X, Y)
    model = CCM(HMM(), [rule.soft(0) for rule in (*LOCAL, *BEYOND)]).fit(X, Y)
    assert model.predict(X) == plain.predict(X)
    for one, other in zip(model.predict_kbest(X, 3), plain.predict_kbest(X, 3), strict=True):
        assert [o.labels for o in one] == [o.labels for o in other]
        np.testing.assert_allclose([o.score for o in one], [o.score for o in other])
    for one, other in zip(model.predict_marginals(X), plain.predict_marginals(X), strict=True):
        np.testing.assert_allclose(one, other)


def test_reading_is_for_rules_without_their_own():
    rules = [count("A") >= 1, (count("A") >= 1).hard(), (count("A") >= 1).soft(), (count("A") >= 1).soft(3)]
    missing = sum("A" not in y for y in Y)
    learned = learn_penalties(np.array([float(missing)]), sum(map(len, Y)))[0]
    assert learned > 0
    soft, hard = CCM(HMM(), rules, counting="tokens"), CCM(HMM(), rules, reading="hard", counting="tokens")
    np.testing.assert_allclose(soft.fit(X, Y).penalties_, [learned, np.inf, learned, 3])
    np.testing.assert_allclose(hard.fit(X, Y).penalties_, [np.inf, np.inf, learned, 3])
    with pytest.raises(DataError, match="reading must be 'hard' or 'soft', got 'firm'"):
        CCM(HMM(), rules, reading="firm").fit(X, Y)


def test_hard_rules_hold_and_soft_ones_help():
    rules = [count("A") <= 1, starts_with("A", "T")]
    model = CCM(HMM(), rules, reading="hard").fit(X, Y)
    for labels in model.predict(X):
        assert labels.count("A") <= 1
        assert labels[0] in {"A", "T"}
    assert any(labels.count("A") > 1 or labels[0] == "Y" for labels in HMM().fit(X, Y).predict(X))


def test_penalties_by_places():
    """Places are tokens where a condition holds, pairs, first tokens or sequences; rules are trusted before."""
    digit, first = where(word.isdigit()).label("Y"), starts_with("A", "T")
    rules = [digit, first, count("Y") >= 1, where(word.isin("never")).label("A"), where(word.isdigit()).never("Y")]
    digits = [c for x, y in zip(X, Y, strict=True) for w, c in zip(x, y, strict=True) if w.isdigit()]
    broken = [sum(c != "Y" for c in digits), sum(y[0] == "Y" for y in Y), sum("Y" not in y for y in Y), 0]
    places = [len(digits), len(Y), len(Y), 0]
    expected = [
        1.5 * max(np.log((n - b + 30 * (1 - b / max(n, 1)) ** 2) / (b + 0.1)), 0)
        for n, b in zip(places, broken, strict=True)
    ]
    found = CCM(HMM(), rules).fit(X, Y).penalties_
    np.testing.assert_allclose(found[:4], expected)
    assert found[4] == 0  # what labelled data breaks nearly everywhere
    with pytest.raises(DataError, match="counting must be 'places' or 'tokens', got 'words'"):
        CCM(HMM(), rules, counting="words").fit(X, Y)


def test_penalties_count_only_full_labels():
    partial = [[{"A", "T"}, *labels[1:]] if i % 3 == 0 and len(labels) > 1 else labels for i, labels in enumerate(Y)]
    model = CCM(CRF(), [transitions("A", "A") <= 0], counting="tokens").fit(X, partial)
    full = [labels for labels in partial if all(isinstance(c, str) for c in labels)]
    violations = sum(a == b == "A" for labels in full for a, b in pairwise(labels))
    np.testing.assert_allclose(model.penalties_, learn_penalties(np.array([violations]), sum(map(len, full))))


def test_around_a_trained_model_trains_nothing():
    base = CRF().fit(X, Y)
    before = base.scores(X).unary.copy()
    model = CCM.around(base, [starts_with("T").hard(), (count("Y") >= 1).soft(2)])
    assert model.base_ is base
    np.testing.assert_array_equal(model.scores(X).unary, before)
    assert all(labels[0] == "T" for labels in model.predict(X))
    assert base.predict(X) == CRF().fit(X, Y).predict(X)
    assert CCM.around(base, []).predict(X) == base.predict(X)
    with pytest.raises(NotSupported, match=r"the penalty of .* is to be learned, which needs labelled sequences"):
        CCM.around(base, [starts_with("T")])
    assert CCM.around(base, [starts_with("T")], reading="hard").penalties_ == [np.inf]
    with pytest.raises(NotFittedError):
        CCM.around(CRF(), [])


def test_around_survives_a_file(tmp_path):
    rules = [starts_with("T").hard(), transitions(["A", "T"], others("Y")) <= 0]
    model = CCM.around(HMM().fit(X, Y), rules, reading="hard")
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.predict(X) == model.predict(X)
    assert list(map(repr, again.rules)) == list(map(repr, model.rules))
    np.testing.assert_array_equal(again.penalties_, [np.inf, np.inf])


@pytest.mark.parametrize(
    "rule",
    [
        where(when(lambda x, t: t == 1)).label("A"),
        (count("A", where=word.map(str.isupper)) >= 1) | (count("T") >= 1),
        (count("A", where=~when(len)) >= 1).hard().named("mine"),
    ],
    ids=["when", "map", "named"],
)
def test_python_functions_cannot_be_saved(rule, tmp_path):
    model = CCM.around(HMM().fit(X, Y), [rule.soft(1)])
    with pytest.raises(DataError, match=r"the rule .* cannot be written to a file: it holds a Python function"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_labels_of_rules_are_labels_of_the_model():
    for base in (HMM(), HMM(classes=["A", "T", "Y", "Z"])):
        model = CCM(base, [(count("Z") >= 1).hard()]).fit(X, Y)
        assert model.classes_ == ["A", "T", "Y", "Z"]
        assert all("Z" in labels for labels in model.predict(X))
    with pytest.raises(DataError, match="names the label 'Z'; known are A, T, Y"):
        CCM.around(HMM().fit(X, Y), [(count("Z") >= 1).hard()]).predict(X)


def test_what_cannot_be_a_rule_or_a_base():
    with pytest.raises(NotSupported, match="is about the corpus"):
        CCM(HMM(), [share("A") <= 0.5]).fit(X, Y)
    with pytest.raises(NotSupported, match="is read as a statement about expectations"):
        CCM(HMM(), [(count("A") >= 1).expected()]).fit(X, Y)
    with pytest.raises(DataError, match=r"expected a rule, got 'once'; parse_rule\(...\) reads one"):
        CCM(HMM(), ["once"]).fit(X, Y)
    for whole in (count("A") <= 1, min_length(2), before("A", "T"), (count("A") >= 1) | (count("T") >= 1)):
        with pytest.raises(NotSupported, match="is about whole outputs, which chains of order 2 cannot keep to"):
            CCM(CRF(order=2), [whole.hard()]).fit(X, Y)
        with pytest.raises(NotSupported, match="is about whole outputs"):
            CCM.around(CRF(order=2, max_iterations=1).fit(X, Y), [whole.hard()])
    for wrong in (count("A") <= 1, "rules.toml"):
        with pytest.raises(
            DataError, match=r"rules is a list of rules; write CCM\(base, \[rule\]\), or read_rules\(path\)"
        ):
            CCM(HMM(), wrong).fit(X, Y)
    for options in ({"method": "guess"}, {"beam": 0}, {"beam": "9"}, {"reading": "firm"}, {"time_limit": 0}):
        with pytest.raises(DataError, match=next(iter(options))):
            CCM(HMM(), [(count("A") <= 1).hard()], **options).fit(X, Y)
    with pytest.raises(Infeasible, match="sequence 0 has no output that satisfies \"count\\('A'\\) >= 99\""):
        CCM(HMM(), [(count("A") >= 99).hard()]).fit(X, Y).predict(X)
    with pytest.raises(NotSupported, match="CCM reads the tokens themselves; give X as it is"):
        CCM(HMM()).fit(X, Y).encode(X)


def test_rules_are_among_the_reasons():
    """Evidence adds up to the difference of scores less penalties where one label is changed."""
    model = CCM(CRF(), [*LOCAL, *BEYOND]).fit(X, Y)
    for x in SHORT[:4]:
        outputs, values = by_hand(model, x)
        score = {tuple(model.classes_[c] for c in y): v for y, v in zip(outputs, values, strict=True)}
        best = model.predict([x])[0]
        for t in range(len(x)):
            found = model.explain(x, t, top=1000)
            assert found.label == best[t]
            other = [*best[:t], found.rival, *best[t + 1 :]]
            expected = score[tuple(best)] - score[tuple(other)]
            np.testing.assert_allclose(sum(e.difference for e in found.evidence), expected, rtol=1e-4, atol=1e-5)
    hard = CCM(HMM(), [where(word.isdigit()).label("Y").hard()]).fit(X, Y)
    x, t = next((x, t) for x in X for t, token in enumerate(x) if token.isdigit())
    first = hard.explain(x, t).evidence[0]
    assert first.feature.startswith("rule: ")
    assert first.difference == np.inf


def test_labels_the_base_was_told_of_are_kept():
    model = CCM(HMM(classes=["A", "B", "C"]), [starts_with("A")]).fit([["x", "y"]], [["A", "B"]])
    assert model.classes_ == ["A", "B", "C"]


def test_completion_keeps_to_the_rules_and_to_what_is_known():
    model = CCM(HMM(), [starts_with("A").hard()]).fit(X, Y)
    partial = [[None] * (len(y) - 1) + [{"Y", "T"}] for y in Y]
    longer = [i for i, y in enumerate(Y) if len(y) > 1]
    for labels in model.complete([X[i] for i in longer], [partial[i] for i in longer]):
        assert labels[0] == "A"
        assert labels[-1] in ("Y", "T")
    assert model.complete([], []) == []


def test_outputs_that_are_not_proved_are_told():
    rules = [count("A") == 2, count("T") == 1]
    data = [x for x in X if len(x) > 4]
    narrow = CCM(HMM(), [(rule).soft(3.0) for rule in rules], method="beam", beam=30).fit(X, Y)
    assert not narrow.infer(data).exact.all()
    with pytest.warns(UserWarning, match=r"\d+ of \d+ outputs are not proved to be the best"):
        narrow.predict(data)
    sure = CCM(HMM(), [(rule).soft(3.0) for rule in rules]).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sure.predict(data)
