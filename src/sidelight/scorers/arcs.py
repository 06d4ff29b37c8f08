"""Linear scores of dependency arcs by hashed features, which are worked out whenever they are needed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import NotSupported
from ..features.arcs import STORED, ArcsEncoded, ArcTemplate, layout, read_templates, templates_in
from ..kernels.compiling import Floats, Ints, Longs
from ..kernels.parallel import map_shards
from ..stored import Arrays, read_arrays
from ..structures.flat import FlatParts
from ..structures.known import Outputs
from ..structures.trees import Trees
from .parts import PartScorer, blank_parts
from .protocol import SparseVectors

# The scores of this many parts stay in cache from one step to the next, and outweigh the cost of the calls in Python.
_BLOCK = 32_000


@dataclass(frozen=True)
class ArcScorer:
    """A table of weights of arcs, and with labels one of theirs behind it.

    bits: logarithm of the places of arcs; structure: the trees; labels: how many labels arcs have, 1 without labels;
    joint: whether labels are chosen together with heads, by the sum of both scores, or after them; templates: what
    features of arcs join.
    """

    bits: int
    structure: Trees
    labels: int
    joint: bool = True
    templates: tuple[ArcTemplate, ...] = read_templates(None)

    @property
    def size(self) -> int:
        """How many weights there are."""
        return (1 << self.bits) + ((1 << self.label_bits) + self.labels if self.labels > 1 else 0)

    @property
    def label_bits(self) -> int:
        """Logarithm of the places of labels."""
        return self.bits - 1

    @property
    def block(self) -> int:
        """How many arcs are best scored at a time."""
        return max(_BLOCK // self.labels, 1)

    def tables(self, w: Floats) -> Any:
        """Returns what kernels take of weights: templates, bits and table of arcs, and the same of labels."""
        templates, label_templates = layout(self.templates, joint=self.joint)
        first = 1 << self.bits
        return templates, 64 - self.bits, w[:first], label_templates, 64 - self.label_bits, w[first:]

    @property
    def _joint(self) -> bool:
        """Whether heads and labels are chosen at once, or there are no labels."""
        return self.joint or self.labels == 1

    def _require_joint(self) -> None:
        if not self._joint:
            raise NotSupported(
                "labels that are chosen after the heads are learned by StructuredPerceptron alone, with batch_size=1; "
                "use Parsing(joint=True)"
            )

    def prepare(self, w: Floats) -> "ArcWeights":
        """A weight vector made ready for scoring batches."""
        return ArcWeights(self, w)

    def scores(self, encoded: ArcsEncoded, w: Floats, n_jobs: int = 1) -> FlatParts:
        """Scores of every part of a batch."""
        return self.prepare(w).scores(encoded, n_jobs)

    def expectation(self) -> "ArcExpectation":
        """An empty sum of expected features."""
        self._require_joint()
        return ArcExpectation(self, np.zeros(self.size))

    def for_rows(self) -> "ArcScorer":
        """SparseVectors are about parts, so this is the scorer itself."""
        return self

    def rows(self, encoded: ArcsEncoded, sequences: Longs, plus: Ints | None, minus: Ints | None) -> SparseVectors:
        """F(x, plus) - F(x, minus) of some sentences as sparse vectors; None counts as nothing."""
        self._require_joint()
        some, blank = encoded.take(sequences), blank_parts(encoded, self.labels)
        parts = blank_parts(some, self.labels)
        chosen: Floats = np.zeros(len(parts.values))
        offsets = self.structure.output_offsets(blank)
        for sign, values in ((1.0, plus), (-1.0, minus)):
            if values is not None:
                mine = Outputs(values, offsets).take(sequences).values
                chosen += sign * self.structure.indicator(parts, mine).values
        part = np.flatnonzero(chosen)
        pointer, columns = self.places(some, part)
        owner = np.searchsorted(parts.offsets, part, side="right") - 1
        width = np.diff(pointer)
        place = np.repeat(owner, width) * self.size + columns
        return PartScorer.summed(place, np.repeat(chosen[part], width), self.size, len(sequences))

    def places(self, encoded: ArcsEncoded, parts: Longs) -> tuple[Longs, Ints]:
        """Returns where the weights of some parts of a batch are: those of one part after those of the other."""
        from ..kernels import arcs

        arc, label = np.divmod(parts, self.labels)
        sentence = np.searchsorted(encoded.offsets, arc, side="right") - 1
        child, slot = np.divmod(arc - encoded.offsets[sentence], encoded.shapes[sentence, 0])
        head = slot + (slot > child)
        templates, shift, _, label_templates, label_shift, table = self.tables(np.empty(self.size))
        pointer, out = np.zeros(len(parts) + 1, np.int64), np.empty(0, np.int32)
        for _ in range(2):  # the first time to count them
            size = arcs.list_places(
                sentence, child + 1, head, label, encoded.indptr, encoded.columns, encoded.tags, templates, shift,
                label_templates, label_shift, self.labels if len(table) else 0, pointer, out,
            )  # fmt: skip
            if size <= len(out):
                break
            out = np.empty(size, np.int32)
        return pointer, out

    def best_outputs(self, encoded: ArcsEncoded, w: Floats, n_jobs: int) -> tuple[Ints, FlatParts]:
        """Returns the best trees, straight from weights, and parts without any numbers that have their shapes."""
        from ..kernels import arcs

        kernel: Any = arcs.best_trees
        tables = (*self.tables(w), self._joint, self.labels, self.structure.projective, self.structure.single_root)
        outputs = np.empty(int(encoded.shapes.sum()), np.int32)

        def run(lo: int, hi: int) -> None:
            kernel(lo, hi, encoded.indptr, encoded.columns, encoded.tags, *tables, outputs)

        map_shards(run, encoded.offsets, n_jobs)
        shapes = np.concatenate((encoded.shapes, np.full((len(encoded), 1), self.labels)), axis=1)
        return outputs, FlatParts(np.empty(0), self.labels * encoded.offsets, shapes)

    def perceptron_pass(
        self, encoded: ArcsEncoded, gold: Ints, weights: Floats, state: Any
    ) -> Callable[[Longs, float], int]:
        """Returns a compiled pass of the averaged perceptron, (order, margin) -> wrong words, that changes a state.

        weights: what each sentence counts, empty where all count 1.
        """
        from ..kernels import arcs

        templates, shift, _, label_templates, label_shift, _ = self.tables(state.weights)
        joint, trees = self._joint, self.structure

        def visit(order: Longs, margin: float) -> int:
            return arcs.tree_pass(
                order, encoded.indptr, encoded.columns, encoded.tags, templates, shift, label_templates, label_shift,
                joint, self.labels, gold, weights, float(margin), trees.projective, trees.single_root, state.weights,
                state.late, state.clock,
            )  # fmt: skip

        return visit

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a model file keeps."""
        table, _ = layout(self.templates, joint=self.joint)
        return {"bits": np.array([self.bits], np.int64), "joint": np.array([self.joint]), "templates": table}

    @classmethod
    def from_arrays(cls, structure: Trees, labels: int, arrays: Arrays) -> "ArcScorer":
        """Returns the scorer that gave these arrays."""
        bits, joint, templates = read_arrays(arrays, STORED).values()
        return cls(int(bits[0]), structure, labels, bool(joint[0]), templates_in(templates))


@dataclass(frozen=True)
class ArcWeights:
    """Weights laid out for scoring."""

    scorer: ArcScorer
    weights: Floats

    def scores(self, encoded: ArcsEncoded, n_jobs: int = 1) -> FlatParts:
        """Scores of every part of a batch."""
        from ..kernels import arcs

        kernel: Any = arcs.score_arcs
        blank = blank_parts(encoded, self.scorer.labels)
        out = blank.values.reshape(-1, self.scorer.labels)
        tables = (*self.scorer.tables(self.weights), self.scorer.joint or self.scorer.labels == 1)

        def run(lo: int, hi: int) -> None:
            kernel(lo, hi, encoded.indptr, encoded.columns, encoded.tags, *tables, encoded.offsets, out)

        map_shards(run, encoded.offsets, n_jobs)
        return blank


@dataclass(frozen=True)
class ArcExpectation:
    """A running sum Fᵀμ of expected features over batches."""

    scorer: ArcScorer
    sums: Floats

    def add(self, encoded: ArcsEncoded, parts: FlatParts) -> None:
        """Add the expected features of one batch's (expected) parts."""
        from ..kernels import arcs

        kernel: Any = arcs.expect_arcs
        mass = parts.values.reshape(-1, self.scorer.labels)
        tables = self.scorer.tables(self.sums)
        kernel(encoded.indptr, encoded.columns, encoded.tags, *tables, encoded.offsets, mass)

    def total(self) -> Floats:
        """The sum as a vector like the weights."""
        return self.sums.copy()
