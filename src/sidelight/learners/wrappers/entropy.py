"""Entropy regularization: the model is to be sure about unlabelled sequences (Grandvalet and Bengio 2004)."""

from collections.abc import Sequence
from typing import Any, Literal

from ...inference.distances import DistanceName
from ...rules.language import Rule
from ..learner import require_number
from .criteria import CriterionLearner, Weights


class EntropyRegularization(CriterionLearner):
    """Entropy regularization of a CRF, with and without rules.

        maximise  log-likelihood - l2 ‖w‖² - strength * Σ_U H(p_w(y|x)) - rule_strength * d(target, E_{p_w}[φ])

    (Eq. 7 and 8 of Dhillon et al. 2012; for CRFs Jiao et al. 2006). Without rules it makes the model surer of whatever
    it believes already, so it is safe only where that is mostly right: with enough labelled sequences for the
    supervised CRF to be good, and a strength at which all entropy together weighs less than the labelled sequences'
    likelihood. With a handful of them it soon gives most tokens one label.

    Parameters
    ----------
    strength : how much the entropy of each unlabelled sequence counts.
    rule_strength : how much the rules count; `strength` of `GeneralizedExpectation`.
    unlabeled_weight : as for `GeneralizedExpectation`; it multiplies both strengths.
    base, rules, distance, penalty, label_shares, decode, classes, guard, verbose, n_jobs : as for
        `GeneralizedExpectation`.

    Attributes
    ----------
    base_, rules_used_, classes_, trace_, converged_, guard_ : as for `GeneralizedExpectation`.
    """

    def __init__(
        self,
        base: Any,
        rules: Sequence[Rule] = (),
        *,
        strength: float = 0.01,
        rule_strength: float = 1.0,
        distance: DistanceName = "squared",
        penalty: float | Literal["learned"] = "learned",
        label_shares: bool = True,
        unlabeled_weight: float | None = None,
        decode: Literal["rules", "model"] = "rules",
        classes: Sequence[str] | None = None,
        guard: bool = True,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.base = base
        self.rules = rules
        self.strength = strength
        self.rule_strength = rule_strength
        self.distance = distance
        self.penalty = penalty
        self.label_shares = label_shares
        self.unlabeled_weight = unlabeled_weight
        self.decode = decode
        self.classes = classes
        self.guard = guard
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _weights(self) -> Weights:
        require_number(self, "strength", 0)
        require_number(self, "rule_strength", 0)
        return Weights(self.rule_strength, self.strength)
