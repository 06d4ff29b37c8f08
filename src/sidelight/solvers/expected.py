"""Fitting to expected parts: what the M step of EM and its relatives is made of.

A generative learner counts (Eq. 15 of Ganchev et al. 2010), then the parts are expected anew. For a discriminative one,
the gradient of the expected log-loss (Eq. 30 there) at the best expected parts is that of the objective with these
parts minimised out (Danskin's theorem), so L-BFGS goes down that objective and expects anew at every point.
`PoolWeights` has what each kind of sequence counts.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np

from ..errors import DataError, NotSupported
from ..estimator import clone
from ..features.encoded import Encoded
from ..kernels.compiling import Floats
from ..running.checkpoints import NOTHING, Carried
from ..running.forms import Instance, Like, Number
from ..stored import finite
from . import lbfgs
from .certificate import Solution, penalty
from .losses import CompanionLoss, ExpectedLoss, LogLoss, blocks
from .rounds import InTurn


@dataclass(frozen=True)
class PoolWeights:
    """What the sequences of the pool count beside a labelled one.

    partial: how many of them, the first ones, have partial labels; observed: what the likelihood of the partial labels
    of one of these counts; unlabelled: what an unlabelled one counts; rules: what the divergence of each counts.
    """

    partial: int
    observed: float
    unlabelled: float
    rules: float

    @classmethod
    def of(cls, partial: int, weight: float, strength: float) -> "PoolWeights":
        """Partial labels are observed and count as full labels do, or as unlabelled sequences where these count more.

        So no likelihood counts less than its divergence, without which an M step may raise the objective.
        """
        return cls(partial, max(1.0, weight), weight, weight * strength)

    def groups(self, sequences: int) -> list[tuple[int, int, float]]:
        """The ranges of sequences of one weight (first, last + 1, weight), of a pool of this many."""
        both = ((0, self.partial, self.observed), (self.partial, sequences, self.unlabelled))
        return [(first, last, weight) for first, last, weight in both if first < last]


@dataclass(frozen=True)
class Expected:
    """What an E step finds for the pool: parts to fit, those of the model itself, and what both cost together.

    All of them count what their sequences count.
    """

    parts: Any
    model: Any
    cost: float

    @staticmethod
    def form(parts: Any) -> Instance:
        """Returns the form of what an E step finds; parts: any of the pool."""
        return Instance(Expected, parts=Like(parts), model=Like(parts), cost=Number())


class Fitting(Protocol):
    """A base learner between its updates; `generative`: whether its scores are log p(x, y), not only log p(y|x)."""

    learner: Any
    generative: bool
    weights: PoolWeights

    @property
    def comparable(self) -> bool:
        """Whether the objective of the model may be compared with that of the models after it."""
        ...

    def scores(self, first: int = 0, last: int | None = None) -> Any:
        """Returns the scores of the pool, or of its sequences first to last - 1."""
        ...

    def update(self, parts: Any) -> None:
        """Fit to the labelled sequences and the pool's expected parts, which count what their sequences count."""
        ...

    within_solver: ClassVar[bool]

    def alternate(
        self, expect: Callable[[], Expected], rounds: int, after: Callable[[Expected], bool], carried: Carried
    ) -> bool:
        """Make E and M steps, as `rounds.MStep` has it."""
        ...

    @property
    def carried(self) -> Carried:
        """What the next update needs of those before."""
        ...

    def loss(self) -> float:
        """Returns what the labelled sequences and the prior add to the objective: -log p(labelled) - log prior."""
        ...


@dataclass(frozen=True)
class Companions:
    """Sequences that are GOOD, the first ones, or BAD; counts: what each of them counts; sizes: in tokens."""

    X: Sequence[Any]
    good: int
    counts: Floats
    sizes: Floats

    def loss(self, scorer: Any, structure: Any, encoder: Any) -> CompanionLoss[Any]:
        """What they ask of a model; attributes that it does not have are left out."""
        return CompanionLoss(scorer, structure, encoder.transform(self.X), self.good, self.counts, self.sizes)


@dataclass(frozen=True)
class ToFit:
    """What a base learner is fitted to: labelled sequences X and y, and a pool of others.

    known: what is known of the pool's outputs, those with partial labels first; labelled_first: whether the first model
    is that of the labelled sequences, not one that knows nothing; initial: a fitted model to begin with instead;
    counts: what the likelihood of each labelled sequence counts, None for 1; companions: GOOD and BAD sequences, which
    a learner that counts does not take.
    """

    X: Sequence[Any]
    y: Sequence[Any]
    pool: Sequence[Any]
    known: Sequence[Any]
    classes: list[str]
    weights: PoolWeights
    seed: int
    n_jobs: int
    labelled_first: bool = True
    initial: Any = None
    counts: Floats | None = None
    companions: Companions | None = None


def joined(some: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
    """Expected parts of several batches as those of one, each counted as often as its weight says."""
    return some[-1].joined(some, weights or [1.0] * len(some))


def observed_parts(
    learner: Any, X: Any, y: Sequence[Any], classes: Sequence[str], counts: Floats | None, encoded: Encoded
) -> Iterator[tuple[Encoded, Any]]:
    """Blocks of inputs with their known outputs as parts, each times what it counts, None for 1."""
    edges = [0, *(() if counts is None else (np.flatnonzero(np.diff(counts)) + 1).tolist()), len(encoded)]
    for first, last in pairwise(edges):
        for a, b in blocks(encoded.offsets, first=first, last=last):
            parts = learner.observed(X[a:b], y[a:b], classes)
            yield encoded.sequences(a, b), parts if counts is None else parts.times(float(counts[a]))


def counted(
    learner: Any, counting: Any, encoded: Encoded, X: Any, y: Sequence[Any], classes: Sequence[str],
    counts: Floats | None,
) -> Any:  # fmt: skip
    """Returns the counts of known outputs, each times what it counts, None for 1."""
    sums = counting.expectation()
    for some, parts in observed_parts(learner, X, y, classes, counts, encoded):
        sums.add(some, parts)
    return sums.total()


@dataclass(frozen=True)
class WordShares:
    """A generative model on a vocabulary that has words which the model lacks.

    The words of a class that the model lacks share the probability of the class evenly: P(w | y) = P(class | y) / n,
    where n is their number. So outputs have the same probabilities given the words, while P(words) is that of a model
    of the vocabulary, and may be compared with those of models that know it. number: (tokens of the labelled sequences
    and of the pool,) n for each token, 1 for a word that the model knows; log_prior: that of the whole vocabulary.
    """

    number: Floats
    log_prior: float


class CountingFit:
    """Counts of labelled sequences and expected counts of a pool: the M step of a generative learner."""

    generative = True
    within_solver: ClassVar[bool] = False

    def __init__(self, base: Any, data: ToFit) -> None:
        initial = data.initial
        if data.companions is not None:
            raise NotSupported(f"{type(base).__name__} counts, and has no use for GOOD and BAD; use CRF or SemiCRF")
        if initial is not None and not isinstance(initial, type(base)):
            raise DataError(f"the initial model must be of the base's kind, {type(base).__name__}, got {initial!r}")
        self._base, self._data = base, data
        self.weights = data.weights
        self.learner: Any = None if initial is None else deepcopy(initial)
        if initial is None and len(data.X) and data.labelled_first:
            self.learner = base.with_labels(data.classes).fit(data.X, data.y, sample_weight=data.counts)
        # Words of all sequences, and those of the labelled sequences and the pool by them.
        self._encoder = base.symbols(data.X)
        self._encoder.extend(data.pool)
        self._known, self._pool = (self._encoder.transform(some) for some in (data.X, data.pool))
        self._counting = base.counting(self._encoder, data.classes)
        self._seen = counted(base, self._counting, self._known, data.X, data.y, data.classes, data.counts)
        self._shares: WordShares | None = None
        if self.learner is not None:
            own = [self.learner.encode(some).indices for some in (data.X, data.pool)]
            self._shares = self.learner.word_shares(
                self._encoder, np.concatenate(own), np.concatenate((self._known.indices, self._pool.indices))
            )

    @property
    def _updated(self) -> bool:
        """Whether the learner knows all words, and not only those of its first model."""
        return self.learner is not None and self.learner.encoder_ is self._encoder

    @property
    def comparable(self) -> bool:
        """Whether there is a model, and its objective is over all words (`WordShares` of the first one)."""
        return self._updated or self._shares is not None

    def scores(self, first: int = 0, last: int | None = None) -> Any:
        """Scores of the pool; those that the base begins with where nothing is labelled and nothing was learned yet."""
        last = len(self._pool) if last is None else last
        some = self._pool.sequences(first, last)
        if self.learner is not None:
            return self.learner.scores(some if self._updated else self._data.pool[first:last])
        rng = np.random.default_rng(self._data.seed)
        begin = self._base.beginning(self._encoder, self._pool, self._data.classes, rng)
        return begin.scores(some, int(self._pool.offsets[first]))

    def update(self, parts: Any) -> None:
        """Smoothed shares of the counts."""
        sums = self._counting.expectation()
        sums.add(self._pool, parts)
        learner = self.learner if self._updated else clone(self._base)
        self.learner = learner.estimated(self._encoder, self._data.classes, self._seen + sums.total())

    def alternate(
        self, expect: Callable[[], Expected], rounds: int, after: Callable[[Expected], bool], carried: Carried
    ) -> bool:
        """Make E and M steps in turn."""
        return InTurn[Expected](lambda found: self.update(found.parts)).alternate(expect, rounds, after)

    @property
    def carried(self) -> Carried:
        """Nothing: counts alone make the next model."""
        return NOTHING

    def loss(self) -> float:
        """-Σ log p(x, y) - log prior; 0 before anything was learned.

        Of a first model that lacks words of the pool, with Σ log n of these (`WordShares`), which scores do not have.
        """
        if self.learner is None:
            return 0.0
        data, prior = self._data, self.learner.log_prior
        shares = None if self._updated else self._shares
        found = -float(prior() if shares is None else shares.log_prior)
        known = self._known if self._updated else self.learner.encode(data.X)
        for some, parts in observed_parts(self._base, data.X, data.y, data.classes, data.counts, known):
            found -= self.learner.scores(some).dot(parts)
        return found if shares is None else found + float(self._token_weights() @ np.log(shares.number))

    def _token_weights(self) -> Floats:
        """What each token counts, of the labelled sequences and then of the pool."""
        counts = np.ones(len(self._known)) if self._data.counts is None else self._data.counts
        groups = self.weights.groups(len(self._pool))
        pool = np.repeat([weight for *_, weight in groups], [last - first for first, last, _ in groups])
        return np.repeat(
            np.concatenate((counts, pool)), np.concatenate([np.diff(one.offsets) for one in (self._known, self._pool)])
        )


# L-BFGS steps of an update to given parts.
_STEPS = 10


class DescentFit:
    """L-BFGS on the log-loss of labelled sequences and the expected one of a pool: the M step of a log-linear model.

    learner: has the penalties and the tolerance; adopt: gives it a solution, and the name of the solver that found it;
    known: the loss of the labelled sequences, None if there are none; companions: that of GOOD and BAD ones.
    """

    generative = False
    comparable = True
    within_solver: ClassVar[bool] = True

    def __init__(
        self,
        learner: Any,
        adopt: Callable[[Solution, str], None],
        scorer: Any,
        structure: Any,
        pool: Any,
        known: LogLoss[Any] | None,
        weights: PoolWeights,
        companions: CompanionLoss[Any] | None = None,
    ) -> None:
        self.learner, self._adopt, self._scorer, self._structure = learner, adopt, scorer, structure
        self._pool = pool
        self._fixed: list[Any] = [one for one in (known, companions) if one is not None]
        self._convex = companions is None and (known is None or known.known.full)
        # An unlabelled sequence has no likelihood p(y|x) of its own, only its divergence.
        self.weights = replace(weights, unlabelled=weights.rules)
        self.finish(Solution(np.zeros(scorer.size), (), False), "lbfgs")

    def finish(self, solution: Solution, solver: str) -> None:
        """Take over a solution."""
        self._w = solution.weights
        self._adopt(solution, solver)

    def scores(self, first: int = 0, last: int | None = None) -> Any:
        """Returns the scores of the pool."""
        some = self._pool if last is None else self._pool.sequences(first, last)
        found: Any = self._scorer.scores(some, self._w, self._structure.n_jobs)
        return found

    def update(self, parts: Any) -> None:
        """A few steps from where the weights are."""
        groups = self.weights.groups(len(self._pool))
        pool = ExpectedLoss.of(self._scorer, self._structure, self._pool, groups, parts)

        def loss(w: Floats) -> tuple[float, Floats]:
            return self._with_known(w, *pool(w))

        self._descend(loss, _STEPS, lambda step: None, convex=self._convex)

    def settle(self) -> None:
        """Go down towards the optimum of what does not depend on the pool, from where the weights are."""
        nothing = np.zeros(self._scorer.size)
        steps = _STEPS if len(self._pool) else self.learner.max_iterations
        self._descend(
            lambda w: self._with_known(w, 0.0, nothing), steps, lambda _: None, convex=self._convex, share=1.0
        )

    @property
    def carried(self) -> Carried:
        """The weights."""
        return Carried(lambda: self._w, lambda w: setattr(self, "_w", w), lambda: finite(len(self._w)))

    def alternate(
        self, expect: Callable[[], Expected], rounds: int, after: Callable[[Expected], bool], carried: Carried
    ) -> bool:
        """Make steps down the objective, with an E step at every point on the way."""
        made = 0
        latest: Expected | None = None

        def loss(w: Floats) -> tuple[float, Floats]:
            nonlocal latest
            self._w = w.copy()
            latest = expect()
            expected = self._scorer.expectation()
            expected.add(self._pool, latest.model - latest.parts)
            if not made:
                on_step()
            return self._with_known(w, latest.cost, expected.total())

        def on_step(_: Any = None) -> None:
            nonlocal made
            made += 1
            if made <= rounds and latest is not None:  # where the last step leads is for the next E step to see
                after(latest)

        def load(saved: tuple[int, Any]) -> None:
            nonlocal made
            made = saved[0]
            carried.load(saved[1])

        both = Carried(lambda: (made, carried.save()), load, lambda: (Number(0, whole=True), carried.form()))
        self._descend(loss, rounds, on_step, convex=False, carried=both)
        return False

    def _with_known(self, w: Floats, value: float, gradient: Floats) -> tuple[float, Floats]:
        """Loss and gradient of the pool together with those of the labelled sequences and the companions."""
        for term in self._fixed:
            more, slope = term(w)
            value, gradient = value + more, gradient + slope
        return value, gradient

    def _descend(
        self,
        loss: Any,
        steps: int,
        after: Callable[[Any], None],
        *,
        convex: bool,
        share: float = 0.1,
        carried: Carried = NOTHING,
    ) -> None:
        one = self.learner
        self.finish(
            lbfgs.minimize(
                loss, self._w, l1=one.l1, l2=one.l2, tolerance=share * one.tolerance, max_iterations=steps,
                convex=convex, on_step=after, carried=carried,
            ),
            "lbfgs",
        )  # fmt: skip

    def loss(self) -> float:
        """Log-loss of the labelled sequences, that of the companions, and the penalty of the weights."""
        one = self.learner
        return sum(float(term(self._w)[0]) for term in self._fixed) + penalty(self._w, one.l1, one.l2)
