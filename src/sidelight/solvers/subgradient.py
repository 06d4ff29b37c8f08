"""Structural SVMs by stochastic subgradient steps with averaging (Algorithm 4 of Chang 2011).

    P(w) = ‖w‖² / 2 + C Σ_i ℓ(max_y [Δ(y_i, y) - w·(F(x_i, y_i) - F(x_i, y))]),      ℓ(a) = max(0, a)^d,  d = 1 or 2

Visit t has the step size 1 / t: w shrinks to (1 - 1/t) w, and moves by (n C / t) ℓ' Φ, where n is the number of
sequences and Φ = F(x_i, y_i) - F(x_i, ŷ) for the worst output ŷ under the shrunk w. So w = (n C / t) v, where v is a
plain sum, v ← v + ℓ' Φ, and ŷ is the argmax of v·F + t / (n C) Δ: the perceptron with a margin that grows with the
clock. What is kept is the mean of w weighted by t, which is the plain mean of v but for a factor (Lacoste-Julien et al.
2012).

For d = 2 the slope ℓ' = 2 (Δ - w·Φ) is taken at the w after the step, since the plain step overshoots without bounds
until t is about n C ‖Φ‖².
"""

from collections.abc import Callable

from ..features.encoded import Encoded
from ..kernels.compiling import Ints
from ..scorers.linear import LinearScorer
from ..structures.chain import Chain
from .certificate import Solution, Step, penalty, reached
from .losses import HingeLoss
from .perceptron import PerceptronState, run


def minimize(
    scorer: LinearScorer,
    encoded: Encoded,
    gold: Ints,
    *,
    C: float,
    squared: bool,
    tolerance: float,
    max_iterations: int,
    seed: int,
    n_jobs: int = -1,
    on_step: Callable[[Step], None] = lambda step: None,
) -> Solution:
    """Passes over the sequences in random order; a step tells the objective of the mean after a pass, and has no dual.

    It stops when ten passes lowered the objective by less than a tenth of tolerance * objective.
    """
    loss = HingeLoss(scorer, Chain(n_jobs), encoded, gold, squared)
    scale = C * len(encoded)
    state = PerceptronState.zero(scorer)
    steps: list[Step] = []
    for iteration in range(1, max_iterations + 1):
        run(
            scorer, encoded, gold, state, passes=1, margin=0.0, growth=1 / scale, squared=squared,
            seed=seed + iteration,
        )  # fmt: skip
        weights = state.average() * (2 * scale / (state.clock - 1))
        objective = penalty(weights, 0.0, 0.5) + C * loss(weights)
        steps.append(Step(iteration, objective, float("nan"), float("nan")))
        on_step(steps[-1])
        if reached(steps, tolerance):
            break
    return Solution(weights, tuple(steps), reached(steps, tolerance))
