"""Linear and integer programs.

    max over x   gain·x      s.t.  low <= A x <= high,  0 <= x <= upper,  some of the variables whole

This is the only module that talks to HiGHS.
"""

from dataclasses import dataclass, field
from threading import Event, Thread, current_thread, main_thread
from typing import Any

import numpy as np

from ..errors import DataError, Infeasible, SidelightError
from ..kernels.compiling import Floats, Longs
from ..kernels.parallel import stop_event
from .polytope import LinearRows

# Variables of an integer program of which a first point is found without a heuristic of its own.
_SMALL = 1000


@dataclass(frozen=True)
class HighsProgram:
    """Variables and rows.

    gain: (variables,), -inf fixes a variable at zero; upper: (variables,), inf where there is no bound; whole: the
    numbers of the variables that must be whole, none in a linear program.
    """

    gain: Floats
    upper: Floats
    rows: LinearRows
    whole: Longs = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def kind(self) -> str:
        """What errors call it."""
        return "integer program" if len(self.whole) else "linear program"


@dataclass(frozen=True)
class HighsSolution:
    """The best point found.

    values: (variables,), None where time ran out before any point was found; objective: gain·x, -inf there; bound: no
    point has more; prices: (rows,) what the objective gains when a row's bound grows by one, empty unless a linear
    program was solved to the end; optimal: whether it was solved to the end.
    """

    values: Floats | None
    objective: float
    bound: float
    prices: Floats
    optimal: bool


def solve(program: HighsProgram, *, time_limit: float = np.inf, start: Floats | None = None) -> HighsSolution:
    """Returns the best point; raises `Infeasible` where no point satisfies the rows.

    time_limit: seconds; `stop_event` ends it early, as if out of time. start: (variables,) values to begin with, nan
    where they are not known; an integer program completes them if there is time.
    """
    import highspy

    solver = _loaded(program)
    solver.setOptionValue("time_limit", time_limit)
    interrupted = Event()
    stops = stop_event(), interrupted
    linear = (solver.cbSimplexInterrupt, solver.cbIpmInterrupt)
    for asks in (solver.cbMipInterrupt,) if len(program.whole) else linear:
        asks.subscribe(lambda event: event.interrupt() if any(one.is_set() for one in stops) else None)
    if start is not None:
        known = np.flatnonzero(~np.isnan(start)).astype(np.int32)
        solver.setSolution(len(known), known, start[known])
    _run(solver, interrupted)
    status, ended = solver.getModelStatus(), highspy.HighsModelStatus
    empty = status == ended.kModelEmpty  # without variables, rows are not looked at
    if status == ended.kInfeasible or (empty and ((program.rows.low > 0) | (program.rows.high < 0)).any()):
        raise Infeasible(f"the {program.kind} has no solution")
    optimal = empty or status == ended.kOptimal
    if not optimal and status not in (ended.kTimeLimit, ended.kInterrupt):
        raise SidelightError(f"the {program.kind} ended with {solver.modelStatusToString(status)}")
    info, found = solver.getInfo(), solver.getSolution()
    objective = float(info.objective_function_value)
    bound = objective if optimal else float(info.mip_dual_bound) if len(program.whole) else np.inf
    if not optimal and info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return HighsSolution(None, -np.inf, bound, np.empty(0), False)
    prices = np.array(found.row_dual if optimal and not len(program.whole) else [])
    return HighsSolution(np.array(found.col_value), objective, bound, prices, optimal)


def _run(solver: Any, interrupted: Event) -> None:
    """Runs the solver. Python hears of Ctrl-C in its main thread alone, which therefore only waits."""
    if current_thread() is not main_thread():
        solver.run()
        return
    ended = Event()  # an interrupted join would take the thread for one that has ended

    def run() -> None:
        try:
            solver.run()
        finally:
            ended.set()

    Thread(target=run, daemon=True).start()
    try:
        while not ended.wait(1.0):
            pass
    except BaseException:
        interrupted.set()
        ended.wait()
        raise


def _loaded(program: HighsProgram) -> Any:
    """Returns a solver with the options of the package and the program in it."""
    import highspy

    allowed, rows = ~np.isneginf(program.gain), program.rows
    if not ((program.gain < np.inf).all() and np.isfinite(rows.value).all()):  # HiGHS would go on with nan
        raise DataError(f"the scores of the {program.kind} must be below infinity, and the entries of its rows finite")
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 0.0), ("mip_abs_gap", 1e-9)):
        solver.setOptionValue(name, value)
    if len(allowed) <= _SMALL:  # a search for a first point takes several times as long as all the rest
        solver.setOptionValue("mip_heuristic_run_feasibility_jump", False)
    kinds = np.zeros(len(allowed), np.int32)  # continuous
    kinds[program.whole] = int(highspy.HighsVarType.kInteger)
    status = solver.passModel(
        len(allowed), len(rows), len(rows.value), int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMaximize), 0.0, np.where(allowed, program.gain, 0.0), np.zeros(len(allowed)),
        np.where(allowed, program.upper, 0.0), rows.low, rows.high, rows.start[:-1], rows.index, rows.value, kinds,
    )  # fmt: skip
    if status == highspy.HighsStatus.kError:
        raise DataError(f"the rows of the {program.kind} do not fit its {len(allowed)} variables")
    return solver
