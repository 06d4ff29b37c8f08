"""Sparse linear scores for chains: θ = F(x)·w.

Weights exist for the (attribute, label) pairs and the label pairs (and triples) that were observed in training, or
for all of them if asked; those left out stay zero. The weight vector is one flat array:

    attribute weights | label pairs | starts | ends | label triples
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..features.encoded import Encoded
from ..kernels.compiling import Flags, Floats, Ints, Longs
from ..stored import Arrays, ArraySpec, places, pointer, read_arrays
from ..structures.chain import ChainParts, count_tables, require_tables
from ..structures.known import KnownLabels
from .protocol import SparseVectors

# What a model file keeps of a scorer. An attribute has every label at most once.
STORED = {
    "pointer": pointer("attributes", into="attribute_weights", widest="labels"),
    "label": ArraySpec(np.int32, ("attribute_weights",), least=0, below="labels"),
    "pairs": places("pairs", "labels*labels"),
    "starts": places("starts", "labels"),
    "ends": places("ends", "labels"),
    "triples": places("triples", "labels*labels*labels"),
}
# An attribute with at least this many labels, and this share of all labels, gets a dense row of weights: from there on
# one vector operation is cheaper than scattered ones, and the rows of all of them stay small.
_HEAVY, _HEAVY_SHARE = 4, 1 / 5


@dataclass(frozen=True)
class LinearScorer:
    """Which weights there are.

    pointer, label: the labels of attribute a are label[pointer[a]:pointer[a + 1]]; pairs, starts, ends, triples: flat
    positions of the weighted entries in the (labels, labels), (labels,), (labels,) and (labels, labels, labels)
    tables. order: 1 or 2.
    """

    labels: int
    order: int
    pointer: Longs
    label: Ints
    pairs: Longs
    starts: Longs
    ends: Longs
    triples: Longs

    @classmethod
    def observed(
        cls,
        encoded: Encoded,
        targets: KnownLabels,
        labels: int,
        *,
        order: int = 1,
        boundaries: bool = True,
        all_weights: bool = False,
    ) -> "LinearScorer":
        """The scorer with a weight for whatever the targets show or allow, or for everything."""
        if all_weights:
            pointer = np.arange(encoded.attributes + 1, dtype=np.int64) * labels
            label = np.tile(np.arange(labels, dtype=np.int32), encoded.attributes)
        else:
            pointer, label = observed_attributes(encoded, targets, labels)
        some = ((encoded.offsets[a : b + 1] - encoded.offsets[a], targets.inputs(a, b)) for a, b in encoded.chunks())
        each = [_observed_tables(offsets, known.loaded(), labels, order) for offsets, known in some]
        tables = [np.logical_or.reduce(tables) for tables in zip(*each, strict=True)]
        pair, start, end, triple = (np.ones_like(t) for t in tables) if all_weights else tables
        nothing = np.empty(0, np.int64)
        return cls(
            labels,
            order,
            pointer,
            label,
            np.flatnonzero(pair),
            np.flatnonzero(start) if boundaries else nothing,
            np.flatnonzero(end) if boundaries else nothing,
            np.flatnonzero(triple) if order == 2 else nothing,
        )

    @classmethod
    def allowed(
        cls, encoded: Encoded, allowed: Flags, labels: int, *, order: int = 1, boundaries: bool = True
    ) -> "LinearScorer":
        """The scorer with weights of every attribute and the labels that its tokens may have, and of all label pairs.

        allowed: (tokens, labels).
        """
        nothing, edge = np.empty(0, np.int64), np.arange(labels if boundaries else 0)
        known = KnownLabels((), np.full(len(allowed), -1, np.int32), allowed, np.array([0, len(allowed)]))
        pointer, label = observed_attributes(encoded, known, labels)
        triples = np.arange(labels**3) if order == 2 else nothing
        return cls(labels, order, pointer, label, np.arange(labels**2), edge, edge, triples)

    @cached_property
    def _slices(self) -> list[slice]:
        sizes = [len(self.label), len(self.pairs), len(self.starts), len(self.ends), len(self.triples)]
        edges = [0, *np.cumsum(sizes).tolist()]
        return [slice(a, b) for a, b in pairwise(edges)]

    @property
    def size(self) -> int:
        """Number of weights."""
        return int(self._slices[-1].stop)

    def tables(self, w: Floats) -> tuple[Floats, Floats, Floats, Floats | None]:
        """Pair, start, end and triple tables of a weight vector."""
        L = self.labels
        _, pairs, starts, ends, triples = self._slices
        pair, start, end = np.zeros((1, L, L)), np.zeros(L), np.zeros(L)
        pair.ravel()[self.pairs] = w[pairs]
        start[self.starts] = w[starts]
        end[self.ends] = w[ends]
        if self.order == 1:
            return pair, start, end, None
        triple = np.zeros((L, L, L))
        triple.ravel()[self.triples] = w[triples]
        return pair, start, end, triple

    @cached_property
    def places(self) -> Ints:
        """Where in the weight vector each start, end, pair and triple stands, in this order, flat; -1 for none."""
        L = self.labels
        _, pairs, starts, ends, triples = self._slices
        out = np.full(2 * L + L * L + (L**3 if self.order == 2 else 0), -1, np.int32)
        out[self.starts] = np.arange(starts.start, starts.stop)
        out[L + self.ends] = np.arange(ends.start, ends.stop)
        out[2 * L + self.pairs] = np.arange(pairs.start, pairs.stop)
        out[2 * L + L * L + self.triples] = np.arange(triples.start, triples.stop)
        return out

    def join(self, attributes: Floats, pair: Floats, start: Floats, end: Floats) -> Floats:
        """The weight vector of attribute weights and (order one) tables: `tables` the other way round."""
        return np.concatenate((attributes, pair.ravel()[self.pairs], start[self.starts], end[self.ends]))

    def attribute_weights(self, w: Floats) -> Floats:
        """The part of the weight vector that belongs to attributes (a view)."""
        return w[self._slices[0]]

    @cached_property
    def heavy(self) -> Longs:
        """The attributes that have a row in the dense table: those with several labels."""
        return np.flatnonzero(np.diff(self.pointer) >= max(_HEAVY, _HEAVY_SHARE * self.labels))

    @cached_property
    def spans(self) -> Longs:
        """Where the weights of every attribute are, in one number each (`kernels.linear`)."""
        from ..kernels import linear

        return linear.spans_of(self.pointer, self.heavy)

    def prepare(self, w: Floats) -> "ChainWeights":
        """A weight vector made ready for scoring batches."""
        from ..kernels.linear import spread

        dense = np.zeros((len(self.heavy), self.labels))
        spread(self.pointer, self.label, w, self.heavy, dense)
        return ChainWeights(self, self.attribute_weights(w), dense, *self.tables(w))

    def scores(self, encoded: Encoded, w: Floats, n_jobs: int = 1) -> ChainParts:
        """Scores of every part of a batch."""
        return self.prepare(w).scores(encoded, n_jobs)

    def expectation(self) -> "ChainExpectation":
        """An empty sum of expected features."""
        dense = np.zeros((len(self.heavy), self.labels))
        return ChainExpectation(self, np.zeros(self.size), dense)

    def rows(self, encoded: Encoded, sequences: Longs, plus: Ints | None, minus: Ints | None) -> SparseVectors:
        """F(x, plus) - F(x, minus) of some sequences as sparse vectors; None counts as nothing."""
        from ..kernels import dual

        pointer, nothing = np.empty(len(sequences) + 1, np.int64), np.empty(0, np.int32)
        index, value = dual.chain_rows(
            sequences, encoded.offsets, encoded.indptr, encoded.indices, encoded.values, self.pointer, self.label,
            self.places, self.labels, nothing if plus is None else plus, nothing if minus is None else minus,
            np.zeros(self.size), pointer,
        )  # fmt: skip
        return SparseVectors(pointer, index, value)

    def weight_at(self, w: Floats, attribute: int) -> Floats:
        """Weights of one attribute as a row over labels, zero where there is none."""
        row = np.zeros(self.labels)
        at = slice(self.pointer[attribute], self.pointer[attribute + 1])
        row[self.label[at]] = w[at]
        return row

    def strongest(self, w: Floats, count: int, label: int | None) -> list[tuple[int, int, float]]:
        """Returns the attribute weights of largest size, of one label or of all: (attribute, label, weight)."""
        flat = self.attribute_weights(w)
        size = np.abs(flat)
        if label is not None:
            size = np.where(self.label == label, size, -1.0)
        largest = np.argsort(-size, kind="stable")[:count]
        largest = largest[size[largest] >= 0]
        owners = np.searchsorted(self.pointer, largest, side="right") - 1
        return [(int(a), int(self.label[k]), float(flat[k])) for a, k in zip(owners, largest, strict=True)]

    def united(self, other: "LinearScorer") -> tuple["LinearScorer", Longs]:
        """Returns the scorer with the weights of both, and where its own weights stand in that one.

        The other has the same labels, and may have more attributes, which come last.
        """
        L, tables = self.labels, ("pairs", "starts", "ends", "triples")
        own, more = (
            np.repeat(np.arange(len(one.pointer) - 1) * L, np.diff(one.pointer)) + one.label for one in (self, other)
        )
        both = np.union1d(own, more)
        pointer = np.searchsorted(both, np.arange(len(other.pointer)) * L).astype(np.int64)
        joint = {name: np.union1d(getattr(self, name), getattr(other, name)).astype(np.int64) for name in tables}
        grown = LinearScorer(L, self.order, pointer, (both % L).astype(np.int32), **joint)
        places = [np.searchsorted(both, own)]
        for name, at in zip(tables, grown._slices[1:], strict=True):
            places.append(at.start + np.searchsorted(joint[name], getattr(self, name)))
        return grown, np.concatenate(places)

    def as_chain(self) -> "LinearScorer":
        """Returns the scorer of chains that gives the same scores, which compiled passes over the data need."""
        return self

    def for_rows(self) -> "LinearScorer":
        """Returns the scorer as rows about expectations see it."""
        return self

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a model file keeps."""
        return {name: getattr(self, name) for name in STORED}

    @classmethod
    def from_arrays(cls, labels: int, order: int, arrays: Arrays, **sizes: int) -> "LinearScorer":
        """The scorer that gave these arrays; sizes: others that are known, as `STORED` calls them."""
        require_tables(labels, order)
        if order == 1:
            sizes["triples"] = 0
        return cls(labels, order, **read_arrays(arrays, STORED, labels=labels, **sizes))


@dataclass(frozen=True)
class ChainWeights:
    """Weights laid out for scoring: flat and dense attribute weights, and the label tables."""

    scorer: LinearScorer
    flat: Floats
    dense: Floats
    pair: Floats
    start: Floats
    end: Floats
    triple: Floats | None

    def scores(self, encoded: Encoded, n_jobs: int = 1) -> ChainParts:
        """Scores of every part of a batch."""
        from ..kernels.linear import add_scores
        from ..kernels.parallel import map_shards

        s = self.scorer
        unary = np.zeros((encoded.tokens, s.labels))

        def run(first: int, last: int) -> None:
            a, b = encoded.offsets[first], encoded.offsets[last]
            add_scores(
                encoded.indptr[a : b + 1], encoded.indices, encoded.values, s.spans, s.label, self.flat, self.dense,
                unary[a:b],
            )  # fmt: skip

        map_shards(run, encoded.offsets, n_jobs)
        types = np.zeros(encoded.tokens, np.int32)
        return ChainParts(encoded.offsets, unary, self.pair, types, self.start, self.end, self.triple)


@dataclass(frozen=True)
class ChainExpectation:
    """A running sum Fᵀμ of expected features over batches."""

    scorer: LinearScorer
    flat: Floats
    dense: Floats

    def add(self, encoded: Encoded, parts: ChainParts) -> None:
        """Add the expected features of one batch's (expected) parts."""
        from ..kernels.linear import add_expectations

        s, out = self.scorer, self.flat
        attributes, pairs, starts, ends, triples = s._slices
        add_expectations(
            encoded.indptr, encoded.indices, encoded.values, s.spans, s.label, parts.unary, self.dense, out[attributes]
        )  # fmt: skip
        out[pairs] += (parts.pair[0] if len(parts.pair) == 1 else parts.pair.sum(axis=0)).ravel()[s.pairs]
        out[starts] += parts.start[s.starts]
        out[ends] += parts.end[s.ends]
        if parts.triple is not None:
            out[triples] += parts.triple.ravel()[s.triples]

    def total(self) -> Floats:
        """The sum as a vector like the weights."""
        from ..kernels.linear import collect

        out = self.flat.copy()
        collect(self.scorer.pointer, self.scorer.label, self.dense, self.scorer.heavy, out)
        return out


# Cells of the table of possible pairs, positions by pairs, that are held at a time.
_CELLS = 1 << 24


def _observed_tables(
    offsets: Longs, targets: KnownLabels, L: int, order: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Which label pairs, starts, ends and triples occur, or are possible where labels are partial."""
    if targets.allowed is None:
        pair, start, end, triple = (t > 0 for t in count_tables(offsets, targets.labels, L, order))
        return pair, start, end, triple
    allowed = targets.allowed.astype(np.float32)
    heads, tails = offsets[:-1], offsets[1:] - 1
    follows = np.ones(len(allowed), bool)
    follows[heads] = False
    at = np.flatnonzero(follows)
    pair = allowed[at - 1].T @ allowed[at] > 0
    triple = np.zeros((0, 0, 0), bool)
    if order == 2:
        follows[heads[tails > heads] + 1] = False
        at = np.flatnonzero(follows)
        seen = np.zeros((L * L, L), bool)
        chunk = max(1, _CELLS // (L * L))
        for first in range(0, len(at), chunk):
            some = at[first : first + chunk]
            both = (allowed[some - 2][:, :, None] * allowed[some - 1][:, None, :]).reshape(len(some), L * L)
            seen |= both.T @ allowed[some] > 0
            if seen.all():
                break
        triple = seen.reshape(L, L, L)
    return pair, allowed[heads].sum(axis=0) > 0, allowed[tails].sum(axis=0) > 0, triple


def observed_attributes(encoded: Encoded, targets: KnownLabels, L: int) -> tuple[Longs, Ints]:
    """For every attribute the labels it occurs with."""
    from ..kernels import linear

    seen = np.zeros((encoded.attributes, (L + 63) // 64), np.uint64)
    for a, b in encoded.chunks():
        some, known = encoded.sequences(a, b).loaded(), targets.inputs(a, b).loaded()
        allowed = np.empty((0, 0), bool) if known.allowed is None else known.allowed
        linear.mark_pairs(some.indptr, some.indices, known.labels, allowed, seen)
    pointer = np.empty(encoded.attributes + 1, np.int64)
    linear.list_labels(seen, L, pointer, np.empty(0, np.int32))
    label = np.empty(pointer[-1], np.int32)
    linear.list_labels(seen, L, pointer, label)
    return pointer, label
