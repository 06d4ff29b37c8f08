"""Expectation-maximisation for generative models, with labelled, partly labelled and unlabelled data.

    E  μ = marginals of β θ_0 + (1 - β) θ on the unlabelled sequences      M  θ = the model estimated from counts μ

With β = 0, and a base that counts every word as itself (`HMM(rare=0)`), every round raises Σ_U log P(x) plus the
log-prior of the smoothing. With `rare` above 0 that is not so, and a round may lower it. With labelled data, β is the
weight of the model learned from them, as in `CoDL`. Partial labels, from a tag dictionary for instance, forbid the
other labels in the E step, so that the likelihood is that of x and a labelling that agrees with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from ...declared import Bounds, declared
from ...errors import DataError, NotSupported, inputs_called, numbers_of, warn
from ...estimator import clone
from ...features.encoded import some_of
from ...labels import majority_label
from ...records import Record, recorded
from ...running.forms import Instance, Like, Number
from ...solvers import rounds
from ...solvers.pools import CountedPool, ExpectedCounts
from ...supervision import Signal, all_kinds, by_kind, some_known
from ..choosing.guard import guarded
from ..inputs import refuse_weights
from ..learner import Learner
from ..parameters import MixtureParameters


@recorded
class EMStep(Record):
    """One round: Σ_U log Z of the round's model, plus its log-prior."""

    better: ClassVar[str] = "higher"
    first_apart: ClassVar[bool] = True  # it may know the words of labelled sequences only, or nothing at all
    iteration: int
    objective: float

    def __str__(self) -> str:
        return f"objective {self.objective:.1f}"


class _Pool(NamedTuple):
    """Sequences without full labels, what is known of their labels, None if that is nothing, and their numbers."""

    X: Any
    known: Any
    numbers: list[int]


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
    kinds, most = set(all_kinds(y)), majority_label(y)
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
        "and `fit` warns and leaves them out.",
        Bounds(0, 1),
    ] = None
    iterations: Annotated[int, "Rounds.", Bounds(0)] = 5
    classes: Annotated[Sequence[str] | None, "All labels; needed where no label is known."] = None
    restarts: Annotated[
        int,
        "Where no sequence is fully labelled, this many runs begin from random scores, and the one whose "
        "model ends with the highest likelihood is kept.",
        Bounds(1),
    ] = 1
    spread: Annotated[
        float | None,
        "None begins from random scores of every token, or as the base says (`DMV`); a number from a random model, "
        "with counts 1 + spread U(0, 1) (Gao and Johnson 2008), in which all tokens of a word begin with the same "
        "probabilities. Without any label, words then soon differ in theirs.",
        Bounds(0, above=True),
    ] = None
    random_state: Annotated[int, "Seed of these scores."] = 0

    saved = ("weight_", "run_objectives_", "trace_")
    keeps_base = True

    @guarded
    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from labelled sequences and, where y is partial or None, from the others."""
        refuse_weights(self, sample_weight)
        if not self.base.generative:
            raise NotSupported(f"EM needs a generative base learner, HMM or DMV, not {type(self.base).__name__}")
        known, pool, classes = self._divide(X, y)
        if not known and not self.iterations:
            raise DataError(f"without labelled {self.task_.noun}s there is nothing to learn in 0 iterations")
        base = self.fit_base(some_of(X, known), some_known(y, known), classes) if known else None
        weight = labelled_weight(self, y, 0.8) if known else 0.0
        with inputs_called(self.task_.noun), numbers_of(pool.numbers):
            runs = self._runs(base, weight, pool, classes) if weight < 1 and pool.numbers else []
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
        some = some_of(X, rest)
        known = self.task_.known_to_rules(some_known(read, rest), some, classes) if which[Signal.PARTIAL] else None
        return which[Signal.FULL], _Pool(some, known, rest), classes

    def _runs(self, base: Any, weight: float, pool: "_Pool", classes: list[str]) -> list["_Run"]:
        """A run from the model of the labelled data, or one from each random beginning."""
        encoder = self.base.symbols(pool.X)
        encoded, counting = encoder.transform(pool.X), self.base.counting(encoder, classes)
        held = CountedPool.of(pool.X, encoded, pool.known, base, weight, counting, self.structure_)
        if base is not None:
            return [self._run(held, encoder, classes, None)]
        rng, runs = np.random.default_rng(self.random_state), []
        for _ in range(self.restarts):
            if self.spread is not None:
                first = clone(self.base).fit_random(pool.X, classes, self.spread, rng).scorer_
            else:
                first = self.base.beginning(encoder, encoded, classes, rng)
            runs.append(self._run(held, encoder, classes, first))
        return runs

    def _run(self, pool: CountedPool, encoder: Any, classes: list[str], first: Any) -> "_Run":
        """Rounds; first: tables to begin with, None where that is the model of labelled sequences."""
        driven: Any = None

        def expect(_: None = None) -> ExpectedCounts:
            return pool.expect(first, 0.0) if driven is None else pool.expect(driven.scorer_, driven.log_prior())

        def estimate(found: ExpectedCounts) -> None:
            nonlocal driven
            driven = clone(self.base) if driven is None else driven
            driven.estimated(encoder, classes, found.counts)

        def form() -> Instance:
            counts = self.base.counting(encoder, classes).expectation().total()
            return Instance(ExpectedCounts, objective=Number(), counts=Like(counts, 0.0))

        trace = rounds.alternate(
            [None] * self.iterations, expect, rounds.InTurn(estimate),
            lambda number, _, found: EMStep(number, found.objective), title="EM", verbose=self.verbose,
            first_needed=first is not None, form=form,
        )  # fmt: skip
        final = expect().objective if first is not None and self.restarts > 1 else 0.0
        return _Run(driven, trace, final)
