"""Declarations of arrays and values, and what does not pass them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from sidelight.declared import Bounds
from sidelight.errors import DataError
from sidelight.stored import (
    ArraySpec,
    check_values,
    finite,
    matches,
    numbered,
    places,
    pointer,
    read_arrays,
    whole,
    within,
)

SPECS = {
    "pointer": pointer("rows", into="entries", widest="labels"),
    "label": ArraySpec(np.int32, ("entries",), least=0, below="labels"),
    "pairs": places("pairs", "labels*labels"),
    "weights": finite("entries+pairs"),
}


def arrays(**more):
    found = {
        "pointer": np.array([0, 2, 2, 3]),
        "label": np.array([0, 1, 1], np.int32),
        "pairs": np.array([0, 3]),
        "weights": np.zeros(5),
    }
    return {**found, **more}


def test_arrays_as_declared():
    found = read_arrays({**arrays(), "other": np.empty(0)}, SPECS, labels=2)
    assert list(found) == list(SPECS)
    assert read_arrays(arrays(), SPECS, labels=2, rows=3)["label"].dtype == np.int32


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("label", np.array([0, 1, 3000], np.int32), "the array label holds 3000, and its numbers are below 2"),
        ("label", np.array([0, -5, 1], np.int32), "the array label holds -5, and its numbers are at least 0"),
        ("label", np.array([0, 1, 1]), "the array label must hold int32 numbers, it holds int64"),
        ("label", np.array([0, 1], np.int32), r"the array label has the shape \(2,\), and entries is 3"),
        ("label", np.zeros((3, 1), np.int32), "the array label must have 1 dimensions, it has 2"),
        ("label", [0, 1, 1], "the array label must hold int32 numbers"),
        ("pointer", np.array([0, 2, 1, 3]), "the numbers of the array pointer must never fall, or rise"),
        ("pointer", np.array([1, 2, 2, 3]), "the array pointer must begin with 0"),
        ("pointer", np.array([0, 3, 3, 3]), "numbers of the array pointer rise by more than 2 at once"),
        ("pointer", np.array([0, 2, 2, 4]), r"the array label has the shape \(3,\), and entries is 4"),
        ("pointer", np.array([0, 2]), r"the array pointer has the shape \(2,\), and rows\+1 is 4"),
        ("pointer", np.array([], np.int64), r"the array pointer has the shape \(0,\)"),
        ("pairs", np.array([3, 0]), "the numbers of the array pairs must rise"),
        ("pairs", np.array([3, 4]), "the array pairs holds 4, and its numbers are below 4"),
        ("weights", np.full(5, np.nan), "the array weights holds something that is no finite number"),
        ("weights", np.full(5, np.inf), "the array weights holds something that is no finite number"),
        ("weights", np.full(5, -1e200), "the array weights holds -1e[+]200, and its numbers are at least -1e[+]100"),
        ("weights", np.full(5, 1e200), "the array weights holds 1e[+]200, and its numbers are at most 1e[+]100"),
        ("weights", np.zeros(6), r"the array weights has the shape \(6,\), and entries\+pairs is 5"),
    ],
)
def test_other_arrays(name, array, message):
    with pytest.raises(DataError, match=message):
        read_arrays(arrays(**{name: array}), SPECS, labels=2, rows=3)


def test_missing_arrays():
    with pytest.raises(DataError, match="the array label is missing"):
        read_arrays({"pointer": np.array([0])}, SPECS, labels=2)


def test_infinite_numbers_where_they_are_declared():
    spec = ArraySpec(np.float64, ("rules",), least=0, infinite=True)
    assert len(read_arrays({"p": np.array([1.0, np.inf])}, {"p": spec}, rules=2)["p"]) == 2
    for bad in (np.nan, -np.inf):
        with pytest.raises(DataError, match="the array p holds"):
            read_arrays({"p": np.array([bad])}, {"p": spec})


def test_arrays_within_a_folder():
    found = within({"a/x": np.zeros(1), "b/x": np.ones(1), "a/y": np.zeros(2)}, "a/")
    assert sorted(found) == ["x", "y"]
    assert len(found) == 2
    assert "z" not in found
    assert found["y"].shape == (2,)


def test_plain_values():
    assert numbered(["b", "a"], "words") == {"b": 0, "a": 1}
    for names in (["a", "a"], ["a", 1], "ab", None):
        with pytest.raises(DataError, match="words must be"):
            numbered(names, "words")
    assert whole(3, "n", 1, 3) == 3
    for value in (0, 4, 2.0, True, None, "3"):
        with pytest.raises(DataError, match="n must be a whole number of at least 1 and at most 3"):
            whole(value, "n", 1, 3)


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (int, [1, -1], [1.0, True, "1", None, 2**70]),
        (float, [1, 1.5, float("inf")], [True, "1", None]),
        (bool, [True, 0, 1], [2, "x", None]),
        (Annotated[int | None, "text"], [1, None], ["x"]),
        (Literal["a", 1], ["a", 1], ["b", True, 1.0]),
        (Sequence[str] | None, [["a"], [], None], ["a", [1]]),
        (Mapping[str, float], [{"a": 1}], [{"a": "b"}, {1: 1.0}, []]),
        (tuple[float, float], [[1, 2.0]], [[1], [1, 2, 3], None]),
        (tuple[int, ...], [[], [1, 2]], [["a"]]),
        (Any, [None, object()], []),
    ],
)
def test_values_and_annotations(hint, good, bad):
    assert all(matches(value, hint) for value in good)
    assert not any(matches(value, hint) for value in bad)


def test_checked_values():
    hints = {
        "a": float,
        "b": int,
        "share": Annotated[float | None, "text", Bounds(0, 1)],
        "rate": Annotated[float | Literal["learned"], "text", Bounds(0, above=True)],
        "names": Sequence[str] | None,
        "passes": Annotated[int, "text", Bounds(1)],
    }
    good = {"a": 1.0, "share": None, "rate": "learned", "names": np.array(["x"]), "passes": np.int64(1)}
    check_values(good, hints, "X")
    for values, message in (
        ({"a": float("nan")}, "a must be a number, got nan"),
        ({"c": 1}, "X has no 'c'"),
        ({"b": "y" * 300}, r"b must be a whole number, got 'y{40,}\.\.\.y{40,}'$"),
        ({"a": 10**400}, "a must be a number, got a whole number of about 400 digits"),
        ({"share": 1.5}, "share must be a finite number from 0 to 1 or None, got 1.5"),
        ({"rate": 0}, "rate must be a finite number above 0 or 'learned', got 0"),
        ({"rate": float("inf")}, "rate must be a finite number above 0 or 'learned', got inf"),
        ({"names": ["a", 1]}, r"names must be a list of texts or None, got \['a', 1\]"),
        ({"passes": 0}, "passes must be a whole number of at least 1, got 0"),
    ):
        with pytest.raises(DataError, match=message):
            check_values(values, hints, "X")


def test_arrays_match_the_type_of_numpy_in_every_version_of_python():
    assert matches(np.zeros(2), NDArray[np.float64])
    assert not matches(2.0, NDArray[np.float64])
