"""Self-training: a learner labels unlabelled data, keeps what it is sure of, and learns again from all of it."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...errors import DataError
from ...features.encoded import Encoded, State
from ...progress import progress
from ..choosing.guard import Guard, guarded
from ..learner import Explanation, require_number
from .wrapper import Wrapper, fit_on, split_known, told_labels


class SelfTraining(Wrapper):
    """Self-training on any base learner.

    Parameters
    ----------
    base : any learner of sequences.
    threshold : keep an unlabelled sequence if its best output has at least this probability; lower ones often do harm.
    iterations : rounds.
    classes : all labels, where y may lack some.
    guard : as for `CCM`.
    verbose, n_jobs : as for `CRF`.

    Attributes
    ----------
    base_ : the last model; kept_ : how many unlabelled sequences each round learned from; guard_ : as for `CCM`.
    """

    guard_: Guard | None

    def __init__(
        self,
        base: Any,
        *,
        threshold: float = 0.99,
        iterations: int = 5,
        classes: Any = None,
        guard: bool = True,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.base = base
        self.threshold = threshold
        self.iterations = iterations
        self.classes = classes
        self.guard = guard
        self.verbose = verbose
        self.n_jobs = n_jobs

    @guarded
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from labelled sequences and, where y is None, from unlabelled ones."""
        require_number(self, "threshold", 0)
        if self.threshold > 1:
            raise DataError(f"threshold is a probability, got {self.threshold!r}")
        require_number(self, "iterations", 0, whole=True)
        known, rest, read = split_known(self, X, y)
        pool = [X[i] for i in rest]
        if not known:
            raise DataError("self-training begins from labelled sequences, and there are none")
        classes = list(self.classes) if self.classes is not None else told_labels(self.base, read)
        labelled, labels = [X[i] for i in known], [y[i] for i in known]
        model, kept = fit_on(self.base, labelled, labels, classes), []
        with progress("self-training", self.iterations, self.verbose) as tell:
            for iteration in range(1, self.iterations + 1 if pool else 1):
                scores = model.scores(pool)
                best = self._structure.argmax(scores)
                sure = np.exp(best.scores - self._structure.marginals(scores).log_partition) >= self.threshold
                guessed = model._split(best.outputs.values, scores)
                chosen = np.flatnonzero(sure).tolist()
                kept.append(len(chosen))
                tell(iteration, f"{len(chosen)} of {len(pool)} sequences kept")
                model = fit_on(
                    self.base, labelled + [pool[i] for i in chosen], labels + [guessed[i] for i in chosen], classes
                )
        self.base_, self.classes_, self.kept_ = model, classes, tuple(kept)
        return self

    def scores(self, X: Any) -> Any:
        """The last model's scores."""
        check_is_fitted(self, "base_")
        return self.base_.scores(X)

    def encode(self, X: Any) -> Encoded:
        """X as flat arrays for the last model."""
        check_is_fitted(self, "base_")
        encoded: Encoded = self.base_.encode(X)
        return encoded

    def _models(self) -> dict[str, Any]:
        return {"base_": getattr(self, "base_", None)}

    def _state(self) -> State:
        return {"kept": list(self.kept_)}, {}

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.kept_ = tuple(values["kept"])

    def explain(self, x: Any, position: int = 0, *, top: int = 10) -> Explanation:
        """What speaks for a label in the last model."""
        check_is_fitted(self, "base_")
        explanation: Explanation = self.base_.explain(x, position, top=top)
        return explanation
