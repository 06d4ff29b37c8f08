"""Sparse linear scores of flat parts: θ = F(x)·w, with a weight for every attribute."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..features.parts import PartsEncoded
from ..kernels.compiling import Floats, Ints, Longs
from ..stored import Arrays, ArraySpec, read_arrays
from ..structures.flat import FlatParts, FlatStructure
from ..structures.known import Outputs
from .protocol import SparseVectors

# Scores of this many parts stay in cache from one step to the next, and are enough to make up for the calls in Python.
_BLOCK = 32_000
# What a model file keeps beside the weights.
_STORED = {"size": ArraySpec(np.int64, (1,), least=0)}


@dataclass(frozen=True)
class PartScorer:
    """A weight for every attribute, or for every attribute and label.

    size: how many weights there are; structure: which parts outputs have; labels: how many labels parts have, so that
    every row of attributes stands for as many parts, and shapes end with this number; None where parts have no labels.
    """

    size: int
    structure: FlatStructure
    labels: int | None = None

    @property
    def block(self) -> int:
        """How many rows are best scored at a time."""
        return max(_BLOCK // (self.labels or 1), 1)

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

    def rows(self, encoded: PartsEncoded, sequences: Longs, plus: Ints | None, minus: Ints | None) -> SparseVectors:
        """F(x, plus) - F(x, minus) of some inputs as sparse vectors; None counts as nothing."""
        blank = blank_parts(encoded, self.labels)
        every = len(sequences) == len(encoded) and bool((sequences == np.arange(len(encoded))).all())
        some = blank if every else blank.take(sequences)
        chosen: Any = np.zeros(len(some.values))
        for sign, values in ((1.0, plus), (-1.0, minus)):
            if values is not None:
                mine = values if every else Outputs(values, self.structure.output_offsets(blank)).take(sequences).values
                chosen += sign * self.structure.indicator(some, mine).values
        part = np.flatnonzero(chosen)
        owner = np.searchsorted(some.offsets, part, side="right") - 1
        row, label = np.divmod(part + (blank.offsets[sequences] - some.offsets[:-1])[owner], self.labels or 1)
        return self._sums(encoded, row, label, chosen[part], owner, len(sequences))

    def _sums(
        self, encoded: PartsEncoded, row: Longs, label: Longs, factor: Floats, owner: Longs, count: int
    ) -> SparseVectors:
        """Sums of the attributes of parts times their factors, one vector for each owner."""
        width = np.diff(encoded.indptr)[row]
        part = np.repeat(np.arange(len(row)), width)
        entry = np.arange(len(part)) + np.repeat(encoded.indptr[row] - np.cumsum(width) + width, width)
        column = encoded.indices[entry].astype(np.int64) * (self.labels or 1) + label[part]
        data = factor[part] * encoded.values[entry] if len(encoded.values) else factor[part]
        return self.summed(owner[part] * self.size + column, data, self.size, count)

    @staticmethod
    def summed(place: Longs, data: Floats, size: int, count: int) -> SparseVectors:
        """Entries as `count` sparse vectors, those at the same place added up; place: vector * size + weight."""
        order = np.argsort(place, kind="stable")
        place, data = place[order], data[order]
        first = np.flatnonzero(np.diff(place, prepend=-1))
        total = np.add.reduceat(data, first) if len(first) else data
        owner, column = np.divmod(place[first][total != 0.0], size)
        pointer = np.searchsorted(owner, np.arange(count + 1)).astype(np.int64)
        return SparseVectors(pointer, column.astype(np.int32), total[total != 0.0].astype(np.float32))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a model file keeps."""
        return {"size": np.array([self.size], np.int64)}

    @classmethod
    def from_arrays(cls, structure: FlatStructure, labels: int | None, arrays: Arrays) -> "PartScorer":
        """Returns the scorer that gave these arrays."""
        size = int(read_arrays(arrays, _STORED)["size"][0])
        if size % (labels or 1):
            raise DataError(f"there are {size} weights, and {labels} labels with equally many each are expected")
        return cls(size, structure, labels)


def blank_parts(encoded: Any, labels: int | None) -> FlatParts:
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
        from ..kernels import parts

        blank = blank_parts(encoded, self.labels)
        table, out = self.weights.reshape(-1, self.labels or 1), blank.values.reshape(-1, self.labels or 1)
        parts.score_parts(encoded.indptr, encoded.indices, encoded.values, table, out)
        return blank


@dataclass(frozen=True)
class PartExpectation:
    """A running sum Fᵀμ of expected features over batches."""

    sums: Floats
    labels: int | None = None

    def add(self, encoded: PartsEncoded, parts: FlatParts) -> None:
        """Add the expected features of one batch's (expected) parts."""
        from ..kernels import parts as kernels

        table, mass = (array.reshape(-1, self.labels or 1) for array in (self.sums, parts.values))
        kernels.expect_parts(encoded.indptr, encoded.indices, encoded.values, mass, table)

    def total(self) -> Floats:
        """The sum as a vector like the weights."""
        return self.sums.copy()
