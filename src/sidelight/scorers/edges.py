"""Sparse linear scores for chains whose attributes also have weights for pairs of neighbouring labels: θ = F(x)·w.

What is observed at a token speaks about its label, and about the step from the label before it. So a feature of the
word before, say, sees both labels that it stands between. The weight vector is one flat array:

    weights of a `LinearScorer` | weights of attributes and label pairs
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..features.encoded import Encoded
from ..kernels.compiling import Floats, Ints, Longs
from ..stored import Arrays, ArraySpec, pointer, read_arrays
from ..structures.chain import Chain, ChainParts
from ..structures.known import KnownLabels
from . import linear
from .linear import LinearScorer, observed_attributes
from .protocol import SparseVectors

# What a model file keeps beside the weights of tokens.
_STORED = {
    "edge_pointer": pointer("attributes", into="edge_weights", widest="label_pairs"),
    "edge_label": ArraySpec(np.int32, ("edge_weights",), least=0, below="label_pairs"),
}


@dataclass(frozen=True)
class EdgeScorer:
    """Which weights there are; `edges` has label pairs as labels: that of a and b is a * labels + b."""

    token: LinearScorer
    edges: LinearScorer

    @classmethod
    def observed(
        cls, encoded: Encoded, targets: KnownLabels, labels: int, *, boundaries: bool = True, all_weights: bool = False
    ) -> "EdgeScorer":
        """The scorer with a weight for whatever the targets show or allow, or for everything."""
        token = LinearScorer.observed(encoded, targets, labels, boundaries=boundaries, all_weights=all_weights)
        pairs = labels * labels
        if all_weights:
            pointer = np.arange(encoded.attributes + 1, dtype=np.int64) * pairs
            label = np.tile(np.arange(pairs, dtype=np.int32), encoded.attributes)
        else:
            pointer, label = observed_attributes(encoded, _known_pairs(encoded.offsets, targets, labels), pairs)
        return cls(token, _attributes_alone(pairs, pointer, label))

    @property
    def labels(self) -> int:
        """Number of labels."""
        return self.token.labels

    @property
    def size(self) -> int:
        """Number of weights."""
        return self.token.size + self.edges.size

    @property
    def pointer(self) -> Longs:
        """Where the labels of every attribute begin."""
        return self.token.pointer

    def united(self, other: "EdgeScorer") -> tuple["EdgeScorer", Longs]:
        """Returns the scorer with the weights of both, and where its own weights stand in that one."""
        token, first = self.token.united(other.token)
        edges, second = self.edges.united(other.edges)
        return EdgeScorer(token, edges), np.concatenate((first, token.size + second))

    def prepare(self, w: Floats) -> "EdgeWeights":
        """A weight vector made ready for scoring batches."""
        return EdgeWeights(self.token.prepare(w[: self.token.size]), self.edges.prepare(w[self.token.size :]))

    def scores(self, encoded: Encoded, w: Floats, n_jobs: int = 1) -> ChainParts:
        """Scores of every part of a batch."""
        return self.prepare(w).scores(encoded, n_jobs)

    def expectation(self) -> "EdgeExpectation":
        """An empty sum of expected features."""
        return EdgeExpectation(self.token.expectation(), self.edges.expectation())

    def rows(self, encoded: Encoded, sequences: Longs, plus: Ints | None, minus: Ints | None) -> SparseVectors:
        """F(x, plus) - F(x, minus) of some sequences as sparse vectors; None counts as nothing."""
        chain, vectors = Chain(1), []
        for i in sequences.tolist():
            one, total = encoded.sequences(i, i + 1), np.zeros(self.size)
            at = slice(encoded.offsets[i], encoded.offsets[i + 1])
            for sign, output in ((1.0, plus), (-1.0, minus)):
                if output is not None:
                    found = self.expectation()
                    found.add(one, chain.indicator(self._nothing(one), output[at]))
                    total += sign * found.total()
            vectors.append(total)
        return SparseVectors.of(vectors, self.size)

    def _nothing(self, encoded: Encoded) -> ChainParts:
        """Scores of zero."""
        L = self.labels
        return _each_its_own(
            ChainParts.of(encoded.offsets, np.zeros((encoded.tokens, L)), np.zeros((1, L, L))),
            np.zeros((encoded.tokens, L, L)),
        )

    def weight_at(self, w: Floats, attribute: int) -> Floats:
        """Weights of one attribute as a row over labels, zero where there is none."""
        return self.token.weight_at(w[: self.token.size], attribute)

    def strongest(self, w: Floats, count: int, label: int | None) -> list[tuple[int, int, float]]:
        """Returns the weights of attributes and labels of largest size: (attribute, label, weight)."""
        return self.token.strongest(w[: self.token.size], count, label)

    def strongest_pairs(self, w: Floats, count: int, label: int | None) -> list[tuple[int, int, int, float]]:
        """Returns the weights of label pairs of largest size: (attribute, label before, label, weight).

        label: that of the second of the two, None for any.
        """
        found = self.edges.strongest(w[self.token.size :], count if label is None else self.edges.size, None)
        pairs = ((a, *divmod(pair, self.labels), weight) for a, pair, weight in found)
        return [one for one in pairs if label in (None, one[2])][:count]

    def for_rows(self) -> "EdgeScorer":
        """Returns the scorer as rows about expectations see it."""
        return self

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a model file keeps."""
        more: dict[str, NDArray[Any]] = {"edge_pointer": self.edges.pointer, "edge_label": self.edges.label}
        return {**self.token.arrays(), **more}

    @classmethod
    def from_arrays(cls, labels: int, arrays: Arrays) -> "EdgeScorer":
        """The scorer that gave these arrays."""
        token = LinearScorer.from_arrays(labels, 1, arrays)
        own = read_arrays(arrays, _STORED, label_pairs=labels * labels, attributes=len(token.pointer) - 1)
        return cls(token, _attributes_alone(labels * labels, own["edge_pointer"], own["edge_label"]))


@dataclass(frozen=True)
class EdgeWeights:
    """Weights laid out for scoring."""

    token: linear.ChainWeights
    edges: linear.ChainWeights

    def scores(self, encoded: Encoded, n_jobs: int = 1) -> ChainParts:
        """Scores of every part of a batch; every token has its own table of label pairs.

        Without tokens there is the one table that theirs are added to.
        """
        parts, labels = self.token.scores(encoded, n_jobs), self.token.scorer.labels
        if not encoded.tokens:
            return parts
        tables = self.edges.scores(encoded, n_jobs).unary.reshape(-1, labels, labels)
        return _each_its_own(parts, tables + parts.pair)


@dataclass(frozen=True)
class EdgeExpectation:
    """A running sum Fᵀμ of expected features over batches."""

    token: linear.ChainExpectation
    edges: linear.ChainExpectation

    def add(self, encoded: Encoded, parts: ChainParts) -> None:
        """Add the expected features of one batch's (expected) parts."""
        labels = parts.labels
        self.token.add(encoded, parts)
        pairs = np.ascontiguousarray(parts.pair[parts.pair_type].reshape(-1, labels * labels))
        pairs[parts.offsets[:-1]] = 0.0
        nothing = np.empty(0)
        self.edges.add(encoded, ChainParts(parts.offsets, pairs, nothing[None], parts.pair_type, nothing, nothing))

    def total(self) -> Floats:
        """The sum as a vector like the weights."""
        return np.concatenate((self.token.total(), self.edges.total()))


def _each_its_own(parts: ChainParts, tables: Floats) -> ChainParts:
    """Parts whose tokens have a table of label pairs each."""
    return replace(parts, pair=tables, pair_type=np.arange(len(tables), dtype=np.int32))


def _attributes_alone(labels: int, pointer: Longs, label: Ints) -> LinearScorer:
    """A scorer without tables."""
    nothing = np.empty(0, np.int64)
    return LinearScorer(labels, 1, pointer, label, nothing, nothing, nothing, nothing)


def _known_pairs(offsets: Longs, targets: KnownLabels, labels: int) -> KnownLabels:
    """What is known about the pair of each token's label and the one before; nothing is possible at first tokens."""
    heads = offsets[:-1]
    if targets.allowed is None:
        codes = np.full(len(targets.labels), -1, np.int32)
        codes[1:] = targets.labels[:-1] * labels + targets.labels[1:]
        codes[heads] = -1
        return replace(targets.loaded(), labels=codes)
    choices = targets.choices(labels)
    pairs = np.zeros((len(choices), labels, labels), bool)
    pairs[1:] = choices[:-1, :, None] & choices[1:, None, :]
    pairs[heads] = False
    return replace(
        targets.loaded(), labels=np.full(len(choices), -1, np.int32), allowed=pairs.reshape(len(choices), -1)
    )
