"""CoNLL-U, the ten-column format of Universal Dependencies (https://universaldependencies.org/format.html)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sidelight.data.source import (
    Inputs,
    InputsLike,
    Label,
    Lines,
    Outputs,
    OutputsLike,
    Source,
    Target,
    Token,
    open_for_writing,
    partial_label,
    read_lines,
)
from sidelight.errors import DataError

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
KEYED = ("feats", "misc")
UNIVERSAL_TAGS = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ"),
    *("SYM", "VERB", "X"),
)
EMPTY = "_"
_RANGE_OR_EMPTY_NODE = re.compile(r"[1-9][0-9]*-[1-9][0-9]*|[0-9]+\.[1-9][0-9]*")
Word = tuple[int, list[str]]
"""Line number and ten columns."""


def read_conllu(
    source: Source, *, columns: str | Sequence[str] = "form", label: str | None = "upos", partial: bool = False
) -> tuple[Inputs, Outputs]:
    """Read the words of a treebank in CoNLL-U.

    A column is one of ``id form lemma upos xpos feats head deprel deps misc``, or a key of two of them such as
    ``feats:Number``. Comments, multiword ranges (``1-2``) and empty nodes (``1.1``) are skipped.

    Parameters
    ----------
    source : str, path-like, file or iterable of str
        A path, "-" for standard input, an open file, or lines.
    columns : str or sequence of str, default='form'
        The columns that tokens are made of.
    label : str or None, default='upos'
        The column of the labels. With None every `y[i]` is None.
    partial : bool, default=False
        Whether the label ``?`` is unknown (None) and ``A|B`` is one of these (a frozenset), as in columns.

    Returns
    -------
    X : list of list
        The tokens of each sentence: strings for one column, else tuples.
    y : list
        The labels of each sentence. The label ``_`` is unknown (None), and a sentence of such labels only has None for
        labels; but for ``feats:Number``, ``_`` is the label of words without number.
    """
    lines = read_lines(source)
    token = token_reader(columns, lines)
    label_reader = None if label is None else _reader(label, lines)
    unknown = None if label is None or ":" in label else EMPTY
    X: Inputs = []
    y: Outputs = []
    for words in sentences(lines):
        X.append(list(map(token, words)))
        if label_reader is None:
            y.append(None)
            continue
        labels: list[Label] = [None if (name := label_reader(word)) == unknown else name for word in words]
        if partial:
            labels = [
                partial_label(name, lines, number) if isinstance(name, str) else name
                for name, (number, _) in zip(labels, words, strict=True)
            ]
        y.append(None if labels.count(None) == len(labels) else labels)
    return X, y


def write_conllu(
    target: Target,
    X: InputsLike,
    y: OutputsLike | None = None,
    *,
    columns: str | Sequence[str] = "form",
    label: str = "upos",
) -> None:
    """Write a ten-column file of CoNLL-U, with ``_`` where nothing is given.

    Parameters
    ----------
    target : str, path-like or file
        A path, "-" for standard output, or an open file.
    X : sequence
        The tokens of each sentence: strings, or tuples of several columns.
    y : sequence or None, default=None
        The labels of each sentence; an unknown label is written ``_``.
    columns : str or sequence of str, default='form'
        The columns that the tokens are written into, named as in `read_conllu`.
    label : str, default='upos'
        The column that the labels are written into, named as in `read_conllu`.
    """
    if y is not None and len(X) != len(y):
        raise DataError(f"expected as many label sequences as token sequences ({len(X)}), got {len(y)}")
    names = _names(columns)
    for name in [*names, label]:
        _locate(name)
    with open_for_writing(target) as file:
        for index, tokens in enumerate(X):
            labels = _label_cells(None if y is None else y[index], len(tokens), index)
            for position, (token, text) in enumerate(zip(tokens, labels, strict=True)):
                row = [str(position + 1), *[EMPTY] * 9]
                for name, value in zip(names, _token_cells(token, len(names), index), strict=True):
                    _set_cell(row, name, value, index, position)
                if y is not None:
                    _set_cell(row, label, text, index, position)
                file.write("\t".join(row) + "\n")
            file.write("\n")


def sentences(lines: Lines) -> Iterable[list[Word]]:
    """Yield the words of each sentence, without comments, multiword ranges and empty nodes."""
    words: list[Word] = []
    for number, line in enumerate(lines.lines, start=1):
        if not line.strip():
            if words:
                yield words
            words = []
        elif not line.startswith("#"):
            row = line.split("\t")
            if _is_word(lines, number, row, expected=str(len(words) + 1)):
                words.append((number, row))
    if words:
        yield words


def _is_word(lines: Lines, number: int, row: list[str], expected: str) -> bool:
    if len(row) != 10:
        advice = "CoNLL-U columns are separated by single tabs"
        line = lines.lines[number - 1]
        raise lines.error(number, f"expected 10 columns, found {len(row)}: {line!r}; {advice}")
    if row[0] == expected:
        return True
    if _RANGE_OR_EMPTY_NODE.fullmatch(row[0]):
        return False
    advice = "words count from 1, with a blank line between sentences"
    raise lines.error(number, f"expected {expected!r} in the ID column, found {row[0]!r}; {advice}")


def _names(columns: str | Sequence[str]) -> list[str]:
    names = [columns] if isinstance(columns, str) else list(columns)
    if not names:
        raise DataError("expected at least one column to make tokens of, got none; the usual one is 'form'")
    return names


def _locate(name: str) -> tuple[int, str]:
    """Return the index of a column, and the key inside it or an empty string."""
    column, colon, key = name.partition(":")
    if column not in COLUMNS or (colon and (column not in KEYED or not key)):
        raise DataError(
            f"expected one of the columns {', '.join(COLUMNS)}, or a key such as feats:Number or "
            f"misc:SpaceAfter; got {name!r}"
        )
    return COLUMNS.index(column), key


def _reader(name: str, lines: Lines) -> Callable[[Word], str]:
    """Return a function from a word to its value in the named column."""
    index, key = _locate(name)
    if not key:
        return lambda word: word[1][index]

    def read_key(word: Word) -> str:
        number, row = word
        if row[index] == EMPTY:
            return EMPTY
        values = _key_values(row[index])
        if COLUMNS[index] == "feats" and None in values.values():  # MISC may hold anything
            raise lines.error(number, f"expected Key=Value|Key=Value or _ in FEATS, found {row[index]!r}")
        return values.get(key) or EMPTY

    return read_key


def _key_values(cell: str) -> dict[str, str | None]:
    """Parse ``Case=Nom|Number=Sing``; a part without ``=`` has the value None."""
    parts = (part.partition("=") for part in cell.split("|"))
    return {key: value if equals else None for key, equals, value in parts}


def token_reader(columns: str | Sequence[str], lines: Lines) -> Callable[[Word], Token]:
    """Return a function from a word to its token, a string for one column and else a tuple."""
    readers = [_reader(name, lines) for name in _names(columns)]
    return lambda word: readers[0](word) if len(readers) == 1 else tuple(read(word) for read in readers)


def _label_cells(labels: Any, length: int, index: int) -> list[str]:
    if labels is None:
        return [EMPTY] * length
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise DataError(f"sequence {index}: CoNLL-U cannot hold {labels!r} as labels; write JSON lines")
    cells = [EMPTY if label is None else label for label in labels]
    for cell in cells:
        if not isinstance(cell, str):
            raise DataError(f"sequence {index}: CoNLL-U holds one label a word, got {cell!r}; write JSON lines")
    if len(cells) != length:
        raise DataError(f"sequence {index}: expected {length} labels, one a token, got {len(cells)}")
    return cells


def _token_cells(token: Token, width: int, index: int) -> Sequence[str]:
    if isinstance(token, dict):
        raise DataError(f"sequence {index}: CoNLL-U cannot hold tokens that are dicts; write JSON lines")
    cells = (token,) if isinstance(token, str) else token
    if len(cells) != width:
        raise DataError(
            f"sequence {index}: expected tokens of {width} columns, got {token!r}; name each with columns=..."
        )
    return cells


def _set_cell(row: list[str], name: str, value: str, index: int, position: int) -> None:
    if not value or "\t" in value or "\n" in value or "\r" in value:
        raise DataError(
            f"sequence {index}, position {position}: expected text without tabs and line ends for {name}, got {value!r}"
        )
    at, key = _locate(name)
    if not key:
        row[at] = value
    elif value != EMPTY:
        values = {} if row[at] == EMPTY else _key_values(row[at])
        values[key] = value
        row[at] = "|".join(f"{k}={values[k]}" for k in sorted(values, key=str.lower))
