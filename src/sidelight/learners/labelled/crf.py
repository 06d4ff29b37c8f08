"""Conditional random fields: log-linear models of any task."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal, Self

import numpy as np

from ...declared import Bounds, declared
from ...errors import DataError, NotSupported
from ...estimator import clone
from ...features.encoded import same_states
from ...kernels.compiling import Floats
from ...progress import progress
from ...running.places import current
from ...solvers import exponentiated, lbfgs, segment_ascent, sgd
from ...solvers.certificate import Solution, Step, telling, warn_unconverged
from ...solvers.expected import DescentFit, ToFit
from ...solvers.losses import LogLoss
from ...solvers.segment_start import SegmentStart
from ..inputs import by_weight, weighed
from ..learner import Learner
from ..model import Prepared, choose_encoder, lay_out, prepare
from ..parameters import LayoutParameters, LinearParameters

# Where visiting one sequence after another does not pay, "auto" takes L-BFGS: with sequences longer than this, with a
# mean squared length of a token's features above this times l2, or with so many labels that the label pairs of the
# sequences outnumber the labels of the tokens by this factor, since they are kept in memory. Segments often bear a
# smaller l2.
_LONGEST = 2000
_STEEPEST, _STEEPEST_SEGMENTS = 500.0, 2000.0
_WIDEST = 4.0
# Segments show only on the way whether it pays: after this many passes L-BFGS goes on.
_PASSES = 30
# And where its dual would take more than this many bytes.
_LARGEST_DUAL = 1 << 30
# And where its numbers, of single precision, are too coarse for the tolerance.
_FINEST = 1e-7


def _visiting_solver(scorer: Any) -> Any:
    """The solver with compiled passes for a scorer, which visit one input after another; None where there is none."""
    return next((solver for solver in (exponentiated, segment_ascent) if solver.suits(scorer)), None)


@declared
class LogLinear(LayoutParameters, Learner):
    """Penalised log-likelihood of what is known; a subclass says what its task and its other parameters are."""

    l1: Annotated[float, "Penalty of the sum of the weights' sizes; c1 of CRFsuite.", Bounds(0)] = 0.0
    l2: Annotated[float, "Penalty of the sum of the squared weights; c2 of CRFsuite.", Bounds(0)] = 0.1
    tolerance: Annotated[
        float,
        "Relative duality gap at which to stop. Without an l2 penalty, and for partial labels, which make the loss "
        "non-convex, it stops after ten iterations that lower the objective by less than a tenth of that.",
        Bounds(0, above=True),
    ] = 1e-3
    max_iterations: Annotated[int, "Passes over the data or L-BFGS iterations, at most.", Bounds(1)] = 500

    saved = ("solver_", "converged_", "trace_")
    # What presets do not ask for.
    solver, warm_start = "lbfgs", False

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from inputs X and what is known of their outputs y.

        sample_weight : what the likelihood of each input counts, at least 0; None: 1 for all.
        """
        X, y, counts = by_weight(*weighed(self, X, y, sample_weight))
        prepared = prepare(self, X, y)
        solver = self.choose_solver(prepared, counts)
        loss = LogLoss(prepared.scorer, self.structure_, prepared.encoded, prepared.known, counts)
        with progress(type(self).__name__, None, self.verbose) as tell:
            solution = self.minimize(solver, loss, self._start(prepared, loss), telling(tell, self.tolerance))
        self.adopt(prepared, solution, solver)
        warn_unconverged(type(self).__name__, solution, "raise max_iterations or l2, or try the other solver")
        return self

    def fitting(self, data: ToFit) -> DescentFit:
        """Returns the M step of learners around this one."""
        if data.initial is not None:
            raise NotSupported(f"{type(self).__name__} begins with labels; only HMM can begin with a model")
        if getattr(self.task_, "order", 1) != 1:
            raise NotSupported(f"{type(self).__name__} of order 2 cannot learn from expected parts; use order 1")
        learner: LogLinear = clone(self).set_params(classes=list(data.classes))
        everything, count, task = [*data.X, *data.pool], len(data.X), learner.task_
        sizes = task.sizes(everything)
        targets = task.known([*data.y, *data.known], sizes, data.classes)
        whole = lay_out(learner, choose_encoder(learner, everything), everything, targets, list(data.classes))
        prepared = whole._replace(scorer=whole.scorer.for_rows())
        structure, known, labels = task.structure(data.n_jobs).for_rows(), None, None
        if count:
            labels = task.known(data.y, sizes[:count], data.classes)
            known = LogLoss(prepared.scorer, structure, prepared.encoded.sequences(0, count), labels, data.counts)
        pool, judged = prepared.encoded.sequences(count, len(everything)), None
        if data.companions is not None:
            judged = data.companions.loss(prepared.scorer, structure, prepared.encoder)
        found = DescentFit(
            learner, partial(learner.adopt, whole), prepared.scorer, structure, pool, known, data.weights, judged
        )
        if known is not None and data.labelled_first:
            solver = learner.choose_solver(prepared._replace(known=labels), data.counts)
            found.finish(learner.minimize(solver, known, learner.first_weights(known), lambda step: None), solver)
        elif not count and data.weights.partial and data.labelled_first:
            first, seen = data.weights.partial, targets.inputs(0, data.weights.partial)
            partial_loss = LogLoss(prepared.scorer, structure, pool.sequences(0, first), seen)
            found.finish(Solution(learner.first_weights(partial_loss), (), False), "lbfgs")
        if judged is not None:
            found.settle()
        return found

    def adopt(self, prepared: Prepared, solution: Solution, solver: str) -> None:
        """Take over a model with the weights that a solver found, or two, one after the other."""
        self._adopt(prepared.model(solution.weights))
        self.trace_, self.converged_ = solution.steps, solution.converged
        self.solver_ = solver if solution.went_on is None else f"{solver}, then {solution.went_on}"

    def _start(self, prepared: Prepared, loss: LogLoss[Any]) -> Floats:
        """The last weights, if `warm_start` asks for them and they belong to the same features and labels."""
        if not self.warm_start or not hasattr(self, "model_"):
            return self.first_weights(loss)
        same = (
            prepared.classes == self.labels_
            and same_states(prepared.encoder.state(), self.encoder_.state())
            and same_states(({}, prepared.scorer.arrays()), ({}, self.scorer_.arrays()))
        )
        if not same:
            raise DataError("warm_start needs the features and labels of the last fit; use a new CRF for other data")
        return np.asarray(self.weights_, np.float64)

    def first_weights(self, loss: LogLoss[Any]) -> Floats:
        """The weights that a solver begins with: zero, but for segments with partial labels those of `SegmentStart`."""
        if loss.known.full or not segment_ascent.suits(loss.scorer):
            return np.zeros(loss.scorer.size)
        return SegmentStart(loss, self.l1, self.l2, self.max_iterations).weights()

    def choose_solver(self, prepared: Prepared, counts: Floats | None = None) -> str:
        """Returns the solver to use, by what it is to be used on; counts: what each input counts, None for 1."""
        penalised = {"l1 = 0": self.l1 == 0, "l2 > 0": self.l2 > 0, "no sample_weight": counts is None}
        visited = _visiting_solver(prepared.scorer) is not None
        suited = {"label chains of order 1 or segments of several labels": visited, "full labels": prepared.known.full}
        needs = penalised if self.solver == "sgd" else penalised | suited
        obstacles = [reason for reason, holds in needs.items() if not holds]
        if self.solver == "auto":
            alone = current().workers is None  # other processes could not visit one sequence after another
            return "eg" if alone and not obstacles and self._suits_visits(prepared) else "lbfgs"
        if self.solver in ("eg", "sgd") and obstacles:
            raise NotSupported(f"solver {self.solver!r} needs {' and '.join(obstacles)}; use solver='lbfgs'")
        return self.solver

    def _suits_visits(self, prepared: Prepared) -> bool:
        """Whether exponentiated gradient, which visits one sequence after another, is likely the faster solver.

        Its dual must fit into memory, which is asked first: what is on disk stays there otherwise.
        """
        encoded, labels, visiting = prepared.encoded, len(prepared.classes), _visiting_solver(prepared.scorer)
        if visiting.dual_bytes(prepared.scorer, encoded) > _LARGEST_DUAL or self.tolerance < _FINEST:
            return False
        values = encoded.values
        squares = float(values @ values) if len(values) else float(encoded.entries)
        return bool(
            np.diff(encoded.offsets).max() <= _LONGEST
            and squares / encoded.tokens <= (_STEEPEST_SEGMENTS if visiting is segment_ascent else _STEEPEST) * self.l2
            and len(encoded) * labels <= _WIDEST * encoded.tokens
        )

    def minimize(self, solver: str, loss: LogLoss[Any], start: Floats, on_step: Callable[[Step], None]) -> Solution:
        """Returns the weights of least penalised loss."""
        common: dict[str, Any] = {
            "l2": float(self.l2), "tolerance": self.tolerance, "max_iterations": self.max_iterations, "on_step": on_step
        }  # fmt: skip
        if solver == "eg":
            visiting = _visiting_solver(loss.scorer)
            if visiting is segment_ascent and self.solver == "auto":
                common["passes"] = _PASSES
            solution: Solution = visiting.minimize(loss, start, seed=self.seed(), **common)
            return solution
        if solver == "sgd":
            return sgd.minimize(loss, start, seed=self.seed(), **common)
        return lbfgs.minimize(loss, start, l1=float(self.l1), convex=loss.known.full, **common)


@declared
class CRF(LinearParameters, LogLinear):
    """Conditional random field on label chains, or on what another task predicts.

        minimise  Σ_i [log Z(x_i) - log Z(x_i, y_i)] + l1 ‖w‖₁ + l2 ‖w‖²

    Z(x, y) sums over the outputs that agree with y, so partial labels are learned from by the likelihood of their
    completions.

    Attributes
    ----------
    classes_, weights_, solver_, converged_, trace_
    """

    solver: Annotated[
        Literal["auto", "eg", "lbfgs", "sgd"],
        '"eg", exponentiated gradient on the dual, is the fast one, for l1 = 0, l2 > 0, full labels, and label chains '
        'of order 1 or segments; "lbfgs" does everything; "auto" takes the first where it applies and is likely the '
        "faster one (not with very long sequences, a tiny l2 for the size of the features, hundreds of labels on short "
        "sequences, a tolerance below 1e-7, on a cluster, or where its dual, 8 bytes for each token and label, of "
        "segments 24, would take more than 1 GiB); on segments, L-BFGS goes on where 30 passes of it were not enough, "
        'and `solver_` is "eg, then lbfgs". '
        '"sgd", averaged stochastic gradient steps, is there for comparison, for l1 = 0 and l2 > 0, '
        "and needs hundreds of passes for a gap of a thousandth. All stop by the same certificate, and warn if they "
        "do not reach it.",
    ] = "auto"
    warm_start: Annotated[
        bool, "Whether to go on from the weights of the last fit, where it saw the same features and labels."
    ] = False
