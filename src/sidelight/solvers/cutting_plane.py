"""Large margins by cutting planes: working sets grow by the worst violated outputs (Algorithms 6, 14, 16, Chang 2011).

    minimise  ‖w‖² / 2 + Σ_i C_i ℓ(max_y violation_i(y; w)),   ℓ(ξ) = max(0, ξ)², max(0, ξ) or log(1 + e^ξ)

What is asked of each input is a `Demand`. The search for violated outputs gives the primal objective, the working sets
give the dual one, and their difference is the certificate.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..errors import SidelightError
from ..kernels.compiling import Floats
from ..running import scatter, shards
from ..running.checkpoints import step
from ..running.forms import Number
from .certificate import Solution, Step, reached, steps_form
from .margin_constraints import Demand, worst_of_part
from .working_sets import WorkingSets

# An iteration has this many chunks, of at least and at most this many inputs that are searched with the same weights;
# and passes of coordinate descent over the rows of a chunk and over all.
_CHUNKS, _LEAST, _CHUNK, _CHUNK_PASSES, _PASSES = 32, 4, 256, 3, 20
# Tokens of a part of a chunk, about: on chains threads gain nothing on smaller ones.
_PART = 2000
# Rows are kept in single precision: differences below this share of a violation mean nothing.
_ROUNDING = 1e-6


def minimize(
    demands: Sequence[Demand],
    sets: WorkingSets,
    *,
    tolerance: float,
    epsilon: float,
    max_iterations: int,
    seed: int,
    check: bool = False,
    on_step: Callable[[Step], None] = lambda step: None,
) -> Solution:
    """Searches and descents until the duality gap is at most tolerance * objective.

    An iteration goes through the inputs chunk by chunk: search with the weights as they are, then descend on the rows
    of the chunk; and at its end on all rows, where these are long after `settle`. An output joins its working set if
    it is violated by more than epsilon beyond the set; where no output is and the gap is still too wide, epsilon is
    divided by ten. When the dual objective has all but stopped rising, an iteration searches all inputs with the same
    weights, which gives the primal objective. `sets` may hold rows already. With `check` an error says when a cached
    output is worse violated than the one that the search found, which then was not the worst.

    Where time limits end searches, the primal objective is that of the bounds on what outputs violate, so the gap is
    never too small; it ends when only such bounds keep it from closing.
    """
    rng, steps, unproved = np.random.default_rng(seed), list[Step](), 0
    with step("cutting planes") as saved:
        if saved.done:
            earlier = saved.found({"solution": Solution.form(len(sets.weights)), "sets": sets.form()})
            sets.take(earlier["sets"])
            solution: Solution = earlier["solution"]
            return solution
        state = saved.state(lambda: (np.random.Generator, steps_form(), Number(0.0), sets.form()))
        if state is not None:
            rng, steps, epsilon, rows_before = state
            steps = list(steps)
            sets.take(rows_before)
        chunk = min(max(-(-sum(map(len, demands)) // _CHUNKS), _LEAST), _CHUNK)
        search = _WorstSearch(demands, sets, check, chunk)
        for iteration in range(len(steps) + 1, max_iterations + 1):
            before = sets.dual()
            for first in range(0, search.groups, chunk):
                last = min(first + chunk, search.groups)
                search(first, last, epsilon)
                sets.descend(_CHUNK_PASSES, rng, first, last)
            sets.settle(tolerance)
            sets.descend(_PASSES, rng)
            sets.clean()
            sets.refresh()
            dual, objective, unproved = sets.dual(), float("nan"), 0
            if dual - before <= tolerance * abs(dual) or iteration == max_iterations:
                rows = sets.count
                found, bound = search(0, search.groups, epsilon)
                objective, unproved = sets.primal(bound), int((bound > found).sum())
                if dual > objective + 1e-3 * max(abs(objective), 1e-9):
                    raise SidelightError(
                        f"the dual objective {dual:.6g} is above the primal one {objective:.6g}: the inference is not "
                        "exact"
                    )
                if sets.count == rows:
                    epsilon *= 0.1
            steps.append(Step(iteration, objective, dual, float("nan")))
            on_step(steps[-1])
            if reached(steps, tolerance):
                break
            if unproved and reached([replace(steps[-1], objective=sets.primal(found))], tolerance):
                break  # more rows would not help, more time for the searches would
            if saved.save((rng, steps, epsilon, sets)):
                break
        solution = Solution(sets.weights.copy(), tuple(steps), reached(steps, tolerance), unproved)
        saved.finish({"solution": solution, "sets": sets.copy()})
        return solution


class _WorstSearch:
    """Finds the worst violated outputs, and adds those that are new to the working sets.

    The inputs of every chunk are cut into parts, which are searched where they are.
    """

    def __init__(self, demands: Sequence[Demand], sets: WorkingSets, check: bool, chunk: int) -> None:
        self.demands, self.sets, self.check, self.chunk = demands, sets, check, chunk
        self.groups = sum(map(len, demands))
        self.ranges: list[tuple[int, int, int]] = []  # of each part: number of the demand, first input, last + 1
        for first in range(0, self.groups, chunk):
            for number, lo, hi in self._pieces(first, min(first + chunk, self.groups)):
                cuts = shards(demands[number].batch.encoded.offsets[lo : hi + 1], _PART)
                self.ranges += [(number, lo + a, lo + b) for a, b in cuts]
        parts = [demands[number].inputs(lo, hi) for number, lo, hi in self.ranges]
        one = demands[0].batch
        self.parts = scatter(parts, one.scorer, one.structure.n_jobs)

    def _pieces(self, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Demands with inputs among the groups first to last - 1, and the range of these inputs in each."""
        start = 0
        for number, demand in enumerate(self.demands):
            lo, hi = max(first - start, 0), min(last - start, len(demand))
            if lo < hi:
                yield number, lo, hi
            start += len(demand)

    def __call__(self, first: int, last: int, epsilon: float) -> tuple[Floats, Floats]:
        """For the groups first to last - 1, whole chunks; returns their largest violations, and bounds on these."""
        known, (violation, bound) = self.sets.worst(first, last), np.empty((2, last - first))
        starts = np.cumsum([0, *map(len, self.demands)]).tolist()
        which = [
            i for i, (number, lo, hi) in enumerate(self.ranges)
            if first <= starts[number] + lo and starts[number] + hi <= last
        ]  # fmt: skip
        for i, worst in zip(which, self.parts.map(worst_of_part, self.sets.weights.view(), among=which), strict=True):
            number, lo, hi = self.ranges[i]
            mine = slice(starts[number] + lo - first, starts[number] + hi - first)
            violation[mine], bound[mine] = worst.violation, worst.bound
            if self.check:
                _require_worst(bound[mine], known[mine], self.demands[number], lo)
            least = np.maximum(epsilon, _ROUNDING * np.maximum(np.abs(violation[mine]), 1.0))
            new = np.flatnonzero(violation[mine] > np.maximum(known[mine], self.sets.floor) + least)
            if len(new):
                rows, margin = self.demands[number].rows(lo, hi, new, worst.outputs)
                self.sets.add((starts[number] + lo + new).astype(np.int32), margin, rows)
        return np.maximum(violation, known), np.maximum(bound, known)


def _require_worst(found: Floats, known: Floats, demand: Demand, first: int) -> None:
    """Raise unless the search found outputs that are violated as much as those that are known of these inputs."""
    above = np.flatnonzero(known > found + 1e-4 * np.maximum(np.abs(found), 1.0))
    if len(above):
        i = int(above[0])
        place = demand.batch.argmax.place(first + i)
        raise SidelightError(
            f"the search returned an output of input {place} with violation {found[i]:.6g}, but one found before has "
            f"{known[i]:.6g}: the inference is not exact"
        )
