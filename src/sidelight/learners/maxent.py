"""Maximum entropy classification: the conditional random field of one decision."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..features.encoded import State
from ..progress import progress
from ..solvers import lbfgs
from ..solvers.certificate import Step, warn_unconverged
from ..solvers.losses import LogLoss
from ..supervision import Signal, learns_from
from .base import require_number
from .documents import DocumentLearner


@learns_from(Signal.FULL, Signal.PARTIAL)
class MaxEnt(DocumentLearner):
    """Multinomial logistic regression over documents.

        minimise  Σ_i [log Σ_y exp s(x_i, y) - log Σ_{y allowed} exp s(x_i, y)] + l1 ‖w‖₁ + l2 ‖w‖²

    X is a list of documents, each a list of words (their counts are the features) or a feature dict, or a matrix with
    a row for every document. y holds a label for each, or a set of labels of which one is right.

    Parameters
    ----------
    l1, l2 : penalties; l2 is 1 / (2 C) of scikit-learn's LogisticRegression. Biases are penalised as well.
    tolerance : relative duality gap at which to stop; without an l2 penalty, and for sets of labels, which make the
        loss non-convex, ten iterations that lower the objective by less than a tenth of that.
    max_iterations : L-BFGS iterations.
    min_count : attributes of fewer documents are dropped.
    bias : whether labels have a weight of their own.
    all_weights : weights for all (attribute, label) pairs; else only for those observed.
    classes : all labels, where y may lack some.
    verbose : progress bar on a terminal, log lines elsewhere.
    n_jobs : threads; -1 is every core.

    Attributes
    ----------
    classes_ : labels; weights_ : weights; converged_ : whether the solver reached the tolerance; trace_ : its steps,
    each with objective, dual, gap and residual.
    """

    def __init__(
        self,
        *,
        l1: float = 0.0,
        l2: float = 1.0,
        tolerance: float = 1e-3,
        max_iterations: int = 500,
        min_count: int = 1,
        bias: bool = True,
        all_weights: bool = True,
        classes: Sequence[str] | None = None,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.l1 = l1
        self.l2 = l2
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.min_count = min_count
        self.bias = bias
        self.all_weights = all_weights
        self.classes = classes
        self.verbose = verbose
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from documents X and what is known of their labels y."""
        require_number(self, "l1", 0)
        require_number(self, "l2", 0)
        require_number(self, "tolerance", 0, open_end=True)
        require_number(self, "max_iterations", 1, whole=True)
        prepared = self._prepare(X, y, bias=bool(self.bias))
        loss = LogLoss(prepared.scorer, self._structure, prepared.encoded, prepared.targets)
        with progress("MaxEnt", None, self.verbose) as tell:
            solution = lbfgs.minimize(
                loss,
                np.zeros(prepared.scorer.size),
                l1=self.l1,
                l2=self.l2,
                tolerance=self.tolerance,
                max_iterations=self.max_iterations,
                convex=prepared.targets.full,
                on_step=lambda step: tell(step.iteration, str(step)),
            )
        self._adopt(prepared)
        self.weights_, self.trace_, self.converged_ = solution.weights, solution.steps, solution.converged
        warn_unconverged("MaxEnt", solution, "raise max_iterations or l2")
        return self

    def _state(self) -> State:
        values, arrays = super()._state()
        return {**values, "converged": self.converged_, "last_step": self.trace_[-1].as_list()}, arrays

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        super()._restore(values, arrays)
        self.converged_ = values["converged"]
        self.trace_ = (Step.from_list(values["last_step"]),)
