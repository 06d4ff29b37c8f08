"""Generalized expectation: the model's own expectations are to agree with rules (Mann and McCallum 2008).

It adds a criterion on unlabelled sequences to the likelihood of a CRF, and so does `EntropyRegularization`.

    minimise over w   Σ_L [log Z(x) - log Z(x, y)] + l1 ‖w‖₁ + l2 ‖w‖² + criteria of p_w on the unlabelled sequences U

Partial labels count on both sides: their likelihood is in the first sum, and in U p_w is given what is known. The
criteria make the objective non-convex, so L-BFGS starts from the optimum of the first sum alone.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np

from ...containers import plain_outputs
from ...declared import Bounds, declared
from ...errors import DataError, NotSupported
from ...estimator import clone
from ...features.encoded import Encoded
from ...inference.distances import DistanceName, check_distance
from ...inference.readings import Readings, label_shares
from ...inference.rows import Rows, RowSet
from ...progress import progress
from ...rules.comparisons import share
from ...scorers.merged import Merged
from ...solvers import lbfgs
from ...solvers.certificate import Solution, telling, warn_unconverged
from ...solvers.losses import LogLoss
from ...solvers.unlabelled import JointLoss, UnlabelledLoss
from ...supervision import Signal, by_kind
from ..choosing.guard import guarded
from ..decoding import Decoder, expectation_decoder
from ..inputs import refuse_weights
from ..labelled.crf import LogLinear
from ..learner import Learner
from ..model import Fitted, Prepared, choose_encoder, lay_out
from ..parameters import ExpectationParameters

# How much ten steps must lower the objective, in tolerances: a step, on average, two. Smaller gains hardly show in
# what is predicted: at half of this, scores on six tasks with two numbers of labels each differed by 0.0 to 0.5 points,
# some up and some down.
_LEAST = 20.0


class CriterionWeights(NamedTuple):
    """How much the criteria count."""

    distance: float
    entropy: float


@declared
class CriterionLearner(ExpectationParameters, Learner):
    """Base of these learners; a subclass says how much each criterion counts."""

    distance: Annotated[
        DistanceName,
        '"squared", half the squared slack, "l1" and "l2", its norms (Eq. 33 of Ganchev et al. 2010), or "kl", the '
        "divergence of the target from the expectation, for counts that are never below zero.",
    ] = "squared"
    unlabeled_weight: Annotated[
        float | None,
        "What an unlabelled sequence counts beside a labelled one; None: all of them as much as all that are "
        "labelled. It multiplies the strength of all criteria.",
        Bounds(0),
    ] = None
    decode: Annotated[
        Literal["rules", "model"],
        '"rules" predicts the best output under the rules, as `CCM` does, "model" by the model alone.',
    ] = "rules"

    saved = ("readings_", "converged_", "trace_")

    def _weights(self) -> CriterionWeights:
        """How much each criterion counts."""
        raise NotImplementedError

    @property
    def model_(self) -> Any:
        """The model of the base learner."""
        return Fitted(self.base_, rows=True)

    def _decoder(self) -> Decoder:
        return expectation_decoder(self)

    def check_parameters(self) -> None:
        """Raise for parameters that make no sense."""
        self.check_expectations(slack=True)

    @guarded
    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from labelled sequences and, where y is partial or None, from the criteria."""
        refuse_weights(self, sample_weight)
        weights = self._weights()
        self._check_base()
        _, read = self.read_input(X, y)
        classes, seen, known = self.all_labels(read), self.task_.for_rules(X), by_kind(read)[Signal.FULL]
        readings = self.read_rules(
            [seen[i] for i in known], [read[i] for i in known], classes, shares=self.label_shares
        )
        model, prepared, problem = self._lay_out(X, read, classes, weights, readings)
        solution = self._solve(model, problem)
        whole = replace(solution, weights=problem.merged.expand(solution.weights))
        model.adopt(prepared, whole, "lbfgs" if problem.rest is not None else problem.solver)
        self.base_, self.classes_, self.readings_ = model, classes, readings
        self.trace_, self.converged_ = solution.steps, solution.converged
        warn_unconverged(type(self).__name__, solution, "raise max_iterations or tolerance of the base")
        return self

    def _check_base(self) -> None:
        if self.task_.of_labels and not self.task_.chained:
            raise NotSupported(
                f"{type(self).__name__} needs derivatives of expectations, which segmentations have not; use CRF as "
                "base, or PosteriorRegularization"
            )
        if not isinstance(self.base, LogLinear):
            raise NotSupported(
                f"{type(self).__name__} needs the gradient of a CRF, and {type(self.base).__name__} has none; "
                "use CRF as base, or PosteriorRegularization"
            )
        if self.rules and getattr(self.task_, "order", 1) != 1:
            raise NotSupported("rules about expectations need a CRF of order 1, got order 2")

    def _lay_out(
        self, X: Any, y: Any, classes: list[str], weights: CriterionWeights, readings: Readings
    ) -> tuple[LogLinear, Prepared, JointLoss]:
        """The model without weights, and its losses: full labels first, then partial ones, then none."""
        which = by_kind(y)
        order = [*which[Signal.FULL], *which[Signal.PARTIAL], *which[Signal.NOTHING]]
        some, read = [X[i] for i in order], [y[i] for i in order]
        full, known = len(which[Signal.FULL]), len(order) - len(which[Signal.NOTHING])
        if not known and not (self.rules and weights.distance):
            raise DataError(f"neither labels nor rules say anything; give some labelled {self.task_.noun}s, or rules")
        model: LogLinear = clone(self.base).set_params(classes=list(classes), n_jobs=self.n_jobs)
        lengths = self.task_.sizes(some)
        targets = self.task_.known(read, lengths, classes)
        whole = lay_out(model, choose_encoder(model, some), some, targets, list(classes))
        prepared = whole._replace(scorer=whole.scorer.for_rows())
        # With an l1 penalty, whose value merging does not keep, every attribute stays alone.
        together = hasattr(prepared.scorer, "as_chain") and not model.l1
        merged = (Merged.of if together else Merged.alone)(prepared.scorer, prepared.encoded)
        prepared = prepared._replace(encoded=merged.encoded, scorer=merged.scorer)
        first, rest, solver = None, None, "lbfgs"
        if known:
            labels = self.task_.known(read[:known], lengths[:known], classes)
            solver = model.choose_solver(prepared._replace(known=labels))
            first = LogLoss(prepared.scorer, self.structure_, prepared.encoded.sequences(0, known), labels)
        if full == len(some):
            self._rows(readings, some, prepared.encoded, classes)  # for the errors of rules, which have nothing to do
        else:
            pool = prepared.encoded.sequences(full, len(some))
            rows = self._rows(readings, some[full:], pool, classes)
            left = self.task_.known(read[full:], lengths[full:], classes)
            weight = self.unlabeled_weight
            if weight is None:
                weight = known / (len(some) - full) if known else 1.0
            rest = UnlabelledLoss(
                prepared.scorer, self.structure_, pool, rows, self.distance,
                weight * weights.distance, weight * weights.entropy, left if known > full else None,
            )  # fmt: skip
        return model, whole, JointLoss(merged, first, rest, solver)

    def _rows(self, readings: Readings, X: Sequence[Any], encoded: Encoded, classes: list[str]) -> RowSet:
        """The rules on the unlabelled sequences; without rules these need not be tokens."""
        if not readings.used:
            return Rows.of((), encoded.offsets, len(classes))
        rows = self.task_.rows(readings.used, self.task_.for_rules(X), classes, room=readings.room)
        check_distance(self.distance, rows)
        return rows

    def _solve(self, model: LogLinear, problem: JointLoss) -> Solution:
        """The optimum of the labelled sequences alone, then of everything."""
        start = np.zeros(problem.merged.scorer.size)
        with progress(type(self).__name__, None, self.verbose) as tell:
            if problem.known is not None:
                found = model.minimize(problem.solver, problem.known, start, telling(tell, model.tolerance))
                if problem.rest is None:
                    return found
                start = found.weights
            return lbfgs.minimize(
                problem, start, l1=model.l1, l2=model.l2, tolerance=model.tolerance,
                max_iterations=model.max_iterations, convex=False, least=_LEAST,
                on_step=telling(tell, model.tolerance, _LEAST),
            )  # fmt: skip


@declared
class GeneralizedExpectation(CriterionLearner):
    """Generalized expectation criteria on a CRF.

        maximise  log-likelihood - l2 ‖w‖² - strength * d(target, E_{p_w}[φ] on the unlabelled sequences)

    (section 4.2 of Ganchev et al. 2010, Eq. 5 of Dhillon et al. 2012). The gradient needs the covariance of the rules'
    counts with all features; it is exact and costs about five passes of forward-backward in all, however many rules
    there are. Rules are those of `PosteriorRegularization`: label shares, shares of labels where a word stands, any
    counts, over the corpus or in each sequence.

    The base is a CRF; its features, l1, l2, tolerance and max_iterations are those of the model. L-BFGS stops when a
    step, on the average of ten, lowers the objective by less than twice the tolerance.

    Attributes
    ----------
    classes_, base_, rules_used_, trace_, converged_, guard_
    """

    strength: Annotated[float, "How much the distances count.", Bounds(0)] = 1.0

    def _weights(self) -> CriterionWeights:
        return CriterionWeights(self.strength, 0.0)


def label_regularization(
    base: Any, y: Sequence[Any], *, target: Literal["shares", "bounds"] = "shares", **options: Any
) -> GeneralizedExpectation:
    """Return a learner whose label shares on unlabelled sequences or documents agree with those of labelled ones.

        maximise  log-likelihood - l2 ‖w‖² - strength * ω N KL(shares of the labels in y ‖ expected shares on U)

    This is label regularization (Mann and McCallum 2007): generalized expectation with the label shares as its only
    rules. N is the number of tokens of the unlabelled sequences U, or that of documents, and ω their
    `unlabeled_weight`.

    Parameters
    ----------
    base : CRF or MaxEnt
        The model.
    y : sequence
        What is known of the outputs, as `fit` takes it; the full labels in it give the shares.
    target : {'shares', 'bounds'}, default='shares'
        'shares' are those of the labels in `y`, by their divergence; 'bounds' are two standard errors around them
        (`label_shares`), beyond which half the square of the miss counts.
    **options : Any
        Other parameters of `GeneralizedExpectation`, such as `strength`.

    Returns
    -------
    GeneralizedExpectation
        The learner, to be fitted.
    """
    if target not in ("shares", "bounds"):
        raise DataError(f"target is 'shares' or 'bounds', got {target!r}")
    distance = "kl" if target == "shares" else "squared"
    given = {"penalty": 1.0, "label_shares": False, "distance": distance, "decode": "model"}
    learner = GeneralizedExpectation(base, **{**given, **options})
    read = plain_outputs(y)
    known = [[read[i]] if isinstance(read[i], str) else read[i] for i in by_kind(read)[Signal.FULL]]
    counts = Counter(label for labels in known for label in labels)
    if not counts:
        raise DataError("the shares of labels come from full labels, and y has none; give some labelled sequences")
    if target == "bounds":
        rules = label_shares(known)
    else:  # also of labels that nothing has, so that the shares sum to one
        rules = [share(label) == counts[label] / counts.total() for label in learner.all_labels(read)]
    learner.set_params(rules=rules)
    return learner
