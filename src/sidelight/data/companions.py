"""Inputs without a good structure, made from those that have one: BAD examples for J-LIS.

bad = shuffled(X, k=4)
JLIS(...).fit(X_labelled + X + bad, y_labelled + [GOOD] * len(X) + [BAD] * len(bad))
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..declared import require_seed
from ..errors import DataError
from ..features.encoded import sequence_lengths
from ..reorderings import reorder


def shuffled(X: Sequence[Any], k: int = 1, *, seed: int = 0) -> list[Any]:
    """Make k copies of every sequence with their tokens in random orders, none of which gives the sequence itself.

    Sequences that have no other order (of one token, or of equal ones) are left out.

    Parameters
    ----------
    X : sequence
        The input sequences.
    k : int, default=1
        Copies of each sequence, at least 1.
    seed : int, default=0
        Seed of the orders.

    Returns
    -------
    list
        The copies, those of one sequence after those of another.
    """
    _require_copies(k)
    require_seed(seed)
    rng = np.random.default_rng(seed)
    sequences = zip(X, sequence_lengths(X), strict=True)
    return [reorder(x, _other_order(x, n, rng)) for x, n in sequences if not _all_equal(x, n) for _ in range(k)]


def transposed(X: Sequence[Any], k: int = 1, *, seed: int = 0) -> list[Any]:
    """Make k copies of every sequence, each with two neighbouring tokens exchanged at another place.

    Only places where the tokens differ count. A sequence with fewer than k of them has one copy for each, and a
    sequence without one is left out.

    Parameters
    ----------
    X : sequence
        The input sequences.
    k : int, default=1
        Copies of each sequence, at least 1.
    seed : int, default=0
        Seed of the places.

    Returns
    -------
    list
        The copies, those of one sequence after those of another.
    """
    _require_copies(k)
    require_seed(seed)
    rng = np.random.default_rng(seed)
    out = []
    for x, n in zip(X, sequence_lengths(X), strict=True):
        places = [t for t in range(n - 1) if not _equal(x[t], x[t + 1])]
        for t in rng.permutation(places)[:k].tolist():
            order = np.arange(n)
            order[[t, t + 1]] = t + 1, t
            out.append(reorder(x, order))
    return out


def mismatched(pairs: Sequence[tuple[Any, Any]], k: int = 1, *, seed: int = 0) -> list[tuple[Any, Any]]:
    """Make, for every pair, k pairs of its first part with second parts of other pairs that differ from its own.

    Parameters
    ----------
    pairs : sequence of tuple
        The pairs, each a tuple of two.
    k : int, default=1
        New pairs for each pair, at least 1.
    seed : int, default=0
        Seed of the choice.

    Returns
    -------
    list of tuple
        The new pairs, those of one pair after those of another.

    Raises
    ------
    DataError
        If a pair has fewer than `k` others whose second part differs.
    """
    _require_copies(k)
    require_seed(seed)
    if any(not isinstance(pair, tuple) or len(pair) != 2 for pair in pairs):
        raise DataError("pairs is a list of tuples of two")
    rng = np.random.default_rng(seed)
    out = []
    for first, second in pairs:
        others = [j for j, (_, other) in enumerate(pairs) if not _equal(other, second)]
        if len(others) < k:
            raise DataError(f"{first!r} has {len(others)} other partners, which is less than k = {k}")
        out += [(first, pairs[j][1]) for j in rng.choice(others, k, replace=False).tolist()]
    return out


def _require_copies(k: Any) -> None:
    if not isinstance(k, int) or k < 1:
        raise DataError(f"k is a whole number of at least 1, got {k!r}")


def _equal(a: Any, b: Any) -> bool:
    if hasattr(a, "toarray"):
        return bool((a != b).nnz == 0)
    return bool(np.array_equal(a, b)) if hasattr(a, "shape") else bool(a == b)


def _all_equal(x: Any, n: int) -> bool:
    return all(_equal(x[0], x[t]) for t in range(1, n))


def _other_order(x: Any, n: int, rng: np.random.Generator) -> Any:
    """A random order that gives another sequence."""
    while True:
        order = rng.permutation(n)
        if any(not _equal(x[t], x[s]) for t, s in enumerate(order.tolist())):
            return order
