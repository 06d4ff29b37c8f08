from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight.errors import DataError
from sidelight.features.dicts import DictEncoder

values = st.one_of(st.sampled_from(["u", "v", ""]), st.booleans(), st.none(), st.integers(-2, 2), st.floats(-3, 3))
tokens = st.dictionaries(st.sampled_from(["a", "b", "c", "a=u"]), values, max_size=3)
sequences = st.lists(st.lists(tokens, min_size=1, max_size=4), min_size=1, max_size=4)


def said(token):
    """The definition: attribute and value of everything in a token."""
    for name, value in token.items():
        if isinstance(value, str):
            yield f"{name}={value}", 1.0
        elif value is not None and value is not False:
            yield name, float(value)


def rows(encoder, encoded):
    names = [encoder.describe(a) for a in encoded.indices.tolist()]
    numbers = encoded.values.tolist() or [1.0] * len(names)
    found = list(zip(names, numbers, strict=True))
    return [found[a:b] for a, b in pairwise(encoded.indptr)]


@settings(max_examples=50, deadline=None)
@given(sequences, sequences, st.integers(1, 3))
def test_against_the_oracle(X, X_new, min_count):
    encoder = DictEncoder(min_count)
    encoded = encoder.fit_transform(X)
    everything = [name for x in X for token in x for name, _ in said(token)]
    kept = {name for name in everything if everything.count(name) >= min_count}
    assert encoded.attributes == len(kept)
    np.testing.assert_array_equal(encoded.offsets, np.cumsum([0, *map(len, X)]))
    again = DictEncoder.from_state(*encoder.state())
    for data in (X, X_new):
        truth = [[(n, v) for n, v in said(token) if n in kept] for x in data for token in x]
        assert rows(encoder, encoder.transform(data)) == truth
        assert rows(again, again.transform(data)) == truth


def test_batches_and_what_is_remembered_change_nothing(monkeypatch):
    X = [[{"a": k % 3 == 0, "b": "xyz"[k % 3], "n": k % 2}, {"a": 0, "n": False}] for k in range(7)]
    whole = DictEncoder()
    expected = rows(whole, whole.fit_transform(X))
    monkeypatch.setattr("sidelight.features.dicts._BATCH", 3)
    monkeypatch.setattr("sidelight.features.dicts._REMEMBERED", 2)
    encoder = DictEncoder()
    assert rows(encoder, encoder.fit_transform(X)) == rows(encoder, encoder.transform(X)) == expected


def test_names_that_are_no_strings_are_written_out():
    encoder = DictEncoder()
    encoder.fit_transform([[{1: "x"}, {True: "x"}, {"1": "x"}]])
    assert [encoder.describe(a) for a in range(2)] == ["1=x", "True=x"]


@pytest.mark.parametrize("name", ["a", "a\0"])
def test_values_may_hold_any_characters(name):
    encoder = DictEncoder()
    X = [[{name: value} for value in ("x", "x\0y", "\0", "", "é", "\ud800")]]
    encoder.fit_transform(X)
    assert encoder.transform(X).indices.tolist() == list(range(6))
    assert encoder.transform([[{name: "y"}, {name: "x\0"}, {name: "x"}]]).indices.tolist() == [0]


def test_all_ones_need_no_values():
    encoded = DictEncoder().fit_transform([[{"a": True, "b": "x", "c": 1.0}], [{"a": np.True_, "b": np.False_}]])
    assert len(encoded.values) == 0
    assert len(encoded.indices) == 4
    assert len(DictEncoder().fit_transform([[{"a": 2}]]).values) == 1


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -np.inf, np.float32("nan"), [1], {"x": 1}, 1j, b"x"])
def test_bad_values_name_sequence_token_and_feature(bad):
    X = [[{"fine": 1.0}], [{"fine": 1.0}, {"length": bad}]]
    for encode in (DictEncoder().fit_transform, fitted().transform):
        with pytest.raises(DataError, match="sequence 1, token 1: feature 'length' is"):
            encode(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[{"a": 1}], []], "sequence 1 is empty"),
        ([[{"a": 1}, "word"]], "sequence 0, token 1: expected a feature dict as in the training data, got 'word'"),
        ([[{"a": 1}], [None]], "sequence 1, token 0: expected a feature dict"),
    ],
)
def test_bad_sequences(X, message):
    for encode in (DictEncoder().fit_transform, fitted().transform):
        with pytest.raises(DataError, match=message):
            encode(X)


def fitted():
    encoder = DictEncoder()
    encoder.fit_transform([[{"fine": 1.0}]])
    return encoder


@pytest.mark.parametrize("value", [10**400, -(10**400), 1e300])
def test_values_whose_squares_are_no_numbers_are_refused(value):
    with pytest.raises(DataError, match=r"sequence 0, token 0: feature 'f' has a value beyond 1e\+100; scale"):
        DictEncoder(1).fit_transform([[{"f": value}]])
