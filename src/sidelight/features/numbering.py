"""Attributes by number: every template gives a row a key, and every key that is seen often enough gets a number."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Ints, Longs
from ..stored import Arrays, ArraySpec, read_arrays
from .encoded import Encoded

# Rows of which keys are numbered at a time, and distinct keys that a table has room for at first.
_BLOCK, _ROOM = 1 << 14, 1 << 12


class Numbering:
    """The numbers of the keys of several templates.

    keys: for every template its keys and their numbers. A key is at least 0; -1 stands for none.
    """

    def __init__(self, keys: Sequence[tuple[Longs, Ints]]) -> None:
        self.keys = list(keys)
        self.attributes: int = sum(len(mine) for mine, _ in self.keys)

    @cached_property
    def tables(self) -> list[tuple[Longs, Ints]]:
        """Hash tables from key to number, made when the first key is looked up: training needs none."""
        from ..kernels import hashing

        tables = []
        for mine, numbers in self.keys:
            slots = np.full(capacity(len(mine)), -1, np.int64)
            found = np.empty(len(slots), np.int32)
            hashing.fill_table(mine, numbers, slots, found)
            tables.append((slots, found))
        return tables

    @classmethod
    def learn(
        cls, keys: Callable[[int, int, int], Longs], offsets: Longs, templates: int, min_count: int, n_jobs: int
    ) -> tuple["Numbering", Ints]:
        """Numbers the keys seen at least min_count times, and returns the numbers of all rows too: (rows, templates).

        keys: those of a template in some sequences, given its number, the first sequence and the one behind the last;
        offsets: the rows of sequences. Threads take one template each, and a block of rows at a time.
        """
        from ..kernels.parallel import WORTH_TOKENS, map_each

        ids = np.empty((int(offsets[-1]), templates), np.int32)
        cuts = np.unique(np.searchsorted(offsets, [*range(0, int(offsets[-1]), _BLOCK), offsets[-1]])).tolist()

        def number(template: int) -> KeyCounts:
            counts = KeyCounts()
            for first, last in pairwise(cuts):
                counts.add(keys(template, first, last), ids[offsets[first] : offsets[last], template])
            return counts

        few = offsets[-1] < WORTH_TOKENS
        counted = [number(k) for k in range(templates)] if few else map_each(number, range(templates), n_jobs)
        numbering, renumbered = _numbered(counted, min_count)
        for k, mine in enumerate(renumbered):
            ids[:, k] = np.where(ids[:, k] >= 0, mine[ids[:, k]], -1) if len(mine) else -1
        return numbering, ids

    @classmethod
    def counted(cls, found: Sequence["KeyCounts"], min_count: int) -> "Numbering":
        """Numbers the keys that were seen at least min_count times, those of each template."""
        return _numbered(found, min_count)[0]

    def extended(self, keys: Iterable[Longs], min_count: int) -> "Numbering":
        """Returns the numbering with the keys of more rows, which come last; those it has keep their numbers."""
        grown, size = [], self.attributes
        for (mine, numbers), seen in zip(self.keys, keys, strict=True):
            distinct, counts = np.unique(seen[seen >= 0], return_counts=True)
            new = np.setdiff1d(distinct[counts >= min_count], mine, assume_unique=True)
            more = np.arange(size, size + len(new), dtype=np.int32)
            grown.append((np.concatenate((mine, new)), np.concatenate((numbers, more))))
            size += len(new)
        return Numbering(grown) if size > self.attributes else self

    def look_up(self, template: int, keys: Longs, out: Ints) -> None:
        """Writes the number of every key of a template, -1 for one that has none."""
        from ..kernels.hashing import look_up

        look_up(keys, *self.tables[template], out)

    def find(self, attribute: int) -> tuple[int, int]:
        """Returns the template and the key of an attribute."""
        if not 0 <= attribute < self.attributes:
            raise DataError(f"there is no attribute {attribute}")
        templates, places = self._found
        template = int(templates[attribute])
        return template, int(self.keys[template][0][places[attribute]])

    @cached_property
    def _found(self) -> tuple[Ints, Longs]:
        """The template of every attribute and its place there, made when the first attribute is asked for."""
        templates, places = np.empty(self.attributes, np.int32), np.empty(self.attributes, np.int64)
        for template, (_, numbers) in enumerate(self.keys):
            templates[numbers] = template
            places[numbers] = np.arange(len(numbers))
        return templates, places

    def encoded(self, ids: Ints, offsets: Longs) -> Encoded:
        """Returns numbers (rows, templates), -1 for none, as sparse rows."""
        rows, templates = ids.shape
        if ids.min(initial=0) >= 0:
            return Encoded(offsets, np.arange(rows + 1) * templates, ids.ravel(), np.empty(0), self.attributes)
        there = ids >= 0
        indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(there.sum(axis=1))))
        return Encoded(offsets, indptr, ids[there], np.empty(0), self.attributes)

    def arrays(self) -> dict[str, Longs]:
        """What a model file keeps."""
        return {f"keys_{template}": np.stack((keys, numbers)) for template, (keys, numbers) in enumerate(self.keys)}

    @classmethod
    def from_arrays(cls, arrays: Arrays, templates: int) -> "Numbering":
        """Returns the numbering that gave these arrays."""
        specs = {f"keys_{k}": ArraySpec(np.int64, (2, f"keys_{k}"), least=0) for k in range(templates)}
        keys = list(read_arrays(arrays, specs).values())
        total = sum(one.shape[1] for one in keys)
        numbers = np.concatenate([np.empty(0, np.int64), *(one[1] for one in keys)])
        if numbers.max(initial=-1) >= total or (np.bincount(numbers, minlength=total) != 1).any():
            raise DataError(f"the attributes of the templates are not numbered from 0 to {total - 1}, each once")
        return cls([(one[0], one[1].astype(np.int32)) for one in keys])


def factorize(values: list[str]) -> tuple[dict[str, int], Ints]:
    """Distinct strings in order of appearance, and every string's number."""
    words = {w: k for k, w in enumerate(dict.fromkeys(values))}
    return words, np.fromiter(map(words.__getitem__, values), np.int32, len(values))


class KeyCounts:
    """The distinct keys of one template in order of appearance, and how often each was seen, of any number of rows."""

    def __init__(self) -> None:
        self._table = np.full(2 * _ROOM, -1, np.int32), np.empty(_ROOM, np.int64), np.empty(_ROOM, np.int64), 0

    def add(self, keys: Longs, ids: Ints | None = None) -> None:
        """Count the keys of more rows; memory grows with the number of distinct ones. ids: filled with their places."""
        from ..kernels import hashing

        self._table = hashing.number_keys(keys, np.empty(len(keys), np.int32) if ids is None else ids, *self._table)

    @property
    def distinct(self) -> Longs:
        """The keys."""
        return self._table[1][: self._table[3]]

    @property
    def counts(self) -> Longs:
        """How often each of them was seen."""
        return self._table[2][: self._table[3]]


def _numbered(found: Sequence[KeyCounts], min_count: int) -> tuple[Numbering, list[Ints]]:
    """Number the keys that are frequent enough, the most frequent first so that they stay in cache.

    found: those of every template. Returns also the number of each of their keys, -1 for none.
    """
    count = np.concatenate([one.counts for one in found])
    frequent = int((count >= min_count).sum())
    numbers = np.full(len(count), -1, np.int32)
    numbers[np.argsort(-count, kind="stable")[:frequent]] = np.arange(frequent, dtype=np.int32)
    edges = np.concatenate(([0], np.cumsum([len(one.distinct) for one in found])))
    renumbered = [numbers[a:b] for a, b in pairwise(edges.tolist())]
    kept = [(one.distinct[mine >= 0], mine[mine >= 0]) for one, mine in zip(found, renumbered, strict=True)]
    return Numbering(kept), renumbered


def capacity(keys: int) -> int:
    """Slots for a table at most half full."""
    return int(2 ** np.ceil(np.log2(max(2 * keys, 2))))
