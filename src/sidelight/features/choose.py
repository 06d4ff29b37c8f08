"""Which encoder fits the input, and the templates used when none are given."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import DataError
from .arrays import ArrayEncoder
from .columns import Column, Template, as_template, column, pos, window, word
from .dicts import DictEncoder
from .encoded import Encoder, require_list
from .templates import TemplateEncoder

Features = Sequence[str | Column | Template]


def choose_encoder(X: Any, features: Features | None, min_count: int, n_jobs: int) -> Encoder:
    """The encoder for the kind of the first token: templates for strings and tuples, else dicts or arrays."""
    kind = input_kind(X)
    if kind == "columns":
        chosen = default_templates(_width(_first(X)[0])) if features is None else features
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
    raise DataError(f"a token must be a string, a tuple of strings or a feature dict, got {first[0]!r}")


def _first(X: Any) -> Any:
    """Returns the first sequence that has tokens, or the first one if none has."""
    return next((x for x in X if not isinstance(x, Sequence) or len(x)), X[0])


def _width(token: Any) -> int:
    return 1 if isinstance(token, str) else len(token)


def default_templates(width: int) -> list[Template]:
    """What works for most text: words and their neighbours, prefixes, suffixes, shapes, and every other column."""
    chosen: list[Column | Template] = [
        *window(word, -2, 2),
        word[-1] & word,
        word & word[1],
        *window(word.lower(), -1, 1),
        *(word.lower().prefix(n) for n in (1, 2, 3, 4)),
        *(word.lower().suffix(n) for n in (1, 2, 3, 4)),
        *window(word.shape(), -1, 1),
    ]
    for k in range(1, width):
        c = pos if k == 1 else column(k)
        chosen += [*window(c, -2, 2), c[-2] & c[-1], c[-1] & c, c & c[1], c[1] & c[2]]
        chosen += [c[-2] & c[-1] & c, c[-1] & c & c[1], c & c[1] & c[2]]
    return [as_template(t) for t in chosen]
