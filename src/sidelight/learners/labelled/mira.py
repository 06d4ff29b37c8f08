"""The margin-infused relaxed algorithm."""

from collections.abc import Sequence
from math import inf
from typing import Any

from ...solvers.mira import run
from ...solvers.perceptron import Examples, PerceptronState
from ..learner import require_number
from ..tasks.task import Task
from .online import OnlineLearner


class Mira(OnlineLearner):
    """k-best MIRA: online like the perceptron, with steps as long as the margins ask for.

        min  ‖w - w₀‖² / 2 + C Σ_{y' ∈ H} ξ_{y'}      with  w·(F(x, y) - F(x, y')) >= Δ(y, y') - ξ_{y'},  ξ >= 0

    for every sequence in random order, where w₀ are the weights so far, H the k best outputs under them and Δ the
    Hamming loss; the average of w is kept (Algorithm 3 of Chang 2011, and Crammer et al. 2005 for the cap C).

    Parameters
    ----------
    features, min_count, order, boundaries, all_weights, classes, task, random_state, verbose, n_jobs : as for `CRF`.
    epochs : passes over the data; it stops early after a pass that met all margins.
    k : how many of the best outputs ask for a margin.
    C : how far one output may move the weights at most, along its difference to y; inf for no cap.

    Attributes
    ----------
    classes_ : labels; weights_ : averaged weights; mistakes_ : wrong tokens in each pass.

    `predict_marginals` gives the softmax of the scores, which are not calibrated.
    """

    def __init__(
        self,
        features: Any = None,
        *,
        epochs: int = 10,
        k: int = 5,
        C: float = 1.0,
        min_count: int = 1,
        order: int = 1,
        boundaries: bool = True,
        all_weights: bool = False,
        classes: Sequence[str] | None = None,
        task: Task | None = None,
        random_state: int | None = 0,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.features = features
        self.epochs = epochs
        self.k = k
        self.C = C
        self.min_count = min_count
        self.order = order
        self.boundaries = boundaries
        self.all_weights = all_weights
        self.classes = classes
        self.task = task
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _check(self) -> None:
        require_number(self, "epochs", 1, whole=True)
        require_number(self, "k", 1, whole=True)
        cap = self.C
        if cap != inf:
            require_number(self, "C", 0, open_end=True)

    def _passes(self, examples: Examples, state: PerceptronState, **options: Any) -> None:
        run(examples, state, k=self.k, C=float(self.C), **options)
