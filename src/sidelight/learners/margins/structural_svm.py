"""The structural support vector machine on label chains."""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, Literal, Self

import numpy as np

from ...errors import DataError, NotSupported
from ...progress import progress
from ...solvers import cutting_plane, exponentiated, subgradient
from ...solvers.certificate import Solution, Step, warn_unconverged
from ...solvers.demands import Labelled
from ...solvers.working_sets import WorkingSets
from ..labelled.linear import LinearLearner, Prepared
from ..learner import require_number
from ..tasks.task import Task
from .margin_learner import Loss, MarginLearner


class StructuralSVM(MarginLearner, LinearLearner):
    """Structural support vector machine on label chains.

        minimise  ‖w‖² / 2 + C Σ_i ℓ(max_y [Δ(y, y_i) + w·F(x_i, y)] - w·F(x_i, y_i))      (Eq. 2.14 of Chang 2011)

    Δ counts wrong labels; ℓ(ξ) = ξ² or ξ.

    Parameters
    ----------
    features, min_count, order, boundaries, all_weights, classes, task, random_state, verbose, n_jobs : as for `CRF`.
    C : how much a margin that is missed costs; larger fits the training data more closely.
    loss : "squared_hinge" or "hinge".
    tolerance : it stops when the duality gap is at most this share of the objective.
    epsilon : an output joins its working set if it misses the margin by so much more than those already there.
    max_iterations : searches through the data at most.
    check_inference : whether to raise an error if an output found before is ever worse than the one the search returns.
    solver : "dcd", cutting planes with dual coordinate descent; for comparison "bcfw", the same with block-coordinate
        Frank-Wolfe steps (hinge loss), "eg", exponentiated gradient on the dual (hinge loss, order 1), and "sgd",
        averaged subgradient steps, of which the best average is kept.
    warm_start : whether to begin from the working sets of the last fit, which must have had the same data.

    Attributes
    ----------
    classes_ : labels; weights_ : weights; converged_ : whether it reached the tolerance; trace_ : its steps, each with
    the dual objective, and the primal one and the gap where they were worked out; rows_ : outputs in the working sets.

    `predict_marginals` gives the softmax of the scores, which are not calibrated.
    """

    def __init__(
        self,
        features: Any = None,
        *,
        C: float = 0.1,
        loss: Loss = "squared_hinge",
        solver: Literal["dcd", "bcfw", "eg", "sgd"] = "dcd",
        tolerance: float = 0.01,
        epsilon: float = 0.01,
        max_iterations: int = 200,
        check_inference: bool = False,
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
        self.C = C
        self.loss = loss
        self.solver = solver
        self.tolerance = tolerance
        self.epsilon = epsilon
        self.max_iterations = max_iterations
        self.check_inference = check_inference
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
        """Learn from inputs X and their outputs y."""
        self._check_margins()
        require_number(self, "C", 0, open_end=True)
        self._check_solver()
        prepared = self._prepare(X, y)
        sets = self._first_sets(prepared)
        with progress("StructuralSVM", None, self.verbose) as tell:
            solution = self._solve(prepared, sets, lambda step: tell(step.iteration, str(step)))
        self._adopt(prepared)
        self._sets_ = sets if self.warm_start else None
        self.rows_ = sets.count
        self._data_ = _fingerprint(prepared) if self.warm_start else ""
        self.weights_, self.trace_, self.converged_ = solution.weights, solution.steps, solution.converged
        warn_unconverged("StructuralSVM", solution, "raise max_iterations, or lower C")
        return self

    def _check_solver(self) -> None:
        if self.solver not in ("dcd", "bcfw", "eg", "sgd"):
            raise DataError(f"solver must be 'dcd', 'bcfw', 'eg' or 'sgd', got {self.solver!r}")
        if self.solver in ("bcfw", "eg") and self.loss != "hinge":
            raise NotSupported(f"solver {self.solver!r} needs loss='hinge'; use solver='dcd' for the squared hinge")
        if self.solver == "eg" and self.order == 2:
            raise NotSupported("solver 'eg' needs order=1; use solver='dcd' for order=2")
        if self.warm_start and self.solver in ("eg", "sgd"):
            raise NotSupported(f"solver {self.solver!r} has no warm start; use solver='dcd'")

    def _first_sets(self, prepared: Prepared) -> WorkingSets:
        cost, size = np.full(len(prepared.encoded), float(self.C)), prepared.scorer.size
        squared, frank_wolfe = self.loss == "squared_hinge", self.solver == "bcfw"
        known: WorkingSets | None = getattr(self, "_sets_", None)
        if self.solver == "eg" and not exponentiated.suits(prepared.scorer):
            raise NotSupported("solver 'eg' needs label chains of order 1; use solver='dcd'")
        if self.solver == "sgd" and getattr(prepared.scorer, "as_chain", lambda: None)() is not prepared.scorer:
            raise NotSupported("solver 'sgd' needs label chains; use solver='dcd'")
        if self.warm_start and known is not None:
            if _fingerprint(prepared) != self._data_:
                raise DataError("a warm start needs the data of the last fit: the same X, y and features")
            return known.recast(size, cost, squared=squared, frank_wolfe=frank_wolfe)
        return WorkingSets(size, cost, squared=squared, frank_wolfe=frank_wolfe)

    def _solve(self, prepared: Prepared, sets: WorkingSets, on_step: Callable[[Step], None]) -> Solution:
        common: dict[str, Any] = {
            "tolerance": self.tolerance,
            "max_iterations": self.max_iterations,
            "seed": self._seed(),
            "on_step": on_step,
        }
        data = (prepared.scorer, prepared.encoded, prepared.known)
        if self.solver == "eg":
            return exponentiated.minimize_hinge(*data, C=self.C, n_jobs=self.n_jobs, **common)
        if self.solver == "sgd":
            squared = self.loss == "squared_hinge"
            return subgradient.minimize(*data, C=self.C, squared=squared, n_jobs=self.n_jobs, **common)
        demand = Labelled(self._batch(prepared), prepared.known, self.C)
        return cutting_plane.minimize([demand], sets, epsilon=self.epsilon, check=self.check_inference, **common)


def _fingerprint(prepared: Prepared) -> str:
    """The same for two fits if they have the same sequences, labels and weights."""
    encoded, digest = prepared.encoded, blake2b(repr(prepared.classes).encode())
    arrays = [encoded.offsets, encoded.indptr, encoded.indices, encoded.values, prepared.known.outputs.values]
    for array in (*arrays, *prepared.scorer.arrays().values()):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
