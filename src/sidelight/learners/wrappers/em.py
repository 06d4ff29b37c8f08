"""Expectation-maximisation for generative models, with labelled, partly labelled and unlabelled data.

    E  μ = marginals of β θ_0 + (1 - β) θ on the unlabelled sequences      M  θ = the model estimated from counts μ

With β = 0, and a base that counts every word as itself (`HMM(rare=0)`), every round raises Σ_U log P(x) plus the
log-prior of the smoothing. With `rare` above 0 that is not so, and a round may lower it. With labelled data, β is the
weight of the model learned from them, as in `CoDL`. Partial labels, from a tag dictionary for instance, forbid the
other labels in the E step, so that the likelihood is that of x and a labelling that agrees with them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from ...errors import DataError, NotSupported, warn
from ...labels import majority_label
from ...records import Record, recorded
from ...solvers import rounds
from ...supervision import Signal, by_kind, kind_of
from ..choosing.guard import guarded
from ..inputs import refuse_weights
from ..learner import Learner
from ..parameters import MixtureParameters, declared, require_number, require_share


@recorded
class EMStep(Record):
    """One round: Σ_U log Z of the round's model, plus its log-prior."""

    better: ClassVar[str] = "higher"
    iteration: int
    objective: float

    @property
    def comparable(self) -> bool:
        """The first model is another one: it may know the words of labelled sequences only, or nothing at all."""
        return self.iteration > 1

    def __str__(self) -> str:
        return f"objective {self.objective:.1f}"


class _Found(NamedTuple):
    """What an E step finds: the objective, and expected parts."""

    objective: float
    parts: Any


class _Pool(NamedTuple):
    """Sequences without full labels, and what is known of their labels, None if that is nothing."""

    X: list[Any]
    known: Any

    def restrict(self, scores: Any) -> Any:
        """Scores with -inf on what is known not to be."""
        return scores if self.known is None else self.known.restrict(scores)


@dataclass(frozen=True)
class _Run:
    """A model, how it came about, and the objective it ends with."""

    driven: Any
    trace: tuple[EMStep, ...]
    objective: float


def labelled_weight(learner: Any, y: Sequence[Any], usual: float) -> float:
    """Returns the weight of the model learned from labelled sequences, beside that learned from others in y.

    A label that most tokens have is given to even more of the unlabelled ones, and the model learned from these
    forgets the others: then it has no weight, unless `balance` gives it one.
    """
    if learner.balance is not None:
        return float(learner.balance)
    if not learner.task_.of_labels:
        return usual
    kinds, most = set(map(kind_of, y)), majority_label(y)
    if Signal.PARTIAL in kinds:  # the other model knows these labels, and they count as much as full ones
        return 0.0
    if most is None or kinds != {Signal.FULL, Signal.NOTHING}:
        return usual
    noun = learner.task_.noun
    warn(
        f"most labelled {'documents' if noun == 'document' else 'tokens'} have the label {most!r}, and "
        f"{type(learner).__name__} would learn little else from unlabelled {noun}s, so it makes no use of them; set "
        "balance below 1 to use them, or try PosteriorRegularization"
    )
    return 1.0


@declared
class EM(MixtureParameters, Learner):
    """Soft EM on a generative base learner, one that can be fitted to expected parts: `HMM`, or `DMV` for trees.

    To predict under the same partial labels, use `complete(X, y)`.

    Attributes
    ----------
    classes_, weight_, guard_
    base_, driven_ : learner or None
        The models from labelled data and from other data.
    trace_ : tuple of EMStep
        The rounds of the run that was kept.
    run_objectives_ : tuple of float
        The objective that the final model of each run has, if there was a choice.
    """

    balance: Annotated[
        float | None,
        "β, the weight of the model learned from full labels. None: 0.8; 0 where there are partial labels, which only "
        "the other model knows; 1 where one label has most of the labelled tokens: unlabelled sequences do harm there, "
        "and `fit` warns that it goes without them.",
    ] = None
    iterations: Annotated[int, "Rounds."] = 5
    classes: Annotated[Sequence[str] | None, "All labels; needed where no label is known."] = None
    restarts: Annotated[
        int,
        "Where no sequence is fully labelled, this many runs begin from random scores, and the one whose "
        "model ends with the highest likelihood is kept.",
    ] = 1
    spread: Annotated[
        float | None,
        "None begins from random scores of every token, or as the base says (`DMV`); a number from a random model, "
        "with counts 1 + spread U(0, 1) (Gao and Johnson 2008), in which all tokens of a word are alike. Without any "
        "label, words then soon part.",
    ] = None
    random_state: Annotated[int, "Seed of these scores."] = 0

    saved = ("weight_", "run_objectives_", "trace_")
    keeps_base = True

    @guarded
    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from labelled sequences and, where y is partial or None, from the others."""
        refuse_weights(self, sample_weight)
        require_share(self, "balance", "lies between 0 and 1")
        require_number(self, "iterations", 0, whole=True)
        require_number(self, "restarts", 1, whole=True)
        if self.spread is not None:
            require_number(self, "spread", 0, open_end=True)
        if not self.base.generative:
            raise NotSupported(f"EM needs a generative base learner, HMM or DMV, not {type(self.base).__name__}")
        known, pool, classes = self._divide(X, y)
        if not known and not self.iterations:
            raise DataError(f"without labelled {self.task_.noun}s there is nothing to learn in 0 iterations")
        base = self.fit_base([X[i] for i in known], [y[i] for i in known], classes) if known else None
        weight = labelled_weight(self, y, 0.8) if known else 0.0
        beginnings = self._beginnings(base, pool, classes) if weight < 1 else ()
        runs = [self._run(first, base, weight, pool, classes) for first in beginnings]
        best = max(runs, key=lambda run: run.objective, default=_Run(None, (), 0.0))
        self.base_, self.driven_, self.classes_, self.trace_ = base, best.driven, classes, best.trace
        self.run_objectives_ = tuple(run.objective for run in runs) if len(runs) > 1 else ()
        self.weight_ = weight
        return self

    def _divide(self, X: Any, y: Any) -> tuple[list[int], "_Pool", list[str]]:
        """Numbers of the labelled sequences, the other sequences, and the labels."""
        _, read = self.read_input(X, y)
        classes, which = self.all_labels(read), by_kind(read)
        rest = sorted([*which[Signal.PARTIAL], *which[Signal.NOTHING]])
        some = [X[i] for i in rest]
        known = self.task_.known_to_rules([read[i] for i in rest], some, classes) if which[Signal.PARTIAL] else None
        return which[Signal.FULL], _Pool(some, known), classes

    def _beginnings(self, base: Any, pool: "_Pool", classes: list[str]) -> Iterator[Any]:
        """Scores of the first E step: those of the labelled data, or random ones for every restart."""
        if base is not None and pool.X:
            yield base.scores(pool.X)
        elif pool.X:
            rng = np.random.default_rng(self.random_state)
            for _ in range(self.restarts):
                if self.spread is not None:
                    yield clone(self.base).fit_random(pool.X, classes, self.spread, rng).scores(pool.X)
                else:
                    yield self.base.first_scores(pool.X, classes, rng)

    def _run(self, first: Any, base: Any, weight: float, pool: "_Pool", classes: list[str]) -> "_Run":
        driven: Any = None
        encoded: Any = None  # the pool, as the driven model encodes it

        def expect(_: None = None) -> _Found:
            scores = first if driven is None else driven.scores(encoded)
            if driven is not None and base is not None:
                scores = first.mix(scores, weight)
            marginals = self.structure_.marginals(pool.restrict(scores))
            prior = 0.0 if driven is None else driven.log_prior()
            return _Found(float(marginals.log_partition.sum()) + prior, marginals.parts)

        def estimate(found: _Found) -> None:
            nonlocal driven, encoded
            if driven is None:
                driven = clone(self.base).fit_expected(pool.X, found.parts, classes)
                encoded = driven.encode(pool.X)
            else:
                driven.update_expected(encoded, found.parts)

        trace = rounds.alternate(
            [None] * self.iterations, expect, rounds.InTurn(estimate),
            lambda number, _, found: EMStep(number, found.objective), title="EM", verbose=self.verbose,
        )  # fmt: skip
        final = expect().objective if base is None and self.restarts > 1 else 0.0
        return _Run(driven, trace, final)
