"""One place that says how kernels are compiled."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Stream = NDArray[np.uint64]
Bits = NDArray[np.uint64]
Flags = NDArray[np.bool_]
Bytes = NDArray[np.uint8]

P = ParamSpec("P")
R = TypeVar("R")

# Sums may be reordered so that they vectorise; NaN and infinity keep their meaning, since -inf forbids a part.
_FAST = {"reassoc", "contract", "arcp", "nsz"}
_OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": _FAST}
_ORDERED: dict[str, Any] = {**_OPTIONS, "fastmath": False}
_UNWRAPPED: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on first use: without the GIL, cached on disk."""
    compiled: Callable[P, R] = numba.njit(**_OPTIONS)(function)
    return compiled


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """The same for a function that only kernels call: it compiles faster, but Python cannot call it."""
    compiled: Callable[P, R] = numba.njit(**_OPTIONS, **_UNWRAPPED)(function)
    return compiled


def ordered(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel whose sums are taken as they are written.

    The last bit of a reordered sum may depend on where arrays lie in memory, and a solver's path on that bit.
    """
    compiled: Callable[P, R] = numba.njit(**_ORDERED)(function)
    return compiled


def ordered_inner(function: Callable[P, R]) -> Callable[P, R]:
    """The same for a function that only kernels call."""
    compiled: Callable[P, R] = numba.njit(**_ORDERED, **_UNWRAPPED)(function)
    return compiled
