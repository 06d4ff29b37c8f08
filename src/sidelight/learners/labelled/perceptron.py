"""The averaged structured perceptron, and passes over the data that change one state, whose average is the model."""

from typing import Annotated, Any, ClassVar, Self

from ...errors import NotSupported
from ...progress import progress
from ...records import Record, recorded
from ...solvers.perceptron import Examples, PerceptronState, run
from ..learner import Learner
from ..model import LinearModel, Prepared, prepare
from ..parameters import LinearParameters, declared, require_number


@recorded
class Pass(Record):
    """A pass over the data, and how many tokens were wrong in it."""

    unit: ClassVar[str] = "pass"
    better: ClassVar[str] = ""
    drawn: ClassVar[dict[str, str]] = {"mistakes": "tokens wrong"}
    iteration: int
    mistakes: int


@declared
class OnlineLearner(LinearParameters, Learner):
    """A learner that goes on from where its last pass ended: it adds parameters, `_check` and `_passes`."""

    epochs: Annotated[int, "Passes over the data at most; a pass without mistakes is the last."] = 10

    saved = ("trace_",)

    def _check(self) -> None:
        """Raise `DataError` for parameters that make no sense."""
        raise NotImplementedError

    def _passes(self, examples: Examples, state: PerceptronState, **options: Any) -> None:
        """Make passes over the inputs, changing `state`."""
        raise NotImplementedError

    @property
    def mistakes_(self) -> tuple[int, ...]:
        """Wrong tokens in each pass."""
        return tuple(one.mistakes for one in self.trace_)

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from inputs X and their outputs y."""
        self._check()
        return self._run(prepare(self, X, y), None, self.epochs)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """One more pass, over this batch.

        The first call fixes the attributes and the labels; name all labels in `classes` if the batch lacks some.
        Attributes that come later are ignored.
        """
        self._check()
        if not hasattr(self, "model_"):
            return self._run(prepare(self, X, y, classes), None, 1)
        if not hasattr(self, "_passes_"):
            raise NotSupported(
                f"a {type(self).__name__} read from a file cannot be trained on: it holds the average only; use fit"
            )
        model: LinearModel = self.model_
        _, known = self.read_known(X, y, self.classes_)
        batch = Prepared(self.task_, model.encode(X), known, model.classes, model.encoder, model.scorer)
        return self._run(batch, self._passes_.copy(), 1)

    def _run(self, data: Prepared, state: PerceptronState | None, passes: int) -> Self:
        state = PerceptronState.zero(data.scorer) if state is None else state
        examples = Examples(data.scorer, self.structure_, data.encoded, data.known)
        with progress(type(self).__name__, passes, self.verbose) as tell:
            self._passes(
                examples,
                state,
                passes=passes,
                seed=self.seed(len(state.mistakes)),
                on_pass=lambda number, wrong: tell(number, f"{wrong} of {len(data.known.outputs.values)} tokens wrong"),
            )
        self._adopt(data.model(state.average()))
        self._passes_ = state
        self.trace_ = tuple(Pass(k, int(wrong)) for k, wrong in enumerate(state.mistakes, start=1))
        return self


@declared
class StructuredPerceptron(OnlineLearner):
    """Averaged structured perceptron: quick, no penalty to choose, no probabilities.

        w ← w + F(x, y) - F(x, argmax θ)      for every sequence in random order; the average of w is kept.

    With a margin, the large-margin structured perceptron (Fernandes and Brefeld 2011), the argmax is that of
    θ + margin * Δ, Δ the Hamming loss. `predict_marginals` gives the softmax of the scores, which are not calibrated.

    Attributes
    ----------
    classes_, weights_, trace_
    mistakes_ : tuple of int
        Wrong tokens in each pass; with a margin, those that missed it count as wrong.
    """

    margin: Annotated[
        float,
        "By how much the score of y must be above that of an output, for each wrong token of it; 0 asks only that y be "
        "the best.",
    ] = 0.0

    def _check(self) -> None:
        require_number(self, "epochs", 1, whole=True)
        require_number(self, "margin", 0)

    def _passes(self, examples: Examples, state: PerceptronState, **options: Any) -> None:
        run(examples, state, margin=self.margin, **options)
