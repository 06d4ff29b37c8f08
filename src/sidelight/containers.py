"""Inputs and outputs that come in containers of other libraries, as plain lists.

Arrays of strings of NumPy, columns and tables of pandas, polars, pyarrow and Hugging Face `datasets`, `Doc`s of spaCy.
None of these libraries is imported here: the class of an object shows which one it comes from. Arrays of numbers, which
are features, stay as they are.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .errors import DataError

# How the values of a column become a list, by the library that the column comes from.
_LISTED: dict[str, Callable[[Any], list[Any]]] = {
    "numpy": lambda column: list(column.tolist()),
    "pandas": lambda column: list(column.tolist()),
    "polars": lambda column: list(column.to_list()),
    "pyarrow": lambda column: list(column.to_pylist()),
    "datasets": list,
}


def library_of(value: Any) -> str:
    """Returns the name of the library that an object's class comes from."""
    return _home(type(value))


def _home(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def plain_inputs(X: Any) -> Any:
    """Returns X with lists in the place of other libraries' containers; what is no such container stays as it is.

    Lists of attributes, as CRFsuite takes them, become feature dicts.
    """
    X = _plain_batch(X)
    if not isinstance(X, list | tuple):
        return X
    if any(_home(kind) in _KNOWN for kind in set(map(type, X))):
        X = [_plain_sequence(x) for x in X]
    if not _are_attributes(X):
        return X
    return [[_features(token, i, t) for t, token in enumerate(x)] for i, x in enumerate(X)]


def plain_outputs(y: Any) -> Any:
    """Returns y likewise, with None for what is missing and names in the place of the numbers of a `ClassLabel`."""
    if library_of(y) == "numpy" and (y.ndim == 1 and not any(map(_is_listed, y))):
        return y  # labels of documents, or answers, which are written as they came
    names = class_names(y)
    y = _plain_batch(y)
    if not isinstance(y, list | tuple):
        return y
    if names is None and set(map(type, y)) <= {list, tuple, str}:
        return y
    return [_plain_labels(known, names) for known in y]


def class_names(column: Any) -> Sequence[str] | None:
    """Returns the names of the integers in a column of `datasets`, or of its feature; None if it has none."""
    features = getattr(column, "features", column) if library_of(column) == "datasets" else None
    while features is not None and not hasattr(features, "names"):
        features = getattr(features, "feature", None)
    return None if features is None else list(features.names)


def column_names(table: Any) -> list[Any] | None:
    """Returns the names of a table's columns, or None if an object is no table of a library that is known here.

    Names of pandas need not be texts.
    """
    if library_of(table) not in ("pandas", "polars", "pyarrow", "datasets") or not hasattr(table, "__len__"):
        return None
    names = getattr(table, "column_names", None)  # pyarrow, datasets
    names = getattr(table, "columns", None) if names is None else names
    return None if names is None or isinstance(names, dict) else list(names)


def is_column(value: Any) -> bool:
    """Returns whether an object is an array of one dimension, or a column of a table, of a library known here."""
    one = getattr(value, "ndim", 1) == 1 and column_names(value) is None
    return library_of(value) in _LISTED and one and hasattr(value, "__len__")


def column_values(column: Any) -> list[Any]:
    """Returns the values of a column as a list; lists and tuples are columns too."""
    library = library_of(column)
    return _LISTED[library](column) if library in _LISTED else list(column)


def table_column(table: Any, name: Any) -> list[Any]:
    """Returns the values of one of a table's columns, names in the place of the integers of a `ClassLabel`."""
    values = column_values(table[name])
    names = class_names(table.features[name]) if library_of(table) == "datasets" else None
    if names is None:
        return values
    nested = any(map(_is_listed, values))
    return [named_labels(column_values(one), names) for one in values] if nested else named_labels(values, names)


def named_labels(values: Iterable[Any], names: Sequence[str] | None) -> list[Any]:
    """Returns labels, those that are missing as None, and integers of a `ClassLabel` as its names (-1 is missing)."""
    if names is None:
        return [None if is_missing(value) else value for value in values]
    return [None if is_missing(value) or value == -1 else names[int(value)] for value in values]


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN, or what pandas writes."""
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ in _MISSING


_MISSING = ("NAType", "NaTType")
_KNOWN = frozenset({*_LISTED, "spacy"})
# Tokens that are looked at to see whether they are lists of attributes, the share of their strings that have a name,
# and those that often have none.
_LOOKED_AT, _MOST = 100, 0.6
_UNNAMED = frozenset({"bias", "BOS", "EOS", "__BOS__", "__EOS__"})


def _plain_batch(batch: Any) -> Any:
    """A list of sequences from what holds them all."""
    library = library_of(batch)
    if library not in _KNOWN:
        return batch
    if library == "spacy":
        raise DataError(f"X must be a list of sequences, got one {type(batch).__name__}; put it into a list")
    names = column_names(batch)
    if names is not None:
        return _plain_table(batch, names)
    if library == "numpy":
        return batch.tolist() if getattr(batch, "dtype", None) is not None and batch.dtype.kind in "OUST" else batch
    if not hasattr(batch, "__len__"):
        raise DataError(
            f"X must be a list of sequences, got a {type(batch).__name__} of {library}; load it first (a LazyFrame by "
            ".collect(), a stream by list(...)), and choose a column"
        )
    if isinstance(batch, dict):  # a DatasetDict
        raise DataError(f"choose one of the parts {', '.join(map(str, batch))}, and a column of it")
    return column_values(batch)


def _is_numeric(table: Any) -> bool:
    """Whether a frame of pandas or polars holds nothing but numbers and truth values."""
    library = library_of(table)
    if library == "pandas":
        return all(kind.kind in "biufc" for kind in table.dtypes)
    return library == "polars" and all(kind.is_numeric() or str(kind) == "Boolean" for kind in table.dtypes)


def _plain_table(table: Any, names: list[Any]) -> Any:
    """Sequences from a table with a row for each and lists in its cells; a table of numbers is a matrix."""
    if _is_numeric(table):
        return table.to_numpy()
    columns = [table_column(table, name) for name in names]
    if all(_is_listed(cell) for column in columns for cell in column):
        rows = zip(*columns, strict=True)
        return columns[0] if len(columns) == 1 else [zipped(i, names, row) for i, row in enumerate(rows)]
    raise DataError(
        f"a table is X where all its cells are lists of tokens; choose columns, or read it with read_table(table, "
        f"columns=..., label=..., sequence=...); there are {', '.join(map(str, names))}"
    )


def zipped(index: int, names: Sequence[Any], row: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Returns the tokens of one sequence as tuples, from a list for each column."""
    cells = [column_values(cell) for cell in row]
    lengths = set(map(len, cells))
    if len(lengths) > 1:
        found = ", ".join(f"{len(cell)} in {name}" for name, cell in zip(names, cells, strict=True))
        raise DataError(f"sequence {index} has different numbers of tokens: {found}")
    return list(zip(*cells, strict=True))


def _are_attributes(X: Sequence[Any]) -> bool:
    """Whether tokens are lists of attributes such as ["word=Ann", "pos=NNP"]; judged by the first sequence."""
    first: Sequence[Any] = next((x for x in X if isinstance(x, list | tuple) and x), ())[:_LOOKED_AT]
    if not all(isinstance(token, list | tuple) and all(isinstance(one, str) for one in token) for token in first):
        return False
    given = [one for token in first for one in token if one not in _UNNAMED]
    named: int = sum(one.find("=") > 0 for one in given)
    return named > _MOST * len(given)


def _features(token: Any, sequence: int, position: int) -> dict[str, Any]:
    """Returns a list of attributes as a feature dict; a name that is there twice is an attribute with its value."""
    if not isinstance(token, list | tuple) or not all(isinstance(one, str) for one in token):
        raise DataError(
            f"sequence {sequence}, token {position}: expected a list of attributes like the tokens before, such as "
            f"['word=Ann', 'pos=NNP'], got {token!r}"
        )
    found: dict[str, Any] = {}
    for one in token:
        name, mark, value = one.partition("=")
        if mark and name and name not in found:
            found[name] = value
        elif not (mark and found.get(name) == value):
            found[one] = True
    return found


def _is_listed(cell: Any) -> bool:
    return not isinstance(cell, str | bytes | dict) and hasattr(cell, "__len__")


def _plain_sequence(x: Any) -> Any:
    library = library_of(x)
    if library == "spacy":
        return [token.text for token in x]
    if library not in _KNOWN:
        return x
    names = column_names(x)
    if names is not None:  # a frame with a row for each token
        return x.to_numpy() if _is_numeric(x) else zipped(0, names, [x[name] for name in names])
    if library != "numpy":
        return column_values(x)
    if getattr(x, "dtype", None) is None or x.dtype.kind not in "OUST" or x.ndim not in (1, 2):
        return x
    return x.tolist() if x.ndim == 1 else list(map(tuple, x.tolist()))


def _plain_labels(known: Any, names: Sequence[str] | None) -> Any:
    if is_missing(known):
        return None
    if isinstance(known, str):
        return known
    if isinstance(known, list | tuple):
        return known if names is None else named_labels(known, names)
    if library_of(known) in _LISTED and hasattr(known, "__len__"):
        return named_labels(column_values(known), names)
    return known if names is None else named_labels([known], names)[0]
