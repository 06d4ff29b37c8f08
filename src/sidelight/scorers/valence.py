"""The dependency model with valence as scores: log-probabilities of roots, children, and of stopping.

log P(x, y) = log P(root) + Σ arcs [log P(go on | head, side, any child yet) + log P(child | head, side)]
            + Σ words, sides  log P(stop | word, side, any child)

(Klein & Manning 2004; Eq. 57 of Ganchev et al. 2010.)

What counts is whether a head has no child on a side, one, or more, so it does not matter whether children come from the
nearest or from the furthest on; the paper writes one, and the model of 2004 the other.

Every tree has one root, so what all words would cost without children is a part of the score of the arc from the root.
The arc to the nearest child on a side then adds what a first child changes there.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..features.arcs import arc_ends
from ..features.encoded import Encoded
from ..kernels.compiling import Floats, Longs
from ..stored import Arrays, finite, read_arrays
from ..structures.flat import FlatParts

# What a model file keeps.
_STORED = {
    "root": finite("symbols", least=0),
    "child": finite("symbols", 2, "symbols", least=0),
    "stop": finite("symbols", 2, 2, 2, least=0),
}
# Sides of a head, and what is decided there.
LEFT, RIGHT = 0, 1
STOP, GO = 0, 1


@dataclass(frozen=True)
class Arcs:
    """All arcs of a batch of sentences, in the order of `Trees`: flat tokens and symbols of their ends.

    head: -1 for the root; side: on which side of the head the child is.
    """

    sizes: Longs
    child: Longs
    head: Longs
    side: Longs

    @classmethod
    def of(cls, offsets: Longs) -> "Arcs":
        """Those of sentences that begin at these places."""
        sizes = np.diff(offsets)
        nothing = np.empty(0, np.int64)
        ends = [arc_ends(n) for n in sizes.tolist()]
        first = np.repeat(offsets[:-1], sizes**2)
        child = np.concatenate([nothing, *(one for one, _ in ends)]) + first
        slot = np.concatenate([nothing, *(one for _, one in ends)])
        head = np.where(slot > 0, slot - 1 + first, -1)
        return cls(sizes, child, head, (head < child).astype(np.int64))

    @property
    def owner(self) -> Longs:
        """The sentence of each arc."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes**2)

    def parts(self, values: Floats) -> FlatParts:
        """Numbers of all parts, (arcs, 2), as those of a batch."""
        offsets = np.concatenate(([0], np.cumsum(2 * self.sizes**2))).astype(np.int64)
        shapes = np.stack((self.sizes, np.full(len(self.sizes), 2)), axis=1)
        return FlatParts(np.ascontiguousarray(values, float).ravel(), offsets, shapes)


@dataclass(frozen=True)
class ValenceCounts:
    """How often each symbol was a root or a child, and how often heads stopped, or are expected to.

    root: (symbols,); child: (heads, sides, children); stop: (heads, sides, with a child already, stop or go on).
    """

    root: Floats
    child: Floats
    stop: Floats

    @classmethod
    def from_arrays(cls, arrays: Arrays, symbols: int) -> "ValenceCounts":
        """The counts that a model file keeps."""
        return cls(**read_arrays(arrays, _STORED, symbols=symbols))

    @classmethod
    def random(cls, symbols: int, spread: float, rng: np.random.Generator) -> "ValenceCounts":
        """1 + spread U(0, 1) everywhere: a model to begin with."""
        shapes: tuple[tuple[int, ...], ...] = ((symbols,), (symbols, 2, symbols), (symbols, 2, 2, 2))
        return cls(*(1 + spread * rng.uniform(size=shape) for shape in shapes))

    @property
    def tables(self) -> tuple[Floats, Floats, Floats]:
        """All of them; the distributions are along the last axis of each."""
        return self.root, self.child, self.stop

    def __add__(self, other: "ValenceCounts") -> "ValenceCounts":
        """Both together."""
        return ValenceCounts(self.root + other.root, self.child + other.child, self.stop + other.stop)

    def times(self, factor: float) -> "ValenceCounts":
        """Every count times a factor."""
        return ValenceCounts(*(factor * table for table in self.tables))


@dataclass(frozen=True)
class ValenceScorer:
    """Log-probabilities, in tables as those of `ValenceCounts`."""

    root: Floats
    child: Floats
    stop: Floats

    @classmethod
    def estimate(cls, counts: ValenceCounts, smoothing: float) -> "ValenceScorer":
        """Logs of shares of the counts, with so much added to each."""
        more = [table + smoothing for table in counts.tables]
        return cls(*(np.log(table / table.sum(axis=-1, keepdims=True)) for table in more))

    @property
    def tables(self) -> tuple[Floats, Floats, Floats]:
        """All of them."""
        return self.root, self.child, self.stop

    def scores(self, encoded: Encoded, first: int = 0) -> FlatParts:
        """log P of every part of a batch, wherever its first token is."""
        return Arcs.of(encoded.offsets).parts(sum(self.reasons(encoded).values()))

    def reasons(self, encoded: Encoded) -> dict[str, Any]:
        """What the scores of parts are made of: root and children, stopping, and words without children."""
        arcs, symbol = Arcs.of(encoded.offsets), symbols_of(encoded)
        real, child, head = arcs.head >= 0, symbol[arcs.child], symbol[arcs.head]
        attached = np.where(real, self.child[head, arcs.side, child], self.root[child])
        stop = self.stop[head, arcs.side]
        valence = np.zeros((len(child), 2))
        valence[:, 0] = np.where(real, stop[:, 0, GO] + stop[:, 1, STOP] - stop[:, 0, STOP], 0.0)
        valence[:, 1] = np.where(real, stop[:, 1, GO], -np.inf)
        alone = self.stop[symbol, :, 0, STOP].sum(axis=1)
        sums = np.add.reduceat(alone, encoded.offsets[:-1]) if len(alone) else alone
        leaves = np.where(real, 0.0, sums[arcs.owner] if len(sums) else 0.0)
        return {"child": attached[:, None], "valence": valence, "leaves": leaves[:, None]}


@dataclass(frozen=True)
class ValenceCounting:
    """How parts of sentences over so many symbols are scored by tables, and counted."""

    symbols: int

    def prepare(self, tables: ValenceScorer) -> ValenceScorer:
        """Log-probabilities are ready as they are."""
        return tables

    def expectation(self) -> "ValenceSums":
        """Returns an empty sum of counts."""
        n = self.symbols
        return ValenceSums(ValenceCounts(np.zeros(n), np.zeros((n, 2, n)), np.zeros((n, 2, 2, 2))))


@dataclass(frozen=True)
class ValenceSums:
    """A running sum of counts over batches."""

    counts: ValenceCounts

    def add(self, encoded: Encoded, parts: FlatParts) -> None:
        """Add the (expected) parts of one batch."""
        arcs, symbol, symbols = Arcs.of(encoded.offsets), symbols_of(encoded), len(self.counts.root)
        mass = parts.values.reshape(-1, 2)
        root, real = arcs.head < 0, arcs.head >= 0
        child, head = symbol[arcs.child[real]], symbol[arcs.head[real]]
        place = head * 2 + arcs.side[real]
        near, far = (np.bincount(place, weights=mass[real, v], minlength=2 * symbols) for v in (0, 1))
        pairs = np.bincount(place * symbols + child, weights=mass[real].sum(axis=1), minlength=2 * symbols**2)
        # A sentence counts what the arcs from its root count, and so does each of its words.
        weight = np.bincount(arcs.owner[root], weights=mass[root, 0], minlength=len(arcs.sizes))
        words = np.repeat(np.bincount(symbol, weights=np.repeat(weight, arcs.sizes), minlength=symbols), 2)
        stop = np.stack((np.maximum(words - near, 0.0), near, near, far), axis=1)
        roots = np.bincount(symbol[arcs.child[root]], weights=mass[root, 0], minlength=symbols)
        for table, more in zip(self.counts.tables, (roots, pairs, stop), strict=True):
            np.add(table, more.reshape(table.shape), out=table)

    def total(self) -> ValenceCounts:
        """The counts."""
        return self.counts


def symbols_of(encoded: Encoded) -> Longs:
    """The symbol of every token."""
    symbols: Longs = encoded.indices[encoded.indptr[:-1]].astype(np.int64)
    return symbols


def harmonic_parts(encoded: Encoded, constant: float) -> FlatParts:
    """Expected parts to begin with: heads nearby are likelier (Klein & Manning 2004).

    Every word is as likely as any other to be the root, and its other heads are in proportion to 1 / (distance +
    constant). Which child is the nearest follows as if heads were chosen independently of each other.
    """
    arcs = Arcs.of(encoded.offsets)
    values, first = np.zeros((len(arcs.child), 2)), 0
    for n in arcs.sizes.tolist():
        child, head = arc_ends(n)
        weight = np.where(head > 0, 1.0 / (np.abs(head - 1 - child) + constant), 0.0).reshape(n, n)
        total = weight.sum(axis=1, keepdims=True)
        chance = (1.0 - 1.0 / n) * weight / np.where(total > 0, total, 1.0)
        chance[:, 0] = 1.0 / n
        table = np.zeros((n, n + 1))  # by child and head
        table[child, head] = chance.ravel()
        near = np.zeros((n, n + 1))
        near[:, 0] = table[:, 0]
        for h in range(1, n + 1):
            for side in (range(h, n), range(h - 2, -1, -1)):
                left = 1.0
                for c in side:
                    near[c, h] = left * table[c, h]
                    left *= 1.0 - table[c, h]
        values[first : first + n * n] = np.stack((near[child, head], (table - near)[child, head]), axis=1)
        first += n * n
    return arcs.parts(values)
