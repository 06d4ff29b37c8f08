import numpy as np
import pytest

from sidelight import pos, word
from sidelight.errors import DataError
from sidelight.features.symbols import SymbolEncoder

X = [["the", "Cat", "sat"], ["the", "Dog", "The"]]


def described(encoder, data):
    return [encoder.describe(a) for a in encoder.transform(data).indices.tolist()]


def test_known_words_then_classes_then_one_for_the_rest():
    encoder = SymbolEncoder("word.lower()", "word.shape()")
    encoded = encoder.fit_transform(X)
    assert encoded.indices.tolist() == [0, 1, 2, 0, 3, 0]
    assert encoded.indptr.tolist() == list(range(7))
    assert encoded.attributes == encoder.symbols == 4 + 2 + 1  # the, cat, sat, dog; xxx, Xxx; anything else
    assert described(encoder, [["THE", "Cow", "yak", "1"]]) == [
        "word.lower()=the",
        "unknown word, word.shape()=Xxx",
        "unknown word, word.shape()=xxx",
        "unknown word",
    ]


def test_class_counts_come_from_the_words_seen_once():
    encoder = SymbolEncoder(word.lower(), word.shape())
    encoder.fit_transform(X)
    assert encoder.counts == [3, 1, 1, 1]
    counts = np.array([[3.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])  # the, cat, sat, dog
    classes = dict(zip(encoder.classes, encoder.class_counts(counts), strict=True))
    np.testing.assert_array_equal(classes["xxx"], [1, 0])
    np.testing.assert_array_equal(classes["Xxx"], [0.5, 1.5])


def test_without_classes_all_unknown_words_are_alike():
    encoder = SymbolEncoder("word", None)
    encoder.fit_transform(X)
    assert described(encoder, [["zebra", "1"]]) == ["unknown word"] * 2
    assert len(set(encoder.transform([["zebra", "1"]]).indices)) == 1


def test_extending_is_fitting_on_both():
    whole = SymbolEncoder("word", "word.shape()")
    whole.fit_transform(X)
    parts = SymbolEncoder("word", "word.shape()")
    parts.extend(X[:1])
    parts.extend(X[1:])
    assert (parts.words, parts.counts, parts.class_of_word, parts.classes) == (
        whole.words,
        whole.counts,
        whole.class_of_word,
        whole.classes,
    )
    whole.fit_transform(X[:1])
    assert len(whole.words) == 3


def test_another_column_may_be_emitted():
    encoder = SymbolEncoder(pos, word.isdigit())
    data = [[("a", "N"), ("1", "V"), ("b", "N")]]
    assert encoder.fit_transform(data).indices.tolist() == [0, 1, 0]
    assert described(encoder, [[("7", "Q"), ("q", "Q")]]) == [
        "unknown word, word.isdigit()=yes",
        "unknown word, word.isdigit()=",
    ]
    with pytest.raises(DataError, match="pos needs column 1, but tokens have 1"):
        encoder.transform(X)


def test_state_gives_an_equal_encoder():
    for unknown in ("word.shape()", None):
        encoder = SymbolEncoder("word", unknown)
        encoder.fit_transform(X)
        again = SymbolEncoder.from_state(*encoder.state())
        data = [["the", "Cow", "!"]]
        np.testing.assert_array_equal(encoder.transform(data).indices, again.transform(data).indices)
        assert described(encoder, data) == described(again, data)
        encoder.extend(data)
        again.extend(data)
        assert encoder.state()[0] == again.state()[0]


def test_bad_expressions():
    for bad in ("word & pos", "word[-1]", "bias"):
        with pytest.raises(DataError, match="emission must be one column of the token itself"):
            SymbolEncoder(bad, None)
        with pytest.raises(DataError, match="unknown must be one column of the token itself"):
            SymbolEncoder("word", bad)
    for encoder in (SymbolEncoder(word.map(len), None), SymbolEncoder("word", word.map(len))):
        encoder.fit_transform(X)
        with pytest.raises(DataError, match="holds a Python function and cannot be saved"):
            encoder.state()


def test_bad_sequences():
    with pytest.raises(DataError, match="sequence 1 is empty"):
        SymbolEncoder("word", None).fit_transform([["a"], []])
    with pytest.raises(DataError, match="sequence 0, token 1: expected a string"):
        SymbolEncoder("word", None).fit_transform([["a", 1]])
