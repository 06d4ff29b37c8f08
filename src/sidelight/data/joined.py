"""Inputs from several places one after the other, such as a list and a corpus on disk, as one sequence."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ..supervision import Signal, StoredOutputs, all_kinds
from .corpus import Corpus


class Joined(Sequence[Any]):
    """Several sequences of inputs, or of what is known of them, one after the other."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = [part for part in parts if len(part)]
        self.edges = np.concatenate(([0], np.cumsum([len(part) for part in self.parts], dtype=np.int64)))

    def __len__(self) -> int:
        return int(self.edges[-1])

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.parts)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.take(range(*index.indices(len(self))))
        number = range(len(self))[index]
        part = int(np.searchsorted(self.edges, number, side="right")) - 1
        return self.parts[part][number - int(self.edges[part])]

    def kinds(self) -> list[Signal]:
        """The kind of every element, where these are what is known of inputs."""
        return [kind for part in self.parts for kind in all_kinds(part)]

    def take(self, which: Any) -> Any:
        """Returns some elements in this order; those that follow each other in one part stay together there."""
        chosen = np.asarray(which, np.int64)
        owner = np.searchsorted(self.edges, chosen, side="right") - 1
        cuts = np.flatnonzero(np.diff(owner)) + 1
        parts = [
            _some(self.parts[mine[0]], some - self.edges[mine[0]])
            for some, mine in zip(np.split(chosen, cuts), np.split(owner, cuts), strict=True)
            if len(some)
        ]
        return parts[0] if len(parts) == 1 else joined(parts)


def joined(parts: Sequence[Any]) -> Any:
    """Returns the parts as one: a list, or where one of them stays on disk something like a list."""
    kept = [part for part in parts if len(part)]
    if len(kept) == 1:
        return kept[0]
    if any(isinstance(part, Corpus | StoredOutputs | Joined) for part in kept):
        return Joined(kept)
    return list(chain.from_iterable(kept))


def _some(part: Any, which: Any) -> Any:
    return part.take(which) if isinstance(part, Corpus | StoredOutputs) else [part[i] for i in which.tolist()]
