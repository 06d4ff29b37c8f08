"""The averaged structured perceptron, and passes over the data that change one state, whose average is the model."""

from typing import Annotated, Any, ClassVar, Self

import numpy as np

from ...declared import Bounds, declared
from ...errors import NotSupported
from ...kernels.compiling import Floats
from ...progress import progress
from ...records import Record, recorded
from ...solvers.perceptron import Examples, PerceptronState, run
from ...structures.known import KnownLabels
from ..inputs import weighed
from ..learner import Learner
from ..model import LinearModel, Prepared, prepare
from ..parameters import LinearParameters


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
    """A learner that goes on from where its last pass ended: it adds parameters and `_passes`."""

    epochs: Annotated[int, "Passes over the data at most; a pass without mistakes is the last.", Bounds(1)] = 10

    saved = ("trace_",)

    def _passes(self, examples: Examples, state: PerceptronState, **options: Any) -> None:
        """Make passes over the inputs, changing `state`."""
        raise NotImplementedError

    @property
    def mistakes_(self) -> tuple[int, ...]:
        """Wrong tokens in each pass."""
        return tuple(one.mistakes for one in self.trace_)

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from inputs X and their outputs y.

        sample_weight : what the steps of each input are multiplied by (of `MIRA`, the cap C), at least 0; None: 1.
        """
        X, y, weights = self._weighed(X, y, sample_weight)
        return self._run(prepare(self, X, y), weights, None, self.epochs)

    def _weighed(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Floats | None]:
        """The inputs that count, and what they count."""
        return weighed(self, X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, *, sample_weight: Any = None) -> Self:
        """One more pass, over this batch; the average goes on from the passes before.

        The first call fixes the labels; name all of them in `classes` if its batch lacks some. What later batches show
        for the first time gets weights too, where sequences or documents are labelled; other tasks leave out what the
        first batch lacks. With `all_weights` passes over the batches of some data, each of one input, are a pass over
        the data; without, an attribute has a weight for a label only once both were seen together.

        sample_weight : as for `fit`.
        """
        X, y, weights = self._weighed(X, y, sample_weight)
        if not hasattr(self, "model_"):
            return self._run(prepare(self, X, y, classes), weights, None, 1)
        if not hasattr(self, "_passes_"):
            raise NotSupported(
                f"a {type(self).__name__} read from a file cannot be trained on: it holds the average only; use fit"
            )
        self.require_same_labels(classes)
        batch, state = self._grown(X, y)
        return self._run(batch, weights, state, 1)

    def _grown(self, X: Any, y: Any) -> tuple[Prepared, PerceptronState]:
        """A batch, with weights for what it shows for the first time where there can be some, and the state for it."""
        model: LinearModel = self.model_
        _, known = self.read_known(X, y, self.labels_)
        encoder, scorer, state = model.encoder, model.scorer, self._passes_.copy()
        if hasattr(scorer, "united"):
            encoder = encoder.extended(X) if hasattr(encoder, "extended") else encoder
            encoded = encoder.transform(X)
            alone = self.task_.lay_out(encoded, known, len(model.classes), all_weights=bool(self.all_weights))
            scorer, places = scorer.united(alone)
            state = state.spread(places, scorer.size)
        else:
            encoded = model.encode(X)
        return Prepared(self.task_, encoded, known, model.classes, encoder, scorer), state

    def _run(self, data: Prepared, weights: Floats | None, state: PerceptronState | None, passes: int) -> Self:
        state = PerceptronState.zero(data.scorer) if state is None else state
        each, known = np.empty(0) if weights is None else weights, data.known
        # Labels on disk are not looked at for this.
        tokens = int(known.offsets[-1]) if isinstance(known, KnownLabels) else len(known.outputs.values)
        examples = Examples(data.scorer, self.structure_, data.encoded, data.known, each)
        with progress(type(self).__name__, passes, self.verbose) as tell:
            self._passes(
                examples,
                state,
                passes=passes,
                seed=self.seed(len(state.mistakes)),
                on_pass=lambda number, wrong: tell(number, f"{wrong} of {tokens} tokens wrong"),
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
        Bounds(0),
    ] = 0.0
    batch_size: Annotated[
        int,
        "Inputs whose best outputs are found with the same weights, before each of them moves these (Zhao and Huang "
        "2013). Threads share batches of label sequences, and the result does not depend on their number; trees take "
        "longer in batches than one by one. With few inputs to learn from, batches cost accuracy.",
        Bounds(1),
    ] = 1

    def _passes(self, examples: Examples, state: PerceptronState, **options: Any) -> None:
        run(examples, state, margin=self.margin, batch_size=self.batch_size, **options)
