"""Which labels may follow each other in BIO and BIOES."""

from itertools import product

import numpy as np
import pytest

from sidelight import CCM, HMM, DataError, bio, bioes, check, parse_rule
from sidelight.inference.compiled import CompiledRules
from sidelight.rules.automata import compile_rules, require_labels
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
            require_labels([rule], labels, "sequence", "`classes`")
    require_labels([bioes()], BIOES, "sequence", "`classes`")
    with pytest.raises(DataError, match="the rule 'bio\\(\\)' finds no label that begins a span"):
        CCM(HMM(), [bio()]).fit([["a"]], [["A"]])
