"""What the large-margin learners share."""

from collections.abc import Sequence
from typing import Any, Literal

from sklearn.exceptions import ConvergenceWarning

from ...errors import DataError, warn
from ...features.encoded import State
from ...kernels.compiling import Floats
from ...progress import progress
from ...solvers import alternate
from ...solvers.alternate import Alternation, Round
from ...solvers.certificate import Step, warn_unconverged
from ...solvers.demands import Batch, by_structure
from ..learner import Learner, require_number

Loss = Literal["squared_hinge", "hinge"]


class MarginLearner(Learner[Any]):
    """What the large-margin learners share, beside what they share with others of their structure."""

    loss: Loss
    tolerance: float
    epsilon: float
    max_iterations: int
    check_inference: bool
    verbose: bool
    trace_: tuple[Step, ...]
    converged_: bool

    def _check_margins(self) -> None:
        if self.loss not in ("squared_hinge", "hinge"):
            raise DataError(f"loss must be 'squared_hinge' or 'hinge', got {self.loss!r}")
        require_number(self, "tolerance", 0, open_end=True)
        require_number(self, "epsilon", 0)
        require_number(self, "max_iterations", 1, whole=True)

    def _batch(self, prepared: Any) -> Batch:
        structure = self._structure
        return Batch(prepared.scorer, structure, prepared.encoded, by_structure(structure))

    def _state(self) -> State:
        values, arrays = super()._state()
        return {**values, "converged": self.converged_, "last_step": self.trace_[-1].as_list()}, arrays

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        super()._restore(values, arrays)
        self.converged_ = values["converged"]
        self.trace_ = (Step.from_list(values["last_step"]),)


class LatentMarginLearner(MarginLearner):
    """What large-margin learners with unknown outputs share: rounds of choosing these, and restarts."""

    change: float
    max_rounds: int
    restarts: int
    objective_: float
    rounds_: tuple[Round, ...]
    run_objectives_: tuple[float, ...]

    def _check_rounds(self) -> None:
        require_number(self, "change", 0, open_end=True)
        require_number(self, "max_rounds", 1, whole=True)
        require_number(self, "restarts", 1, whole=True)

    def _alternate(self, problem: alternate.Problem, start: Floats, seed: int) -> Alternation:
        with progress(type(self).__name__, None, self.verbose) as tell:

            def on_round(one: Round) -> None:
                tell(one.number, f"objective {one.objective:.6g}, at most {one.bound:.6g} after")

            return alternate.minimize(
                problem,
                start,
                change=self.change,
                max_rounds=self.max_rounds,
                tolerance=self.tolerance,
                epsilon=self.epsilon,
                max_iterations=self.max_iterations,
                seed=seed,
                check=self.check_inference,
                on_round=on_round,
            )

    def _take(self, weights: Floats) -> None:
        self.weights_ = weights

    def _keep_best(self, runs: Sequence[Alternation]) -> None:
        """Take over the run with the lowest objective."""
        best = min(runs, key=lambda run: run.objective)
        self._take(best.weights)
        self.objective_, self.rounds_ = best.objective, best.rounds
        self.converged_ = best.converged and best.last.converged
        self.run_objectives_ = tuple(run.objective for run in runs)
        self.trace_ = best.last.steps
        warn_unconverged(type(self).__name__, best.last, "raise max_iterations, or lower the costs")
        if not best.converged:
            warn(
                f"{type(self).__name__} still changed by more than `change` after {len(best.rounds)} rounds; "
                "raise max_rounds or change",
                ConvergenceWarning,
            )

    def _state(self) -> State:
        values, arrays = super()._state()
        rounds = [[one.number, one.objective, one.bound] for one in self.rounds_]
        values |= {"objective": self.objective_, "rounds": rounds}
        return {**values, "run_objectives": list(self.run_objectives_)}, arrays

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        super()._restore(values, arrays)
        self.objective_, self.run_objectives_ = values["objective"], tuple(values["run_objectives"])
        self.rounds_ = tuple(Round(*one) for one in values["rounds"])
