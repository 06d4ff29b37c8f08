"""Tables of pandas, polars, pyarrow and Hugging Face `datasets`: with a row for each token, or for each sequence."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from sidelight.containers import (
    column_names,
    column_values,
    is_missing,
    library_of,
    named_labels,
    table_column,
    zipped,
)
from sidelight.data.source import Inputs, Outputs
from sidelight.errors import DataError, did_you_mean


def read_table(
    table: Any, columns: str | Sequence[str], label: str | None = None, *, sequence: str | None = None
) -> tuple[Inputs, Outputs]:
    """Read sequences from a table of pandas, polars, pyarrow or Hugging Face `datasets`.

    Parameters
    ----------
    table : DataFrame, Table or Dataset
        The table.
    columns : str or sequence of str
        The column of the tokens; several columns make tokens that are tuples.
    label : str or None, default=None
        The column of the labels, where None, NaN and the like are unknown ones. Integers of a `ClassLabel` become its
        names.
    sequence : str or None, default=None
        The column that says which sequence a row belongs to, where every row is a token; the sequences come in the
        order of their first rows. Without it every row is a sequence, and its cells are lists.

    Returns
    -------
    X : list of list
        The tokens of each sequence.
    y : list
        The labels of each sequence; None where nothing is known.

    Raises
    ------
    DataError
        If a column is not there, or holds something else.
    """
    names = [columns] if isinstance(columns, str) else list(columns)
    if not names:
        raise DataError("name at least one column of the tokens")
    found = [_column(table, name) for name in names]
    labels = None if label is None else _column(table, label)
    if sequence is not None:
        return _by_token(names, found, labels, _rows_of(_column(table, sequence)), len(names) > 1)
    X: Inputs = []
    for i, row in enumerate(zip(*found, strict=True)):
        for name, cell in zip(names, row, strict=True):
            if isinstance(cell, str) or not hasattr(cell, "__len__"):
                raise DataError(
                    f"row {i}: expected a list of tokens in the column {name!r}, got {cell!r}; where every row is a "
                    "token, name the column of sequences, as in sequence='sentence'"
                )
        tokens = zipped(i, names, row)
        X.append([_text(token) for (token,) in tokens] if len(names) == 1 else [tuple(map(_text, t)) for t in tokens])
    return X, [None] * len(X) if labels is None else [_known(cell) for cell in labels]


def write_table(table: Any, y: Iterable[Any], name: str = "predicted", *, sequence: str | None = None) -> Any:
    """Put labels of sequences into a table, as a column.

    Parameters
    ----------
    table : DataFrame, Table or Dataset
        The table that the sequences were read from.
    y : iterable of sequence of str
        The labels of each sequence, such as predictions.
    name : str, default='predicted'
        The name of the column.
    sequence : str or None, default=None
        The column that says which sequence a row belongs to, as it was given to `read_table`.

    Returns
    -------
    DataFrame, Table or Dataset
        A table with the column; the one that was given stays as it was.

    Raises
    ------
    DataError
        If labels and rows do not fit together.
    """
    known = [None if labels is None else list(labels) for labels in y]
    height, values = len(table), list[Any]()
    if sequence is None:
        if len(known) != height:
            raise DataError(f"the table has {height} rows but there are labels of {len(known)} sequences")
        values = list(known)
    else:
        values = _in_rows(known, _rows_of(_column(table, sequence)), height)
    library = library_of(table)
    if library == "polars":
        return table.with_columns(sys.modules["polars"].Series(name, values))
    if library == "datasets":
        return table.add_column(name, values)
    if library == "pyarrow":
        return table.append_column(name, sys.modules["pyarrow"].array(values))
    copy = table.copy()
    copy[name] = values
    return copy


def _column(table: Any, name: str) -> list[Any]:
    """A column's values, names in the place of the integers of a `ClassLabel`."""
    names = column_names(table)
    if names is None:
        raise DataError(f"expected a table of pandas, polars, pyarrow or datasets, got {type(table).__name__}")
    if name not in names:
        raise DataError(f"the table has no column {name!r}; it has {', '.join(names)}{did_you_mean(name, names)}")
    return table_column(table, name)


def _rows_of(ids: Sequence[Any]) -> list[list[int]]:
    """The rows of each sequence."""
    rows: dict[Any, list[int]] = {}
    for row, one in enumerate(ids):
        if is_missing(one):
            raise DataError(f"row {row}: the sequence is missing")
        rows.setdefault(one, []).append(row)
    return list(rows.values())


def _by_token(
    names: Sequence[str],
    columns: Sequence[Sequence[Any]],
    labels: Sequence[Any] | None,
    rows: list[list[int]],
    several: bool,
) -> tuple[Inputs, Outputs]:
    for name, column in zip(names, columns, strict=True):
        lost = next((row for row, value in enumerate(column) if is_missing(value)), None)
        if lost is not None:
            raise DataError(
                f"row {lost}: nothing is in the column {name!r}; pandas takes words such as 'NA' and 'null' for "
                "missing values; read the file by read_csv(..., keep_default_na=False)"
            )
    texts = [list(map(_text, column)) for column in columns]
    X: Inputs = [[tuple(c[row] for c in texts) if several else texts[0][row] for row in those] for those in rows]
    if labels is None:
        return X, [None] * len(X)
    return X, [_known([labels[row] for row in those]) for those in rows]


def _in_rows(known: Sequence[Any], rows: list[list[int]], height: int) -> list[Any]:
    if len(known) != len(rows):
        raise DataError(f"the table has {len(rows)} sequences but there are labels of {len(known)}")
    values: list[Any] = [None] * height
    for i, (labels, those) in enumerate(zip(known, rows, strict=True)):
        if labels is not None and len(labels) != len(those):
            raise DataError(f"sequence {i} has {len(those)} rows but {len(labels)} labels")
        for row, one in zip(those, labels or [None] * len(those), strict=True):
            values[row] = one
    return values


def _known(cell: Any) -> Any:
    """The labels of a sequence, None if none of them is known."""
    labels = None if is_missing(cell) else named_labels(column_values(cell), None)
    return None if labels is None or (labels and all(one is None for one in labels)) else labels


def _text(value: Any) -> str:
    return value if type(value) is str else str(value)
