"""Norms of slack, and the nearest point of a ball; all are the same for a vector and for its absolute values.

The group norm is Σ_g max_{k in g} |v_k| (l1/l∞, section 8 of Ganchev et al. 2010); its dual is max_g Σ_{k in g} |v_k|.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..kernels.compiling import Floats, Longs


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


def _sorted_groups(group: Longs) -> tuple[Longs, Longs]:
    order = np.argsort(group, kind="stable")
    edges = np.flatnonzero(np.diff(group[order])) + 1
    return order, np.concatenate(([0], edges, [len(group)]))


def _each_group(v: Floats, group: Longs, radius: float) -> Floats:
    """Every group into the l1 ball."""
    if radius <= 0:
        return np.zeros_like(v)
    out, (order, edges) = v.copy(), _sorted_groups(group)
    for a, b in pairwise(edges):
        at = order[a:b]
        if np.abs(v[at]).sum() > radius:
            out[at] = np.sign(v[at]) * np.maximum(np.abs(v[at]) - _threshold(np.abs(v[at]), radius), 0.0)
    return out


def _onto_groups(v: Floats, group: Longs, radius: float) -> Floats:
    """Bisection on the multiplier τ: every group keeps what is left of it outside the l1 ball of radius τ."""
    low, high = 0.0, float(np.bincount(group, weights=np.abs(v)).max())
    for _ in range(100):
        middle = 0.5 * (low + high)
        left = _largest(np.abs(v - _each_group(v, group, middle)), group).sum()
        low, high = (middle, high) if left > radius else (low, middle)
    return v - _each_group(v, group, high)
