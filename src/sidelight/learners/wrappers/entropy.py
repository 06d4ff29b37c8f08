"""Entropy regularization: the model is to be sure about unlabelled sequences (Grandvalet and Bengio 2004)."""

from typing import Annotated

from ...declared import Bounds, declared
from .generalized import CriterionLearner, CriterionWeights


@declared
class EntropyRegularization(CriterionLearner):
    """Entropy regularization of a CRF, with and without rules.

        maximise  log-likelihood - l2 ‖w‖² - strength * Σ_U H(p_w(y|x)) - rule_strength * d(target, E_{p_w}[φ])

    (Eq. 7 and 8 of Dhillon et al. 2012; for CRFs Jiao et al. 2006). Without rules it makes the model surer of whatever
    it believes already, so it is safe only where that is mostly right: with enough labelled sequences for the
    supervised CRF to be good, and a strength at which all entropy together weighs less than the labelled sequences'
    likelihood. With a handful of them it soon gives most tokens one label.

    Attributes
    ----------
    classes_, base_, rules_used_, trace_, converged_, guard_
    """

    strength: Annotated[float, "How much the entropy of each unlabelled sequence counts.", Bounds(0)] = 0.01
    rule_strength: Annotated[float, "How much the rules count; `strength` of `GeneralizedExpectation`.", Bounds(0)] = (
        1.0
    )

    def _weights(self) -> CriterionWeights:
        return CriterionWeights(self.rule_strength, self.strength)
