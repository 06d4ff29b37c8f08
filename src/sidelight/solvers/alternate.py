"""Margins with outputs that are not known: choose them under the weights, solve the convex problem, and repeat.

    minimise  Q(w),   Q(w) ≤ A(w, w_t) for all w,   Q(w_t) = A(w_t, w_t)      (Algorithm 13 and Theorem 3, Chang 2011)

A(·, w_t) is Q with the best outputs under w_t put in for the unknown ones, a problem for `cutting_plane`. Minimising it
never raises Q.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..kernels.compiling import Floats
from . import cutting_plane
from .certificate import Solution
from .demands import Chosen, Demand
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


@dataclass(frozen=True)
class Problem:
    """A problem with unknown outputs.

    known: the demands without any; choose: for each of the others a function that gives it, with the best outputs under
    weights put in (the number of the round is for random ties); squared: which loss.
    """

    known: tuple[Demand, ...]
    choose: tuple[Callable[[Floats, int], Chosen], ...]
    squared: bool

    def chosen(self, w: Floats, number: int) -> list[Chosen]:
        """The demands about unknown outputs, with the best ones under w put in."""
        return [choose(w, number) for choose in self.choose]

    def empty_sets(self, demands: Sequence[Demand], weights: int) -> WorkingSets:
        """Working sets without rows."""
        cost = np.concatenate([np.full(len(demand), float(demand.cost)) for demand in demands])
        return WorkingSets(weights, cost, squared=self.squared)

    def move(self, sets: WorkingSets, before: Sequence[Chosen], after: Sequence[Chosen]) -> None:
        """Make rows of the demands before those of the demands after; dual variables stay, so the start is warm."""
        first = sum(map(len, self.known))
        for old, new in zip(before, after, strict=True):
            which, vectors = new.shift(old)
            sets.shift(first + which, vectors)
            first += len(new)


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
    chosen = problem.chosen(w, 0)
    demands = [*problem.known, *chosen]
    sets = problem.empty_sets(demands, len(start))
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
        before, chosen = chosen, problem.chosen(w, number)
        problem.move(sets, before, chosen)
        demands = [*problem.known, *chosen]
        value = objective(demands, sets, w)
        if len(rounds) > 1 and rounds[-2].bound - rounds[-1].bound <= change * rounds[-2].bound:
            converged = True
            break
    last = replace(last, converged=last.last.relative_gap <= tolerance)
    return Alternation(w, value, tuple(rounds), converged, last)
