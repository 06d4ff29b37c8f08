"""Rules as text: one expression, or a TOML file of them.

[words]                               # word lists for the rules below
venues = ["proc", "journal"]

[[rule]]
name = "venue"
rule = "where(word.lower().isin(venues)).label('journal', 'booktitle')"   # or .isin(read_words('venues.txt'))
reading = "soft"                      # or "hard", "expected"; left out, the learner decides
penalty = 3.0                         # left out, it is learned from labelled data (expected: the learner's own)
"""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import FunctionType
from typing import Any

from ..data.source import read_lines, require_regular
from ..errors import DataError
from ..expressions import ExpressionError, evaluate
from ..features.columns import column, pos, word
from . import WORDS
from .language import Rule
from .usual import Place

_NAMES: dict[str, Any] = {
    "word": word,
    "pos": pos,
    "column": column,
    **{name: getattr(import_module(f".{module}", __package__), name) for name, module in WORDS.items()},
}
# A word list that a rule names may have so many bytes.
_MOST_BYTES = 1 << 26
_KEYS = {"name", "rule", "reading", "penalty"}


def parse_rule(text: str, words: Mapping[str, Any] | None = None) -> Rule:
    """Read one rule from its text, for example "count('author') >= 1".

    No file is opened: `read_words` is for rule files and for Python.

    Parameters
    ----------
    text : str
        The rule as it is written in Python or in a rule file.
    words : mapping or None, default=None
        Word lists by the names that the text may use.

    Returns
    -------
    Rule
        The rule.
    """
    value = evaluate(text, {**_NAMES, **(words or {})})
    if not isinstance(value, Rule):
        if isinstance(value, Place):
            raise DataError(f"{text!r} is not a rule: it names no label; add .label('author'), or .never('author')")
        if isinstance(value, FunctionType):
            raise DataError(f"{text!r} is not a rule: it is a function; write {text.strip()}(...)")
        raise DataError(f"{text!r} is not a rule: a count needs a bound, as in count('author') >= 1")
    return value


def saved_text(rule: Rule) -> str:
    """The rule as text that `parse_rule` reads back; a rule with a Python function in it has none."""
    text = repr(rule)
    try:
        parse_rule(text)
    except DataError:
        raise DataError(f"the rule {rule.title!r} cannot be written to a file: it holds a Python function") from None
    return text


def read_words(source: str | PathLike[str]) -> list[str]:
    """Read a word list from a file, one word on a line; blank lines are skipped.

    In a rule file, `word.isin(read_words("months.txt"))` reads a list beside it: a path that is not absolute is looked
    for in the folder of the rule file. Rules keep the words, so that a model does not need the file.

    Parameters
    ----------
    source : str or path-like
        The file, in UTF-8.

    Returns
    -------
    list of str
        The words, in the order of the file, each once.

    Raises
    ------
    DataError
        If the file cannot be read or has no words.
    """
    if not isinstance(source, str | PathLike):
        raise DataError(f"a word list is read from the path of a file, got {source!r}")
    lines = read_lines(source)
    words = list(dict.fromkeys(filter(None, map(str.strip, lines.lines))))
    if not words:
        raise DataError(f"{lines.name}: there are no words in it; write one on a line")
    return words


def _words_beside(folder: Path, path: Any) -> list[str]:
    """The words of a file that a rule names."""
    if not isinstance(path, str):
        raise DataError(f"a word list is read from the path of a file, got {path!r}")
    place = os.path.join(folder, path)
    require_regular(place, _MOST_BYTES)
    return read_words(place)


def given_rules(argument: str) -> list[Rule]:
    """The rules of a command line: those of a file, or the one whose text is given, such as "bio()"."""
    if "(" in argument and not os.path.exists(argument):
        return [parse_rule(argument, {"read_words": partial(_words_beside, Path())})]
    return read_rules(argument)


def read_rules(source: str | PathLike[str]) -> list[Rule]:
    """Read a TOML file of rules.

    Parameters
    ----------
    source : str or path-like
        The rule file.

    Returns
    -------
    list of Rule
        The rules, in the order of the file.

    Raises
    ------
    DataError
        If the file is malformed; the message names the file, line and column.
    """
    lines = read_lines(source)
    text = "\n".join(lines.lines)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _toml_place(str(error), len(lines.lines))
        raise DataError(f"{lines.name}:{place}; a rule file is TOML, with [words] and [[rule]]") from None
    except RecursionError:
        raise DataError(f"{lines.name}: brackets are nested too deeply; a rule file has [words] and [[rule]]") from None
    except ValueError:
        raise DataError(f"{lines.name}: a number has more digits than can be read") from None
    unknown = sorted(set(content) - {"words", "rule"})
    if unknown:
        line = _first_line(lines.lines, rf"\s*\[*\s*{re.escape(unknown[0])}\b")
        raise lines.error(line, f"unknown section {unknown[0]!r}; a rule file has [words] and [[rule]]")
    words, entries = content.get("words", {}), content.get("rule", [])
    folder = Path(source).parent if isinstance(source, str | PathLike) else Path()
    if not isinstance(words, dict):
        raise lines.error(_first_line(lines.lines, r"\s*words\b"), "words is a section of word lists: [words]")
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        line = _first_line(lines.lines, r"\s*\[?\s*rule\b")
        raise lines.error(line, 'no rules found; each rule is a [[rule]] section with a line rule = "..."')
    heads = [k for k, line in enumerate(lines.lines) if re.match(r"\s*\[\[\s*rule\s*\]\]", line)]
    if len(heads) != len(entries):  # written as inline tables
        heads = [0] * len(entries)
    offered = {"read_words": partial(_words_beside, folder), **words}
    return [
        _entry(entry, offered, lines.name, lines.lines, head, end)
        for entry, head, end in zip(entries, heads, [*heads[1:], len(lines.lines)], strict=True)
    ]


def _entry(
    entry: dict[str, Any], words: Mapping[str, Any], name: str, lines: Sequence[str], head: int, end: int
) -> Rule:
    written = entry.get("rule")
    if not isinstance(written, str):
        raise DataError(f'{name}:{head + 1}: this [[rule]] section has no line rule = "...": {entry!r}')
    line, column_before = _place(written, lines, head, end)
    unknown = set(entry) - _KEYS
    if unknown:
        raise DataError(f"{name}:{line}: unknown key {sorted(unknown)[0]!r}; a rule has {', '.join(sorted(_KEYS))}")
    try:
        rule = parse_rule(written, words)
        reading, penalty = entry.get("reading"), entry.get("penalty")
        if reading is None and penalty is not None:
            reading = "soft"
        if reading is not None:
            rule = _read_as(rule, reading, penalty)
    except ExpressionError as error:
        raise DataError(f"{name}:{line}:{column_before + error.column}: {error.message}, in {written!r}") from None
    except DataError as error:
        raise DataError(f"{name}:{line}: {error}") from None
    return rule.named(str(entry["name"])) if "name" in entry else rule


def _read_as(rule: Rule, reading: Any, penalty: Any) -> Rule:
    if penalty is not None and not isinstance(penalty, int | float):
        raise DataError(f"a penalty is a number, got {penalty!r}")
    if reading == "soft":
        return rule.soft(penalty)
    if reading == "expected":
        return rule.expected(penalty)
    if reading != "hard":
        raise DataError(f"reading is hard, soft or expected, got {reading!r}")
    if penalty is not None:
        raise DataError("a rule that is hard has no penalty")
    return rule.hard()


def _place(written: str, lines: Sequence[str], head: int, end: int) -> tuple[int, int]:
    """Line of a rule's expression in its section, and how many characters stand before it."""
    for number in range(head, max(end, head + 1)):
        key = re.match(r"\s*rule\s*=\s*['\"]*", lines[number])
        if key:
            return number + 1, max(lines[number].find(written), key.end())
    at = [(number + 1, line.find(written)) for number, line in enumerate(lines) if written in line]
    return at[0] if at else (head + 1, 0)


def _first_line(lines: Sequence[str], pattern: str) -> int:
    return next((k for k, line in enumerate(lines, start=1) if re.match(pattern, line)), 1)


def _toml_place(message: str, lines: int) -> str:
    """The message of a TOML error with its place in front."""
    found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL)
    return f"{found[2]}:{found[3]}: {found[1]}" if found else f"{max(lines, 1)}: {message}"
