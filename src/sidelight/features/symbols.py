"""One symbol per token, for generative models: a known word, or else the class of an unknown one."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Floats, Ints, Longs
from ..stored import Arrays, ArraySpec, numbered, read_arrays, whole
from .columns import Column, as_template
from .encoded import Encoded, State
from .templates import column_of_tokens, sequence_offsets, split_columns

Expression = str | Column
# What a model file keeps of every known word.
_STORED = {
    "counts": ArraySpec(np.int64, ("words",), least=0),
    "class_of_word": ArraySpec(np.int64, ("words",), least=0, below="classes"),
}


def as_column(expression: Expression, role: str) -> Column:
    """A single column expression at the token itself."""
    columns = as_template(expression).columns
    if len(columns) != 1 or columns[0].offset != 0:
        raise DataError(f"{role} must be one column of the token itself, such as word.lower(), got {expression}")
    return columns[0]


def column_values(column: Column, X: Sequence[Sequence[Any]]) -> list[str]:
    """What a column expression says of every token, flat."""
    if len(X) == 0:
        return []
    sequence_offsets(X)
    return _apply(column, column_of_tokens(X, column))


@dataclass
class SymbolEncoder:
    """Symbols are numbered: known words, then classes of unknown words, then one for a class never seen.

    `emission` says what of a token is its word, `unknown` what of it tells the class of a word never seen (None: all
    alike). Words seen at most `rare` times stand for unknown ones: what is known of a class comes from them.
    """

    emission: Expression
    unknown: Expression | None
    rare: int = 1
    words: dict[str, int] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)
    class_of_word: list[int] = field(default_factory=list)
    classes: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._emission = as_column(self.emission, "emission")
        self._unknown = None if self.unknown is None else as_column(self.unknown, "unknown")

    @property
    def symbols(self) -> int:
        """How many symbols there are."""
        return len(self.words) + len(self.classes) + 1

    def copy(self) -> "SymbolEncoder":
        """The same encoder, to extend without changing this one."""
        return replace(
            self,
            words=dict(self.words),
            counts=list(self.counts),
            class_of_word=list(self.class_of_word),
            classes=dict(self.classes),
        )

    def extend(self, X: Sequence[Sequence[Any]], times: Sequence[int] | None = None) -> None:
        """Learn the words of X, beside those known already; times: how often each sequence counts, None for once."""
        values, classes = self._values(X)
        each = repeat(1, len(values)) if times is None else (n for x, n in zip(X, times, strict=True) for _ in x)
        for value, kind, often in zip(values, classes, each, strict=True):
            number = self.words.get(value)
            if number is None:
                self.words[value] = len(self.words)
                self.counts.append(often)
                self.class_of_word.append(self.classes.setdefault(kind, len(self.classes)))
            else:
                self.counts[number] += often

    def fit_transform(self, X: Sequence[Sequence[Any]]) -> Encoded:
        """Learn the words of X and encode it."""
        self.words, self.counts, self.class_of_word, self.classes = {}, [], [], {}
        self.extend(X)
        return self.transform(X)

    def transform(self, X: Sequence[Sequence[Any]]) -> Encoded:
        """Encode X: one attribute per token, its symbol."""
        offsets = sequence_offsets(X)
        values, classes = self._values(X)
        known, kinds, base, other = self.words, self.classes, len(self.words), self.symbols - 1
        symbols = np.fromiter(
            (
                known[v] if v in known else base + kinds[k] if k in kinds else other
                for v, k in zip(values, classes, strict=True)
            ),
            np.int32,
            len(values),
        )
        return Encoded(offsets, np.arange(len(symbols) + 1, dtype=np.int64), symbols, np.empty(0), self.symbols)

    def class_counts(self, word_counts: Floats) -> Floats:
        """Counts (words, labels) of the rare words, added up by class: (classes, labels)."""
        out = np.zeros((len(self.classes), word_counts.shape[1]))
        few = np.flatnonzero(np.array(self.counts) <= self.rare)
        np.add.at(out, np.array(self.class_of_word, np.int64)[few], word_counts[few])
        return out

    def _values(self, X: Sequence[Sequence[Any]]) -> tuple[list[str], list[str]]:
        """Word and class of every token."""
        if len(X) == 0:
            return [], []
        columns = split_columns(X)
        for c in (self._emission, self._unknown):
            if c is not None and c.index >= len(columns):
                raise DataError(f"{c} needs column {c.index}, but tokens have {len(columns)}")
        words = _apply(self._emission, columns[self._emission.index])
        if self._unknown is None:
            return words, [""] * len(words)
        return words, _apply(self._unknown, columns[self._unknown.index])

    def describe(self, attribute: int) -> str:
        """The word, or the class of unknown words."""
        if attribute < len(self.words):
            return f"{self._emission}={list(self.words)[attribute]}"
        number = attribute - len(self.words)
        if number == len(self.classes) or self._unknown is None:
            return "unknown word"
        return f"unknown word, {self._unknown}={list(self.classes)[number]}"

    def state(self) -> State:
        """Expressions as text, words, counts and classes."""
        for c in (self._emission, self._unknown):
            if c is not None:
                c.require_text()
        values = {
            "emission": str(self._emission),
            "unknown": None if self._unknown is None else str(self._unknown),
            "rare": self.rare,
            "words": list(self.words),
            "classes": list(self.classes),
        }
        arrays: dict[str, Longs | Ints] = {
            "counts": np.array(self.counts, np.int64),
            "class_of_word": np.array(self.class_of_word, np.int64),
        }
        return values, dict(arrays)

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: Arrays, n_jobs: int = -1) -> "SymbolEncoder":
        """The encoder that gave this state."""
        words, classes = (numbered(values[name], f"the {name} of the encoder") for name in ("words", "classes"))
        found = read_arrays(arrays, _STORED, words=len(words), classes=len(classes))
        counts, class_of_word = (found[name].tolist() for name in _STORED)
        rare = whole(values["rare"], "rare")
        return cls(values["emission"], values["unknown"], rare, words, counts, class_of_word, classes)


def _apply(column: Column, tokens: list[str]) -> list[str]:
    """The expression for all tokens, worked out once per distinct string; absent values are the empty string."""
    values = {token: column.value(token) or "" for token in set(tokens)}
    return [values[token] for token in tokens]
