"""Monotone alignments of two strings: links of segments that do not cross, and deletions of what is left.

    s(x, y) = Σ links of a source and a target segment + Σ deletions of source items + Σ deletions of target items

Every source and every target item is in exactly one link or deleted. This is the structure of edit distances with
weights of one's own (Ristad & Yianilos 1998), of transliteration and of letters to sounds; without labels and with
segments of one item it has the outputs of a stochastic edit transducer, each once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Floats, Ints, Longs
from .chain import AHEAD, EXACT, require_exact
from .covers import CoverBatch, Covers
from .flat import FlatParts, Shape, alone
from .protocol import Marginals


class Links(NamedTuple):
    """All links of an input in the order of their numbers.

    Link p is of `source_length[p]` source items from `source[p]` on and `target_length[p]` target items from
    `target[p]` on, with the label `label[p]`.
    """

    source: Longs
    source_length: Longs
    target: Longs
    target_length: Longs
    label: Longs


@dataclass(frozen=True)
class Alignments(Covers):
    """Monotone alignments of n source and m target items, with links of segments and deletions.

    The shape of an input is (n, m, labels), all at least 1. Its parts are the links, by where the source segment
    begins, its length, where the target segment begins, its length, and the label; then the deletions of the n source
    items, and the deletions of the m target items. An output is n whole numbers, for each source item the number of the
    part that covers it; target items that no link covers are deleted. The loss is how many source and target items are
    not covered by the same part as in the known output.

    Parameters
    ----------
    n_jobs : int, default=-1
        Threads that share the inputs of a batch; -1 is every core.
    longest : int, default=1
        The most items that a link has on either side.
    """

    longest: int = 1

    def __post_init__(self) -> None:
        if self.longest < 1:
            raise DataError(f"segments have at least one item, got longest={self.longest!r}")

    # Parts -----------------------------------------------------------------------------------------------------------

    def _segments(self, n: int) -> tuple[Longs, Longs]:
        """Where the segments of n items begin, and their lengths, by beginning and then by length."""
        most = np.minimum(self.longest, n - np.arange(n))
        begins = np.repeat(np.arange(n), most)
        return begins, np.arange(len(begins)) - np.repeat(np.cumsum(most) - most, most) + 1

    def _segment_count(self, begins: Longs, n: Longs) -> Longs:
        """How many segments of n items begin before an item; all of them, before item n."""
        k = np.minimum(self.longest, n)
        short = np.maximum(0, begins - 1 - n + k)
        count: Longs = begins * k - short * (short + 1) // 2
        return count

    def links(self, shape: Shape) -> Links:
        """Returns the segments and labels of all links, in the order of their numbers."""
        n, m, labels = shape
        (i, a), (j, b) = self._segments(n), self._segments(m)
        source, target = (
            np.repeat(np.arange(len(i)), len(j) * labels),
            np.tile(np.repeat(np.arange(len(j)), labels), len(i)),
        )
        return Links(i[source], a[source], j[target], b[target], np.tile(np.arange(labels), len(i) * len(j)))

    def link(
        self,
        shape: Shape,
        source: Ints | Longs | int,
        source_length: Ints | Longs | int,
        target: Ints | Longs | int,
        target_length: Ints | Longs | int,
        label: Ints | Longs | int = 0,
    ) -> Longs:
        """Returns the numbers of links of source and target segments, each given by where it begins and its length."""
        n, m, labels = (np.asarray(v, np.int64) for v in shape)
        i, a, j, b, c = (np.asarray(v, np.int64) for v in (source, source_length, target, target_length, label))
        fits = (i >= 0) & (j >= 0) & (c >= 0) & (c < labels) & (i + a <= n) & (j + b <= m)
        if not (fits & (np.minimum(a, b) >= 1) & (np.maximum(a, b) <= self.longest)).all():
            raise DataError(
                f"an input of the shape {tuple(shape)} has no such link of at most {self.longest} items a side"
            )
        s, t = self._segment_count(i, n) + a - 1, self._segment_count(j, m) + b - 1
        number: Longs = (s * self._segment_count(m, m) + t) * labels + c
        return number

    def part_counts(self, shapes: Longs) -> Longs:
        """Returns how many parts inputs of these shapes have."""
        n, m, labels = shapes.T
        count: Longs = self._segment_count(n, n) * self._segment_count(m, m) * labels + n + m
        return count

    def items_covered(self, shape: Shape) -> Floats:
        """Returns how many items each part covers."""
        n, m, labels = shape
        both = self._segments(n)[1][:, None] + self._segments(m)[1][None, :]
        return np.concatenate((np.repeat(both.ravel(), labels), np.ones(n + m)))

    def rivals(self, shape: Shape, part: int) -> Longs:
        """Returns the parts that share an item with this one."""
        n, m, labels = shape
        (i, a), (j, b) = self._segments(n), self._segments(m)
        count, deleted = len(i) * len(j) * labels, np.arange(n + m)
        s, t = divmod(part // labels, len(j))
        if part < count:
            first, last, begin, end = i[s], i[s] + a[s], j[t], j[t] + b[t]
        else:
            first, last = np.clip((part - count, part - count + 1), 0, n)
            begin, end = np.clip((part - count - n, part - count - n + 1), 0, m)
        on_source, on_target = (i < last) & (i + a > first), (j < end) & (j + b > begin)
        touched = np.repeat((on_source[:, None] | on_target[None, :]).ravel(), labels)
        gone = (deleted >= first) & (deleted < last) | (deleted >= n + begin) & (deleted < n + end)
        return np.setdiff1d(np.flatnonzero(np.concatenate((touched, gone))), [part], assume_unique=True)

    # Inference -------------------------------------------------------------------------------------------------------

    def _run_best(self, batch: CoverBatch, outputs: Ints, best: Floats) -> None:
        from ..kernels import alignment, parallel

        offsets, shapes, values, slots = batch.offsets, batch.shapes, batch.values, batch.slots
        parallel.map_shards(
            lambda lo, hi: alignment.best_alignments(
                lo, hi, offsets, shapes, values, self.longest, slots, outputs, best
            ),
            offsets,
            self.n_jobs,
        )

    def _run_mark(self, batch: CoverBatch, outputs: Ints, on: Floats) -> list[int]:
        from ..kernels import alignment, parallel

        offsets, shapes, slots = batch.offsets, batch.shapes, batch.slots
        return parallel.map_shards(
            lambda lo, hi: alignment.mark_alignments(lo, hi, offsets, shapes, self.longest, slots, outputs, on),
            offsets,
            self.n_jobs,
        )

    def expected(self, scores: Floats, shape: Shape) -> tuple[float, Floats]:
        """Returns the log-partition and the expected parts."""
        found = self.marginals(alone(scores, shape))
        return float(found.log_partition[0]), found.parts.values

    def marginals(self, scores: FlatParts) -> Marginals[FlatParts]:
        """Log-partition and expected parts, by forward-backward over pairs of prefixes.

        Raises `DataError` where scores are so large, and outputs so close, that rounding would spoil them.
        """
        log_partition, _, mass = self._exact(scores)
        return Marginals(log_partition, replace(scores, values=mass))

    def entropy(self, scores: FlatParts) -> Floats:
        """Entropy of each input's distribution over outputs: the sum of those of all its choices."""
        return self._exact(scores)[1]

    def _exact(self, scores: FlatParts) -> tuple[Floats, Floats, Floats]:
        """Log-partitions, entropies and expected parts."""
        from ..kernels import alignment, parallel

        batch = self._batch(scores)
        log_partition, entropy, rounding = np.empty((3, len(scores)))
        mass, offsets, shapes, values = np.zeros_like(batch.values), batch.offsets, batch.shapes, batch.values
        parallel.map_shards(
            lambda lo, hi: alignment.forward_backward(
                lo, hi, offsets, shapes, values, self.longest, log_partition, entropy, rounding, mass
            ),
            offsets,
            self.n_jobs,
        )
        batch.require(log_partition)
        for x in np.flatnonzero(~(rounding <= EXACT)).tolist():
            at = slice(offsets[x], offsets[x + 1])
            log_partition[x], mass[at] = self._decided(scores.sequences(x, x + 1), float(rounding[x]))
            entropy[x] = 0.0
        return log_partition, entropy, mass

    def _decided(self, scores: FlatParts, rounding: float) -> tuple[float, Floats]:
        """Log-partition and parts of an input whose best output is so far ahead that it has all the mass."""
        ranked = self.kbest(scores, 2)
        best, second = ranked.scores[0].tolist()
        require_exact(np.array([0.0 if best - second > AHEAD + 64 * rounding else rounding]))
        return best, self.indicator(scores, ranked.outputs.values[0]).values

    def sample(self, scores: FlatParts, draws: int, *, seed: int) -> Ints:
        """Independent exact draws, by forward filtering and backward sampling: (draws, slots)."""
        from ..kernels import alignment, parallel

        self._exact(scores)  # raises
        batch = self._batch(scores)
        outputs = np.empty((draws, batch.slots[-1]), np.int32)
        offsets, shapes, values, slots = batch.offsets, batch.shapes, batch.values, batch.slots
        parallel.map_shards(
            lambda lo, hi: alignment.sample_alignments(
                lo, hi, offsets, shapes, values, self.longest, seed, slots, outputs
            ),
            offsets,
            self.n_jobs,
        )
        return outputs

    def all_outputs(self, shape: Shape) -> Iterator[Ints]:
        """Returns every output of a tiny input."""
        links: list[list[tuple[int, ...]]] = [[] for _ in range(shape[0])]
        every = self.links(shape)
        for i, a, j, b, number in zip(*(v.tolist() for v in (*every[:4], self.link(shape, *every))), strict=True):
            links[i].append((a, j, b, number))
        for output in _outputs_from(links, sum(map(len, links)), 0, 0):
            yield np.array(output, np.int32)


def _outputs_from(links: list[list[tuple[int, ...]]], count: int, i: int, j: int) -> Iterator[tuple[int, ...]]:
    """What becomes of source items from i on, where target items before j are covered already.

    links: by the source item at which they begin, their source length, target, target length and number; count: of
    all links, after which the deletions of source items are numbered.
    """
    if i == len(links):
        yield ()
        return
    for rest in _outputs_from(links, count, i + 1, j):
        yield (count + i, *rest)
    for a, target, b, number in links[i]:
        if target >= j:
            for rest in _outputs_from(links, count, i + a, target + b):
                yield (number,) * a + rest
