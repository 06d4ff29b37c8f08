"""Conditional random fields: log-linear models of any task."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

import numpy as np
from sklearn.base import clone

from ...errors import DataError, NotSupported
from ...features.encoded import Encoded
from ...kernels.compiling import Floats
from ...progress import progress
from ...solvers import exponentiated, lbfgs
from ...solvers.certificate import Solution, Step, penalty, warn_unconverged
from ...solvers.expected import Expected, ToFit
from ...solvers.losses import ExpectedLoss, LogLoss
from ..learner import Learner
from ..model import Prepared, choose_encoder, lay_out, prepare
from ..parameters import LayoutParameters, LinearParameters, declared, require_number

# Where visiting one sequence after another does not pay, "auto" takes L-BFGS: with sequences longer than this, with a
# mean squared length of a token's features above this times l2, or with so many labels that the label pairs of the
# sequences outnumber the labels of the tokens by this factor, since they are kept in memory.
_LONGEST = 2000
_STEEPEST = 500.0
_WIDEST = 4.0


@declared
class LogLinear(LayoutParameters, Learner):
    """Penalised log-likelihood of what is known; a subclass says what its task and its other parameters are."""

    l1: Annotated[float, "Penalty of the sum of the weights' sizes; c1 of CRFsuite."] = 0.0
    l2: Annotated[float, "Penalty of the sum of the squared weights; c2 of CRFsuite."] = 0.1
    tolerance: Annotated[
        float,
        "Relative duality gap at which to stop. Without an l2 penalty, and for partial labels, which make the loss "
        "non-convex, it stops after ten iterations that lower the objective by less than a tenth of that.",
    ] = 1e-3
    max_iterations: Annotated[int, "Passes over the data or L-BFGS iterations, at most."] = 500

    saved = ("solver_", "converged_", "trace_")
    # What presets do not ask for.
    solver, warm_start = "lbfgs", False

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from inputs X and what is known of their outputs y."""
        self.check_numbers()
        prepared = prepare(self, X, y)
        solver = self.choose_solver(prepared)
        loss = LogLoss(prepared.scorer, self.structure_, prepared.encoded, prepared.known)
        start = self._start(prepared)
        with progress(type(self).__name__, None, self.verbose) as tell:
            solution = self.minimize(solver, loss, start, lambda step: tell(step.iteration, str(step)))
        self.adopt(prepared, solution, solver)
        warn_unconverged(type(self).__name__, solution, "raise max_iterations or l2, or try the other solver")
        return self

    def fitting(self, data: ToFit) -> "Descent":
        """Returns the M step of learners around this one."""
        return Descent(self, data)

    def adopt(self, prepared: Prepared, solution: Solution, solver: str) -> None:
        """Take over a model with the weights that a solver found."""
        self._adopt(prepared.model(solution.weights))
        self.trace_, self.converged_, self.solver_ = solution.steps, solution.converged, solver

    def check_numbers(self) -> None:
        """Raise `DataError` for parameters that make no sense."""
        require_number(self, "l1", 0)
        require_number(self, "l2", 0)
        require_number(self, "tolerance", 0, open_end=True)
        require_number(self, "max_iterations", 1, whole=True)

    def _start(self, prepared: Prepared) -> Floats:
        """Zero, or the last weights if they belong to the same features and labels."""
        start = np.zeros(prepared.scorer.size)
        if not self.warm_start or not hasattr(self, "model_"):
            return start
        same = (
            prepared.classes == self.classes_
            and _equal_states(prepared.encoder.state(), self.encoder_.state())
            and _equal_states(({}, prepared.scorer.arrays()), ({}, self.scorer_.arrays()))
        )
        if not same:
            raise DataError("warm_start needs the features and labels of the last fit; use a new CRF for other data")
        return np.asarray(self.weights_, np.float64)

    def choose_solver(self, prepared: Prepared) -> str:
        """Returns the solver to use, by what it is to be used on."""
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

    def minimize(self, solver: str, loss: LogLoss[Any], start: Floats, on_step: Callable[[Step], None]) -> Solution:
        """Returns the weights of least penalised loss."""
        common: dict[str, Any] = {
            "l2": self.l2, "tolerance": self.tolerance, "max_iterations": self.max_iterations, "on_step": on_step
        }  # fmt: skip
        if solver == "eg":
            return exponentiated.minimize(loss, start, seed=self.seed(), **common)
        return lbfgs.minimize(loss, start, l1=self.l1, convex=loss.known.full, **common)


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
        Literal["auto", "eg", "lbfgs"],
        '"eg", exponentiated gradient on the dual, is the fast one, for l1 = 0, l2 > 0, order 1 and full '
        'labels; "lbfgs" does everything; "auto" takes the first where it applies and is likely the faster '
        "one (not with very long sequences, a tiny l2 for the size of the features, or hundreds of labels on "
        "short sequences). Both stop by the same certificate, and warn if they do not reach it.",
    ] = "auto"
    warm_start: Annotated[
        bool, "Whether to go on from the weights of the last fit, where it saw the same features and labels."
    ] = False


def _equal_states(one: Any, other: Any) -> bool:
    values, arrays = one
    return bool(
        values == other[0]
        and arrays.keys() == other[1].keys()
        and all(np.array_equal(arrays[k], other[1][k]) for k in arrays)
    )


# L-BFGS steps of an update to given parts.
_STEPS = 10


class Descent:
    """L-BFGS on the log-loss of labelled sequences and the expected one of a pool: the M step of a log-linear model."""

    generative = False

    def __init__(self, base: LogLinear, data: ToFit) -> None:
        if data.initial is not None:
            raise NotSupported(f"{type(base).__name__} begins with the labelled sequences; begin with a model in HMM")
        if getattr(base.task_, "order", 1) != 1:
            raise NotSupported(f"{type(base).__name__} of order 2 cannot learn from expected parts; use order 1")
        base.check_numbers()
        X, classes = data.X, list(data.classes)
        self.learner: LogLinear = clone(base).set_params(classes=classes)
        everything = [*X, *data.pool]
        sizes = self.learner.task_.sizes(everything)
        targets = self.learner.task_.known([*data.y, *data.known], sizes, classes)
        whole = lay_out(self.learner, choose_encoder(self.learner, everything), everything, targets, classes)
        self._whole, self._prepared = whole, whole._replace(scorer=whole.scorer.for_rows())
        # An unlabelled sequence has no likelihood p(y|x) of its own, only its divergence.
        structure: Any = base.task_.structure(data.n_jobs)
        self._structure = structure.for_rows()
        self.weights = replace(data.weights, unlabelled=data.weights.rules)
        encoded, scorer = self._prepared.encoded, self._prepared.scorer
        self._pool = encoded.sequences(len(X), len(everything))
        self._known: LogLoss[Any] | None = None
        self._w = np.zeros(scorer.size)
        self._finish(Solution(self._w, (), False), "lbfgs")
        if len(X):
            labels = self.learner.task_.known(data.y, sizes[: len(X)], classes)
            self._known = LogLoss(scorer, self._structure, encoded.sequences(0, len(X)), labels)
            if data.labelled_first:
                solver = self.learner.choose_solver(self._prepared._replace(known=labels))
                self._finish(self.learner.minimize(solver, self._known, self._w, lambda step: None), solver)

    def _finish(self, solution: Solution, solver: str) -> None:
        self._w = solution.weights
        self.learner.adopt(self._whole, solution, solver)

    def scores(self, first: int = 0, last: int | None = None) -> Any:
        """Returns the scores of the pool."""
        some = self._pool if last is None else self._pool.sequences(first, last)
        found: Any = self._prepared.scorer.scores(some, self._w, self._structure.n_jobs)
        return found

    def update(self, parts: Any) -> None:
        """A few steps from where the weights are."""
        groups = self.weights.groups(len(self._pool))
        pool = ExpectedLoss.of(self._prepared.scorer, self._structure, self._pool, groups, parts)

        def loss(w: Floats) -> tuple[float, Floats]:
            return self._with_known(w, *pool(w))

        self._descend(loss, _STEPS, lambda step: None, convex=True)

    def alternate(self, expect: Callable[[], Expected], rounds: int, after: Callable[[Expected], bool]) -> None:
        """Make steps down the objective, with an E step at every point on the way."""
        made = 0
        latest: Expected | None = None

        def loss(w: Floats) -> tuple[float, Floats]:
            nonlocal latest
            self._w = w.copy()
            latest = expect()
            expected = self._prepared.scorer.expectation()
            expected.add(self._pool, latest.model - latest.parts)
            if not made:
                on_step()
            return self._with_known(w, latest.cost, expected.total())

        def on_step(_: Any = None) -> None:
            nonlocal made
            made += 1
            if made <= rounds and latest is not None:  # where the last step leads is for the next E step to see
                after(latest)

        self._descend(loss, rounds, on_step, convex=False)

    def _with_known(self, w: Floats, value: float, gradient: Floats) -> tuple[float, Floats]:
        """Loss and gradient of the pool together with those of the labelled sequences."""
        if self._known is not None:
            more, slope = self._known(w)
            value, gradient = value + more, gradient + slope
        return value, gradient

    def _descend(self, loss: Any, steps: int, after: Callable[[Any], None], *, convex: bool) -> None:
        one = self.learner
        self._finish(
            lbfgs.minimize(
                loss, self._w, l1=one.l1, l2=one.l2, tolerance=0.1 * one.tolerance, max_iterations=steps,
                convex=convex, on_step=after,
            ),
            "lbfgs",
        )  # fmt: skip

    def loss(self) -> float:
        """Log-loss of the labelled sequences, and the penalty of the weights."""
        one = self.learner
        known = 0.0 if self._known is None else self._known(self._w)[0]
        return known + penalty(self._w, one.l1, one.l2)
