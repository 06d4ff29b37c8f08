"""Labelling: every token of a sequence gets a label."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ...declared import Bounds
from ...errors import DataError
from ...features.choose import choose_encoder, input_kind
from ...features.encoded import Encoded, Encoder, require_attributes, sequence_lengths
from ...kernels.compiling import Floats, Ints, Longs
from ...labels import CodedLabels, check_lengths, encode_labels
from ...metrics import token_accuracy
from ...scorers.edges import EdgeScorer
from ...scorers.linear import LinearScorer
from ...stored import Arrays
from ...structures.chain import Chain, ChainParts, require_tables
from ...structures.known import KnownLabels
from ...supervision import StoredOutputs
from .task import LabelTask, Reasons, Weighted, attribute_reasons


@dataclass(frozen=True)
class Labelling(LabelTask):
    """A label for every token of a sequence, where neighbouring labels depend on each other.

    Parameters
    ----------
    order : int, default=1
        How many earlier labels a label looks at, 1 or 2.
    boundaries : bool, default=True
        Whether the first and the last label of a sequence have weights of their own.
    edges : bool, default=False
        Whether what is observed at a token also has weights for pairs of its label and the one before, as the bigram
        templates of CRF++ do. This is slower, and takes memory for all label pairs of every token.
    """

    order: Annotated[int, "How many earlier labels a label looks at.", Bounds(1, 2)] = 1
    boundaries: bool = True
    edges: bool = False
    noun: ClassVar[str] = "sequence"
    chained: ClassVar[bool] = True

    def check(self) -> None:
        """Raises `DataError` unless the parameters are as declared, and for edges of order 2."""
        super().check()
        if self.edges and self.order != 1:
            raise DataError("edges are for order 1; leave one of them out")

    def structure(self, n_jobs: int = -1) -> Chain:
        """Returns label chains."""
        return Chain(n_jobs)

    def sizes(self, X: Any) -> list[int]:
        """Returns how many tokens each sequence has."""
        input_kind(X)
        return sequence_lengths(X)

    def choose_encoder(self, X: Any, features: Any, min_count: int, n_jobs: int) -> Encoder:
        """Returns the encoder for columns, feature dicts or arrays."""
        return choose_encoder(X, features, min_count, n_jobs)

    def read(self, y: Any, sizes: Sequence[int]) -> Any:
        """Returns y, whose elements must be lists of as many labels as there are tokens, None, GOOD or BAD."""
        check_lengths(sizes, y)
        return y if isinstance(y, StoredOutputs) else list(y)

    def known(self, read: Sequence[Any], sizes: Sequence[int], classes: Sequence[str]) -> KnownLabels:
        """Returns y as arrays."""
        require_tables(len(classes), self.order)
        return encode_labels(read, sizes, classes)

    def coded(self, labels: Ints, offsets: Longs, classes: Sequence[str]) -> CodedLabels:
        """Returns outputs as y, but as numbers."""
        return CodedLabels(labels, offsets, classes)

    def write(self, decisions: list[Any]) -> list[Any]:
        """Returns the labels of every sequence."""
        return decisions

    def score(self, y: Sequence[Any], predicted: Sequence[Any], weights: Floats | None = None) -> float:
        """Returns token accuracy."""
        return token_accuracy(y, predicted, sample_weight=weights)

    def lay_out(self, encoded: Encoded, known: KnownLabels, labels: int, *, all_weights: bool) -> Any:
        """Returns weights of attributes and labels, of label pairs, and of triples for order two."""
        if self.edges:
            return EdgeScorer.observed(encoded, known, labels, boundaries=self.boundaries, all_weights=all_weights)
        return LinearScorer.observed(
            encoded, known, labels, order=self.order, boundaries=self.boundaries, all_weights=all_weights
        )

    def restore(self, labels: int, arrays: Arrays) -> Any:
        """Returns the scorer whose arrays these are."""
        if self.edges:
            return EdgeScorer.from_arrays(labels, arrays)
        return LinearScorer.from_arrays(labels, self.order, arrays)

    def require_encoded(self, scorer: Any, encoded: Encoded) -> None:
        """Raises `DataError` where input was encoded by another model."""
        require_attributes(encoded, len(scorer.pointer) - 1)

    def start(self, offsets: Longs, unary: Floats) -> ChainParts:
        """Returns scores without label pairs."""
        labels = unary.shape[1]
        triple = np.zeros((labels,) * 3) if self.order == 2 else None
        return ChainParts.of(offsets, unary, np.zeros((labels, labels)), triple=triple)

    def reasons(self, model: Weighted, encoded: Encoded, scores: ChainParts, outputs: Ints, t: int) -> Reasons:
        """Returns what the attributes of token t and its neighbours' labels add to each label."""
        rows = attribute_reasons(encoded, t, model.encoder.describe, lambda a: model.scorer.weight_at(model.weights, a))
        return rows + neighbour_reasons(model.classes, scores, outputs, t)

    def strongest(self, model: Weighted, count: int, label: int | None) -> list[tuple[str, int, float]]:
        """Returns the attribute weights of largest size; those of label pairs have a text that names the first."""
        found = model.scorer.strongest(model.weights, count, label)
        shown = [(model.encoder.describe(a), c, weight) for a, c, weight in found]
        if not isinstance(model.scorer, EdgeScorer):
            return shown
        for a, before, c, weight in model.scorer.strongest_pairs(model.weights, count, label):
            shown.append((f"{model.encoder.describe(a)} after {model.classes[before]}", c, weight))
        return sorted(shown, key=lambda one: -abs(one[2]))[:count]


def neighbour_reasons(classes: Sequence[str], scores: ChainParts, labels: Ints, t: int) -> Reasons:
    """Returns what the labels before and behind token t, or the ends of the sequence, add to each of its labels."""
    last, rows, table = len(labels) - 1, [], scores.pair_type
    if t == 0:
        rows.append(("first label", scores.start))
    else:
        rows.append((f"after {classes[labels[t - 1]]}", scores.pair[table[t], labels[t - 1]]))
    if t == last:
        rows.append(("last label", scores.end))
    else:
        rows.append((f"before {classes[labels[t + 1]]}", scores.pair[table[t + 1], :, labels[t + 1]]))
    if scores.triple is not None:
        rows += _triple_reasons(classes, scores.triple, labels, t)
    return rows


def _triple_reasons(classes: Sequence[str], triple: Floats, labels: Ints, t: int) -> Reasons:
    rows = []
    if t >= 2:
        a, b = labels[t - 2], labels[t - 1]
        rows.append((f"after {classes[a]} {classes[b]}", triple[a, b]))
    if 1 <= t < len(labels) - 1:
        a, c = labels[t - 1], labels[t + 1]
        rows.append((f"between {classes[a]} and {classes[c]}", triple[a, :, c]))
    if t < len(labels) - 2:
        b, c = labels[t + 1], labels[t + 2]
        rows.append((f"before {classes[b]} {classes[c]}", triple[:, b, c]))
    return rows
