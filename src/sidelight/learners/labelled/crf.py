"""Linear-chain conditional random fields."""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np

from ...errors import DataError, NotSupported
from ...features.encoded import Encoded, State
from ...kernels.compiling import Floats
from ...progress import progress
from ...scorers.linear import LinearScorer
from ...solvers import exponentiated, lbfgs
from ...solvers.certificate import Solution, Step, warn_unconverged
from ...solvers.losses import LogLoss
from ..learner import require_number
from ..tasks.task import Task
from .linear import LinearLearner, Prepared

# Where visiting one sequence after another does not pay, "auto" takes L-BFGS: with sequences longer than this, with a
# mean squared length of a token's features above this times l2, or with so many labels that the label pairs of the
# sequences outnumber the labels of the tokens by this factor, since they are kept in memory.
_LONGEST = 2000
_STEEPEST = 500.0
_WIDEST = 4.0


class CRF(LinearLearner):
    """Conditional random field on label chains.

        minimise  Σ_i [log Z(x_i) - log Z(x_i, y_i)] + l1 ‖w‖₁ + l2 ‖w‖²

    Z(x, y) sums over the label sequences that agree with y, so partial labels are learned from by the likelihood of
    their completions. `l1` and `l2` mean what c1 and c2 mean in CRFsuite.

    Parameters
    ----------
    features : templates over the token columns (text or expressions), None for a default set; must be None where X
        holds feature dicts or arrays.
    l1, l2 : penalties.
    solver : "eg", exponentiated gradient on the dual, is the fast one, for l1 = 0, l2 > 0, order 1 and full labels;
        "lbfgs" does everything; "auto" takes the first where it applies and is likely the faster one (not with very
        long sequences, a tiny l2 for the size of the features, or hundreds of labels on short sequences). Both stop
        by the same certificate, and warn if they do not reach it.
    tolerance : relative duality gap at which to stop; without an l2 penalty, and for partial labels, which make the
        loss non-convex, ten iterations that lower the objective by less than a tenth of that.
    max_iterations : passes or L-BFGS iterations.
    min_count : rarer attributes are dropped.
    order : 1 for label pairs, 2 for label triples as well.
    boundaries : whether first and last labels have weights.
    all_weights : weights for all (attribute, label) pairs, not only for those observed.
    classes : all labels, where y may lack some.
    task : what is predicted; None labels sequences, `Segmenting()` cuts them into segments, `Classifying()` is for
        documents. `order` and `boundaries` are those of labelling.
    warm_start : go on from the weights of the last fit, where it saw the same features and labels.
    random_state : order of the visits of "eg".
    verbose : progress bar on a terminal, log lines elsewhere.
    n_jobs : threads; -1 is every core.

    Attributes
    ----------
    classes_ : labels; weights_ : weights; solver_ : the solver that ran; converged_ : whether it reached the
    tolerance; trace_ : its steps, each with objective, dual, gap and residual.
    """

    def __init__(
        self,
        features: Any = None,
        *,
        l1: float = 0.0,
        l2: float = 0.1,
        solver: Literal["auto", "eg", "lbfgs"] = "auto",
        tolerance: float = 1e-3,
        max_iterations: int = 500,
        min_count: int = 1,
        order: int = 1,
        boundaries: bool = True,
        all_weights: bool = False,
        classes: Sequence[str] | None = None,
        task: Task | None = None,
        warm_start: bool = False,
        random_state: int | None = 0,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.features = features
        self.l1 = l1
        self.l2 = l2
        self.solver = solver
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.min_count = min_count
        self.order = order
        self.boundaries = boundaries
        self.all_weights = all_weights
        self.classes = classes
        self.task = task
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from inputs X and what is known of their outputs y."""
        self._check_numbers()
        prepared = self._prepare(X, y)
        solver = self._choose_solver(prepared)
        loss = LogLoss(prepared.scorer, self._structure, prepared.encoded, prepared.known)
        start = self._start(prepared)
        with progress(type(self).__name__, None, self.verbose) as tell:

            def on_step(step: Step) -> None:
                tell(step.iteration, str(step))

            solution = self._solve(solver, loss, start, on_step)
        self._adopt(prepared)
        self.solver_ = solver
        self.weights_ = solution.weights
        self.trace_ = solution.steps
        self.converged_ = solution.converged
        warn_unconverged(type(self).__name__, solution, "raise max_iterations or l2, or try the other solver")
        return self

    def _check_numbers(self) -> None:
        require_number(self, "l1", 0)
        require_number(self, "l2", 0)
        require_number(self, "tolerance", 0, open_end=True)
        require_number(self, "max_iterations", 1, whole=True)

    def _start(self, prepared: Prepared) -> Floats:
        """Zero, or the last weights if they belong to the same features and labels."""
        start = np.zeros(prepared.scorer.size)
        if not self.warm_start or not hasattr(self, "weights_"):
            return start
        same = (
            prepared.classes == self.classes_
            and _equal_states(prepared.encoder.state(), self.encoder_.state())
            and _equal_states(({}, prepared.scorer.arrays()), ({}, self.scorer_.arrays()))
        )
        if not same:
            raise DataError("warm_start needs the features and labels of the last fit; use a new CRF for other data")
        return np.asarray(self.weights_, np.float64)

    def _choose_solver(self, prepared: Prepared) -> str:
        obstacles = [
            reason
            for reason, holds in (
                ("l1 = 0", self.l1 == 0),
                ("l2 > 0", self.l2 > 0),
                ("label chains of order 1", exponentiated.suits(prepared.scorer)),
                ("full labels", prepared.known.full),
            )
            if not holds
        ]
        if self.solver == "auto":
            return "lbfgs" if obstacles or not self._suits_visits(prepared.encoded, len(prepared.classes)) else "eg"
        if self.solver == "eg" and obstacles:
            raise NotSupported(f"solver 'eg' needs {' and '.join(obstacles)}; use solver='lbfgs'")
        if self.solver not in ("eg", "lbfgs"):
            raise DataError(f"solver must be 'auto', 'eg' or 'lbfgs', got {self.solver!r}")
        return self.solver

    def _suits_visits(self, encoded: Encoded, labels: int) -> bool:
        """Whether exponentiated gradient, which visits one sequence after another, is likely the faster solver."""
        values = encoded.values
        squares = float(values @ values) if len(values) else float(len(encoded.indices))
        return bool(
            np.diff(encoded.offsets).max() <= _LONGEST
            and squares / encoded.tokens <= _STEEPEST * self.l2
            and len(encoded) * labels <= _WIDEST * encoded.tokens
        )

    def _solve(self, solver: str, loss: LogLoss[LinearScorer], start: Floats, on_step: Any) -> Solution:
        if solver == "eg":
            return exponentiated.minimize(
                loss,
                start,
                l2=self.l2,
                tolerance=self.tolerance,
                max_iterations=self.max_iterations,
                seed=self._seed(),
                on_step=on_step,
            )
        return lbfgs.minimize(
            loss,
            start,
            l1=self.l1,
            l2=self.l2,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            convex=loss.known.full,
            on_step=on_step,
        )

    def _state(self) -> State:
        values, arrays = super()._state()
        told = {"solver": self.solver_, "converged": self.converged_, "last_step": self.trace_[-1].as_list()}
        return {**values, **told}, arrays

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        super()._restore(values, arrays)
        self.solver_, self.converged_ = values["solver"], values["converged"]
        self.trace_ = (Step.from_list(values["last_step"]),)


def _equal_states(one: Any, other: Any) -> bool:
    values, arrays = one
    return bool(
        values == other[0]
        and arrays.keys() == other[1].keys()
        and all(np.array_equal(arrays[k], other[1][k]) for k in arrays)
    )
