"""What every scorer answers: scores θ = F(x)·w of the parts of a batch, and expected features Fᵀμ of expected parts.

`KeepsReady` gives all parts of a batch the same weights, made ready once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol, TypeVar

import numpy as np

from ..features.encoded import Encoded
from ..kernels.compiling import Floats, Ints, Longs, Singles
from ..structures.protocol import Parts

P_out = TypeVar("P_out", bound=Parts, covariant=True)
P_in = TypeVar("P_in", bound=Parts, contravariant=True)
P = TypeVar("P", bound=Parts)


@dataclass(frozen=True)
class SparseVectors:
    """Sparse vectors one after the other: row r has the entries pointer[r] to pointer[r + 1]."""

    pointer: Longs
    indices: Ints
    values: Singles

    @classmethod
    def of(cls, vectors: Sequence[Floats], size: int) -> "SparseVectors":
        """Returns dense vectors of this size as sparse ones."""
        places = [np.flatnonzero(vector) for vector in vectors]
        pointer = np.concatenate(([0], np.cumsum([len(at) for at in places]))).astype(np.int64)
        indices = np.concatenate([np.empty(0, np.int64), *places]).astype(np.int32)
        values = np.concatenate([np.empty(0), *(v[at] for v, at in zip(vectors, places, strict=True))])
        return cls(pointer, indices, values.astype(np.float32))

    def row(self, number: int) -> tuple[Ints, Floats]:
        """Returns where one row has entries, and these."""
        at = slice(self.pointer[number], self.pointer[number + 1])
        return self.indices[at], self.values[at].astype(np.float64)

    def scaled(self, factor: Floats) -> "SparseVectors":
        """Every row times a factor of its own."""
        each = np.repeat(factor, np.diff(self.pointer)).astype(np.float32)
        return SparseVectors(self.pointer, self.indices, self.values * each)

    def extended(self, index: int, more: Floats) -> "SparseVectors":
        """Every row with one more entry."""
        at = self.pointer[1:]
        pointer = self.pointer + np.arange(len(self.pointer))
        return SparseVectors(pointer, np.insert(self.indices, at, index), np.insert(self.values, at, more))

    def norms(self) -> Floats:
        """Squared lengths."""
        count = len(self.pointer) - 1
        owner = np.repeat(np.arange(count), np.diff(self.pointer))
        return np.bincount(owner, weights=self.values.astype(np.float64) ** 2, minlength=count).astype(np.float64)


class ReadyWeights(Protocol[P_out]):
    """A weight vector made ready for scoring batches."""

    def scores(self, encoded: Encoded, n_jobs: int = 1) -> P_out:
        """Scores of every part of a batch."""
        ...


class Expectation(Protocol[P_in]):
    """A running sum of expected features over batches."""

    def add(self, encoded: Encoded, parts: P_in) -> None:
        """Add the expected features of one batch's expected parts."""
        ...

    def total(self) -> Floats:
        """The sum as a vector like the weights."""
        ...


class Scorer(Protocol[P]):
    """A linear map between weights and parts."""

    @property
    def size(self) -> int:
        """Number of weights."""
        ...

    def prepare(self, w: Floats) -> ReadyWeights[P]:
        """A weight vector made ready for scoring batches."""
        ...

    def expectation(self) -> Expectation[P]:
        """An empty sum of expected features."""
        ...


class KeepsReady:
    """A scorer beside the weights that it made ready last, which all parts of a batch share in one process.

    Whether weights are the same is asked of the array object, not of its numbers: give a new view (`w.view()`) for each
    pass over the data. Weights beyond the scorer's are not its own. Other processes get the scorer alone.
    """

    def __init__(self, scorer: Any) -> None:
        self.scorer = scorer
        self._lock = Lock()
        self._last: tuple[Any, Any] = None, None

    def __reduce__(self) -> tuple[Any, ...]:
        return KeepsReady, (self.scorer,)

    def prepare(self, w: Floats) -> ReadyWeights[Any]:
        """Returns the weights made ready for scoring batches."""
        with self._lock:
            if self._last[0] is not w:
                self._last = None, None  # before others take its place in memory
                self._last = w, self.scorer.prepare(w[: self.scorer.size])
            ready: ReadyWeights[Any] = self._last[1]
        return ready

    @property
    def size(self) -> int:
        """Number of weights."""
        return int(self.scorer.size)

    def rows(self, encoded: Encoded, sequences: Longs, plus: Ints | None, minus: Ints | None) -> SparseVectors:
        """F(x, plus) - F(x, minus) of some sequences as sparse vectors; None counts as nothing."""
        found: SparseVectors = self.scorer.rows(encoded, sequences, plus, minus)
        return found

    def expectation(self) -> Expectation[Any]:
        """Returns an empty sum of expected features."""
        empty: Expectation[Any] = self.scorer.expectation()
        return empty
