"""The margin-infused relaxed algorithm."""

from math import inf
from typing import Annotated, Any

from ...declared import Bounds, declared
from ...errors import DataError
from ...kernels.compiling import Floats
from ...solvers.mira import run
from ...solvers.perceptron import Examples, PerceptronState
from .perceptron import OnlineLearner


@declared
class MIRA(OnlineLearner):
    """k-best MIRA: online like the perceptron, with steps as long as the margins ask for.

        min  ‖w - w₀‖² / 2 + C Σ_{y' ∈ H} ξ_{y'}      with  w·(F(x, y) - F(x, y')) >= Δ(y, y') - ξ_{y'},  ξ >= 0

    for every sequence in random order, where w₀ are the weights so far, H the k best outputs under them and Δ the
    Hamming loss; the average of w is kept (Algorithm 3 of Chang 2011, and Crammer et al. 2005 for the cap C).
    `predict_marginals` gives the softmax of the scores, which are not calibrated.

    Attributes
    ----------
    classes_, weights_, trace_, mistakes_
    """

    k: Annotated[int, "For how many of the best outputs a margin is required.", Bounds(1)] = 5
    C: Annotated[
        float,
        "How far one output may move the weights at most, along its difference to y; inf for no cap.",
        Bounds(0, above=True, infinite=True),
    ] = 1.0

    def _weighed(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Floats | None]:
        X, y, weights = super()._weighed(X, y, sample_weight)
        if weights is not None and inf == self.C:
            raise DataError("sample_weight multiplies C, which has no effect on C=inf; choose a finite C")
        return X, y, weights

    def _passes(self, examples: Examples, state: PerceptronState, **options: Any) -> None:
        run(examples, state, k=self.k, C=float(self.C), **options)
