"""Base learners fitted to labelled sequences and to expected parts of others: the M step of EM and its relatives.

A generative learner counts (Eq. 15 of Ganchev et al. 2010), then the parts are expected anew. For a discriminative one,
the gradient of the expected log-loss (Eq. 30 there) at the best expected parts is that of the objective with these
parts minimised out (Danskin's theorem), so L-BFGS goes down that objective and expects anew at every point. `Weights`
has what each kind of sequence counts.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone

from ...errors import DataError, NotSupported
from ...features.encoded import Encoded
from ...features.templates import sequence_offsets
from ...kernels.compiling import Floats
from ...labels import encode_labels
from ...solvers import lbfgs
from ...solvers.certificate import penalty
from ...solvers.losses import ExpectedLoss, LogLoss
from ...structures.chain import Chain, ChainParts, indicator
from ..labelled.crf import CRF
from ..labelled.linear import Prepared
from .wrapper import fit_on


@dataclass(frozen=True)
class Weights:
    """What the sequences of the pool count beside a labelled one.

    partial: how many of them, the first ones, have partial labels; observed: what the likelihood of the partial labels
    of one of these counts; unlabelled: what an unlabelled one counts; rules: what the divergence of each counts.
    """

    partial: int
    observed: float
    unlabelled: float
    rules: float

    @classmethod
    def of(cls, partial: int, weight: float, strength: float) -> "Weights":
        """Partial labels are observed and count as full labels do, or as unlabelled sequences where these count more.

        So no likelihood counts less than its divergence, without which an M step may raise the objective.
        """
        return cls(partial, max(1.0, weight), weight, weight * strength)

    def groups(self, sequences: int) -> list[tuple[int, int, float]]:
        """The ranges of sequences of one weight (first, last + 1, weight), of a pool of so many."""
        both = ((0, self.partial, self.observed), (self.partial, sequences, self.unlabelled))
        return [(first, last, weight) for first, last, weight in both if first < last]


@dataclass(frozen=True)
class Expected:
    """What an E step finds for the pool: parts to fit, those of the model itself, and what both cost together.

    All of them count what their sequences count.
    """

    parts: ChainParts
    model: ChainParts
    cost: float


EStep = Callable[[ChainParts], Expected]


class Fitting(Protocol):
    """A base learner between its updates; `generative`: whether its scores are log p(x, y), not only log p(y|x)."""

    learner: Any
    generative: bool
    weights: Weights

    def scores(self, first: int = 0, last: int | None = None) -> ChainParts:
        """Scores of the pool, or of its sequences first to last - 1."""
        ...

    def update(self, parts: ChainParts) -> None:
        """Fit to the labelled sequences and the pool's expected parts, which count what their sequences count."""
        ...

    def alternate(self, expect: EStep, rounds: int, tell: Callable[[], None]) -> None:
        """So many E and M steps in turn, or fewer if they lead nowhere; `tell` is called between them."""
        ...

    def loss(self) -> float:
        """What the labelled sequences and the prior add to the objective: -log p(labelled) - log prior."""
        ...


def begin(
    base: Any, X: Sequence[Any], y: Sequence[Any], pool: Sequence[Any], classes: list[str], **options: Any
) -> "Fitting":
    """The base learner fitted to the labelled sequences, or the option `initial`, ready to learn from the pool.

    The option `known` is what is known of the pool's outputs, those with partial labels first.
    Without the option `labelled_first` it knows nothing yet, and its first update is to labelled sequences and pool.
    """
    if is_generative(base):
        return Generative(base, X, y, pool, classes, **options)
    if isinstance(base, CRF):
        return Discriminative(base, X, y, pool, classes, **options)
    raise NotSupported(f"{type(base).__name__} cannot learn from expected parts; use HMM or CRF as base")


def is_generative(base: Any) -> bool:
    """Whether a base learner counts expected parts."""
    return hasattr(base, "fit_expected")


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
        known: Sequence[Any],  # of the pool: what it allows comes with the expected parts
        weights: Weights,
        seed: int,
        n_jobs: int,
        labelled_first: bool = True,
        initial: Any = None,
    ) -> None:
        if initial is not None and not isinstance(initial, type(base)):
            raise DataError(f"the initial model must be of the base's kind, {type(base).__name__}, got {initial!r}")
        self._base, self._X, self._pool, self._classes, self._seed = base, X, pool, classes, seed
        self.weights = weights
        self._structure = Chain(n_jobs)
        self._labels = encode_labels(y, [len(x) for x in X], classes).labels
        begun = None if initial is None else deepcopy(initial)
        self.learner: Any = fit_on(base, X, y, classes) if begun is None and len(X) and labelled_first else begun
        self._encoded: list[Encoded] = []  # of the labelled sequences, the pool, and both

    def scores(self, first: int = 0, last: int | None = None) -> ChainParts:
        """Scores of the pool; at random where nothing is labelled and nothing was learned yet."""
        last = len(self._pool) if last is None else last
        if self.learner is not None:
            some = self._encoded[1].sequences(first, last) if self._encoded else self._pool[first:last]
            found: ChainParts = self.learner.scores(some)
            return found
        offsets, labels = sequence_offsets(self._pool), len(self._classes)
        noise = np.random.default_rng(self._seed).uniform(size=(int(offsets[-1]), labels))
        return ChainParts.of(offsets, noise, np.zeros((labels, labels))).sequences(first, last)

    def update(self, parts: ChainParts) -> None:
        """Smoothed shares of the counts."""
        parts = joined([self._known(), parts])
        if self._encoded:
            self.learner.update_expected(self._encoded[2], parts)
            return
        everything = [*self._X, *self._pool]
        self.learner = clone(self._base).fit_expected(everything, parts, self._classes)
        self._encoded = [self.learner.encode(some) for some in (self._X, self._pool, everything)]

    def alternate(self, expect: EStep, rounds: int, tell: Callable[[], None]) -> None:
        """E and M steps in turn."""
        for _ in range(rounds):
            found = expect(self.scores())
            tell()
            self.update(found.parts)

    def _known(self) -> ChainParts:
        return indicator(sequence_offsets(self._X), self._labels, len(self._classes), 1)

    def loss(self) -> float:
        """-Σ log p(x, y) - log prior; 0 before anything was learned."""
        if self.learner is None:
            return 0.0
        known = self.learner.scores(self._encoded[0] if self._encoded else self._X)
        return -float(self.learner.log_prior()) - float(self._structure.score(known, self._labels).sum())


# L-BFGS steps of an update to given parts.
_STEPS = 10


class Discriminative:
    """L-BFGS on the log-loss of labelled sequences and the expected one of the pool."""

    generative = False

    def __init__(
        self,
        base: Any,
        X: Sequence[Any],
        y: Sequence[Any],
        pool: Sequence[Any],
        classes: list[str],
        *,
        known: Sequence[Any],
        weights: Weights,
        seed: int,  # begins with the labelled sequences or with zeros: nothing is random
        n_jobs: int,
        labelled_first: bool = True,
        initial: Any = None,
    ) -> None:
        if initial is not None:
            raise NotSupported(f"{type(base).__name__} begins with the labelled sequences; begin with a model in HMM")
        if getattr(base._task, "order", 1) != 1:
            raise NotSupported(f"{type(base).__name__} of order 2 cannot learn from expected parts; use order 1")
        base._check_numbers()
        self.learner = clone(base).set_params(classes=list(classes))
        everything = [*X, *pool]
        sizes = self.learner._task.sizes(everything)
        targets = encode_labels([*y, *known], sizes, classes)
        self._prepared: Prepared = self.learner._lay_out(
            self.learner._choose_encoder(everything), everything, targets, list(classes)
        )
        # An unlabelled sequence has no likelihood p(y|x) of its own, only its divergence.
        self._structure, self.weights = Chain(n_jobs), replace(weights, unlabelled=weights.rules)
        self.learner._adopt(self._prepared)
        self._prepared = self._prepared._replace(scorer=self._prepared.scorer.as_chain())
        encoded, scorer = self._prepared.encoded, self._prepared.scorer
        self._pool = encoded.sequences(len(X), len(everything))
        self._known: LogLoss[Any] | None = None
        self.learner.weights_ = np.zeros(scorer.size)
        if len(X):
            labels = encode_labels(y, sizes[: len(X)], classes)
            self._known = LogLoss(scorer, self._structure, encoded.sequences(0, len(X)), labels)
            if labelled_first:
                solver = self._solver(labels)
                self._finish(self.learner._solve(solver, self._known, self.learner.weights_, lambda step: None), solver)

    def _solver(self, targets: Any) -> str:
        return str(self.learner._choose_solver(self._prepared._replace(known=targets)))

    def _finish(self, solution: Any, solver: str) -> None:
        self.learner.weights_, self.learner.trace_ = solution.weights, solution.steps
        self.learner.converged_, self.learner.solver_ = solution.converged, solver

    def scores(self, first: int = 0, last: int | None = None) -> ChainParts:
        """Scores of the pool."""
        some = self._pool if last is None else self._pool.sequences(first, last)
        found: ChainParts = self.learner.scores(some).as_chain()
        return found

    def update(self, parts: ChainParts) -> None:
        """A few steps from where the weights are."""
        groups = self.weights.groups(len(self._pool))
        pool = ExpectedLoss.of(self._prepared.scorer, self._structure, self._pool, groups, parts)

        def loss(w: Floats) -> tuple[float, Floats]:
            return self._with_known(w, *pool(w))

        self._descend(loss, _STEPS, lambda step: None, convex=True)

    def alternate(self, expect: EStep, rounds: int, tell: Callable[[], None]) -> None:
        """So many steps down the objective, with an E step at every point on the way."""
        told = 0

        def loss(w: Floats) -> tuple[float, Floats]:
            self.learner.weights_ = w.copy()
            found = expect(self.scores())
            expected = self._prepared.scorer.expectation()
            expected.add(self._pool, found.model - found.parts)
            if not told:
                after()
            return self._with_known(w, found.cost, expected.total())

        def after(_: Any = None) -> None:
            nonlocal told
            told += 1
            if told <= rounds:  # where the last step leads is for the next E step to see
                tell()

        self._descend(loss, rounds, after, convex=False)

    def _with_known(self, w: Floats, value: float, gradient: Floats) -> tuple[float, Floats]:
        """Loss and gradient of the pool together with those of the labelled sequences."""
        if self._known is not None:
            more, slope = self._known(w)
            value, gradient = value + more, gradient + slope
        return value, gradient

    def _descend(self, loss: Any, steps: int, after: Callable[[Any], None], *, convex: bool) -> None:
        one = self.learner
        self._finish(
            lbfgs.minimize(
                loss, one.weights_, l1=one.l1, l2=one.l2, tolerance=0.1 * one.tolerance, max_iterations=steps,
                convex=convex, on_step=after,
            ),
            "lbfgs",
        )  # fmt: skip

    def loss(self) -> float:
        """Log-loss of the labelled sequences, and the penalty of the weights."""
        one = self.learner
        known = 0.0 if self._known is None else self._known(one.weights_)[0]
        return known + penalty(one.weights_, one.l1, one.l2)


def joined(some: Sequence[ChainParts], weights: Sequence[float] | None = None) -> ChainParts:
    """Expected parts of several batches as those of one, each counted as often as its weight says."""
    if len({len(one.pair) for one in some}) > 1:
        raise DataError("parts can be joined only with the same pair types")
    pairs = list(zip(weights or [1.0] * len(some), some, strict=True))
    starts = np.cumsum([0, *(len(one.unary) for one in some)])
    return replace(
        some[-1],
        offsets=np.concatenate([[0], *(one.offsets[1:] + a for one, a in zip(some, starts, strict=False))]),
        unary=np.concatenate([w * one.unary for w, one in pairs]),
        pair=np.sum([w * one.pair for w, one in pairs], axis=0),
        pair_type=np.concatenate([one.pair_type for one in some]),
        start=np.sum([w * one.start for w, one in pairs], axis=0),
        end=np.sum([w * one.end for w, one in pairs], axis=0),
    )
