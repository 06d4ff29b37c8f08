"""Semi-Markov conditional random fields (Sarawagi & Cohen 2004)."""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from numbers import Integral
from typing import Any, Self

import numpy as np

from ..errors import DataError
from ..features.encoded import Encoded, State, sequence_lengths
from ..features.segments import SegmentEncoder
from ..kernels.compiling import Floats, Ints, Longs
from ..progress import progress
from ..scorers.linear import LinearScorer
from ..scorers.segments import SegmentScorer
from ..solvers import lbfgs
from ..solvers.certificate import Step, warn_unconverged
from ..solvers.losses import LogLoss
from ..structures.segmentation import Segmentation, SegmentParts, Segments, runs
from ..supervision import Signal, learns_from
from .base import StructuredLearner, require_number

# Without `max_length`, segments may be so much longer than the longest one of the training data.
_ROOM = 1.5
# How the attributes of tokens, of first and of last tokens are told.
_TITLES = {"token": "", "first": "begins with ", "last": "ends with "}


@learns_from(Signal.FULL)
class SemiCRF(StructuredLearner[SegmentParts]):
    """Conditional random field on segmentations: features see whole segments, their ends and their lengths.

        minimise  Σ_i [log Z(x_i) - s(x_i, y_i)] + l1 ‖w‖₁ + l2 ‖w‖²

    Segments are the runs of equal labels, so neighbours have different labels and a segmentation is the same as a
    label sequence. A segment's score is the sum of its tokens' attribute weights, of those of its first and of its
    last token, and of a weight of its length; neighbouring labels have weights as in `CRF`.

    Parameters
    ----------
    features : templates for every token, None for a default set; must be None where X holds feature dicts or arrays.
    begin_features, end_features : templates for the first and for the last token of a segment. None is a default set
        (for feature dicts and arrays all of the token's attributes), [] switches them off. `["word.ispunct()"]` as
        `end_features` says whether segments end with punctuation, as in Table 3.4 of Chang 2011.
    length : whether the lengths of segments have weights, one for each label and bucket of lengths. Without them every
        step inside of a segment has a weight of its label, as in `CRF`.
    max_length : most tokens of a segment; None is half as much again as the longest one in training. Training data with
        longer ones are an error.
    l1, l2 : penalties, as in `CRF`.
    tolerance : relative duality gap at which to stop; without an l2 penalty, ten iterations that lower the objective
        by less than a tenth of that.
    max_iterations : L-BFGS iterations.
    min_count : rarer attributes are dropped.
    boundaries : whether first and last labels have weights.
    all_weights : weights for all (attribute, label) pairs, not only for those observed.
    classes : all labels, where y may lack some.
    verbose : progress bar on a terminal, log lines elsewhere.
    n_jobs : threads; -1 is every core.

    Attributes
    ----------
    classes_ : labels; weights_ : weights; max_length_ : most tokens of a segment; converged_ : whether the solver
    reached the tolerance; trace_ : its steps, each with objective, dual, gap and residual.
    """

    encoder_: SegmentEncoder
    scorer_: SegmentScorer
    weights_: Floats

    def __init__(
        self,
        features: Any = None,
        *,
        begin_features: Any = None,
        end_features: Any = None,
        length: bool = True,
        max_length: int | None = None,
        l1: float = 0.0,
        l2: float = 0.03,
        tolerance: float = 1e-3,
        max_iterations: int = 500,
        min_count: int = 1,
        boundaries: bool = True,
        all_weights: bool = False,
        classes: Sequence[str] | None = None,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.features = features
        self.begin_features = begin_features
        self.end_features = end_features
        self.length = length
        self.max_length = max_length
        self.l1 = l1
        self.l2 = l2
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.min_count = min_count
        self.boundaries = boundaries
        self.all_weights = all_weights
        self.classes = classes
        self.verbose = verbose
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from sequences X and all of their labels y."""
        self._check_parameters()
        encoder = SegmentEncoder.choose(
            X, self.features, self.begin_features, self.end_features, self.min_count, self.n_jobs
        )
        classes, targets = self._read_targets(sequence_lengths(X), y, self.classes)
        encoded = encoder.fit_transform(X)
        outputs = runs(encoded.offsets, targets.labels)
        scorer = SegmentScorer.observed(
            encoded,
            targets,
            len(classes),
            longest=self._longest(encoded.offsets, outputs),
            lengths=self.length,
            boundaries=self.boundaries,
            all_weights=self.all_weights,
        )
        loss = LogLoss(scorer, self._structure, encoded, replace(targets, written=outputs))
        with progress("SemiCRF", None, self.verbose) as tell:

            def on_step(step: Step) -> None:
                tell(step.iteration, str(step))

            solution = lbfgs.minimize(
                loss,
                np.zeros(scorer.size),
                l1=self.l1,
                l2=self.l2,
                tolerance=self.tolerance,
                max_iterations=self.max_iterations,
                on_step=on_step,
            )
        self.classes_, self.encoder_, self.scorer_ = classes, encoder, scorer
        self.weights_, self.trace_, self.converged_ = solution.weights, solution.steps, solution.converged
        warn_unconverged("SemiCRF", solution, "raise max_iterations or l2")
        return self

    def _check_parameters(self) -> None:
        require_number(self, "l1", 0)
        require_number(self, "l2", 0)
        require_number(self, "tolerance", 0, open_end=True)
        require_number(self, "max_iterations", 1, whole=True)
        if self.max_length is not None and not (isinstance(self.max_length, Integral) and self.max_length >= 1):
            raise DataError(f"max_length must be a whole number of at least 1 or None, got {self.max_length!r}")

    def _longest(self, offsets: Longs, outputs: Ints) -> int:
        """Most tokens of a segment; an error where training data have longer ones."""
        cut = Segments.of(offsets, outputs)
        if self.max_length is None:
            return ceil(_ROOM * int(cut.lengths.max()))
        long = np.flatnonzero(cut.lengths > self.max_length)
        if len(long):
            sequence = int(np.searchsorted(offsets, cut.first[long[0]], side="right")) - 1
            token = int(cut.first[long[0]] - offsets[sequence])
            raise DataError(
                f"sequence {sequence}, token {token}: a segment of {cut.lengths[long[0]]} equal labels is longer than "
                f"max_length = {self.max_length} ({len(long)} such); raise max_length or use None"
            )
        return int(self.max_length)

    @property
    def max_length_(self) -> int:
        """Most tokens of a segment."""
        return self.scorer_.longest

    @property
    def _family(self) -> type[Segmentation]:
        return Segmentation

    def _unary_scores(self, offsets: Longs, unary: Floats) -> SegmentParts:
        labels = unary.shape[1]
        whole = int(np.diff(offsets).max(initial=1))
        longest = whole if self.max_length is None or labels == 1 else min(self.max_length, whole)
        pair = np.where(np.eye(labels, dtype=bool), -np.inf, 0.0)
        return SegmentParts.of(offsets, unary, pair, np.zeros((labels, longest)))

    def _part_scores(self, encoded: Encoded) -> SegmentParts:
        for place in ("first", "last"):
            if hasattr(encoded, place):
                self._require_attributes(getattr(encoded, place), len(getattr(self.scorer_, place).pointer) - 1)
        self._require_attributes(encoded, len(self.scorer_.token.pointer) - 1)
        return self.scorer_.scores(encoded, self.weights_, self.n_jobs)

    def _reasons(self, encoded: Encoded, scores: SegmentParts, outputs: Ints, t: int) -> list[tuple[str, Floats]]:
        """What speaks for the label of the segment that holds token t, as rows over labels for the whole segment.

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
            for text, row in self._place_reasons("token", encoded, u):
                add(text, row)
        for place, u in (("first", first), ("last", last)):
            for text, row in self._place_reasons(place, getattr(encoded, place), u):
                add(_TITLES[place] + text, row)
        step = self.scorer_.token.tables(self.scorer_.weights_of("token", self.weights_))[0][0].diagonal()
        add(f"length {last - first + 1}", scores.length[:, last - first] + (last - first) * step)
        if s == 0:
            add("first label", scores.start)
        else:
            add(f"after {self.classes_[cut.labels[s - 1]]}", scores.pair[cut.labels[s - 1]])
        if s == len(cut.first) - 1:
            add("last label", scores.end)
        else:
            add(f"before {self.classes_[cut.labels[s + 1]]}", scores.pair[:, cut.labels[s + 1]])
        return list(rows.items())

    def _place_reasons(self, place: str, encoded: Encoded, t: int) -> list[tuple[str, Floats]]:
        """What each attribute of one token adds in one place of a segment."""
        scorer: LinearScorer = getattr(self.scorer_, place)
        weights = self.scorer_.weights_of(place, self.weights_)
        encoder = getattr(self.encoder_, place)
        out = []
        for n in range(encoded.indptr[t], encoded.indptr[t + 1]):
            value = float(encoded.values[n]) if len(encoded.values) else 1.0
            attribute = int(encoded.indices[n])
            out.append((encoder.describe(attribute), value * scorer.weight_at(weights, attribute)))
        return out

    def top_weights(self, count: int = 20, label: str | None = None) -> list[tuple[str, str, float]]:
        """The attribute weights of largest size, of one label or of all: (feature, label, weight).

        Features of first and last tokens are told by "begins with" and "ends with".
        """
        found = []
        for place, title in _TITLES.items():
            scorer: LinearScorer = getattr(self.scorer_, place)
            flat = scorer.attribute_weights(self.scorer_.weights_of(place, self.weights_))
            size = np.abs(flat)
            if label is not None:
                size = np.where(scorer.label == self._number(label), size, -1.0)
            strongest = np.argsort(-size, kind="stable")[:count]
            strongest = strongest[size[strongest] >= 0]
            owners = np.searchsorted(scorer.pointer, strongest, side="right") - 1
            encoder = getattr(self.encoder_, place)
            found += [
                (title + encoder.describe(int(a)), self.classes_[scorer.label[k]], float(flat[k]))
                for a, k in zip(owners, strongest, strict=True)
            ]
        return sorted(found, key=lambda item: -abs(item[2]))[:count]

    def _state(self) -> State:
        return {"fit": self._fit_state()}, {**self.scorer_.arrays(), "weights": self.weights_}

    def _fit_state(self) -> dict[str, Any]:
        return {"converged": self.converged_, "last_step": self.trace_[-1].as_list()}

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.scorer_ = SegmentScorer.from_arrays(len(self.classes_), arrays)
        self.weights_ = arrays["weights"]
        self.converged_ = values["fit"]["converged"]
        self.trace_ = (Step.from_list(values["fit"]["last_step"]),)
