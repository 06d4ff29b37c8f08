"""Spans of characters as labels of tokens, and back."""

import pytest

from sidelight import CharSpan, DataError, char_spans, read_spans, token_offsets

TEXTS = ["Ann Lee went  to New York, today.", "", "nobody"]
SPANS = [[(0, 7, "PER"), {"start": 17, "end": 25, "label": "LOC"}], [], None]


def test_spans_become_labels_and_come_back():
    X, y = read_spans(TEXTS, SPANS)
    assert X[0] == ["Ann", "Lee", "went", "to", "New", "York", ",", "today", "."]
    assert y == [["B-PER", "I-PER", "O", "O", "B-LOC", "I-LOC", "O", "O", "O"], [], None]
    found = char_spans(TEXTS[:2], y[:2])
    assert found == [[CharSpan(0, 7, "PER", "Ann Lee"), CharSpan(17, 25, "LOC", "New York")], []]
    assert found == char_spans(TEXTS[:2], y[:2], tokens=X[:2])
    assert read_spans(TEXTS, [found[0], [], None]) == (X, y)


def test_schemes():
    assert read_spans(["a b"], [[(0, 3, "x")]], scheme="bioes")[1] == [["B-x", "E-x"]]
    assert read_spans(["a b"], [[(2, 3, "x")]], scheme="bioes")[1] == [["O", "S-x"]]
    labels = read_spans(["a b"], [[(0, 3, "x")]], scheme="runs")[1]
    assert labels == [["x", "x"]]
    assert char_spans(["a b"], labels) == [[(0, 3, "x", "a b")]]
    assert char_spans(["a b", "c"], [["S", "S"], ["O"]]) == [[(0, 3, "S", "a b")], []]


def test_other_tokenizers_and_no_spans():
    X, y = read_spans(["a-b c"], tokenizer=str.split)
    assert (X, y) == ([["a-b", "c"]], [None])
    assert char_spans(["a-b c"], [["A", "O"]], tokenizer=str.split) == [[(0, 3, "A", "a-b")]]
    assert token_offsets("é é", ["é", "é"]) == [(0, 1), (2, 3)]


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([(0, 2, "x")], "text 0: the span from 0 to 2, 'ab', does not begin and end where tokens do; .* tokens 'abc'"),
        ([(0, 40, "x")], "the span from 0 to 40"),
        ([(4, 4, "x")], "the span from 4 to 4"),
        ([(0, 3, "x"), (0, 7, "y")], "two spans have token 0, one of them y, and a token has one label"),
        ([(0, 3)], r"a span is \(start, end, label\)"),
        ([("0", 3, "x")], r"a span is \(start, end, label\)"),
        ([3], r"a span is \(start, end, label\), or a dict with these keys, got 3"),
    ],
)
def test_bad_spans(spans, message):
    with pytest.raises(DataError, match=message):
        read_spans(["abc def"], [spans])


def test_bad_texts_and_labels():
    with pytest.raises(DataError, match="there are 2 texts but spans of 1"):
        read_spans(["a", "b"], [None])
    with pytest.raises(DataError, match="text 1: expected a string, got 3"):
        read_spans(["a", 3])
    with pytest.raises(DataError, match="text 0: expected a string or a Doc, got 3"):
        char_spans([3], [[]])
    with pytest.raises(DataError, match="text 0: token 1, 'x', does not follow at character 1 of the text: ' b'"):
        char_spans(["a b"], [["O", "O"]], tokens=[["a", "x"]])
    with pytest.raises(DataError, match="text 0: the text goes on behind its last token: ' b'"):
        char_spans(["a b"], [["O"]], tokens=[["a"]])
    with pytest.raises(DataError, match="text 0 has 2 tokens but 1 labels"):
        char_spans(["a b"], [["O"]])
    with pytest.raises(DataError, match="there are 1 texts but labels of 2"):
        char_spans(["a b"], [["O"], ["O"]])
    with pytest.raises(DataError, match="sequence 0: expected labels, that is strings, got None"):
        char_spans(["a"], [[None]])
    with pytest.raises(DataError, match="expected the scheme 'bio', 'bioes' or 'runs', got 'iob'"):
        read_spans(["a"], [[(0, 1, "x")]], scheme="iob")
