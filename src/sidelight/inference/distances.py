"""Distances from expectations to what statements ask of them: the penalties of generalized expectation.

    squared   Σ_r c_r ξ_r² / 2                       ξ = A E[y] - b
    l1        Σ_r c_r |ξ_r|                          each with its corner rounded off, so that it has derivatives
    l2        √(Σ_r c_r ξ_r²)
    kl        Σ_r c_r [ t log(t / m) - t + m ]       m the expected count, t its target

c is the rule's own penalty, times the number of sequences that a statement about the corpus speaks of. A one-sided
statement costs nothing on its right side. "l1" and "l2" are the norms of Eq. 33 of Ganchev et al. 2010, which are not
squared: small misses count as much as they do in posterior regularization. "kl" is the divergence of counts: where the
shares of all labels are given it is the one of the two label distributions (Mann and McCallum 2008).
"""

from typing import Literal, get_args

import numpy as np

from ..errors import DataError, NotSupported
from ..kernels.compiling import Floats
from .rows import RowSet

DistanceName = Literal["squared", "l1", "l2", "kl"]
# Expected counts below this are taken as this, so that a logarithm is finite: there the divergence is flat.
_LEAST = 1e-12
# Norms are those of ξ within this of zero only roughly: there they are parabolas.
_CORNER = 1e-3


def require_distance(name: DistanceName) -> None:
    """Raise unless there is such a distance."""
    if name not in get_args(DistanceName):
        raise DataError(f"the distance is one of {', '.join(get_args(DistanceName))}, got {name!r}")


def check_distance(name: DistanceName, rows: RowSet) -> None:
    """Raise unless the distance makes sense for these rows."""
    require_distance(name)
    below = rows.below_zero if name == "kl" else ()
    for row, under in enumerate(below):
        s = rows.statement(row)
        # The table of a share is less its target everywhere, and what it is taken from is a count of tokens.
        if not ((s.target != s.bound or not under) and s.target >= 0):
            raise NotSupported(
                f"the distance 'kl' is between counts, and {s.title!r} can be below zero; use distance='squared'"
            )


def distance(name: DistanceName, rows: RowSet, expected: Floats) -> tuple[float, Floats]:
    """The distance of all rows together, and its derivatives by their expectations."""
    weight = rows.penalty * rows.copies
    excess = rows.excess(expected)
    if name == "squared":
        return 0.5 * float((weight * excess * excess).sum()), weight * excess
    if name == "l1":
        size = np.sqrt(excess * excess + _CORNER**2)
        return float((weight * (size - _CORNER)).sum()), weight * excess / size
    if name == "l2":
        length = float(np.sqrt((weight * excess * excess).sum() + _CORNER**2))
        return length - _CORNER, weight * excess / length
    target = rows.target
    count = np.maximum(expected - rows.bound + target, _LEAST)
    logs = np.log(np.where(target > 0, target, 1.0)) - np.log(np.where(target > 0, count, 1.0))
    wrong = excess != 0
    value = float((weight * (target * logs - target + count))[wrong].sum())
    return value, np.where(wrong & (count > _LEAST), weight * (1.0 - target / count), 0.0)
