"""Posterior regularization: rules about expectations guide learning from unlabelled data (Ganchev et al. 2010)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from ...errors import DataError, NotSupported
from ...inference.norms import NormName, Slack
from ...inference.projection import Projection, project
from ...inference.rows import Rows
from ...kernels.compiling import Flags, Longs
from ...progress import progress
from ...rules.language import Rule
from ...structures.chain import Chain, ChainParts
from ..learner import require_number
from .expectations import Decode, Penalty
from .m_steps import Fitting, joined
from .projecting import Given, ProjectingLearner, ProjectionStep, Projector
from .wrapper import numbers_of


class PosteriorRegularization(ProjectingLearner):
    """Posterior regularization of a generative (HMM) or discriminative (CRF) model.

        maximise  L(w) - α min over q of [ KL(q ‖ p_w) + cost of slack ]      (Eq. 4, 5, 25 and 60)

    L is the likelihood of what is observed, and p_w is given that: see `wrappers.projecting`.

    Parameters
    ----------
    base : HMM, or a CRF of order 1.
    rules : statements about expectations; none make it EM (HMM) or leave the model as it is (CRF).
    norm, penalty, bound : the slack of the rules' bounds: `penalty` times its norm ("l1", "l2", "linf", "group") or
        half of its square ("squared"), or at most `bound` in norm; None for both: no slack. A rule's own weight is
        written rule.expected(penalty); a rule about the corpus counts for each of its sequences, and the slack of a
        share is a number of tokens per sequence, so that a penalty means the same for a share and for a count.
        "learned" gives every rule without its own weight the penalty that `CCM` would learn for it by counting on the
        labelled sequences: in the norm "l1" a rule that they often break then has little say. `few_labels` (section 8)
        is charged for, whatever the norm: `penalty` (1 if it is "learned") times its own.
    label_shares : whether to add bounds on the share of each label, two standard errors around that of the labelled
        sequences (`sidelight.label_shares`), beside rules and where these do not give the share themselves; not where
        the penalty is None.
    strength : α between 0 and 1: what the divergence counts, and with it the rules. What is observed, partial labels
        among it, counts in full.
    unlabeled_weight : what an unlabelled sequence, and the divergence of any, counts beside a labelled one; None: 1 for
        an HMM, which has to count words to know them, and for a CRF all sequences without full labels as much as all
        with labels. A sequence with partial labels counts as a labelled one, or as an unlabelled one where that is
        more.
    balance : β, the weight of the scores of the model learned from full labels alone in predictions; None: 0.7 for an
        HMM, but 0 where there are partial labels, and 0 for a CRF. Learning itself does not depend on it.
    iterations : rounds, each a projection and a step of the model: EM's M step for an HMM, one of L-BFGS for a CRF.
    batches : in each round the unlabelled sequences come in so many batches, and the model is fitted after each of them
        (incremental EM; a CRF takes a few steps of L-BFGS); for rules about each sequence.
    decode : "rules" predicts the best output under the rules, as `CCM` does, with the penalties above and without rules
        about the corpus, "model" by p alone, "projected" by the projection of p onto the rules. Norms that join rows
        (all but "l1" and "squared") project all sequences of a call together: each prediction depends on the others.
    tolerance : gap of the projection for each sequence, and the largest miss of a bound beyond its slack.
    classes : all labels, where y does not have them all; without any label, those that the rules name will do.
    guard : as for `CCM`; not where `fit` is given a model to begin with.
    random_state : of the first scores, where nothing is labelled and `fit` is given no model to begin with.
    verbose, n_jobs : as for `CRF`.

    Attributes
    ----------
    base_ : the model; start_ : the supervised model that predictions are mixed with, or None; rules_used_ : the rules
    with their penalties, and the label shares that were added; classes_ : labels; prices_, units_ : of the rules about
    the corpus; trace_ : a `ProjectionStep` for each round and for the final model; guard_ : as for `CCM`.
    """

    def __init__(
        self,
        base: Any,
        rules: Sequence[Rule] = (),
        *,
        norm: NormName = "l1",
        penalty: Penalty = "learned",
        bound: float | None = None,
        label_shares: bool = True,
        strength: float = 1.0,
        unlabeled_weight: float | None = None,
        balance: float | None = None,
        iterations: int = 10,
        batches: int = 1,
        decode: Decode = "rules",
        tolerance: float = 0.02,
        classes: Sequence[str] | None = None,
        guard: bool = True,
        random_state: int = 0,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.base = base
        self.rules = rules
        self.norm = norm
        self.penalty = penalty
        self.bound = bound
        self.label_shares = label_shares
        self.strength = strength
        self.unlabeled_weight = unlabeled_weight
        self.balance = balance
        self.iterations = iterations
        self.batches = batches
        self.decode = decode
        self.tolerance = tolerance
        self.classes = classes
        self.guard = guard
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _check(self) -> None:
        super()._check()
        if not isinstance(self.strength, Real) or not 0 < self.strength <= 1:
            raise DataError(f"strength is above 0 and at most 1, got {self.strength!r}")
        require_number(self, "batches", 1, whole=True)
        if self.batches > 1 and self._few_labels():
            raise NotSupported(f"{self._few_labels()[0].title!r} is about the corpus and cannot be kept batch by batch")

    def _strength(self) -> float:
        return self.strength

    def _temperatures(self) -> list[float]:
        return [1.0] * max(self.iterations, 1)

    def _rounds(
        self,
        fitting: Fitting,
        rows: Rows,
        projector: Projector,
        allowed: Flags | None,
        temperatures: list[float],
        last: float,
    ) -> tuple[Projection, list[ProjectionStep]]:
        if self.batches == 1 or not self.iterations:
            return super()._rounds(fitting, rows, projector, allowed, temperatures, last)
        if rows.joint:
            raise NotSupported(f"{rows.about_corpus[0].title!r} is about the corpus and cannot be kept batch by batch")
        if not self._slack().separates(rows):
            raise NotSupported(
                f"slack in the norm {self.norm} is that of all batches together; use a penalty in 'squared' or 'l1'"
            )
        pool = _Batches.cut(rows, min(self.batches, rows.sequences), self._slack(), self.tolerance, self.n_jobs)
        trace = []
        with progress(type(self).__name__, self.iterations, self.verbose) as tell:
            for iteration in range(1, self.iterations + 1):
                for number in range(len(pool.ranges)):
                    pool.project(number, fitting.scores(*pool.ranges[number]), allowed)
                    if iteration > 1 or number == len(pool.ranges) - 1:  # every batch has its distribution
                        fitting.update(self._targets(fitting, pool.parts(), lambda: self._given(fitting, allowed)))
                step = self._batch_step(iteration, fitting, pool, allowed)
                trace.append(step)
                tell(iteration, str(step))
        final, more = super()._rounds(fitting, rows, projector, allowed, [], last)
        return final, [*trace, replace(more[0], iteration=self.iterations + 1)]

    def _given(self, fitting: Fitting, allowed: Flags | None) -> Given:
        """The pool's distributions under the model, given what is observed."""
        scores = fitting.scores()
        return Given.of(self._structure, scores, scores if allowed is None else scores.restrict(allowed), fitting)

    def _batch_step(self, iteration: int, fitting: Fitting, pool: "_Batches", allowed: Flags | None) -> ProjectionStep:
        """Where a round ends: the objective at the distributions as they are, none of them newer than its batch."""
        scores, given = fitting.scores(), self._given(fitting, allowed)
        primal = float(given.log_partition.sum()) - scores.dot(pool.parts()) + sum(pool.rest)
        objective = fitting.loss() + given.loss + fitting.weights.rules * primal
        found = [one for one in pool.found if one is not None]
        slack = sum(float(np.abs(one.excess).sum()) for one in found)
        dual = primal - sum(one.gap for one in found)
        passes = sum(one.passes * len(one.parts.unary) for one in found) / len(scores.unary)
        return ProjectionStep(iteration, 1.0, objective, primal, dual, slack, passes)


@dataclass
class _Batches:
    """Batches of the pool, the projection of each, and its entropy and slack: what of F(q, w) does not change with w
    (Neal and Hinton 1998).
    """

    offsets: Longs
    ranges: list[tuple[int, int]]
    rows: list[Rows]
    options: dict[str, Any]
    found: list[Projection | None]
    rest: list[float]

    @classmethod
    def cut(cls, rows: Rows, count: int, slack: Slack, tolerance: float, n_jobs: int) -> "_Batches":
        """Ranges of about equally many sequences."""
        edges = np.linspace(0, rows.sequences, count + 1).astype(int).tolist()
        ranges = list(pairwise(edges))
        some = [rows.sequence_range(*one) for one in ranges]
        options = {"slack": slack, "tolerance": tolerance, "n_jobs": n_jobs}
        return cls(rows.offsets, ranges, some, options, [None] * count, [0.0] * count)

    def project(self, number: int, batch: ChainParts, allowed: Flags | None) -> None:
        """The E step of one batch, with the scores of its sequences; allowed: of all."""
        (first, last), before = self.ranges[number], self.found[number]
        a, b = self.offsets[first], self.offsets[last]
        restricted = batch if allowed is None else batch.restrict(allowed[a:b])
        log_z = Chain(self.options["n_jobs"]).marginals(restricted).log_partition
        start = None if before is None else before.prices
        with numbers_of(range(first, last)):
            now = project(restricted, self.rows[number], log_partition=log_z, start=start, **self.options)
        self.found[number], self.rest[number] = now, now.primal - float(log_z.sum()) + batch.dot(now.parts)

    def parts(self) -> ChainParts:
        """Expected parts of the whole pool."""
        return joined([one.parts for one in self.found if one is not None])
