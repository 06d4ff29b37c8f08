"""What the perceptron and MIRA share: passes over the data that change one state, whose average is the model."""

from typing import Any, Self

from ...errors import NotSupported
from ...features.encoded import State
from ...progress import progress
from ...solvers.perceptron import Examples, PerceptronState
from .linear import LinearLearner


class OnlineLearner(LinearLearner):
    """A learner that goes on from where its last pass ended: it adds parameters, `_check` and `_passes`."""

    epochs: int
    verbose: bool

    def _check(self) -> None:
        """Raise `DataError` for parameters that make no sense."""
        raise NotImplementedError

    def _passes(self, examples: Examples, state: PerceptronState, **options: Any) -> None:
        """Make passes over the inputs, changing `state`."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from inputs X and their outputs y."""
        self._check()
        prepared = self._prepare(X, y)
        state = PerceptronState.zero(prepared.scorer)
        self._run(prepared.scorer, prepared.encoded, prepared.known, state, self.epochs)
        self._adopt(prepared)
        return self._keep(state)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """One more pass, over this batch.

        The first call fixes the attributes and the labels; name all labels in `classes` if the batch lacks some.
        Attributes that come later are ignored.
        """
        self._check()
        if hasattr(self, "_passes_"):
            _, known = self._read_known(self._task.sizes(X), y, self.classes_)
            state = self._passes_.copy()
            self._run(self.scorer_, self.encoder_.transform(X), known, state, 1)
            return self._keep(state)
        if hasattr(self, "weights_"):
            raise NotSupported(
                f"a {type(self).__name__} read from a file cannot be trained on: it holds the average only; use fit"
            )
        prepared = self._prepare(X, y, classes)
        state = PerceptronState.zero(prepared.scorer)
        self._run(prepared.scorer, prepared.encoded, prepared.known, state, 1)
        self._adopt(prepared)
        return self._keep(state)

    def _run(self, scorer: Any, encoded: Any, known: Any, state: PerceptronState, passes: int) -> None:
        examples = Examples(scorer, self._structure, encoded, known)
        with progress(type(self).__name__, passes, self.verbose) as tell:
            self._passes(
                examples,
                state,
                passes=passes,
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
