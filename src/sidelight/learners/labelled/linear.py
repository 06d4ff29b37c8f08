"""What learners with one weight vector share, whatever they predict."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...errors import DataError
from ...features.encoded import Encoded, Encoder, State
from ...kernels.compiling import Floats, Ints
from ..learner import Learner, require_number
from ..tasks.labelling import Labelling
from ..tasks.task import Reasons, Task, Weighted


class Prepared(NamedTuple):
    """Data made ready for fitting, and what the learner takes over when the fit is done."""

    encoded: Any
    known: Any
    classes: list[str]
    encoder: Encoder
    scorer: Any


class LinearLearner(Learner[Any]):
    """A learner whose model is one weight vector `weights_` for `scorer_`, on any task."""

    task: Task | None
    features: Any
    min_count: int
    order: int
    boundaries: bool
    all_weights: bool
    classes: Sequence[str] | None
    scorer_: Any
    weights_: Floats

    @property
    def _task(self) -> Task:
        """The task that was given, or labelling."""
        return Labelling(self.order, self.boundaries) if self.task is None else self.task

    def _prepare(self, X: Any, y: Any, classes: Any = None) -> Prepared:
        """Check the parameters, encode X and y, and lay out the weights."""
        encoder = self._choose_encoder(X)
        found, known = self._read_known(self._task.sizes(X), y, self.classes if classes is None else classes)
        return self._lay_out(encoder, X, known, found)

    def _choose_encoder(self, X: Any) -> Encoder:
        """Check the parameters, and how X becomes attributes."""
        self._check_layout()
        return self._task.choose_encoder(X, self.features, self.min_count, self.n_jobs)

    def _lay_out(self, encoder: Encoder, X: Any, known: Any, found: list[str]) -> Prepared:
        """Encode X, and a weight for whatever is known to be, or may be."""
        encoded = encoder.fit_transform(X)
        scorer = self._task.lay_out(encoded, known, len(found), all_weights=bool(self.all_weights))
        return Prepared(encoded, known, found, encoder, scorer)

    def _check_layout(self) -> None:
        """Check the parameters that all linear learners have."""
        given = getattr(self, "task", None)  # presets have a task of their own
        if given is not None and (isinstance(given, type) or not hasattr(given, "lay_out")):
            raise DataError(f"task is a task such as Segmenting() or Classifying(), or None, got {given!r}")
        if given is not None and (self.order != 1 or not self.boundaries):
            raise DataError("order and boundaries belong to the task where one is given: Labelling(order=2)")
        self._task.check()
        require_number(self, "min_count", 0, whole=True)
        if self.random_state is not None:
            require_number(self, "random_state", 0, whole=True)

    def _adopt(self, prepared: Prepared) -> None:
        """Take over labels, encoder and scorer: late, so that a fit that fails leaves the learner as it was."""
        self.classes_, self.encoder_, self.scorer_ = prepared.classes, prepared.encoder, prepared.scorer

    def _part_scores(self, encoded: Encoded) -> Any:
        self._task.require_encoded(self.scorer_, encoded)
        return self.scorer_.scores(encoded, self.weights_, self.n_jobs)

    @property
    def _weighted(self) -> Weighted:
        return Weighted(self.classes_, self.encoder_, self.scorer_, self.weights_)

    def _reasons(self, encoded: Encoded, scores: Any, outputs: Ints, t: int) -> Reasons:
        return self._task.reasons(self._weighted, encoded, scores, outputs, t)

    def top_weights(self, count: int = 20, label: str | None = None) -> list[tuple[str, str, float]]:
        """The attribute weights of largest size, of one label or of all: (feature, label, weight)."""
        number = None if label is None else self._number(label)
        found = self._task.strongest(self._weighted, count, number)
        return [(feature, "" if c < 0 else self.classes_[c], weight) for feature, c, weight in found]

    def _state(self) -> State:
        return {}, {**self.scorer_.arrays(), "weights": self.weights_}

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.scorer_ = self._task.restore(len(self.classes_), arrays)
        self.weights_ = arrays["weights"]
