"""The structural support vector machine with labels that are known in part."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ...kernels.compiling import Floats
from ...solvers.alternate import Alternation, Problem
from ...solvers.demands import Labelled
from ..labelled.linear import LinearLearner, Prepared
from ..learner import require_number
from ..tasks.task import Task
from .margin_learner import LatentMarginLearner, Loss


class LatentStructuralSVM(LatentMarginLearner, LinearLearner):
    """Structural SVM for labels that are known in part; the others are latent.

        minimise  ‖w‖² / 2 + C Σ_i ℓ(max_y [Δ(y, y_i) + w·F(x_i, y)] - max_{y agrees with y_i} w·F(x_i, y))

    (Eq. 2.18 of Chang 2011; Yu and Joachims 2009). Δ counts labels that contradict what is known. The problem is not
    convex; the objective never rises from round to round. `CRF` takes partial labels too, and is quicker.

    Parameters
    ----------
    features, min_count, order, boundaries, all_weights, classes, task, random_state, verbose, n_jobs : as for `CRF`.
    C, loss, epsilon, max_iterations, check_inference : as for `StructuralSVM`.
    tolerance, change, max_rounds, restarts : as for `JLIS`.

    Attributes
    ----------
    classes_; weights_; objective_; rounds_ : a `Round` each, with the objective before it; run_objectives_ : that of
    each run; converged_; trace_ : steps of the last convex problem.
    """

    def __init__(
        self,
        features: Any = None,
        *,
        C: float = 0.1,
        loss: Loss = "squared_hinge",
        tolerance: float = 0.01,
        change: float = 1e-5,
        epsilon: float = 0.01,
        max_rounds: int = 50,
        max_iterations: int = 200,
        restarts: int = 1,
        check_inference: bool = False,
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
        self.C = C
        self.loss = loss
        self.tolerance = tolerance
        self.change = change
        self.epsilon = epsilon
        self.max_rounds = max_rounds
        self.max_iterations = max_iterations
        self.restarts = restarts
        self.check_inference = check_inference
        self.min_count = min_count
        self.order = order
        self.boundaries = boundaries
        self.all_weights = all_weights
        self.classes = classes
        self.task = task
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from sequences X and what is known of their labels y."""
        self._check_margins()
        self._check_rounds()
        require_number(self, "C", 0, open_end=True)
        prepared = self._prepare(X, y)
        runs = [self._run(prepared, self._seed(number)) for number in range(self.restarts)]
        self._adopt(prepared)
        self._keep_best(runs)
        return self

    def _run(self, prepared: Prepared, seed: int) -> Alternation:
        batch, known = self._batch(prepared), prepared.known

        def complete(w: Floats, number: int) -> Labelled:
            """With the best outputs that agree with what is known; ties are broken at random."""
            scores = known.restrict(batch.scores(w))
            best = batch.argmax(scores, 0, len(batch), seed + number)
            return Labelled(batch, known, self.C, best.outputs)

        problem = Problem((), (complete,), self.loss == "squared_hinge")
        return self._alternate(problem, np.zeros(prepared.scorer.size), seed)
