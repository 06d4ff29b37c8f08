"""J-LIS on documents: classes, and documents that belong to one of them or to none."""

from collections.abc import Sequence
from typing import ClassVar

from ...supervision import BAD, GOOD, Companion
from ..tasks.classifying import Classifying
from ..tasks.task import Task
from .good_and_bad import Size
from .jlis import JLIS
from .margin_learner import Loss


class DocumentJLIS(JLIS):
    """`JLIS` with one label per document (section 6.4.4 of Chang 2011): `JLIS(task=Classifying(), size=None)`.

    An element of y is the document's label, GOOD (it belongs to one of the classes) or BAD (to none of them). With very
    few labelled documents per class, the others can do harm: the problem is not convex, and the start matters.

    Parameters
    ----------
    C1, C2, constant, loss, tolerance, change, epsilon, max_rounds, max_iterations, random_ties, restarts,
        check_inference, random_state, verbose : as for `JLIS`.
    size : as for `JLIS`, but 1 where nothing else is said.
    min_count, all_weights, classes, n_jobs : as for `MaxEnt`.

    Attributes
    ----------
    As for `JLIS`.
    """

    features, order, boundaries, rules, dictionary, guard = None, 1, True, None, None, False
    _lacking: ClassVar[dict[Companion, str]] = {
        GOOD: "documents of one of the classes, whichever it is",
        BAD: "documents of none of the classes",
    }

    def __init__(
        self,
        *,
        C1: float = 1.0,
        C2: float = 1.0,
        size: Size = None,
        constant: float = 1.0,
        loss: Loss = "squared_hinge",
        tolerance: float = 0.002,
        change: float = 1e-5,
        epsilon: float = 0.01,
        max_rounds: int = 50,
        max_iterations: int = 200,
        random_ties: bool = True,
        restarts: int = 1,
        check_inference: bool = False,
        min_count: int = 1,
        all_weights: bool = True,
        classes: Sequence[str] | None = None,
        random_state: int | None = 0,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.C1 = C1
        self.C2 = C2
        self.size = size
        self.constant = constant
        self.loss = loss
        self.tolerance = tolerance
        self.change = change
        self.epsilon = epsilon
        self.max_rounds = max_rounds
        self.max_iterations = max_iterations
        self.random_ties = random_ties
        self.restarts = restarts
        self.check_inference = check_inference
        self.min_count = min_count
        self.all_weights = all_weights
        self.classes = classes
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    @property
    def _task(self) -> Task:
        return Classifying()
