"""Sparse linear scores for one decision per input: θ = F(x)·w.

The weight vector is one flat array, laid out by a `LinearScorer` whose first labels are the labels themselves:

    attribute weights | biases of the labels
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..features.encoded import Encoded
from ..kernels.compiling import Floats, Ints, Longs
from ..stored import Arrays
from ..structures.chain import ChainParts
from ..structures.choice import ChoiceParts
from ..structures.known import KnownLabels
from . import linear
from .linear import LinearScorer, observed_attributes
from .protocol import SparseVectors


@dataclass(frozen=True)
class ChoiceScorer:
    """Which weights there are; every input is encoded as one row."""

    linear: LinearScorer

    @classmethod
    def observed(
        cls, encoded: Encoded, targets: KnownLabels, labels: int, *, bias: bool = True, all_weights: bool = True
    ) -> "ChoiceScorer":
        """The scorer with weights for all (attribute, label) pairs, or for those that the targets show or allow."""
        if all_weights:
            pointer = np.arange(encoded.attributes + 1, dtype=np.int64) * labels
            label = np.tile(np.arange(labels, dtype=np.int32), encoded.attributes)
        else:
            pointer, label = observed_attributes(encoded, targets, labels)
        nothing = np.empty(0, np.int64)
        biases = np.arange(labels) if bias else nothing
        return cls(LinearScorer(labels, 1, pointer, label, nothing, biases, nothing, nothing))

    @property
    def labels(self) -> int:
        """Number of labels."""
        return self.linear.labels

    @cached_property
    def size(self) -> int:
        """Number of weights."""
        return self.linear.size

    def united(self, other: "ChoiceScorer") -> tuple["ChoiceScorer", Longs]:
        """Returns the scorer with the weights of both, and where its own weights stand in that one."""
        grown, places = self.linear.united(other.linear)
        return ChoiceScorer(grown), places

    def as_chain(self) -> LinearScorer:
        """Returns the scorer of chains of one token that gives the same scores."""
        return self.linear

    def for_rows(self) -> LinearScorer:
        """Returns the scorer as rows about expectations see it: that of chains of one token."""
        return self.linear

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a model file keeps."""
        return self.linear.arrays()

    @classmethod
    def from_arrays(cls, labels: int, arrays: Arrays) -> "ChoiceScorer":
        """The scorer that gave these arrays."""
        return cls(LinearScorer.from_arrays(labels, 1, arrays))

    def biases(self, w: Floats) -> Floats:
        """The labels' own weights, zero where there are none."""
        return self.linear.tables(w)[1]

    def prepare(self, w: Floats) -> "ChoiceWeights":
        """A weight vector made ready for scoring batches."""
        return ChoiceWeights(self.linear.prepare(w))

    def scores(self, encoded: Encoded, w: Floats, n_jobs: int = 1) -> ChoiceParts:
        """Scores of every part of a batch."""
        return self.prepare(w).scores(encoded, n_jobs)

    def expectation(self) -> "ChoiceExpectation":
        """An empty sum of expected features."""
        return ChoiceExpectation(self.linear.expectation())

    def rows(self, encoded: Encoded, sequences: Longs, plus: Ints | None, minus: Ints | None) -> SparseVectors:
        """F(x, plus) - F(x, minus) of some inputs as sparse vectors; None counts as nothing."""
        return self.linear.rows(encoded, sequences, plus, minus)


@dataclass(frozen=True)
class ChoiceWeights:
    """Weights laid out for scoring."""

    rows: linear.ChainWeights

    def scores(self, encoded: Encoded, n_jobs: int = 1) -> ChoiceParts:
        """Scores of every part of a batch."""
        parts = self.rows.scores(encoded, n_jobs)
        return ChoiceParts(parts.unary + parts.start)


@dataclass(frozen=True)
class ChoiceExpectation:
    """A running sum Fᵀμ of expected features over batches."""

    rows: linear.ChainExpectation

    def add(self, encoded: Encoded, parts: ChoiceParts) -> None:
        """Add the expected features of one batch's (expected) parts."""
        L = parts.labels
        types = np.zeros(len(parts), np.int32)
        first = parts.unary.sum(axis=0)
        self.rows.add(encoded, ChainParts(parts.offsets, parts.unary, np.zeros((1, L, L)), types, first, np.zeros(L)))

    def total(self) -> Floats:
        """The sum as a vector like the weights."""
        return self.rows.total()
