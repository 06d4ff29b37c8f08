"""Semi-Markov CRFs by online exponentiated gradient on the dual, by marginals over parts (Collins et al. 2008).

    primal  P(w) = Σ_i [log Z(x_i; w) - w·F(x_i, y_i)] + l2 ‖w‖²
    dual    D(α) = Σ_i H(α_i) - ‖Fᵀ(y - μ(α))‖² / (4 l2)

The method, and its certificate, are those of `exponentiated`; the parts are tokens in segments, their first and last
tokens, pairs of neighbouring labels, and lengths. One thread does it, and a result depends on no other.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import DataError
from ..features.encoded import Encoded
from ..features.segments import SegmentEncoded
from ..kernels.compiling import Bytes, Floats, Ints, Longs, Singles
from ..scorers.linear import LinearScorer
from ..scorers.segments import SegmentScorer
from ..structures.segmentation import Segments
from . import lbfgs
from .certificate import Solution, Step, penalty
from .exponentiated import FIRST_RATE, GOLD_SCORE, ascend
from .losses import LogLoss

_PLACES = ("token", "first", "last")
# What sweeps change of a dual point.
_CHANGING = ("theta", "theta_table", "mu", "mu_table", "share", "rate", "attributes", "dense", "tables")


def suits(scorer: Any) -> bool:
    """Whether a scorer is one of segments, of two labels at least: one alone has segments of any length."""
    return isinstance(scorer, SegmentScorer) and scorer.labels > 1


def dual_bytes(scorer: SegmentScorer, encoded: Any) -> int:
    """Memory that the dual takes, and the rows of attributes that it is visited with."""
    tables = scorer.labels * (scorer.labels + int(scorer.buckets.max()) + 1)
    rows = sum(one.entries * (12 if len(one.values) else 4) for one in (encoded, encoded.first, encoded.last))
    return int(8 * (3 * encoded.tokens * scorer.labels + len(encoded) * tables) + rows)


def minimize(
    loss: LogLoss[SegmentScorer],
    start: Floats,
    *,
    l2: float,
    tolerance: float,
    max_iterations: int,
    seed: int,
    on_step: Callable[[Step], None] = lambda step: None,
    passes: int | None = None,
) -> Solution:
    """Passes over the sequences in random order until the duality gap is at most tolerance * objective.

    A non-zero `start` sets every θ_i to its scores there, which is an error where these are so large that marginals
    would be no numbers. The primal is worked out only when a pass gained little; the steps before have a dual only.
    After so many `passes`, where that is a number, L-BFGS goes on from the weights.
    """
    encoded: Any = loss.encoded
    dual = _SegmentDual.at_gold(loss.scorer, encoded, loss.known.outputs.values, l2)
    if start.any():
        dual.take_scores(encoded, start)

    def primal(weights: Floats) -> float:
        try:
            return loss.value(weights) + penalty(weights, 0.0, l2)
        except DataError as error:
            raise DataError(
                "scores under the weights of solver 'eg' grew too large for exact probabilities; scale the features "
                "down, raise l2, or use solver='lbfgs'"
            ) from error

    made = max_iterations if passes is None else min(passes, max_iterations)
    found = ascend(dual, primal, tolerance, made, seed, on_step)
    if found.converged or made == max_iterations or len(found.steps) < made:  # fewer where it was asked to stop
        return found

    def after(step: Step) -> None:
        on_step(replace(step, iteration=made + step.iteration))

    rest = lbfgs.minimize(
        loss, found.weights.copy(), l1=0.0, l2=l2, tolerance=tolerance, max_iterations=max_iterations - made,
        on_step=after,
    )  # fmt: skip
    more = tuple(replace(step, iteration=made + step.iteration) for step in rest.steps)
    return Solution(rest.weights, found.steps + more, rest.converged, went_on="lbfgs")


@dataclass(frozen=True)
class _SegmentDual:
    """The dual point and the weights that belong to it, changed in place; arrays as the kernel says.

    D = Σ_i share_i - l2 ‖w‖²; rows: the attributes of tokens, of first and of last tokens as those of three times as
    many tokens, and joint: which weights these have; attributes, dense: their weights, tables: the others; vector: all
    of them, brought there by `weights`.
    """

    scorer: SegmentScorer
    offsets: Longs
    rows: Encoded
    joint: LinearScorer
    l2: float
    kept: Longs
    theta: Singles
    theta_table: Singles
    mu: Singles
    mu_table: Singles
    share: Floats
    rate: Floats
    vector: Floats
    attributes: Floats
    dense: Floats
    free: Bytes
    tables: Floats

    @classmethod
    def at_gold(cls, scorer: SegmentScorer, encoded: SegmentEncoded, gold: Ints, l2: float) -> "_SegmentDual":
        """Nearly all mass on the gold outputs; the weights are zero and know of none of it yet."""
        from ..kernels.row_products import bits_of

        L, pairs = scorer.labels, scorer.token.pairs
        kept = pairs[pairs // L != pairs % L]
        theta, mu = (np.zeros((3, encoded.tokens, L), np.float32) for _ in range(2))
        cut = Segments.of(encoded.offsets, gold)
        mu[0, np.arange(len(gold)), gold >> 1] = 1.0
        mu[1, cut.first, cut.labels] = 1.0
        mu[2, cut.last, cut.labels] = 1.0
        theta[0] = GOLD_SCORE * mu[0]
        buckets = int(scorer.buckets.max()) + 1
        mu_table = np.zeros((len(encoded), len(kept) + buckets * L), np.float32)
        sequence = np.searchsorted(cut.heads, np.arange(len(cut.first)), side="right") - 1
        after = cut.followers
        column = np.full(L * L, -1)
        column[kept] = np.arange(len(kept))
        met = column[cut.labels[after - 1] * L + cut.labels[after]]
        np.add.at(mu_table, (sequence[after][met >= 0], met[met >= 0]), 1.0)
        if buckets:
            np.add.at(mu_table, (sequence, len(kept) + scorer.buckets[cut.lengths - 1] * L + cut.labels), 1.0)
        rows, joint = _joined_rows(encoded), _joined_scorer(scorer)
        ones = joint.prepare(np.ones(joint.size)).dense
        return cls(
            scorer, encoded.offsets, rows, joint, l2, kept, theta, np.zeros_like(mu_table), mu, mu_table,
            np.zeros(len(encoded)), np.full(len(encoded), FIRST_RATE), np.zeros(scorer.size), np.zeros(joint.size),
            np.zeros_like(ones), bits_of(ones), np.zeros(3 * L + mu_table.shape[1]),
        )  # fmt: skip

    def take_scores(self, encoded: SegmentEncoded, start: Floats) -> None:
        """Set every θ_i to its scores under these weights."""
        offsets, scores = self.offsets, self.scorer.scores(encoded, start)
        self.theta[0], self.theta[1], self.theta[2] = scores.unary, scores.opens, scores.closes
        self.theta[1, offsets[:-1]] += scores.start.astype(np.float32)
        self.theta[2, offsets[1:] - 1] += scores.end.astype(np.float32)
        self.theta_table[:, : len(self.kept)] = scores.pair.ravel()[self.kept]
        lengths = self.scorer.weights_of("length", start).reshape(self.scorer.labels, -1)
        self.theta_table[:, len(self.kept) :] = lengths.T.ravel()

    def sweep(self, order: Longs, initial: bool) -> float:
        """Visit the sequences in this order; the gain of D."""
        from ..kernels import scaled_segments, segment_ascent, segmentation

        L, T, M, longest = self.scorer.labels, self.mu_table.shape[1], self.scorer.longest, np.diff(self.offsets).max()
        rows, joint = self.rows, self.joint
        # All zero: the first pass takes no scores, and multiplies what is there by zero.
        shapes = [(3, longest, L)] * 4 + [(T,), (T,), (3 * L + T,), (L, L), (M, L), (L, L), (M, L)]
        proposal = segment_ascent.Proposal(*(np.zeros(shape) for shape in shapes))
        state, log_partition, gain = np.array([-1, 0]), np.zeros(1), np.zeros(1)
        arguments = (
            order, self.offsets, initial, 2 * self.l2,
            segment_ascent.Rows(
                rows.indptr, rows.indices, rows.values, joint.spans, joint.label, self.attributes, self.dense, self.free
            ),
            segment_ascent.Tables(self.tables, self._free_tables, self.kept, self.scorer.buckets),
            segment_ascent.Dual(self.theta, self.theta_table, self.mu, self.mu_table, self.share, self.rate),
            proposal, state, log_partition, gain,
        )  # fmt: skip
        (u, opens, closes), (on_token, on_open, on_close), nothing = proposal.u, proposal.gamma, np.empty(0)
        while n := segment_ascent.step(*arguments):
            trusted = np.zeros(1, bool)
            scores = np.array([0, n]), u[:n], opens[:n], closes[:n], proposal.pair, proposal.length[:n]
            found = nothing, on_token[:n], on_open[:n], on_close[:n], proposal.on_pair, proposal.on_length
            scaled_segments.forward_backward(0, 1, *scores, trusted, log_partition, *found)
            if not trusted[0]:
                segmentation.log_forward_backwards(0, 1, *scores, trusted, log_partition, *found)
            if initial and not np.isfinite(log_partition[0]):
                raise DataError(
                    "the scores under the weights to start from are too large for solver 'eg'; use solver='lbfgs', or "
                    "warm_start=False"
                )
        return float(gain[0])

    @property
    def _free_tables(self) -> Floats:
        """Which entries of `tables` are weights."""
        token, L = self.scorer.token, self.scorer.labels
        free = np.zeros(len(self.tables))
        free[token.starts], free[L + token.ends] = 1.0, 1.0
        free[2 * L + token.pairs[token.pairs // L == token.pairs % L] % L] = 1.0
        free[3 * L :] = 1.0
        return free

    def state(self) -> dict[str, Any]:
        """Returns what sweeps change."""
        return {name: getattr(self, name) for name in _CHANGING}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` gave."""
        for name in _CHANGING:
            getattr(self, name)[:] = state[name]

    def weights(self) -> Floats:
        """The weight vector that belongs to the dual point: always the same array."""
        from ..kernels import linear

        scorer, L = self.scorer, self.scorer.labels
        linear.collect(self.joint.pointer, self.joint.label, self.dense, self.joint.heavy, self.attributes)
        begin = 0
        for place in _PLACES:
            own: Floats = getattr(scorer, place).attribute_weights(scorer.weights_of(place, self.vector))
            own[:] = self.attributes[begin : begin + len(own)]
            begin += len(own)
        start, end, step = self.tables[:L], self.tables[L : 2 * L], self.tables[2 * L : 3 * L]
        pair = np.diag(step)
        pair.ravel()[self.kept] = self.tables[3 * L : 3 * L + len(self.kept)]
        own, attributes = scorer.weights_of("token", self.vector), len(scorer.token.label)
        own[attributes:] = scorer.token.join(own[:0], pair, start, end)
        lengths = self.tables[3 * L + len(self.kept) :].reshape(-1, L)
        scorer.weights_of("length", self.vector)[:] = lengths.T.ravel()
        return self.vector

    def value(self) -> float:
        """Returns the dual objective D."""
        return float(self.share.sum()) - penalty(self.weights(), 0.0, self.l2)


def _joined_rows(encoded: SegmentEncoded) -> Encoded:
    """The rows of the three places one after the other, each with attributes of its own."""
    each = (Encoded.sequences(encoded, 0, len(encoded)), encoded.first, encoded.last)
    indptr, indices, values, entries, attributes = [np.zeros(1, np.int64)], [], [], 0, 0
    weighed = any(len(one.values) for one in each)
    for one in each:
        at = slice(one.indptr[0], one.indptr[-1])
        indptr.append(one.indptr[1:] - one.indptr[0] + entries)
        indices.append(one.indices[at] + np.int32(attributes))
        if weighed:
            values.append(one.values[at] if len(one.values) else np.ones(at.stop - at.start))
        entries, attributes = entries + len(indices[-1]), attributes + one.attributes
    offsets = np.array([0, 3 * encoded.tokens])
    joined = np.concatenate(values) if weighed else np.empty(0)
    return Encoded(offsets, np.concatenate(indptr), np.concatenate(indices), joined, attributes)


def _joined_scorer(scorer: SegmentScorer) -> LinearScorer:
    """Which weights the attributes of the three places have."""
    each = [getattr(scorer, place) for place in _PLACES]
    sizes = np.concatenate([np.diff(one.pointer) for one in each])
    pointer, nothing = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), np.empty(0, np.int64)
    label = np.concatenate([one.label for one in each])
    return LinearScorer(scorer.labels, 1, pointer, label, nothing, nothing, nothing, nothing)
