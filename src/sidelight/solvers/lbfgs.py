"""Penalised losses by L-BFGS, with the duality gap as certificate.

    minimise  P(w) = loss(w) + l1 ‖w‖₁ + l2 ‖w‖²

An absolute value is the sum of two non-negative parts, w = p - n, so the l1 penalty becomes a linear one with bounds,
for SciPy's L-BFGS-B. Without it the objective is smooth, which `limited_memory` is made for.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..kernels.compiling import Floats
from ..kernels.parallel import one_blas_thread
from ..running.checkpoints import NOTHING, Carried, step
from ..running.forms import Such
from ..stored import finite
from . import limited_memory
from .certificate import Solution, Step, duality_gap, penalty, reached, residual, steps_form

Objective = Callable[[Floats], tuple[float, Floats]]
# L-BFGS-B begins anew after this many iterations: what it knows of the curvature cannot be taken out and saved.
_BOUNDED = 50


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
    carried: Carried = NOTHING,
) -> Solution:
    """Run L-BFGS until `certificate.reached` holds; without `convex`, which has a dual bound, `least` counts.

    carried: what `loss` and `on_step` carry from one call to the next.
    """
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

    with step("lbfgs") as saved, one_blas_thread():
        if saved.done:
            before = saved.found({"solution": Solution.form(len(start)), "carried": carried.form()})
            carried.load(before["carried"])
            solution: Solution = before["solution"]
            return solution
        begin: Any = start
        at = finite(len(start)) if l1 else limited_memory.Descent.form(len(start))
        form = {"at": at, "steps": steps_form(), "carried": carried.form()}
        before = saved.state(lambda: Such(form, lambda state: bool(l1) or state["at"].made == len(state["steps"])))
        if before is not None:
            begin, steps = before["at"], list(before["steps"])
            carried.load(before["carried"])

        def save(at: Any) -> bool:
            return saved.save({"at": at, "steps": steps, "carried": carried.save()})

        if l1:
            left, ends = max_iterations - len(steps), lambda w: after(w) or saved.stop()
            found = _bounded(smooth, begin, l1, left, ends, save)
        else:
            found = limited_memory.minimize(smooth, begin, max_iterations, lambda at: after(at.point.at) or save(at))
        if not steps:
            steps.append(step_at(start, *loss(start)))
        solution = Solution(found, tuple(steps), reached(steps, tolerance, least))
        saved.finish({"solution": solution, "carried": carried.save()})
        return solution


def _bounded(
    smooth: Objective,
    start: Floats,
    l1: float,
    max_iterations: int,
    after: Callable[[Floats], bool],
    save: Callable[[Floats], bool],
) -> Floats:
    """The weights of the last step of L-BFGS-B on their two parts; `save` is called where it begins anew."""
    from scipy.optimize import Bounds
    from scipy.optimize import minimize as scipy_minimize

    size, point, made, ended = len(start), start, 0, False

    def objective(x: Floats) -> tuple[float, Floats]:
        value, gradient = smooth(x[:size] - x[size:])
        return value + l1 * float(x.sum()), np.concatenate((gradient + l1, l1 - gradient))

    def callback(intermediate_result: Any) -> None:
        # Not the optimiser's own value: on the way, both parts p and n of a weight may be above zero.
        nonlocal ended
        x = intermediate_result.x
        if after(x[:size] - x[size:]):
            ended = True
            raise StopIteration

    while not ended and made < max_iterations:
        limit = min(_BOUNDED, max_iterations - made)
        result = scipy_minimize(
            objective,
            np.concatenate((np.maximum(point, 0), np.maximum(-point, 0))),
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(0, np.inf),
            callback=callback,
            options={"maxiter": limit, "maxfun": 20 * limit, "maxcor": 10, "ftol": 0.0, "gtol": 0.0},
        )
        point, made = result.x[:size] - result.x[size:], made + limit
        # Fewer iterations than it may have made lead nowhere.
        ended = ended or result.nit < limit or save(point)
    return point
