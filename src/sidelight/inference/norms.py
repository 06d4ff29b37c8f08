"""Slack and its norms, and the nearest point of a ball; a norm is the same for a vector and for its absolute values.

The group norm is Σ_g max_{k in g} |v_k| (l1/l∞, section 8 of Ganchev et al. 2010); its dual is max_g Σ_{k in g} |v_k|.
"""

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Literal, get_args

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Floats, Longs
from .rows import RowSet

NormName = Literal["l1", "l2", "linf", "squared", "group"]


@dataclass(frozen=True)
class Slack:
    """What missing a bound costs, for the slack ξ of all rows, each times its rule's own penalty (its root if squared).

    penalty: σ in σ ‖ξ‖, or in σ ‖ξ‖² / 2 for "squared"; a row about the corpus counts for each of its sequences. bound:
    ε in ‖ξ‖ <= ε. Neither: no slack. "group": Σ over statements of their largest slack.
    """

    norm: NormName = "squared"
    penalty: float | None = None
    bound: float | None = None

    def check(self) -> None:
        """Raise `DataError` for what makes no sense."""
        if self.norm not in get_args(NormName):
            raise DataError(f"the norm of slack is one of {', '.join(get_args(NormName))}, got {self.norm!r}")
        if self.penalty is not None and self.bound is not None:
            raise DataError("slack has a penalty or a bound, not both")
        if self.penalty is not None and not (isinstance(self.penalty, Real) and 0 < self.penalty < np.inf):
            raise DataError(
                f"the penalty of slack is a finite number above 0, got {self.penalty!r}; None allows no slack"
            )
        if self.bound is not None and self.norm == "squared":
            raise DataError("a bound on the squared norm is one on the norm: use norm 'l2'")
        if self.bound is not None and not (isinstance(self.bound, Real) and 0 <= self.bound < np.inf):
            raise DataError(f"the bound of slack is a finite number of at least 0, got {self.bound!r}")

    @property
    def none(self) -> bool:
        """Whether bounds hold exactly."""
        return self.penalty is None and not self.bound

    def separates(self, rows: RowSet) -> bool:
        """Whether it leaves every row on its own, so that prices of some can be kept while others change."""
        if self.none:
            return True
        if self.penalty is not None:
            return self.norm in ("l1", "squared")
        return self.norm == "linf" and not bool(rows.equations.any())

    @property
    def strength(self) -> float:
        """σ or ε; 0 without slack."""
        return float(self.penalty or self.bound or 0.0)


@dataclass(frozen=True)
class RowCosts:
    """What slack makes of rows: their scale, their bounds, and the prices that they may have.

    fixed: whether the prices of corpus rows are those of another batch.
    """

    rows: RowSet
    slack: Slack
    fixed: bool = False

    @cached_property
    def scale(self) -> Floats:
        """What each row's slack is multiplied by before its norm is taken."""
        weight = self.rows.penalty * (1.0 if self.slack.penalty is None else self.rows.copies)
        return np.sqrt(weight) if self.slack.norm == "squared" else weight

    @property
    def norm(self) -> "Norm":
        """The norm of slack."""
        return Norm(self.slack.norm, self.rows.group)

    @cached_property
    def separates(self) -> bool:
        """Whether no norm joins the prices of different rows."""
        return self.slack.separates(self.rows)

    @cached_property
    def bound(self) -> Floats:
        """b; where a slack bound leaves rows apart, with that much room."""
        room = self.slack.strength / self.scale if self.slack.bound and self.separates else np.zeros(len(self.rows))
        return np.where(self.rows.low == 0, self.rows.bound + room, self.rows.bound - room)

    @cached_property
    def curve(self) -> Floats:
        """Curvature of cost*: 1 / (σ scale²) if squared."""
        squared = self.slack.norm == "squared" and self.slack.penalty is not None
        return 1.0 / (self.slack.strength * self.scale**2) if squared else np.zeros(len(self.rows))

    @cached_property
    def limit(self) -> Floats:
        """Largest size of each price: σ scale for an l1 penalty; fixed ones have the scale of another batch."""
        if self.slack.norm != "l1" or self.slack.penalty is None:
            return np.full(len(self.rows), np.inf)
        most = self.slack.strength * self.scale
        most[: self.rows.joint if self.fixed else 0] = np.inf
        return most

    @cached_property
    def low(self) -> Floats:
        """Smallest price of each row."""
        return np.maximum(self.rows.low, -self.limit)

    @cached_property
    def high(self) -> Floats:
        """Largest price of each row."""
        return np.minimum(self.rows.high, self.limit)


@dataclass(frozen=True)
class Norm:
    """name: "l1", "l2", "linf", "group", or "most", the dual of "group"; group: (entries,) number of each entry's."""

    name: str
    group: Longs

    @property
    def dual(self) -> "Norm":
        """The norm max_v u·v over the unit ball of this one."""
        names = {"l1": "linf", "linf": "l1", "l2": "l2", "group": "most", "most": "group"}
        return Norm(names[self.name], self.group)

    def size(self, v: Floats) -> float:
        """‖v‖."""
        size = np.abs(v)
        if len(v) == 0:
            return 0.0
        match self.name:
            case "l1":
                return float(size.sum())
            case "linf":
                return float(size.max())
            case "l2":
                return float(np.sqrt(v @ v))
            case "group":
                return float(_largest(size, self.group).sum())
            case _:
                return float(np.bincount(self.group, weights=size).max())

    def project(self, v: Floats, radius: float) -> Floats:
        """The nearest point with ‖v‖ <= radius."""
        if self.size(v) <= radius:
            return v
        if radius <= 0:
            return np.zeros_like(v)
        match self.name:
            case "l1":
                return np.sign(v) * np.maximum(np.abs(v) - _threshold(np.abs(v), radius), 0.0)
            case "linf":
                return np.clip(v, -radius, radius)
            case "l2":
                return v * (radius / float(np.sqrt(v @ v)))
            case "group":
                return _onto_groups(v, self.group, radius)
            case _:
                return _each_group(v, self.group, radius)

    def shrink(self, v: Floats, amount: float) -> Floats:
        """The minimum of ‖u - v‖² / 2 + amount ‖u‖, by Moreau's identity."""
        return v - self.dual.project(v, amount)


def _threshold(size: Floats, radius: float) -> float:
    """τ with Σ max(size - τ, 0) = radius, for sizes whose sum is above it."""
    ranked = np.sort(size)[::-1]
    means = (np.cumsum(ranked) - radius) / np.arange(1, len(ranked) + 1)
    return float(means[np.flatnonzero(ranked > means)[-1]])


def _largest(size: Floats, group: Longs) -> Floats:
    out = np.zeros(int(group.max(initial=-1)) + 1)
    np.maximum.at(out, group, size)
    return out


@dataclass(frozen=True)
class _Ranked:
    """Sizes in falling order within their groups, with rank and sum up to each; group: (entries,), in no order.

    Groups are numbered from 0 without gaps; `first` is where each begins.
    """

    group: Longs
    first: Longs
    sizes: Floats
    rank: Longs
    sums: Floats

    @classmethod
    def of(cls, size: Floats, group: Longs) -> "_Ranked":
        number, count = np.unique(group, return_inverse=True, return_counts=True)[1:]
        first = np.cumsum(count) - count
        sizes, start = size[np.lexsort((-size, number))], np.repeat(first, count)
        sums = np.cumsum(sizes)
        return cls(number, first, sizes, np.arange(len(size)) - start + 1, sums - (sums - sizes)[start])

    def thresholds(self, radius: float) -> Floats:
        """For every entry τ of its group: Σ max(size - τ, 0) = radius there, or zero if the sum is not above it."""
        means = (self.sums - radius) / self.rank
        above = np.add.reduceat(self.sizes > means, self.first, dtype=np.int64)
        found: Floats = np.maximum(means[self.first + np.maximum(above, 1) - 1], 0.0)[self.group]
        return found


def _each_group(v: Floats, group: Longs, radius: float) -> Floats:
    """Every group into the l1 ball."""
    if radius <= 0:
        return np.zeros_like(v)
    size = np.abs(v)
    return np.sign(v) * np.maximum(size - _Ranked.of(size, group).thresholds(radius), 0.0)


def _onto_groups(v: Floats, group: Longs, radius: float) -> Floats:
    """Bisection on the multiplier τ: every group keeps what is left of it outside the l1 ball of radius τ."""
    size = np.abs(v)
    ranked, low, high = _Ranked.of(size, group), 0.0, float(np.bincount(group, weights=size).max())
    while low < (middle := 0.5 * (low + high)) < high:
        left = _largest(np.minimum(size, ranked.thresholds(middle)), group).sum()
        low, high = (middle, high) if left > radius else (low, middle)
    return np.sign(v) * np.minimum(size, ranked.thresholds(high))
