"""Rule files: what a good one says, and where a bad one is wrong."""

import os
import re

import pytest

from sidelight import DataError, read_rules, read_words, when, where, word
from sidelight.rules.files import given_rules, parse_rule, saved_text

GOOD_FILE = """
# rules for references
[words]
venues = ["proc", "journal"]
month = "may"

[[rule]]
name = "venue"
rule = "where(word.lower().isin(venues)).label('journal', 'booktitle')"
reading = "soft"
penalty = 3

[[rule]]
rule = 'count("date", where=word.isin(month)) >= 1'
reading = "hard"

[[ rule ]]
  rule = '''
  (count('a') >= 1)
      >> (count('b') == 0)'''
penalty = 0.5

[[rule]]
name = "about"
rule = "share('a') == 0.3"
reading = "expected"

[[rule]]
rule = "once_each()"

[[rule]]
rule = "min_length(2)"
reading = "soft"
"""


def test_a_good_file(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(GOOD_FILE, encoding="utf-8")
    expected = [
        "((where(word.lower().isin('journal', 'proc')).label('journal', 'booktitle')).soft(3)).named('venue')",
        "(count('date', where=word.isin('may')) >= 1).hard()",
        "((count('a') >= 1) >> (count('b') == 0)).soft(0.5)",
        "((share('a') == 0.3).expected()).named('about')",
        "once_each()",
        "(min_length(2)).soft()",
    ]
    assert list(map(repr, read_rules(path))) == expected
    assert list(map(repr, read_rules(str(path)))) == expected
    path.write_bytes(b"\xef\xbb\xbf" + GOOD_FILE.replace("\n", "\r\n").encode())
    assert list(map(repr, read_rules(path))) == expected


ONCE = '[[rule]]\nrule = "once_each()"\n'
# What is wrong -> the file, and what the message says after the file's name.
BAD = {
    "bad TOML": ("[[rule]]\nrule = once_each()\n", r":2:\d+: Invalid value; a rule file is TOML, with \[words\] and"),
    "cut off": ('[[rule]]\nrule = "once_each()', r":2: Unterminated string|:2:\d+: "),
    "bad expression": ("\n[[rule]]\nrule = \"count('A') >= \"\n", r":3:\d+: invalid syntax, in"),
    "unknown name": (ONCE + '[[rule]]\nrule = "often()"\n', r":4:9: 'often' is not known here"),
    "unknown word list": (
        "[[rule]]\nrule = \"where(word.isin(venues)).label('A')\"\n",
        r":2:25: 'venues' is not known",
    ),
    "unknown method": ('[[rule]]\n  rule = "word.upper()"\n', r":2:11: word has no .upper"),
    "wrong later": ("[[rule]]\nrule = \"count('é') >= nine\"\n", r":2:23: 'nine' is not known"),
    "not a rule": ('[[rule]]\nname = "x"\nrule = "count(\'A\')"\n', r":3: .* is not a rule: a count needs a bound"),
    "unknown key": (ONCE + "weight = 3\n", r":2: unknown key 'weight'; a rule has name, penalty"),
    "bad reading": (ONCE + 'reading = "firm"\n', r":2: reading is hard, soft or expected, got 'firm'"),
    "negative penalty": (ONCE + "penalty = -1\n", r":2: a penalty is a finite number of at least 0, got -1"),
    "endless penalty": (ONCE + "penalty = inf\n", r":2: a penalty is a finite number"),
    "penalty in words": (ONCE + 'penalty = "high"\n', r":2: a penalty is a number, got 'high'"),
    "hard with a penalty": (ONCE + 'reading = "hard"\npenalty = 1\n', r":2: a rule that is hard has no penalty"),
    "rule missing": ("\n" + ONCE + '\n[[rule]]\nname = "x"\n', r":5: this \[\[rule\]\] section has no line rule ="),
    "rule is a number": ("[[rule]]\nrule = 3\n", r":1: this \[\[rule\]\] section has no line rule ="),
    "unknown section": (ONCE + '\n[[rules]]\nrule = "once_each()"\n', r":4: unknown section 'rules'; a rule file has"),
    "words is no section": ('words = 3\n[[rule]]\nrule = "once_each()"\n', r":1: words is a section of word lists"),
    "rule is no list": ('[rule]\nrule = "once_each()"\n', r":1: no rules found; each rule is a \[\[rule\]\] section"),
    "a list of texts": ('rule = ["once_each()"]\n', r":1: no rules found"),
    "nothing": ("", r":1: no rules found"),
    "deep": ('[[rule]]\nrule = "' + "~" * 5000 + 'word"\n', r":2:9: it is nested too deeply"),
    "deep lists": ("words = " + "[" * 5000, r": brackets are nested too deeply"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_say_where(name, tmp_path):
    text, message = BAD[name]
    path = tmp_path / "my.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_rules(path)
    assert re.match(re.escape(str(path)) + f"(?:{message})", str(caught.value)), str(caught.value)[:300]


def test_the_line_is_that_of_the_right_section(tmp_path):
    """Two rules with the same beginning: the second one is wrong."""
    path = tmp_path / "my.toml"
    path.write_text("[[rule]]\nrule = \"count('A') >= 10\"\n[[rule]]\nrule = \"count('A') >= 1\"\npenalty = -1\n")
    with pytest.raises(DataError, match=r"my\.toml:4: a penalty"):
        read_rules(path)


def test_inline_tables(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text('rule = [{rule = "once_each()"}, {rule = "min_length(2)", reading = "hard"}]\n')
    assert list(map(repr, read_rules(path))) == ["once_each()", "(min_length(2)).hard()"]
    path.write_text('rule = [\n  {rule = "once_each()"},\n  {rule = "often()"}]\n')
    with pytest.raises(DataError, match=r"my\.toml:\d:\d+: 'often' is not known here"):
        read_rules(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(DataError, match=r"nothing\.toml"):
        read_rules(tmp_path / "nothing.toml")


def test_words_for_one_rule():
    rule = parse_rule("where(word.isin(names)).label('A')", {"names": ["x", "y"]})
    assert repr(rule) == "where(word.isin('x', 'y')).label('A')"
    assert saved_text(rule) == repr(rule)


def test_functions_have_no_text():
    for rule in (where(when(len)).label("A"), where(word.map(len)).never("B").hard().named("mine")):
        message = f"the rule {rule.title!r} cannot be written to a file: it holds a Python function"
        with pytest.raises(DataError, match=re.escape(message)):
            saved_text(rule)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("where(word == 'pp').label('A')", r'got False; for a word write word.isin\("pp"\)'),
        ("count('A', where=word == 'pp') <= 1", r"for a word write word.isin"),
        ("where('pp').label('A')", "a condition is a column expression, a position or when"),
        ("where(any_of(word == 'pp', first)).label('A')", "for a word write word.isin"),
        ("count('A') > 1", "for count\\('A'\\) > 1 write >= and one more"),
        ("count('A') < 1", "write <= and one less"),
        ("count('A') != 1", r"write ~\(\.\.\. == 1\)"),
        ("1 <= count('A') <= 3", "comparisons cannot be chained: write brackets"),
        ("count('A') >= 1 & count('B') >= 1", "comparisons cannot be chained: write brackets"),
        ("1 & count('B') >= 1", "join comparisons, and count\\('B'\\) is a count: write brackets"),
    ],
)
def test_slips_get_a_hint(text, hint):
    with pytest.raises(DataError, match=hint):
        parse_rule(text)


def test_words_are_read_from_files_beside_the_rules(tmp_path):
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "months.txt").write_text("May\n\n June \nMay\n", encoding="utf-8")
    path = tmp_path / "rules.toml"
    path.write_text("[[rule]]\nrule = \"where(word.isin(read_words('lists/months.txt'))).label('date')\"\n", "utf-8")
    (rule,) = read_rules(path)
    assert saved_text(rule) == "where(word.isin('June', 'May')).label('date')"  # the words, without the file
    assert read_words(tmp_path / "lists" / "months.txt") == ["May", "June"]
    assert repr(given_rules(str(path))) == repr([rule])


def test_words_that_cannot_be_read(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text("[[rule]]\nrule = \"where(word.isin(read_words('none.txt'))).label('date')\"\n", "utf-8")
    with pytest.raises(DataError, match=r"rules\.toml:2.*none\.txt: cannot read: it does not exist; check the path"):
        read_rules(path)
    (tmp_path / "none.txt").write_text(" \n", "utf-8")
    with pytest.raises(DataError, match=r"none\.txt: there are no words in it; write one on a line"):
        read_rules(path)
    with pytest.raises(DataError, match="'read_words' is not known here"):  # as in model files
        parse_rule("where(word.isin(read_words('none.txt'))).label('date')")
    with pytest.raises(DataError, match="a word list is read from the path of a file, got 3"):
        read_words(3)


def test_a_rule_in_the_place_of_a_file():
    assert list(map(repr, given_rules("bio()"))) == ["(bio()).hard()"]
    with pytest.raises(DataError, match="did you mean 'bioes'"):
        given_rules("biose()")
    with pytest.raises(DataError, match="did you mean 'bio'"):
        given_rules("boi()")
    with pytest.raises(DataError, match="does not exist"):
        given_rules("rules.toml")


def test_titles_of_long_rules_are_short():
    rule = where(word.isin(f"word{k}" for k in range(1000))).label("A")
    assert len(rule.title) == 160
    assert rule.title.startswith("where(word.isin('word0', ")
    assert rule.title.endswith(".label('A')")


def test_a_place_without_a_label_is_no_rule():
    with pytest.raises(DataError, match=r"it names no label; add \.label\('author'\)"):
        parse_rule("where(word.isdigit())")


def naming(tmp_path, argument):
    """A rule file whose rule reads words from what is named."""
    path = tmp_path / "rules.toml"
    path.write_text(f"[[rule]]\nrule = '''where(word.isin(read_words({argument}))).label(\"date\")'''\n", "utf-8")
    return path


@pytest.mark.parametrize("name", ["/dev/zero", "pipe", "."])
def test_words_are_read_from_regular_files_alone(name, tmp_path):
    """A device has no end, and a pipe without a writer keeps its reader waiting."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match=r"rules\.toml:2.*: cannot read: it is no regular file"):
        read_rules(naming(tmp_path, repr(name)))


def test_words_of_a_rule_in_the_place_of_a_file_are_read_from_regular_files_alone():
    with pytest.raises(DataError, match="/dev/zero: cannot read: it is no regular file"):
        given_rules("where(word.isin(read_words('/dev/zero'))).label('date')")


def test_word_lists_are_not_endless(tmp_path):
    with open(tmp_path / "words.txt", "wb") as file:
        file.truncate(1 << 27)  # which takes no room on the disk
    with pytest.raises(DataError, match=r"words\.txt: cannot read: it has 134,217,728 bytes, and at most 67,108,864"):
        read_rules(naming(tmp_path, "'words.txt'"))


@pytest.mark.parametrize("argument", ["3", "['a']", "'a\\x00b'"])
def test_names_of_word_lists_that_are_none(argument, tmp_path):
    with pytest.raises(DataError, match=r"rules\.toml:2"):
        read_rules(naming(tmp_path, argument))
