"""Sparse linear scores for segmentations: θ = F(x)·w.

The weight vector is one flat array:

    every token's attributes, label pairs, starts, ends | first token's attributes | last token's attributes | lengths

The first three are weights of `LinearScorer`s. A pair of different labels is that of neighbouring segments. Lengths
have weights for every label and bucket; without them a pair of equal labels counts every step inside of a segment, so
that scores without segment features are those of a chain. A label that most tokens have, such as that of tokens in no
field, has a weight for these steps in any case: its segments are as long as the text happens to be, and words that were
never seen speak neither for it nor against others. Attributes have weights for the labels that they were seen
with, wherever in a segment: so a weight of a last token's attribute can also say that segments do not end there.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..features.encoded import Encoded
from ..features.segments import SegmentEncoded
from ..kernels.compiling import Floats, Ints, Longs
from ..stored import Arrays, ArraySpec, read_arrays, within
from ..structures.chain import ChainParts, require_tables
from ..structures.known import KnownLabels
from ..structures.segmentation import Segmentation, SegmentParts
from . import linear
from .linear import LinearScorer, observed_attributes
from .protocol import SparseVectors

_PLACES = ("token", "first", "last")
# What a model file keeps beside the weights of the three places.
_STORED = {"buckets": ArraySpec(np.int64, ("longest",), least=-1, ascending="sorted", widest=1)}
# Each bucket of lengths ends so much later than the one before, so that lengths up to 8 have buckets of their own.
_GROWTH = 1.25


def length_buckets(longest: int) -> Longs:
    """The bucket of each length from 1 to `longest`."""
    edges = [1]
    while edges[-1] < longest:
        edges.append(max(edges[-1] + 1, int(edges[-1] * _GROWTH)))
    return np.searchsorted(edges, np.arange(1, longest + 1)).astype(np.int64)


@dataclass(frozen=True)
class SegmentScorer:
    """Which weights there are.

    token, first, last: weights of attributes, with the label tables in `token`; buckets: (longest,) int64, the length
    weights of each length, or -1 throughout where lengths have none.
    """

    token: LinearScorer
    first: LinearScorer
    last: LinearScorer
    buckets: Longs

    @classmethod
    def observed(
        cls,
        encoded: SegmentEncoded,
        targets: KnownLabels,
        labels: int,
        *,
        longest: int,
        lengths: bool = True,
        boundaries: bool = True,
        all_weights: bool = False,
    ) -> "SegmentScorer":
        """The scorer with weights for what the labels show, runs of equal labels being the segments."""
        token = LinearScorer.observed(encoded, targets, labels, boundaries=boundaries, all_weights=all_weights)
        if lengths:
            before, after = token.pairs // labels, token.pairs % labels
            stays = before == _most_common(targets.labels, labels)
            token = replace(token, pairs=token.pairs[(before != after) | stays])
        first, last = (_attributes_only(rows, targets, labels, all_weights) for rows in (encoded.first, encoded.last))
        return cls(token, first, last, length_buckets(longest) if lengths else np.full(longest, -1, np.int64))

    @property
    def labels(self) -> int:
        """Number of labels."""
        return self.token.labels

    @property
    def longest(self) -> int:
        """Most tokens of a segment."""
        return len(self.buckets)

    @cached_property
    def _slices(self) -> list[slice]:
        lengths = self.labels * (int(self.buckets.max()) + 1)
        edges = [0, *np.cumsum([self.token.size, self.first.size, self.last.size, lengths]).tolist()]
        return [slice(a, b) for a, b in pairwise(edges)]

    @property
    def size(self) -> int:
        """Number of weights."""
        return int(self._slices[-1].stop)

    def weights_of(self, place: str, w: Floats) -> Floats:
        """The weights of one part of the vector: token, first, last or length (a view)."""
        return w[self._slices[(*_PLACES, "length").index(place)]]

    def length_table(self, w: Floats) -> Floats:
        """Scores of the lengths' own weights: (labels, longest)."""
        if self.buckets[0] < 0:
            return np.zeros((self.labels, self.longest))
        table: Floats = self.weights_of("length", w).reshape(self.labels, -1)[:, self.buckets]
        return table

    def prepare(self, w: Floats) -> "SegmentWeights":
        """A weight vector made ready for scoring batches."""
        token, first, last = (getattr(self, place).prepare(self.weights_of(place, w)) for place in _PLACES)
        return SegmentWeights(token, first, last, self.length_table(w))

    def scores(self, encoded: Encoded, w: Floats, n_jobs: int = 1) -> SegmentParts:
        """Scores of every part of a batch."""
        return self.prepare(w).scores(encoded, n_jobs)

    def expectation(self) -> "SegmentExpectation":
        """An empty sum of expected features."""
        token, first, last = (getattr(self, place).expectation() for place in _PLACES)
        return SegmentExpectation(self, token, first, last, np.zeros((self.labels, self.longest)))

    def rows(self, encoded: Encoded, sequences: Longs, plus: Ints | None, minus: Ints | None) -> SparseVectors:
        """F(x, plus) - F(x, minus) of some sequences as sparse vectors; None counts as nothing."""
        weights, found = self.prepare(np.zeros(self.size)), []
        structure = Segmentation(1)
        for i in sequences.tolist():
            one, at = encoded.sequences(i, i + 1), slice(encoded.offsets[i], encoded.offsets[i + 1])
            scores, features = weights.scores(one), self.expectation()
            parts = [structure.indicator(scores, y[at]) for y in (plus, minus) if y is not None]
            features.add(one, parts[0] - parts[1] if len(parts) == 2 else parts[0])
            found.append(features.total() if plus is not None else -features.total())
        return SparseVectors.of(found, self.size)

    def for_rows(self) -> "SegmentScorer":
        """Returns the scorer as rows about expectations see it."""
        return self

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a model file keeps."""
        out: dict[str, NDArray[Any]] = {"buckets": self.buckets}
        for place in _PLACES:
            out |= {f"{place}_{name}": array for name, array in getattr(self, place).arrays().items()}
        return out

    @classmethod
    def from_arrays(cls, labels: int, arrays: Arrays) -> "SegmentScorer":
        """The scorer that gave these arrays."""
        token, first, last = (LinearScorer.from_arrays(labels, 1, within(arrays, f"{place}_")) for place in _PLACES)
        buckets = read_arrays(arrays, _STORED)["buckets"]
        if not len(buckets) or buckets[0] > 0:
            raise DataError("the array buckets must begin with the bucket of length 1, which is 0, or -1 without any")
        require_tables(max(labels, math.isqrt(labels * len(buckets))), 1)
        return cls(token, first, last, buckets)


@dataclass(frozen=True)
class SegmentWeights:
    """Weights laid out for scoring."""

    token: linear.ChainWeights
    first: linear.ChainWeights
    last: linear.ChainWeights
    length: Floats

    def scores(self, encoded: Encoded, n_jobs: int = 1) -> SegmentParts:
        """Scores of every part of a batch."""
        rows = _segments(encoded)
        token = self.token.scores(rows, n_jobs)
        opens, closes = self.first.scores(rows.first, n_jobs).unary, self.last.scores(rows.last, n_jobs).unary
        length, pair = self.length, token.pair[0].copy()
        if len(length) == 1:  # all tokens are one segment, however many there are
            more = int(np.diff(encoded.offsets).max(initial=1)) - length.shape[1]
            length = np.pad(length, ((0, 0), (0, max(0, more))), mode="edge")
        step = np.diagonal(pair).copy()  # m - 1 steps: one for every token, less one where a segment opens
        np.fill_diagonal(pair, -np.inf)
        unary, opens = token.unary + step, opens - step
        return SegmentParts(encoded.offsets, unary, opens, closes, pair, length, token.start, token.end)


@dataclass(frozen=True)
class SegmentExpectation:
    """A running sum Fᵀμ of expected features over batches."""

    scorer: SegmentScorer
    token: linear.ChainExpectation
    first: linear.ChainExpectation
    last: linear.ChainExpectation
    length: Floats

    def add(self, encoded: Encoded, parts: SegmentParts) -> None:
        """Add the expected features of one batch's (expected) parts."""
        rows = _segments(encoded)
        types = np.zeros(len(parts.unary), np.int32)
        pair = parts.pair.copy()
        np.fill_diagonal(pair, parts.unary.sum(axis=0) - parts.opens.sum(axis=0))

        def chain(unary: Floats) -> ChainParts:
            return ChainParts(parts.offsets, unary, pair[None], types, parts.start, parts.end)

        self.token.add(rows, chain(parts.unary))
        self.first.add(rows.first, chain(parts.opens))
        self.last.add(rows.last, chain(parts.closes))
        self.length[:] += parts.length[:, : self.length.shape[1]]

    def total(self) -> Floats:
        """The sum as a vector like the weights."""
        buckets = self.scorer.buckets
        lengths = np.zeros((int(buckets.max()) + 1, self.scorer.labels))
        if buckets[0] >= 0:
            np.add.at(lengths, buckets, self.length.T)
        return np.concatenate((self.token.total(), self.first.total(), self.last.total(), lengths.T.ravel()))


def _most_common(known: Ints, labels: int) -> int:
    """Returns the label that more than half of the tokens have, where there are at least two others; else -1."""
    counts = np.bincount(known[known >= 0], minlength=labels)
    most = int(counts.argmax())
    return most if (counts > 0).sum() > 2 and 2 * counts[most] > counts.sum() else -1


def _attributes_only(encoded: Encoded, targets: KnownLabels, labels: int, all_weights: bool) -> LinearScorer:
    nothing = np.empty(0, np.int64)
    if all_weights:
        pointer = np.arange(encoded.attributes + 1, dtype=np.int64) * labels
        label = np.tile(np.arange(labels, dtype=np.int32), encoded.attributes)
    else:
        pointer, label = observed_attributes(encoded, targets, labels)
    return LinearScorer(labels, 1, pointer, label, nothing, nothing, nothing, nothing)


def _segments(encoded: Encoded) -> SegmentEncoded:
    if not isinstance(encoded, SegmentEncoded):
        raise DataError("a segment scorer needs input encoded for segments; use the learner's own encode")
    return encoded
