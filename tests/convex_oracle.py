"""Convex problems solved by a general solver, to compare with."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import LinearConstraint, OptimizeResult, minimize

STARTS, CLOSE = 10, 1e-7


def least(cost: Callable[..., Any], start: np.ndarray, *, tolerance: float, **problem: Any) -> OptimizeResult:
    """The minimum of a convex function by SLSQP, which begins anew where it gave up, until that moves it no more.

    How far one start comes depends on the processor: rounding decides whether its last steps still descend.
    """
    value = np.inf
    for _ in range(STARTS):
        found = minimize(cost, start, method="SLSQP", options={"maxiter": 500, "ftol": tolerance}, **problem)
        stands = abs(value - found.fun) <= 1e-9 * max(abs(found.fun), 1.0)
        if found.success or (stands and is_feasible(found.x, **problem)):
            return found
        start, value = found.x, found.fun
    raise AssertionError(f"SLSQP gave up {STARTS} times: {found.message}")


def is_feasible(x: np.ndarray, constraints: Any = (), bounds: Any = (), **_: Any) -> bool:
    """Whether a point keeps to all constraints, in whatever way SciPy takes them."""
    rules = [constraints] if isinstance(constraints, LinearConstraint) else constraints
    for rule in rules:
        if isinstance(rule, LinearConstraint):
            below, above = rule.residual(x)
        else:
            below = above = np.atleast_1d(rule["fun"](x))
            above = -above if rule["type"] == "eq" else np.zeros(1)
        if min(np.min(below, initial=0.0), np.min(above, initial=0.0)) < -CLOSE:
            return False
    limits = np.array([(-np.inf if lo is None else lo, np.inf if hi is None else hi) for lo, hi in bounds])
    return not len(limits) or bool(((x >= limits[:, 0] - CLOSE) & (x <= limits[:, 1] + CLOSE)).all())
