"""Rules as text: one expression, or a TOML file of them.

[words]                               # word lists for the rules below
venues = ["proc", "journal"]

[[rule]]
name = "venue"
rule = "where(word.lower().isin(venues)).label('journal', 'booktitle')"
reading = "soft"                      # or "hard", "expected"; left out, the learner decides
penalty = 3.0                         # left out, it is learned from labelled data
"""

import tomllib
from collections.abc import Mapping
from os import PathLike
from typing import Any

from ..data.source import read_lines
from ..errors import DataError
from ..expressions import ExpressionError, evaluate
from ..features.columns import column, pos, word
from . import conditions, language
from .language import Rule

_NAMES: dict[str, Any] = {
    "word": word,
    "pos": pos,
    "column": column,
    "punctuation": language.punctuation,
    **{n: getattr(language, n) for n in (
        "count", "runs", "transitions", "changes", "share", "each", "others", "starts_with", "ends_with", "once_each",
        "changes_only_after", "min_length", "before", "where",
    )},
    **{n: getattr(conditions, n) for n in ("first", "last", "position", "any_of", "all_of")},
}  # fmt: skip
_KEYS = {"name", "rule", "reading", "penalty"}


def parse_rule(text: str, words: Mapping[str, Any] | None = None) -> Rule:
    """Read one rule, for example "count('author') >= 1"."""
    value = evaluate(text, {**_NAMES, **(words or {})})
    if not isinstance(value, Rule):
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


def read_rules(source: str | PathLike[str]) -> list[Rule]:
    """Read a TOML file of rules; errors name the file, line and column."""
    lines = read_lines(source)
    text = "\n".join(lines.lines)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{lines.name}: {error}") from None
    unknown = set(content) - {"words", "rule"}
    if unknown:
        raise DataError(f"{lines.name}: unknown section {sorted(unknown)[0]!r}; a rule file has [words] and [[rule]]")
    words, entries = content.get("words", {}), content.get("rule", [])
    if not isinstance(entries, list) or not entries:
        raise DataError(f'{lines.name}: no rules found; each rule is a [[rule]] section with a line rule = "..."')
    return [_entry(entry, words, lines.name, text) for entry in entries]


def _entry(entry: dict[str, Any], words: Mapping[str, Any], name: str, text: str) -> Rule:
    written = entry.get("rule")
    if not isinstance(written, str):
        raise DataError(f'{name}: a [[rule]] section has no line rule = "...": {entry!r}')
    line, column_before = _place(written, text)
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
    if reading not in ("hard", "expected"):
        raise DataError(f"reading is hard, soft or expected, got {reading!r}")
    if penalty is not None:
        raise DataError(f"a rule that is {reading} has no penalty")
    return rule.hard() if reading == "hard" else rule.expected()


def _place(written: str, text: str) -> tuple[int, int]:
    """Line of a rule's expression in the file, and how many characters stand before it."""
    for number, line in enumerate(text.split("\n"), start=1):
        at = line.find(written)
        if at >= 0:
            return number, at
    return 1, 0
