import numpy as np
import pytest

from sidelight.errors import Infeasible
from sidelight.features.encoded import Encoded
from sidelight.running.packing import pack, unpack


def test_arrays_come_back_writable_and_aligned():
    value = {"a": np.arange(5, dtype=np.int32), "b": [np.eye(3), np.empty((0, 2))], "c": "text"}
    found = unpack(pack(value))
    assert found["c"] == "text"
    for array in (found["a"], *found["b"]):
        assert type(array) is np.ndarray
        assert array.flags.writeable
        assert array.flags.aligned
    np.testing.assert_array_equal(found["a"], value["a"])
    np.testing.assert_array_equal(found["b"][0], np.eye(3))
    found["a"][0] = 7
    assert value["a"][0] == 0


def test_errors_come_back_as_they_were():
    found = unpack(pack(Infeasible("has no output", 3, "document")))
    assert (str(found), found.what, found.sequence, found.noun) == (
        "document 3 has no output", "has no output", 3, "document"
    )  # fmt: skip


def test_a_part_of_encoded_inputs_travels_without_the_others():
    whole = Encoded(
        np.arange(0, 1001), np.arange(0, 10_001, 10), np.arange(10_000, dtype=np.int32), np.empty(0), 10_000
    )
    part = whole.sequences(10, 12)
    packed = pack(part)
    assert len(packed) < 2000 < len(pack(whole))
    found = unpack(packed)
    np.testing.assert_array_equal(found.indices[found.indptr[0] : found.indptr[-1]], np.arange(100, 120))
    np.testing.assert_array_equal(found.offsets, part.offsets)


def test_what_is_no_packed_object_is_an_error():
    with pytest.raises(Exception, match="unpack"):
        unpack(b"")
