"""Penalised convex losses by L-BFGS-B, with the duality gap as certificate.

    minimise  P(w) = loss(w) + l1 ‖w‖₁ + l2 ‖w‖²

An absolute value is the sum of two non-negative parts, w = p - n, so the l1 penalty becomes a linear one with bounds.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ..kernels.compiling import Floats
from .certificate import Solution, Step, duality_gap, penalty, reached, residual

Loss = Callable[[Floats], tuple[float, Floats]]


def minimize(
    loss: Loss,
    start: Floats,
    *,
    l1: float,
    l2: float,
    tolerance: float,
    max_iterations: int,
    convex: bool = True,
    on_step: Callable[[Step], None] = lambda step: None,
) -> Solution:
    """Run L-BFGS-B until `certificate.reached` is content; without `convex` there is no dual bound."""
    from scipy.optimize import Bounds
    from scipy.optimize import minimize as scipy_minimize

    steps: list[Step] = []
    seen: dict[str, Any] = {}
    size = len(start)

    def weights_of(x: Floats) -> Floats:
        return x if l1 == 0 else x[:size] - x[size:]

    def objective(x: Floats) -> tuple[float, Floats]:
        w = weights_of(x)
        value, gradient = loss(w)
        seen["w"], seen["value"], seen["gradient"] = w.copy(), value, gradient
        smooth = gradient + 2 * l2 * w
        if l1 == 0:
            return value + penalty(w, 0.0, l2), smooth
        return value + l2 * float(w @ w) + l1 * float(x.sum()), np.concatenate((smooth + l1, l1 - smooth))

    def step_at(w: Floats, value: float, gradient: Floats) -> Step:
        primal = value + penalty(w, l1, l2)
        dual = primal - duality_gap(w, gradient, l1, l2) if convex else float("nan")
        return Step(len(steps) + 1, primal, dual, residual(w, gradient, l1, l2))

    def after(intermediate_result: Any) -> None:
        # Not the optimiser's own value: on the way, both parts p and n of a weight may be above zero.
        w, value, gradient = weights_of(intermediate_result.x), seen["value"], seen["gradient"]
        if not np.array_equal(w, seen["w"]):
            value, gradient = loss(w)
        step = step_at(w, value, gradient)
        steps.append(step)
        on_step(step)
        if reached(steps, tolerance):
            raise StopIteration

    x0 = start if l1 == 0 else np.concatenate((np.maximum(start, 0), np.maximum(-start, 0)))
    with threadpool_limits(1, "blas"):  # threads for vectors of this size cost more than they save
        result = scipy_minimize(
            objective,
            x0,
            jac=True,
            method="L-BFGS-B",
            bounds=None if l1 == 0 else Bounds(0, np.inf),
            callback=after,
            options={"maxiter": max_iterations, "maxfun": 20 * max_iterations, "maxcor": 10, "ftol": 0.0, "gtol": 0.0},
        )
    if not steps:
        steps.append(step_at(start, *loss(start)))
    return Solution(weights_of(result.x), tuple(steps), reached(steps, tolerance))
