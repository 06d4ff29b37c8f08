"""k-best MIRA (Algorithm 3 of Chang 2011; Crammer et al. 2005; McDonald et al. 2005), with a cap on its steps.

For every sequence the weights move as little as they must for the margins over its k best outputs H under w₀:

    min  ‖w - w₀‖² / 2 + C Σ_{y' ∈ H} ξ_{y'}      with  w·(F(x, y) - F(x, y')) >= Δ(y, y') - ξ_{y'},  ξ >= 0

Δ is the loss of the structure, and C is multiplied by what the sequence counts. The dual has one variable in [0, C] for
each of the k outputs, and Hildreth's procedure finds them one after the other; C = inf is Algorithm 3 as printed. The
average of w over all visits is what is kept.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from ..kernels.compiling import Floats, Ints, Longs
from .perceptron import Examples, PerceptronState, Visits, compiled_weights, make_passes

# A margin missed by less than this is met.
_MET = 1e-4


def run(
    examples: Examples,
    state: PerceptronState,
    *,
    k: int,
    C: float,
    passes: int,
    seed: int,
    on_pass: Callable[[int, int], None] = lambda number, mistakes: None,
) -> None:
    """Make passes over the inputs in random order, changing `state`; stops after a pass that met all margins."""
    from ..kernels import mira

    chain = examples.chain()

    def visits() -> Visits:
        if chain is None:
            return partial(_visit, state, k, C)
        weights = compiled_weights(chain, examples.encoded, state)

        def compiled(some: Examples, order: Longs) -> tuple[int, int]:
            wrong, moves = mira.mira_pass(*(order, *some.arrays(chain), some.weights, k, C, *weights, state.clock))
            return wrong, moves

        return compiled

    make_passes(examples.parts, state, visits, passes=passes, seed=seed, on_pass=on_pass)


def _visit(state: PerceptronState, k: int, C: float, examples: Examples, order: Longs) -> tuple[int, int]:
    """One pass on any structure: the loop that compiled passes do for chains."""
    from ..kernels.mira import hildreth

    total, moves = 0.0, 0
    for number, index in enumerate(order.tolist()):
        one = examples.some(np.array([index]), state.weights)
        ranked = examples.structure.kbest(one.scores, k)
        outputs = [y for y, score in zip(ranked.outputs.values, ranked.scores[0], strict=True) if score > -np.inf]
        found = [float(one.wrong(y)[0]) for y in outputs]
        total += found[0]
        steps = [one.steps(np.zeros(1, np.int64), y).row(0) for y, loss in zip(outputs, found, strict=True) if loss > 0]
        losses = [loss for loss in found if loss > 0]
        rows = _dense(steps)
        gram = rows @ rows.T
        violation = np.array(losses) - np.array([step @ state.weights[at] for at, step in steps])
        if not (violation[np.diagonal(gram) > 0] > _MET).any():
            continue
        alpha = np.zeros(len(steps))
        hildreth(gram, violation, examples.weight(index) * C, alpha)
        for size, (at, step) in zip(alpha, steps, strict=True):
            state.weights[at] += size * step
            state.late[at] += (state.clock + number) * size * step
        moves += 1
    return round(total), moves


def _dense(steps: list[tuple[Ints, Floats]]) -> Floats:
    """Returns sparse rows as a matrix over the places that any of them has."""
    places = np.unique(np.concatenate([np.empty(0, np.int64), *(at for at, _ in steps)]))
    rows = np.zeros((len(steps), len(places)))
    for row, (at, step) in zip(rows, steps, strict=True):
        row[np.searchsorted(places, at)] = step
    return rows
