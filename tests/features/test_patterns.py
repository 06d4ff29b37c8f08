import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidelight import word
from sidelight.errors import DataError
from sidelight.features.patterns import Pattern

ATOMS = st.sampled_from([*"abA.^$é", r"\d", r"\w", r"\W", r"\s", r"\b", r"\B", r"\A", r"\Z", "[ab]", "[^a]", "[a-c1]"])
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,3}", "{2,}"])).map(
            lambda two: f"({two[0]}){two[1]}"
        ),
        st.tuples(st.sampled_from(["i", "s", "m", "-i", "a"]), inner).map(lambda two: f"(?{two[0]}:{two[1]})"),
    ),
    max_leaves=8,
)


@given(EXPRESSIONS, st.text("abAB1 \né", max_size=8), st.sampled_from(["", "(?i)", "(?m)"]))
def test_it_finds_what_python_finds(expression, text, flags):
    assert Pattern(flags + expression).found_in(text) == (re.search(flags + expression, text) is not None)


@pytest.mark.parametrize("expression", ["(a+)+$", "^(a|a)*$", "(a|aa)+$", "^a*a*a*a*a*$", "(x+x+)+y", "(.*)(.*)=$"])
def test_what_takes_python_for_ever_takes_no_time(expression):
    assert not word.matches(expression).value("a" * 3_000 + "x" * 3_000 + "!")


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("(", "bad regular expression '\\('"),
        (r"(a)\1", "refers back"),
        ("(?=a)", "two conditions"),
        ("(?<!a)b", "two conditions"),
        ("((a{100}){100}){100}", "too large"),
        ("a{99999999999}", "bad regular expression"),
        ("(" * 5_000 + ")" * 5_000, "nested too deeply"),
    ],
)
def test_what_is_refused(expression, what):
    with pytest.raises(DataError, match=what):
        word.matches(expression)
