"""Which labels may follow each other in BIO and BIOES."""

from itertools import product

import numpy as np
import pytest

from sidelight import (
    CCM,
    HMM,
    CoDL,
    Combined,
    DataError,
    DeterministicAnnealing,
    NotSupported,
    PosteriorRegularization,
    UnifiedEM,
    before,
    bio,
    bioes,
    check,
    count,
    each,
    ends_with,
    min_length,
    once_each,
    others,
    parse_rule,
    runs,
    share,
    starts_with,
    transitions,
    where,
    word,
)
from sidelight.inference.compiled import CompiledRules
from sidelight.inference.rows import Rows
from sidelight.rules.automata import compile_rules, labels_named, require_suited
from sidelight.rules.files import saved_text

BIO = ["B-x", "B-y", "I-x", "I-y", "O"]
BIOES = ["B-x", "E-x", "I-x", "I-y", "E-y", "B-y", "O", "S-x"]


def bio_wrong(labels):
    """The steps that BIO forbids."""
    before = ["O", *labels[:-1]]
    return sum(b[0] == "I" and (a[0] not in "BI" or a[1:] != b[1:]) for a, b in zip(before, labels, strict=True))


def bioes_wrong(labels):
    """The steps, and the ends, that BIOES forbids."""
    before, wrong = ["O", *labels], 0
    for a, b in zip(before, [*labels, "O"], strict=True):
        goes_on = b[0] in "IE"
        wrong += (a[0] in "BI" or goes_on) and not (a[0] in "BI" and goes_on and a[1:] == b[1:])
    return wrong


@pytest.mark.parametrize(("rule", "names", "wrong"), [(bio(), BIO, bio_wrong), (bioes(), BIOES, bioes_wrong)])
def test_every_forbidden_step_is_one_violation(rule, names, wrong):
    outputs = list(product(range(len(names)), repeat=3))
    compiled = CompiledRules.compile([rule], [["a", "b", "c"]] * len(outputs), names)
    found = compiled.violations(np.array(outputs, np.int32).ravel())[:, 0]
    assert found.tolist() == [wrong([names[k] for k in labels]) for labels in outputs]
    assert [automaton.local for automaton in compile_rules([rule], [["a"]], names)] == [True]  # it folds


def test_bilou_is_bioes():
    right, wrong = ["B-x", "L-x", "U-x"], ["B-x", "U-x", "L-x"]
    assert check([bioes()], [["a"] * 3] * 2, [right, wrong])[0].examples == ((1, 2.0),)


def test_types_may_be_missing_or_bare():
    assert check([bio()], [["a"] * 4], [["B", "I", "O", "I"]])[0].violations == 1
    assert check([bio()], [["a"] * 2], [["O", "O"]])[0].violations == 0


def test_they_are_hard_and_written_as_text():
    for rule in (bio(), bioes().named("scheme"), bio().soft(2.0)):
        again = parse_rule(saved_text(rule))
        assert (repr(again), again.reading) == (repr(rule), rule.reading)
    assert bio().reading.kind == "hard"
    assert bio().expected().reading.kind == "expected"


def test_predictions_keep_to_it():
    X = [["a", "b", "c"], ["b", "a", "c"], ["a", "c"], ["c", "b"]]
    y = [["B-x", "I-x", "O"], ["O", "B-x", "O"], ["B-x", "O"], ["O", "O"]]
    found = CCM(HMM(), [bio()]).fit(X, y).predict([["b"], ["b", "b", "b"], ["c", "b", "b"]])
    assert [bio_wrong(labels) for labels in found] == [0, 0, 0]


def test_labels_that_do_not_suit_are_refused():
    for rule, labels, message in [
        (bio(), ["A", "O"], "finds no label that begins a span, such as B-NP, among A, O"),
        (bio(), ["B-x", "I-x", "I-y"], "would never allow the label 'I-y'"),
        (bio(), ["B-x", "I-x", "S-x"], "write bioes()"),
    ]:
        with pytest.raises(DataError, match=message.replace("(", r"\(").replace(")", r"\)")):
            require_suited([rule], labels)
    require_suited([bioes()], BIOES)
    require_suited([bio()], ["O"])  # as a fold without spans has
    with pytest.raises(DataError, match="the rule 'bio\\(\\)' finds no label that begins a span"):
        CCM(HMM(), [bio()]).fit([["a"]], [["A"]])


# Types of spans ------------------------------------------------------------------------------------------------------

NAMED = [
    lambda x: where(word.isin("a")).label(x),
    lambda x: where(word.isin("a")).never(x),
    lambda x: count(x) >= 2,
    lambda x: starts_with(x),
    lambda x: ends_with(x, "O"),
    lambda x: transitions(after=x, to=others(x)) == 0,
    lambda x: before(x, "B-y"),
    lambda x: (count(x) >= 1) >> (count("O") >= 2),
]


@pytest.mark.parametrize("make", NAMED)
def test_the_name_of_a_type_means_its_labels(make):
    outputs = list(product(range(len(BIO)), repeat=3))
    X, codes = [["a", "b", "a"]] * len(outputs), np.array(outputs, np.int32).ravel()
    named, listed = (CompiledRules.compile([make(x)], X, BIO).violations(codes) for x in ("x", ["B-x", "I-x"]))
    np.testing.assert_array_equal(named, listed)
    assert 0 < named.sum() < len(outputs) * 3


def test_the_name_of_a_type_in_statements_and_for_each():
    X = [["a", "b", "a"]]
    named, listed = (
        Rows.compile([share(x) <= 0.2, count(x) >= 1], X, BIOES) for x in ("x", ["B-x", "E-x", "I-x", "S-x"])
    )
    codes = np.array([0, 1, 6], np.int32)
    np.testing.assert_array_equal(named.count(codes), listed.count(codes))
    single = check([count(each("x", "y")) == 2], X, [["B-x", "I-x", "B-y"]])[0]
    assert single.violations == 1


def test_a_label_that_is_called_so_wins():
    X, y = [["a", "b"]], [["x", "B-x"]]
    assert check([count("x") == 1, count("B-x") == 1], X, y)[0].violations == 0
    assert labels_named([count("x") == 1], ["x", "B-x"]) == {"x"}
    assert labels_named([count("x") == 1], ["B-x", "O"]) == set()
    assert labels_named([count("z") == 1], ["B-x", "O"]) == {"z"}


@pytest.mark.parametrize("rule", [runs("x") <= 1, once_each("x"), min_length(2, "x")], ids=repr)
def test_runs_are_those_of_one_label(rule):
    message = r"is about runs of one label, and 'x' means B-x and I-x; .* is count\('B-x'\)$"
    with pytest.raises(DataError, match=message):
        compile_rules([rule], [["a", "b"]], BIO)
    with pytest.raises(DataError, match=message):
        Rows.compile([(runs("x") <= 1).expected()], [["a", "b"]], BIO)


@pytest.mark.parametrize("cls", [CCM, CoDL, PosteriorRegularization, Combined])
def test_learners_take_the_name_of_a_type(cls):
    X = [["a", "b", "c"], ["b", "a", "c"], ["a", "c"], ["c", "b"], ["c", "a"]]
    y = [["B-x", "I-x", "O"], ["I-x", "O", "O"], ["B-x", "O"], ["O", "I-x"], ["O", "O"]]
    known = y if cls is CCM else [*y[:4], None]
    rules = [where(word.isin("a")).label("x")]
    fitted = cls(HMM(), rules, guard=False).fit(X, known)
    assert fitted.classes_ == ["B-x", "I-x", "O"]
    assert fitted.predict([["a"]])[0][0] != "O"


@pytest.mark.parametrize("cls", [PosteriorRegularization, DeterministicAnnealing, UnifiedEM])
@pytest.mark.parametrize("rule", [bio(), bioes()], ids=repr)
def test_learners_of_expectations_say_that_a_scheme_is_hard(cls, rule):
    X, text = [["a", "b"], ["b", "a"], ["a"]], rule.body()
    y = [["B-x", "I-x" if text == "bio()" else "E-x"], ["O", "O"], None]
    with pytest.raises(NotSupported) as error:
        cls(HMM(), [rule], guard=False).fit(X, y)
    assert str(error.value) == (
        f"{text!r} is a hard rule unless it is given another reading, and only statements about expectations can be "
        f"used here; write {text}.expected(), or use CCM, CoDL or Combined, which keep hard rules"
    )
    cls(HMM(), [parse_rule(f"{text}.expected()")], guard=False).fit(X, y)
