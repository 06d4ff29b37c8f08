"""Structural SVMs by stochastic subgradient steps with averaging (Algorithm 4 of Chang 2011).

    P(w) = ‖w‖² / 2 + C Σ_i ℓ(max_y [Δ(y_i, y) - w·(F(x_i, y_i) - F(x_i, y))]),      ℓ(a) = max(0, a)^d,  d = 1 or 2

Visit t has the step size 1 / t: w shrinks to (1 - 1/t) w, and moves by (n C / t) ℓ' Φ, where n is the number of
sequences and Φ = F(x_i, y_i) - F(x_i, ŷ) for the worst output ŷ under the shrunk w. So w = (n C / t) v, where v is a
plain sum, v ← v + ℓ' Φ, and ŷ is the argmax of v·F + t / (n C) Δ: the perceptron with a margin that grows with the
clock. What is kept is the mean of w weighted by t, which is the plain mean of v but for a factor (Lacoste-Julien et al.
2012).

After p passes every sequence was visited p times, so w = (C / p) v = Σ α_i(y) Φ for a feasible point of the dual:
α_i(y) is C / p times the steps of i along y. That is a certificate,

    D(α) = Σ α_i(y) Δ(y_i, y) - ‖w‖² / 2 - [d = 2] Σ_i (Σ_y α_i(y))² / (4 C)  <=  min P,

and so is D at multiples of α, up to 1 for d = 1. The objective of the mean need not fall: the best one is returned.

For d = 2 the slope ℓ' = 2 (Δ - w·Φ) is taken at the w after the step, since the plain step overshoots without bounds
until t is about n C ‖Φ‖².
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..features.encoded import Encoded
from ..kernels.compiling import Floats
from ..running.checkpoints import step
from ..running.forms import Number
from ..scorers.linear import LinearScorer
from ..stored import finite
from ..structures.chain import Chain, ChainParts
from ..structures.known import Known
from .certificate import Solution, Step, penalty, reached, squared_norm, steps_form
from .losses import HingeLoss
from .perceptron import Examples, PerceptronState, run


def minimize(
    scorer: LinearScorer,
    encoded: Encoded,
    known: Known[ChainParts],
    *,
    C: float,
    squared: bool,
    tolerance: float,
    max_iterations: int,
    seed: int,
    n_jobs: int = -1,
    on_step: Callable[[Step], None] = lambda step: None,
) -> Solution:
    """Passes over the sequences in random order; a step has the lowest objective of a mean so far and the highest dual.

    It stops when the gap between them is at most tolerance * objective, and returns the mean of that objective.
    """
    examples = Examples(scorer, Chain(n_jobs), encoded, known)
    loss = HingeLoss(scorer, Chain(n_jobs), encoded, known, squared)
    scale = C * len(encoded)
    state, sums = PerceptronState.zero(scorer), np.zeros((len(encoded), 2))
    best, lowest, dual = state.weights, np.inf, -np.inf
    steps: list[Step] = []
    with step("subgradient") as saved:
        if saved.done:
            solution: Solution = saved.found(Solution.form(scorer.size))
            return solution
        form = state.form(), finite(len(encoded), 2), finite(scorer.size), Number(), Number(), steps_form()
        before = saved.state(lambda: form)
        if before is not None:
            state, sums, best, lowest, dual, steps = before
            steps = list(steps)
        options: dict[str, Any] = {"passes": 1, "margin": 0.0, "growth": 1 / scale, "squared": squared, "sums": sums}
        for iteration in range(len(steps) + 1, max_iterations + 1):
            run(examples, state, **options, seed=seed + iteration)
            weights = state.average() * (2 * scale / (state.clock - 1))
            objective = penalty(weights, 0.0, 0.5) + C * loss(weights)
            if objective < lowest:
                best, lowest = weights, objective
            dual = max(dual, _dual(C / iteration * state.weights, C / iteration * sums, C, squared))
            steps.append(Step(iteration, lowest, dual, float("nan")))
            on_step(steps[-1])
            if reached(steps, tolerance) or saved.save((state, sums, best, lowest, dual, steps)):
                break
        return saved.finish(Solution(best, tuple(steps), reached(steps, tolerance)))


def _dual(w: Floats, sums: Floats, C: float, squared: bool) -> float:
    """D at the best multiple of α that is feasible; sums: (sequences, 2) of α, and of α Δ."""
    gain, curve = float(sums[:, 1].sum()), squared_norm(w)
    if squared:
        curve += float((sums[:, 0] ** 2).sum()) / (2 * C)
    share = gain / curve if curve > 0 else 1.0
    share = share if squared else min(share, 1.0)
    return share * gain - 0.5 * share**2 * curve
