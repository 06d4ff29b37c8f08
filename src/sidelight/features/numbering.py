"""Attributes by number: every template gives a row a key, and every key that is seen often enough gets a number."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Ints, Longs
from ..stored import Arrays, ArraySpec, read_arrays
from .encoded import Encoded


class Numbering:
    """The numbers of the keys of several templates.

    keys: for every template (2, attributes) int64, its keys and their numbers. A key is at least 0; -1 stands for none.
    """

    def __init__(self, keys: Sequence[Longs]) -> None:
        self.keys = list(keys)
        self.attributes: int = sum(one.shape[1] for one in self.keys)

    @cached_property
    def tables(self) -> list[tuple[Longs, Ints]]:
        """Hash tables from key to number, made when the first key is looked up: training needs none."""
        from ..kernels import hashing

        tables = []
        for mine, numbers in self.keys:
            slots = np.full(capacity(len(mine)), -1, np.int64)
            found = np.empty(len(slots), np.int32)
            hashing.fill_table(mine, numbers.astype(np.int32), slots, found)
            tables.append((slots, found))
        return tables

    @classmethod
    def learn(
        cls, keys: Callable[[int], Longs], shape: tuple[int, int], min_count: int, n_jobs: int
    ) -> tuple["Numbering", Ints]:
        """Numbers the keys seen at least min_count times, and returns the numbers of all rows too.

        keys: those of a template, given its number; shape: (rows, templates). Threads take one template each.
        """
        from ..kernels import hashing
        from ..kernels.parallel import map_each

        ids = np.empty(shape, np.int32)

        def number(template: int) -> tuple[Longs, Longs]:
            return hashing.number_keys(keys(template), ids[:, template])

        found = map_each(number, range(shape[1]), n_jobs)
        numbering, renumbered = _numbered(found, min_count)
        for k, mine in enumerate(renumbered):
            ids[:, k] = np.where(ids[:, k] >= 0, mine[ids[:, k]], -1) if len(mine) else -1
        return numbering, ids

    @classmethod
    def counted(cls, found: Sequence["KeyCounts"], min_count: int) -> "Numbering":
        """Numbers the keys that were seen at least min_count times, those of each template."""
        return _numbered([(one.distinct[: one.size], one.counts[: one.size]) for one in found], min_count)[0]

    def extended(self, keys: Iterable[Longs], min_count: int) -> "Numbering":
        """Returns the numbering with the keys of more rows, which come last; those it has keep their numbers."""
        grown, size = [], self.attributes
        for mine, seen in zip(self.keys, keys, strict=True):
            distinct, counts = np.unique(seen[seen >= 0], return_counts=True)
            new = np.setdiff1d(distinct[counts >= min_count], mine[0], assume_unique=True)
            grown.append(np.concatenate((mine, np.stack((new, size + np.arange(len(new))))), axis=1))
            size += len(new)
        return Numbering(grown) if size > self.attributes else self

    def look_up(self, template: int, keys: Longs, out: Ints) -> None:
        """Writes the number of every key of a template, -1 for one that has none."""
        from ..kernels import hashing

        hashing.look_up(keys, *self.tables[template], out)

    def find(self, attribute: int) -> tuple[int, int]:
        """Returns the template and the key of an attribute."""
        for template, (keys, numbers) in enumerate(self.keys):
            at = np.flatnonzero(numbers == attribute)
            if len(at):
                return template, int(keys[at[0]])
        raise DataError(f"there is no attribute {attribute}")

    def encoded(self, ids: Ints, offsets: Longs) -> Encoded:
        """Returns numbers (rows, templates), -1 for none, as sparse rows."""
        there = ids >= 0
        indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(there.sum(axis=1))))
        indices = ids.ravel() if there.all() else ids[there]
        return Encoded(offsets, indptr, indices, np.empty(0), self.attributes)

    def arrays(self) -> dict[str, Longs]:
        """What a model file keeps."""
        return {f"keys_{template}": keys for template, keys in enumerate(self.keys)}

    @classmethod
    def from_arrays(cls, arrays: Arrays, templates: int) -> "Numbering":
        """Returns the numbering that gave these arrays."""
        specs = {f"keys_{k}": ArraySpec(np.int64, (2, f"keys_{k}"), least=0) for k in range(templates)}
        keys = list(read_arrays(arrays, specs).values())
        total = sum(one.shape[1] for one in keys)
        numbers = np.concatenate([np.empty(0, np.int64), *(one[1] for one in keys)])
        if numbers.max(initial=-1) >= total or (np.bincount(numbers, minlength=total) != 1).any():
            raise DataError(f"the attributes of the templates are not numbered from 0 to {total - 1}, each once")
        return cls(keys)


def factorize(values: list[str]) -> tuple[dict[str, int], Ints]:
    """Distinct strings in order of appearance, and every string's number."""
    words = {w: k for k, w in enumerate(dict.fromkeys(values))}
    return words, np.fromiter(map(words.__getitem__, values), np.int32, len(values))


class KeyCounts:
    """The distinct keys of one template in order of appearance, and how often each was seen, of any number of rows."""

    def __init__(self) -> None:
        self.size = 0
        self.distinct, self.counts = np.empty(0, np.int64), np.empty(0, np.int64)
        self._slots, self._numbers = np.full(2, -1, np.int64), np.empty(2, np.int32)

    def add(self, keys: Longs) -> None:
        """Count the keys of more rows; memory grows with the number of distinct ones."""
        from ..kernels import hashing

        room = self.size + len(keys)  # at most so many can be new
        if room > len(self.distinct):
            more = max(room, 2 * self.size) - len(self.distinct)
            self.distinct = np.concatenate((self.distinct, np.empty(more, np.int64)))
            self.counts = np.concatenate((self.counts, np.zeros(more, np.int64)))
        if capacity(room) > len(self._slots):
            self._slots = np.full(capacity(room), -1, np.int64)
            self._numbers = np.empty(len(self._slots), np.int32)
            mine = np.arange(self.size, dtype=np.int32)
            hashing.fill_table(self.distinct[: self.size], mine, self._slots, self._numbers)
        self.size = hashing.number_more(keys, self._slots, self._numbers, self.size, self.distinct, self.counts)


def _numbered(found: Sequence[tuple[Longs, Longs]], min_count: int) -> tuple[Numbering, list[Ints]]:
    """Number the keys that are frequent enough, the most frequent first so that they stay in cache.

    found: for every template its distinct keys and how often each is there. Returns also the number of each of these
    keys, -1 for none.
    """
    count = np.concatenate([counts for _, counts in found])
    order = np.argsort(-count, kind="stable")
    order = order[count[order] >= min_count]
    numbers = np.full(len(count), -1, np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    edges = np.concatenate(([0], np.cumsum([len(keys) for keys, _ in found])))
    renumbered = [numbers[a:b] for a, b in pairwise(edges.tolist())]
    kept = [
        np.stack((keys, mine.astype(np.int64)))[:, mine >= 0] for (keys, _), mine in zip(found, renumbered, strict=True)
    ]
    return Numbering(kept), renumbered


def capacity(keys: int) -> int:
    """Slots for a table at most half full."""
    return int(2 ** np.ceil(np.log2(max(2 * keys, 2))))
