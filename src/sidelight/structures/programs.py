"""Integer programs: 0/1 variables under linear rows.

The parts of an input are its variables, and an output says 0 or 1 for each of them. The shape of an input is the number
of its variables and the rows over these, `ProgramRows`. HiGHS finds the best outputs, through `points`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ..errors import DataError, Infeasible, NotSupported, listed
from ..kernels.compiling import Flags, Floats, Ints, Longs
from ..kernels.parallel import map_each
from ..supervision import Signal
from .chain import require_feasible
from .flat import FlatParts, FlatStructure, KnownOutputs, Shape, require_count
from .known import Outputs
from .polytope import LinearRows, rows_hold_all
from .program_rows import Component, Points, ProgramRows
from .protocol import TIME_LIMIT, Loss, Ranked, in_blocks

if TYPE_CHECKING:
    from .highs import HighsProgram

# Rows or variables that a message names at most.
_NAMED = 10
# Seconds to find out which rows of a program without an output a message is to name.
_WHY_SECONDS = 5.0


class _Starts:
    """The last output of each input that is still there, for the next search to begin with; threads may share it."""

    def __init__(self) -> None:
        self._last: WeakKeyDictionary[ProgramRows, Flags] = WeakKeyDictionary()
        self._lock = Lock()

    def get(self, rows: ProgramRows) -> Flags | None:
        """Returns the last output, if there was one."""
        with self._lock:
            return self._last.get(rows)

    def put(self, rows: ProgramRows, output: Flags) -> None:
        """Keeps an output."""
        with self._lock:
            self._last[rows] = output

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy begins without any."""
        return _Starts, ()


@dataclass(frozen=True)
class Programs(FlatStructure):
    """Integer programs: for each input, 0/1 variables under linear rows with any coefficients.

    The shape of an input is `ProgramRows(...).shape`. Outputs are exact unless a time limit ends the search. HiGHS
    takes outputs for equal whose scores differ by less than about 1e-9 of the largest score of a variable, and the
    coefficients of one row should lie within a factor of a million.

    Parameters
    ----------
    n_jobs : int, default=-1
        Threads that share the inputs of a batch; -1 is every core.
    time_limit : float or None, default=60.0
        Seconds for each input. Out of time, the best output found is returned, with a bound on what others score. None
        searches until the best output is proved to be it.
    """

    time_limit: float | None = TIME_LIMIT
    _starts: _Starts = field(default_factory=_Starts, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.time_limit is not None and not self.time_limit > 0:
            raise DataError(f"time_limit is a number of seconds above 0, or None, got {self.time_limit!r}")

    def slots(self, shape: Shape) -> int:
        """An output says 0 or 1 for every variable."""
        return int(shape[0])

    def parts_of(self, shape: Shape, output: Ints) -> Longs:
        """The variables that are 1."""
        return np.flatnonzero(np.asarray(output) > 0)

    def indicator(self, scores: FlatParts, values: Ints) -> FlatParts:
        """The given outputs as 0/1 parts; one that is not known, all -1, has no parts."""
        return replace(scores, values=(np.asarray(values) > 0).astype(float))

    def program(self, scores: Floats, shape: Shape) -> "HighsProgram":
        """Returns the integer program of one input, all variables whole.

        `points.with_penalties` adds rows that may be missed at a cost, and `points.k_best` solves
        what comes out.
        """
        from .highs import HighsProgram

        variables, rows = shape
        return HighsProgram(np.asarray(scores, float), np.ones(variables), rows.rows, np.arange(variables))

    def solve(self, scores: Floats, shape: Shape, k: int = 1) -> Points:
        """Returns the k best outputs of one input, with a bound and whether they are proved to be the best.

        There are none where no output satisfies the rows, or where none was found in time; then it is not proved.
        """
        rows: ProgramRows = shape[1]
        if rows.impossible:
            return Points.none(rows.variables)
        start = self._starts.get(rows)
        if start is not None and np.isneginf(scores[start]).any():
            start = None
        left, small = rows.reduced(scores) if k == 1 else (np.arange(rows.variables), rows)
        if small is None:
            left, small = np.arange(rows.variables), rows
        begin = None if start is None else start[left]
        found = _joined(self._apart(scores[left], small, k, begin), len(left), k)
        values = np.zeros((len(found.values), rows.variables), bool)
        values[:, left] = found.values
        if len(values):
            self._starts.put(rows, values[0])
        return replace(found, values=values)

    def _apart(self, scores: Floats, rows: ProgramRows, k: int, start: Flags | None) -> Iterator[tuple[Longs, Points]]:
        """The k best values of the variables of each component."""
        from .points import k_best

        choices, components = rows.components
        yield from choices.points(scores, k)
        end = np.inf if self.time_limit is None else monotonic() + self.time_limit
        for one in components:
            listed = one.points(scores, k)
            if listed is not None:
                yield one.variables, listed
                continue
            begin, left = None if start is None else start[one.variables], max(end - monotonic(), 0.0)
            yield one.variables, k_best(_program(one, scores), k, time_limit=left, start=begin)

    def best_under_rows(
        self, scores: Floats, shape: Shape, rows: LinearRows, penalty: Floats, k: int, seconds: float
    ) -> Points:
        """Returns the k best outputs of one input under more rows, which cost when they are missed.

        penalty: (rows,) for each unit, inf where a row must hold; seconds: after which the best found is returned.
        """
        from .points import k_best, with_penalties

        limit = min(seconds, np.inf if self.time_limit is None else self.time_limit)
        return k_best(with_penalties(self.program(scores, shape), rows, penalty), k, time_limit=limit)

    def best(self, scores: Floats, shape: Shape, k: int) -> list[Ints]:
        """The k best outputs of finite score; an error where none was found in time."""
        found = self.solve(scores, shape, k)
        self._require_time(found)
        return list(found.values.astype(np.int32))

    def kbest(self, scores: FlatParts, k: int) -> Ranked:
        """The k best outputs of each input; `exact` and `bound` say which of them are not proved to be the best."""
        require_count(k)
        _require_scores(scores)
        offsets, count = self.output_offsets(scores), len(scores)
        values, ranked = np.full((k, offsets[-1]), -1, np.int32), np.full((count, k), -np.inf)
        exact, bound = np.ones(count, bool), np.empty(count)

        def run(i: int) -> None:
            theta, shape = scores.of(i)
            found = self.solve(theta, shape, int(k))
            if not len(found.values):
                self._require_time(found, i)
                raise Infeasible(_why_none(theta, shape[1]), i)
            last = len(found.values)
            values[:last, offsets[i] : offsets[i + 1]] = found.values
            ranked[i, :last] = [theta[output].sum() for output in found.values]
            exact[i], bound[i] = found.exact, ranked[i, 0] if found.exact else max(found.bound, ranked[i, 0])

        self._each(run, count)
        require_feasible(ranked[:, 0])
        if exact.all():
            return Ranked(Outputs(values, offsets), ranked)
        return Ranked(Outputs(values, offsets), ranked, exact, bound)

    def _each(self, run: Callable[[int], None], count: int) -> None:
        """Runs a function for every input of a batch."""
        map_each(run, list(range(count)), self.n_jobs)

    def _require_time(self, found: Points, index: int | None = None) -> None:
        """Raises `Infeasible` where no output was found, and it is not proved that there is none."""
        if not len(found.values) and not found.exact:
            limit = "the time there was" if self.time_limit is None else f"{self.time_limit:g} seconds"
            raise Infeasible(f"has no output that was found in {limit}; give it more time (time_limit)", index)

    def expected(self, scores: Floats, shape: Shape) -> tuple[float, Floats]:
        """Not offered: the sum over all outputs is intractable."""
        raise NotSupported(
            "integer programs have no tractable marginals; use StructuredPerceptron, MIRA, StructuralSVM or JLIS, "
            "which need best outputs only"
        )

    def all_outputs(self, shape: Shape) -> Iterator[Ints]:
        """Every output that satisfies the rows."""
        variables, rows = shape
        for block in in_blocks(product((0, 1), repeat=variables)):
            outputs = np.array(block, np.int32)
            yield from outputs[rows_hold_all(rows.rows, outputs > 0)]

    def only(self, scores: FlatParts, known: KnownOutputs) -> FlatParts:
        """Returns scores under which variables that are known to be 1 are.

        An output that is known as a whole is the only one then, and its own rows are not looked at.
        """
        shapes: Any = scores.shapes.copy()
        for i, kind in enumerate(known.kinds):
            on = np.flatnonzero(known.outputs.inputs(i, i + 1).values > 0)
            if kind is Signal.FULL or (kind is Signal.PARTIAL and len(on)):
                rows: ProgramRows = shapes[i, 1]
                more = one_rows(on) if kind is Signal.FULL else rows.rows + one_rows(on)
                shapes[i, 1] = ProgramRows(rows.variables, more, names=rows.names)
        return replace(scores, shapes=shapes)

    def loss(self, scores: FlatParts, known: KnownOutputs) -> Loss[FlatParts]:
        """Returns how many of the variables that are known have another value."""
        values = known.outputs.values
        gold = replace(scores, values=(values > 0).astype(float))
        return Loss(replace(scores, values=np.where(values < 0, 0.0, 1.0 - 2.0 * gold.values)), gold.sums())


def one_rows(variables: Longs) -> LinearRows:
    """Returns rows that say of some variables that each of them is 1."""
    one, start = np.ones(len(variables)), np.arange(len(variables) + 1, dtype=np.int32)
    return LinearRows(one, one, start, variables.astype(np.int32), one)


def _program(one: Component, scores: Floats) -> "HighsProgram":
    """The integer program of one component."""
    from .highs import HighsProgram

    count = len(one.variables)
    return HighsProgram(scores[one.variables], np.ones(count), one.rows, np.arange(count))


def _joined(parts: Iterator[tuple[Longs, Points]], variables: int, k: int) -> Points:
    """The k best values of all variables, from those of variables that are independent of each other."""
    values, scores, exact, bound = np.zeros((1, variables), bool), np.zeros(1), True, 0.0
    for some, points in parts:
        exact, bound = exact and points.exact, bound + points.bound
        if not len(points.values):
            return Points.none(variables, exact=points.exact, bound=bound)
        sums = np.add.outer(scores, points.scores).ravel()
        order = np.argsort(-sums, kind="stable")[:k]
        before, own = np.divmod(order, len(points.scores))
        values, scores = values[before], sums[order]
        values[:, some] = points.values[own]
    return Points(values, scores, exact, bound)


def _require_scores(scores: FlatParts) -> None:
    """Raises `DataError` naming the first input with a score that is nan or inf."""
    bad = np.flatnonzero(~(scores.values < np.inf))
    if len(bad):
        number = int(np.searchsorted(scores.offsets, bad[0], side="right")) - 1
        raise DataError(f"sequence {number} has scores that are no numbers, or infinite; scale them down")


def _why_none(scores: Floats, rows: ProgramRows) -> str:
    """Says which rows cannot hold together, and whether that is because variables are excluded by their scores."""
    from .highs import HighsProgram
    from .points import impossible

    guilty = _conflict(scores, rows)
    own = rows.rows.take(np.array(guilty, np.int64))
    excluded = np.unique(own.index[np.isneginf(scores[own.index])])
    count = rows.variables
    without = ""
    bare = HighsProgram(np.zeros(count), np.ones(count), own, np.arange(count))
    if len(excluded) and not impossible(bare, time_limit=_WHY_SECONDS):
        names = _listed([rows.name(v) for v in excluded])
        without = f" without {names}, which {'is' if len(excluded) == 1 else 'are'} excluded (score -inf)"
    return (
        f"has no output that satisfies {_listed([rows.title(r) for r in guilty])}{without}; correct one of these rows"
    )


def _conflict(scores: Floats, rows: ProgramRows) -> list[int]:
    """The numbers of few rows that cannot hold together."""
    from .points import conflict, impossible

    if rows.impossible:
        return rows.impossible[:1]
    choices, components = rows.components
    for row, (_, points) in zip(choices.rows.tolist(), choices.points(scores, 2), strict=True):
        if not len(points.values):
            return [row]
    proved = (one for one in components if impossible(_program(one, scores), time_limit=_WHY_SECONDS))
    one = next(proved, None)
    if one is None:  # the proof takes longer than there is time for here
        return list(range(len(rows.rows)))
    found: list[int] = one.numbers[conflict(_program(one, scores))].tolist()
    return found


def _listed(names: Sequence[str]) -> str:
    """Names between commas, the first few of many."""
    some = [*names[:_NAMED], *([f"{len(names) - _NAMED} others"] if len(names) > _NAMED else [])]
    return listed(some)
