"""Linear-chain conditional random fields."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..errors import DataError, NotSupported
from ..features.encoded import State
from ..kernels.compiling import Floats
from ..progress import progress
from ..scorers.linear import LinearScorer
from ..solvers import exponentiated, lbfgs
from ..solvers.lbfgs import Solution, Step
from ..solvers.losses import LogLoss
from ..supervision import Signal, learns_from
from .linear import LinearLearner, Prepared

# Visiting one sequence at a time pays where there are many, and where the penalty is not negligible: beyond this
# length, or below this l2, "auto" takes L-BFGS.
_LONG = 2000
_WEAK = 0.01


@learns_from(Signal.FULL, Signal.PARTIAL)
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
        "lbfgs" does everything; "auto" takes the first where it applies, unless l2 < 0.01 or a sequence is longer
        than 2,000 tokens. Both stop by the same certificate, and warn if they do not reach it.
    tolerance : relative duality gap at which to stop; without an l2 penalty, and for partial labels, which make the
        loss non-convex, the largest entry of the (sub)gradient, relative to the number of tokens.
    max_iterations : passes or L-BFGS iterations.
    min_count : rarer attributes are dropped.
    order : 1 for label pairs, 2 for label triples as well.
    boundaries : whether first and last labels have weights.
    all_weights : weights for all (attribute, label) pairs, not only for those observed.
    classes : all labels, where y may lack some.
    warm_start : go on from the weights of the last fit, where it saw the same features and labels.
    random_state : order of the visits of "eg".
    verbose : progress bar on a terminal, log lines elsewhere.
    n_jobs : threads; -1 is every core.

    Attributes
    ----------
    classes_ : labels; weights_ : weights; solver_ : the solver that ran; converged_ : whether it reached the
    tolerance; trace_ : its steps, each with objective, gap and residual.
    """

    def __init__(
        self,
        features: Any = None,
        *,
        l1: float = 0.0,
        l2: float = 1.0,
        solver: Literal["auto", "eg", "lbfgs"] = "auto",
        tolerance: float = 1e-3,
        max_iterations: int = 500,
        min_count: int = 1,
        order: int = 1,
        boundaries: bool = True,
        all_weights: bool = False,
        classes: Sequence[str] | None = None,
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
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from sequences X and what is known of their labels y."""
        for name in ("l1", "l2"):
            if not 0 <= getattr(self, name) < np.inf:
                raise DataError(f"{name} must be a finite number of at least 0, got {getattr(self, name)!r}")
        if not self.tolerance > 0:
            raise DataError(f"tolerance must be positive, got {self.tolerance!r}")
        if not self.max_iterations >= 1:
            raise DataError(f"max_iterations must be at least 1, got {self.max_iterations!r}")
        prepared = self._prepare(X, y)
        solver = self._choose_solver(prepared.targets.full, int(np.diff(prepared.encoded.offsets).max()))
        loss = LogLoss(prepared.scorer, self._structure, prepared.encoded, prepared.targets)
        start = self._start(prepared)
        with progress("CRF", None, self.verbose) as tell:

            def on_step(step: Step) -> None:
                tell(step.iteration, str(step))

            solution = self._solve(solver, loss, start, on_step)
        self._adopt(prepared)
        self.solver_ = solver
        self.weights_ = solution.weights
        self.trace_ = solution.steps
        self.converged_ = solution.converged
        if not solution.converged:
            warnings.warn(
                f"CRF stopped before its tolerance, at {solution.last} after {solution.last.iteration} iterations; "
                "raise max_iterations or l2, or try the other solver",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _start(self, prepared: Prepared) -> Floats:
        """Zero, or the last weights if they belong to the same features and labels."""
        start = np.zeros(prepared.scorer.size)
        if not self.warm_start or not hasattr(self, "weights_"):
            return start
        same = prepared.classes == self.classes_ and _equal_states(prepared.encoder.state(), self.encoder_.state())
        if not same or len(self.weights_) != len(start):
            raise DataError("warm_start needs the features and labels of the last fit; use a new CRF for other data")
        return np.asarray(self.weights_, np.float64)

    def _choose_solver(self, full: bool, longest: int) -> str:
        obstacles = [
            reason
            for reason, holds in (
                ("l1 = 0", self.l1 == 0),
                ("l2 > 0", self.l2 > 0),
                ("order = 1", self.order == 1),
                ("full labels", full),
            )
            if not holds
        ]
        if self.solver == "auto":
            return "lbfgs" if obstacles or longest > _LONG or self.l2 < _WEAK else "eg"
        if self.solver == "eg" and obstacles:
            raise NotSupported(f"solver 'eg' needs {' and '.join(obstacles)}; use solver='lbfgs'")
        if self.solver not in ("eg", "lbfgs"):
            raise DataError(f"solver must be 'auto', 'eg' or 'lbfgs', got {self.solver!r}")
        return self.solver

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
        convex = loss.targets.full
        certified = convex and self.l2 > 0
        return lbfgs.minimize(
            loss,
            start,
            l1=self.l1,
            l2=self.l2,
            tolerance=self.tolerance if certified else self.tolerance * loss.encoded.tokens,
            max_iterations=self.max_iterations,
            convex=convex,
            on_step=on_step,
        )

    def _state(self) -> State:
        values, arrays = super()._state()
        last = self.trace_[-1]
        numbers = [None if np.isnan(v) else v for v in (last.objective, last.gap, last.residual)]
        step = [last.iteration, *numbers]
        return {**values, "solver": self.solver_, "converged": self.converged_, "last_step": step}, arrays

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        super()._restore(values, arrays)
        self.solver_, self.converged_ = values["solver"], values["converged"]
        iteration, *numbers = values["last_step"]
        self.trace_ = (Step(iteration, *(float("nan") if v is None else v for v in numbers)),)


def _equal_states(one: Any, other: Any) -> bool:
    values, arrays = one
    return bool(
        values == other[0]
        and arrays.keys() == other[1].keys()
        and all(np.array_equal(arrays[k], other[1][k]) for k in arrays)
    )
