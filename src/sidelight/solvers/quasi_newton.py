"""Smooth convex functions of a few variables within ranges, by BFGS with a dense matrix.

    minimise  f(x),  low <= x <= high;     x ← clip(x - a B⁻¹ ∇f(x))

Variables at an end of their range, with a gradient that would move them out, stay out of the step (Bertsekas 1982). The
matrix B outlives a problem: the next one, if it is nearly the same, begins with the curvature that the last one found,
and takes a step or two.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from ..kernels.compiling import Floats, Longs
from .spectral import P

# Steps are shortened so many times before the function counts as flat, as far as its numbers can tell.
_SHORTEST = 12


@dataclass
class Curvature:
    """B, once there is a problem to learn it from."""

    matrix: Floats | None = None

    def begin(self, guess: Floats) -> None:
        """Take the guess for the diagonal of B unless something is known."""
        if self.matrix is None or len(self.matrix) != len(guess):
            self.matrix = np.diag(guess)

    def step(self, gradient: Floats, free: Longs) -> Floats:
        """-B⁻¹∇f on the free variables, 0 on the others."""
        assert self.matrix is not None
        out = np.zeros_like(gradient)
        out[free] = -np.linalg.solve(self.matrix[np.ix_(free, free)], gradient[free])
        return out

    def learn(self, change: Floats, bend: Floats) -> None:
        """The BFGS update: a move by `change` changed the gradient by `bend`."""
        assert self.matrix is not None
        foreseen = self.matrix @ change
        before, now = float(change @ foreseen), float(change @ bend)
        if now > 1e-6 * before > 0.0:
            self.matrix += np.outer(bend, bend) / now - np.outer(foreseen, foreseen) / before


def minimize(
    evaluate: Callable[[Floats], P],
    at: Floats,
    point: P,
    low: Floats,
    high: Floats,
    curvature: Curvature,
    max_iterations: int,
) -> P:
    """The last point, from where it is now; what it learns stays in `curvature`."""
    with threadpool_limits(1, "blas"):
        for _ in range(max_iterations):
            if point.done:
                break
            gradient = point.gradient
            free = np.flatnonzero(~(((at <= low) & (gradient > 0)) | ((at >= high) & (gradient < 0))))
            direction, size = curvature.step(gradient, free), 1.0
            for _ in range(_SHORTEST):
                change = np.clip(at + size * direction, low, high) - at
                tried = evaluate(at + change)
                if tried.done or tried.value <= point.value + 1e-4 * float(gradient @ change):
                    break
                size *= 0.3
            else:
                break
            curvature.learn(change, tried.gradient - gradient)
            at, point = at + change, tried
    return point
