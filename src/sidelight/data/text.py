"""Plain text, one sequence a line, cut into tokens by a few fixed rules or at its spaces."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from sidelight.data.source import (
    Inputs,
    InputsLike,
    Outputs,
    OutputsLike,
    Source,
    Target,
    open_for_writing,
    read_lines,
    split_at_spaces,
)
from sidelight.errors import DataError

_JOINERS = "\u200c\u200d"


def tokenize(text: str) -> list[str]:
    """Cut text into words, numbers and punctuation marks; only white space is dropped.

    A number keeps the commas and points inside it (``1,234.5``). A word is a run of letters, digits and underscores
    with the apostrophes and hyphens inside it (``don't``, ``well-known``, ``1990-95``). Every other character stands by
    itself (``...`` is three tokens). Accents and vowel signs written as separate code points stay with the character
    they modify.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    list of str
        The tokens.
    """
    return _pattern("" if text.isascii() else _marks(text)).findall(text)


def read_text(source: Source, *, tokenized: bool = False) -> tuple[Inputs, Outputs]:
    """Read one sequence a line from plain text, cut by `tokenize`; blank lines are skipped.

    Parameters
    ----------
    source : str, path-like, file or iterable of str
        A path, "-" for standard input, an open file, or lines.
    tokenized : bool, default=False
        Whether the text is cut into tokens already, with spaces or tabs between them: then these are left as they are.

    Returns
    -------
    X : list of list of str
        The tokens of each sequence.
    y : list
        None for every sequence.
    """
    cut = split_at_spaces if tokenized else tokenize
    X: Inputs = [list(tokens) for line in read_lines(source).lines if (tokens := cut(line))]
    return X, [None] * len(X)


def write_text(target: Target, X: InputsLike, y: OutputsLike | None = None) -> None:
    """Write the tokens of a sequence on a line, with spaces between.

    Parameters
    ----------
    target : str, path-like or file
        A path, "-" for standard output, or an open file.
    X : sequence of sequence of str
        The tokens of each sequence.
    y : sequence or None, default=None
        None, or a sequence of None only, since text has no place for labels.
    """
    if y is not None and any(labels is not None for labels in y):
        raise DataError("plain text has no place for labels; write columns, tsv or jsonl")
    with open_for_writing(target) as file:
        for index, tokens in enumerate(X):
            words = [token for token in tokens if isinstance(token, str)]
            if len(words) != len(tokens):
                raise DataError(f"sequence {index}: plain text holds tokens of one column; write columns or jsonl")
            line = " ".join(words)
            if "\n" in line or "\r" in line:
                raise DataError(f"sequence {index}: expected tokens without line ends, got {line!r}; write jsonl")
            file.write(line + "\n")


def _marks(text: str) -> str:
    found = {c for c in text if c in _JOINERS or unicodedata.category(c).startswith("M")}
    return "".join(sorted(found))


@lru_cache(maxsize=256)
def _pattern(marks: str) -> re.Pattern[str]:
    # Python's \w leaves out combining marks, and re has no class for them: those in the text are added by hand.
    mark = f"[{re.escape(marks)}]*" if marks else ""
    letters = rf"(?:\w{mark})+"
    return re.compile(rf"\d+(?:[.,]\d+)+|{letters}(?:['’\-]{letters})*|[^\w\s]{mark}")
