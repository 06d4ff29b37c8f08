"""Outputs of a batch, and what is known about them.

An output is a row of whole numbers, as its structure writes it: the label of every token, the head of every word, 0 or
1 for every variable. How many numbers that are depends on the input alone, so one array of offsets serves all outputs
of a batch. These offsets are those of the outputs and need not be those of the encoded input.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from ..kernels.compiling import Flags, Ints, Longs
from ..supervision import Signal

P = TypeVar("P")


@dataclass(frozen=True)
class Outputs:
    """One output for every input of a batch.

    values: (slots,) int32, flat, or (ranks, slots) for several outputs of every input; offsets: (inputs + 1,) int64,
    where the output of each input begins.
    """

    values: Ints
    offsets: Longs

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def inputs(self, first: int, last: int) -> "Outputs":
        """Returns the outputs of inputs first to last - 1."""
        offsets = self.offsets[first : last + 1]
        return Outputs(self.values[..., offsets[0] : offsets[-1]], offsets - offsets[0])

    def take(self, which: Longs) -> "Outputs":
        """Returns the outputs of some inputs, in this order."""
        places, offsets = places_of(self.offsets, which)
        return Outputs(self.values[..., places], offsets)

    def differing(self, other: "Outputs") -> Longs:
        """Returns the numbers of the inputs whose outputs are not the same in both."""
        places = np.flatnonzero(self.values != other.values)
        return np.unique(np.searchsorted(self.offsets, places, side="right") - 1)


def places_of(offsets: Longs, which: Longs) -> tuple[Longs, Longs]:
    """Returns the flat places of some inputs' entries, one input after the other, and the offsets of these."""
    lengths = np.diff(offsets)[which]
    edges = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return np.repeat(offsets[which] - edges[:-1], lengths) + np.arange(edges[-1]), edges


class Known(Protocol[P]):
    """What is known about the outputs of a batch."""

    @property
    def kinds(self) -> tuple[Signal, ...]:
        """What kind of knowledge there is about each output."""
        ...

    @property
    def full(self) -> bool:
        """Whether every output is known."""
        ...

    @property
    def outputs(self) -> Outputs:
        """The outputs as the structure writes them; numbers that are not known are -1."""
        ...

    def __len__(self) -> int: ...

    def inputs(self, first: int, last: int) -> Self:
        """Returns what is known about inputs first to last - 1."""
        ...

    def take(self, which: Longs) -> Self:
        """Returns what is known about some inputs, in this order."""
        ...

    def restrict(self, scores: P) -> P:
        """Returns the scores with -inf on every part that no output has which agrees with what is known."""
        ...


@dataclass(frozen=True)
class KnownLabels:
    """What is known about the labels of tokens (or of documents, which are one token each).

    kinds: one per input; labels: (tokens,) int32, -1 where the label is not known; allowed: (tokens, labels) bool, or
    None if every label is known; offsets: (inputs + 1,) where the tokens of each input begin; written: the outputs as
    the structure writes them, where these are not the labels themselves.
    """

    kinds: tuple[Signal, ...]
    labels: Ints
    allowed: Flags | None
    offsets: Longs
    written: Ints | None = None

    @classmethod
    def complete(cls, labels: Ints, offsets: Longs) -> "KnownLabels":
        """Returns the knowledge that the labels are these."""
        return cls((Signal.FULL,) * (len(offsets) - 1), np.asarray(labels, np.int32), None, offsets)

    @property
    def full(self) -> bool:
        """Whether every label is known."""
        return self.allowed is None

    @property
    def outputs(self) -> Outputs:
        """The outputs as the structure writes them; -1 where a label is not known."""
        return Outputs(self.labels if self.written is None else self.written, self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def choices(self, count: int) -> Flags:
        """Returns which of `count` labels are possible, (tokens, count); a known label allows itself alone."""
        if self.allowed is not None:
            return self.allowed
        alone: Flags = self.labels[:, None] == np.arange(count)
        return alone

    def inputs(self, first: int, last: int) -> "KnownLabels":
        """Returns what is known about inputs first to last - 1."""
        offsets = self.offsets[first : last + 1]
        return self._some(slice(offsets[0], offsets[-1]), offsets - offsets[0], self.kinds[first:last])

    def take(self, which: Longs) -> "KnownLabels":
        """Returns what is known about some inputs, in this order."""
        places, offsets = places_of(self.offsets, which)
        return self._some(places, offsets, tuple(self.kinds[i] for i in which))

    def _some(self, at: Any, offsets: Longs, kinds: tuple[Signal, ...]) -> "KnownLabels":
        allowed, written = (None if array is None else array[at] for array in (self.allowed, self.written))
        return KnownLabels(kinds, self.labels[at], allowed, offsets, written)

    def loaded(self) -> "KnownLabels":
        """Returns the same in memory, where it is."""
        return self

    def all_known(self) -> "KnownLabels":
        """Returns the same where every label is known."""
        return KnownLabels(self.kinds, self.labels, None, self.offsets, self.written)

    def restrict(self, scores: Any) -> Any:
        """Returns the scores with -inf on the labels that are not allowed."""
        return scores.restrict(self.choices(scores.labels))

    def wrong(self, count: int) -> Flags:
        """Returns which of `count` labels contradict what is known, (tokens, count)."""
        return ~self.choices(count)


# Inputs with at most this many tokens come into memory at once; what is known of more stays on disk.
_SMALL = 1 << 14


class StoredLabels(KnownLabels):
    """What is known about labels that stay on disk: `inputs` reads those of some inputs.

    Whoever asks for the arrays of all inputs gets these in memory, as long as this object lives.
    """

    _read: Callable[[int, int], Ints]
    _none: int
    _table: Ints
    _options: Flags | None
    _first: int

    def __init__(
        self,
        kinds: tuple[Signal, ...],
        offsets: Longs,
        read: Callable[[int, int], Ints],
        none: int,
        table: Ints,
        options: Flags | None,
        first: int = 0,
    ) -> None:
        """read: gives the codes of inputs' tokens, which with `none` added stand for rows of table and options.

        table: (codes,) the label, -1 where it is not known; options: (codes, labels) those that are allowed, None where
        all labels are known; first: the number of the first input, as `read` knows it.
        """
        self.__dict__.update(kinds=kinds, offsets=offsets)
        self.__dict__.update(_read=read, _none=none, _table=table, _options=options, _first=first)

    def __reduce__(self) -> tuple[Any, ...]:
        one = self._all
        return KnownLabels, (one.kinds, one.labels, one.allowed, one.offsets)

    @property
    def full(self) -> bool:
        """Whether every label is known."""
        return self._options is None

    def inputs(self, first: int, last: int) -> KnownLabels:
        """Returns what is known about inputs first to last - 1: in memory if they are few, else as it is."""
        offsets = self.offsets[first : last + 1]
        view = StoredLabels(
            self.kinds[first:last], offsets - offsets[0], self._read, self._none, self._table, self._options,
            self._first + first,
        )  # fmt: skip
        return view.loaded() if view.offsets[-1] <= _SMALL or last - first <= 1 else view

    def loaded(self) -> KnownLabels:
        """Returns the same in memory."""
        codes = self._read(self._first, self._first + len(self)) + self._none
        allowed = None if self._options is None else self._options[codes]
        return KnownLabels(self.kinds, self._table[codes], allowed, self.offsets)

    @cached_property
    def _all(self) -> KnownLabels:
        return self.loaded()

    @property
    def labels(self) -> Ints:
        """The label of every token, -1 where it is not known."""
        return self._all.labels

    @property
    def allowed(self) -> Flags | None:
        """Which labels are allowed, None if every label is known."""
        return self._all.allowed

    @property
    def written(self) -> None:
        """The outputs are the labels."""
        return None
