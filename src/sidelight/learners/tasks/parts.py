"""Tasks on structures over flat parts: what somebody who adds a structure need not write again."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...errors import DataError, NotSupported
from ...features.dicts import DictEncoder
from ...features.encoded import require_attributes
from ...features.parts import PartsEncoded, PartsEncoder, described
from ...inference.rows import Rows
from ...kernels.compiling import Floats, Ints, Longs
from ...rules.language import Rule
from ...scorers.parts import PartScorer
from ...structures.flat import FlatParts, FlatStructure, KnownOutputs, Shape
from ...structures.known import Outputs
from ...supervision import Companion, Signal
from .task import Reasons, Weighted


@dataclass(frozen=True)
class PartsTask(ABC):
    """Base of tasks on a structure over flat parts; a new one gives the abstract methods, each for one input."""

    noun: ClassVar[str] = "input"
    chained: ClassVar[bool] = False
    of_labels: ClassVar[bool] = False
    has_rows: ClassVar[bool] = False

    @abstractmethod
    def structure(self, n_jobs: int = -1) -> FlatStructure:
        """Returns the structure of the outputs."""

    @abstractmethod
    def describe(self, x: Any) -> tuple[Shape, list[dict[str, Any]]]:
        """Returns the shape of an input, and a feature dict for every part, in the structure's order."""

    @abstractmethod
    def to_output(self, x_shape: Shape, y: Any) -> Sequence[int]:
        """Returns an output of y as the structure writes it; raises `DataError` if it cannot be one of this input."""

    @abstractmethod
    def to_y(self, x_shape: Shape, output: Ints) -> Any:
        """Returns an output the way y is written."""

    # What learners ask -----------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raises `DataError` if a parameter of the task makes no sense; there is none that could here."""
        return

    def sizes(self, X: Any) -> list[Any]:
        """Returns the shape of every input."""
        if isinstance(X, str) or not hasattr(X, "__len__"):
            raise DataError(f"X must be a list of {self.noun}s, got {type(X).__name__}")
        if not len(X):
            raise DataError(f"no {self.noun}s were given")
        return [shape for shape, _ in described(self.describe, X, self.noun)]

    def sizes_of(self, scores: FlatParts) -> list[Any]:
        """Returns the shapes of the inputs that have these scores."""
        return [tuple(shape) for shape in scores.shapes.tolist()]

    def choose_encoder(self, X: Any, features: Any, min_count: int, n_jobs: int) -> PartsEncoder:
        """Returns the encoder of the parts' feature dicts."""
        if features is not None:
            raise DataError("this task has features of its own; leave `features` out")
        self.sizes(X)
        return PartsEncoder(self.describe, DictEncoder(min_count))

    def restore_encoder(self, values: dict[str, Any], arrays: dict[str, Any]) -> PartsEncoder:
        """Returns the encoder that gave this state."""
        return PartsEncoder(self.describe, DictEncoder.from_state(values, arrays))

    def read(self, y: Any, sizes: Sequence[Any]) -> list[Any]:
        """Returns y with every known output as the structure writes it."""
        if not hasattr(y, "__len__") or isinstance(y, str):
            raise DataError(f"y must be a list with one element per {self.noun}, got {type(y).__name__}")
        if len(y) != len(sizes):
            raise DataError(f"X has {len(sizes)} {self.noun}s but y has {len(y)}")
        out: list[Any] = []
        for i, (known, shape) in enumerate(zip(y, sizes, strict=True)):
            if known is None or isinstance(known, Companion):
                out.append(known)
                continue
            try:
                output = list(self.to_output(shape, known))
            except (DataError, TypeError, ValueError) as error:
                raise DataError(f"{self.noun} {i}: {known!r} is no output: {error}") from None
            if len(output) != self.structure(1).slots(shape):
                raise DataError(f"{self.noun} {i}: {known!r} is no output of an input of the shape {shape}")
            out.append(output)
        return out

    def kinds(self, read: Sequence[Any]) -> list[Signal]:
        """Returns what is known about each output: all of it, nothing, or a yes or no."""
        return [
            Signal.NOTHING if one is None else Signal.COMPANION if isinstance(one, Companion) else Signal.FULL
            for one in read
        ]

    def labels(self, read: Sequence[Any]) -> list[str]:
        """There are no labels."""
        return []

    def known(self, read: Sequence[Any], sizes: Sequence[Any], classes: Sequence[str]) -> KnownOutputs:
        """Returns y as arrays."""
        slots = [self.structure(1).slots(shape) for shape in sizes]
        flat = [one if isinstance(one, list) else [-1] * n for one, n in zip(read, slots, strict=True)]
        offsets = np.concatenate(([0], np.cumsum(slots))).astype(np.int64)
        values = np.array([v for one in flat for v in one], np.int32)
        return KnownOutputs(tuple(self.kinds(read)), Outputs(values, offsets), self.structure(1))

    def decode(self, values: Ints, scores: FlatParts, classes: Sequence[str]) -> list[Any]:
        """Returns outputs the way y is written."""
        structure, out, first = self.structure(1), [], 0
        for shape in map(tuple, scores.shapes.tolist()):
            last = first + structure.slots(shape)
            out.append(self.to_y(shape, values[first:last]))
            first = last
        return out

    decisions = decode

    def write(self, decisions: list[Any]) -> list[Any]:
        """Decisions are written as y already."""
        return decisions

    def chances(self, parts: FlatParts) -> list[Floats]:
        """Returns the probability of every part of each input."""
        return [parts.of(i)[0] for i in range(len(parts))]

    def for_rules(self, X: Any) -> Any:
        """Not offered: rules speak of labels."""
        raise NotSupported("rules speak of labels of tokens or documents, and the parts of this task have none")

    def rows(self, rules: Sequence[Rule], X: Any, classes: Sequence[str], **options: Any) -> Rows:
        """Not offered: rules speak of labels."""
        raise NotSupported(f"{type(self).__name__} has no labels that rules could speak of")

    def score(self, y: Sequence[Any], predicted: Sequence[Any]) -> float:
        """Returns the share of outputs that are right as a whole."""
        return float(np.mean([a == b for a, b in zip(y, predicted, strict=True)]))

    def lay_out(self, encoded: PartsEncoded, known: Any, labels: int, *, all_weights: bool) -> PartScorer:
        """Returns a weight for every attribute."""
        return PartScorer(encoded.attributes, self.structure(1))

    def restore(self, labels: int, arrays: dict[str, Any]) -> PartScorer:
        """Returns the scorer whose arrays these are."""
        return PartScorer(int(arrays["size"][0]), self.structure(1))

    def require_encoded(self, scorer: PartScorer, encoded: PartsEncoded) -> None:
        """Raises `DataError` where input was encoded by another model."""
        require_attributes(encoded, scorer.size)

    def start(self, offsets: Longs, unary: Floats) -> Any:
        """Not offered: parts are no labels of tokens."""
        raise NotSupported("there are no labels of tokens to begin with")

    def reasons(self, model: Weighted, encoded: Any, scores: Any, outputs: Ints, t: int) -> Reasons:
        """Not offered: parts are no labels of tokens."""
        raise NotSupported("explanations are for tasks that label tokens or documents; see top_weights")

    def strongest(self, model: Weighted, count: int, label: int | None) -> list[tuple[str, int, float]]:
        """Returns the weights of largest size."""
        largest = np.argsort(-np.abs(model.weights), kind="stable")[:count]
        return [(model.encoder.describe(int(a)), -1, float(model.weights[a])) for a in largest]
