"""Losses between data and solver: a number and a gradient for a weight vector."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np

from ..features.encoded import Encoded
from ..kernels.compiling import Flags, Floats, Longs
from ..kernels.parallel import each_shard, map_shards
from ..running import Scattered, scatter, shards
from ..scorers.protocol import KeepsReady, ReadyWeights, Scorer
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
    completions. Any structure with marginals will do. counts: (inputs,) what each term is multiplied by, None for 1.
    Where the parts of different inputs are summed up (`apart` returns None), only neighbours with the same count are
    worked out together.
    """

    scorer: S
    structure: Structure[Any]
    encoded: Encoded
    known: Known[Any]
    counts: Floats | None = None

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Loss and gradient at w."""
        loss, gradient = 0.0, np.zeros(self.scorer.size)
        for own, part in self._parts.map(_LogLossTerms.total, w.view()):
            loss += own
            gradient += part
        return loss, gradient

    def value(self, w: Floats) -> float:
        """Loss at w, without the gradient and the vectors that it takes."""
        return sum(self._parts.map(_LogLossTerms.value, w.view()))

    @cached_property
    def _parts(self) -> Scattered["_LogLossTerms"]:
        """The terms of every shard, where they are worked out."""
        ranges = shards(self.encoded.offsets)
        single: Structure[Any] = replace(self.structure, n_jobs=1)  # type: ignore[type-var]
        parts = [
            _LogLossTerms(
                single, self.encoded.sequences(a, b), self.known.inputs(a, b),
                None if self.counts is None else self.counts[a:b],
            )
            for a, b in ranges
        ]  # fmt: skip
        return scatter(parts, KeepsReady(self.scorer), self.structure.n_jobs)


@dataclass(frozen=True)
class _LogLossTerms:
    """Some inputs of a `LogLoss`, which are worked out by one thread."""

    structure: Structure[Any]
    encoded: Encoded
    known: Known[Any]
    counts: Floats | None

    def total(self, scorer: KeepsReady, w: Floats) -> tuple[float, Floats]:
        """The loss of these inputs, and its gradient."""
        loss, gradient, weights = 0.0, scorer.expectation(), scorer.prepare(w)
        for lo, hi in blocks(self.encoded.offsets, block_of(scorer.scorer)):
            block = self.encoded.sequences(lo, hi)
            for a, b, some in self._alike(weights.scores(block), lo, hi):
                terms, rest = self._terms(some, a, b)
                counts = np.ones(b - a) if self.counts is None else self.counts[a:b]
                loss += float(counts @ terms)
                if (counts != counts[0]).any():
                    rest = rest.weighed(counts)
                elif counts[0] != 1.0:
                    rest = rest.times(float(counts[0]))
                gradient.add(block if (a, b) == (lo, hi) else block.sequences(a - lo, b - lo), rest)
        return loss, gradient.total()

    def value(self, scorer: KeepsReady, w: Floats) -> float:
        """The loss of these inputs."""
        loss, weights = 0.0, scorer.prepare(w)
        for lo, hi in blocks(self.encoded.offsets, block_of(scorer.scorer)):
            terms, _ = self._terms(weights.scores(self.encoded.sequences(lo, hi)), lo, hi, rest=False)
            loss += float(terms.sum() if self.counts is None else self.counts[lo:hi] @ terms)
        return loss

    def _alike(self, scores: Any, first: int, last: int) -> list[tuple[int, int, Any]]:
        """Ranges of inputs that are worked out together, and their scores."""
        cuts = [] if self.counts is None else (np.flatnonzero(np.diff(self.counts[first:last])) + 1).tolist()
        apart = scores.apart() if cuts and hasattr(scores, "apart") else None
        if apart is not None or not cuts:
            return [(first, last, scores if apart is None else apart)]
        return [(first + a, first + b, scores.sequences(a, b)) for a, b in pairwise([0, *cuts, last - first])]

    def _terms(self, scores: Any, lo: int, hi: int, rest: bool = True) -> tuple[Floats, Any]:
        """The loss of each input, and where `rest` is wanted expected parts less those given what is known."""
        predicted, known = self.structure.marginals(scores), self.known.inputs(lo, hi)
        if known.full:
            outputs = known.outputs.values
            terms = predicted.log_partition - self.structure.score(scores, outputs)
            return terms, predicted.parts - self.structure.indicator(scores, outputs) if rest else None
        target = self.structure.marginals(known.restrict(scores))
        terms = predicted.log_partition - target.log_partition
        return terms, predicted.parts - target.parts if rest else None


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
            for log_z, expected in each_shard(partial(self._shard, weights, some), some.offsets, self.structure.n_jobs):
                loss += count * log_z
                gradient += count * expected
        return loss, gradient

    def _shard(self, weights: ReadyWeights[Any], some: Encoded, first: int, last: int) -> tuple[float, Floats]:
        total, gradient = 0.0, self.scorer.expectation()
        single: Structure[Any] = replace(self.structure, n_jobs=1)  # type: ignore[type-var]
        for lo, hi in blocks(some.offsets, block_of(self.scorer), first, last):
            block = some.sequences(lo, hi)
            predicted = single.marginals(weights.scores(block))
            total += float(predicted.log_partition.sum())
            gradient.add(block, predicted.parts)
        return total, gradient.total()


# The penalty of squared thresholds, for each companion: without it GOOD alone would have none that is best.
_RIDGE = 1e-3


@dataclass(frozen=True)
class CompanionLoss(Generic[S]):
    """Whether inputs are GOOD or BAD by their log-partitions, with the threshold τ minimised out.

        min over τ   Σ_i c_i log(1 + exp(-z_i (log Z_w(x_i) - log Z_0(x_i) - τ_0 - τ_1 n_i / n))) + ρ Σ c ‖τ‖² / 2

    z is 1 of GOOD and -1 of BAD, Z_0 the number of outputs (L to the power of the tokens in label chains), n_i the
    size and n the mean size. This is the probabilistic form of J-LIS (Chang et al. 2010): the sum over outputs takes
    the place of the best one. At the best τ the gradient is that of the terms alone (Danskin's theorem).

    good: how many inputs are GOOD, the first ones; the others are BAD. counts: (inputs,) c, above zero.
    """

    scorer: S
    structure: Structure[Any]
    encoded: Encoded
    good: int
    counts: Floats
    sizes: Floats

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Loss and gradient at w."""
        own = self._log_partitions(w)
        excess = own - self._none
        threshold = self.threshold(excess)
        value, slope = self._terms(excess - self._columns @ threshold)
        gradient = np.zeros(self.scorer.size)
        for first, last, sign in ((0, self.good, -1.0), (self.good, len(excess), 1.0)):
            if first < last:
                gradient += sign * self._features(w, first, last, np.abs(slope[first:last]), own[first:last])
        return value + self._ridge(threshold), gradient

    def threshold(self, excess: Floats) -> Floats:
        """The best τ for log-partitions beyond those of zero weights, by Newton's method."""
        columns, found, ridge = self._columns, np.zeros(2), _RIDGE * float(self.counts.sum())

        def at(tau: Floats) -> tuple[float, Floats]:
            value, slope = self._terms(excess - columns @ tau)
            return value + self._ridge(tau), slope

        value, slope = at(found)
        for _ in range(100):
            gradient = -columns.T @ slope + ridge * found
            chance = np.abs(slope) / self.counts
            curve = (columns * (self.counts * chance * (1 - chance))[:, None]).T @ columns + ridge * np.eye(2)
            step, length = np.linalg.solve(curve, gradient), 1.0
            decrease = float(gradient @ step)
            if decrease < 1e-8 * max(1.0, abs(value)):  # here a full step squares the error
                return np.asarray(found - step)
            after = at(found - step)
            while after[0] > value - 1e-4 * length * decrease and length > 1e-8:
                length /= 2
                after = at(found - length * step)
            found, (value, slope) = found - length * step, after
        return found

    def _terms(self, margin: Floats) -> tuple[float, Floats]:
        """The loss at log Z_w - log Z_0 - τ, and its slope in each."""
        signs = np.where(np.arange(len(margin)) < self.good, 1.0, -1.0)
        miss = -signs * margin
        value = float(self.counts @ np.logaddexp(0.0, miss))
        return value, -signs * self.counts * np.exp(-np.logaddexp(0.0, -miss))

    def _ridge(self, threshold: Floats) -> float:
        return 0.5 * _RIDGE * float(self.counts.sum()) * float(threshold @ threshold)

    @cached_property
    def _columns(self) -> Floats:
        return np.column_stack((np.ones(len(self.sizes)), self.sizes / self.sizes.mean()))

    @cached_property
    def _none(self) -> Floats:
        """The log-partitions of zero weights."""
        return self._log_partitions(np.zeros(self.scorer.size))

    def _log_partitions(self, w: Floats) -> Floats:
        weights = self.scorer.prepare(w)

        def shard(first: int, last: int) -> list[Floats]:
            single: Structure[Any] = replace(self.structure, n_jobs=1)  # type: ignore[type-var]
            ranges = blocks(self.encoded.offsets, block_of(self.scorer), first, last)
            return [single.marginals(weights.scores(self.encoded.sequences(*one))).log_partition for one in ranges]

        found = map_shards(shard, self.encoded.offsets, self.structure.n_jobs)
        return np.concatenate([one for some in found for one in some])

    def _features(self, w: Floats, first: int, last: int, counts: Floats, own: Floats) -> Floats:
        """Σ_i c_i E_i[F], of inputs first to last - 1, whose log-partitions are given."""
        weights, some = self.scorer.prepare(w), self.encoded.sequences(first, last)

        def shard(lo: int, hi: int) -> Floats:
            single: Structure[Any] = replace(self.structure, n_jobs=1)  # type: ignore[type-var]
            total = self.scorer.expectation()
            for a, b in blocks(some.offsets, block_of(self.scorer), lo, hi):
                block = some.sequences(a, b)
                total.add(block, weighed_parts(single, weights.scores(block), counts[a:b], own[a:b]))
            return total.total()

        total = np.zeros(self.scorer.size)
        for part in each_shard(shard, some.offsets, self.structure.n_jobs):
            total += part
        return total


def weighed_parts(structure: Structure[Any], scores: Any, counts: Floats, log_partition: Floats) -> Any:
    """Expected parts where each input, of known log-partition, counts as much as it is given, which is above zero."""
    if isinstance(structure, Chain):
        return structure.weighed_parts(scores, counts, log_partition)
    each = [structure.marginals(scores.sequences(i, i + 1)).parts for i in range(len(counts))]
    return each[-1].joined(each, counts.tolist())


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
        return sum(self._parts.map(_HingeTerms.total, w.view()))

    @cached_property
    def _parts(self) -> Scattered["_HingeTerms"]:
        """The terms of every shard, where they are worked out."""
        single: Structure[Any] = replace(self.structure, n_jobs=1)  # type: ignore[type-var]
        parts = [
            _HingeTerms(single, self.encoded.sequences(a, b), self.known.inputs(a, b), self.squared)
            for a, b in shards(self.encoded.offsets)
        ]
        return scatter(parts, KeepsReady(self.scorer), self.structure.n_jobs)


@dataclass(frozen=True)
class _HingeTerms:
    """Some inputs of a `HingeLoss`, which are worked out by one thread."""

    structure: Structure[Any]
    encoded: Encoded
    known: Known[Any]
    squared: bool

    def total(self, scorer: KeepsReady, w: Floats) -> float:
        """The loss of these inputs."""
        loss, weights = 0.0, scorer.prepare(w)
        for lo, hi in blocks(self.encoded.offsets, block_of(scorer.scorer)):
            scores, known = weights.scores(self.encoded.sequences(lo, hi)), self.known.inputs(lo, hi)
            delta = self.structure.loss(scores, known)
            worst = self.structure.argmax(scores + delta.cost).scores + delta.constant
            missed = np.maximum(worst - self.structure.score(scores, known.outputs.values), 0.0)
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
        results = each_shard(lambda a, b: self._shard(weights, a, b), self.neighbours.edges, self.structure.n_jobs)
        loss, gradient = 0.0, np.zeros(self.scorer.size)
        for own, part in results:
            loss += own
            gradient += part
        return loss, gradient

    def _shard(self, weights: ReadyWeights[Any], first: int, last: int) -> tuple[float, Floats]:
        neighbours, observed = (self._side(weights, side, first, last) for side in (self.neighbours, self.observed))
        return neighbours[0] - observed[0], neighbours[1] - observed[1]

    def _side(self, weights: ReadyWeights[Any], side: Contrast, first: int, last: int) -> tuple[float, Floats]:
        """Σ log Z of the groups first to last - 1, and their expected features."""
        total, expected = 0.0, self.scorer.expectation()
        single = replace(self.structure, n_jobs=1)
        for lo, hi in blocks(side.edges, first=first, last=last):
            groups = side.groups[lo : hi + 1]
            block = side.encoded.sequences(int(groups[0]), int(groups[-1]))
            scores = weights.scores(block).restrict(side.allowed[side.edges[lo] : side.edges[hi]])
            marginals = single.group_marginals(scores, groups - groups[0])
            total += float(marginals.log_partition.sum())
            expected.add(block, marginals.parts)
        return total, expected.total()


def block_of(scorer: Any) -> int:
    """How many tokens, or rows of parts, a scorer is best given at a time."""
    return int(getattr(scorer, "block", _BLOCK_TOKENS))


def blocks(
    offsets: Longs, tokens: int = _BLOCK_TOKENS, first: int = 0, last: int | None = None
) -> list[tuple[int, int]]:
    """Ranges of the sequences first to last - 1, of all by default, with about this many tokens each."""
    out, last = [], len(offsets) - 1 if last is None else last
    while first < last:
        end = int(np.searchsorted(offsets, offsets[first] + tokens, side="right")) - 1
        end = min(max(end, first + 1), last)
        out.append((first, end))
        first = end
    return out
