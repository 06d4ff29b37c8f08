"""Sparse linear scores of flat parts: θ = F(x)·w, with a weight for every attribute."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..features.parts import PartsEncoded
from ..kernels.compiling import Floats, Ints, Longs
from ..structures.flat import FlatParts, FlatStructure
from ..structures.known import Outputs
from .protocol import Rows


@dataclass(frozen=True)
class PartScorer:
    """A weight for every attribute, or for every attribute and label.

    size: how many weights there are; structure: which parts outputs have; labels: how many labels parts have, so that
    every row of attributes stands for as many parts, and shapes end with this number; None where parts have no labels.
    """

    size: int
    structure: FlatStructure
    labels: int | None = None

    def prepare(self, w: Floats) -> "PartWeights":
        """A weight vector made ready for scoring batches."""
        return PartWeights(w, self.labels)

    def scores(self, encoded: PartsEncoded, w: Floats, n_jobs: int = 1) -> FlatParts:
        """Scores of every part of a batch."""
        return self.prepare(w).scores(encoded, n_jobs)

    def expectation(self) -> "PartExpectation":
        """An empty sum of expected features."""
        return PartExpectation(np.zeros(self.size), self.labels)

    def for_rows(self) -> "PartScorer":
        """Rows are about parts, so this is the scorer itself."""
        return self

    def rows(self, encoded: PartsEncoded, sequences: Longs, plus: Ints | None, minus: Ints | None) -> Rows:
        """F(x, plus) - F(x, minus) of some inputs as sparse vectors; None counts as nothing."""
        from scipy.sparse import csr_array

        some = encoded if len(sequences) == len(encoded) else encoded.take(sequences)
        blank = blank_parts(some, self.labels)
        chosen: Any = np.zeros(len(blank.values))
        for sign, values in ((1.0, plus), (-1.0, minus)):
            if values is not None:
                mine = Outputs(values, self.structure.output_offsets(blank_parts(encoded, self.labels))).take(sequences)
                chosen += sign * self.structure.indicator(blank, mine.values).values
        part = np.flatnonzero(chosen)
        count = self.labels or 1
        matrix = _matrix(some, self.size // count)[part // count]
        columns = matrix.indices * count + np.repeat(part % count, np.diff(matrix.indptr))
        owner = np.searchsorted(blank.offsets, part, side="right") - 1
        features = csr_array((matrix.data, columns, matrix.indptr), (len(part), self.size))
        total = csr_array((chosen[part], (owner, np.arange(len(part)))), (len(sequences), len(part))) @ features
        total.eliminate_zeros()
        total.sort_indices()
        return Rows(
            total.indptr.astype(np.int64), total.indices.astype(np.int32), total.data.astype(np.float32)
        )  # fmt: skip

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a model file keeps."""
        return {"size": np.array([self.size])}


def blank_parts(encoded: PartsEncoded, labels: int | None) -> FlatParts:
    """Returns the parts of a batch, without scores."""
    if labels is None:
        return FlatParts(np.zeros(encoded.tokens), encoded.offsets, encoded.shapes)
    shapes = np.concatenate((encoded.shapes, np.full((len(encoded.shapes), 1), labels)), axis=1)
    return FlatParts(np.zeros(encoded.tokens * labels), encoded.offsets * labels, shapes)


@dataclass(frozen=True)
class PartWeights:
    """Weights laid out for scoring."""

    weights: Floats
    labels: int | None = None

    def scores(self, encoded: PartsEncoded, n_jobs: int = 1) -> FlatParts:
        """Scores of every part of a batch."""
        table = self.weights.reshape(-1, self.labels or 1)
        values = _matrix(encoded, len(table)) @ table
        return replace(blank_parts(encoded, self.labels), values=values.ravel())


@dataclass(frozen=True)
class PartExpectation:
    """A running sum Fᵀμ of expected features over batches."""

    sums: Floats
    labels: int | None = None

    def add(self, encoded: PartsEncoded, parts: FlatParts) -> None:
        """Add the expected features of one batch's (expected) parts."""
        table = self.sums.reshape(-1, self.labels or 1)
        table += _matrix(encoded, len(table)).T @ parts.values.reshape(-1, self.labels or 1)

    def total(self) -> Floats:
        """The sum as a vector like the weights."""
        return self.sums.copy()


def _matrix(encoded: PartsEncoded, size: int) -> Any:
    """The rows of all parts as one sparse matrix."""
    from scipy.sparse import csr_array

    first, last = encoded.indptr[0], encoded.indptr[-1]
    values = encoded.values[first:last] if len(encoded.values) else np.ones(last - first)
    return csr_array((values, encoded.indices[first:last], encoded.indptr - first), (encoded.tokens, size))
