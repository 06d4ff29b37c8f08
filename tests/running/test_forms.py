"""Forms of saved values: what has them and what has not."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from sidelight.errors import DataError
from sidelight.running.forms import Instance, Like, Maybe, Number, Several, Such, require
from sidelight.stored import finite


class Pair(NamedTuple):
    left: Any
    right: float


@dataclass(frozen=True)
class Held:
    at: Any
    numbers: list[int]


ONES, PAIR = np.ones(3), Instance(Pair, left=finite("n"))
RISING = Such(Several(Number()), lambda some: list(some) == sorted(some))


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (ONES, finite(3)),
        (2, Number(2, 2, whole=True)),
        (np.float64(2.5), Number(2.0)),
        (np.int32(2), Number(whole=True)),
        ([1.0, 2], RISING),
        ((1, [ONES]), (int, [finite(3)])),
        ({"a": None, "b": "x"}, {"a": Maybe(finite(3)), "b": str}),
        (Pair(ONES, 1.0), PAIR),
        (Held(Pair(ONES, 1.0), [1]), Instance(Held, at=PAIR)),
        (Held(2 * ONES, [7, 8]), Like(Held(ONES, [1, 2]))),
        (np.arange(3), Like(np.arange(3))),
        ((ONES.astype(np.float32), {"a": 0.5}), Like((ONES.astype(np.float32), {"a": 3.5}))),
    ],
)
def test_values_of_a_form(value, form):
    require(value, form, "it")


@pytest.mark.parametrize(
    ("value", "form", "message"),
    [
        (ONES[:2], finite(3), "the array it has the shape"),
        (3, Number(2, 2, whole=True), "it must be at least 2 and at most 2, it is 3"),
        (2.0, Number(whole=True), "it must be a whole number"),
        (True, Number(), "it must be a finite number"),
        (np.float32(2), Number(), "it must be a finite number"),
        (np.int64(2), Number(), "it must be a finite number"),
        (float("nan"), Number(), "it must be a finite number"),
        (10**400, Number(), r"it must be at least -1e\+100 and at most 1e\+100, it is a whole number of about 400"),
        ([2.0, 1], RISING, "the values of it contradict each other"),
        ("ab", Several(str), "it must be a list, it is a str"),
        ([], Several(str, least=1), "it must have 1 items, it has 0"),
        ([1], Several(int, count=2), "it must have 2 items, it has 1"),
        ((1, [ONES], 2), (int, [finite(3)]), "it must have 2 items, it has 3"),
        ({"a": 1}, {"a": int, "b": int}, "it must have the values a, b"),
        ({"a": 1}, {"a": str}, r"it\.a has a value of another type, int"),
        (Pair(ONES, "x"), PAIR, r"it\.right has a value of another type, str"),
        ((ONES, 1.0), PAIR, "it must be a Pair, it is a tuple"),
        (Pair(ONES, 1.0), Instance(Held), "it must be a Held, it is a Pair"),
        (ONES, Like(np.ones(2)), "the array it has the shape"),
        (ONES.astype(np.float32), Like(ONES), "must hold float64 numbers, it holds float32"),
        (-ONES, Like(ONES, 0.0), "its numbers are at least 0"),
        (np.arange(3) + 1, Like(np.arange(3)), "it does not belong to the data of this fit"),
        (None, Like(ONES), "it must be a ndarray, it is a NoneType"),
        (Pair(ONES, 1), Like(Pair(ONES, 1.0)), r"it\.right must be a float, it is a int"),
    ],
)
def test_values_of_other_forms(value, form, message):
    with pytest.raises(DataError, match=message):
        require(value, form, "it")
