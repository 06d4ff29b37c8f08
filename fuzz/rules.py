"""Random rules, through `check` and through `CCM`.

A case writes a few rules, from the grammar of the language with numbers, names and expressions of every kind, some of
them altered as text. It reads them, counts violations, and predicts under them with a time limit. Hard rules must hold
in what is predicted, and no score may be above its bound.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from sidelight import CCM, HMM, check
from sidelight.errors import SidelightError
from sidelight.inference.compiled import CompiledRules
from sidelight.rules.files import parse_rule
from sidelight.rules.language import Rule

_LABELS = ("A", "B", "C")
_WORDS = ("Ann", "saw", "12", "1999", ",", "(", "", "x" * 40, "aaaaaaaaaaaaaaaaaaaaaaaa!", "é", "B-LOC")
_TAGS = ("N", "V", "")
# Seconds for each sequence.
_TIME_LIMIT = 1.0

# What most numbers, labels and patterns are, and what a few of them are.
_NUMBERS = ("0", "1", "1", "2", "2", "3")
_ODD_NUMBERS = (
    "-1", "0.5", "1.5", "-0.3", "0.333333333", "1e-9", "7", "100", "1e5", "1e9", "1000000000", "1e15", "1e16", "1e300",
    "1e999", "-1e9", "9" * 30, "9" * 400, "0.1", "True", "'A'", "count('A')",
)  # fmt: skip
_NAMES = ("'A'", "'B'", "'C'", "'A'", "'B'", "each", "others('A')", "['A', 'B']", "each('A', 'B')")
_ODD_NAMES = ("'D'", "''", "3", "each('D')", "others()", "word", "[]")
_PATTERNS = ("^A", "[0-9]+", "(a+)+$", "^(a|a)*b$", "(a|aa)+!", "x*x*x*x*!", "a{99}", "^[^a-z]*$", "(?i)ANN", "\\\\b1")
_ODD_PATTERNS = ("(", "[", "a{99999}", "(?=a)", "(a)\\\\1", "\\d")
_READINGS = ("hard()", "soft(2)", "soft(1e300)", "soft()", "expected()", "over_corpus()")
_MARKS = ("", "", "(", ")", "'", "~", "&", "|", " ", "\\", "\x00", ".", "9", "é", "[-1]", "**", "lambda")
# How often something odd is written.
_ODD = 0.04
_trained: list[Any] = []


def setup(folder: Path) -> None:
    """Trains the model that rules are put around, and predicts under rules once, so that kernels are compiled."""
    _model()
    for text in ("count('A') == 2", "runs(each) <= 1", "(count('A') >= 1) | (count('B') >= 1)"):
        _predict([parse_rule(text).soft(9.0)], _inputs(Random(0), 5, 6))


def _model() -> Any:
    """The model, trained when it is first asked for."""
    if not _trained:
        random = Random(0)
        X = _inputs(random, 20, 6)
        _trained.append(HMM().fit(X, [[random.choice(_LABELS) for _ in x] for x in X]))
    return _trained[0]


def case(folder: Path, random: Random) -> str:
    """Writes rules, reads them, checks them and predicts under them."""
    rules = [rule for _ in range(random.choice((1, 1, 2, 3))) if (rule := _read(_rule(random), random)) is not None]
    if not rules:
        return "not read"
    X = _inputs(random, random.randrange(1, 4), random.choice((3, 6, 6, 40)))
    check(rules, X, [[random.choice(_LABELS) for _ in x] for x in X])
    _predict([_reading(rule, random) for rule in rules], X)
    return "predicted"


def _predict(rules: list[Rule], X: list[Any]) -> None:
    """Predicts under rules, and makes sure that the answer is what it says it is."""
    model = CCM.around(_model(), rules, time_limit=_TIME_LIMIT)
    found = model.infer(X)
    if (found.scores[:, 0] > found.bound + 1e-6 * (1 + np.abs(found.bound))).any():
        raise AssertionError("a score is above its bound")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = model.predict(X)
    hard = [rule for rule in rules if rule.reading is not None and rule.reading.kind == "hard"]
    broken = CompiledRules.compile(hard, X, _LABELS).violations(
        np.array([_LABELS.index(label) for one in predicted for label in one], np.int32)
    )
    if (broken > 1e-6).any():
        raise AssertionError(f"hard rules are broken, among {hard}")


def _inputs(random: Random, count: int, longest: int) -> list[list[tuple[str, str]]]:
    return [
        [(random.choice(_WORDS), random.choice(_TAGS)) for _ in range(random.randrange(1, longest + 1))]
        for _ in range(count)
    ]


def _read(text: str, random: Random) -> Rule | None:
    """The rule of a text, which in some cases is altered; None where it is no rule."""
    if random.random() < _ODD:
        at = random.randrange(len(text) + 1)
        text = text[:at] + random.choice(_MARKS) + text[at + random.randrange(3) :]
    try:
        return parse_rule(text)
    except SidelightError:
        return None


def _reading(rule: Rule, random: Random) -> Rule:
    """The rule as hard or soft, unless it has a reading already."""
    if rule.reading is not None:
        return rule
    return rule.hard() if random.random() < 0.5 else rule.soft(random.choice((0.0, 0.5, 3.0, 1e6, 1e-9)))


def _rule(random: Random, depth: int = 0) -> str:
    """The text of a rule."""
    kind = random.random()
    if depth < 3 and kind < 0.25:
        left, right = _rule(random, depth + 1), _rule(random, depth + 1)
        return random.choice((f"({left}) & ({right})", f"({left}) | ({right})", f"({left}) >> ({right})", f"~({left})"))
    if depth == 0 and kind < 0.3:
        return f"({_rule(random, 3)}).{random.choice(_READINGS)}"
    if kind < 0.7:
        return f"{_count(random)} {random.choice(('<=', '>=', '=='))} {_number(random)}"
    return random.choice(_NAMED)(random)


def _count(random: Random, depth: int = 0) -> str:
    """The text of a count."""
    if depth < 3 and random.random() < 0.3:
        inner = _count(random, depth + 1)
        other = _count(random, depth + 1) if random.random() < 0.6 else _number(random)
        return random.choice((f"{inner} + {other}", f"{inner} - {other}", f"{_number(random)} * ({inner})"))
    where = f"where={_condition(random)}" if random.random() < 0.4 else ""
    labels = random.choice(("", _label(random), _label(random), "'A', 'C'"))
    both = ", ".join(filter(None, (labels, where)))
    if random.random() < _ODD / 4:
        return f"count({both or _label(random)}, by=head)"
    return random.choice(
        (f"count({both})", f"count({both})", f"runs({both})", f"changes({where})",
         f"transitions({_label(random)}, {_label(random)})")
    )  # fmt: skip


def _label(random: Random) -> str:
    return random.choice(
        ("'A'", "'B'", "'C'", "'A'", "each", "others('A')", "['A', 'B']", "each('A', 'B')", "'D'", "''")
    )


def _number(random: Random) -> str:
    return random.choice(_ODD_NUMBERS if random.random() < 2 * _ODD else _NUMBERS)


def _pattern(random: Random) -> str:
    return random.choice(_ODD_PATTERNS if random.random() < _ODD else _PATTERNS)


def _column(random: Random) -> str:
    """The text of a column expression."""
    text = random.choice(("column(7)",) if random.random() < _ODD / 4 else ("word", "word", "pos", "column(1)"))
    text += random.choice(("", "", f"[{_number(random)}]", "[-1]", "[1]"))
    for _ in range(random.choice((0, 1, 1, 2))):
        text += random.choice(
            (".lower()", ".shape()", f".prefix({_number(random)})", f".suffix({_number(random)})", ".isdigit()",
             ".ispunct()", ".isin('Ann', 'N')", f".matches('{_pattern(random)}')", ".istitle()")
        )  # fmt: skip
    return text


def _condition(random: Random, depth: int = 0) -> str:
    """The text of a condition."""
    if depth < 2 and random.random() < 0.25:
        one, other = _condition(random, depth + 1), _condition(random, depth + 1)
        return random.choice(
            (f"any_of({one}, {other})", f"all_of({one}, {other})", f"~({one})", f"({one}) & ({other})")
        )
    if random.random() < _ODD / 4:
        return random.choice((f"head({_column(random)})", "root", "word == 'a'", "each"))
    place = f"position({_number(random)})"
    return random.choice((_column(random), _column(random), _column(random), "first", "last", place, "punctuation"))


_NAMED: tuple[Callable[[Random], str], ...] = (
    lambda random: f"starts_with({_label(random)})",
    lambda random: f"ends_with({_label(random)}, {_label(random)})",
    lambda random: random.choice(("once_each()", "once_each('A', 'B')")),
    lambda random: f"changes_only_after({_column(random)})",
    lambda random: f"min_length({_number(random)}, {_label(random)})",
    lambda random: f"min_length({_number(random)})",
    lambda random: f"before({_label(random)}, {_label(random)})",
    lambda random: f"where({_condition(random)}).label({_label(random)})",
    lambda random: f"where({_condition(random)}).never({_label(random)})",
    lambda random: random.choice(
        (f"share({_label(random)}) == 0.5", f"few_labels({_column(random)})", "before('A', 'B')")
    ),
)
