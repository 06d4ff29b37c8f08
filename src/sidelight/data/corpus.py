"""Corpora on disk: sequences of tokens, and what is known of their labels, that are read when they are looked at.

The file is described in `corpus_file`.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..supervision import BAD, GOOD, Signal, StoredOutputs
from .corpus_file import BAD_CODE, GOOD_CODE, UNKNOWN, CorpusFile, Ints, Longs
from .source import PathLike, Token

_KINDS = np.array([Signal.NOTHING, Signal.FULL, Signal.PARTIAL, Signal.COMPANION], object)
# Tokens of a block.
BLOCK_TOKENS = 1 << 18


def read_corpus(path: PathLike, *, scratch: PathLike | None = None) -> "Corpus":
    """Open a corpus on disk, which can be given to learners as X, and its `y` as y.

    Parameters
    ----------
    path : str or path-like
        The file, written by `write_corpus` or `sidelight encode`.
    scratch : str, path-like or None, default=None
        The folder for what learners keep on disk while they learn, up to 4 bytes for every token and template; None is
        the folder of the file.

    Returns
    -------
    Corpus
        A sequence of lists of tokens, read when they are asked for.

    Raises
    ------
    DataError
        If the file is no corpus, or is damaged.
    """
    file = CorpusFile(os.fspath(path), None if scratch is None else os.fspath(scratch))
    return Corpus(file, range(len(file.offsets) - 1))


class Corpus(Sequence[list[Token]]):
    """Sequences of tokens that stay on disk, which can be used like a list of lists of tokens.

    Slices, and `take`, are views of the same file. `y` has what is known of the labels. `read_corpus` opens one.

    Parameters
    ----------
    file : CorpusFile
        The open file.
    which : range or array
        The numbers of the sequences.
    """

    def __init__(self, file: CorpusFile, which: "range | Longs") -> None:
        self.file, self.which = file, which

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened_again, (os.path.abspath(self.file.path), self.file.scratch, self.which)

    def __len__(self) -> int:
        return len(self.which)

    @overload
    def __getitem__(self, index: int) -> list[Token]: ...
    @overload
    def __getitem__(self, index: slice) -> "Corpus": ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Corpus(self.file, self.which[index])
        number = self.which[index]
        return self._tokens(self.file.rows(*self.file.offsets[number : number + 2].tolist()))

    def take(self, which: Any) -> "Corpus":
        """Return some of the sequences, in this order."""
        chosen = np.asarray(which, np.int64)
        if len(chosen) and (np.diff(chosen) == 1).all():
            return self[int(chosen[0]) : int(chosen[-1]) + 1]
        own = np.arange(self.which.start, self.which.stop) if isinstance(self.which, range) else self.which
        return Corpus(self.file, own[chosen])

    def __iter__(self) -> Iterator[list[Token]]:
        for block in self.blocks():
            tokens = block._tokens(block.rows())
            yield from (tokens[a:b] for a, b in pairwise(block.offsets.tolist()))

    def __repr__(self) -> str:
        return f"<Corpus {self.file.path}: {len(self):,} sequences, {self.tokens:,} tokens>"

    @cached_property
    def y(self) -> "CorpusLabels":
        """What is known about the labels of each sequence; it stays on disk too."""
        return CorpusLabels(self)

    @property
    def columns(self) -> int:
        """How many columns tokens have."""
        return int(self.file.columns)

    @property
    def tokens(self) -> int:
        """How many tokens there are."""
        return int(self.offsets[-1])

    @cached_property
    def offsets(self) -> Longs:
        """Where the tokens of each sequence begin: (sequences + 1,)."""
        all_offsets = self.file.offsets
        if isinstance(self.which, range) and self.which.step == 1:
            own: Longs = all_offsets[self.which.start : self.which.start + len(self) + 1]
            return own - own[0] if len(own) else np.zeros(1, np.int64)
        which = np.asarray(self.which, np.int64)
        lengths = all_offsets[which + 1] - all_offsets[which]
        return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))

    def rows(self) -> Ints:
        """Return the numbers of all tokens, (tokens, columns + 1), the label's last."""
        which = np.asarray(self.which, np.int64)
        if not len(which):
            return np.empty((0, self.columns + 1), np.int32)
        breaks = np.flatnonzero(np.diff(which) != 1) + 1
        runs = [(int(run[0]), int(run[-1]) + 1) for run in np.split(which, breaks)]
        some = [self.file.rows(int(self.file.offsets[a]), int(self.file.offsets[b])) for a, b in runs]
        return some[0] if len(some) == 1 else np.concatenate(some)

    def column(self, number: int) -> tuple[NDArray[Any], Ints]:
        """Return the strings of a column, an array of objects, and the number of every token's."""
        return self.file.strings[number], np.ascontiguousarray(self.rows()[:, number])

    def content(self) -> Iterator[Any]:
        """Yield all that makes it what it is, wherever its file is."""
        yield self.offsets
        yield from (strings.tolist() for strings in self.file.strings)
        yield from (block.rows()[:, :-1] for block in self.blocks())

    def blocks(self, tokens: int = BLOCK_TOKENS) -> Iterator["Corpus"]:
        """Yield views of consecutive sequences, of about this many tokens each."""
        first = 0
        while first < len(self):
            last = int(np.searchsorted(self.offsets, self.offsets[first] + tokens, side="right")) - 1
            last = max(last, first + 1)
            yield self[first:last]
            first = last

    def _tokens(self, rows: Ints) -> list[Token]:
        columns = [strings[rows[:, k]].tolist() for k, strings in enumerate(self.file.strings)]
        return columns[0] if self.file.single else list(zip(*columns, strict=True))


def _opened_again(path: str, scratch: str, which: Any) -> Corpus:
    return Corpus(CorpusFile(path, scratch), which)


class CorpusLabels(StoredOutputs):
    """What is known about the labels of a corpus: y to those who ask for a list."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus

    def __len__(self) -> int:
        return len(self.corpus)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.corpus[index].y
        number = self.corpus.which[index]
        place = self.corpus.file.offsets[number : number + 2].tolist()
        return self._known(self.corpus.file.rows(*place)[:, -1].tolist())

    def __iter__(self) -> Iterator[Any]:
        for block in self.corpus.blocks():
            codes, edges = block.rows()[:, -1].tolist(), block.offsets.tolist()
            yield from (self._known(codes[a:b]) for a, b in pairwise(edges))

    def _known(self, codes: list[int]) -> Any:
        if codes[0] in (GOOD_CODE, BAD_CODE):
            return GOOD if codes[0] == GOOD_CODE else BAD
        if max(codes) == UNKNOWN:
            return None
        return [None if code == UNKNOWN else self.entries[code] for code in codes]

    @property
    def offsets(self) -> Longs:
        """Where the tokens of each sequence begin."""
        return self.corpus.offsets

    @property
    def entries(self) -> list[Any]:
        """Labels, and sets of labels."""
        return self.corpus.file.entries

    def codes(self, first: int, last: int) -> Ints:
        """What is known of the tokens of sequences first to last - 1."""
        return np.ascontiguousarray(self.corpus[first:last].rows()[:, -1])

    def content(self) -> Iterator[Any]:
        """Yield all that makes it what it is, wherever its file is."""
        yield self.offsets
        yield self.entries
        yield from (block.rows()[:, -1] for block in self.corpus.blocks())

    def take(self, which: Any) -> "CorpusLabels":
        """Some elements, in this order."""
        return self.corpus.take(which).y

    def kinds(self) -> list[Signal]:
        """The kind of every element."""
        kinds: list[Signal] = _KINDS[self._kind_numbers].tolist()
        return kinds

    @cached_property
    def _kind_numbers(self) -> NDArray[np.int8]:
        """The number in `_KINDS` of every sequence's kind."""
        certainty = np.array([3, 3, 0, *(2 if isinstance(one, frozenset) else 1 for one in self.entries)], np.int8)
        found = [np.empty(0, np.int8)]
        for block in self.corpus.blocks():
            each = certainty[block.rows()[:, -1] - BAD_CODE]
            low, high = (how.reduceat(each, block.offsets[:-1]) for how in (np.minimum, np.maximum))
            found.append(np.where((low == high) & (high != 2), high, 2).astype(np.int8))
        return np.concatenate(found)

    @cached_property
    def _counts(self) -> Longs:
        """How many tokens have each entry."""
        total = np.zeros(len(self.entries) - BAD_CODE, np.int64)
        for block in self.corpus.blocks():
            total += np.bincount(block.rows()[:, -1] - BAD_CODE, minlength=len(total))
        return total[-BAD_CODE:]

    def used(self) -> list[Any]:
        """The entries that occur."""
        return [one for one, count in zip(self.entries, self._counts, strict=True) if count]

    def full_counts(self) -> Counter[str]:
        """How many tokens of fully labelled sequences have each label."""
        full = _KINDS[self._kind_numbers] == Signal.FULL
        counts = self._counts if full.all() else self.take(np.flatnonzero(full))._counts
        return Counter({one: int(n) for one, n in zip(self.entries, counts, strict=True) if n})
