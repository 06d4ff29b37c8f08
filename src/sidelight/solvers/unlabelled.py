"""What a model says of unlabelled sequences as a loss: distances of expectations from rules, and entropy.

The gradient of either is a covariance of parts with one sum over parts, so one call of `tangents` gives that of all
rules and of the entropy together.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from ..features.encoded import Encoded
from ..inference.distances import DistanceName, distance
from ..inference.rows import Rows
from ..kernels.compiling import Flags, Floats
from ..kernels.parallel import map_shards
from ..scorers.protocol import Scorer
from ..structures.chain import Chain, ChainParts

if TYPE_CHECKING:
    from ..kernels.tangents import Direction

S = TypeVar("S", bound=Scorer[ChainParts])


@dataclass(frozen=True)
class UnlabelledLoss(Generic[S]):
    """strength * d(target, A μ) + entropy * Σ_i H(p_w(y|x_i)), p_w given what is known of y (`allowed`).

    With v = strength * ∂d/∂(A μ) the gradient is Fᵀ Cov(y, δ·y) for δ = Aᵀv - entropy * θ (section 4.2 of
    Ganchev et al. 2010; for the entropy Jiao et al. 2006).
    """

    scorer: S
    structure: Chain
    encoded: Encoded
    rows: Rows
    distance: DistanceName
    strength: float
    entropy: float
    allowed: Flags | None = None

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Loss and gradient at w."""
        free = self.scores(w)
        scores = free if self.allowed is None else free.restrict(self.allowed)
        value, told = 0.0, 0.0
        direction: ChainParts | Direction
        if len(self.rows) and self.strength:
            expected = self.rows.tilt(scores, np.zeros(len(self.rows)), n_jobs=self.structure.n_jobs).expected
            value, slope = distance(self.distance, self.rows, expected)
            value, slope = self.strength * value, self.strength * slope
            told, direction = float((slope * expected).sum()), self.rows.direction(free, -slope, -self.entropy)
        else:
            direction = free.times(-self.entropy)
        moved = self.structure.tangents(scores, direction)
        if self.entropy:  # E[δ·y] = v·Aμ - entropy * θ·μ
            value += self.entropy * float(moved.log_partition.sum()) + float(moved.slope.sum()) - told
        return value, self._features(moved.parts)

    def scores(self, w: Floats) -> ChainParts:
        """Scores of the sequences at w, whatever is known of y."""
        return self.scorer.prepare(w).scores(self.encoded, self.structure.n_jobs)

    def _features(self, parts: ChainParts) -> Floats:
        """Fᵀ of the parts, shard by shard; tables are sums over the batch and go with the first."""

        def run(first: int, last: int) -> Floats:
            out = self.scorer.expectation()
            some = parts.sequences(first, last)
            out.add(self.encoded.sequences(first, last), some if first == 0 else _times_tables(some, 0.0))
            return out.total()

        total, *others = map_shards(run, self.encoded.offsets, self.structure.n_jobs)
        for more in others:
            total += more
        return total


def _times_tables(parts: ChainParts, factor: float) -> ChainParts:
    return replace(
        parts,
        pair=factor * parts.pair,
        start=factor * parts.start,
        end=factor * parts.end,
        triple=None if parts.triple is None else factor * parts.triple,
    )
