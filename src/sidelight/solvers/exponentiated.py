"""CRFs by online exponentiated gradient on the dual, by marginals over parts (Collins et al. 2008).

    primal  P(w) = Σ_i [log Z(x_i; w) - w·F(x_i, y_i)] + l2 ‖w‖²
    dual    D(α) = Σ_i H(α_i) - ‖Fᵀ(y - μ(α))‖² / (4 l2)

Every sequence keeps a distribution over its outputs as scores θ_i over parts, and w = Fᵀ(y - μ) / (2 l2) at all times.
A visit moves θ_i towards the scores under w, which is the exponentiated-gradient step (Algorithm 5 of Chang 2011 is the
same step for the structural SVM), by a rate of the sequence's own that is halved until the dual rises; so the dual
never falls but by rounding, and P(w) - D(α) bounds the distance to the optimum. About twenty passes do what L-BFGS
needs more than a hundred gradients for. θ and μ are kept in single precision: gaps below about 1e-8 of the objective
are out of reach.
"""

from collections.abc import Callable

import numpy as np

from ..kernels.compiling import Floats, Ints, Longs, Singles
from ..scorers.linear import LinearScorer
from .certificate import Solution, Step, penalty, reached, residual
from .losses import LogLoss

# Dual scores start at this value for the gold labels and at 0 for the others: nearly all mass on the gold output, so
# that the first weights are small.
_GOLD_SCORE = 14.0
_FIRST_RATE = 0.5


def minimize(
    loss: LogLoss[LinearScorer],
    start: Floats,
    *,
    l2: float,
    tolerance: float,
    max_iterations: int,
    seed: int,
    on_step: Callable[[Step], None] = lambda step: None,
) -> Solution:
    """Passes over the sequences in random order until the duality gap is at most tolerance * objective.

    A non-zero `start` sets every θ_i to its scores there. The primal is worked out only when a pass gained little; the
    steps before have a dual only.
    """
    from ..kernels import exponentiated

    scorer, encoded, targets = loss.scorer, loss.encoded, loss.targets
    L, tokens, sequences = scorer.labels, encoded.tokens, len(encoded)
    theta, theta_pair = np.zeros((tokens, L), np.float32), np.zeros((sequences, L * L), np.float32)
    if start.any():
        scores = scorer.scores(encoded, start)
        theta[:] = scores.unary
        theta[encoded.offsets[:-1]] += scores.start.astype(np.float32)
        theta[encoded.offsets[1:] - 1] += scores.end.astype(np.float32)
        theta_pair[:] = scores.pair[0].ravel()
        del scores
    else:
        theta[np.arange(tokens), targets.labels] = _GOLD_SCORE
    mu, mu_pair = np.zeros_like(theta), np.zeros_like(theta_pair)
    mu[np.arange(tokens), targets.labels] = 1.0
    _count_pairs(mu_pair, encoded.offsets, targets.labels, L)
    free_pair, free_start, free_end, _ = scorer.tables(np.ones(scorer.size))
    w, pair, first, last = np.zeros(len(scorer.label)), np.zeros(L * L), np.zeros(L), np.zeros(L)
    entropy, rate = np.zeros(sequences), np.full(sequences, _FIRST_RATE)
    rng = np.random.default_rng(seed)

    def sweep(initial: bool) -> float:
        return exponentiated.dual_pass(
            rng.permutation(sequences), encoded.offsets, encoded.indptr, encoded.indices, encoded.values,
            scorer.pointer, scorer.label, w, pair, first, last, free_pair.ravel(), free_start, free_end,
            2 * l2, theta, theta_pair, mu, mu_pair, entropy, rate, initial,
        )  # fmt: skip

    sweep(True)
    steps: list[Step] = []
    for iteration in range(1, max_iterations + 1):
        gain = sweep(False)
        weights = scorer.join(w, pair, first, last)
        dual = float(entropy.sum()) - penalty(weights, 0.0, l2)
        if gain <= 0.5 * tolerance * abs(dual) or iteration == max_iterations:
            value, gradient = loss(weights)
            objective = value + penalty(weights, 0.0, l2)
            step = Step(iteration, objective, dual, residual(weights, gradient, 0.0, l2))
        else:
            step = Step(iteration, float("nan"), dual, float("nan"))
        steps.append(step)
        on_step(step)
        if reached(steps, tolerance):
            break
    return Solution(weights, tuple(steps), reached(steps, tolerance))


def _count_pairs(out: Singles, offsets: Longs, labels: Ints, L: int) -> None:
    """Label pairs of every sequence's gold output."""
    sequence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    follows = np.ones(len(labels), bool)
    follows[offsets[:-1]] = False
    at = np.flatnonzero(follows)
    np.add.at(out, (sequence[at], labels[at - 1].astype(np.int64) * L + labels[at]), 1.0)
