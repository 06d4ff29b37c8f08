"""Generalized expectation: the model's own expectations are to agree with rules (Mann and McCallum 2008)."""

from collections.abc import Sequence
from typing import Any, Literal

from ...inference.distances import DistanceName
from ...rules.language import Rule
from ..learner import require_number
from .criteria import CriterionLearner, Weights


class GeneralizedExpectation(CriterionLearner):
    """Generalized expectation criteria on a CRF.

        maximise  log-likelihood - l2 ‖w‖² - strength * d(target, E_{p_w}[φ] on the unlabelled sequences)

    (section 4.2 of Ganchev et al. 2010, Eq. 5 of Dhillon et al. 2012). The gradient needs the covariance of the rules'
    counts with all features; it is exact and costs about five passes of forward-backward in all, however many rules
    there are. Rules are those of `PosteriorRegularization`: label shares, shares of labels where a word stands, any
    counts, over the corpus or in each sequence.

    Parameters
    ----------
    base : CRF; its features, l1, l2, tolerance and max_iterations are those of the model. L-BFGS stops when a
        step, on the average of ten, lowers the objective by less than twice the tolerance.
    rules : statements about expectations.
    distance : "squared", half the squared slack, or "kl", the divergence of the target from the expectation, for
        counts that are never below zero. A rule's own weight is written rule.expected(penalty); a rule about the corpus
        counts for each of its sequences.
    penalty : the weight of every rule without its own: a number, or "learned" by counting on the labelled sequences;
        see `PosteriorRegularization`, also for `label_shares`.
    strength : how much the distances count.
    unlabeled_weight : what an unlabelled sequence counts beside a labelled one; None: all of them as much as all that
        are labelled. It multiplies the strength.
    decode : "rules" predicts the best output under the rules, as `CCM` does, "model" by the model alone.
    classes : all labels, where y does not have them all; without any label, those that the rules name will do.
    guard : as for `CCM`.
    verbose, n_jobs : as for `CRF`.

    Attributes
    ----------
    base_ : the model; rules_used_ : the rules with their penalties, and the label shares that were added; classes_ :
    labels; trace_ : steps, each with the objective; converged_ : whether the tolerance
    was reached; guard_ : as for `CCM`.
    """

    def __init__(
        self,
        base: Any,
        rules: Sequence[Rule] = (),
        *,
        distance: DistanceName = "squared",
        penalty: float | Literal["learned"] = "learned",
        label_shares: bool = True,
        unlabeled_weight: float | None = None,
        decode: Literal["rules", "model"] = "rules",
        strength: float = 1.0,
        classes: Sequence[str] | None = None,
        guard: bool = True,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.base = base
        self.rules = rules
        self.distance = distance
        self.penalty = penalty
        self.label_shares = label_shares
        self.unlabeled_weight = unlabeled_weight
        self.decode = decode
        self.strength = strength
        self.classes = classes
        self.guard = guard
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _weights(self) -> Weights:
        require_number(self, "strength", 0)
        return Weights(self.strength, 0.0)
