"""Models: what was learned and is saved. A model gives scores to parts, and says what they are made of.

A linear model has weights for the scorer that its task laid out; a mixture has the same face, and adds the scores of
several models.
"""

import ctypes
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ..errors import DataError, NotSupported
from ..features.encoded import Encoded, Encoder
from ..kernels.compiling import Floats, Ints
from ..progress import progress
from ..stored import Arrays, finite, read_arrays
from .tasks.task import Reasons, Task


class Model(Protocol):
    """What was learned."""

    @property
    def classes(self) -> list[str]:
        """The labels."""
        ...

    @property
    def attributes(self) -> int:
        """What can be observed of an input."""
        ...

    @property
    def size(self) -> int:
        """How many numbers were learned."""
        ...

    def encode(self, X: Any) -> Encoded:
        """Returns X as flat arrays; what is encoded already stays as it is."""
        ...

    def scores(self, X: Any, n_jobs: int) -> Any:
        """Returns the scores of every part of every input."""
        ...

    def reasons(self, X: Any, outputs: Ints, t: int, n_jobs: int) -> Reasons:
        """Returns every contribution to the score of decision t of one input, the others being as in `outputs`."""
        ...

    def strongest(self, count: int, label: int | None) -> list[tuple[str, int, float]]:
        """Returns the weights of largest size, of one label or of all: (feature, label, weight)."""
        ...


@dataclass(frozen=True)
class LinearModel:
    """One weight vector for a scorer."""

    task: Task
    classes: list[str]
    encoder: Any
    scorer: Any
    weights: Floats

    @property
    def attributes(self) -> int:
        """What can be observed of an input."""
        return int(self.encoder.transform([]).attributes)

    @property
    def size(self) -> int:
        """How many weights there are."""
        return int(self.weights.size)

    def encode(self, X: Any) -> Encoded:
        """Returns X as flat arrays."""
        return X if isinstance(X, Encoded) else self.encoder.transform(X)

    def scores(self, X: Any, n_jobs: int) -> Any:
        """Returns the scores of every part of every input."""
        encoded = self.encode(X)
        self.task.require_encoded(self.scorer, encoded)
        return self.scorer.scores(encoded, self.weights, n_jobs)

    def best_outputs(self, X: Any, n_jobs: int) -> tuple[Ints, Any] | None:
        """Returns the best outputs, and parts with their shapes, where the scorer finds them without scores."""
        if not hasattr(self.scorer, "best_outputs"):
            return None
        encoded = self.encode(X)
        self.task.require_encoded(self.scorer, encoded)
        found: tuple[Ints, Any] = self.scorer.best_outputs(encoded, self.weights, n_jobs)
        return found

    def reasons(self, X: Any, outputs: Ints, t: int, n_jobs: int) -> Reasons:
        """Returns every contribution to the score of decision t."""
        return self.task.reasons(self, self.encode(X), self.scores(X, n_jobs), outputs, t)

    def strongest(self, count: int, label: int | None) -> list[tuple[str, int, float]]:
        """Returns the weights of largest size."""
        return self.task.strongest(self, count, label)

    def state(self) -> dict[str, Any]:
        """Returns arrays, for a model file; the encoder has its own."""
        return {**self.scorer.arrays(), "weights": self.weights}

    @classmethod
    def restored(cls, task: Task, classes: list[str], encoder: Any, arrays: Arrays) -> "LinearModel":
        """Returns the model whose `state()` had these arrays."""
        scorer = task.restore(len(classes), arrays)
        try:
            task.require_encoded(scorer, encoder.transform([]))
        except DataError as error:
            raise DataError(f"the weights do not belong to the features: {error}") from None
        found = read_arrays(arrays, {"weights": finite("weights")}, weights=scorer.size)
        return cls(task, classes, encoder, scorer, found["weights"])


@dataclass(frozen=True)
class Mixture:
    """The scores of two models: those of the first count `weight`, those of the second the rest."""

    first: Model
    second: Model
    weight: float

    @property
    def classes(self) -> list[str]:
        """The labels of both."""
        return self.first.classes

    @property
    def attributes(self) -> int:
        """What can be observed of an input, by either."""
        return self.first.attributes + self.second.attributes

    @property
    def size(self) -> int:
        """How many numbers were learned in all."""
        return self.first.size + self.second.size

    def encode(self, X: Any) -> Encoded:
        """Not offered: each model has its own encoding."""
        raise NotSupported("two models are mixed, each with its own encoding; give X as it is, or encode with one")

    def scores(self, X: Any, n_jobs: int) -> Any:
        """Returns the weighted sums of the scores."""
        if isinstance(X, Encoded):
            self.encode(X)
        return self.first.scores(X, n_jobs).mix(self.second.scores(X, n_jobs), self.weight)

    def reasons(self, X: Any, outputs: Ints, t: int, n_jobs: int) -> Reasons:
        """Returns what both models say, those with the same text added up."""
        rows: dict[str, Floats] = {}
        for weight, model in self._counted():
            for text, row in model.reasons(X, outputs, t, n_jobs):
                rows[text] = rows[text] + weight * row if text in rows else weight * row
        return list(rows.items())

    def _counted(self) -> list[tuple[float, Model]]:
        """Both models and what they count, but for one that counts nothing."""
        both = ((self.weight, self.first), (1 - self.weight, self.second))
        return [(weight, model) for weight, model in both if weight]

    def strongest(self, count: int, label: int | None) -> list[tuple[str, int, float]]:
        """Returns the weights of largest size, those of both models added up as much as they count."""
        found: dict[tuple[str, int], float] = {}
        for share, model in self._counted():
            for feature, c, weight in model.strongest(model.size, label):
                found[feature, c] = found.get((feature, c), 0.0) + share * weight
        ranked = sorted(found.items(), key=lambda item: -abs(item[1]))
        return [(feature, c, weight) for (feature, c), weight in ranked[:count]]


@dataclass(frozen=True)
class Fitted:
    """The model of a fitted learner, with scores as its own predictions see them: under its dictionary, say.

    rows: whether scores are seen as rows about expectations see them; documents are sequences of one token there.
    """

    learner: Any
    rows: bool = False

    @property
    def classes(self) -> list[str]:
        """The labels."""
        classes: list[str] = self.learner.model_.classes
        return classes

    @property
    def encoder(self) -> Any:
        """How inputs become attributes."""
        return self.learner.model_.encoder

    @property
    def attributes(self) -> int:
        """What can be observed of an input."""
        return int(self.learner.model_.attributes)

    @property
    def size(self) -> int:
        """How many numbers were learned."""
        return int(self.learner.model_.size)

    def encode(self, X: Any) -> Encoded:
        """Returns X as flat arrays."""
        encoded: Encoded = self.learner.encode(X)
        return encoded

    def scores(self, X: Any, n_jobs: int) -> Any:
        """Returns the scores that the learner predicts by."""
        scores = self.learner.scores(X)
        return scores.for_rows() if self.rows else scores

    def reasons(self, X: Any, outputs: Ints, t: int, n_jobs: int) -> Reasons:
        """Returns every contribution to the score of decision t."""
        reasons: Reasons = self.learner.model_.reasons(X, outputs, t, n_jobs)
        return reasons

    def strongest(self, count: int, label: int | None) -> list[tuple[str, int, float]]:
        """Returns the weights of largest size."""
        found: list[tuple[str, int, float]] = self.learner.model_.strongest(count, label)
        return found


def mixed(first: Any, second: Any, weight: float, *, rows: bool = False) -> Model:
    """Returns the model of two fitted learners, of which the first counts `weight`; either may be None."""
    if first is None or second is None:
        return Fitted(second if first is None else first, rows)
    return Mixture(Fitted(first, rows), Fitted(second, rows), weight)


class Prepared(NamedTuple):
    """Data made ready for fitting, and what the learner takes over when the fit is done."""

    task: Task
    encoded: Any
    known: Any
    classes: list[str]
    encoder: Encoder
    scorer: Any

    def model(self, weights: Floats) -> LinearModel:
        """Returns the model with these weights."""
        return LinearModel(self.task, self.classes, self.encoder, self.scorer, weights)


def prepare(learner: Any, X: Any, y: Any, classes: Sequence[str] | None = None) -> Prepared:
    """Encode X and y, and lay out the weights."""
    encoder = choose_encoder(learner, X)
    found, known = learner.read_known(X, y, learner.classes if classes is None else classes)
    return lay_out(learner, encoder, X, known, found)


def choose_encoder(learner: Any, X: Any) -> Encoder:
    """Returns how X becomes attributes."""
    task: Task = learner.task_
    encoder = task.choose_encoder(X, learner.features, learner.min_count, learner.n_jobs)
    bits = getattr(learner, "hash_bits", None)
    if bits is None:
        return encoder
    if not hasattr(encoder, "hashed"):
        raise DataError("hash_bits is for templates over the columns of tokens; leave it out here")
    hashed: Encoder = encoder.hashed(bits)
    return hashed


def lay_out(learner: Any, encoder: Encoder, X: Any, known: Any, classes: list[str]) -> Prepared:
    """Encode X, and give a weight to whatever is known to be, or may be."""
    with progress(f"{type(learner).__name__}, features", None, bool(getattr(learner, "verbose", False))):
        encoded = encoder.fit_transform(X)
    scorer = learner.task_.lay_out(encoded, known, len(classes), all_weights=bool(learner.all_weights))
    if encoded.tokens >= _MUCH:
        _give_back()
    return Prepared(learner.task_, encoded, known, classes, encoder, scorer)


# Tokens from which on encoding frees memory that is worth giving back.
_MUCH = 20_000


def _give_back() -> None:
    """Give memory that encoding has freed back to the system, before a solver takes more.

    C libraries keep what threads have freed for these threads; glibc, that of Linux, can be asked not to.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
