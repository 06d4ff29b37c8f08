"""Margins with outputs that are not known: choose them under the weights, solve the convex problem, and repeat.

    minimise  Q(w),   Q(w) ≤ A(w, w_t) for all w,   Q(w_t) = A(w_t, w_t)      (Algorithm 13 and Theorem 3, Chang 2011)

A(·, w_t) is Q with the best outputs under w_t put in for the unknown ones, a problem for `cutting_plane`. Minimising it
never raises Q.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..kernels.compiling import Floats
from . import cutting_plane
from .certificate import Solution
from .demands import Demand
from .working_sets import WorkingSets

# A convex problem whose solution is above where it began is solved again, so much more closely, this many times.
_CLOSER, _ATTEMPTS = 0.2, 3


@dataclass(frozen=True)
class Round:
    """One round: Q(w_t) before it, and A(w_{t+1}, w_t) after it."""

    number: int
    objective: float
    bound: float


@dataclass(frozen=True)
class Alternation:
    """The weights, the objective Q there, all rounds, and whether the last of them changed little."""

    weights: Floats
    objective: float
    rounds: tuple[Round, ...]
    converged: bool
    last: Solution


class Problem(Protocol):
    """A problem with unknown outputs."""

    def fix(self, w: Floats, number: int) -> Sequence[Demand]:
        """The demands with the best outputs under w put in."""
        ...

    def sets(self, demands: Sequence[Demand], w: Floats) -> WorkingSets:
        """Working sets to begin with."""
        ...


def objective(demands: Sequence[Demand], sets: WorkingSets, w: Floats) -> float:
    """A(w, ·) of demands with their outputs put in."""
    violation = np.concatenate([demand.worst(w, 0, len(demand))[1] for demand in demands])
    return sets.primal(violation, w)


def minimize(
    problem: Problem,
    start: Floats,
    *,
    change: float,
    max_rounds: int,
    tolerance: float,
    epsilon: float,
    max_iterations: int,
    seed: int,
    check: bool = False,
    on_round: Callable[[Round], None] = lambda one: None,
) -> Alternation:
    """Rounds until A changes by no more than the share `change` (Eq. 6.11); the other options are for the convex
    problems. Q never rises: a solution that would raise it is sought more closely, or not taken.
    """
    w, rounds = start, []
    demands = problem.fix(w, 0)
    sets = problem.sets(demands, w)
    value, converged = objective(demands, sets, w), False
    for number in range(1, max_rounds + 1):
        closeness = tolerance
        for _ in range(_ATTEMPTS):
            last = cutting_plane.minimize(
                demands,
                sets,
                tolerance=closeness,
                epsilon=epsilon,
                max_iterations=max_iterations,
                seed=seed + number,
                check=check,
            )
            if last.last.objective <= value or value - last.last.dual <= change * value:
                break
            closeness = _CLOSER * min(closeness, last.last.relative_gap)
        rounds.append(Round(number, value, min(last.last.objective, value)))
        on_round(rounds[-1])
        if last.last.objective > value:
            converged = value - last.last.dual <= max(tolerance, change) * value
            break
        w = last.weights
        demands = problem.fix(w, number)
        sets = problem.sets(demands, w)
        value = objective(demands, sets, w)
        if len(rounds) > 1 and rounds[-2].bound - rounds[-1].bound <= change * rounds[-2].bound:
            converged = True
            break
    last = replace(last, converged=last.last.relative_gap <= tolerance)
    return Alternation(w, value, tuple(rounds), converged, last)
