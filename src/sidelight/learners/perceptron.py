"""The averaged structured perceptron."""

from typing import Any, Self

import numpy as np

from ..errors import DataError, NotSupported
from ..features.encoded import Encoded, State
from ..progress import progress
from ..solvers.perceptron import PerceptronState, run
from ..supervision import Signal, Targets, learns_from
from .linear import LinearLearner, _length


@learns_from(Signal.FULL)
class StructuredPerceptron(LinearLearner):
    """Averaged structured perceptron: quick, no penalty to choose, no probabilities.

        w ← w + F(x, y) - F(x, argmax θ)      for every sequence in random order; the average of w is kept.

    Parameters
    ----------
    features, min_count, order, boundaries, all_weights, random_state, verbose, n_jobs : as for `CRF`.
    epochs : passes over the data; it stops early after a pass without mistakes.
    margin : above 0, the argmax is taken over θ + margin * Hamming loss, which asks for that margin.

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
        margin: float = 0.0,
        min_count: int = 1,
        order: int = 1,
        boundaries: bool = True,
        all_weights: bool = False,
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
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from sequences X and their labels y."""
        self._check()
        prepared = self._prepare(X, y)
        self._adopt(prepared)
        self._state_ = PerceptronState.zero(self.scorer_)
        return self._run(prepared.encoded, prepared.targets, self.epochs)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """One more pass, over this batch.

        The first call fixes the attributes and the labels; name all labels in `classes` if the batch lacks some.
        Attributes that come later are ignored.
        """
        self._check()
        if hasattr(self, "_state_"):
            _, targets = self._read_targets([_length(i, x) for i, x in enumerate(X)], y, self.classes_)
            encoded = self.encoder_.transform(X)
        elif hasattr(self, "weights_"):
            raise NotSupported("a perceptron read from a file cannot be trained on: it holds the average only; use fit")
        else:
            prepared = self._prepare(X, y, classes)
            encoded, targets = prepared.encoded, prepared.targets
            self._adopt(prepared)
            self._state_ = PerceptronState.zero(self.scorer_)
        return self._run(encoded, targets, 1)

    def _check(self) -> None:
        if not self.epochs >= 1:
            raise DataError(f"epochs must be at least 1, got {self.epochs!r}")
        if not 0 <= self.margin < np.inf:
            raise DataError(f"margin must be a finite number of at least 0, got {self.margin!r}")

    def _run(self, encoded: Encoded, targets: Targets, passes: int) -> Self:
        seed = self._seed(len(self._state_.mistakes))
        with progress("perceptron", passes, self.verbose) as tell:
            run(
                self.scorer_,
                encoded,
                targets.labels,
                self._state_,
                passes=passes,
                margin=self.margin,
                seed=seed,
                on_pass=lambda number, wrong: tell(number, f"{wrong} of {encoded.tokens} tokens wrong"),
            )
        self.weights_ = self._state_.average()
        self.mistakes_ = tuple(self._state_.mistakes)
        return self

    def _state(self) -> State:
        values, arrays = super()._state()
        return {**values, "mistakes": list(self.mistakes_)}, arrays

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        super()._restore(values, arrays)
        self.mistakes_ = tuple(values["mistakes"])
