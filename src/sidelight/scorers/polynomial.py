"""Scores of chains by a polynomial kernel: tokens are compared with training tokens, which have counters for labels.

    θ_tc = Σ_s α_sc (x_s·x_t + 1)^degree

Label pairs, first and last labels have weights as in `scorers.linear`. The weight vector is one flat array: the
counters of all training tokens, label by label, and then the weights of label tables (section 4.4 of Fernandes 2012).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..features.encoded import Encoded
from ..kernels.compiling import Floats, Ints, Longs
from ..stored import Arrays, ArraySpec, finite, pointer, read_arrays
from ..structures.chain import ChainParts
from ..structures.known import KnownLabels
from .linear import LinearScorer

# What a model file keeps beside the label tables; attributes have numbers of 32 bits.
_ATTRIBUTES = ArraySpec(np.int64, (1,), least=0, most=2**31 - 1)
_STORED = {
    "row_pointer": pointer("supports", into="entries"),
    "row_indices": ArraySpec(np.int32, ("entries",), least=0, below="attributes"),
    "row_values": finite("values"),
}


@dataclass(frozen=True)
class PolynomialScorer:
    """Which counters and weights there are.

    tables: the weights of labels; attributes: how many there are; indptr, indices, values: the rows of training tokens
    that have counters, as in `Encoded`.
    """

    degree: int
    tables: LinearScorer
    attributes: int
    indptr: Longs
    indices: Ints
    values: Floats

    @classmethod
    def observed(
        cls, encoded: Encoded, known: KnownLabels, labels: int, *, degree: int, boundaries: bool, all_weights: bool
    ) -> "PolynomialScorer":
        """Returns the scorer with counters for every token of these sequences."""
        bare = Encoded(encoded.offsets, np.zeros(encoded.tokens + 1, np.int64), np.empty(0, np.int32), np.empty(0), 0)
        tables = LinearScorer.observed(bare, known, labels, boundaries=boundaries, all_weights=all_weights)
        return cls(degree, tables, encoded.attributes, encoded.indptr, encoded.indices, encoded.values)

    @property
    def supports(self) -> int:
        """Number of training tokens with counters."""
        return len(self.indptr) - 1

    @property
    def size(self) -> int:
        """Number of counters and weights."""
        return self.supports * self.tables.labels + self.tables.size

    def split(self, w: Floats) -> tuple[Floats, Floats]:
        """Returns the counters, (tokens, labels), and the weights of label tables, as views."""
        count = self.supports * self.tables.labels
        return w[:count].reshape(self.supports, self.tables.labels), w[count:]

    def pruned(self, w: Floats) -> tuple["PolynomialScorer", Floats]:
        """Returns the scorer and the weights without the training tokens whose counters are all zero."""
        counters, rest = self.split(w)
        kept = np.flatnonzero(counters.any(axis=1))
        whole = Encoded(np.arange(self.supports + 1), self.indptr, self.indices, self.values, self.attributes)
        rows = whole.take(kept)
        small = replace(self, indptr=rows.indptr, indices=rows.indices, values=rows.values)
        return small, np.concatenate((counters[kept].ravel(), rest))

    def scores(self, encoded: Encoded, w: Floats, n_jobs: int = 1) -> ChainParts:
        """Returns the scores of every part of a batch."""
        from ..kernels import parallel, polynomial

        counters, rest = self.split(w)
        lists = polynomial.posting_lists(self.indptr, self.indices, self.values, self.attributes)
        unary = np.empty((encoded.tokens, self.tables.labels))

        def run(first: int, last: int) -> None:
            a, b = encoded.offsets[first], encoded.offsets[last]
            polynomial.kernel_scores(
                encoded.indptr[a : b + 1], encoded.indices, encoded.values, *lists, counters, self.degree, unary[a:b]
            )

        parallel.map_shards(run, encoded.offsets, n_jobs)
        pair, start, end, _ = self.tables.tables(rest)
        return ChainParts(encoded.offsets, unary, pair, np.zeros(encoded.tokens, np.int32), start, end, None)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a model file keeps."""
        count: NDArray[Any] = np.array([self.attributes], np.int64)
        rows: tuple[NDArray[Any], ...] = (self.indptr, self.indices, self.values)
        return {**self.tables.arrays(), "attributes": count, **dict(zip(_STORED, rows, strict=True))}

    @classmethod
    def from_arrays(cls, degree: int, labels: int, arrays: Arrays) -> "PolynomialScorer":
        """Returns the scorer that gave these arrays."""
        tables = LinearScorer.from_arrays(labels, 1, arrays, attributes=0)
        attributes = int(read_arrays(arrays, {"attributes": _ATTRIBUTES})["attributes"][0])
        rows = read_arrays(arrays, _STORED, attributes=attributes)
        if len(rows["row_values"]) not in (0, len(rows["row_indices"])):
            raise DataError("the array row_values must have a number for every one of row_indices, or none")
        return cls(degree, tables, attributes, rows["row_pointer"], rows["row_indices"], rows["row_values"])
