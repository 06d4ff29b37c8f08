"""CRFs and structural SVMs by online exponentiated gradient on the dual, by marginals over parts (Collins et al. 2008).

CRF:

    primal  P(w) = Σ_i [log Z(x_i; w) - w·F(x_i, y_i)] + l2 ‖w‖²
    dual    D(α) = Σ_i H(α_i) - ‖Fᵀ(y - μ(α))‖² / (4 l2)

Structural SVM with hinge loss (Algorithm 5 of Chang 2011, α divided by C):

    primal  P(w) = ‖w‖² / 2 + C Σ_i max_y [Δ(y_i, y) - w·(F(x_i, y_i) - F(x_i, y))]
    dual    D(α) = C Σ_i E_α[Δ] - ‖C Fᵀ(y - μ(α))‖² / 2

Every sequence keeps a distribution over its outputs as scores θ_i over parts, and w = Fᵀ(y - μ) / (2 l2), or
C Fᵀ(y - μ), at all times. The exponentiated-gradient step moves θ_i towards the scores under w, or adds them and Δ to
θ_i, by a rate of the sequence's own. Where the dual would fall, the step is refused, and made again with half of the
rate a little later; so the dual never falls but by rounding, and P(w) - D(α) bounds the distance to the optimum. For
CRFs about twenty passes do what L-BFGS needs more than a hundred gradients for; there θ and μ are kept in single
precision, and gaps below about 1e-8 of the objective are out of reach. For SVMs α ends on few outputs and θ grows
without end, which takes more passes, and double precision.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..errors import NotSupported
from ..features.encoded import Encoded
from ..kernels.compiling import Bytes, Floats, Ints, Longs, Singles
from ..kernels.lanes import Lanes, Meeting
from ..kernels.parallel import WORTH_TOKENS, available_cores, thread_count
from ..running.checkpoints import step
from ..running.forms import Like
from ..scorers.linear import LinearScorer
from ..structures.chain import Chain, ChainParts
from ..structures.known import Known
from .certificate import Solution, Step, penalty, reached, steps_form
from .losses import HingeLoss, LogLoss

# Dual scores start at this value for the gold labels and at 0 for the others: nearly all mass on the gold output, so
# that the first weights are small.
GOLD_SCORE = 14.0
_GOLD_SCORE_HINGE = 10.0
# Sequences whose gold labels are put there at a time, since that takes more memory than the labels.
_SEQUENCES = 1000
# η of the first pass.
FIRST_RATE = 0.5
_FIRST_RATE_HINGE = 2.0
# How sequences are visited, where there are fewer than this (see `pace`).
_PACES = (1000, 1, 1, 64), (np.inf, 4, 2, 1000)
# Visits of a refused sequence in a pass, at most.
_TRIES = 40

# What sweeps change of a dual point.
_CHANGING = ("theta", "theta_pair", "mu", "mu_pair", "share", "rate", "vector", "dense", "pair", "first", "last")


def suits(scorer: Any) -> bool:
    """Whether there are compiled passes for a scorer: it is one of label chains of order 1."""
    return hasattr(scorer, "as_chain") and scorer.as_chain() is scorer and scorer.order == 1


def dual_bytes(scorer: LinearScorer, encoded: Encoded) -> int:
    """Memory that the dual of a CRF takes, and with it the encoded sequences, which are all visited one by one."""
    return 8 * (encoded.tokens * scorer.labels + len(encoded) * len(scorer.pairs))


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
    """A CRF: passes over the sequences in random order until the duality gap is at most tolerance * objective.

    A non-zero `start` sets every θ_i to its scores there. The primal is worked out only when a pass gained little; the
    steps before have a dual only.
    """
    scorer, encoded, gold = loss.scorer, loss.encoded.loaded(), loss.known.outputs.values
    dual = _Dual.at_gold(scorer, encoded, gold, scale=1.0, l2=l2, hinge=False, n_jobs=loss.structure.n_jobs)
    if start.any():
        dual.take_scores(start)

    def primal(weights: Floats) -> float:
        return loss.value(weights) + penalty(weights, 0.0, l2)

    return ascend(dual, primal, tolerance, max_iterations, seed, on_step)


def minimize_hinge(
    scorer: LinearScorer,
    encoded: Encoded,
    known: Known[ChainParts],
    *,
    C: float,
    tolerance: float,
    max_iterations: int,
    seed: int,
    n_jobs: int = -1,
    on_step: Callable[[Step], None] = lambda step: None,
) -> Solution:
    """A structural SVM with hinge loss and chains of order one: passes as for `minimize`, and the same certificate."""
    if scorer.order != 1:
        raise NotSupported("exponentiated gradient needs chains of order 1; use cutting planes for order 2")
    loss = HingeLoss(scorer, Chain(n_jobs), encoded, known)
    dual = _Dual.at_gold(scorer, encoded, known.outputs.values, scale=C, l2=0.5, hinge=True, n_jobs=n_jobs)

    def primal(weights: Floats) -> float:
        return C * loss(weights) + penalty(weights, 0.0, 0.5)

    return ascend(dual, primal, tolerance, max_iterations, seed, on_step)


@dataclass(frozen=True)
class _Dual:
    """The dual point and the weights that belong to it, changed in place.

    D = scale * Σ_i share_i - l2 ‖w‖²; theta, mu, and what else the kernel takes, as it says. vector: the weights; those
    of a pass that have tables of their own (dense, pair, first, last) are brought there by `weights`.
    """

    scorer: LinearScorer
    encoded: Encoded
    gold: Ints
    scale: float
    l2: float
    kept: Longs
    theta: Singles | Floats
    theta_pair: Singles | Floats
    mu: Singles | Floats
    mu_pair: Singles | Floats
    share: Floats
    rate: Floats
    vector: Floats
    dense: Floats
    pair: Floats
    first: Floats
    last: Floats
    free: tuple[Bytes, Floats, Floats, Floats]
    lanes: Lanes

    @classmethod
    def at_gold(
        cls, scorer: LinearScorer, encoded: Encoded, gold: Ints, *, scale: float, l2: float, hinge: bool, n_jobs: int
    ) -> "_Dual":
        """Nearly all mass on the gold outputs; the weights are zero and know of none of it yet."""
        from ..kernels.row_products import bits_of

        L, tokens, sequences = scorer.labels, encoded.tokens, len(encoded)
        precision = np.float64 if hinge else np.float32
        # Label pairs without a weight keep θ = 0; for the hinge loss, whose θ are shifted, that is no fixed point.
        kept = np.arange(L * L) if hinge else scorer.pairs
        theta, theta_pair = np.zeros((tokens, L), precision), np.zeros((sequences, len(kept)), precision)
        mu, mu_pair = np.zeros_like(theta), np.zeros_like(theta_pair)
        for first in range(0, sequences, _SEQUENCES):
            offsets = encoded.offsets[first : first + _SEQUENCES + 1]
            here = np.arange(offsets[0], offsets[-1])
            theta[here, gold[here]] = _GOLD_SCORE_HINGE if hinge else GOLD_SCORE
            mu[here, gold[here]] = 1.0
            _count_pairs(mu_pair[first:], offsets - offsets[0], gold[here], L, kept)
        ones = scorer.prepare(np.ones(scorer.size))
        free = bits_of(ones.dense), ones.pair.ravel()[kept], ones.start, ones.end
        threads = min(thread_count(n_jobs), available_cores(), 2)  # one for the weights, one for marginals
        return cls(
            scorer, encoded, gold if hinge else np.empty(0, np.int32), scale, l2, kept,
            theta, theta_pair, mu, mu_pair, np.zeros(sequences),
            np.full(sequences, _FIRST_RATE_HINGE if hinge else FIRST_RATE),
            np.zeros(scorer.size), np.zeros_like(ones.dense), np.zeros(len(kept)),
            np.zeros(L), np.zeros(L), free, Lanes(threads),
        )  # fmt: skip

    def take_scores(self, start: Floats) -> None:
        """Set every θ_i to its scores under these weights."""
        offsets, scores = self.encoded.offsets, self.scorer.scores(self.encoded, start)
        self.theta[:] = scores.unary
        self.theta[offsets[:-1]] += scores.start.astype(np.float32)
        self.theta[offsets[1:] - 1] += scores.end.astype(np.float32)
        self.theta_pair[:] = scores.pair[0].ravel()[self.kept]

    def sweep(self, order: Longs, initial: bool) -> float:
        """Visit the sequences in this order; the gain of D.

        Those that are refused are visited again with the next stretch, with half of the rate, and after the last one
        until they are accepted, which a small rate is.
        """
        size, lag, stretch = pace(len(order))
        gain, refused, postponed = 0.0, np.empty(0, np.int64), []
        for begin in range(0, len(order), stretch):
            here = np.concatenate((refused, order[begin : begin + stretch]))
            more, refused, later = self._visit(here, size, lag, initial, False)
            gain += more
            postponed.append(later)
        more, later = self._persist(refused, size, lag, initial, False)
        alone = np.concatenate((*postponed, later))
        return self.scale * (gain + more + self._persist(alone, 1, 1, initial, True)[0])

    def _persist(self, order: Longs, size: int, lag: int, initial: bool, log_space: bool) -> tuple[float, Longs]:
        """`_visit` again those that were refused, with their smaller rates; the gain, and who needs log space."""
        gain, postponed = 0.0, [np.empty(0, np.int64)]
        for _ in range(_TRIES):
            if not len(order):
                break
            more, order, later = self._visit(order, size, lag, initial, log_space)
            gain += more
            postponed.append(later)
        return gain, np.concatenate(postponed)

    def _visit(self, order: Longs, size: int, lag: int, initial: bool, log_space: bool) -> tuple[float, Longs, Longs]:
        """Visit sequences once, about `size` at a time; what is gained, who was refused and who needs log space."""
        from ..kernels import chain, exponentiated

        encoded, L = self.encoded, self.scorer.labels
        lengths = encoded.offsets[order + 1] - encoded.offsets[order]
        rows = exponentiated.Rows(
            encoded.offsets, encoded.indptr, encoded.indices, encoded.values, self.scorer.spans, self.scorer.label
        )  # fmt: skip
        weights = exponentiated.Weights(self.attributes, self.dense, self.pair, self.first, self.last, *self.free)
        dual = exponentiated.Dual(
            self.kept, self.theta, self.theta_pair, self.mu, self.mu_pair, self.share, self.rate, self.gold
        )
        visits = exponentiated.visits(order, lengths, _groups(lengths, size), lag, L, len(self.kept), self.theta.dtype)

        def run(number: int, lanes: int, meeting: Meeting) -> float:
            role = exponentiated.BOTH if lanes == 1 else number
            space, log_partition = exponentiated.space(int(lengths.max()), L), np.zeros(1)
            while True:
                why = exponentiated.visit(
                    role, lag, initial, 2 * self.l2 / self.scale, rows, weights, dual, visits, space, log_space,
                    float(log_partition[0]), meeting.counter,
                )  # fmt: skip
                if why == exponentiated.DONE:
                    return float(space.gain[0])
                if why == exponentiated.WAITS:
                    meeting.rest()
                else:
                    slot = space.state[exponentiated.STEP] % (lag + 1)
                    here = np.array([0, lengths[space.state[exponentiated.AT]]])
                    chain.log_forward_backwards(
                        0, 1, here, visits.u[slot], space.arcs, space.types, space.zeros, space.zeros,
                        np.zeros(1, bool), log_partition, visits.gamma[slot], space.sums, space.nowhere,
                    )  # fmt: skip

        tokens = int(lengths.sum())
        gain = self.lanes.run(run, tokens) if lag > 1 and tokens >= WORTH_TOKENS else run(0, 1, Meeting(1))
        refused, later = (order[visits.found == what] for what in (exponentiated.REFUSED, exponentiated.POSTPONED))
        return gain, refused, later

    def state(self) -> dict[str, Any]:
        """Returns what sweeps change."""
        return {name: getattr(self, name) for name in _CHANGING}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` gave."""
        for name in _CHANGING:
            getattr(self, name)[:] = state[name]

    @property
    def attributes(self) -> Floats:
        """The weights of attributes: those of dense rows are old where sweeps have changed these."""
        return self.scorer.attribute_weights(self.vector)

    def weights(self) -> Floats:
        """The weight vector that belongs to the dual point: always the same array."""
        from ..kernels import linear

        pair = np.zeros(self.scorer.labels**2)
        pair[self.kept] = self.pair
        attributes = self.attributes
        linear.collect(self.scorer.pointer, self.scorer.label, self.dense, self.scorer.heavy, attributes)
        self.vector[len(attributes) :] = self.scorer.join(attributes[:0], pair, self.first, self.last)
        return self.vector

    def value(self) -> float:
        """D."""
        return self.scale * float(self.share.sum()) - penalty(self.weights(), 0.0, self.l2)


def pace(sequences: int) -> tuple[int, int, int]:
    """Sequences of a group, by how many groups weights lag behind, and after how many sequences refused ones return.

    A lag costs passes where sequences are few, and threads are of no use without one.
    """
    return next((size, lag, stretch) for most, size, lag, stretch in _PACES if sequences < most)


def _groups(lengths: Longs, size: int) -> Longs:
    """Where groups of about equally many tokens begin, on average of so many sequences; and the end."""
    if size == 1:
        return np.arange(len(lengths) + 1)
    ends = np.cumsum(lengths)
    cuts = np.arange(1, -(-len(lengths) // size)) * (size * ends[-1] / len(lengths))
    return np.unique(np.concatenate(([0], np.searchsorted(ends, cuts), [len(lengths)])))


class Dual(Protocol):
    """A dual point that passes over its sequences raise."""

    @property
    def share(self) -> Floats:
        """What each sequence adds to the dual."""
        ...

    def sweep(self, order: Longs, initial: bool) -> float:
        """Visit the sequences in this order; what the dual gains, except in the initial pass."""
        ...

    def value(self) -> float:
        """Returns the dual objective."""
        ...

    def weights(self) -> Floats:
        """Returns the weights that belong to the point, always in the same array."""
        ...

    def state(self) -> dict[str, Any]:
        """Returns what sweeps change."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` gave."""
        ...


def ascend(
    dual: Dual,
    primal: Callable[[Floats], float],
    tolerance: float,
    max_iterations: int,
    seed: int,
    on_step: Callable[[Step], None],
) -> Solution:
    """Raise the dual pass by pass; `primal` gives the objective of weights."""
    sequences, rng, steps = len(dual.share), np.random.default_rng(seed), list[Step]()
    with step("eg") as saved:
        if saved.done:
            solution: Solution = saved.found(Solution.form(len(dual.weights())))
            return solution
        before = saved.state(lambda: (np.random.Generator, steps_form(), Like(dual.state())))
        if before is None:
            dual.sweep(rng.permutation(sequences), True)
        else:
            rng, steps = before[0], list(before[1])
            dual.restore(before[2])
        for iteration in range(len(steps) + 1, max_iterations + 1):
            gain = dual.sweep(rng.permutation(sequences), False)
            bound = dual.value()
            due = gain <= 0.5 * tolerance * abs(bound) or iteration == max_iterations
            steps.append(Step(iteration, primal(dual.weights()) if due else float("nan"), bound, float("nan")))
            on_step(steps[-1])
            if reached(steps, tolerance) or saved.save((rng, steps, dual.state())):
                break
        return saved.finish(Solution(dual.weights(), tuple(steps), reached(steps, tolerance)))


def _count_pairs(out: Singles | Floats, offsets: Longs, labels: Ints, L: int, kept: Longs) -> None:
    """Label pairs of every sequence's gold output, those at the flat positions `kept`."""
    column = np.full(L * L, -1)
    column[kept] = np.arange(len(kept))
    sequence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    follows = np.ones(len(labels), bool)
    follows[offsets[:-1]] = False
    at = np.flatnonzero(follows)
    pairs = column[labels[at - 1].astype(np.int64) * L + labels[at]]
    there = pairs >= 0
    np.add.at(out, (sequence[at[there]], pairs[there]), 1.0)
