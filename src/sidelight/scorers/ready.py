"""Weights that are made ready once for all parts of a batch."""

from threading import Lock
from typing import Any

from ..features.encoded import Encoded
from ..kernels.compiling import Floats, Ints, Longs
from .protocol import Expectation, ReadyWeights, SparseVectors


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
