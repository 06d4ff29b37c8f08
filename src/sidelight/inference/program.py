"""Integer programs for any polytope under rules.

Variables: those of the structure's polytope, and for every automaton the flow of its run, one per (token, state,
event); all in [0, 1], the choices of the polytope whole. Rows: those of the polytope; events of an automaton agree with
the steps from label to label, its flow is conserved. Penalties are the costs of the flow.
"""

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic
from typing import TypeVar

import numpy as np

from ..errors import Infeasible, NotSupported
from ..kernels.compiling import Floats
from ..rules.automata import Automaton
from ..structures import highs
from ..structures.highs import HighsProgram
from ..structures.polytope import LinearRows, Polytope

T = TypeVar("T")


def solve(
    outputs: Polytope[T],
    automata: Sequence[Automaton],
    penalty: Floats,
    k: int = 1,
    *,
    time_limit: float = np.inf,
) -> tuple[list[T], Floats]:
    """Returns the k best outputs, fewer where there are fewer, and an upper bound on each one's score: (k,).

    Out of time, the outputs are the best ones found and the bounds above their scores.
    """
    program = HighsProgram(outputs.scores, np.ones(len(outputs.scores)), outputs.rows, outputs.choices)
    for automaton, rho in zip(automata, penalty, strict=True):
        program = _with_automaton(program, automaton, rho, outputs)
    found: list[T] = []
    bounds = np.full(k, -np.inf)
    end = monotonic() + time_limit
    for rank in range(k):
        try:
            best = highs.solve(program, time_limit=max(end - monotonic(), 0.0))
        except Infeasible:
            break
        bounds[rank] = best.bound
        if best.values is None:
            break
        chosen = best.values[outputs.choices] > 0.5
        found.append(outputs.read(chosen))
        program = replace(program, rows=program.rows + outputs.without(chosen))
    return found, bounds


def _with_automaton(program: HighsProgram, m: Automaton, rho: float, outputs: Polytope[T]) -> HighsProgram:
    """Returns the program with the run of an automaton, which costs `rho` for each violation."""
    if outputs.steps is None or outputs.last is None:
        raise NotSupported(f"rule {m.title!r} reads labels from token to token, which these outputs do not have")
    n, (states, events) = len(m.kind), m.after.shape
    gains = [_gain(m.degree, rho)] * n
    flow = len(program.gain) + np.arange(n * states * events).reshape(n, states, events)
    # For each token a row for every event, then one for every state.
    token, state, event = np.indices(flow.shape)
    base = np.arange(n) * (events + states)
    at, before, label, variable = outputs.steps.T
    sums = [
        (1.0, base[token] + event, flow),
        (-1.0, base[at] + m.events[m.kind[at], before, label], variable),
        (1.0, base[token] + events + state, flow),
        (-1.0, base[1:, None, None] + events + m.after, flow[:-1]),
    ]
    total = np.zeros(n * (events + states))
    total[events + m.initial] = 1.0
    if (m.final > 0).any():
        gains.append(_gain(m.final, rho))
        last = flow.size + len(program.gain) + np.arange(m.final.size).reshape(m.final.shape)
        state, label = len(total) + np.indices(last.shape)
        label += states
        number, variable = outputs.last.T
        sums += [
            (1.0, state, last), (-1.0, len(total) + m.after, flow[-1]),
            (1.0, label, last), (-1.0, len(total) + states + number, variable),
        ]  # fmt: skip
        total = np.concatenate((total, np.zeros(sum(last.shape))))
    gain = np.concatenate((program.gain, *(table.ravel() for table in gains)))
    return replace(program, gain=gain, upper=np.ones(len(gain)), rows=program.rows + LinearRows.equal(total, *sums))


def _gain(violations: Floats, rho: float) -> Floats:
    """Returns what steps with this many violations add to the score; a hard rule forbids those with any."""
    return np.where(violations > 0, -np.inf, 0.0) if rho == np.inf else -rho * violations
