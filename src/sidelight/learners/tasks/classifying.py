"""Classifying: every document gets one label.

X is a list of documents, each a list of words or a feature dict, or a matrix with a row for every document. An element
of y is the document's label, a set of labels of which one is right, None, or GOOD / BAD. Labels are strings, or whole
numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...errors import DataError
from ...features.documents import choose_document_encoder, document_count, require_documents
from ...features.encoded import Encoded, Encoder, require_attributes
from ...kernels.compiling import Floats, Ints, Longs
from ...labels import as_sequences, encode_labels, label_set
from ...quoting import quoted
from ...scorers.choice import ChoiceScorer
from ...stored import Arrays
from ...structures.choice import Choice, ChoiceParts
from ...structures.known import KnownLabels
from ...supervision import LABELS
from .task import LabelTask, Reasons, Weighted, attribute_reasons


@dataclass(frozen=True)
class Classifying(LabelTask):
    """One label for every document.

    Parameters
    ----------
    bias : bool, default=True
        Whether labels have a weight of their own.
    """

    bias: bool = True
    noun: ClassVar[str] = "document"
    place: ClassVar[str] = "decision"
    chained: ClassVar[bool] = True
    passes_over_empty: ClassVar[bool] = False

    def structure(self, n_jobs: int = -1) -> Choice:
        """Returns one decision for every input."""
        return Choice(n_jobs)

    def sizes(self, X: Any) -> list[int]:
        """Returns 1 for every document."""
        require_documents(X)
        return [1] * document_count(X)

    def choose_encoder(self, X: Any, features: Any, min_count: int, n_jobs: int) -> Encoder:
        """Returns the encoder for words, feature dicts or the rows of a matrix."""
        if features is not None:
            raise DataError("templates work on the tokens of sequences, and documents have none; leave `features` out")
        return choose_document_encoder(X, min_count)

    def read(self, y: Any, sizes: Sequence[int]) -> list[Any]:
        """Returns y with a list of one decision for every document."""
        return as_sequences(y, len(sizes))

    def labels(self, read: Sequence[Any]) -> list[Any]:
        """Returns all labels that occur, sorted: strings, or whole numbers."""
        return label_set(read, numbers=True)

    def known(self, read: Sequence[Any], sizes: Sequence[int], classes: Sequence[str]) -> KnownLabels:
        """Returns y as arrays."""
        for i, one in enumerate(read):
            if isinstance(one, list):
                labels = {one[0]} if isinstance(one[0], LABELS) else one[0]
                unknown = sorted(labels - set(classes))
                if unknown:
                    there = ", ".join(map(str, classes))
                    raise DataError(f"document {i}: label {quoted(unknown[0])} is not known; known are {there}")
        return encode_labels(read, sizes, classes)

    def for_rules(self, X: Any) -> list[list[str]]:
        """To rules a document is one token, whose word is its text; it has none where its words are not known."""
        return [[_text(X[i])] for i in range(document_count(X))]

    def write(self, decisions: list[Any]) -> list[Any]:
        """Returns the label of every document."""
        return [labels[0] for labels in decisions]

    def score(self, y: Sequence[Any], predicted: Sequence[Any], weights: Floats | None = None) -> float:
        """Returns the share of documents with the right label."""
        as_sequences(y, len(predicted))
        return float(np.average([a == b for a, b in zip(predicted, y, strict=True)], weights=weights))

    def lay_out(self, encoded: Encoded, known: KnownLabels, labels: int, *, all_weights: bool) -> ChoiceScorer:
        """Returns weights of attributes and labels."""
        return ChoiceScorer.observed(encoded, known, labels, bias=self.bias, all_weights=all_weights)

    def restore(self, labels: int, arrays: Arrays) -> ChoiceScorer:
        """Returns the scorer whose arrays these are."""
        return ChoiceScorer.from_arrays(labels, arrays)

    def require_encoded(self, scorer: ChoiceScorer, encoded: Encoded) -> None:
        """Raises `DataError` where input was encoded by another model."""
        require_attributes(encoded, len(scorer.linear.pointer) - 1)

    def start(self, offsets: Longs, unary: Floats) -> ChoiceParts:
        """Returns scores of the labels."""
        return ChoiceParts.of(unary)

    def reasons(self, model: Weighted, encoded: Encoded, scores: ChoiceParts, outputs: Ints, t: int) -> Reasons:
        """Returns what the attributes of a document and the bias add to each label."""
        rows = attribute_reasons(
            encoded, t, model.encoder.describe, lambda a: model.scorer.linear.weight_at(model.weights, a)
        )
        return [*rows, ("bias", model.scorer.biases(model.weights))]

    def strongest(self, model: Weighted, count: int, label: int | None) -> list[tuple[str, int, float]]:
        """Returns the attribute weights of largest size."""
        found = model.scorer.linear.strongest(model.weights, count, label)
        return [(model.encoder.describe(a), c, weight) for a, c, weight in found]


def _text(document: Any) -> str:
    """Returns the words of a document with spaces between."""
    words = isinstance(document, list | tuple) and all(isinstance(word, str) for word in document)
    return " ".join(document) if words else ""
