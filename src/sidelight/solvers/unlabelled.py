"""What a model says of unlabelled sequences as a loss: distances of expectations from rules, and entropy.

The gradient of either is a covariance of parts with one sum over parts, so one call of `tangents` gives that of all
rules and of the entropy together.
"""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from ..features.encoded import Encoded
from ..inference.distances import DistanceName, distance
from ..inference.rows import RowSet
from ..kernels.compiling import Floats
from ..kernels.parallel import each_shard
from ..scorers.merged import Merged
from ..scorers.protocol import Scorer
from .losses import LogLoss

S = TypeVar("S", bound=Scorer[Any])


@dataclass(frozen=True)
class UnlabelledLoss(Generic[S]):
    """strength * d(target, A μ) + entropy * Σ_i H(p_w(y|x_i)), p_w given what is known of y (`known`).

    With v = strength * ∂d/∂(A μ) the gradient is Fᵀ Cov(y, δ·y) for δ = Aᵀv - entropy * θ (section 4.2 of
    Ganchev et al. 2010; for the entropy Jiao et al. 2006).
    """

    scorer: S
    structure: Any
    encoded: Encoded
    rows: RowSet
    distance: DistanceName
    strength: float
    entropy: float
    known: Any = None

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Loss and gradient at w."""
        free = self.scores(w)
        scores = free if self.known is None else self.known.restrict(free)
        value, priced = 0.0, 0.0
        direction: Any
        if len(self.rows) and self.strength:
            expected = self.rows.tilt(scores, np.zeros(len(self.rows)), n_jobs=self.structure.n_jobs).expected
            value, slope = distance(self.distance, self.rows, expected)
            value, slope = self.strength * value, self.strength * slope
            priced, direction = float((slope * expected).sum()), self.rows.direction(free, -slope, -self.entropy)
        else:
            direction = free.times(-self.entropy)
        moved = self.structure.tangents(scores, direction)
        if self.entropy:  # E[δ·y] = v·Aμ - entropy * θ·μ
            value += self.entropy * float(moved.log_partition.sum()) + float(moved.slope.sum()) - priced
        return value, self._features(moved.parts)

    def scores(self, w: Floats) -> Any:
        """Scores of the sequences at w, whatever is known of y."""
        return self.scorer.prepare(w).scores(self.encoded, self.structure.n_jobs)

    def _features(self, parts: Any) -> Floats:
        """Fᵀ of the parts, shard by shard; tables are sums over the batch and go with the first."""

        def run(first: int, last: int) -> Floats:
            out = self.scorer.expectation()
            some = parts.sequences(first, last)
            out.add(self.encoded.sequences(first, last), some if first == 0 else some.without_tables())
            return out.total()

        total = np.zeros(self.scorer.size)
        for part in each_shard(run, self.encoded.offsets, self.structure.n_jobs):
            total += part
        return total


@dataclass(frozen=True)
class JointLoss:
    """The losses of labelled and of unlabelled sequences, each None where there are no such sequences.

    merged: their weights are those of merged attributes; solver: that of the labelled sequences alone.
    """

    merged: Merged
    known: LogLoss[Any] | None
    rest: UnlabelledLoss[Any] | None
    solver: str

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Their sum and its gradient at w."""
        known, rest = (None if loss is None else loss(w) for loss in (self.known, self.rest))
        if known is None or rest is None:
            return known or rest or (0.0, np.zeros_like(w))
        return known[0] + rest[0], known[1] + rest[1]
