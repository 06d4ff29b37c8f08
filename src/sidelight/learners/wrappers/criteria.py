"""Learners that add criteria on unlabelled sequences to the likelihood of a CRF: what both of them share.

    minimise over w   Σ_L [log Z(x) - log Z(x, y)] + l1 ‖w‖₁ + l2 ‖w‖² + criteria of p_w on the unlabelled sequences U

Partial labels count on both sides: their likelihood is in the first sum, and in U p_w is given what is known. The
criteria make the objective non-convex, so L-BFGS starts from the optimum of the first sum alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ...errors import DataError, NotSupported
from ...features.encoded import Encoded, State
from ...inference.distances import DistanceName, check_distance, require_distance
from ...inference.rows import Rows
from ...kernels.compiling import Floats
from ...labels import encode_labels
from ...progress import progress
from ...rules.language import Rule
from ...scorers.merged import Merged
from ...solvers import lbfgs
from ...solvers.certificate import Solution, Step, warn_unconverged
from ...solvers.losses import LogLoss
from ...solvers.unlabelled import UnlabelledLoss
from ...structures.chain import Chain, ChainParts
from ...supervision import Signal, kind_of
from ..choosing.guard import guarded
from ..labelled.crf import CRF
from ..learner import Explanation
from .expectations import ExpectationLearner, Readings
from .wrapper import all_labels, check_input, listed_rules

# How much ten steps must lower the objective, in tolerances: a step, on average, two. Smaller gains hardly show in
# what is predicted: at half of this, scores on six tasks with two numbers of labels each differed by 0.0 to 0.5 points,
# some up and some down.
_LEAST = 20.0


class Weights(NamedTuple):
    """How much the criteria count."""

    distance: float
    entropy: float


@dataclass(frozen=True)
class Problem:
    """Both losses, each None where no sequences are for it; their weights are those of merged attributes."""

    merged: Merged
    known: LogLoss[Any] | None
    rest: UnlabelledLoss[Any] | None
    solver: str  # of the labelled sequences alone

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Their sum and its gradient at w."""
        known, rest = (None if loss is None else loss(w) for loss in (self.known, self.rest))
        if known is None or rest is None:
            return known or rest or (0.0, np.zeros_like(w))
        return known[0] + rest[0], known[1] + rest[1]


class CriterionLearner(ExpectationLearner):
    """Base of these learners; a subclass says how much each criterion counts."""

    distance: DistanceName
    base_: CRF
    converged_: bool
    trace_: tuple[Step, ...]

    def _weights(self) -> Weights:
        """How much each criterion counts."""
        raise NotImplementedError

    @guarded
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from labelled sequences and, where y is partial or None, from the criteria."""
        weights = self._weights()
        listed_rules(self)
        require_distance(self.distance)
        self._check_readings(("rules", "model"))
        if self.penalty is None:
            raise DataError("here no rule holds without slack: the penalty is a number or 'learned', got None")
        self._check_base()
        read, told = check_input(self, X, y), self._task.for_rules(X)
        classes = all_labels(self, read)
        known = [i for i, one in enumerate(read) if kind_of(one) is Signal.FULL]
        readings = self._read([told[i] for i in known], [read[i] for i in known], classes)
        model, problem = self._lay_out(X, read, classes, weights, readings.used)
        solution = self._solve(model, problem)
        model.weights_ = problem.merged.expand(solution.weights)
        model.trace_, model.converged_ = solution.steps, solution.converged
        model.solver_ = "lbfgs" if problem.rest is not None else problem.solver
        self.base_, self.classes_ = model, classes
        self._adopt_readings(readings)
        self.trace_, self.converged_ = solution.steps, solution.converged
        warn_unconverged(type(self).__name__, solution, "raise max_iterations or tolerance of the base")
        return self

    def _check_base(self) -> None:
        if not isinstance(self.base, CRF):
            raise NotSupported(
                f"{type(self).__name__} needs the gradient of a CRF, and {type(self.base).__name__} has none; "
                "use CRF as base, or PosteriorRegularization"
            )
        if self.rules and getattr(self._task, "order", 1) != 1:
            raise NotSupported("rules about expectations need a CRF of order 1, got order 2")
        self.base._check_numbers()

    def _lay_out(
        self, X: Any, y: Any, classes: list[str], weights: Weights, rules: Sequence[Rule]
    ) -> tuple[CRF, Problem]:
        """The model without weights, and its losses: full labels first, then partial ones, then none."""
        order = sorted(range(len(X)), key=lambda i: _RANK[kind_of(y[i])])
        some, told = [X[i] for i in order], [y[i] for i in order]
        kinds = [kind_of(one) for one in told]
        full, known = kinds.count(Signal.FULL), len(kinds) - kinds.count(Signal.NOTHING)
        if not known and not (self.rules and weights.distance):
            raise DataError("neither labels nor rules say anything; give some labelled sequences, or rules")
        model: CRF = clone(self.base).set_params(classes=list(classes), n_jobs=self.n_jobs)
        lengths = self._task.sizes(some)
        targets = encode_labels(told, lengths, classes)
        prepared = model._lay_out(model._choose_encoder(some), some, targets, list(classes))
        model._adopt(prepared)
        prepared = prepared._replace(scorer=prepared.scorer.as_chain())
        # With an l1 penalty, whose value merging does not keep, every attribute stays alone.
        merged = (Merged.alone if model.l1 else Merged.of)(prepared.scorer, prepared.encoded)
        prepared = prepared._replace(encoded=merged.encoded, scorer=merged.scorer)
        first, rest, solver = None, None, "lbfgs"
        if known:
            labels = encode_labels(told[:known], lengths[:known], classes)
            solver = model._choose_solver(prepared._replace(known=labels))
            first = LogLoss(prepared.scorer, self._structure, prepared.encoded.sequences(0, known), labels)
        if full == len(some):
            self._rows(rules, some, prepared.encoded, classes)  # for the errors of rules that have nothing to do here
        else:
            pool = prepared.encoded.sequences(full, len(some))
            rows = self._rows(rules, some[full:], pool, classes)
            left = encode_labels(told[full:], lengths[full:], classes)
            weight = self.unlabeled_weight
            if weight is None:
                weight = known / (len(some) - full) if known else 1.0
            rest = UnlabelledLoss(
                prepared.scorer, Chain(self.n_jobs), pool, rows, self.distance,
                weight * weights.distance, weight * weights.entropy,
                left.allowed if known > full else None,
            )  # fmt: skip
        return model, Problem(merged, first, rest, solver)

    def _rows(self, rules: Sequence[Rule], X: Sequence[Any], encoded: Encoded, classes: list[str]) -> Rows:
        """The rules on the unlabelled sequences; without rules these need not be tokens."""
        if not rules:
            return Rows.of((), encoded.offsets, len(classes))
        rows = Rows.compile(rules, self._task.for_rules(X), classes)
        check_distance(self.distance, rows)
        return rows

    def _solve(self, model: CRF, problem: Problem) -> Solution:
        """The optimum of the labelled sequences alone, then of everything."""
        start = np.zeros(problem.merged.scorer.size)
        with progress(type(self).__name__, None, self.verbose) as tell:

            def on_step(step: Step) -> None:
                tell(step.iteration, str(step))

            if problem.known is not None:
                found = model._solve(problem.solver, problem.known, start, on_step)
                if problem.rest is None:
                    return found
                start = found.weights
            return lbfgs.minimize(
                problem, start, l1=model.l1, l2=model.l2, tolerance=model.tolerance,
                max_iterations=model.max_iterations, convex=False, least=_LEAST, on_step=on_step,
            )  # fmt: skip

    # Prediction ------------------------------------------------------------------------------------------------------

    def scores(self, X: Any) -> ChainParts:
        """The model's scores."""
        check_is_fitted(self, "classes_")
        scores: ChainParts = self.base_.scores(X).as_chain()
        return scores

    def encode(self, X: Any) -> Encoded:
        """X as flat arrays for the model."""
        check_is_fitted(self, "classes_")
        return self.base_.encode(X)

    def explain(self, x: Any, position: int = 0, *, top: int = 10) -> Explanation:
        """What speaks for a label in the model."""
        check_is_fitted(self, "classes_")
        return self.base_.explain(x, position, top=top)

    def top_weights(self, count: int = 20, label: str | None = None) -> list[tuple[str, str, float]]:
        """The largest weights of the model."""
        check_is_fitted(self, "classes_")
        return self.base_.top_weights(count, label)

    def _models(self) -> dict[str, Any]:
        return {"base_": getattr(self, "base_", None)}

    def _state(self) -> State:
        used, penalties = self.readings_.state()
        values = {"trace": [step.as_list() for step in self.trace_], "converged": self.converged_, "rules_used": used}
        return values, {"penalties": penalties}

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.converged_ = values["converged"]
        self.trace_ = tuple(map(Step.from_list, values["trace"]))
        self._adopt_readings(Readings.restored(list(self.rules or ()), values["rules_used"], arrays["penalties"]))


_RANK = {Signal.FULL: 0, Signal.PARTIAL: 1, Signal.NOTHING: 2}
