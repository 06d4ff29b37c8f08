"""Margins with outputs that are not known: choose them under the weights, solve the convex problem, and repeat.

    minimise  Q(w),   Q(w) ≤ A(w, w_t) for all w,   Q(w_t) = A(w_t, w_t)      (Algorithm 13 and Theorem 3, Chang 2011)

A(·, w_t) is Q with the best outputs under w_t put in for the unknown ones, a problem for `cutting_plane`. Minimising it
never raises Q.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import isnan, nan
from typing import Any, ClassVar

import numpy as np

from ..kernels.compiling import Floats
from ..records import Record, recorded
from ..running.checkpoints import Carried
from ..running.forms import Number, Several
from ..stored import finite
from . import cutting_plane, rounds
from .certificate import Solution
from .margin_constraints import Chosen, Demand, costs
from .working_sets import WorkingSets

# A convex problem whose solution is above where it began is solved again, so much more closely, this many times.
_CLOSER, _ATTEMPTS = 0.2, 3


@recorded
class Round(Record):
    """One round: Q(w_t) before it, and A(w_{t+1}, w_t) after it; nan where that is no bound on Q(w_{t+1})."""

    unit: ClassVar[str] = "step"
    iteration: int
    objective: float
    bound: float

    def __str__(self) -> str:
        after = "" if isnan(self.bound) else f", at most {self.bound:.6g} after"
        return f"objective {self.objective:.6g}{after}"


@dataclass(frozen=True)
class Alternation:
    """The weights, the objective Q there, all rounds, and whether the last of them changed little."""

    weights: Floats
    objective: float
    rounds: tuple[Round, ...]
    converged: bool
    last: Solution


@dataclass(frozen=True)
class LatentProblem:
    """A problem with unknown outputs.

    known: the demands without any; choose: for each of the others a function that gives it, with the best outputs under
    weights put in (the number of the round is for random ties); loss: its name; margins_stay: whether the margins of an
    input are the same for all outputs that may be chosen for it.
    """

    known: tuple[Demand, ...]
    choose: tuple[Callable[[Floats, int], Chosen], ...]
    loss: str
    margins_stay: bool

    def chosen(self, w: Floats, number: int) -> list[Chosen]:
        """The demands about unknown outputs, with the best ones under w put in."""
        return [choose(w, number) for choose in self.choose]

    def empty_sets(self, demands: Sequence[Demand], weights: int) -> WorkingSets:
        """Working sets without rows."""
        return WorkingSets(weights, costs(demands), loss=self.loss)

    def move(self, sets: WorkingSets, before: Sequence[Chosen], after: Sequence[Chosen]) -> None:
        """Make rows of the demands before those of the demands after, with their dual variables: a warm start.

        Where margins change with the chosen outputs, the rows of inputs with other ones are dropped instead.
        """
        first = sum(map(len, self.known))
        for old, new in zip(before, after, strict=True):
            which = new.differing(old)
            if self.margins_stay:
                sets.shift(first + which, new.shift(old, which))
            else:
                sets.drop(first + which)
            first += len(new)


def objective(demands: Sequence[Demand], sets: WorkingSets, w: Floats) -> float:
    """A(w, ·) of demands with their outputs put in, or what it is at most where searches ended early."""
    violation = np.concatenate([demand.worst(w, 0, len(demand)).bound for demand in demands])
    return sets.primal(violation, w)


@dataclass
class _Descent:
    """Weights on their way down: the convex problem of the outputs chosen last, and its solution."""

    problem: LatentProblem
    w: Floats
    options: dict[str, Any]
    change: float
    seed: int
    number: int = 0
    converged: bool = False
    bounds: list[float] = field(default_factory=list)
    way: list[Floats] = field(default_factory=list)  # the weights that outputs were chosen under, after the first ones
    chosen: list[Chosen] = field(init=False)
    sets: WorkingSets = field(init=False)
    value: float = field(init=False)
    last: Solution = field(init=False)

    def __post_init__(self) -> None:
        self.chosen = self.problem.chosen(self.w, 0)
        self.sets = self.problem.empty_sets(self.demands, len(self.w))
        self.value = objective(self.demands, self.sets, self.w)

    @property
    def demands(self) -> list[Demand]:
        return [*self.problem.known, *self.chosen]

    @property
    def raised(self) -> bool:
        """Whether the solution is above where it began, and is not to be taken."""
        return self.last.last.objective > self.value

    @property
    def carried(self) -> Carried:
        """What the next round needs beside the solution; outputs are chosen again, under all weights of the way."""
        return Carried(self._save, self._load, self._form)

    def _form(self) -> dict[str, Any]:
        return {
            "number": Number(1, whole=True), "converged": bool, "bounds": Several(Number(), least=1),
            "way": Several(finite(len(self.w))), "value": Number(), "sets": self.sets.form(),
            "last": Solution.form(len(self.w)),
        }  # fmt: skip

    def _save(self) -> dict[str, Any]:
        held = {"number": self.number, "converged": self.converged, "bounds": list(self.bounds)}
        return {**held, "way": list(self.way), "value": self.value, "sets": self.sets.copy(), "last": self.last}

    def _load(self, saved: dict[str, Any]) -> None:
        self.number, self.converged, self.bounds = saved["number"], saved["converged"], list(saved["bounds"])
        self.way, self.value, self.last = list(saved["way"]), saved["value"], saved["last"]
        self.sets = saved["sets"].copy()
        for number, w in enumerate(self.way, start=1):
            self.w, self.chosen = w, self.problem.chosen(w, number)

    def solve(self) -> Solution:
        """Solve the convex problem, more closely where its solution is above where it began."""
        self.number += 1
        closeness = self.options["tolerance"]
        for _ in range(_ATTEMPTS):
            options = {**self.options, "tolerance": closeness, "seed": self.seed + self.number}
            self.last = cutting_plane.minimize(self.demands, self.sets, **options)
            if not self.raised or self.value - self.last.last.dual <= self.change * self.value:
                break
            closeness = _CLOSER * min(closeness, self.last.last.relative_gap)
        self.bounds.append(min(self.last.last.objective, self.value))
        return self.last

    def settled(self, found: Solution) -> bool:
        """Whether a solution cannot be taken, since it would raise Q."""
        if self.raised:
            close = max(self.options["tolerance"], self.change)
            self.converged = self.value - found.last.dual <= close * self.value
        return self.raised

    def choose(self, found: Solution) -> bool:
        """Take the weights, and choose the best outputs under them; True if little changed."""
        self.w = found.weights
        self.way.append(self.w)
        before, self.chosen = self.chosen, self.problem.chosen(self.w, self.number)
        self.problem.move(self.sets, before, self.chosen)
        self.value = objective(self.demands, self.sets, self.w)
        two = self.bounds[-2:]
        self.converged = len(two) == 2 and two[0] - two[1] <= self.change * two[0]
        return self.converged


def minimize(
    problem: LatentProblem,
    start: Floats,
    *,
    change: float,
    max_rounds: int,
    tolerance: float,
    epsilon: float,
    max_iterations: int,
    seed: int,
    check: bool = False,
    title: str = "",
    verbose: bool = False,
) -> Alternation:
    """Rounds until A changes by no more than the share `change` (Eq. 6.11); the other options are for the convex
    problems. Q never rises: a solution that would raise it is sought more closely, or not taken. A round begins with
    the working sets of the one before (the global cache of Algorithm 11), as far as they still hold.
    """
    options = {"tolerance": tolerance, "epsilon": epsilon, "max_iterations": max_iterations, "check": check}
    way = _Descent(problem, start, options, change, seed)
    trace = rounds.alternate(
        [None] * max_rounds,
        lambda _: way.solve(),
        rounds.InTurn(way.choose),
        lambda number, _, found: Round(number, way.value, way.bounds[-1]),
        title=title,
        verbose=verbose,
        settled=way.settled,
        carried=way.carried,
        form=lambda: Solution.form(len(start)),
    )
    last = replace(way.last, converged=way.last.last.relative_gap <= tolerance)
    return Alternation(way.w, way.value, trace, way.converged, last)


def repeat(
    problem: LatentProblem,
    start: Floats,
    *,
    change: float,
    max_rounds: int,
    seed: int,
    title: str = "",
    verbose: bool = False,
    **options: Any,
) -> Alternation:
    """Choose the outputs of all inputs, those of the demands that reject too, solve, and repeat (Algorithm 12).

    Takes what `minimize` does. Nothing keeps Q from rising; it ends when Q changes by no more than the share `change`.
    """
    w, values, converged, solutions = start, list[float](), False, list[Solution]()

    def solve(_: None) -> Solution:
        number = len(values)
        accepted = problem.chosen(w, number)
        fixed: list[Demand] = [*(one.fixed(w) for one in problem.known), *accepted]  # type: ignore[attr-defined]
        sets = problem.empty_sets(fixed, len(w))
        values.append(objective([*problem.known, *accepted], sets, w))
        solutions.append(cutting_plane.minimize(fixed, sets, seed=seed + number, **options))
        return solutions[-1]

    def choose(found: Solution) -> bool:
        nonlocal w, converged
        w = found.weights
        converged = len(values) > 1 and abs(values[-2] - values[-1]) <= change * values[-2]
        return converged

    def load(saved: tuple[Floats, list[float], list[Solution]]) -> None:
        nonlocal w
        w, values[:], solutions[:] = saved

    def form() -> tuple[Any, ...]:
        return finite(len(start)), Several(Number(), least=1), Several(Solution.form(len(start)), least=1)

    trace = rounds.alternate(
        [None] * max_rounds,
        solve,
        rounds.InTurn(choose),
        lambda number, _, found: Round(number, values[-1], nan),
        title=title,
        verbose=verbose,
        carried=Carried(lambda: (w, list(values), list(solutions)), load, form),
        form=lambda: Solution.form(len(start)),
    )
    demands = [*problem.known, *problem.chosen(w, len(values))]
    value = objective(demands, problem.empty_sets(demands, len(w)), w)
    return Alternation(w, value, trace, converged, solutions[-1])
