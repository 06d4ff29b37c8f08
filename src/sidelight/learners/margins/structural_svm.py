"""The structural support vector machine."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np

from ...declared import Bounds, declared
from ...errors import DataError, NotSupported
from ...kernels.compiling import Floats
from ...progress import progress
from ...running.digests import digest
from ...scorers.protocol import KeepsReady
from ...solvers import cutting_plane, exponentiated, subgradient
from ...solvers.certificate import Solution, Step, telling, warn_unconverged
from ...solvers.margin_constraints import BestSearch, Demand, Labelled, MarginInputs, costs
from ...solvers.working_sets import WorkingSets
from ..inputs import weighed
from ..learner import Learner
from ..model import Prepared, prepare
from ..parameters import LinearParameters, MarginParameters


@declared
class StructuralSVM(MarginParameters, LinearParameters, Learner):
    """Structural support vector machine.

        minimise  ‖w‖² / 2 + C Σ_i ℓ(max_y [Δ(y, y_i) + w·F(x_i, y)] - w·F(x_i, y_i))      (Eq. 2.14 of Chang 2011)

    Δ counts wrong labels; ℓ(ξ) = ξ², ξ or log(1 + e^ξ). `predict_marginals` gives the softmax of the scores, which are
    not calibrated.

    Attributes
    ----------
    classes_, weights_, converged_, trace_
    rows_ : int
        Outputs in the working sets.
    """

    C: Annotated[
        float,
        "How much a margin that is missed costs; larger fits the training data more closely.",
        Bounds(0, above=True),
    ] = 0.1
    solver: Annotated[
        Literal["dcd", "eg", "sgd"],
        '"dcd", cutting planes with dual coordinate descent; for comparison "eg", exponentiated gradient on '
        'the dual (hinge loss, label chains of order 1), and "sgd", averaged subgradient steps, of which the '
        "best average is kept (label chains).",
    ] = "dcd"
    warm_start: Annotated[
        bool, "Whether to begin from the working sets of the last fit, which must have had the same data."
    ] = False

    saved = ("converged_", "trace_")

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from inputs X and their outputs y.

        sample_weight : what C is multiplied by for each input, at least 0; None: 1 for all.
        """
        X, y, counts = weighed(self, X, y, sample_weight)
        if counts is not None and self.solver != "dcd":
            raise NotSupported(f"solver {self.solver!r} has no use for sample_weight; use solver='dcd'")
        prepared = prepare(self, X, y)
        cost = self.C * (np.ones(len(prepared.encoded)) if counts is None else counts)
        sets = self._first_sets(prepared, cost)
        with progress("StructuralSVM", None, self.verbose) as tell:
            solution = self._solve(prepared, sets, cost, telling(tell, self.tolerance))
        self._adopt(prepared.model(solution.weights))
        self._sets_ = sets if self.warm_start else None
        self.rows_ = sets.count
        self._data_ = _fingerprint(prepared) if self.warm_start else ""
        self.trace_, self.converged_ = solution.steps, solution.converged
        warn_unconverged("StructuralSVM", solution, "raise max_iterations, or lower C")
        return self

    def check_parameters(self) -> None:
        """Raise for a solver that does not go with the other parameters."""
        super().check_parameters()
        if self.solver == "eg" and self.loss != "hinge":
            raise NotSupported("solver 'eg' needs loss='hinge'; use solver='dcd' for other losses")
        if self.solver == "sgd" and self.loss == "logistic":
            raise NotSupported("solver 'sgd' needs a hinge loss; use solver='dcd' for the logistic one")
        if self.solver == "eg" and self.order == 2:
            raise NotSupported("solver 'eg' needs order=1; use solver='dcd' for order=2")
        if self.warm_start and self.solver != "dcd":
            raise NotSupported(f"solver {self.solver!r} has no warm start; use solver='dcd'")

    def _first_sets(self, prepared: Prepared, cost: Floats) -> WorkingSets:
        size = prepared.scorer.size
        known: WorkingSets | None = getattr(self, "_sets_", None)
        if self.solver == "eg" and not exponentiated.suits(prepared.scorer):
            raise NotSupported("solver 'eg' needs label chains of order 1; use solver='dcd'")
        if self.solver == "sgd" and getattr(prepared.scorer, "as_chain", lambda: None)() is not prepared.scorer:
            raise NotSupported("solver 'sgd' needs label chains; use solver='dcd'")
        if self.warm_start and known is not None:
            if _fingerprint(prepared) != self._data_:
                raise DataError("a warm start needs the data of the last fit: the same X, y and features")
            return known.recast(size, cost, loss=self.loss)
        return WorkingSets(size, cost, loss=self.loss)

    def _solve(self, prepared: Prepared, sets: WorkingSets, cost: Floats, on_step: Callable[[Step], None]) -> Solution:
        common: dict[str, Any] = {
            "tolerance": self.tolerance,
            "max_iterations": self.max_iterations,
            "seed": self.seed(),
            "on_step": on_step,
        }
        data = (prepared.scorer, prepared.encoded, prepared.known)
        if self.solver == "eg":
            return exponentiated.minimize_hinge(*data, C=self.C, n_jobs=self.n_jobs, **common)
        if self.solver == "sgd":
            squared = self.loss == "squared_hinge"
            return subgradient.minimize(*data, C=self.C, squared=squared, n_jobs=self.n_jobs, **common)
        structure = self.structure_
        batch = MarginInputs(KeepsReady(prepared.scorer), prepared.encoded, BestSearch(structure))
        demand = Labelled(batch, prepared.known, cost)
        return cutting_plane.minimize([demand], sets, epsilon=self.epsilon, check=self.check_inference, **common)


def svm_of(learner: Any, C: float) -> StructuralSVM:
    """Returns the structural SVM with the parameters that a learner shares with it, to compare that with."""
    shared = StructuralSVM().get_params().keys() & learner.get_params(deep=False).keys() - {"tolerance", "C"}
    return StructuralSVM(C=C, **{name: getattr(learner, name) for name in shared})


def solve(learner: Any, demands: Sequence[Demand], weights: int, seed: int) -> Solution:
    """Solve a problem of fixed outputs, or of outputs that are rejected, as `MarginParameters` of a learner ask."""
    return cutting_plane.minimize(
        demands, WorkingSets(weights, costs(demands), loss=learner.loss), tolerance=learner.tolerance,
        epsilon=learner.epsilon, max_iterations=learner.max_iterations, seed=seed, check=learner.check_inference,
    )  # fmt: skip


def _fingerprint(prepared: Prepared) -> str:
    """The same for two fits if they have the same sequences, labels and weights."""
    encoded, outputs = prepared.encoded, prepared.known.outputs.values
    inputs = [encoded.offsets, encoded.indptr, encoded.indices, encoded.values]
    return digest([prepared.classes, *inputs, outputs, *prepared.scorer.arrays().values()])
