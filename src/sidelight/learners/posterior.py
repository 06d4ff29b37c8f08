"""Posterior regularization: rules about expectations guide learning from unlabelled data (Ganchev et al. 2010)."""

from collections.abc import Sequence
from typing import Any, Literal

from ..errors import DataError
from ..inference.projection import NormName
from ..rules.language import Rule
from ..supervision import Signal, learns_from
from .alternation import AlternatingLearner


@learns_from(Signal.FULL, Signal.PARTIAL, Signal.NOTHING)
class PosteriorRegularization(AlternatingLearner):
    """Posterior regularization of a generative (HMM) or discriminative (CRF) model.

        maximise  L(w) - α min over q of [ KL(q ‖ p_w) + cost of slack ]      (Eq. 4, 5, 25 and 60)

    Parameters
    ----------
    base : HMM, or a CRF of order 1.
    rules : statements about expectations; none make it EM (HMM) or leave the model as it is (CRF).
    norm, penalty, bound : the slack of the rules' bounds: `penalty` times its norm ("l1", "l2", "linf", "group") or
        half of its square ("squared"), or at most `bound` in norm; neither: no slack. A rule's own weight is written
        rule.expected(penalty); a rule about the corpus counts for each of its sequences.
    strength : α between 0 and 1.
    unlabeled_weight : what an unlabelled sequence counts beside a labelled one; None: all of them as much as all
        labelled ones.
    iterations : rounds of projecting and fitting.
    steps : L-BFGS steps of a CRF in each round.
    decode : "model" predicts by p, "projected" by its projection onto the rules.
    tolerance : gap of the projection for each sequence, and the largest miss of a bound beyond its slack.
    classes : all labels, where neither y nor the rules name them.
    random_state : of the first scores, where nothing is labelled.
    verbose, n_jobs : as for `CRF`.

    Attributes
    ----------
    base_ : the model; classes_ : labels; prices_, units_ : of the rules about the corpus; trace_ : a `ProjectionStep`
    for each round and for the final model.
    """

    def __init__(
        self,
        base: Any,
        rules: Sequence[Rule] = (),
        *,
        norm: NormName = "squared",
        penalty: float | None = 1.0,
        bound: float | None = None,
        strength: float = 1.0,
        unlabeled_weight: float | None = 1.0,
        iterations: int = 10,
        steps: int = 10,
        decode: Literal["model", "projected"] = "model",
        tolerance: float = 1e-3,
        classes: Sequence[str] | None = None,
        random_state: int = 0,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.base = base
        self.rules = rules
        self.norm = norm
        self.penalty = penalty
        self.bound = bound
        self.strength = strength
        self.unlabeled_weight = unlabeled_weight
        self.iterations = iterations
        self.steps = steps
        self.decode = decode
        self.tolerance = tolerance
        self.classes = classes
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _check(self) -> None:
        super()._check()
        if not 0 < self.strength <= 1:
            raise DataError(f"strength is above 0 and at most 1, got {self.strength!r}")

    def _strength(self) -> float:
        return self.strength

    def _temperatures(self) -> list[float]:
        return [1.0] * max(self.iterations, 1)
