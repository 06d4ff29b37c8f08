"""Penalised losses by L-BFGS, with the duality gap as certificate.

    minimise  P(w) = loss(w) + l1 ‖w‖₁ + l2 ‖w‖²

An absolute value is the sum of two non-negative parts, w = p - n, so the l1 penalty becomes a linear one with bounds,
for SciPy's L-BFGS-B. Without it the objective is smooth, which `limited_memory` is made for.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ..kernels.compiling import Floats
from . import limited_memory
from .certificate import Solution, Step, duality_gap, penalty, reached, residual

Objective = Callable[[Floats], tuple[float, Floats]]


def minimize(
    loss: Objective,
    start: Floats,
    *,
    l1: float,
    l2: float,
    tolerance: float,
    max_iterations: int,
    convex: bool = True,
    least: float = 0.1,
    on_step: Callable[[Step], None] = lambda step: None,
) -> Solution:
    """Run L-BFGS until `certificate.reached` holds; without `convex`, which has a dual bound, `least` counts."""
    steps: list[Step] = []
    seen: dict[str, Any] = {}

    def smooth(w: Floats) -> tuple[float, Floats]:
        value, gradient = loss(w)
        seen["w"], seen["value"], seen["gradient"] = w, value, gradient
        return value + l2 * float(w @ w), gradient + 2 * l2 * w

    def step_at(w: Floats, value: float, gradient: Floats) -> Step:
        primal = value + penalty(w, l1, l2)
        dual = primal - duality_gap(w, gradient, l1, l2) if convex else float("nan")
        return Step(len(steps) + 1, primal, dual, residual(w, gradient, l1, l2))

    def after(w: Floats) -> bool:
        last = seen["value"], seen["gradient"]
        same = w is seen["w"] or np.array_equal(w, seen["w"])
        steps.append(step_at(w, *(last if same else loss(w))))
        on_step(steps[-1])
        return reached(steps, tolerance, least)

    with threadpool_limits(1, "blas"):  # threads for vectors of this size cost more than they save
        if l1:
            found = _bounded(smooth, start, l1, max_iterations, after)
        else:
            found = limited_memory.minimize(smooth, start, max_iterations, after)
    if not steps:
        steps.append(step_at(start, *loss(start)))
    return Solution(found, tuple(steps), reached(steps, tolerance, least))


def _bounded(
    smooth: Objective, start: Floats, l1: float, max_iterations: int, after: Callable[[Floats], bool]
) -> Floats:
    """The weights of the last step of L-BFGS-B on their two parts."""
    from scipy.optimize import Bounds
    from scipy.optimize import minimize as scipy_minimize

    size = len(start)

    def objective(x: Floats) -> tuple[float, Floats]:
        value, gradient = smooth(x[:size] - x[size:])
        return value + l1 * float(x.sum()), np.concatenate((gradient + l1, l1 - gradient))

    def callback(intermediate_result: Any) -> None:
        # Not the optimiser's own value: on the way, both parts p and n of a weight may be above zero.
        x = intermediate_result.x
        if after(x[:size] - x[size:]):
            raise StopIteration

    result = scipy_minimize(
        objective,
        np.concatenate((np.maximum(start, 0), np.maximum(-start, 0))),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(0, np.inf),
        callback=callback,
        options={"maxiter": max_iterations, "maxfun": 20 * max_iterations, "maxcor": 10, "ftol": 0.0, "gtol": 0.0},
    )
    out: Floats = result.x[:size] - result.x[size:]
    return out
