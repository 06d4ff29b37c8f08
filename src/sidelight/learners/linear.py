"""What CRF and perceptron share: a linear scorer over encoded features."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import DataError
from ..features.choose import choose_encoder
from ..features.encoded import Encoded, Encoder, State, sequence_lengths
from ..kernels.compiling import Floats
from ..scorers.linear import LinearScorer
from ..structures.chain import ChainParts
from ..structures.known import KnownLabels
from .base import SequenceLearner, require_number


class Prepared(NamedTuple):
    """Data made ready for fitting, and what the learner takes over when the fit is done."""

    encoded: Encoded
    targets: KnownLabels
    classes: list[str]
    encoder: Encoder
    scorer: LinearScorer


class LinearLearner(SequenceLearner):
    """A learner whose model is one weight vector `weights_` for `scorer_`."""

    features: Any
    min_count: int
    order: int
    boundaries: bool
    all_weights: bool
    classes: Sequence[str] | None
    scorer_: LinearScorer
    weights_: Floats

    def _prepare(self, X: Any, y: Any, classes: Any = None) -> Prepared:
        """Check the parameters, encode X and y, and lay out the weights."""
        encoder = self._choose_encoder(X)
        found, targets = self._read_targets(sequence_lengths(X), y, self.classes if classes is None else classes)
        return self._lay_out(encoder, X, targets, found)

    def _choose_encoder(self, X: Any) -> Encoder:
        """Check the parameters, and how X becomes attributes."""
        self._check_layout()
        return choose_encoder(X, self.features, self.min_count, self.n_jobs)

    def _lay_out(self, encoder: Encoder, X: Any, targets: KnownLabels, found: list[str]) -> Prepared:
        """Encode X, and a weight for whatever the targets allow."""
        encoded = encoder.fit_transform(X)
        scorer = LinearScorer.observed(
            encoded,
            targets,
            len(found),
            order=self.order,
            boundaries=self.boundaries,
            all_weights=self.all_weights,
        )
        return Prepared(encoded, targets, found, encoder, scorer)

    def _check_layout(self) -> None:
        """Check the parameters that all linear learners have."""
        if self.order not in (1, 2):
            raise DataError(f"order must be 1 or 2, got {self.order!r}")
        require_number(self, "min_count", 0, whole=True)
        if self.random_state is not None:
            require_number(self, "random_state", 0, whole=True)

    def _adopt(self, prepared: Prepared) -> None:
        """Take over labels, encoder and scorer: late, so that a fit that fails leaves the learner as it was."""
        self.classes_, self.encoder_, self.scorer_ = prepared.classes, prepared.encoder, prepared.scorer

    def _chain_scores(self, encoded: Encoded) -> ChainParts:
        self._require_attributes(encoded, len(self.scorer_.pointer) - 1)
        return self.scorer_.scores(encoded, self.weights_, self.n_jobs)

    def _attribute_row(self, attribute: int) -> Floats:
        return self.scorer_.weight_at(self.weights_, attribute)

    def top_weights(self, count: int = 20, label: str | None = None) -> list[tuple[str, str, float]]:
        """The attribute weights of largest size, of one label or of all: (feature, label, weight)."""
        number = None if label is None else self._number(label)
        strongest = strongest_weights(self.scorer_, self.weights_, count, number)
        return [(self.encoder_.describe(a), self.classes_[c], weight) for a, c, weight in strongest]

    def _state(self) -> State:
        return {"order": self.scorer_.order}, {**self.scorer_.arrays(), "weights": self.weights_}

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        tables = {name: arrays[name] for name in ("pointer", "label", "pairs", "starts", "ends", "triples")}
        self.scorer_ = LinearScorer(len(self.classes_), values["order"], **tables)
        self.weights_ = arrays["weights"]


def strongest_weights(scorer: LinearScorer, w: Floats, count: int, label: int | None) -> list[tuple[int, int, float]]:
    """The attribute weights of largest size, of one label or of all: (attribute, label, weight)."""
    flat = scorer.attribute_weights(w)
    size = np.abs(flat)
    if label is not None:
        size = np.where(scorer.label == label, size, -1.0)
    strongest = np.argsort(-size, kind="stable")[:count]
    strongest = strongest[size[strongest] >= 0]
    owners = np.searchsorted(scorer.pointer, strongest, side="right") - 1
    return [(int(a), int(scorer.label[k]), float(flat[k])) for a, k in zip(owners, strongest, strict=True)]
