"""Expectation-maximisation for generative models, with labelled and unlabelled data.

    E  μ = marginals of β θ_0 + (1 - β) θ on the unlabelled sequences      M  θ = the model estimated from counts μ

With β = 0, and a base that counts every word as itself (`HMM(rare=0)`), every round raises Σ_U log P(x) plus the
log-prior of the smoothing. With `rare` above 0 that is not so, and a round may lower it. With labelled data, β is the
weight of the model learned from them, as in `Codl`.
"""

from dataclasses import dataclass
from typing import Any, Self

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..errors import DataError, NotSupported
from ..features.encoded import Encoded, State
from ..progress import progress
from ..supervision import Signal, learns_from
from .base import Explanation
from .mixture import Mixture, fit_on, split_known, told_labels


@dataclass(frozen=True)
class EMStep:
    """One round: Σ_U log Z of the round's model, plus its log-prior."""

    iteration: int
    objective: float


@learns_from(Signal.FULL, Signal.NOTHING)
class EM(Mixture):
    """Soft EM on a generative base learner.

    Parameters
    ----------
    base : a learner that can be fitted to expected parts, such as `HMM`.
    balance : β, the weight of the model learned from labelled data.
    iterations : rounds.
    classes : all labels; needed where nothing is labelled.
    random_state : where nothing is labelled, of the first scores.
    verbose, n_jobs : as for `CRF`.

    Attributes
    ----------
    base_, driven_ : the models from labelled and from unlabelled data; trace_ : an `EMStep` for each round.
    """

    def __init__(
        self,
        base: Any,
        *,
        balance: float = 0.5,
        iterations: int = 5,
        classes: Any = None,
        random_state: int = 0,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.base = base
        self.balance = balance
        self.iterations = iterations
        self.classes = classes
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from labelled sequences and, where y is None, from unlabelled ones."""
        self._check_rounds()
        if not hasattr(self.base, "fit_expected"):
            raise NotSupported(f"EM needs a generative base learner such as HMM, not {type(self.base).__name__}")
        known, rest = split_known(self, X, y)
        classes = list(self.classes) if self.classes is not None else told_labels(self.base, y)
        if not classes:
            raise DataError("no label is known: give labelled sequences, or `classes`")
        if not known and not self.iterations:
            raise DataError("without labelled sequences there is nothing to learn in 0 iterations")
        base = fit_on(self.base, [X[i] for i in known], [y[i] for i in known], classes) if known else None
        weight = self.balance if known else 0.0
        driven, trace = self._rounds(base, weight, [X[i] for i in rest], classes)
        self.base_, self.driven_, self.classes_, self.trace_ = base, driven, classes, tuple(trace)
        self.weight_ = weight
        return self

    def _rounds(self, base: Any, weight: float, pool: list[Any], classes: list[str]) -> tuple[Any, list[EMStep]]:
        driven, trace = None, []
        constant = None if base is None or not pool else base.scores(pool)
        with progress("EM", self.iterations, self.verbose) as tell:
            for iteration in range(1, self.iterations + 1 if pool else 1):
                scores = self._mixed(constant, driven, weight, pool, len(classes))
                marginals = self._structure.marginals(scores)
                objective = float(marginals.log_partition.sum())
                objective += driven.log_prior() if driven is not None else 0.0
                trace.append(EMStep(iteration, objective))
                tell(iteration, f"objective {objective:.1f}")
                driven = clone(self.base).fit_expected(pool, marginals.parts, classes)
        return driven, trace

    def _state(self) -> State:
        return {"weight": self.weight_, "trace": [[s.iteration, s.objective] for s in self.trace_]}, {}

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.weight_, self.trace_ = values["weight"], tuple(EMStep(*step) for step in values["trace"])

    def explain(self, x: Any, position: int, *, top: int = 10) -> Explanation:
        """Not offered for a mixture of two models."""
        check_is_fitted(self, "classes_")
        raise NotSupported("EM has no explain; ask one of its models, base_.explain(...)")

    def encode(self, X: Any) -> Encoded:
        """Not offered for a mixture of two models."""
        check_is_fitted(self, "classes_")
        raise NotSupported("EM has two models with an encoding each; encode with one of them, base_ or driven_")
