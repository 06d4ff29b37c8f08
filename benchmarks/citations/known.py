"""What is known about references: the rules of Table 3.1 of M.-W. Chang 2011."""

from collections.abc import Sequence

from sidelight import changes_only_after, once_each, punctuation, starts_with, where, word
from sidelight.rules.language import Rule

# Hard rules cannot all hold in a few references, so they are soft rules that no score outweighs.
LARGE = 100.0
_lower = word.lower()
_NAMED: dict[str, Rule] = {
    "Start": starts_with("author", "editor"),
    "AppearsOnce": once_each(),
    "Punctuation": changes_only_after(punctuation),
    "BookJournal": where(_lower.isin("proc", "journal", "proceedings", "acm")).label("journal", "booktitle"),
    "Date": where(word.matches("^(19|20)[0-9][0-9]$")).label("date"),
    "Editors": where(_lower.isin("ed", "editors")).label("editor"),
    "Journal": where(_lower.isin("journal")).label("journal"),
    "Note": where(_lower.isin("note", "submitted", "appear")).label("note"),
    "Pages": where(_lower.isin("pp", "pp.", "pages")).label("pages"),
    "TechReport": where(_lower.isin("tech", "technical")).label("tech"),
    "Title": where(word.matches(r"^(\"$|``)|''$")).label("title"),
    "Location": where(word.isin("CA", "Australia", "NY")).label("location"),
}
RULES: dict[str, Rule] = {name: rule.named(name) for name, rule in _NAMED.items()}


def soft(*names: str) -> list[Rule]:
    """Rules whose penalties are learned: all, or these."""
    return [RULES[name] for name in names or RULES]


def hard(*names: str) -> list[Rule]:
    """Rules that are as good as hard: all, or these."""
    return as_hard(soft(*names))


def as_hard(rules: Sequence[Rule]) -> list[Rule]:
    """The same rules at a penalty of `LARGE`."""
    return [rule.soft(LARGE) for rule in rules]
