"""Penalised convex losses by L-BFGS-B, with the duality gap as certificate.

    minimise  P(w) = loss(w) + l1 ‖w‖₁ + l2 ‖w‖²

An absolute value is the sum of two non-negative parts, w = p - n, so the l1 penalty becomes a linear one with bounds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.compiling import Floats

Loss = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True)
class Step:
    """Where a solver stands. `gap` bounds how far `objective` is above the optimum; nan if there is no such bound."""

    iteration: int
    objective: float
    gap: float
    residual: float

    def __str__(self) -> str:
        if not np.isnan(self.gap):
            return f"objective {self.objective:.2f}, gap {self.gap:.3g}"
        if not np.isnan(self.residual):
            return f"objective {self.objective:.2f}, residual {self.residual:.3g}"
        return f"dual objective {self.objective:.2f}"


@dataclass(frozen=True)
class Solution:
    """Weights, the last step, and whether the tolerance was reached."""

    weights: Floats
    steps: tuple[Step, ...]
    converged: bool

    @property
    def last(self) -> Step:
        """The final step."""
        return self.steps[-1]


def penalty(w: Floats, l1: float, l2: float) -> float:
    """l1 ‖w‖₁ + l2 ‖w‖²."""
    return float(l1 * np.abs(w).sum() + l2 * w @ w)


def duality_gap(w: Floats, gradient: Floats, l1: float, l2: float) -> float:
    """P(w) - D(μ) for the dual point given by the marginals at w, from the loss's gradient -r = Fᵀ(μ - y).

    With R the penalty and R* its conjugate the gap is R(w) + R*(r) - w·r, because the entropy in the dual is
    log Z - θ·μ; for l1 = 0 it is ‖∇P‖² / (4 l2). Without an l2 term there is no finite bound.
    """
    if l2 <= 0:
        return float("nan")
    conjugate = float((np.maximum(np.abs(gradient) - l1, 0.0) ** 2).sum() / (4 * l2))
    return max(0.0, penalty(w, l1, l2) + conjugate + float(w @ gradient))


def residual(w: Floats, gradient: Floats, l1: float, l2: float) -> float:
    """Largest entry of the shortest subgradient of P: zero at an optimum."""
    total = gradient + 2 * l2 * w
    moving = total + l1 * np.sign(w)
    resting = np.maximum(np.abs(total) - l1, 0.0)
    return float(np.abs(np.where(w != 0, moving, resting)).max(initial=0.0))


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
    """Run L-BFGS-B until gap <= tolerance * objective, or residual <= tolerance where no gap is known."""
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

    def after(intermediate_result: "object") -> None:
        # Not the optimiser's own value: on the way, both parts p and n of a weight may be above zero.
        w, value, gradient = weights_of(intermediate_result.x), seen["value"], seen["gradient"]  # type: ignore[attr-defined]
        if not np.array_equal(w, seen["w"]):
            value, gradient = loss(w)
        step = Step(
            len(steps) + 1,
            value + penalty(w, l1, l2),
            duality_gap(w, gradient, l1, l2) if convex else float("nan"),
            residual(w, gradient, l1, l2),
        )
        steps.append(step)
        on_step(step)
        if reached(step, tolerance):
            raise StopIteration

    x0 = start if l1 == 0 else np.concatenate((np.maximum(start, 0), np.maximum(-start, 0)))
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
        value, gradient = loss(start)
        gap = duality_gap(start, gradient, l1, l2) if convex else float("nan")
        steps.append(Step(0, value + penalty(start, l1, l2), gap, residual(start, gradient, l1, l2)))
    return Solution(weights_of(result.x), tuple(steps), reached(steps[-1], tolerance))


def reached(step: Step, tolerance: float) -> bool:
    """Whether the certificate is small enough."""
    if np.isnan(step.gap):
        return step.residual <= tolerance
    return step.gap <= tolerance * max(step.objective, 1.0)
