"""The averaged structured perceptron."""

from collections.abc import Sequence
from typing import Any, Self

from ..errors import NotSupported
from ..features.encoded import Encoded, State
from ..progress import progress
from ..scorers.linear import LinearScorer
from ..solvers.perceptron import PerceptronState, run
from ..supervision import Signal, Targets, learns_from
from .base import require_number
from .linear import LinearLearner, _length


@learns_from(Signal.FULL)
class StructuredPerceptron(LinearLearner):
    """Averaged structured perceptron: quick, no penalty to choose, no probabilities.

        w ← w + F(x, y) - F(x, argmax θ)      for every sequence in random order; the average of w is kept.

    Parameters
    ----------
    features, min_count, order, boundaries, all_weights, classes, random_state, verbose, n_jobs : as for `CRF`.
    epochs : passes over the data; it stops early after a pass without mistakes.
    margin : above 0, the argmax is taken over θ + margin * Hamming loss, which asks for that margin.

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
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from sequences X and their labels y."""
        self._check()
        prepared = self._prepare(X, y)
        state = PerceptronState.zero(prepared.scorer)
        self._run(prepared.scorer, prepared.encoded, prepared.targets, state, self.epochs)
        self._adopt(prepared)
        return self._keep(state)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """One more pass, over this batch.

        The first call fixes the attributes and the labels; name all labels in `classes` if the batch lacks some.
        Attributes that come later are ignored.
        """
        self._check()
        if hasattr(self, "_passes_"):
            _, targets = self._read_targets([_length(i, x) for i, x in enumerate(X)], y, self.classes_)
            state = self._passes_.copy()
            self._run(self.scorer_, self.encoder_.transform(X), targets, state, 1)
            return self._keep(state)
        if hasattr(self, "weights_"):
            raise NotSupported("a perceptron read from a file cannot be trained on: it holds the average only; use fit")
        prepared = self._prepare(X, y, classes)
        state = PerceptronState.zero(prepared.scorer)
        self._run(prepared.scorer, prepared.encoded, prepared.targets, state, 1)
        self._adopt(prepared)
        return self._keep(state)

    def _check(self) -> None:
        require_number(self, "epochs", 1, whole=True)
        require_number(self, "margin", 0)

    def _run(
        self, scorer: LinearScorer, encoded: Encoded, targets: Targets, state: PerceptronState, passes: int
    ) -> None:
        with progress("perceptron", passes, self.verbose) as tell:
            run(
                scorer,
                encoded,
                targets.labels,
                state,
                passes=passes,
                margin=self.margin,
                seed=self._seed(len(state.mistakes)),
                on_pass=lambda number, wrong: tell(number, f"{wrong} of {encoded.tokens} tokens wrong"),
            )

    def _keep(self, state: PerceptronState) -> Self:
        """Take over what was learned: late, so that a fit that fails leaves the learner as it was."""
        self._passes_ = state
        self.weights_ = state.average()
        self.mistakes_ = tuple(state.mistakes)
        return self

    def _state(self) -> State:
        values, arrays = super()._state()
        return {**values, "mistakes": list(self.mistakes_)}, arrays

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        super()._restore(values, arrays)
        self.mistakes_ = tuple(values["mistakes"])
