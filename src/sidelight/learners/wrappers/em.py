"""Expectation-maximisation for generative models, with labelled, partly labelled and unlabelled data.

    E  μ = marginals of β θ_0 + (1 - β) θ on the unlabelled sequences      M  θ = the model estimated from counts μ

With β = 0, and a base that counts every word as itself (`HMM(rare=0)`), every round raises Σ_U log P(x) plus the
log-prior of the smoothing. With `rare` above 0 that is not so, and a round may lower it. With labelled data, β is the
weight of the model learned from them, as in `Codl`. Partial labels, from a tag dictionary for instance, forbid the
other labels in the E step, so that the likelihood is that of x and a labelling that agrees with them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ...errors import DataError, NotSupported
from ...features.encoded import Encoded, State
from ...features.templates import sequence_offsets
from ...kernels.compiling import Flags
from ...labels import encode_labels
from ...progress import progress
from ...supervision import Signal
from ..choosing.guard import Guard, guarded
from ..learner import Explanation, require_number
from .mixture import Mixture
from .wrapper import check_input, fit_on, told_labels


@dataclass(frozen=True)
class EMStep:
    """One round: Σ_U log Z of the round's model, plus its log-prior."""

    iteration: int
    objective: float


@dataclass(frozen=True)
class _Pool:
    """Sequences without full labels; allowed: (tokens, labels), None if nothing is known of any."""

    X: list[Any]
    allowed: Flags | None

    def restrict(self, scores: Any) -> Any:
        """Scores with -inf on what is not allowed."""
        return scores if self.allowed is None else scores.restrict(self.allowed)


@dataclass(frozen=True)
class _Run:
    """A model, how it came about, and the objective it ends with."""

    driven: Any
    trace: tuple[EMStep, ...]
    objective: float


class EM(Mixture):
    """Soft EM on a generative base learner.

    Parameters
    ----------
    base : a learner that can be fitted to expected parts, such as `HMM`.
    balance : β, the weight of the model learned from full labels. None: 0.8; 0 where there are partial labels, which
        only the other model knows; 1 where one label has most of the labelled tokens: unlabelled sequences do harm
        there, and `fit` warns that it goes without them.
    iterations : rounds.
    classes : all labels; needed where no label is known.
    restarts : where no sequence is fully labelled, so many runs begin from random scores, and the one whose model ends
        with the highest likelihood is kept.
    spread : None begins from random scores of every token; a number from a random model, with counts 1 + spread U(0, 1)
        (Gao and Johnson 2008), in which all tokens of a word are alike. Without any label, words then soon part.
    guard : as for `CCM`.
    random_state : of these scores.
    verbose, n_jobs : as for `CRF`.

    Attributes
    ----------
    base_, driven_ : the models from labelled and from other data (None where it has no weight); weight_ : the weight of
    the first; trace_ : an `EMStep` for each round of the run that
    was kept; run_objectives_ : the objective that the final model of each run has, if there was a choice; guard_ : as
    for `CCM`.

    To predict under the same partial labels, use `complete(X, y)`.
    """

    guard_: Guard | None
    _usual = 0.8
    _keeps_base = True  # base_ is the supervised model

    def __init__(
        self,
        base: Any,
        *,
        balance: float | None = None,
        iterations: int = 5,
        classes: Any = None,
        restarts: int = 1,
        spread: float | None = None,
        guard: bool = True,
        random_state: int = 0,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.base = base
        self.balance = balance
        self.iterations = iterations
        self.classes = classes
        self.restarts = restarts
        self.spread = spread
        self.guard = guard
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    @guarded
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from labelled sequences and, where y is partial or None, from the others."""
        self._check_rounds()
        require_number(self, "restarts", 1, whole=True)
        if self.spread is not None:
            require_number(self, "spread", 0, open_end=True)
        if not hasattr(self.base, "fit_expected"):
            raise NotSupported(f"EM needs a generative base learner such as HMM, not {type(self.base).__name__}")
        known, pool, classes = self._divide(X, y)
        if not known and not self.iterations:
            raise DataError("without labelled sequences there is nothing to learn in 0 iterations")
        base = fit_on(self.base, [X[i] for i in known], [y[i] for i in known], classes) if known else None
        weight = self._labelled_weight(y) if known else 0.0
        beginnings = self._beginnings(base, pool, classes) if weight < 1 else ()
        runs = [self._run(first, base, weight, pool, classes) for first in beginnings]
        best = max(runs, key=lambda run: run.objective, default=_Run(None, (), 0.0))
        self.base_, self.driven_, self.classes_, self.trace_ = base, best.driven, classes, best.trace
        self.run_objectives_ = tuple(run.objective for run in runs) if len(runs) > 1 else ()
        self.weight_ = weight
        return self

    def _divide(self, X: Any, y: Any) -> tuple[list[int], "_Pool", list[str]]:
        """Numbers of the labelled sequences, the other sequences, and the labels."""
        check_input(self, X, y)
        classes = list(self.classes) if self.classes is not None else told_labels(self.base, y)
        if not classes:
            raise DataError("no label is known: give labelled sequences, or `classes`")
        targets = encode_labels(y, [len(x) for x in X], classes)
        pooled = np.array([kind is not Signal.FULL for kind in targets.kinds])
        known, rest = np.flatnonzero(~pooled).tolist(), np.flatnonzero(pooled).tolist()
        allowed = None
        if Signal.PARTIAL in targets.kinds and targets.allowed is not None:
            allowed = targets.allowed[np.repeat(pooled, [len(x) for x in X])]
        return known, _Pool([X[i] for i in rest], allowed), classes

    def _beginnings(self, base: Any, pool: "_Pool", classes: list[str]) -> Iterator[Any]:
        """Scores of the first E step: those of the labelled data, or random ones for every restart."""
        if base is not None and pool.X:
            yield base.scores(pool.X)
        elif pool.X:
            rng = np.random.default_rng(self.random_state)
            offsets = sequence_offsets(pool.X)
            for _ in range(self.restarts):
                if self.spread is not None:
                    yield clone(self.base).fit_random(pool.X, classes, self.spread, rng).scores(pool.X)
                else:
                    yield self._task.start(offsets, rng.uniform(size=(int(offsets[-1]), len(classes))))

    def _run(self, first: Any, base: Any, weight: float, pool: "_Pool", classes: list[str]) -> "_Run":
        driven: Any = None
        encoded: Any = None  # the pool, as the driven model encodes it
        trace: list[EMStep] = []

        def expect() -> tuple[float, Any]:
            """The E step: objective and expected parts."""
            scores = first if driven is None else driven.scores(encoded)
            if driven is not None and base is not None:
                scores = first.mix(scores, weight)
            marginals = self._structure.marginals(pool.restrict(scores))
            prior = 0.0 if driven is None else driven.log_prior()
            return float(marginals.log_partition.sum()) + prior, marginals.parts

        with progress("EM", self.iterations, self.verbose) as tell:
            for iteration in range(1, self.iterations + 1):
                objective, parts = expect()
                trace.append(EMStep(iteration, objective))
                tell(iteration, f"objective {objective:.1f}")
                if driven is None:
                    driven = clone(self.base).fit_expected(pool.X, parts, classes)
                    encoded = driven.encode(pool.X)
                else:
                    driven.update_expected(encoded, parts)
        final = expect()[0] if base is None and self.restarts > 1 else 0.0
        return _Run(driven, tuple(trace), final)

    def _state(self) -> State:
        trace = [[s.iteration, s.objective] for s in self.trace_]
        return {"weight": self.weight_, "trace": trace, "run_objectives": list(self.run_objectives_)}, {}

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.weight_, self.trace_ = values["weight"], tuple(EMStep(*step) for step in values["trace"])
        self.run_objectives_ = tuple(values["run_objectives"])

    def explain(self, x: Any, position: int = 0, *, top: int = 10) -> Explanation:
        """Not offered for a mixture of two models."""
        check_is_fitted(self, "classes_")
        raise NotSupported("EM has no explain; ask one of its models, base_.explain(...)")

    def encode(self, X: Any) -> Encoded:
        """Not offered for a mixture of two models."""
        check_is_fitted(self, "classes_")
        raise NotSupported("EM has two models with an encoding each; encode with one of them, base_ or driven_")
