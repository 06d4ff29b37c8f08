"""Segmenting: a sequence is cut into labelled segments.

Segments are the runs of equal labels, so neighbours have different labels and a segmentation is the same as a label
sequence: y is written as for labelling.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Annotated, Any, ClassVar

import numpy as np

from ...declared import Bounds
from ...errors import DataError
from ...features.encoded import require_attributes
from ...features.segments import SegmentEncoded, SegmentEncoder
from ...inference.part_rows import SegmentRows
from ...kernels.compiling import Floats, Ints, Longs
from ...rules.language import Rule
from ...scorers.segments import SegmentScorer
from ...stored import Arrays
from ...structures.known import KnownLabels
from ...structures.segmentation import Segmentation, SegmentParts, Segments, runs
from ...supervision import Signal
from .labelling import Labelling
from .task import LabelTask, Reasons, Weighted, attribute_reasons

# Without `max_length`, segments may be so much longer than the longest one of the training data.
_ROOM = 1.5
# What stands before the attributes of tokens, of first and of last tokens.
_TITLES = {"token": "", "first": "begins with ", "last": "ends with "}


@dataclass(frozen=True)
class Segmenting(LabelTask):
    """Labelled segments of a sequence, with features of their first and last tokens and of their lengths.

    Parameters
    ----------
    begin_features, end_features : templates, default=None
        Templates for the first and for the last token of a segment. None is a default set (for feature dicts and arrays
        all of the token's attributes), [] switches them off.
    length : bool, default=True
        Whether the lengths of segments have weights, one for each label and bucket of lengths. Without them every step
        inside of a segment has a weight of its label, as in a label chain.
    max_length : int or None, default=None
        Most tokens of a segment; None is half as much again as the longest one in training, where a label that is not
        known counts as any that it may be. Training data with longer ones are an error.
    boundaries : bool, default=True
        Whether the first and the last label of a sequence have weights of their own.
    """

    begin_features: Any = None
    end_features: Any = None
    length: bool = True
    max_length: Annotated[int | None, "Most tokens of a segment.", Bounds(1)] = None
    boundaries: bool = True
    noun: ClassVar[str] = "sequence"
    chained: ClassVar[bool] = False

    def structure(self, n_jobs: int = -1) -> Segmentation:
        """Returns segmentations."""
        return Segmentation(n_jobs)

    def choose_encoder(self, X: Any, features: Any, min_count: int, n_jobs: int) -> SegmentEncoder:
        """Returns the encoder for columns, feature dicts or arrays."""
        return SegmentEncoder.choose(X, features, self.begin_features, self.end_features, min_count, n_jobs)

    sizes, read, write, score = Labelling.sizes, Labelling.read, Labelling.write, Labelling.score

    def rows(self, rules: Sequence[Rule], X: Any, classes: Sequence[str], **options: Any) -> SegmentRows:
        """Returns rules as statements about expectations of segments."""
        return SegmentRows.compile(rules, X, classes, **options)

    def known(self, read: Sequence[Any], sizes: Sequence[int], classes: Sequence[str]) -> KnownLabels:
        """Returns y as arrays, with runs of equal labels as segments."""
        known = Labelling().known(read, sizes, classes)
        written = np.where(known.labels < 0, -1, runs(known.offsets, known.labels)).astype(np.int32)
        return replace(known.loaded(), written=written)

    def lay_out(self, encoded: SegmentEncoded, known: KnownLabels, labels: int, *, all_weights: bool) -> SegmentScorer:
        """Returns weights of attributes in three places, of label pairs, and of lengths."""
        return SegmentScorer.observed(
            encoded, known, labels, longest=self._longest(known, labels), lengths=self.length,
            boundaries=self.boundaries, all_weights=all_weights,
        )  # fmt: skip

    def _longest(self, known: KnownLabels, labels: int) -> int:
        """Returns the most tokens of a segment; an error where known labels make longer ones."""
        which = np.array([i for i, kind in enumerate(known.kinds) if kind in (Signal.FULL, Signal.PARTIAL)], np.int64)
        if not len(which):
            return self.max_length or int(np.diff(known.offsets).max(initial=1))
        some = known.take(which)
        if self.max_length is None:
            return ceil(_ROOM * _longest_possible(some, labels))
        cut = Segments.of(some.offsets, runs(some.offsets, some.labels))
        long = np.flatnonzero((cut.lengths > self.max_length) & (cut.labels >= 0))
        if len(long):
            sequence = int(np.searchsorted(some.offsets, cut.first[long[0]], side="right")) - 1
            token = int(cut.first[long[0]] - some.offsets[sequence])
            raise DataError(
                f"sequence {which[sequence]}, token {token}: a segment of {cut.lengths[long[0]]} equal labels is "
                f"longer than max_length = {self.max_length} ({len(long)} such); raise max_length or use None"
            )
        return int(self.max_length)

    def restore(self, labels: int, arrays: Arrays) -> SegmentScorer:
        """Returns the scorer whose arrays these are."""
        return SegmentScorer.from_arrays(labels, arrays)

    def require_encoded(self, scorer: SegmentScorer, encoded: SegmentEncoded) -> None:
        """Raises `DataError` where input was encoded by another model."""
        require_attributes(encoded, len(scorer.token.pointer) - 1)
        for place in ("first", "last"):
            if hasattr(encoded, place):
                require_attributes(getattr(encoded, place), len(getattr(scorer, place).pointer) - 1)

    def start(self, offsets: Longs, unary: Floats) -> SegmentParts:
        """Returns scores in which neighbours must differ and segments may have any length."""
        labels = unary.shape[1]
        whole = int(np.diff(offsets).max(initial=1))
        longest = whole if self.max_length is None or labels == 1 else min(self.max_length, whole)
        pair = np.where(np.eye(labels, dtype=bool), -np.inf, 0.0)
        return SegmentParts.of(offsets, unary, pair, np.zeros((labels, longest)))

    def reasons(self, model: Weighted, encoded: Any, scores: SegmentParts, outputs: Ints, t: int) -> Reasons:
        """Returns what speaks for the label of the segment that holds token t, as rows for the whole segment.

        Differences of the rows add up to what relabelling the segment would cost. Where the other label is that of a
        neighbour the segments would become one, and the boundary counts as nothing.
        """
        cut = Segments.of(scores.offsets, outputs)
        s = int(np.searchsorted(cut.first, t, side="right")) - 1
        first, last = int(cut.first[s]), int(cut.last[s])
        rows: dict[str, Floats] = {}

        def add(text: str, row: Floats) -> None:
            rows[text] = rows.get(text, np.zeros(scores.labels)) + np.where(np.isfinite(row), row, 0.0)

        for u in range(first, last + 1):
            for text, row in _place_reasons(model, "token", encoded, u):
                add(text, row)
        for place, u in (("first", first), ("last", last)):
            for text, row in _place_reasons(model, place, getattr(encoded, place), u):
                add(_TITLES[place] + text, row)
        scorer = model.scorer
        step = scorer.token.tables(scorer.weights_of("token", model.weights))[0][0].diagonal()
        add(f"length {last - first + 1}", scores.length[:, last - first] + (last - first) * step)
        if s == 0:
            add("first label", scores.start)
        else:
            add(f"after {model.classes[cut.labels[s - 1]]}", scores.pair[cut.labels[s - 1]])
        if s == len(cut.first) - 1:
            add("last label", scores.end)
        else:
            add(f"before {model.classes[cut.labels[s + 1]]}", scores.pair[:, cut.labels[s + 1]])
        return list(rows.items())

    def strongest(self, model: Weighted, count: int, label: int | None) -> list[tuple[str, int, float]]:
        """Returns the attribute weights of largest size.

        Features of first and last tokens begin with "begins with" and "ends with".
        """
        found = []
        for place, title in _TITLES.items():
            weights = model.scorer.weights_of(place, model.weights)
            encoder = getattr(model.encoder, place)
            for a, c, weight in getattr(model.scorer, place).strongest(weights, count, label):
                found.append((title + encoder.describe(a), c, weight))
        return sorted(found, key=lambda item: -abs(item[2]))[:count]


def _longest_possible(known: KnownLabels, labels: int) -> int:
    """Returns the most tokens that a segment can have which agrees with what is known."""
    allowed, tokens = known.choices(labels), np.arange(known.offsets[-1])
    before = np.repeat(known.offsets[:-1], np.diff(known.offsets)) - 1
    breaks = (np.maximum.accumulate(np.where(allowed[:, c], before, tokens)) for c in range(labels))
    return max(int((tokens - last).max()) for last in breaks)


def _place_reasons(model: Weighted, place: str, encoded: Any, t: int) -> Reasons:
    """Returns what each attribute of one token adds in one place of a segment."""
    scorer, weights = getattr(model.scorer, place), model.scorer.weights_of(place, model.weights)
    encoder = getattr(model.encoder, place)
    if encoder is None:
        return []
    return attribute_reasons(encoded, t, encoder.describe, lambda a: scorer.weight_at(weights, a))
