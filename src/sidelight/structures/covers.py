"""Outputs that cover the items of two sides: what alignments and matchings share.

The shape of an input is (n, m, labels) with n source or left items and m target or right ones. Every part covers one or
more items: a link covers items of both sides, a deletion a single one. An output is a set of parts that covers every
item exactly once, so no output is contained in another one.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Flags, Floats, Ints, Longs
from ..supervision import Signal
from .chain import require_feasible
from .flat import FlatParts, FlatStructure, KnownOutputs, Shape, alone, require_count
from .known import Outputs
from .protocol import Best, Loss, Ranked

# Below this, the sum of a few scores is no number only if one of them is none.
_LARGE = 1e300


@dataclass(frozen=True)
class Covers(FlatStructure):
    """Base of structures whose outputs cover every item of two sides exactly once.

    The loss is how many items are not covered by the same part as in the known output.
    """

    @abstractmethod
    def part_counts(self, shapes: Longs) -> Longs:
        """Returns how many parts inputs of these shapes have."""

    @abstractmethod
    def items_covered(self, shape: Shape) -> Floats:
        """Returns how many items each part covers."""

    @abstractmethod
    def _run_best(self, batch: "CoverBatch", outputs: Ints, best: Floats) -> None:
        """Writes the k best outputs of each input and their scores, -1 and -inf where there are fewer.

        outputs: (k, slots); best: (inputs, k).
        """

    @abstractmethod
    def _run_mark(self, batch: "CoverBatch", outputs: Ints, on: Floats) -> list[int]:
        """Sets the parts of outputs to one; returns inputs whose output is none, and -1."""

    def slots(self, shape: Shape) -> int:
        """Returns the number of source or left items: an output is written as what becomes of each."""
        return int(shape[0])

    def output_offsets(self, scores: FlatParts) -> Longs:
        """Where the output of each input begins."""
        return np.concatenate(([0], np.cumsum(scores.shapes[:, 0]))).astype(np.int64)

    def _batch(self, scores: FlatParts) -> "CoverBatch":
        """Scores as kernels take them, checked."""
        shapes = np.ascontiguousarray(scores.shapes, np.int64)
        if shapes.ndim != 2 or shapes.shape[1] != 3:
            raise DataError("a shape is three whole numbers: items of either side, and labels of links")
        wrong = np.flatnonzero((shapes < 1).any(axis=1) | (self.part_counts(shapes) != np.diff(scores.offsets)))
        if len(wrong):
            shape, found = tuple(shapes[wrong[0]].tolist()), int(np.diff(scores.offsets)[wrong[0]])
            raise DataError(
                f"sequence {wrong[0]} has the shape {shape} and {found} parts, which is none of this structure"
            )
        batch = CoverBatch(
            scores.offsets, shapes, np.ascontiguousarray(scores.values, np.float64), self.output_offsets(scores)
        )
        if not (batch.values < np.inf).all():
            require_feasible(np.where(batch.any_part(~(batch.values < np.inf)), np.nan, 0.0))
        return batch

    def argmax(self, scores: FlatParts, *, seed: int | None = None) -> Best:
        """The best output of each input; with a seed, ties among the first few are broken at random.

        Raises `Infeasible` for an input without an output of finite score.
        """
        if seed is not None:
            return super().argmax(scores, seed=seed)
        ranked = self.kbest(scores, 1)
        return Best(Outputs(ranked.outputs.values[0], ranked.outputs.offsets), ranked.scores[:, 0])

    def kbest(self, scores: FlatParts, k: int) -> Ranked:
        """The k best outputs of each input."""
        require_count(k)
        batch = self._batch(scores)
        outputs, best = np.empty((k, batch.slots[-1]), np.int32), np.empty((len(scores), k))
        self._run_best(batch, outputs, best)
        batch.require(best[:, 0])
        return Ranked(Outputs(outputs, batch.slots), best)

    def best(self, scores: Floats, shape: Shape, k: int) -> list[Ints]:
        """Returns the k best outputs of finite score, best first, or as many as there are."""
        batch = self._batch(alone(scores, shape))
        outputs, best = np.empty((k, batch.slots[-1]), np.int32), np.empty((1, k))
        self._run_best(batch, outputs, best)
        return [output for output, value in zip(outputs, best[0], strict=True) if value > -np.inf]

    def indicator(self, scores: FlatParts, values: Ints) -> FlatParts:
        """The given outputs as 0/1 parts; one that is not known, all -1, has no parts."""
        batch = self._batch(replace(scores, values=np.zeros(len(scores.values))))
        wrong = [x for x in self._run_mark(batch, np.ascontiguousarray(values, np.int32), batch.values) if x >= 0]
        if wrong:
            x = min(wrong)
            output = values[batch.slots[x] : batch.slots[x + 1]].tolist()
            raise DataError(f"sequence {x}: {output} is no output of an input of the shape {scores.of(x)[1]}")
        return replace(scores, values=batch.values)

    def parts_of(self, shape: Shape, output: Ints) -> Longs:
        """Returns the numbers of the parts that an output has."""
        empty = alone(np.zeros(self.part_counts(np.array([shape], np.int64))[0]), shape)
        return np.flatnonzero(self.indicator(empty, np.asarray(output, np.int32)).values)

    def loss(self, scores: FlatParts, known: KnownOutputs) -> Loss[FlatParts]:
        """Returns the loss Δ(y), how many items y does not cover as what is known says.

        The cost of a part is how many items it covers, and 0 if the known output has it. Where an output is known in
        part, allowed parts cost nothing, and where it is not known at all nothing does.
        """
        cost = 1.0 - self.indicator(scores, known.outputs.values).values
        for i, kind in enumerate(known.kinds):
            at, shape = slice(scores.offsets[i], scores.offsets[i + 1]), scores.of(i)[1]
            if kind is Signal.PARTIAL:
                cost[at] = ~np.asarray(known.allowed[i], bool)
            elif kind is not Signal.FULL:
                cost[at] = 0.0
                continue
            cost[at] *= self.items_covered(shape)
        return Loss(replace(scores, values=cost), np.zeros(len(scores)))


@dataclass(frozen=True)
class CoverBatch:
    """Scores of a batch as kernels take them.

    offsets: (inputs + 1,) where parts begin; shapes: (inputs, 3); values: (parts,); slots: (inputs + 1,) where outputs
    begin.
    """

    offsets: Longs
    shapes: Longs
    values: Floats
    slots: Longs

    def any_part(self, flags: Flags) -> Flags:
        """Returns for each input whether any of its parts has a flag; every input has parts."""
        return np.logical_or.reduceat(flags, self.offsets[:-1]) if len(self.shapes) else np.empty(0, bool)

    def require(self, best: Floats) -> None:
        """Raises `Infeasible` for the first input without an output, and `DataError` where scores are too large."""
        if not (best > -np.inf).all():
            large = self.any_part(np.isfinite(self.values) & (np.abs(self.values) > _LARGE))
            best = np.where(large & (best == -np.inf), np.nan, best)
        require_feasible(best)
