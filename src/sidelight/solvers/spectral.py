"""Proximal gradient steps of the Barzilai-Borwein size, taken where the value falls below one of the last few.

    minimise  f(x) + h(x),   x ← the nearest point, as h has it, to x - step ∇f(x)

For f smooth and convex, h an indicator or a norm (Wright, Nowak and Figueiredo 2009; Birgin et al. 2000).
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from ..kernels.compiling import Floats

# A step may raise the value above the last one, but not above the highest of the last ones, this many.
_RECENT = 5


class PointValue(Protocol):
    """What is known at a point: the value of f + h, the gradient of f, and whether that is good enough."""

    @property
    def value(self) -> float:
        """f + h."""
        ...

    @property
    def gradient(self) -> Floats:
        """Of f."""
        ...

    @property
    def done(self) -> bool:
        """Whether to stop here."""
        ...


P = TypeVar("P", bound=PointValue)


def minimize(
    evaluate: Callable[[Floats], P],
    proximal: Callable[[Floats, Floats, float], Floats],
    start: Floats,
    step: float,
    max_iterations: int,
) -> P:
    """The last point; `proximal` takes where it is, the gradient there, and the step."""
    at, point = start, evaluate(start)
    recent = [point.value]
    for _ in range(max_iterations):
        if point.done:
            break
        while True:
            tried_at = proximal(at, point.gradient, step)
            change = tried_at - at
            length = float((change * change).sum())
            tried = evaluate(tried_at)
            if tried.value <= max(recent) - 1e-4 / (2 * step) * length or step < 1e-12:
                break
            step *= 0.5
        bent = float((change * (tried.gradient - point.gradient)).sum())
        if length == 0.0:
            break
        step = min(length / bent, 1e3 * step) if bent > 0 else 10.0 * step
        at, point = tried_at, tried
        recent = [*recent[1 - _RECENT :], point.value]
    return point
