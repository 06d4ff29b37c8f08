"""Where the distributions of several views agree: the nearest q that is the same for all of them.

    minimise over q_1, ..., q_k   Σ_v KL(q_v || p_v)      s.t.  the views agree

Where they agree on everything, q is the renormalised geometric mean of the p_v, whose scores are the mean of theirs, so
it has their structure (Propositions 6.1 and 6.2 of Ganchev et al. 2010); with two views the minimum is twice their
Bhattacharyya distance -log Σ_y √(p_1(y) p_2(y)). Where labels are mapped into a common space and two views agree on the
marginals of single labels and of neighbours there (Eq. 54), every q_v is p_v with prices on these, found by L-BFGS on
the dual. For one decision that is the closed form of Proposition 6.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import NotSupported
from ..kernels.compiling import Floats
from ..structures.chain import ChainParts
from ..structures.protocol import Structure

# Divergences below zero by more than this share of the log-partitions are no rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Agreed:
    """What views agree on.

    parts: the expected parts of every view's q, over the batch; log_partitions: Σ log Z of each view's own scores;
    value: the minimum of Σ_v KL(q_v || p_v); left: the largest difference of marginals that should be the same; prices:
    those of the common space, to begin with the next time.
    """

    parts: list[Any]
    log_partitions: list[float]
    value: float
    left: float = 0.0
    prices: Floats | None = None


def mean_scores(scores: Sequence[Any]) -> Any:
    """The scores of the geometric mean of several views' distributions."""
    mean = scores[0]
    for count, one in enumerate(scores[1:], start=1):
        mean = mean.mix(one, count / (count + 1))
    return mean


def agree(structure: Structure[Any], scores: Sequence[Any]) -> Agreed:
    """Agreement on everything, in closed form."""
    found = structure.marginals(mean_scores(scores))
    own = [float(structure.marginals(one).log_partition.sum()) for one in scores]
    value = sum(own) - len(scores) * float(found.log_partition.sum())
    if value < -_ROUNDING * (1.0 + sum(map(abs, own))):
        raise NotSupported(
            "one view allows outputs that another forbids, such as longer segments, so they cannot agree on all; give "
            "all views the same task (max_length=)"
        )
    return Agreed([_in_tables_of(one, found.parts) for one in scores], own, max(value, 0.0))


@dataclass(frozen=True)
class LabelMap:
    """Labels of one view in the common space: member[label, z] is 1 where the label is mapped to z."""

    member: Floats

    def shift(self, scores: ChainParts, single: Floats, pairs: Floats) -> ChainParts:
        """Scores with prices of the common space added; single: (tokens, common), pairs: (tokens, common, common)."""
        steps = self.member @ pairs @ self.member.T
        return replace(
            scores,
            unary=scores.unary + single @ self.member.T,
            pair=scores.pair[scores.pair_type] + steps,
            pair_type=np.arange(len(steps), dtype=np.int32),
        )

    def common(self, parts: ChainParts) -> tuple[Floats, Floats]:
        """Marginals of single labels and of neighbours in the common space."""
        return parts.unary @ self.member, self.member.T @ parts.pair @ self.member


def agree_on_maps(
    structure: Structure[Any],
    scores: Sequence[Any],
    maps: Sequence[LabelMap],
    *,
    tolerance: float = 1e-4,
    start: Floats | None = None,
) -> Agreed:
    """Agreement of two views on labels and neighbouring labels in a common space; start: prices to begin with."""
    from scipy.optimize import minimize

    if len(scores) != 2 or not all(isinstance(one, ChainParts) and one.order == 1 for one in scores):
        raise NotSupported("label maps are for two views that label sequences (order 1) or documents")
    (first, second), count = scores, maps[0].member.shape[1]
    tokens, signs = len(first.unary), (1.0, -1.0)
    edge = tokens * count

    def views(prices: Floats) -> list[Any]:
        single, pairs = prices[:edge].reshape(tokens, count), prices[edge:].reshape(tokens, count, count)
        moved = zip(scores, maps, signs, strict=True)
        return [structure.marginals(one.shift(some, sign * single, sign * pairs)) for some, one, sign in moved]

    def dual(prices: Floats) -> tuple[float, Floats]:
        found = views(prices)
        (a, b), (c, d) = (one.common(some.parts) for one, some in zip(maps, found, strict=True))
        value = sum(float(one.log_partition.sum()) for one in found)
        return value, np.concatenate(((a - c).ravel(), (b - d).ravel()))

    end = minimize(
        dual, np.zeros(edge + tokens * count * count) if start is None else start, jac=True, method="L-BFGS-B",
        options={"maxiter": 200, "gtol": tolerance, "ftol": 1e-12},
    )  # fmt: skip
    own = [float(structure.marginals(one).log_partition.sum()) for one in (first, second)]
    parts = [_in_tables_of(some, one.parts) for one, some in zip(views(end.x), scores, strict=True)]
    return Agreed(parts, own, max(sum(own) - float(end.fun), 0.0), float(np.abs(end.jac).max(initial=0.0)), end.x)


def _in_tables_of(scores: Any, parts: Any) -> Any:
    """Expected parts with the tables of label pairs that a view's own scores have."""
    if not isinstance(scores, ChainParts) or len(scores.pair) == len(parts.pair):
        return parts
    pair = np.zeros_like(scores.pair)
    if len(scores.pair) == 1:
        pair[0] = parts.pair.sum(axis=0)
    else:
        inner = np.ones(len(parts.unary), bool)
        inner[parts.offsets[:-1]] = False
        np.add.at(pair, scores.pair_type[inner], parts.pair[parts.pair_type[inner]])
    return replace(parts, pair=pair, pair_type=scores.pair_type)
