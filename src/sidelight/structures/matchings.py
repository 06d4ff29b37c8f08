"""Matchings of two sets: every item is linked to one of the other side, or deleted.

    s(x, y) = Σ links + Σ deletions of left items + Σ deletions of right items

Best outputs are those of an assignment problem. The sum over all outputs is a permanent, for which no fast and exact
algorithm is known, so there are no probabilities.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..errors import NotSupported
from ..kernels.compiling import Floats, Ints, Longs
from .covers import CoverBatch, Covers
from .flat import FlatParts, Shape
from .protocol import Marginals

_INTRACTABLE = (
    "the log-partition of matchings is intractable, so they have no probabilities; use a learner that needs none: "
    "StructuredPerceptron, MIRA, StructuralSVM or JLIS"
)


@dataclass(frozen=True)
class Matchings(Covers):
    """Matchings of n left and m right items, with deletions.

    The shape of an input is (n, m, labels), all at least 1. Its parts are the links of left item i, right item j and
    label l, with the number (i * m + j) * labels + l; then the deletions of the n left items, and the deletions of the
    m right items. An output is n whole numbers, for each left item j * labels + l of its link, or m * labels where it
    is deleted; right items that no link covers are deleted. The loss is how many left and right items are not covered
    by the same part as in the known output.

    Parameters
    ----------
    n_jobs : int, default=-1
        Threads that share the inputs of a batch; -1 is every core.
    """

    def part_counts(self, shapes: Longs) -> Longs:
        """Returns how many parts inputs of these shapes have."""
        n, m, labels = shapes.T
        count: Longs = n * m * labels + n + m
        return count

    def items_covered(self, shape: Shape) -> Floats:
        """Returns how many items each part covers."""
        n, m, labels = shape
        return np.concatenate((np.full(n * m * labels, 2.0), np.ones(n + m)))

    def rivals(self, shape: Shape, part: int) -> Longs:
        """Returns the parts that share an item with this one."""
        n, m, labels = shape
        left, right = divmod(part // labels, m) if part < n * m * labels else (part - n * m * labels, -1)
        if left >= n:
            left, right = -1, left - n
        touched = np.zeros((n, m, labels), bool)
        gone = np.zeros(n + m, bool)
        if left >= 0:
            touched[left] = gone[left] = True
        if right >= 0:
            touched[:, right] = gone[n + right] = True
        return np.setdiff1d(np.flatnonzero(np.concatenate((touched.ravel(), gone))), [part], assume_unique=True)

    def _run_best(self, batch: CoverBatch, outputs: Ints, best: Floats) -> None:
        from ..kernels import assignment, parallel

        offsets, shapes, values, slots = batch.offsets, batch.shapes, batch.values, batch.slots
        parallel.map_shards(
            lambda lo, hi: assignment.best_matchings(lo, hi, offsets, shapes, values, slots, outputs, best),
            offsets,
            self.n_jobs,
        )

    def _run_mark(self, batch: CoverBatch, outputs: Ints, on: Floats) -> list[int]:
        from ..kernels import assignment, parallel

        offsets, shapes, slots = batch.offsets, batch.shapes, batch.slots
        return parallel.map_shards(
            lambda lo, hi: assignment.mark_matchings(lo, hi, offsets, shapes, slots, outputs, on),
            offsets,
            self.n_jobs,
        )

    def expected(self, scores: Floats, shape: Shape) -> tuple[float, Floats]:
        """Not offered: the log-partition is that of a permanent."""
        raise NotSupported(_INTRACTABLE)

    def marginals(self, scores: FlatParts) -> Marginals[FlatParts]:
        """Not offered: raises `NotSupported`."""
        raise NotSupported(_INTRACTABLE)

    def all_outputs(self, shape: Shape) -> Iterator[Ints]:
        """Returns every output of a tiny input."""
        for output in self._from(shape, frozenset()):
            yield np.array(output, np.int32)

    def _from(self, shape: Shape, linked: frozenset[int], i: int = 0) -> Iterator[tuple[int, ...]]:
        """What becomes of left items from i on, where some right items are linked already."""
        n, m, labels = shape
        if i == n:
            yield ()
            return
        for rest in self._from(shape, linked, i + 1):
            yield (m * labels, *rest)
        for j in sorted(set(range(m)) - linked):
            for rest in self._from(shape, linked | {j}, i + 1):
                for label in range(labels):
                    yield (j * labels + label, *rest)
