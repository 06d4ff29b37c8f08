"""The averaged structured perceptron (Algorithm 2 of Chang 2011; averaging of Collins 2002).

    w ← w + F(x, y) - F(x, argmax θ)      and the average of w over all visits is what is kept.

With a margin the argmax is taken over θ + margin * Δ, Δ the Hamming loss: the large-margin structured perceptron of
Fernandes and Brefeld 2011.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..features.encoded import Encoded
from ..kernels.compiling import Floats, Ints, Longs
from ..scorers.linear import LinearScorer


@dataclass
class PerceptronState:
    """What the next pass goes on from: weights, their time-weighted changes, and visits so far plus one."""

    weights: Floats
    late: Floats
    clock: float = 1.0
    mistakes: list[int] = field(default_factory=list)

    @classmethod
    def zero(cls, scorer: LinearScorer) -> "PerceptronState":
        """Before the first visit."""
        return cls(np.zeros(scorer.size), np.zeros(scorer.size))

    def copy(self) -> "PerceptronState":
        """The same state, to go on from without changing this one."""
        return PerceptronState(self.weights.copy(), self.late.copy(), self.clock, list(self.mistakes))

    def average(self) -> Floats:
        """Mean of the weights over all visits, the zero before the first one included."""
        return self.weights - self.late / self.clock


# Visits sequences in an order, given data and weights: wrong tokens, and a number that is 0 if no weight moved.
Visits = Callable[[Longs, Any, Any], tuple[int, int]]


def make_passes(
    scorer: LinearScorer,
    encoded: Encoded,
    gold: Ints,
    state: PerceptronState,
    visit: Visits,
    *,
    passes: int,
    seed: int,
    on_pass: Callable[[int, int], None],
) -> None:
    """Passes over the sequences in random order, changing `state`; stops after one in which no weight moved."""
    parts = scorer.scores(encoded.sequences(0, 0), state.weights)
    data = (
        encoded.offsets, encoded.indptr, encoded.indices, encoded.values, scorer.pointer, scorer.label, scorer.places,
        gold,
    )  # fmt: skip
    weights = (state.weights, state.late, parts.arcs(), parts.start, parts.end)
    rng = np.random.default_rng(seed)
    for number in range(1, passes + 1):
        wrong, moves = visit(rng.permutation(len(encoded)), data, (*weights, state.clock))
        state.clock += len(encoded)
        state.mistakes.append(wrong)
        on_pass(number, wrong)
        if moves == 0:
            break


def run(
    scorer: LinearScorer,
    encoded: Encoded,
    gold: Ints,
    state: PerceptronState,
    *,
    passes: int,
    margin: float,
    growth: float = 0.0,
    squared: bool = False,
    sums: Floats | None = None,
    seed: int,
    on_pass: Callable[[int, int], None] = lambda number, mistakes: None,
) -> None:
    """Make passes over the sequences in random order, changing `state`; stops after a pass without mistakes.

    The margin grows by `growth` with every visit, `squared` chooses the steps of the squared hinge loss, and `sums`
    adds up the steps of each sequence: for `solvers.subgradient`.
    """
    from ..kernels import perceptron

    added = np.empty((0, 2)) if sums is None else sums

    def visit(order: Longs, data: Any, weights: Any) -> tuple[int, int]:
        wrong = perceptron.perceptron_pass(*(order, *data, margin, growth, squared, *weights, added))
        return wrong, wrong

    make_passes(scorer, encoded, gold, state, visit, passes=passes, seed=seed, on_pass=on_pass)
