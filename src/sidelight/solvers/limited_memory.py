"""Smooth functions of many variables by L-BFGS: quasi-Newton steps from the last few changes of point and gradient.

    x ← x - a H ∇f(x)

H is used in its compact form, so a step reads the kept changes twice and writes little: with a million variables the
vectors, not the arithmetic, are what costs.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..kernels.compiling import Floats
from ..running.forms import Instance, Number, Several, Such
from ..stored import finite

# This many changes are kept; a step is shortened or prolonged this many times before its direction is no descent.
_KEPT = 10
_TRIALS = 30
# What a step must gain of what the slope promises, and how much of the slope it may leave (weak Wolfe conditions).
_GAIN, _LEFT = 1e-4, 0.9
# Values that differ by this share of their size may be the same.
_COARSE = 1e-13


class Point(NamedTuple):
    """A point, with the function's value and gradient there."""

    at: Floats
    value: float
    gradient: Floats


class Changes:
    """The last changes s of the point and y of the gradient, rows of S and Y, and the matrix that they stand for.

        H = γ I + [Sᵀ γYᵀ] [[R⁻ᵀ (D + γ Y Yᵀ) R⁻¹, -R⁻ᵀ], [-R⁻¹, 0]] [S; γY]

    R is the upper triangle of S Yᵀ, oldest first, D its diagonal, γ = s·y / y·y of the last change (Eq. 3.1 and 3.10 of
    Byrd, Nocedal and Schnabel 1994).
    """

    def __init__(self, size: int) -> None:
        self.moves, self.bends = np.zeros((_KEPT, size)), np.zeros((_KEPT, size))
        self.products = np.zeros((2, _KEPT, _KEPT))  # S Yᵀ and Y Yᵀ
        self.along = np.zeros((2, _KEPT))  # S∇f and Y∇f where H was used last
        self.forget()

    @classmethod
    def form(cls, size: int) -> Any:
        """Returns the form of changes of so many variables."""
        rows = Such(Several(Number(0, _KEPT - 1, whole=True)), lambda order: sorted(order) == list(range(len(order))))
        return Instance(
            cls, moves=finite(_KEPT, size), bends=finite(_KEPT, size), products=finite(2, _KEPT, _KEPT),
            along=finite(2, _KEPT), order=rows, gamma=Number(0.0),
        )  # fmt: skip

    def forget(self) -> None:
        """Back to steepest descent."""
        self.order: list[int] = []  # which rows are in use, oldest first
        self.gamma = 1.0

    def step(self, gradient: Floats) -> Floats:
        """-H ∇f; asked once at every point that a change has led to."""
        from scipy.linalg.lapack import dtrtrs

        used = len(self.order)
        if not used:
            return -gradient
        S, Y, newest = self.moves[:used], self.bends[:used], self.order[-1]
        here = np.zeros((2, _KEPT))
        here[0, :used], here[1, :used] = S @ gradient, Y @ gradient
        bend = here - self.along  # times y of the newest change, where the row was there before it
        bend[:, newest] = self.products[:, newest, newest]
        self.products[:, :, newest] = bend
        self.products[1, newest] = bend[1]
        self.along = here
        R, G = self.products[:, self.order][:, :, self.order]  # of R the upper triangle alone is read
        p, q = here[0, self.order], self.gamma * here[1, self.order]
        back = dtrtrs(R, p)[0]
        both = np.zeros((2, used))
        both[0, self.order] = dtrtrs(R, R.diagonal() * back + self.gamma * (G @ back) - q, trans=1)[0]
        both[1, self.order] = -self.gamma * back
        out: Floats = -self.gamma * gradient
        out -= both[0] @ S
        out -= both[1] @ Y
        return out

    def learn(self, before: Point, now: Point) -> None:
        """A step was taken, along which the slope has risen."""
        row = self.order.pop(0) if len(self.order) == _KEPT else len(self.order)
        self.order.append(row)
        move = np.subtract(now.at, before.at, out=self.moves[row])
        bend = np.subtract(now.gradient, before.gradient, out=self.bends[row])
        self.products[:, row, row] = move @ bend, bend @ bend
        self.gamma = self.products[0, row, row] / self.products[1, row, row]


class Descent(NamedTuple):
    """Where a descent stands: its point, the changes that led there, and how many iterations it made."""

    point: Point
    changes: Changes
    made: int

    @staticmethod
    def form(size: int) -> Any:
        """Returns the form of a descent of so many variables."""
        point = Instance(Point, at=finite(size), value=Number(), gradient=finite(size))
        return Instance(Descent, point=point, changes=Changes.form(size), made=Number(0, whole=True))


def minimize(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats | Descent,
    max_iterations: int,
    after: Callable[[Descent], bool],
) -> Floats:
    """The last point. `after` is called at each, the last at which `function` was, and says whether to stop there.

    start: a point, or where a descent stood that is to go on.
    """
    begun = start if isinstance(start, Descent) else Descent(Point(start, *function(start)), Changes(len(start)), 0)
    point, changes = begun.point, begun.changes
    for made in range(begun.made, max_iterations):
        found = _search(function, point, changes.step(point.gradient), 1.0) if changes.order else None
        if found is None:
            changes.forget()
            size = float(np.linalg.norm(point.gradient))
            found = _search(function, point, -point.gradient, 1.0 / size) if size > 0.0 else None
        if found is None:
            break
        changes.learn(point, found)
        point = found
        if after(Descent(point, changes, made + 1)):
            break
    return point.at


def _search(
    function: Callable[[Floats], tuple[float, Floats]], point: Point, direction: Floats, size: float
) -> Point | None:
    """A point in this direction that is low enough and past most of the slope, found by changing `size`; None if there
    is none, as far as the numbers can tell. Where values are too coarse to tell, slopes do (Hager and Zhang 2005).
    """
    slope = float(point.gradient @ direction)
    low, high = 0.0, np.inf
    for _ in range(_TRIALS if slope < 0.0 else 0):
        at = point.at + size * direction
        tried = Point(at, *function(at))
        left = float(tried.gradient @ direction)
        flatter = tried.value <= point.value + _COARSE * abs(point.value) and abs(left) <= -_LEFT * slope
        if not (tried.value <= point.value + _GAIN * size * slope or flatter):
            high = size
        elif left < _LEFT * slope:
            low = size
        else:
            return tried
        size = 0.5 * (low + high) if high < np.inf else 4.0 * size
    return None
