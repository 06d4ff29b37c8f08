"""What learners of one label per document share.

X is a list of documents, each a list of words or a feature dict, or a matrix with a row for every document. An element
of y is the document's label, a set of labels of which one is right, None, or GOOD / BAD.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import DataError
from ..features.documents import choose_document_encoder, document_count
from ..features.encoded import Encoded, Encoder, State
from ..kernels.compiling import Floats, Ints
from ..labels import as_sequences, encode_labels, label_set
from ..scorers.choice import ChoiceScorer
from ..scorers.linear import LinearScorer
from ..structures.choice import Choice, ChoiceParts
from ..structures.known import KnownLabels
from ..supervision import kind_of, require
from .base import Explanation, StructuredLearner, require_number
from .linear import strongest_weights

_TABLES = ("pointer", "label", "pairs", "starts", "ends", "triples")


class PreparedDocuments(NamedTuple):
    """Data made ready for fitting, and what the learner takes over when the fit is done."""

    encoded: Encoded
    targets: KnownLabels
    classes: list[str]
    encoder: Encoder
    scorer: ChoiceScorer


class DocumentLearner(StructuredLearner[ChoiceParts]):
    """A learner of one label per document whose model is one weight vector `weights_` for `scorer_`."""

    min_count: int
    all_weights: bool
    classes: Sequence[str] | None
    scorer_: ChoiceScorer
    weights_: Floats

    @property
    def _family(self) -> type[Choice]:
        return Choice

    def _prepare(self, X: Any, y: Any, *, bias: bool = True) -> PreparedDocuments:
        """Check the parameters, encode X and y, and lay out the weights; bias: whether labels have one of their own."""
        require_number(self, "min_count", 0, whole=True)
        encoder = choose_document_encoder(X, self.min_count)
        known = as_sequences(y, document_count(X))
        require(self, map(kind_of, known))
        classes = label_set(known) if self.classes is None else list(self.classes)
        if len(set(classes)) != len(classes):
            raise DataError(f"classes must be different labels, got {classes!r}")
        _require_known(known, classes)
        targets = encode_labels(known, [1] * len(known), classes)
        encoded = encoder.fit_transform(X)
        scorer = ChoiceScorer.observed(encoded, targets, len(classes), bias=bias, all_weights=bool(self.all_weights))
        return PreparedDocuments(encoded, targets, classes, encoder, scorer)

    def _adopt(self, prepared: PreparedDocuments) -> None:
        """Take over labels, encoder and scorer: late, so that a fit that fails leaves the learner as it was."""
        self.classes_, self.encoder_, self.scorer_ = prepared.classes, prepared.encoder, prepared.scorer

    def _part_scores(self, encoded: Encoded) -> ChoiceParts:
        self._require_attributes(encoded, len(self.scorer_.linear.pointer) - 1)
        return self.scorer_.scores(encoded, self.weights_, self.n_jobs)

    def predict(self, X: Any) -> list[str]:  # type: ignore[override]
        """The best label of each document."""
        return [labels[0] for labels in super().predict(X)]

    def complete(self, X: Any, y: Any) -> list[str]:  # type: ignore[override]
        """The best label of each document among those that agree with y."""
        scores = self.scores(X)
        known = as_sequences(y, len(scores))
        _require_known(known, self.classes_)
        best = self._structure.argmax(self._agreeing(scores, known))
        return [labels[0] for labels in self._split(best.outputs.values, scores)]

    def predict_proba(self, X: Any) -> Floats:
        """The probability of every label for every document: (documents, labels), columns as `classes_`."""
        return self._structure.marginals(self.scores(X)).parts.unary

    def score(self, X: Any, y: Any) -> float:
        """Share of documents with the right label."""
        predicted = self.predict(X)
        as_sequences(y, len(predicted))
        return float(np.mean([a == b for a, b in zip(predicted, y, strict=True)]))

    def explain(self, x: Any, position: int = 0, *, top: int = 10) -> Explanation:
        """What speaks for a document's label, against the most probable other label; its position is 0."""
        return super().explain(x, position, top=top)

    def _reasons(self, encoded: Encoded, scores: ChoiceParts, outputs: Ints, t: int) -> list[tuple[str, Floats]]:
        rows = []
        for n in range(encoded.indptr[t], encoded.indptr[t + 1]):
            value = float(encoded.values[n]) if len(encoded.values) else 1.0
            attribute = int(encoded.indices[n])
            weights = self.scorer_.linear.weight_at(self.weights_, attribute)
            rows.append((self.encoder_.describe(attribute), value * weights))
        rows.append(("bias", self.scorer_.biases(self.weights_)))
        return rows

    def top_weights(self, count: int = 20, label: str | None = None) -> list[tuple[str, str, float]]:
        """The attribute weights of largest size, of one label or of all: (feature, label, weight)."""
        number = None if label is None else self._number(label)
        strongest = strongest_weights(self.scorer_.linear, self.weights_, count, number)
        return [(self.encoder_.describe(a), self.classes_[c], weight) for a, c, weight in strongest]

    def _state(self) -> State:
        return {}, {**self.scorer_.linear.arrays(), "weights": self.weights_}

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        tables = {name: arrays[name] for name in _TABLES}
        self.scorer_ = ChoiceScorer(LinearScorer(len(self.classes_), 1, **tables))
        self.weights_ = arrays["weights"]


def _require_known(known: Sequence[Any], classes: Sequence[str]) -> None:
    """Raise `DataError` for a label that is none of the classes; known: as `as_sequences` writes it."""
    for i, one in enumerate(known):
        if isinstance(one, list):
            labels = {one[0]} if isinstance(one[0], str) else one[0]
            unknown = sorted(labels - set(classes))
            if unknown:
                raise DataError(f"document {i}: label {unknown[0]!r} is not known; known are {', '.join(classes)}")
