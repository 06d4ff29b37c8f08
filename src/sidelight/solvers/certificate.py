"""How far a solver is from the optimum of P(w) = loss(w) + l1 ‖w‖₁ + l2 ‖w‖², and when that is near enough."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..estimator import warn_convergence
from ..kernels.compiling import Floats
from ..progress import Tell
from ..records import Curve, Record, recorded
from ..running.forms import Instance, Several, Such
from ..stored import finite

# Where there is no dual bound, progress is measured over this many steps.
_PERIOD = 10
# An objective below this is zero.
_NOTHING = 1e-9


@recorded
class Step(Record):
    """Where a solver stands: the objective (primal), a lower bound on its optimum (dual), and the largest entry of the
    shortest subgradient. What was not worked out, or does not exist, is nan.
    """

    unit: ClassVar[str] = "iteration"
    iteration: int
    objective: float
    dual: float
    residual: float

    @property
    def gap(self) -> float:
        """How far the objective is above its optimum at most; nan if not known."""
        gap = self.objective - self.dual
        return gap if np.isnan(gap) else max(gap, 0.0)

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the objective."""
        return self.gap / max(abs(self.objective), _NOTHING)

    @classmethod
    def curves(cls, trace: Sequence[Any]) -> list[Curve]:
        """Returns the objective with its bound, and the relative gap."""
        lines = {"objective": [step.objective for step in trace], "dual": [step.dual for step in trace]}
        known = {name: values for name, values in lines.items() if np.isfinite(values).any()}
        out = [Curve("objective (lower is better)" if len(known) == 1 else "objective, and a bound below it", known)]
        gaps = [step.relative_gap for step in trace]
        if np.isfinite(gaps).sum() > 1:
            out.append(Curve("relative duality gap", {"gap": [max(gap, 1e-12) for gap in gaps]}, logarithmic=True))
        return out

    def __str__(self) -> str:
        shown = {"objective": self.objective, "dual": self.dual, "gap": self.gap}
        if np.isnan(self.dual):
            shown |= {"residual": self.residual}
        return ", ".join(f"{name} {value:.6g}" for name, value in shown.items() if not np.isnan(value))


def steps_form(least: int = 0) -> Such:
    """Returns the form of the steps that a solver has made, in their order."""
    return Such(Several(Step, least=least), lambda made: all(one.iteration == k for k, one in enumerate(made, 1)))


@dataclass(frozen=True)
class Solution:
    """Weights, all steps, and whether the tolerance was reached.

    unproved: of how many inputs the last objective has a bound only, since a time limit ended their searches; went_on:
    the solver that took over from the one that began, if any did.
    """

    weights: Floats
    steps: tuple[Step, ...]
    converged: bool
    unproved: int = 0
    went_on: str | None = None

    @property
    def last(self) -> Step:
        """The final step."""
        return self.steps[-1]

    @staticmethod
    def form(size: int) -> Instance:
        """Returns the form of a solution of so many weights."""
        return Instance(Solution, weights=finite(size), steps=steps_form(1))


def warn_unconverged(name: str, solution: Solution, advice: str) -> None:
    """Warn the caller of `fit` if a solver stopped before its tolerance, or its certificate rests on bounds."""
    if solution.unproved:
        warn_convergence(
            f"{name}: time limits ended the searches for the worst outputs of {solution.unproved} inputs, so that its "
            f"last objective is only known to be at most {solution.last.objective:.6g}; raise time_limit for a tighter "
            "certificate"
        )
    if not solution.converged:
        warn_convergence(
            f"{name} stopped before its tolerance, at {solution.last} after {solution.last.iteration} iterations; "
            f"{advice}"
        )


def distance(steps: Sequence[Step], tolerance: float, least: float = 0.1) -> float:
    """How many times its tolerance the certificate of a solver is, as far as it is known; nan if it is not.

    Without a gap it is what the last step raised the bound by, or what ten steps lowered the objective by.
    """
    last = steps[-1]
    if not np.isnan(last.gap):
        return last.relative_gap / tolerance
    if len(steps) > 1 and not np.isnan(last.dual):
        return 2.0 * (last.dual - steps[-2].dual) / max(tolerance * abs(last.dual), _NOTHING)
    if len(steps) > _PERIOD:
        fall = steps[-1 - _PERIOD].objective - last.objective
        return fall / max(least * tolerance * abs(last.objective), _NOTHING)
    return float("nan")


def telling(tell: Tell, tolerance: float, least: float = 0.1) -> Callable[[Step], None]:
    """Returns what tells of the steps of a solver, and with these how much longer it takes."""
    steps: list[Step] = []

    def on_step(step: Step) -> None:
        steps.append(step)
        tell(step.iteration, str(step), distance(steps, tolerance, least))

    return on_step


def reached(steps: Sequence[Step], tolerance: float, least: float = 0.1) -> bool:
    """Whether a solver may stop.

    With a gap: when it is at most tolerance * objective. Without one (partial labels, no l2 penalty): when ten steps
    together lowered the objective by at most `least` times that, or the subgradient is zero for all purposes.
    """
    last = steps[-1]
    if not np.isnan(last.gap):
        return last.relative_gap <= tolerance
    if np.isnan(last.objective):
        return False
    size = max(last.objective, 1.0)
    if last.residual <= 1e-9 * size:
        return True
    return len(steps) > _PERIOD and steps[-1 - _PERIOD].objective - last.objective <= least * tolerance * size


def squared_norm(w: Floats) -> float:
    """‖w‖², without the threads of a library of linear algebra.

    OpenBLAS divides long products, and then its threads look out for more to do for a tenth of a second, on cores that
    solvers have work for.
    """
    return float(np.einsum("i,i->", w, w))


def penalty(w: Floats, l1: float, l2: float) -> float:
    """l1 ‖w‖₁ + l2 ‖w‖²."""
    return (float(l1 * np.abs(w).sum()) if l1 else 0.0) + l2 * squared_norm(w)


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
    if not l1:
        return float(max(total.max(initial=0.0), -total.min(initial=0.0)))
    moving = total + l1 * np.sign(w)
    resting = np.maximum(np.abs(total) - l1, 0.0)
    return float(np.abs(np.where(w != 0, moving, resting)).max(initial=0.0))
