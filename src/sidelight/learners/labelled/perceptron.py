"""The averaged structured perceptron."""

from collections.abc import Sequence
from typing import Any

from ...solvers.perceptron import Examples, PerceptronState, run
from ..learner import require_number
from ..tasks.task import Task
from .online import OnlineLearner


class StructuredPerceptron(OnlineLearner):
    """Averaged structured perceptron: quick, no penalty to choose, no probabilities.

        w ← w + F(x, y) - F(x, argmax θ)      for every sequence in random order; the average of w is kept.

    With a margin, the large-margin structured perceptron (Fernandes and Brefeld 2011), the argmax is that of
    θ + margin * Δ, Δ the Hamming loss.

    Parameters
    ----------
    features, min_count, order, boundaries, all_weights, classes, task, random_state, verbose, n_jobs : as for `CRF`.
    epochs : passes over the data; it stops early after a pass without mistakes.
    margin : by how much the score of y must be above that of an output, for each wrong token of it; 0 asks only
        that y be the best.

    Attributes
    ----------
    classes_ : labels; weights_ : averaged weights; mistakes_ : wrong tokens in each pass (with a margin, those that
    missed it count as wrong).

    `predict_marginals` gives the softmax of the scores, which are not calibrated.
    """

    def __init__(
        self,
        features: Any = None,
        *,
        epochs: int = 10,
        margin: float = 0.0,
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
        self.margin = margin
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
        require_number(self, "margin", 0)

    def _passes(self, examples: Examples, state: PerceptronState, **options: Any) -> None:
        run(examples, state, margin=self.margin, **options)
