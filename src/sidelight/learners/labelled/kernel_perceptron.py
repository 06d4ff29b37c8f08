"""The kernelised structured perceptron: all conjunctions of features up to a length, without listing them."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Self

import numpy as np

from ...declared import Bounds, declared
from ...features.encoded import Encoded, require_attributes
from ...kernels.compiling import Floats, Ints
from ...progress import progress
from ...scorers.polynomial import PolynomialScorer
from ...solvers.kernel_perceptron import run
from ...solvers.perceptron import PerceptronState
from ...stored import Arrays
from ...structures.chain import ChainParts
from ...structures.known import KnownLabels
from ..inputs import refuse_weights
from ..learner import Learner
from ..model import LinearModel, prepare
from ..parameters import LayoutParameters
from ..tasks.labelling import Labelling, neighbour_reasons
from ..tasks.task import Reasons, Weighted
from .perceptron import Pass


@dataclass(frozen=True)
class KernelLabelling(Labelling):
    """Labelling where tokens are compared with training tokens by a polynomial kernel of this degree."""

    degree: int = 2

    def lay_out(self, encoded: Encoded, known: KnownLabels, labels: int, *, all_weights: bool) -> Any:
        """Returns counters for every token, and weights of label pairs."""
        return PolynomialScorer.observed(
            encoded, known, labels, degree=self.degree, boundaries=self.boundaries, all_weights=all_weights
        )

    def restore(self, labels: int, arrays: Arrays) -> Any:
        """Returns the scorer whose arrays these are."""
        return PolynomialScorer.from_arrays(self.degree, labels, arrays)

    def require_encoded(self, scorer: Any, encoded: Encoded) -> None:
        """Raises `DataError` where input was encoded by another model."""
        require_attributes(encoded, scorer.attributes)

    def reasons(self, model: Weighted, encoded: Encoded, scores: ChainParts, outputs: Ints, t: int) -> Reasons:
        """Returns what training tokens and the neighbours' labels add to each label of token t."""
        own: Floats = scores.unary[t]
        return [("training tokens like it", own), *neighbour_reasons(model.classes, scores, outputs, t)]

    def strongest(self, model: Weighted, count: int, label: int | None) -> list[tuple[str, int, float]]:
        """Returns the training tokens with the largest counters, in the words of their attributes."""
        scorer: PolynomialScorer = model.scorer
        counters, _ = scorer.split(model.weights)
        size = np.abs(counters) if label is None else np.where(np.arange(counters.shape[1]) == label, abs(counters), 0)
        found = []
        for at in np.argsort(-size, axis=None, kind="stable")[:count].tolist():
            s, c = divmod(at, counters.shape[1])
            if size[s, c] > 0:
                attributes = scorer.indices[scorer.indptr[s] : scorer.indptr[s + 1]].tolist()
                found.append((", ".join(map(model.encoder.describe, attributes)), c, float(counters[s, c])))
        return found


@declared
class KernelPerceptron(LayoutParameters, Learner):
    """Averaged structured perceptron on label chains with a polynomial kernel over the attributes of a token.

        s(x_t, c) = Σ_s α_sc (x_s·x_t + 1)^degree      over the training tokens s that were ever wrong.

    Degree d weighs all conjunctions of up to d attributes (section 4.4 of Fernandes 2012). Every token is compared with
    all of these tokens, so that training takes long: it is there to compare `InducedTemplates` with, which finds the
    few conjunctions that matter. `predict_marginals` gives the softmax of the scores, which are not calibrated.

    Attributes
    ----------
    classes_, weights_, trace_, mistakes_
    """

    features: Annotated[
        Any,
        "Templates over the token columns, as text or expressions; None is `DEFAULT_TEMPLATES`. It must be None "
        "where X holds feature dicts or arrays.",
    ] = field(default=None, kw_only=False)
    degree: Annotated[int, "How many attributes are joined at most.", Bounds(1)] = 2
    epochs: Annotated[int, "Passes over the data at most; a pass without mistakes is the last.", Bounds(1)] = 10
    margin: Annotated[
        float,
        "By how much the score of y must be above that of an output, for each wrong token of it; 0 asks only that y be "
        "the best.",
        Bounds(0),
    ] = 0.0
    boundaries: Annotated[bool, "Whether first and last labels have weights of their own."] = True
    all_weights: Annotated[bool, "Whether all label pairs have weights, not only those observed."] = False
    random_state: Annotated[int | None, "Seed of the order of visits; None gives another one each time."] = 0

    saved = ("trace_",)

    @property
    def task_(self) -> KernelLabelling:
        """Labels of sequences, by a kernel."""
        return KernelLabelling(boundaries=self.boundaries, degree=self.degree)

    @property
    def mistakes_(self) -> tuple[int, ...]:
        """Wrong tokens in each pass."""
        return tuple(one.mistakes for one in self.trace_)

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from sequences X and their labels y."""
        refuse_weights(self, sample_weight)
        data = prepare(self, X, y)
        state = PerceptronState.zero(data.scorer)
        with progress(type(self).__name__, self.epochs, self.verbose) as tell:
            run(
                data.scorer, data.encoded, data.known, state, passes=self.epochs, margin=self.margin, seed=self.seed(),
                on_pass=lambda number, wrong: tell(number, f"{wrong} of {data.encoded.tokens} tokens wrong"),
            )  # fmt: skip
        scorer, weights = data.scorer.pruned(state.average())
        self._adopt(LinearModel(data.task, data.classes, data.encoder, scorer, weights))
        self.trace_ = tuple(Pass(k, int(wrong)) for k, wrong in enumerate(state.mistakes, start=1))
        return self
