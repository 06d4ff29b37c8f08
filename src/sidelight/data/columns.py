"""CoNLL columns: a token a line, its columns side by side, a blank line between sequences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from sidelight.data.source import (
    ALTERNATIVE,
    ASCII_SPACE,
    UNKNOWN,
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
    split_at_spaces,
)
from sidelight.errors import DataError

LABEL = "label"
LEFT_OUT = "_"
_FIRST = ("word", "pos")


def read_columns(
    source: Source,
    *,
    label: int | None = -1,
    separator: str | None = None,
    partial: bool = False,
    comment: str | None = None,
    columns: Sequence[str] | None = None,
) -> tuple[Inputs, Outputs]:
    """Read tokens and labels from columns.

    Parameters
    ----------
    source : str, path-like, file or iterable of str
        A path, "-" for standard input, an open file, or lines.
    label : int or None, default=-1
        The label's column, from 0, or from the end if negative. None is for a file without labels: then every `y[i]` is
        None.
    separator : str or None, default=None
        What separates columns; None is any run of spaces and tabs. With ``"\\t"``, tokens may contain spaces.
    partial : bool, default=False
        Whether the label ``?`` is unknown (None) and ``A|B`` is one of these (a frozenset).
    comment : str or None, default=None
        Lines that start with it are skipped; None skips none.
    columns : sequence of str or None, default=None
        A name for every column of the file. The one called ``label`` holds the labels, whatever `label` is; without
        one every `y[i]` is None. Those called ``_`` are left out. Tokens have the others in this order, but ``word``
        and ``pos`` first, since features and rules call the first two columns so. None keeps all columns.

    Returns
    -------
    X : list of list
        The tokens of each sequence: strings if one column remains beside the label, else tuples.
    y : list
        The labels of each sequence, or None.
    """
    lines = read_lines(source)
    split = _splitter(separator)
    if isinstance(columns, str):
        raise DataError(f"columns is a list of names; write {columns.split(',')!r}, got {columns!r}")
    named = None if columns is None else named_columns(columns)
    if named is not None:
        label = named.label
    X: Inputs = []
    y: Outputs = []
    tokens: list[Token] = []
    labels: list[Label] = []
    width = 0
    for number, line in enumerate(lines.lines, start=1):
        if not line.strip(ASCII_SPACE):
            if tokens:
                X.append(tokens)
                y.append(None if label is None else labels)
                tokens, labels = [], []
            continue
        if comment and line.startswith(comment):
            continue
        fields = split(line)
        if len(fields) != width:
            width = _check_width(lines, number, len(fields), width, label, columns)
        if label is not None:
            name = fields[label]
            if not name:
                raise lines.error(number, f"expected a label, found an empty column: {line!r}")
            labels.append(partial_label(name, lines, number) if partial else name)
        if named is not None:
            fields = [fields[k] for k in named.token]
        elif label is not None:
            del fields[label]
        tokens.append(fields[0] if len(fields) == 1 else tuple(fields))
    if tokens:
        X.append(tokens)
        y.append(None if label is None else labels)
    return X, y


class NamedColumns(NamedTuple):
    """Where the columns of a file are: those of tokens, in the order that tokens have them, their names, the label."""

    token: tuple[int, ...]
    names: tuple[str, ...]
    label: int | None


def named_columns(columns: Sequence[str]) -> NamedColumns:
    """Return what the names of a file's columns say; see `read_columns`."""
    kept = [name for name in columns if name not in (LABEL, LEFT_OUT)]
    for name in columns:
        if not name or (name != LEFT_OUT and list(columns).count(name) > 1):
            found = f"{name!r} twice" if name else "an empty name"
            raise DataError(f"expected a name of its own for every column, got {found}; {LEFT_OUT} leaves a column out")
    if not kept:
        raise DataError(f"expected a column that tokens are made of, got only {', '.join(columns)}")
    order = sorted(kept, key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))
    if "pos" in order and "word" not in order:
        raise DataError("expected a column called word before the one called pos, got none; name one of them word")
    return NamedColumns(
        tuple(map(list(columns).index, order)), tuple(order), columns.index(LABEL) if LABEL in columns else None
    )


def column_rows(source: Source, *, separator: str | None = None, comment: str | None = None) -> list[list[list[str]]]:
    """Return every column of every token, as the file has them."""
    split, rows = _splitter(separator), list[list[list[str]]]()
    fresh = True
    for line in read_lines(source).lines:
        if not line.strip(ASCII_SPACE):
            fresh = True
        elif not (comment and line.startswith(comment)):
            if fresh:
                rows.append([])
            rows[-1].append(split(line))
            fresh = False
    return rows


def write_columns(target: Target, X: InputsLike, y: OutputsLike | None = None, *, separator: str = "\t") -> None:
    """Write tokens in columns and, if labels are given, the label last.

    Parameters
    ----------
    target : str, path-like or file
        A path, "-" for standard output, or an open file.
    X : sequence
        The tokens of each sequence: strings, or tuples of several columns.
    y : sequence or None, default=None
        The labels of each sequence. An unknown label is written ``?``, one of these ``A|B``.
    separator : str, default='\\t'
        What separates columns.
    """
    if y is not None and len(X) != len(y):
        raise DataError(f"expected as many label sequences as token sequences ({len(X)}), got {len(y)}")
    partial = y is not None and any(_is_partial(labels) for labels in y)
    taken = re.compile(f"[\r\n{ASCII_SPACE if separator == ' ' else ''}]|{re.escape(separator)}")
    with open_for_writing(target) as file:
        for index, tokens in enumerate(X):
            rows = [_columns_of(token, index) for token in tokens]
            if y is not None:
                rows = _with_labels(rows, y[index], index, partial)
            for position, row in enumerate(rows):
                line = separator.join(row)
                # The line must be read back as the same columns.
                if taken.search("".join(row)) or not line.strip(ASCII_SPACE) or (separator == " " and "" in row):
                    raise _unwritable(row, separator, index, position)
                file.write(line + "\n")
            file.write("\n")


def _splitter(separator: str | None) -> Callable[[str], list[str]]:
    if separator is not None:
        return lambda line: line.split(separator)
    return split_at_spaces


def _check_width(
    lines: Lines, number: int, found: int, expected: int, label: int | None, columns: Sequence[str] | None
) -> int:
    """Return the number of columns if this is the first line with any and the label's column exists."""
    content = repr(lines.lines[number - 1])
    if columns is not None and found != len(columns):
        advice = f"name every column, with {LEFT_OUT} for those to leave out"
        raise lines.error(
            number, f"expected {len(columns)} columns ({', '.join(columns)}), found {found}: {content}; {advice}"
        )
    if expected:
        advice = "mend the line, or give the separator of the columns"
        raise lines.error(number, f"expected {expected} columns, found {found}: {content}; {advice}")
    if label is None:
        return found
    if found < 2:
        advice = "give the separator of the columns; sequences without labels are read with label=None"
        raise lines.error(number, f"expected a token and a label, found {found} column: {content}; {advice}")
    if not -found <= label < found:
        raise lines.error(number, f"expected the label in column {label}, found {found} columns: {content}")
    return found


def _columns_of(token: Token, index: int) -> list[str]:
    if isinstance(token, str):
        return [token]
    if isinstance(token, dict):
        raise DataError(f"sequence {index}: columns cannot hold tokens that are dicts; write JSON lines")
    return list(token)


def _is_partial(labels: object) -> bool:
    return not isinstance(labels, Iterable) or not all(isinstance(label, str) for label in labels)


def _with_labels(rows: list[list[str]], labels: Any, index: int, partial: bool) -> list[list[str]]:
    if labels is None:
        return [[*row, UNKNOWN] for row in rows]
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise DataError(f"sequence {index}: columns cannot hold {labels!r} as labels; write JSON lines")
    texts = [_label_text(label, index, partial) for label in labels]
    if len(texts) != len(rows):
        raise DataError(f"sequence {index}: expected {len(rows)} labels, one a token, got {len(texts)}")
    return [[*row, text] for row, text in zip(rows, texts, strict=True)]


def _label_text(label: object, index: int, partial: bool) -> str:
    if isinstance(label, str):
        if not label:
            raise DataError(f"sequence {index}: expected a label, got an empty string; use None if it is unknown")
        if partial and (label == UNKNOWN or ALTERNATIVE in label):
            raise DataError(f"sequence {index}: beside partial labels, {label!r} would not be read back as one label")
        return label
    if label is None:
        return UNKNOWN
    if isinstance(label, AbstractSet) and label:
        return ALTERNATIVE.join(sorted(label))
    raise DataError(f"sequence {index}: expected a label (a string, None or a set of strings), got {label!r}")


def _unwritable(row: list[str], separator: str, index: int, position: int) -> DataError:
    return DataError(
        f"sequence {index}, position {position}: columns are separated by {separator!r}, so {row!r} would not be "
        "read back as it is; use another separator or write JSON lines"
    )
