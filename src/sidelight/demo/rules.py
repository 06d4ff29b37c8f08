"""What is known about bibliographic references: the rules of the demo."""

from ..features.columns import word
from ..rules.language import Rule
from ..rules.usual import changes_only_after, once_each, punctuation, starts_with, where

_lower = word.lower()

REFERENCE_RULES: tuple[Rule, ...] = (
    starts_with("author", "editor"),
    once_each(),
    changes_only_after(punctuation),
    where(word.isin("p", "pp", "pages")).label("pages"),
    where(word.matches("^(19|20)[0-9][0-9]$")).label("date"),
    where(_lower.isin("ed", "eds", "editors")).label("editor"),
    where(_lower.isin("journal", "transactions")).label("journal"),
    where(_lower.isin("proc", "proceedings")).label("booktitle"),
    where(_lower.isin("technical", "thesis")).label("tech"),
    where(_lower.isin("university", "institute")).label("institution"),
    where(_lower.isin("press", "publishers")).label("publisher"),
)
