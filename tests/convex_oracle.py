"""Convex problems solved by a general solver, to compare with."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

STARTS = 10


def least(cost: Callable[..., Any], start: np.ndarray, *, tolerance: float, **problem: Any) -> OptimizeResult:
    """The minimum of a convex function by SLSQP, which begins anew where it gave up, until that moves it no more.

    How far one start comes depends on the processor: rounding decides whether its last steps still descend.
    """
    value = np.inf
    for _ in range(STARTS):
        found = minimize(cost, start, method="SLSQP", options={"maxiter": 500, "ftol": tolerance}, **problem)
        if found.success or abs(value - found.fun) <= 1e-9 * max(abs(found.fun), 1.0):
            return found
        start, value = found.x, found.fun
    raise AssertionError(f"SLSQP gave up {STARTS} times: {found.message}")
