"""k-best MIRA (Algorithm 3 of Chang 2011; Crammer et al. 2005; McDonald et al. 2005), with a cap on its steps.

For every sequence the weights move as little as they must for the margins over its k best outputs H under w₀:

    min  ‖w - w₀‖² / 2 + C Σ_{y' ∈ H} ξ_{y'}      with  w·(F(x, y) - F(x, y')) >= Δ(y, y') - ξ_{y'},  ξ >= 0

Δ is the Hamming loss. The dual has one variable in [0, C] for each of the k outputs, and Hildreth's procedure finds
them one after the other; C = inf is Algorithm 3 as printed. The average of w over all visits is what is kept.
"""

from collections.abc import Callable
from typing import Any

from ..features.encoded import Encoded
from ..kernels.compiling import Ints, Longs
from ..scorers.linear import LinearScorer
from .perceptron import PerceptronState, make_passes


def run(
    scorer: LinearScorer,
    encoded: Encoded,
    gold: Ints,
    state: PerceptronState,
    *,
    k: int,
    C: float,
    passes: int,
    seed: int,
    on_pass: Callable[[int, int], None] = lambda number, mistakes: None,
) -> None:
    """Make passes over the sequences in random order, changing `state`; stops after a pass that met all margins."""
    from ..kernels import mira

    def visit(order: Longs, data: Any, weights: Any) -> tuple[int, int]:
        wrong, moves = mira.mira_pass(*(order, *data, k, C, *weights))
        return wrong, moves

    make_passes(scorer, encoded, gold, state, visit, passes=passes, seed=seed, on_pass=on_pass)
