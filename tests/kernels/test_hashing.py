from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from sidelight.kernels import hashing


@cache
def colliding(mask, count):
    """Keys that all want the same slot."""
    keys = np.arange(1, 1_000_000)
    slots = np.array([hashing.slot_of(int(k), mask) for k in keys[: 200 * (mask + 1)]])
    return keys[: len(slots)][slots == slots[0]][:count]


NAMES = ["few", "many", "large", "absent", "colliding", "none", "empty"]


@cache
def key_sets():
    rng = np.random.default_rng(0)
    return {
        "few": rng.integers(20, size=500),
        "many": rng.integers(2**62, size=500),
        "large": 2**63 - 1 - rng.integers(300, size=500),
        "absent": np.where(rng.random(500) < 0.5, -1, rng.integers(30, size=500)),
        "colliding": rng.choice(colliding(1023, 60), size=500),
        "none": np.full(500, -1),
        "empty": np.empty(0, np.int64),
    }


def numbered(keys, ids, room=8, blocks=3):
    """Keys numbered block by block, in a table that has little room at first."""
    table = np.full(2 * room, -1, np.int32), np.empty(room, np.int64), np.empty(room, np.int64), 0
    for some, found in zip(np.array_split(keys, blocks), np.array_split(ids, blocks), strict=True):
        table = hashing.number_keys(some, found, *table)
    _, distinct, counts, n = table
    assert len(distinct) == len(counts) > n
    return distinct[:n], counts[:n]


@pytest.mark.parametrize("name", NAMES)
def test_against_a_dict(name):
    assert list(key_sets()) == NAMES
    keys = key_sets()[name].astype(np.int64)
    ids = np.empty(len(keys), np.int32)
    distinct, counts = numbered(keys, ids)
    numbers = {}
    expected = [-1 if k < 0 else numbers.setdefault(int(k), len(numbers)) for k in keys]
    assert ids.tolist() == expected
    assert distinct.tolist() == list(numbers)
    assert counts.tolist() == [int((keys == k).sum()) for k in numbers]

    table, found = np.full(1024, -1, np.int64), np.empty(1024, np.int32)
    values = np.arange(len(distinct), dtype=np.int32) * 3 + 1
    hashing.fill_table(distinct, values, table, found)
    rng = np.random.default_rng(1)
    asked = np.concatenate((keys, rng.integers(-1, 2**62, size=100), colliding(1023, 80))).astype(np.int64)
    out = np.empty(len(asked), np.int32)
    hashing.look_up(asked, table, found, out)
    assert out.tolist() == [3 * numbers[k] + 1 if k in numbers else -1 for k in asked.tolist()]


@pytest.mark.parametrize("count", [7, 8, 9, 4000])
def test_numbering_more_keys_than_there_was_room_for(count):
    keys = np.random.default_rng(count).permutation(count).repeat(2) * 3
    ids = np.empty(len(keys), np.int32)
    distinct, counts = numbered(keys, ids)
    assert distinct.tolist() == keys[::2].tolist()
    assert counts.tolist() == [2] * count
    assert ids.tolist() == np.arange(count).repeat(2).tolist()


def test_a_full_table_still_holds_every_key():
    keys = np.arange(100, 108, dtype=np.int64)
    slots, found = np.full(8, -1, np.int64), np.empty(8, np.int32)
    hashing.fill_table(keys, np.arange(8, dtype=np.int32), slots, found)
    out = np.empty(8, np.int32)
    hashing.look_up(keys, slots, found, out)
    np.testing.assert_array_equal(out, np.arange(8))


def test_slots_spread_consecutive_keys():
    """Codes are small consecutive numbers; at half load few of them should share a slot."""
    slots = [hashing.slot_of(k, 1023) for k in range(512)]
    assert len(set(slots)) > 350
    assert 0 <= min(slots) <= max(slots) <= 1023


def test_template_keys_are_distinct_for_distinct_digits():
    """Every (digit, digit) of a conjunction has its own key below the product of the bases, -1 if one is absent."""
    rng = np.random.default_rng(3)
    offsets = np.array([0, 1, 4, 9])
    codes = rng.integers(-1, 3, size=(2, 9)).astype(np.int32)
    places, sizes, reach = np.array([-2, 1]), np.array([3, 3]), 2
    keys = np.empty(9, np.int64)
    hashing.template_keys(offsets, codes, places, sizes, reach, keys)
    seen = {}
    for p, q in pairwise(offsets):
        for t in range(p, q):
            digits = []
            for d, place in enumerate(places):
                at = t + place
                digits.append(("before", p - at) if at < p else ("behind", at - q) if at >= q else codes[d, at])
            if -1 in digits:
                assert keys[t] == -1
            else:
                assert 0 <= keys[t] < (3 + 2 * reach) ** 2
                assert seen.setdefault(tuple(digits), keys[t]) == keys[t]
    assert len(set(seen.values())) == len(seen) > 3


def test_texts_are_found_by_their_beginning_and_the_rest():
    texts = ["a=x", "a=", "ab=x", "a=xé", "a"]
    encoded = [text.encode() + b"\0" for text in texts]
    starts = np.cumsum([0, *map(len, encoded)])
    pool, slots = np.frombuffer(b"".join(encoded), np.uint8).copy(), np.full(8, -1, np.int32)
    hashing.fill_texts(pool, starts, slots)
    assert sorted(slots) == [-1, -1, -1, 0, 1, 2, 3, 4]
    values = {"a=": ["x", "", "xé", "y", "xx"], "ab=": ["x", "", "é", "xé", "a"], "b=": ["x"] * 5}
    befores, data = (
        np.frombuffer("".join(one + "\0" for one in some).encode(), np.uint8)
        for some in (values, [one for some in values.values() for one in some])
    )
    out = np.empty((3, 5), np.int32)
    expected = [[texts.index(k + v) if k + v in texts else -1 for v in some] for k, some in values.items()]
    hashing.look_up_texts(befores, data, pool, starts, slots, out)
    assert out.tolist() == expected
    assert expected[0][:3] == [0, 1, 3]
    nothing = pool[:0], np.zeros(1, np.int64), np.full(2, -1, np.int32)
    hashing.look_up_texts(befores, data, *nothing, out)
    assert (out == -1).all()
