"""Reordered copies of a sequence: the neighbours that contrastive estimation takes mass from.

A neighbour is an order, an array of positions; the same order moves the tokens and what is known of their labels.
Neighbourhoods are sets: an order that gives the same tokens as an earlier one is left out.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .errors import DataError
from .features.encoded import sequence_lengths
from .kernels.compiling import Flags, Longs
from .quoting import quoted


def transpositions(n: int) -> Longs:
    """The order as it is, and the n - 1 orders with two neighbouring positions exchanged: (n, n)."""
    orders = np.tile(np.arange(n), (n, 1))
    left = np.arange(n - 1)
    orders[left + 1, left], orders[left + 1, left + 1] = left + 1, left
    return orders


def shuffles(n: int, count: int, rng: np.random.Generator) -> Longs:
    """The order as it is, and `count` random ones: (count + 1, n)."""
    orders = np.tile(np.arange(n), (count + 1, 1))
    orders[1:] = rng.permuted(orders[1:], axis=1)
    return orders


def different_orders(orders: Longs, names: Sequence[Any]) -> Longs:
    """The orders that give different sequences, in their order; equal names are equal tokens."""
    number: dict[Any, int] = {}
    codes = np.array([number.setdefault(name, len(number)) for name in names])
    _, first = np.unique(codes[orders], axis=0, return_index=True)
    return orders[np.sort(first)]


def reorder(x: Any, order: Longs) -> Any:
    """A sequence with its tokens in another order; lists stay lists and arrays arrays."""
    return x[order] if hasattr(x, "shape") else [x[t] for t in order.tolist()]


def neighbourhoods(X: Sequence[Any], allowed: Flags, orders: Callable[[int], Longs]) -> tuple[list[Any], Flags, Longs]:
    """All neighbours of all sequences, each sequence first among its own.

    allowed: (tokens, labels) of X; orders: those of a sequence of n tokens. Gives the neighbours, what is allowed for
    their tokens, and where each neighbourhood begins.
    """
    out, places, groups, base = [], [], [0], 0
    for i, (x, n) in enumerate(zip(X, sequence_lengths(X), strict=True)):
        x, rows = x.tocsr() if hasattr(x, "tocsr") else x, allowed[base : base + n]
        names = [(_name(i, x[t : t + 1] if hasattr(x, "shape") else x[t]), rows[t].tobytes()) for t in range(n)]
        chosen = different_orders(orders(n), names)
        out += [reorder(x, order) for order in chosen]
        places.append(base + chosen.ravel())
        groups.append(len(out))
        base += n
    return out, allowed[np.concatenate(places)], np.array(groups, np.int64)


def _name(index: int, token: Any) -> Any:
    """Something hashable that is equal for equal tokens."""
    if isinstance(token, str):
        return token
    if isinstance(token, Mapping):
        return tuple(sorted((str(key), repr(value)) for key, value in token.items()))
    if hasattr(token, "toarray"):
        return token.toarray().tobytes()
    if hasattr(token, "tobytes"):
        return token.tobytes()
    if isinstance(token, Sequence):
        return tuple(token)
    raise DataError(f"sequence {index}: a token is a string, a tuple, a feature dict or a row, got {quoted(token)}")
