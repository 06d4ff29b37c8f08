"""One symbol per token, for generative models: a known word, or else the class of an unknown one."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..data.corpus import BLOCK_TOKENS, Corpus
from ..errors import DataError
from ..kernels.compiling import Floats, Ints, Longs
from ..stored import Arrays, ArraySpec, numbered, read_arrays, whole
from .columns import Column, as_template
from .encoded import Encoded, State
from .numbering import factorize
from .templates import CodedColumn, coded_column, coded_columns, sequence_offsets

Expression = str | Column
# Distinct strings in order of appearance, and the number of every token's.
Coded = tuple[list[str], Ints]
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
    values, codes = _apply(column, coded_column(X, column))
    return [values[code] for code in codes.tolist()]


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
        if isinstance(X, Corpus) and X.tokens > BLOCK_TOKENS:
            first = 0
            for block in X.blocks():
                self.extend(block, None if times is None else times[first : first + len(block)])
                first += len(block)
            return
        (values, words), (classes, kinds) = self._values(X)
        each = None if times is None else np.repeat(times, np.diff(sequence_offsets(X)))
        often = np.bincount(words, each, len(values)).astype(np.int64).tolist()
        seen = np.empty(len(values), np.int64)
        seen[words[::-1]] = np.arange(len(words))[::-1]  # where each word is for the first time
        for value, kind, count in zip(values, kinds[seen].tolist(), often, strict=True):
            number = self.words.get(value)
            if number is None:
                self.words[value] = len(self.words)
                self.counts.append(count)
                self.class_of_word.append(self.classes.setdefault(classes[kind], len(self.classes)))
            else:
                self.counts[number] += count

    def fit_transform(self, X: Sequence[Sequence[Any]]) -> Encoded:
        """Learn the words of X and encode it."""
        self.words, self.counts, self.class_of_word, self.classes = {}, [], [], {}
        self.extend(X)
        return self.transform(X)

    def transform(self, X: Sequence[Sequence[Any]]) -> Encoded:
        """Encode X: one attribute per token, its symbol."""
        offsets = sequence_offsets(X)
        (values, words), (classes, kinds) = self._values(X)
        base, other = len(self.words), self.symbols - 1
        known = np.array([self.words.get(value, -1) for value in values], np.int32)
        unknown = np.array([self.classes.get(kind, other - base) + base for kind in classes], np.int32)
        symbols = known[words]
        symbols = np.where(symbols < 0, unknown[kinds], symbols)
        return Encoded(offsets, np.arange(len(symbols) + 1, dtype=np.int64), symbols, np.empty(0), self.symbols)

    def class_counts(self, word_counts: Floats) -> Floats:
        """Counts (words, labels) of the rare words, added up by class: (classes, labels)."""
        out = np.zeros((len(self.classes), word_counts.shape[1]))
        few = np.flatnonzero(np.array(self.counts) <= self.rare)
        np.add.at(out, np.array(self.class_of_word, np.int64)[few], word_counts[few])
        return out

    def paired(self, other: "SymbolEncoder", own: Ints, others: Ints) -> tuple[Longs, Floats]:
        """Returns pairs of this encoder's symbols and the same of another encoder, and how many each of this one's has.

        own, others: the symbols of the same tokens by both. Classes have pairs too: those that this encoder lacks stand
        for its last symbol.
        """
        classes = [len(self.words) + self.classes.get(name, len(self.classes)) for name in other.classes]
        first = np.concatenate((own, classes, [self.symbols - 1])).astype(np.int64)
        second = np.concatenate((others, len(other.words) + np.arange(len(other.classes) + 1))).astype(np.int64)
        pairs = np.array(np.divmod(np.unique(first * other.symbols + second), other.symbols))
        return pairs, np.bincount(pairs[0], minlength=self.symbols).astype(float)

    def _values(self, X: Sequence[Sequence[Any]]) -> tuple[Coded, Coded]:
        """Words and classes, each in order of appearance, and the numbers of every token's."""
        if len(X) == 0:
            return ([], np.empty(0, np.int32)), ([], np.empty(0, np.int32))
        columns = coded_columns(X)
        for c in (self._emission, self._unknown):
            if c is not None and c.index >= len(columns):
                raise DataError(f"{c} needs column {c.index}, but tokens have {len(columns)}")
        words = _apply(self._emission, columns[self._emission.index])
        if self._unknown is None:
            return words, ([""], np.zeros_like(words[1]))
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


def _apply(column: Column, coded: CodedColumn) -> Coded:
    """What an expression says of all tokens of a column; absent values are the empty string."""
    words, numbers = factorize([value or "" for value in coded.values(column)])
    return list(words), numbers[coded.codes]
