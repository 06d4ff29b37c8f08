import copy
import pickle
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight import bias, column, parse, pos, window, word
from sidelight.errors import DataError
from sidelight.features.columns import Column, Template, as_template

VALUES = [
    (word, "Ab", "Ab"),
    (word, "", ""),
    (word.lower(), "ÉCOLE", "école"),
    (word.shape(), "McDonald's", "XxXxxxx'x"),
    (word.shape(), "1999", "dddd"),
    (word.shape(), "123456789", "dddd"),
    (word.shape(), "aaaaaBBBBBB", "xxxxXXXX"),
    (word.shape(), "......x", "....x"),
    (word.shape(), "Ünï-٣", "Xxx-d"),
    (word.shape(), "", ""),
    (word.prefix(2), "abc", "ab"),
    (word.prefix(3), "abc", "abc"),
    (word.prefix(4), "abc", None),
    (word.prefix(1), "", None),
    (word.suffix(2), "abc", "bc"),
    (word.suffix(3), "abc", "abc"),
    (word.suffix(4), "abc", None),
    (word.suffix(1), "naïveté", "é"),
    (word.isdigit(), "1999", "yes"),
    (word.isdigit(), "19a", None),
    (word.isdigit(), "", None),
    (word.hasdigit(), "19a", "yes"),
    (word.hasdigit(), "abc", None),
    (word.hasdigit(), "", None),
    (word.isupper(), "A1", "yes"),
    (word.isupper(), "Ab", None),
    (word.isupper(), "12", None),
    (word.istitle(), "AbC", "yes"),
    (word.istitle(), "Éa", "yes"),
    (word.istitle(), "a", None),
    (word.istitle(), "", None),
    (word.isalpha(), "naïve", "yes"),
    (word.isalpha(), "a1", None),
    (word.isalpha(), "", None),
    (word.ispunct(), "...", "yes"),
    (word.ispunct(), "«", "yes"),
    (word.ispunct(), "a.", None),
    (word.ispunct(), "", None),
    (word.matches("b"), "abc", "yes"),
    (word.matches("^b"), "abc", None),
    (word.matches(r"^\d+$"), "12", "yes"),
    (word.isin("a", "b"), "b", "yes"),
    (word.isin("a", "b"), "c", None),
    (word.isin("a", "b"), "ab", None),
    (word.isin(["a", "b"]), "a", "yes"),
    (word.isin({"a"}, "b", ("c",)), "c", "yes"),
    (word.map(lambda w: None), "a", None),
    (word.map(lambda w: False), "a", None),
    (word.map(lambda w: True), "a", "yes"),
    (word.map(len), "abc", "3"),
    (word.map(len).isin("3"), "abc", "yes"),
    (word.lower().suffix(2), "ABC", "bc"),
    (word.suffix(3).isupper(), "abCDE", "yes"),
    (word.suffix(3).isupper(), "DE", None),
    (word.isdigit().isalpha(), "12", "yes"),
    (~word.isdigit(), "1", None),
    (~word.isdigit(), "a", "yes"),
    (~word.suffix(2), "a", "yes"),
    (~word.suffix(2), "ab", None),
    (~~word.isdigit(), "1", "yes"),
    (~word, "a", None),
]


@pytest.mark.parametrize(("expression", "token", "value"), VALUES)
def test_value(expression, token, value):
    assert expression.value(token) == value


NAMES = ("lower", "shape", "isdigit", "hasdigit", "isupper", "istitle", "isalpha", "ispunct")
texts = st.text(st.characters(codec="utf-8"), max_size=4)
steps = st.one_of(
    st.sampled_from([(name,) for name in NAMES]),
    st.tuples(st.sampled_from(["prefix", "suffix"]), st.integers(1, 5)),
    st.tuples(st.just("matches"), texts.map(re.escape)),
    st.lists(texts, min_size=1, max_size=3).map(lambda words: ("isin", *words)),
)


@st.composite
def expressions(draw):
    made = column(draw(st.integers(0, 3)))[draw(st.integers(-3, 3))]
    for name, *arguments in draw(st.lists(steps, max_size=3)):
        made = getattr(made, name)(*arguments)
    return ~made if draw(st.booleans()) else made


templates = st.lists(expressions(), max_size=3).map(lambda columns: Template(tuple(columns)))


@settings(max_examples=200, deadline=None)
@given(expressions())
def test_an_expression_prints_as_it_is_read(expression):
    again = parse(repr(expression))
    assert again == expression
    assert hash(again) == hash(expression)
    assert pickle.loads(pickle.dumps(expression)) == expression


@settings(max_examples=100, deadline=None)
@given(templates, texts)
def test_a_template_prints_as_it_is_read(template, token):
    again = as_template(str(template))
    assert again == template
    assert [c.value(token) for c in again.columns] == [c.value(token) for c in template.columns]
    assert pickle.loads(pickle.dumps(template)) == template


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=12), st.text("word.&~[]()-1'\"lorpfix, \\", max_size=20)))
def test_any_text_is_an_expression_or_a_data_error(text):
    try:
        assert isinstance(parse(text), Column | Template)
    except DataError as error:
        assert "cannot read the expression" in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("word", word),
        (" pos[1] ", pos[1]),
        ("column(0)", word),
        ("column(5)[-2]", column(5)[-2]),
        ("bias", bias),
        ("bias & word", bias & word),
        ("word.isdigit", word.isdigit()),
        ("word.isin(['b', 'a'])", word.isin("a", "b")),
        ("~word[-1].isdigit()", ~word[-1].isdigit()),
        ("word[1][-3]", word[-2]),
        ("(word & pos)[1]", word[1] & pos[1]),
        ("word & (pos & column(2))", word & pos & column(2)),
    ],
)
def test_parse(text, same):
    assert parse(text) == same


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("word[-1", r"'word\[-1', column 5: .*never closed"),
        ("", "invalid syntax"),
        ("wrd", "'wrd' is not known here; did you mean 'word'"),
        ("word.foo()", r"word has no \.foo; it has .*\.lower"),
        ("word.map(len)", r"word has no \.map"),
        ("word.value('a')", r"word has no \.value"),
        ("__import__('os')", "not known here"),
        ("word | pos", "not a column or a template; write a template for each side of |"),
        ("'word'", "not a column or a template"),
        ("word.prefix(n)", "'n' is not known here"),
        ("word.prefix(0)", "at least 1 character, got 0"),
        ("word.suffix(-2)", "at least 1 character, got -2"),
        ("word.suffix('a')", "at least 1 character, got 'a'"),
        ("word.prefix()", "missing 1 required positional argument"),
        ("word.lower(1)", "takes 1 positional argument"),
        ("word.prefix(length=2)", r"\.prefix takes no named arguments"),
        ("word.matches('(')", r"bad regular expression '\('"),
        ("word.matches(3)", "given as a string, got 3"),
        ("word.isin()", "at least one word"),
        ("word.isin([])", "at least one word"),
        ("word.isin(3)", "words are strings, and isin was given 3; write '3'"),
        ("column(-1)", "numbered from 0, got -1"),
        ("word[1.5]", "whole number of tokens, got 1.5"),
        ("word['a']", "whole number of tokens, got 'a'"),
        ("word[1:2]", "'1:2' is not part of the language"),
        ("(~word).lower()", "nothing can follow a negation: ~word"),
        ("bias.lower()", r"bias has no \.lower"),
        ("~bias", "not a column or a template"),
        ("word.isin('\ud800')", "surrogates"),
        ("word" + ".lower()" * 20_000, "nested too deeply"),
    ],
)
def test_bad_text(text, message):
    with pytest.raises(DataError, match=message) as caught:
        parse(text)
    assert "cannot read the expression" in str(caught.value)


def test_bad_expressions():
    with pytest.raises(DataError, match="bad regular expression"):
        word.matches("[a")
    with pytest.raises(DataError, match="given as a string"):
        word.matches(re.compile("a"))
    with pytest.raises(DataError, match="at least 1 character, got 0"):
        word.prefix(0)
    with pytest.raises(DataError, match="at least 1 character"):
        word.suffix(1.0)
    with pytest.raises(DataError, match="numbered from 0, got -1"):
        column(-1)
    with pytest.raises(DataError, match="nothing can follow a negation"):
        (~word.isdigit()).lower()
    with pytest.raises(DataError, match="cannot be saved"):
        word.map(len).require_text()


def test_expressions_can_be_indexed_but_not_looped_over():
    for expression in (word, word & pos):
        with pytest.raises(TypeError, match="not iterable"):
            list(expression)
        with pytest.raises(TypeError):
            "a" in expression  # noqa: B015


def test_offsets_add_up_and_reach_every_column_of_a_template():
    assert word[-1][-1] == word[-2] == Column(0, -2)
    assert (word[-1] & pos)[1] == word & pos[1]
    assert word[2].lower().base == word.lower()
    assert window(word & pos, -1, 1) == [word[-1] & pos[-1], word & pos, word[1] & pos[1]]


def test_using_an_expression_does_not_change_what_is_copied_or_compared():
    used, fresh = word.lower().suffix(2), word.lower().suffix(2)
    assert used.value("ABC") == "bc"
    assert used == fresh
    assert copy.deepcopy(used) == fresh
    assert pickle.loads(pickle.dumps(used)).value("XYZ") == "yz"
    assert len({used, fresh}) == 1
