"""Hidden Markov models as scores: log-probabilities of starts, transitions and emissions.

log P(x, y) = log P(y_1) + Σ_t log P(y_t | y_{t-1}) + Σ_t log P(x_t | y_t)      (section 2.2.2 of Chang 2011)
"""

from dataclasses import dataclass

import numpy as np

from ..features.encoded import Encoded
from ..features.symbols import SymbolEncoder
from ..kernels.compiling import Floats
from ..structures.chain import ChainParts


@dataclass(frozen=True)
class HMMCounts:
    """How often each start (labels,), transition (labels, labels) and word (words, labels) was seen or is expected."""

    start: Floats
    transition: Floats
    emission: Floats

    @classmethod
    def expected(cls, encoded: Encoded, parts: ChainParts, words: int) -> "HMMCounts":
        """Counts of one batch from its (expected) parts; all its tokens must be known words."""
        emission = np.zeros((words, parts.labels))
        np.add.at(emission, encoded.indices, parts.unary)
        return cls(parts.start, parts.pair[0], emission)

    def __add__(self, other: "HMMCounts") -> "HMMCounts":
        """Both together; `other` may know more words, which come last."""
        emission = other.emission.copy()
        emission[: len(self.emission)] += self.emission
        return HMMCounts(self.start + other.start, self.transition + other.transition, emission)


@dataclass(frozen=True)
class HMMScorer:
    """Log-probabilities: start (labels,), transition (labels, labels), emission (symbols, labels)."""

    start: Floats
    transition: Floats
    emission: Floats

    @classmethod
    def estimate(
        cls, counts: HMMCounts, encoder: SymbolEncoder, *, start: float, transition: float, emission: float
    ) -> "HMMScorer":
        """Smoothed relative frequencies: so much is added to every count of that kind.

        The classes of unknown words get the counts of the words seen once, each of which might have been unknown, and
        share the probability with the known words.
        """
        nothing = np.zeros((1, counts.emission.shape[1]))
        symbols = np.concatenate((counts.emission, encoder.class_counts(counts.emission), nothing)) + emission
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(
                _log_share(counts.start + start, 0),
                _log_share(counts.transition + transition, 1),
                _log_share(symbols, 0),
            )

    def scores(self, encoded: Encoded) -> ChainParts:
        """log P of every part of a batch."""
        unary = self.emission[encoded.indices]
        types = np.zeros(encoded.tokens, np.int32)
        return ChainParts(encoded.offsets, unary, self.transition[None], types, self.start, np.zeros_like(self.start))


def _log_share(counts: Floats, axis: int) -> Floats:
    """Log of the counts' shares along an axis; where all are zero, nothing is possible."""
    total = counts.sum(axis=axis, keepdims=True)
    shares: Floats = np.where(total > 0, np.log(counts / total), -np.inf)
    return shares
