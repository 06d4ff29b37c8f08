"""Which encoder fits the input, and the templates used when none are given."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ..errors import DataError, listed
from ..quoting import quoted
from .arrays import ArrayEncoder
from .columns import Column, Template, as_template, column, pos, window, word
from .dicts import DictEncoder
from .encoded import Encoder, require_list
from .templates import TemplateEncoder

Features = Sequence[str | Column | Template]
# A text among features that stands for the default templates of every column but the first.
OTHER_COLUMNS = "other columns"
# A column of numbers is judged by so many tokens, at least and at most; ids are different in this share of tokens.
_FEWEST, _SAMPLE, _DIFFERENT = 30, 10_000, 0.9
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)")


def choose_encoder(X: Any, features: Features | None, min_count: int, n_jobs: int) -> Encoder:
    """The encoder for the kind of the first token: templates for strings and tuples, else dicts or arrays."""
    kind = input_kind(X)
    if kind == "columns":
        chosen = DEFAULT_TEMPLATES if features is None else features
        if isinstance(chosen, list | tuple) and OTHER_COLUMNS in chosen:
            width = _width(_first(X)[0])
            _refuse_counting_columns(X, width)
            chosen = _with_columns(chosen, width)
        return TemplateEncoder(chosen, min_count, n_jobs)
    if features is not None:
        raise DataError(f"templates work on tokens with columns, but X holds {kind}; leave `features` out")
    return DictEncoder(min_count) if kind == "feature dicts" else ArrayEncoder(min_count)


def input_kind(X: Any) -> str:
    """columns, feature dicts or arrays; anything else is an error."""
    if require_list(X) == 0:
        raise DataError("no sequences were given")
    first = _first(X)
    if hasattr(first, "shape"):
        return "arrays"
    if isinstance(first, str):
        raise DataError("X must be a list of sequences of tokens, but its first element is a string; split it first")
    if not isinstance(first, Sequence):
        raise DataError(f"a sequence must be a list of tokens or an array, got {type(first).__name__}")
    if len(first) == 0:
        raise DataError("sequence 0 is empty; leave empty sequences out")
    if isinstance(first[0], Mapping):
        return "feature dicts"
    if isinstance(first[0], str) or (isinstance(first[0], tuple | list) and first[0]):
        return "columns"
    raise DataError(f"a token must be a string, a tuple of strings or a feature dict, got {quoted(first[0])}")


class CountingColumns(DataError):
    """The error about columns that hold offsets or ids, where no template names them.

    columns: their numbers among those of a token; what: the message without what to do.
    """

    columns: tuple[int, ...] = ()
    what = ""


def _refuse_counting_columns(X: Any, width: int) -> None:
    """Raise `CountingColumns` if one of several columns holds offsets or ids."""
    columns = _sampled_columns(X, width)
    words = len({value for some in columns[0] for value in some if isinstance(value, str)}) if columns else 0
    found = {k: some[0][0] for k, some in enumerate(columns) if _is_counting(some, words if k else 0)}
    if not found:
        return
    those = f"columns {listed(list(map(str, found)))}" if len(found) > 1 else f"column {min(found)}"
    what = (
        f"{those} of the tokens, counted from 0, {'hold' if len(found) > 1 else 'holds'} numbers that are nearly all "
        f"different or rise in every sequence (such as {listed(list(map(repr, found.values())))}), like offsets and ids"
    )
    error = CountingColumns(f"{what}; leave them out, or give `features` that say which columns to read")
    error.columns, error.what = tuple(found), what
    raise error


def _sampled_columns(X: Any, width: int) -> list[list[list[str]]]:
    """Returns the first tokens column by column, a list for each sequence; none where there is one column."""
    columns: list[list[list[str]]] = [[] for _ in range(width)]
    if width < 2:
        return columns
    seen = 0
    for x in X:
        if seen >= _SAMPLE:
            break
        seen += len(x)
        if any(isinstance(token, str) or len(token) != width for token in x):
            return []  # which encoders refuse
        for k, values in enumerate(columns):
            values.append([token[k] for token in x])
    return columns


def _is_counting(sequences: list[list[str]], words: int) -> bool:
    """Whether a column has only numbers, which are nearly all different or rise throughout every sequence.

    words: how many different words there are. Numbers that belong to words, such as clusters or frequencies of words,
    are at most as many, and short texts repeat few words.
    """
    values = [value for some in sequences for value in some]
    if len(values) < _FEWEST or not all(isinstance(value, str) and _NUMBER.fullmatch(value) for value in values):
        return False
    steps = [float(b) > float(a) for some in sequences for a, b in pairwise(some)]
    different = len(set(values))
    return (different >= _DIFFERENT * len(values) and different > words) or (len(steps) >= _FEWEST and all(steps))


def _first(X: Any) -> Any:
    """Returns the first sequence that has tokens, or the first one if none has."""
    return next((x for x in X if not isinstance(x, Sequence) or len(x)), X[0])


def _width(token: Any) -> int:
    return 1 if isinstance(token, str) else len(token)


# The features of learners that are given none, which work for most text: words and their neighbours, prefixes,
# suffixes, shapes, and every other column. Others can be added: [*DEFAULT_TEMPLATES, "word[3]"].
DEFAULT_TEMPLATES: tuple[str, ...] = (
    *map(
        str,
        [
            *window(word, -2, 2),
            word[-1] & word,
            word & word[1],
            *window(word.lower(), -1, 1),
            *(word.lower().prefix(n) for n in (1, 2, 3, 4)),
            *(word.lower().suffix(n) for n in (1, 2, 3, 4)),
            *window(word.shape(), -1, 1),
        ],
    ),
    OTHER_COLUMNS,
)


def default_templates(width: int) -> list[Template]:
    """Returns the default templates of tokens with `width` columns."""
    return list(map(as_template, _with_columns(DEFAULT_TEMPLATES, width)))


def _with_columns(features: Features, width: int) -> list[str | Column | Template]:
    """Returns features with templates of every column but the first in the place of `OTHER_COLUMNS`."""
    chosen: list[str | Column | Template] = []
    for one in features:
        if one != OTHER_COLUMNS:
            chosen.append(one)
            continue
        for k in range(1, width):
            c = pos if k == 1 else column(k)
            chosen += [*window(c, -2, 2), c[-2] & c[-1], c[-1] & c, c & c[1], c[1] & c[2]]
            chosen += [c[-2] & c[-1] & c, c[-1] & c & c[1], c & c[1] & c[2]]
    return chosen
