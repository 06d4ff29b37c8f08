import numpy as np
import pytest

from sidelight import BAD, CRF, GOOD, HMM, StructuredPerceptron
from sidelight.errors import DataError, NotSupported
from sidelight.labels import check_lengths, encode_labels, label_set
from sidelight.supervision import Signal, kind_of, require


@pytest.mark.parametrize(
    ("known", "kind"),
    [
        (["A", "B"], Signal.FULL),
        (("A", "B"), Signal.FULL),
        (np.array(["A", "B"]), Signal.FULL),
        (["A", None], Signal.PARTIAL),
        ([{"A", "B"}, "A"], Signal.PARTIAL),
        ([{"A"}, {"B"}], Signal.PARTIAL),
        ([None, None], Signal.NOTHING),
        (None, Signal.NOTHING),
        (GOOD, Signal.COMPANION),
        (BAD, Signal.COMPANION),
    ],
)
def test_kinds(known, kind):
    assert kind_of(known) is kind


def test_full_labels_are_numbers():
    targets = encode_labels([["B", "A"], ["C"]], [2, 1], ["A", "B", "C"])
    assert targets.full
    assert targets.allowed is None
    assert targets.labels.dtype == np.int32
    assert targets.labels.tolist() == [1, 0, 2]


def test_partial_labels_are_sets():
    y = [["A", None, {"C", "B"}], None, [frozenset({"B"})], GOOD]
    targets = encode_labels(y, [3, 2, 1, 1], ["A", "B", "C"])
    assert not targets.full
    assert targets.kinds == (Signal.PARTIAL, Signal.NOTHING, Signal.PARTIAL, Signal.COMPANION)
    rows = ["100", "111", "011", "111", "111", "010", "111"]
    np.testing.assert_array_equal(targets.allowed, [[c == "1" for c in row] for row in rows])
    assert targets.labels.tolist() == [0, -1, -1, -1, -1, 1, -1]


def test_one_label_leaves_no_choice():
    targets = encode_labels([[None, None], ["A"]], [2, 1], ["A"])
    assert targets.labels.tolist() == [0, 0, 0]


def test_label_set():
    assert label_set([["B", "A"], None, [None, {"D", "C"}], GOOD, ["A"]]) == ["A", "B", "C", "D"]
    assert label_set([None, BAD]) == []


@pytest.mark.parametrize("bad", [3, 1.0, ["A"], set(), {"A", 1}, {1}, {"A": 1}, b"A"])
def test_a_label_is_a_string_none_or_a_set(bad):
    with pytest.raises(DataError, match="sequence 1, token 2: a label is a string, None or a non-empty set of strings"):
        label_set([["A"], ["A", "B", bad]])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["A"]], "X has 2 sequences but y has 1"),
        ([["A"], ["A"]], "sequence 1 has 2 tokens but 1 labels"),
        ([["A"], ["A", "B", "C"]], "sequence 1 has 2 tokens but 3 labels"),
        ([["A"], "AB"], "y of sequence 1 must be a list of labels, None, GOOD or BAD, got 'AB'"),
        ([["A"], 3], "y of sequence 1 must be a list of labels"),
        ("AB", "y must be a list with one element per sequence, got str"),
        (None, "y must be a list with one element per sequence, got NoneType"),
        (7, "y must be a list"),
    ],
)
def test_lengths(y, message):
    with pytest.raises(DataError, match=message):
        check_lengths([1, 2], y)


def test_lengths_that_fit():
    check_lengths([1, 2], [None, ["A", None]])
    check_lengths([1, 2], [GOOD, BAD])
    check_lengths([1, 2], (("A",), np.array(["A", "B"])))


def test_unknown_labels_are_named_with_their_place():
    with pytest.raises(DataError, match="sequence 1, token 0: label 'Q' was never seen in training; known are A, B"):
        encode_labels([["A"], ["Q", "B"]], [1, 2], ["A", "B"])
    with pytest.raises(DataError, match="sequence 1, token 1: label 'Q' was never seen"):
        encode_labels([None, ["A", {"A", "Q"}]], [1, 2], ["A", "B"])


@pytest.mark.parametrize("learner", [HMM(), StructuredPerceptron()])
def test_require_names_a_learner_that_can(learner):
    require(learner, [Signal.FULL])
    with pytest.raises(NotSupported) as caught:
        require(learner, [Signal.FULL, Signal.PARTIAL])
    message = str(caught.value)
    assert message.startswith(f"{type(learner).__name__} cannot learn from partial labels (sequence 1); use ")
    assert "CRF" in message
    assert Signal.PARTIAL in CRF.signals


def test_companions_print_as_they_are_written():
    assert [repr(GOOD), repr(BAD)] == ["GOOD", "BAD"]
