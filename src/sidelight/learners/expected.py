"""Base learners fitted to labelled sequences and to expected parts of others: the M step of EM and its relatives.

A generative learner counts (Eq. 15 of Ganchev et al. 2010); a discriminative one takes L-BFGS steps on the expected
log-loss (Eq. 30 there). An unlabelled sequence counts `weight` times.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone

from ..errors import DataError, NotSupported
from ..features.encoded import Encoded
from ..features.templates import sequence_offsets
from ..kernels.compiling import Floats
from ..solvers import lbfgs
from ..solvers.certificate import penalty
from ..solvers.losses import ExpectedLoss, LogLoss
from ..structures.chain import Chain, ChainParts, indicator
from ..supervision import encode_targets
from .crf import CRF
from .linear import Prepared
from .mixture import fit_on


class Fitting(Protocol):
    """A base learner between its updates; `generative`: whether its scores are log p(x, y), not only log p(y|x)."""

    learner: Any
    generative: bool

    def scores(self) -> ChainParts:
        """Scores of the pool."""
        ...

    def update(self, parts: ChainParts) -> None:
        """Fit to the labelled sequences and the pool's expected parts."""
        ...

    def loss(self) -> float:
        """What the labelled sequences and the prior add to the objective: -log p(labelled) - log prior."""
        ...


def begin(
    base: Any, X: Sequence[Any], y: Sequence[Any], pool: Sequence[Any], classes: list[str], **options: Any
) -> "Fitting":
    """The base learner fitted to the labelled sequences, ready to learn from the pool."""
    if hasattr(base, "fit_expected"):
        return Generative(base, X, y, pool, classes, **options)
    if isinstance(base, CRF):
        return Discriminative(base, X, y, pool, classes, **options)
    raise NotSupported(f"{type(base).__name__} cannot learn from expected parts; use HMM or CRF as base")


class Generative:
    """Counts of labelled sequences and expected counts of the pool."""

    generative = True

    def __init__(
        self,
        base: Any,
        X: Sequence[Any],
        y: Sequence[Any],
        pool: Sequence[Any],
        classes: list[str],
        *,
        weight: float,
        seed: int,
        n_jobs: int,
        spread: float | None = None,
        **_: Any,
    ) -> None:
        self._base, self._X, self._pool, self._classes, self._weight = base, X, pool, classes, weight
        self._seed, self._spread = seed, spread
        self._structure = Chain(n_jobs)
        self._labels = encode_targets(y, [len(x) for x in X], classes).labels
        self.learner: Any = fit_on(base, X, y, classes) if len(X) else None
        self._encoded: list[Encoded] = []  # of the labelled sequences, the pool, and both

    def scores(self) -> ChainParts:
        """Scores of the pool; at random where nothing is labelled and nothing was learned yet."""
        if self.learner is not None:
            found: ChainParts = self.learner.scores(self._encoded[1] if self._encoded else self._pool)
            return found
        rng = np.random.default_rng(self._seed)
        if self._spread is not None:
            first: ChainParts = (
                clone(self._base).fit_random(self._pool, self._classes, self._spread, rng).scores(self._pool)
            )
            return first
        offsets, labels = sequence_offsets(self._pool), len(self._classes)
        noise = rng.uniform(size=(int(offsets[-1]), labels))
        return ChainParts.of(offsets, noise, np.zeros((labels, labels)))

    def update(self, parts: ChainParts) -> None:
        """Smoothed shares of the counts."""
        parts = _joined(self._known(), parts, self._weight)
        if self._encoded:
            self.learner.update_expected(self._encoded[2], parts)
            return
        everything = [*self._X, *self._pool]
        self.learner = clone(self._base).fit_expected(everything, parts, self._classes)
        self._encoded = [self.learner.encode(some) for some in (self._X, self._pool, everything)]

    def _known(self) -> ChainParts:
        return indicator(sequence_offsets(self._X), self._labels, len(self._classes), 1)

    def loss(self) -> float:
        """-Σ log p(x, y) - log prior; 0 before anything was learned."""
        if self.learner is None:
            return 0.0
        known = self.learner.scores(self._encoded[0] if self._encoded else self._X)
        return -float(self.learner.log_prior()) - float(self._structure.score(known, self._labels).sum())


class Discriminative:
    """L-BFGS steps on the log-loss of labelled sequences and the expected one of the pool."""

    generative = False

    def __init__(
        self,
        base: Any,
        X: Sequence[Any],
        y: Sequence[Any],
        pool: Sequence[Any],
        classes: list[str],
        *,
        weight: float,
        steps: int,
        n_jobs: int,
        **_: Any,
    ) -> None:
        if base.order != 1:
            raise NotSupported(
                f"{type(base).__name__} of order {base.order} cannot learn from expected parts; use order 1"
            )
        base._check_numbers()
        self.learner = clone(base).set_params(classes=list(classes))
        everything = [*X, *pool]
        targets = encode_targets([*y, *([None] * len(pool))], [len(x) for x in everything], classes)
        self._prepared: Prepared = self.learner._lay_out(
            self.learner._choose_encoder(everything), everything, targets, list(classes)
        )
        self._structure, self._weight, self._steps = Chain(n_jobs), weight, steps
        encoded, scorer = self._prepared.encoded, self._prepared.scorer
        self._pool = encoded.sequences(len(X), len(everything))
        self._known: LogLoss[Any] | None = None
        self.learner._adopt(self._prepared)
        self.learner.weights_ = np.zeros(scorer.size)
        if len(X):
            known = encode_targets(y, [len(x) for x in X], classes)
            self._known = LogLoss(scorer, self._structure, encoded.sequences(0, len(X)), known)
            self._finish(
                self.learner._solve(self._solver(known), self._known, self.learner.weights_, lambda step: None)
            )

    def _solver(self, targets: Any) -> str:
        return str(self.learner._choose_solver(self._prepared._replace(targets=targets)))

    def _finish(self, solution: Any) -> None:
        self.learner.weights_, self.learner.trace_ = solution.weights, solution.steps
        self.learner.converged_, self.learner.solver_ = solution.converged, "lbfgs"

    def scores(self) -> ChainParts:
        """Scores of the pool."""
        found: ChainParts = self.learner.scores(self._pool)
        return found

    def update(self, parts: ChainParts) -> None:
        """So many steps from where the weights are."""
        pool = ExpectedLoss.of(self._prepared.scorer, self._structure, self._pool, parts)

        def loss(w: Floats) -> tuple[float, Floats]:
            value, gradient = pool(w)
            value, gradient = self._weight * value, self._weight * gradient
            if self._known is not None:
                more, slope = self._known(w)
                value, gradient = value + more, gradient + slope
            return value, gradient

        one = self.learner
        self._finish(
            lbfgs.minimize(
                loss, one.weights_, l1=one.l1, l2=one.l2, tolerance=0.1 * one.tolerance, max_iterations=self._steps
            )
        )

    def loss(self) -> float:
        """Log-loss of the labelled sequences, and the penalty of the weights."""
        one = self.learner
        known = 0.0 if self._known is None else self._known(one.weights_)[0]
        return known + penalty(one.weights_, one.l1, one.l2)


def _joined(first: ChainParts, second: ChainParts, weight: float) -> ChainParts:
    """Expected parts of two batches as those of one, the second counted `weight` times."""
    if len(first.pair) != len(second.pair):
        raise DataError("parts can be joined only with the same pair types")
    return replace(
        second,
        offsets=np.concatenate((first.offsets, first.offsets[-1] + second.offsets[1:])),
        unary=np.concatenate((first.unary, weight * second.unary)),
        pair=first.pair + weight * second.pair,
        pair_type=np.concatenate((first.pair_type, second.pair_type)),
        start=first.start + weight * second.start,
        end=first.end + weight * second.end,
    )
