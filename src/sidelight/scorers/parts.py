"""Sparse linear scores of flat parts: θ = F(x)·w, with a weight for every attribute."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..features.parts import PartsEncoded
from ..kernels.compiling import Floats, Ints, Longs
from ..structures.flat import FlatParts, FlatStructure
from .protocol import Rows


@dataclass(frozen=True)
class PartScorer:
    """A weight for every attribute; size: how many there are; structure: which parts outputs have."""

    size: int
    structure: FlatStructure

    def prepare(self, w: Floats) -> "PartWeights":
        """A weight vector made ready for scoring batches."""
        return PartWeights(w)

    def scores(self, encoded: PartsEncoded, w: Floats, n_jobs: int = 1) -> FlatParts:
        """Scores of every part of a batch."""
        return self.prepare(w).scores(encoded, n_jobs)

    def expectation(self) -> "PartExpectation":
        """An empty sum of expected features."""
        return PartExpectation(np.zeros(self.size))

    def rows(self, encoded: PartsEncoded, sequences: Longs, plus: Ints | None, minus: Ints | None) -> Rows:
        """F(x, plus) - F(x, minus) of some inputs as sparse vectors; None counts as nothing."""
        shape = FlatParts(np.zeros(encoded.tokens), encoded.offsets, encoded.shapes)
        on = [sign * self.structure.indicator(shape, y).values for sign, y in ((1, plus), (-1, minus)) if y is not None]
        parts, found = shape.values + sum(on), []
        for i in sequences.tolist():
            one, features = encoded.sequences(i, i + 1), self.expectation()
            at = slice(encoded.offsets[i], encoded.offsets[i + 1])
            features.add(one, FlatParts(parts[at], one.offsets, one.shapes))
            found.append(features.total())
        return Rows.of(found, self.size)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a model file keeps."""
        return {"size": np.array([self.size])}


@dataclass(frozen=True)
class PartWeights:
    """Weights laid out for scoring."""

    weights: Floats

    def scores(self, encoded: PartsEncoded, n_jobs: int = 1) -> FlatParts:
        """Scores of every part of a batch."""
        return FlatParts(_matrix(encoded, len(self.weights)) @ self.weights, encoded.offsets, encoded.shapes)


@dataclass(frozen=True)
class PartExpectation:
    """A running sum Fᵀμ of expected features over batches."""

    sums: Floats

    def add(self, encoded: PartsEncoded, parts: FlatParts) -> None:
        """Add the expected features of one batch's (expected) parts."""
        self.sums[:] += _matrix(encoded, len(self.sums)).T @ parts.values

    def total(self) -> Floats:
        """The sum as a vector like the weights."""
        return self.sums.copy()


def _matrix(encoded: PartsEncoded, size: int) -> Any:
    """The rows of all parts as one sparse matrix."""
    from scipy.sparse import csr_array

    first, last = encoded.indptr[0], encoded.indptr[-1]
    values = encoded.values[first:last] if len(encoded.values) else np.ones(last - first)
    return csr_array((values, encoded.indices[first:last], encoded.indptr - first), (encoded.tokens, size))
