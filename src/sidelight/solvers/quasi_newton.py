"""Smooth convex functions of a few variables within ranges, by BFGS with a dense matrix.

    minimise  f(x),  low <= x <= high;     x ← clip(x - a B⁻¹ ∇f(x))

Variables that a step of their own would take to an end of their range go there, and stay out of the step of the others
(after Bertsekas 1982). The matrix B outlives a problem: the next one, if it is nearly the same, begins with the
curvature that the last one found.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..kernels.compiling import Floats
from ..kernels.parallel import one_blas_thread
from ..running.forms import Instance, Such
from ..stored import finite
from .spectral import P

# A step is shortened this many times before its direction counts as no descent, as far as the numbers can tell.
_SHORTEST = 12


@dataclass
class Curvature:
    """B, and the guess of its diagonal that it began with; one for problems with the same variables."""

    matrix: Floats = field(default_factory=lambda: np.empty((0, 0)))
    guess: Floats = field(default_factory=lambda: np.empty(0))

    def copy(self) -> "Curvature":
        """The same, to go on from without changing this one."""
        return Curvature(self.matrix.copy(), self.guess.copy())

    def take(self, other: "Curvature") -> None:
        """Become the same as another one."""
        self.matrix, self.guess = other.matrix.copy(), other.guess.copy()

    @staticmethod
    def form() -> Such:
        """Returns the form of curvature: a matrix that is positive definite."""
        one = Instance(Curvature, matrix=finite("size", "size"), guess=finite("size", least=1e-100))
        return Such(one, lambda found: bool(np.linalg.eigvalsh(found.matrix).min(initial=1.0) > 0.0))

    def begin(self, guess: Floats) -> None:
        """The next problem: B is its guess, all above 0, or what was learned of as many variables in its scale."""
        before, self.guess = self.guess, guess
        if len(before) == len(guess):
            scale = np.sqrt(guess / before)
            self.matrix = self.matrix * np.outer(scale, scale)
        else:
            self.forget()

    def forget(self) -> None:
        """Back to the guess."""
        self.matrix = np.diag(self.guess)

    @property
    def is_guess(self) -> bool:
        """Whether there is nothing to forget."""
        return np.array_equal(self.matrix, np.diag(self.guess))

    def step(self, at: Floats, gradient: Floats, low: Floats, high: Floats) -> Floats:
        """-B⁻¹∇f, with the variables that leave their range by themselves apart."""
        alone = -gradient / np.diag(self.matrix)
        held = ((at + alone <= low) & (gradient > 0)) | ((at + alone >= high) & (gradient < 0))
        free = np.flatnonzero(~held)
        alone[free] = -np.linalg.solve(self.matrix[np.ix_(free, free)], gradient[free])
        return alone

    def learn(self, change: Floats, bend: Floats) -> None:
        """The BFGS update: a move by `change` changed the gradient by `bend`."""
        foreseen = self.matrix @ change
        before, now = float(change @ foreseen), float(change @ bend)
        if now > 1e-6 * before > 0.0:
            self.matrix = self.matrix + np.outer(bend, bend) / now - np.outer(foreseen, foreseen) / before


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
    with one_blas_thread():
        for _ in range(max_iterations):
            if point.done:
                break
            direction = curvature.step(at, point.gradient, low, high)
            found = _search(evaluate, at, point, direction, low, high)
            if found is None:
                if curvature.is_guess:
                    break
                curvature.forget()
                continue
            change, tried = found
            curvature.learn(change, tried.gradient - point.gradient)
            at, point = at + change, tried
    return point


def _search(
    evaluate: Callable[[Floats], P], at: Floats, point: P, direction: Floats, low: Floats, high: Floats
) -> tuple[Floats, P] | None:
    """A step and where it leads: the longest of some in this direction that lowers the value or, where the value is
    too coarse to tell, the slope (Hager and Zhang 2005); None if there is none.
    """
    coarse = point.value + 1e-10 * (1.0 + abs(point.value))
    for shorter in range(_SHORTEST):
        change = np.clip(at + 0.3**shorter * direction, low, high) - at
        slope = float(point.gradient @ change)
        if slope < 0.0:
            tried = evaluate(at + change)
            lower = tried.value <= point.value + 1e-4 * slope and tried.value < point.value
            flatter = tried.value <= coarse and abs(float(tried.gradient @ change)) < -0.9 * slope
            if tried.done or lower or flatter:
                return change, tried
    return None
