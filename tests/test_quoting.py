"""Values of users in messages."""

import numpy as np
import pytest

from sidelight.quoting import LONGEST, quoted


class Unwritten:
    """An object that cannot be written."""

    def __repr__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb", r"'a\nb'"),
        ([1, "x", None], "[1, 'x', None]"),
        (10**400, "a whole number of about 400 digits"),
        (-(10**5000), "a whole number of about 5000 digits"),
        ([10**5000], "a list with a number of more digits than Python writes"),
        (True, "True"),
    ],
    ids=range(6),
)
def test_values_as_python_writes_them(value, text):
    assert quoted(value) == text


@pytest.mark.parametrize(
    "value", ["x" * 10**6, ["word" * 10] * 10**5, dict.fromkeys(range(1000), "v" * 50), np.arange(10**6), Unwritten()]
)
def test_no_value_makes_a_message_long(value):
    assert 0 < len(quoted(value)) <= LONGEST
