"""The reader of expressions: what it evaluates, and what it refuses, where."""

import pytest

from sidelight import DataError, parse, parse_rule
from sidelight.expressions import ExpressionError, evaluate


class Thing:
    """An object that offers one method and one value, and hides others."""

    readable = frozenset({"double", "size"})
    size = 7
    hidden = 3

    def __init__(self, value=1):
        self.value = value

    def double(self):
        return Thing(2 * self.value)

    def secret(self):
        raise AssertionError("must not be called")

    def __add__(self, other):
        return Thing(self.value + (other.value if isinstance(other, Thing) else other))

    def __getitem__(self, index):
        return Thing(self.value + index)

    def __repr__(self):
        return "thing"


def make(value, *, plus=0):
    return Thing(value + plus)


NAMES = {"thing": Thing(), "make": make, "words": ["a", "b"]}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("thing", 1),
        ("thing.double()", 2),
        ("thing.double", 2),
        ("thing.double().double() + 3", 7),
        ("make(4)", 4),
        ("make(4, plus=-1)", 3),
        ("make(thing.size)", 7),
        ("thing[-1] + thing[2]", 3),
        ("  make(1 + 2 * 3)  ", 7),
        ("make(\n  4,\n  plus=1,\n)", 5),
    ],
)
def test_values(text, value):
    assert evaluate(text, NAMES).value == value


def test_constants_and_lists():
    assert evaluate("['a', 1, 2.5, -3, ('b',)]", {}) == ["a", 1, 2.5, -3, ["b"]]
    assert evaluate("words[1]", NAMES) == "b"
    assert evaluate("'é' == 'é'", {}) is True


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("other", 1, "'other' is not known here; there are thing, make, words"),
        ("thing + other", 9, "'other' is not known here"),
        ("  make(other)", 8, "'other' is not known here; labels and words are written in quotes: 'other'"),
        ("thing.double(wrods)", 14, "labels and words are written in quotes: 'wrods'; did you mean 'words'?"),
        ("make('é', 'é', other)", 16, "'other' is not known here"),
        ("make(\n  other\n)", 9, "'other' is not known here"),
        ("_private", 1, "'_private' is not known here"),
        ("__import__('os')", 1, "'__import__' is not known here"),
        ("thing.hidden", 1, "thing has no .hidden; it has .double, .size"),
        ("thing.secret()", 1, "thing has no .secret"),
        ("thing.__class__", 1, "thing has no .__class__"),
        ("thing._x", 1, "thing has no ._x"),
        ("'a'.upper()", 1, "'a' has no .upper; it has no methods"),
        ("words.append('c')", 1, "has no .append; it has no methods"),
        ("make.__globals__", 1, "has no .__globals__"),
        ("lambda: 1", 1, "'lambda: 1' is not part of the language"),
        ("(lambda: 1)()", 2, "is not part of the language"),
        ("[w for w in words]", 1, "is not part of the language"),
        ("thing if thing else thing", 1, "for `if` write >>, which says that one rule implies another: (a) >> (b)"),
        ("not thing", 1, "for `not` write ~, with brackets: ~(a)"),
        ("make(thing and thing)", 6, "for `and` write &, with brackets around both sides: (a) & (b)"),
        ("thing or thing", 1, "for `or` write |, with brackets around both sides: (a) | (b)"),
        ("thing in words", 1, 'for `in` write .isin(...), as in word.isin("pp", "pages")'),
        ("thing not in words", 1, 'for `not in` write ~ and .isin(...), as in ~word.isin("pp", "pages")'),
        ("thing is thing", 1, "'thing is thing' is not part of the language"),
        ("~3", 1, "~ is for rules and conditions, got 3"),
        ("thng", 1, "'thng' is not known here; did you mean 'thing'?"),
        ("Make(1)", 1, "'Make' is not known here; did you mean 'make'?"),
        ("thing.duoble()", 1, "thing has no .duoble; did you mean '.double'?"),
        ("thing ** 2", 1, "is not part of the language"),
        ("1 <= thing <= 2", 1, "comparisons cannot be chained"),
        ("f'{thing}'", 1, "is not part of the language"),
        ("None", 1, "'None' is not part of the language"),
        ("make(*words)", 6, "is not part of the language"),
        ("make(**words)", 1, "** is not part of the language"),
        ("thing.double(x=1)", 1, ".double takes no named arguments"),
        ("make(1, minus=2)", 1, "minus"),
        ("make()", 1, "value"),
        ("thing()", 1, "not callable"),
        ("words[5]", 1, "out of range"),
        ("'a' * 1000000000", 1, "text and lists cannot be combined by operators"),
        ("words + words", 1, "text and lists cannot be combined by operators"),
        ("thing - 1", 1, "unsupported operand"),
        ("", 1, "invalid syntax"),
        ("thing +", 1, "invalid syntax"),
        ("  thing thing", 3, "invalid syntax"),
        ("import os", 1, "invalid syntax"),
        ("x = 1", 1, "invalid syntax"),
        ("thing\0", 1, "null"),
    ],
)
def test_refused(text, column, message):
    with pytest.raises(ExpressionError) as caught:
        evaluate(text, NAMES)
    assert message in str(caught.value)
    assert caught.value.text == text
    assert isinstance(caught.value, DataError)
    if "invalid syntax" not in message:  # Python's own columns differ between versions
        assert caught.value.column == column
        assert f"column {column}: " in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "~" * 5000 + "word",
        "(" * 5000 + "word" + ")" * 5000,
        "word" + ".lower()" * 20_000,
        "word" + " & word" * 20_000,
        "[" * 150 + "1" + "]" * 150 + "[0]" * 20_000,
        "count('A')" + " + count('A')" * 5000 + " >= 1",
    ],
    ids=["~", "()", ".lower()", "&", "[0]", "+"],
)
def test_deep_nesting_is_an_error_in_the_data(text):
    with pytest.raises(DataError):
        parse_rule(text)
    with pytest.raises(DataError):
        parse(text)


def test_errors_of_methods_are_errors_in_the_text():
    for text, message in (
        ("word.prefix(0)", "a prefix or suffix has at least 1 character"),
        ("word.matches('(')", "bad regular expression"),
        ("word['a']", "an offset is a whole number"),
        ("column(-1)", "columns are numbered from 0"),
        ("word.prefix", "missing 1 required positional argument"),
    ):
        with pytest.raises(ExpressionError, match=message):
            parse(text)


@pytest.mark.filterwarnings("error")
def test_no_warning_about_backslashes():
    assert parse(r"word.matches('\d')").value("a1") == "yes"
