"""J-LIS on documents: classes, and documents that belong to one of them or to none."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from ..features.documents import document_count
from ..labels import as_sequences
from ..supervision import BAD, GOOD, Companion, Signal, kind_of, learns_from, require
from .companions import CompanionLearner, Size
from .documents import DocumentLearner
from .margins import Loss


@learns_from(Signal.FULL, Signal.COMPANION)
class DocumentJLIS(CompanionLearner, DocumentLearner):
    """`JLIS` with one label per document (section 6.4.4 of Chang 2011).

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

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from documents X, of which y tells the label, GOOD or BAD."""
        known = as_sequences(y, document_count(X))
        require(self, map(kind_of, known))
        self._check_companions(known, labels_known=bool(self.classes))
        prepared = self._prepare(X, y)
        runs = self._runs(X, known, prepared)
        self._adopt(prepared)
        self._keep_best(runs)
        return self
