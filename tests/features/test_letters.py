"""Features of letters: the encoder against feature dicts."""

import numpy as np
import pytest

from sidelight import CRF, Aligning, DataError
from sidelight.features.parts import PartsEncoder
from tests.parts_data import spellings

PAIRS = [*spellings(15)[0], ("a", "xyz"), ("bcd", "q"), (["sh", "a"], [("x", "tag"), ("y", "tag")])]


def rows(encoded, describe):
    """The attributes of every part with their values."""
    return [
        {describe(encoded.indices[k]): encoded.values[k] for k in range(first, last)}
        for first, last in zip(encoded.indptr[:-1], encoded.indptr[1:], strict=True)
    ]


@pytest.mark.parametrize("longest", [1, 2, 3])
@pytest.mark.parametrize("min_count", [1, 3])
def test_the_encoder_says_what_the_dicts_say(longest, min_count):
    task = Aligning(longest=longest, features="letters")
    encoder, plain = task._encoder(min_count), PartsEncoder(task.describe)
    plain.dicts.min_count = min_count
    assert rows(encoder.fit_transform(PAIRS), encoder.describe) == rows(plain.fit_transform(PAIRS), plain.describe)
    new = [*spellings(5, seed=3)[0], ("qz", "α"), ("ab", "ββ")]
    encoded = encoder.transform(new)
    assert rows(encoded, encoder.describe) == rows(plain.transform(new), plain.describe)
    again = task.restore_encoder(*encoder.state()).transform(new)
    np.testing.assert_array_equal(again.indices, encoded.indices)
    np.testing.assert_array_equal(again.shapes, encoded.shapes)


def test_table_5_1():
    _, parts = Aligning(features="letters").describe(("ab", "xy"))
    assert parts[1] == {
        "link": True, "distance": 0.5, "pair": "a – y", "pair, source next": "a (b) – y",
        "pair, target next": "a – y (<end>)",
    }  # fmt: skip
    assert parts[4:] == [
        {"source deleted": "a"}, {"source deleted": "b"}, {"target deleted": "x"}, {"target deleted": "y"}
    ]  # fmt: skip


def test_links_are_learned_from_letters():
    X, y = spellings(40)
    model = CRF(task=Aligning(features="letters"), l2=0.05).fit(X, y)
    assert model.score(*spellings(20, seed=9)) > 0.95
    assert model.predict([]) == []


def test_too_many_items():
    pair = ([f"w{i}" for i in range(1000)], ["x"])
    with pytest.raises(DataError, match="1000 different items in segments of up to 3 are too many"):
        CRF(task=Aligning(longest=3, features="letters")).fit([pair], [[]])
