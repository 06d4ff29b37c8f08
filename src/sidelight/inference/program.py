"""Integer programs for any polytope under rules, solved by HiGHS.

Variables: those of the structure's polytope, and for every automaton the flow of its run, one per (token, state,
event); all in [0, 1], the choices of the polytope whole. Rows: those of the polytope; events of an automaton agree with
the steps from label to label, its flow is conserved. Penalties are the costs of the flow.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event
from time import monotonic
from typing import Any

import numpy as np

from ..errors import SidelightError
from ..kernels.compiling import Floats, Ints, Longs
from ..rules.automata import Automaton
from ..structures.lattice import Polytope


@dataclass
class _Builder:
    """Columns with costs and upper bounds, and sparse rows."""

    cost: list[Floats] = field(default_factory=list)
    upper: list[Floats] = field(default_factory=list)
    columns: int = 0
    rows: list[tuple[float, float, Ints, Floats]] = field(default_factory=list)

    def variables(self, gain: Floats) -> Longs:
        """New variables, one per entry of `gain`; -inf fixes one at zero."""
        allowed = gain > -np.inf
        self.cost.append(np.where(allowed, gain, 0.0).ravel())
        self.upper.append(allowed.astype(float).ravel())
        numbers = np.arange(self.columns, self.columns + gain.size).reshape(gain.shape)
        self.columns += gain.size
        return numbers

    def row(self, low: float, high: float, plus: Longs, minus: Longs | None = None) -> None:
        """low <= Σ plus - Σ minus <= high; a variable named several times counts several times."""
        less = np.empty(0, np.int64) if minus is None else minus.ravel()
        index = np.concatenate((plus.ravel(), less))
        value = np.concatenate((np.ones(plus.size), -np.ones(less.size)))
        unique, at = np.unique(index, return_inverse=True)
        total = np.bincount(at, weights=value)
        keep = total != 0
        self.rows.append((low, high, unique[keep].astype(np.int32), total[keep]))


def solve(
    outputs: Polytope,
    automata: Sequence[Automaton],
    penalty: Floats,
    k: int = 1,
    *,
    time_limit: float = np.inf,
    stop: Event | None = None,
) -> tuple[Ints, Floats]:
    """The k best outputs of n tokens: outputs (k, n), -1 where there are fewer, and an upper bound on each score (k,).

    Out of time, the outputs are the best ones found and the bounds above their scores. `stop` ends it early, as if out
    of time.
    """
    build = _Builder()
    build.variables(outputs.scores)
    for value, plus, minus in outputs.rows:
        build.row(value, value, plus, minus)
    for automaton, rho in zip(automata, penalty, strict=True):
        _add_automaton(build, automaton, rho, outputs)
    n = int(outputs.steps[:, 0].max(initial=0)) + 1
    found, bounds = np.full((k, n), -1, np.int32), np.full(k, -np.inf)
    end = monotonic() + time_limit
    for rank in range(k):
        chosen, bounds[rank] = _run(build, outputs.choices, max(end - monotonic(), 0.0), stop or Event())
        if not len(chosen):
            break
        found[rank] = outputs.read(chosen)
        build.row(-np.inf, len(chosen) - 1, chosen)
    return found, bounds


def _add_automaton(build: _Builder, m: Automaton, rho: float, outputs: Polytope) -> None:
    n = len(m.kind)
    states, events = m.after.shape
    price = np.where(m.degree > 0, -rho * m.degree, 0.0) if rho < np.inf else np.where(m.degree > 0, -np.inf, 0.0)
    flow = build.variables(np.broadcast_to(price, (n, states, events)))
    token, before, label, variable = outputs.steps.T
    seen = token * events + m.events[m.kind[token], before, label]
    order = np.argsort(seen, kind="stable")
    parts = np.split(variable[order], np.searchsorted(seen[order], np.arange(1, n * events)))
    for t in range(n):
        for e in range(events):
            build.row(0, 0, flow[t, :, e], parts[t * events + e])
        for s in range(states):
            if t == 0:
                here = 1.0 if s == m.initial else 0.0
                build.row(here, here, flow[0, s])
            else:
                build.row(0, 0, flow[t, s], flow[t - 1][m.after == s])
    if (m.final > 0).any():
        cost = np.where(m.final > 0, -rho, 0.0) if rho == np.inf else -rho * m.final
        last = build.variables(cost)
        for s in range(states):
            build.row(0, 0, last[s], flow[n - 1][m.after == s])
        for c in range(last.shape[1]):
            build.row(0, 0, last[:, c], outputs.last[outputs.last[:, 0] == c, 1])


def _run(build: _Builder, choices: int, time_limit: float, stop: Event) -> tuple[Longs, float]:
    """Solve; the numbers of the choices made, none if there is no output, and an upper bound on their score."""
    import highspy

    lengths = [len(index) for _, _, index, _ in build.rows]
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = build.columns, len(build.rows)
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = np.concatenate(build.cost)
    model.col_lower_ = np.zeros(build.columns)
    model.col_upper_ = np.concatenate(build.upper)
    model.row_lower_ = np.array([low for low, *_ in build.rows])
    model.row_upper_ = np.array([high for _, high, *_ in build.rows])
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    model.a_matrix_.index_ = np.concatenate([index for _, _, index, _ in build.rows])
    model.a_matrix_.value_ = np.concatenate([value for *_, value in build.rows])
    whole, free = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
    model.integrality_ = [whole] * choices + [free] * (build.columns - choices)
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("mip_rel_gap", 0.0)
    solver.setOptionValue("mip_abs_gap", 1e-9)
    solver.setOptionValue("time_limit", time_limit)
    solver.cbMipInterrupt += lambda event: event.interrupt() if stop.is_set() else None
    solver.passModel(model)
    solver.run()
    status = solver.getModelStatus()
    ended, nothing = highspy.HighsModelStatus, np.empty(0, np.int64)
    if status == ended.kInfeasible:
        return nothing, -np.inf
    if status not in (ended.kOptimal, ended.kTimeLimit, ended.kInterrupt):
        raise SidelightError(f"the integer program ended with {solver.modelStatusToString(status)}")
    info = solver.getInfo()
    bound = info.objective_function_value if status == ended.kOptimal else info.mip_dual_bound
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return nothing, float(bound)
    solution = np.array(solver.getSolution().col_value[:choices])
    return np.flatnonzero(solution > 0.5), float(bound)
