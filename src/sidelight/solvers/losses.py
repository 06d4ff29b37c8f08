"""Losses between data and solver: a number and a gradient for a weight vector."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

import numpy as np

from ..features.encoded import Encoded
from ..kernels.compiling import Flags, Floats, Longs
from ..kernels.parallel import map_shards
from ..scorers.protocol import ReadyWeights, Scorer
from ..structures.chain import Chain
from ..structures.known import Known
from ..structures.protocol import Structure

S = TypeVar("S", bound=Scorer[Any])

# Scores of this many tokens stay in cache from one step to the next.
_BLOCK_TOKENS = 2000


@dataclass(frozen=True)
class LogLoss(Generic[S]):
    """Negative log-likelihood Σ_i log Z(x_i) - log Z(x_i, y_i) and its gradient Fᵀ(μ - target).

    Z(x, y) sums over the outputs that agree with what is known, so for a full label it is the score of that output
    (Eq. 2.8 of Chang 2011 with its sign mended, and C = 1 / (2 l2)) and for a partial one the likelihood of all
    completions. Any structure with marginals will do.
    """

    scorer: S
    structure: Structure[Any]
    encoded: Encoded
    known: Known[Any]

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Loss and gradient at w."""
        weights = self.scorer.prepare(w)
        results = map_shards(lambda a, b: self._shard(weights, a, b), self.encoded.offsets, self.structure.n_jobs)
        gradient = np.zeros(self.scorer.size)
        for _, part in results:
            gradient += part
        return sum(loss for loss, _ in results), gradient

    def _shard(self, weights: ReadyWeights[Any], first: int, last: int) -> tuple[float, Floats]:
        loss, gradient = 0.0, self.scorer.expectation()
        single: Structure[Any] = replace(self.structure, n_jobs=1)  # type: ignore[type-var]
        for lo, hi in _blocks(self.encoded.offsets, first, last, _block_of(self.scorer)):
            block = self.encoded.sequences(lo, hi)
            scores = weights.scores(block)
            predicted = single.marginals(scores)
            target, target_log = self._target(single, scores, lo, hi)
            loss += float(predicted.log_partition.sum()) - target_log
            gradient.add(block, predicted.parts - target)
        return loss, gradient.total()

    def _target(self, single: Structure[Any], scores: Any, lo: int, hi: int) -> tuple[Any, float]:
        """Expected parts given what is known, and their log-partition."""
        known = self.known.inputs(lo, hi)
        if known.full:
            outputs = known.outputs.values
            return single.indicator(scores, outputs), float(single.score(scores, outputs).sum())
        target = single.marginals(known.restrict(scores))
        return target.parts, float(target.log_partition.sum())


@dataclass(frozen=True)
class ExpectedLoss(Generic[S]):
    """Σ_i c_i E_q[-log p(y|x_i)] up to a constant: Σ_i c_i log Z(x_i) - w·target.

    The target is Fᵀμ of q's expected parts, each times the c_i of its sequence; groups: ranges of sequences with the
    same c_i (first, last + 1, c). The gradient is Fᵀ(μ_w - μ_q) (Eq. 30 of Ganchev et al. 2010, Eq. 14 of Dhillon et
    al. 2012).
    """

    scorer: S
    structure: Structure[Any]
    encoded: Encoded
    groups: list[tuple[int, int, float]]
    target: Floats

    @classmethod
    def of(
        cls, scorer: S, structure: Structure[Any], encoded: Encoded, groups: list[tuple[int, int, float]], parts: Any
    ) -> "ExpectedLoss[S]":
        """The loss for the expected parts of a batch."""
        target = scorer.expectation()
        target.add(encoded, parts)
        return cls(scorer, structure, encoded, groups, target.total())

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Loss and gradient at w."""
        weights = self.scorer.prepare(w)
        loss, gradient = -float(w @ self.target), -self.target
        for first, last, count in self.groups:
            some = self.encoded.sequences(first, last)
            for log_z, expected in map_shards(partial(self._shard, weights, some), some.offsets, self.structure.n_jobs):
                loss += count * log_z
                gradient += count * expected
        return loss, gradient

    def _shard(self, weights: ReadyWeights[Any], some: Encoded, first: int, last: int) -> tuple[float, Floats]:
        total, gradient = 0.0, self.scorer.expectation()
        single: Structure[Any] = replace(self.structure, n_jobs=1)  # type: ignore[type-var]
        for lo, hi in _blocks(some.offsets, first, last, _block_of(self.scorer)):
            block = some.sequences(lo, hi)
            predicted = single.marginals(weights.scores(block))
            total += float(predicted.log_partition.sum())
            gradient.add(block, predicted.parts)
        return total, gradient.total()


@dataclass(frozen=True)
class HingeLoss(Generic[S]):
    """Structured hinge loss Σ_i ℓ(max_y [Δ(y_i, y) - w·(F(x_i, y_i) - F(x_i, y))]) with ℓ(a) = a or a².

    That is the loss in Eq. 2.12 of Chang 2011. Δ is the structure's, and the max is never below zero, since y_i is one
    of the outputs. It is not smooth: a number only.
    """

    scorer: S
    structure: Structure[Any]
    encoded: Encoded
    known: Known[Any]
    squared: bool = False

    def __call__(self, w: Floats) -> float:
        """Loss at w."""
        weights = self.scorer.prepare(w)
        return sum(map_shards(lambda a, b: self._shard(weights, a, b), self.encoded.offsets, self.structure.n_jobs))

    def _shard(self, weights: ReadyWeights[Any], first: int, last: int) -> float:
        single: Structure[Any] = replace(self.structure, n_jobs=1)  # type: ignore[type-var]
        loss = 0.0
        for lo, hi in _blocks(self.encoded.offsets, first, last, _block_of(self.scorer)):
            scores = weights.scores(self.encoded.sequences(lo, hi))
            known = self.known.inputs(lo, hi)
            delta = single.loss(scores, known)
            worst = single.argmax(scores + delta.cost).scores + delta.constant
            missed = np.maximum(worst - single.score(scores, known.outputs.values), 0.0)
            loss += float((missed**2 if self.squared else missed).sum())
        return loss


@dataclass(frozen=True)
class Contrast:
    """Sequences in groups, with what is allowed for the tokens of each; groups: where each group begins."""

    encoded: Encoded
    allowed: Flags
    groups: Longs

    @cached_property
    def edges(self) -> Longs:
        """Where the tokens of each group begin."""
        return self.encoded.offsets[self.groups]


@dataclass(frozen=True)
class ContrastiveLoss(Generic[S]):
    """Σ_i log Σ_{x' in N(x_i)} Z(x', y') - log Z(x_i, y_i) and its gradient Fᵀ(μ of the neighbourhoods - μ of x_i).

    Z(x, y) sums over the label sequences that y allows (section 6.5.4 of Chang 2011; Smith & Eisner 2005).
    observed: every x_i, a group of its own; neighbours: every N(x_i), in the same order.
    """

    scorer: S
    structure: Chain
    observed: Contrast
    neighbours: Contrast

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Loss and gradient at w."""
        weights = self.scorer.prepare(w)
        results = map_shards(lambda a, b: self._shard(weights, a, b), self.neighbours.edges, self.structure.n_jobs)
        gradient = np.zeros(self.scorer.size)
        for _, part in results:
            gradient += part
        return sum(loss for loss, _ in results), gradient

    def _shard(self, weights: ReadyWeights[Any], first: int, last: int) -> tuple[float, Floats]:
        neighbours, observed = (self._side(weights, side, first, last) for side in (self.neighbours, self.observed))
        return neighbours[0] - observed[0], neighbours[1] - observed[1]

    def _side(self, weights: ReadyWeights[Any], side: Contrast, first: int, last: int) -> tuple[float, Floats]:
        """Σ log Z of the groups first to last - 1, and their expected features."""
        total, expected = 0.0, self.scorer.expectation()
        single = replace(self.structure, n_jobs=1)
        for lo, hi in _blocks(side.edges, first, last):
            groups = side.groups[lo : hi + 1]
            block = side.encoded.sequences(int(groups[0]), int(groups[-1]))
            scores = weights.scores(block).restrict(side.allowed[side.edges[lo] : side.edges[hi]])
            marginals = single.group_marginals(scores, groups - groups[0])
            total += float(marginals.log_partition.sum())
            expected.add(block, marginals.parts)
        return total, expected.total()


def _block_of(scorer: Any) -> int:
    """How many tokens, or rows of parts, a scorer is best given at a time."""
    return int(getattr(scorer, "block", _BLOCK_TOKENS))


def _blocks(offsets: Longs, first: int, last: int, tokens: int = _BLOCK_TOKENS) -> list[tuple[int, int]]:
    """Ranges of sequences with about this many tokens each."""
    out = []
    while first < last:
        end = int(np.searchsorted(offsets, offsets[first] + tokens, side="right")) - 1
        end = min(max(end, first + 1), last)
        out.append((first, end))
        first = end
    return out
