"""Sentence pairs as whole numbers: words, and for every pair of positions the number of its pair of words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from unicodedata import combining, normalize

import numpy as np

from ..kernels.compiling import Ints, Longs, Singles
from ..kernels.word_alignment import Pairs, count_pairs, find_pairs, likeness, number_pairs, number_stems

# Cells that are worked out at a time: their posteriors are all that is kept of them.
_BLOCK, _SHARD = 1 << 23, 1 << 17


@dataclass(frozen=True)
class Vocabulary:
    """The words of one side, each with its number."""

    words: tuple[str, ...]
    numbers: dict[str, int]

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]]) -> "Vocabulary":
        """Returns the words of these sentences in the order of their first uses."""
        return cls.given(dict.fromkeys(chain.from_iterable(sentences)))

    @classmethod
    def given(cls, words: Iterable[str]) -> "Vocabulary":
        """Returns these words, numbered in order."""
        numbers = {word: k for k, word in enumerate(words)}
        return cls(tuple(numbers), numbers)

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, sentences: Sequence[Sequence[str]]) -> tuple[Ints, Longs]:
        """Returns the words of all sentences, -1 for those that are not known, and the offsets of the sentences."""
        offsets = np.zeros(len(sentences) + 1, np.int64)
        np.cumsum([len(one) for one in sentences], out=offsets[1:])
        found = map(self.numbers.get, chain.from_iterable(sentences))
        flat = np.fromiter((-1 if k is None else k for k in found), np.int32, int(offsets[-1]))
        return flat, offsets

    def spelt(self) -> list[str]:
        """Returns the words without accents and capitals."""
        return ["".join(c for c in normalize("NFKD", word.casefold()) if not combining(c)) for word in self.words]

    def letters(self) -> tuple[Ints, Longs]:
        """Returns the letters of all words, without accents and capitals, and the offsets of the words."""
        spelt = self.spelt()
        offsets = np.zeros(len(spelt) + 1, np.int64)
        np.cumsum([len(word) for word in spelt], out=offsets[1:])
        return np.frombuffer("".join(spelt).encode("utf-32-le", "surrogatepass"), np.int32), offsets

    def stems(self, length: int) -> Ints:
        """Returns the number of every word's stem, its first letters."""
        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(word[:length], len(numbers)) for word in self.spelt()], np.int32)


@dataclass(frozen=True)
class Stems:
    """Stems of the words of both sides, and the number of every pair of words' pair of stems, of `size`."""

    source: Ints
    target: Ints
    pairs: Ints
    size: int


@dataclass(frozen=True)
class PairTable:
    """All pairs of words that stand in one sentence pair. Those of source word e are rows[e] to rows[e + 1] - 1.

    owners: the source word of each; partners: its target word.
    """

    rows: Longs
    owners: Ints
    partners: Ints

    def __len__(self) -> int:
        return len(self.partners)

    def find(self, source: Ints, target: Ints) -> Longs:
        """Returns the numbers of pairs of words, -1 for those that are not in the table."""
        return find_pairs(source, target, self.rows, self.partners)

    def stems(self, source: Vocabulary, target: Vocabulary, length: int) -> Stems:
        """Returns the stems of all words, their first letters, and numbers for pairs of them."""
        one, two = source.stems(length), target.stems(length)
        starts = np.zeros(int(one.max(initial=-1)) + 2, np.int64)
        np.cumsum(np.bincount(one), out=starts[1:])
        pairs = np.empty(len(self), np.int32)
        words = np.argsort(one, kind="stable")
        size = number_stems(self.rows, self.partners, words, starts, two, int(two.max(initial=-1)) + 1, pairs)
        return Stems(one, two, pairs, size)

    def likeness(self, source: Vocabulary, target: Vocabulary) -> Singles:
        """Returns how alike the words of each pair are, from 0 to 1."""
        out = np.empty(len(self), np.float32)
        likeness(self.owners, self.partners, *source.letters(), *target.letters(), out)
        return out


@dataclass(frozen=True)
class Bitext:
    """Encoded sentence pairs, and the table of their pairs of words."""

    pairs: Pairs
    table: PairTable

    @classmethod
    def of(cls, source: tuple[Ints, Longs], target: tuple[Ints, Longs], words: tuple[int, int]) -> "Bitext":
        """Numbers the pairs of words. source, target: words and offsets; words: how many there are on each side."""
        (e, e_offsets), (f, f_offsets) = source, target
        tokens = np.argsort(e, kind="stable")
        sentences = np.repeat(np.arange(len(e_offsets) - 1), np.diff(e_offsets))[tokens]
        starts = np.zeros(words[0] + 1, np.int64)
        np.cumsum(np.bincount(e, minlength=words[0]), out=starts[1:])
        rows = count_pairs(f, f_offsets, sentences, starts, words[1])
        sizes = np.diff(e_offsets) * np.diff(f_offsets)
        cell_offsets = np.zeros(len(e_offsets), np.int64)
        np.cumsum(sizes, out=cell_offsets[1:])
        partners, cells = np.empty(rows[-1], np.int32), np.empty(cell_offsets[-1], np.int32)
        number_pairs(e_offsets, f, f_offsets, tokens, sentences, starts, rows, cell_offsets, words[1], partners, cells)
        owners = np.repeat(np.arange(words[0], dtype=np.int32), np.diff(rows))
        return cls(Pairs(e, e_offsets, f, f_offsets, cells, cell_offsets), PairTable(rows, owners, partners))

    def __len__(self) -> int:
        return len(self.pairs.cell_offsets) - 1

    def parts(self, workers: int | None, n_jobs: int | None) -> "list[BitextPart]":
        """Returns the bitext cut into parts for this many other processes; for threads, None, it is one part."""
        if workers is None:
            return [BitextPart(self.pairs, None, len(self.table), n_jobs)]
        edges = np.searchsorted(self.pairs.cell_offsets, np.linspace(0, self.pairs.cell_offsets[-1], workers + 1))
        edges[-1] = len(self)
        return [self._part(int(a), int(b)) for a, b in pairwise(np.unique(edges))]

    def _part(self, first: int, last: int) -> "BitextPart":
        flat = []
        for values, offsets in zip(self.pairs[::2], self.pairs[1::2], strict=True):
            some = offsets[first : last + 1]
            flat += [values[some[0] : some[-1]], some - some[0]]
        numbers, cells = np.unique(flat[4], return_inverse=True)
        own = Pairs(*flat)._replace(cells=cells.astype(np.int32))
        return BitextPart(own, numbers, len(numbers), 1)


@dataclass(frozen=True)
class BitextPart:
    """Some sentence pairs, which are worked on in one process.

    numbers: their pairs of words in the table of the whole bitext, in the order of the part's own table; None where
    that is the whole one; size: how many these are; n_jobs: threads.
    """

    pairs: Pairs
    numbers: Longs | None
    size: int
    n_jobs: int | None


def blocks(pairs: Pairs) -> list[tuple[int, int]]:
    """Returns ranges of sentence pairs with about as many cells as are worked out at a time."""
    return cut(pairs.cell_offsets, 0, len(pairs.cell_offsets) - 1, _BLOCK)


def shards(pairs: Pairs, first: int, last: int) -> list[tuple[int, int]]:
    """Returns ranges of sentence pairs for threads. They do not depend on how many threads there are."""
    return cut(pairs.cell_offsets, first, last, _SHARD)


def cut(offsets: Longs, first: int, last: int, size: int) -> list[tuple[int, int]]:
    """Returns ranges of pairs, each the first ones with at least `size` cells."""
    out = []
    while first < last:
        end = int(np.searchsorted(offsets, offsets[first] + size))
        end = min(max(end, first + 1), last)
        out.append((first, end))
        first = end
    return out
