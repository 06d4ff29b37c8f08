"""Losses between data and solver: a number and a gradient for a weight vector."""

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from ..features.encoded import Encoded
from ..kernels.compiling import Floats
from ..kernels.parallel import map_shards
from ..scorers.protocol import Scorer, Weights
from ..structures.protocol import Structure
from ..supervision import Targets

S = TypeVar("S", bound=Scorer[Any])

# Scores of so many tokens stay in cache from one step to the next.
_BLOCK_TOKENS = 2000


@dataclass(frozen=True)
class LogLoss(Generic[S]):
    """Negative log-likelihood Σ_i log Z(x_i) - log Z(x_i, y_i) and its gradient Fᵀ(μ - target).

    Z(x, y) sums over the outputs that agree with what is known, so for a full label it is the score of that output
    (Eq. 2.8 of Chang 2011 with its sign mended, and C = 1 / (2 l2)) and for a partial one the likelihood of all
    completions. Any structure with marginals will do; `targets.labels` holds the outputs as it writes them.
    """

    scorer: S
    structure: Structure[Any]
    encoded: Encoded
    targets: Targets

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Loss and gradient at w."""
        weights = self.scorer.prepare(w)
        results = map_shards(lambda a, b: self._shard(weights, a, b), self.encoded.offsets, self.structure.n_jobs)
        gradient = np.zeros(self.scorer.size)
        for _, part in results:
            gradient += part
        return sum(loss for loss, _ in results), gradient

    def _shard(self, weights: Weights[Any], first: int, last: int) -> tuple[float, Floats]:
        loss, gradient = 0.0, self.scorer.expectation()
        single: Structure[Any] = replace(self.structure, n_jobs=1)  # type: ignore[type-var]
        for lo, hi in _blocks(self.encoded, first, last):
            block = self.encoded.sequences(lo, hi)
            scores = weights.scores(block)
            predicted = single.marginals(scores)
            target, target_log = self._target(single, scores, lo, hi)
            loss += float(predicted.log_partition.sum()) - target_log
            gradient.add(block, predicted.parts - target)
        return loss, gradient.total()

    def _target(self, single: Structure[Any], scores: Any, lo: int, hi: int) -> tuple[Any, float]:
        """Expected parts given what is known, and their log-partition."""
        at = slice(self.encoded.offsets[lo], self.encoded.offsets[hi])
        if self.targets.allowed is None:
            labels = self.targets.labels[at]
            return single.indicator(scores, labels), float(single.score(scores, labels).sum())
        known = single.marginals(scores.restrict(self.targets.allowed[at]))
        return known.parts, float(known.log_partition.sum())


@dataclass(frozen=True)
class ExpectedLoss(Generic[S]):
    """Σ_i E_q[-log p(y|x_i)] up to a constant: Σ_i log Z(x_i) - w·target, with target = Fᵀμ of q's expected parts.

    The gradient is Fᵀ(μ_w - μ_q) (Eq. 30 of Ganchev et al. 2010, Eq. 14 of Dhillon et al. 2012).
    """

    scorer: S
    structure: Structure[Any]
    encoded: Encoded
    target: Floats

    @classmethod
    def of(cls, scorer: S, structure: Structure[Any], encoded: Encoded, parts: Any) -> "ExpectedLoss[S]":
        """The loss for the expected parts of a batch."""
        target = scorer.expectation()
        target.add(encoded, parts)
        return cls(scorer, structure, encoded, target.total())

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Loss and gradient at w."""
        weights = self.scorer.prepare(w)
        results = map_shards(lambda a, b: self._shard(weights, a, b), self.encoded.offsets, self.structure.n_jobs)
        gradient = -self.target
        for _, part in results:
            gradient += part
        return sum(loss for loss, _ in results) - float(w @ self.target), gradient

    def _shard(self, weights: Weights[Any], first: int, last: int) -> tuple[float, Floats]:
        total, gradient = 0.0, self.scorer.expectation()
        single: Structure[Any] = replace(self.structure, n_jobs=1)  # type: ignore[type-var]
        for lo, hi in _blocks(self.encoded, first, last):
            block = self.encoded.sequences(lo, hi)
            predicted = single.marginals(weights.scores(block))
            total += float(predicted.log_partition.sum())
            gradient.add(block, predicted.parts)
        return total, gradient.total()


def _blocks(encoded: Encoded, first: int, last: int) -> list[tuple[int, int]]:
    """Ranges of sequences with about `_BLOCK_TOKENS` tokens each."""
    out = []
    while first < last:
        end = int(np.searchsorted(encoded.offsets, encoded.offsets[first] + _BLOCK_TOKENS, side="right")) - 1
        end = min(max(end, first + 1), last)
        out.append((first, end))
        first = end
    return out
