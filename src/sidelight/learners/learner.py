"""What all learners share: encoding, prediction, explanation and files.

A learner adds its parameters, `fit`, and `_part_scores`, the scores of every part for encoded input. What it predicts,
and from what, is its task.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..errors import DataError, NotSupported
from ..features.encoded import Encoded, Encoder, State
from ..kernels.compiling import Floats, Ints
from ..structures.known import Known
from ..structures.protocol import Parts, Structure
from ..supervision import Companion, Signal, require
from .registry import REGISTRY
from .tasks.labelling import Labelling
from .tasks.task import Task


def require_number(learner: Any, name: str, low: float, *, whole: bool = False, open_end: bool = False) -> None:
    """Raise `DataError` unless a parameter is a finite (whole) number of at least `low` (above it, if open)."""
    value = getattr(learner, name)
    kind = Integral if whole else Real
    good = isinstance(value, kind) and not isinstance(value, bool) and np.isfinite(float(value))
    if not good or value < low or (open_end and value == low):
        bound = f"above {low:g}" if open_end else f"of at least {low:g}"
        raise DataError(f"{name} must be a {'whole' if whole else 'finite'} number {bound}, got {value!r}")


class Scored(NamedTuple):
    """An output and its score."""

    labels: list[str]
    score: float


@dataclass(frozen=True)
class Evidence:
    """How much one feature speaks for the label and for its rival (contributions to the score)."""

    feature: str
    weight: float
    rival_weight: float

    @property
    def difference(self) -> float:
        """Above zero: speaks for the label; below: for the rival."""
        return self.weight - self.rival_weight


@dataclass(frozen=True)
class Explanation:
    """Why a token got its label rather than the next best one; the strongest evidence first."""

    position: int
    label: str
    probability: float
    rival: str
    rival_probability: float
    evidence: tuple[Evidence, ...]

    def __str__(self) -> str:
        lines = [
            f"token {self.position}: {self.label} ({self.probability:.1%}) rather than "
            f"{self.rival} ({self.rival_probability:.1%})"
        ]
        if self.rival_probability > self.probability:
            lines[0] += f"; {self.rival} is more probable here, but not in the best sequence as a whole"
        lines += [f"  {e.difference:+8.3f}  {e.feature}" for e in self.evidence]
        return "\n".join(lines)


class TokenParts(Parts, Protocol):
    """Parts among which are the labels of tokens."""

    @property
    def unary(self) -> Floats:
        """(tokens, labels)."""
        ...


P = TypeVar("P", bound=TokenParts)


class Learner(BaseEstimator, Generic[P]):  # type: ignore[misc]
    """Base of the estimators; the outputs of their task are made of parts of type `P`."""

    signals: ClassVar[frozenset[Signal]]
    n_jobs: int
    random_state: int | None
    encoder_: Encoder
    classes_: list[str]

    def __init_subclass__(cls, **more: Any) -> None:
        """A learner of the library learns from what its row of the registry says."""
        super().__init_subclass__(**more)
        if cls.__name__ in REGISTRY:
            cls.signals = REGISTRY[cls.__name__].signals

    @property
    def _task(self) -> Task:
        """What is predicted, and from what; sequences are labelled where nothing else is said."""
        return Labelling()

    @property
    def _structure(self) -> Structure[P]:
        """What can be predicted."""
        return self._task.structure(self.n_jobs)

    def _part_scores(self, encoded: Encoded) -> P:
        """Scores θ of every part."""
        raise NotImplementedError

    def _seed(self, *more: int) -> int:
        """A seed from `random_state` (and more numbers); None gives another one each time."""
        base = [] if self.random_state is None else [self.random_state, *more]
        return int(np.random.SeedSequence(base or None).generate_state(1)[0])

    def _models(self) -> dict[str, Any]:
        """Fitted learners inside this one, by attribute; a model file keeps them too."""
        return {}

    def _state(self) -> State:
        """Fitted values and arrays beside those of the encoder."""
        raise NotImplementedError

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Take back what `_state` gave."""
        raise NotImplementedError

    def _read_known(
        self, sizes: Sequence[int], y: Any, classes: Sequence[str] | None = None
    ) -> tuple[list[str], Known[P]]:
        """Returns all labels, and y as arrays; what this learner cannot use, or what does not fit to X, is an error."""
        read = self._task.read(y, sizes)
        found = self._task.labels(read)
        require(self, self._task.kinds(read), self._task.noun)
        labels = found if classes is None else list(classes)
        if len(set(labels)) != len(labels):
            raise DataError(f"classes must be different labels, got {labels!r}")
        return labels, self._task.known(read, sizes, labels)

    def encode(self, X: Any) -> Encoded:
        """X as flat arrays; `predict` and its relatives take this as well, and need not encode again."""
        check_is_fitted(self, "classes_")
        return X if isinstance(X, Encoded) else self.encoder_.transform(X)

    def scores(self, X: Any) -> P:
        """The scores of every part of every sequence."""
        return self._part_scores(self.encode(X))

    def predict(self, X: Any) -> list[Any]:
        """The best output of each input, by exact inference, written as in y."""
        scores = self.scores(X)
        return self._split(self._decode(X, scores, 1)[0][0], scores)

    def _decode(self, X: Any, scores: P, k: int) -> tuple[Ints, Floats]:
        """The k best outputs of X by these scores: (ranks, tokens) as the structure has them, (sequences, ranks)."""
        if k == 1:
            best = self._structure.argmax(scores)
            return best.outputs.values[None], best.scores[:, None]
        ranked = self._structure.kbest(scores, k)
        return ranked.outputs.values, ranked.scores

    def complete(self, X: Any, y: Any) -> list[Any]:
        """The best output of each input among those that agree with what y says about it."""
        scores = self.scores(X)
        return self._split(self._decode(X, self._agreeing(scores, y), 1)[0][0], scores)

    def _agreeing(self, scores: P, y: Any) -> P:
        """Scores with -inf on the labels that y excludes."""
        sizes = self._task.sizes_of(scores)
        read = self._task.read(y, sizes)
        self._task.labels(read)
        agreeing: P = self._task.known(read, sizes, self.classes_).restrict(scores)
        return agreeing

    def predict_marginals(self, X: Any) -> list[Floats]:
        """For each input the probability of every label at every token: (tokens, labels), columns as `classes_`."""
        return self._task.chances(self._structure.marginals(self.scores(X)).parts)

    @available_if(lambda self: self._task.noun == "document")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """The probability of every label for every document: (documents, labels), columns as `classes_`."""
        chances = self.predict_marginals(X)
        return np.concatenate(chances) if chances else np.empty((0, len(self.classes_)))

    def predict_kbest(self, X: Any, k: int = 5) -> list[list[Scored]]:
        """For each input its k best label sequences with their scores, best first; fewer where fewer exist."""
        scores = self.scores(X)
        return self._ranked(*self._decode(X, scores, k), scores)

    def _ranked(self, labels: Ints, by_rank: Floats, scores: P) -> list[list[Scored]]:
        """Outputs (ranks, tokens) and their scores (sequences, ranks) as lists for each input."""
        rows = np.where(labels < 0, labels[:1], labels)  # where there are fewer, the best one again
        outputs = [self._task.decisions(row, scores, self.classes_) for row in rows]
        return [
            [Scored(outputs[r][i], float(s)) for r, s in enumerate(row) if s > -np.inf] for i, row in enumerate(by_rank)
        ]

    def log_partition(self, X: Any) -> Floats:
        """log Σ exp(score) over all label sequences of each input; score - this is a sequence's log-probability."""
        return self._structure.marginals(self.scores(X)).log_partition

    def score(self, X: Any, y: Any) -> float:
        """Share of right labels; inputs that are not labelled (None, GOOD, BAD) are left out."""
        labelled = [i for i, known in enumerate(y) if known is not None and not isinstance(known, Companion)]
        if not labelled:
            raise DataError(f"no {self._task.noun} is labelled, so there is nothing to score")
        if len(labelled) < len(y):
            X, y = X[labelled] if hasattr(X, "shape") else [X[i] for i in labelled], [y[i] for i in labelled]
        return self._task.score(y, self.predict(X))

    def explain(self, x: Any, position: int = 0, *, top: int = 10) -> Explanation:
        """What speaks for a token's label in the best sequence, against the most probable other label."""
        if not self._task.of_labels:
            raise NotSupported(f"{type(self._task).__name__} has no labels to explain; see top_weights")
        encoded = self.encode([x])
        if not -encoded.tokens <= position < encoded.tokens:
            raise DataError(f"position {position} is outside the sequence of {encoded.tokens} tokens")
        t = position % encoded.tokens
        scores = self._part_scores(encoded)
        outputs = self._structure.argmax(scores).outputs.values
        chance = self._structure.marginals(scores).parts.unary[t]
        label = int(self._structure.token_labels(outputs)[t])
        others = [c for c in np.argsort(-chance, kind="stable") if c != label]
        rival = int(others[0]) if others else label
        evidence = [
            Evidence(text, float(row[label]), float(row[rival]))
            for text, row in self._reasons(encoded, scores, outputs, t)
        ]
        evidence.sort(key=lambda e: -abs(e.difference))
        name = self.classes_
        return Explanation(
            t, name[label], float(chance[label]), name[rival], float(chance[rival]),
            tuple(e for e in evidence[:top] if e.difference != 0),
        )  # fmt: skip

    def _reasons(self, encoded: Encoded, scores: P, outputs: Ints, t: int) -> list[tuple[str, Floats]]:
        """Every contribution to the score at token t, as a row over its label, the other labels being as they are."""
        raise NotImplementedError

    def _number(self, label: str) -> int:
        if label not in self.classes_:
            raise DataError(f"the model has no label {label!r}; it has {', '.join(self.classes_)}")
        return self.classes_.index(label)

    def _split(self, outputs: Ints, scores: P) -> list[Any]:
        """Flat outputs as y is written."""
        return self._task.decode(outputs, scores, self.classes_)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file, atomically."""
        from ..model_file import save

        check_is_fitted(self, "classes_")
        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model of this class; `sidelight.load` reads any."""
        from ..model_file import load

        learner = load(path)
        if not isinstance(learner, cls):
            raise DataError(f"{path} holds a {type(learner).__name__}, not a {cls.__name__}")
        return learner
