"""Maximum entropy classification: the conditional random field of one decision."""

from collections.abc import Sequence

from ..tasks.classifying import Classifying
from ..tasks.task import Task
from .crf import CRF


class MaxEnt(CRF):
    """Multinomial logistic regression over documents: `CRF(task=Classifying())` with scikit-learn's penalty.

        minimise  Σ_i [log Σ_y exp s(x_i, y) - log Σ_{y allowed} exp s(x_i, y)] + l1 ‖w‖₁ + l2 ‖w‖²

    X is a list of documents, each a list of words (their counts are the features) or a feature dict, or a matrix with
    a row for every document. y holds a label for each, or a set of labels of which one is right.

    Parameters
    ----------
    l1, l2 : penalties; l2 is 1 / (2 C) of scikit-learn's LogisticRegression. Biases are penalised as well.
    min_count : attributes of fewer documents are dropped.
    bias : whether labels have a weight of their own.
    all_weights : weights for all (attribute, label) pairs; else only for those observed.
    tolerance, max_iterations, classes, verbose, n_jobs : as for `CRF`; its solver is L-BFGS.

    Attributes
    ----------
    classes_ : labels; weights_ : weights; converged_ : whether the solver reached the tolerance; trace_ : its steps,
    each with objective, dual, gap and residual.
    """

    features, solver, order, boundaries, warm_start, random_state = None, "lbfgs", 1, True, False, 0

    def __init__(
        self,
        *,
        l1: float = 0.0,
        l2: float = 1.0,
        tolerance: float = 1e-3,
        max_iterations: int = 500,
        min_count: int = 1,
        bias: bool = True,
        all_weights: bool = True,
        classes: Sequence[str] | None = None,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.l1 = l1
        self.l2 = l2
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.min_count = min_count
        self.bias = bias
        self.all_weights = all_weights
        self.classes = classes
        self.verbose = verbose
        self.n_jobs = n_jobs

    @property
    def _task(self) -> Task:
        return Classifying(bool(self.bias))
