"""Labelled segments that follow each other: the shape in which search and integer programs see an output.

    s(x, y) = Σ segments (b..e, c) [ opens[b, c] + Σ_{t=b..e} unary[t, c] + closes[e, c] + length[e - b, c] ]
              + Σ neighbours pair[type_b, c', c]

A segmentation is that already; a chain of order one has segments of one token each.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..kernels.compiling import Flags, Floats, Ints, Longs
from .polytope import LinearRows, Polytope


@dataclass(frozen=True)
class SegmentLattice:
    """Scores of a batch as labelled segments.

    offsets: (sequences + 1,) int64; unary, opens, closes: (tokens, labels), with first and last labels in opens and
    closes; pair: (types, labels, labels), used through pair_type[t] where a segment opens at t; length: (longest,
    labels); marked: whether outputs tell where segments begin, or are plain labels.
    """

    offsets: Longs
    unary: Floats
    opens: Floats
    closes: Floats
    pair: Floats
    pair_type: Ints
    length: Floats
    marked: bool

    def sequence(self, index: int) -> "SegmentLattice":
        """One sequence of the batch; tables are shared, not copied."""
        at = slice(self.offsets[index], self.offsets[index + 1])
        return replace(
            self,
            offsets=np.array([0, at.stop - at.start], np.int64),
            unary=self.unary[at],
            opens=self.opens[at],
            closes=self.closes[at],
            pair_type=self.pair_type[at],
        )

    def tables(self) -> tuple[Floats, Floats, Floats, Floats, Ints, Floats]:
        """The kernels' arguments."""
        return self.unary, self.opens, self.closes, self.pair, self.pair_type, self.length

    def outputs(self, codes: Ints) -> Ints:
        """Outputs as the structure writes them, from 2 * label + (a segment begins); -1 stays."""
        return codes if self.marked else codes >> 1

    def score(self, output: Ints) -> float:
        """s(x, y) of one output of one sequence, as the structure writes it."""
        n = len(self.unary)
        label = output >> 1 if self.marked else output
        first = np.flatnonzero(output & 1) if self.marked else np.arange(n)
        last, c = np.append(first[1:], n) - 1, label[first]
        total = self.unary[np.arange(n), label].sum() + self.opens[first, c].sum() + self.closes[last, c].sum()
        total += self.length[last - first, c].sum() + self.pair[self.pair_type[first[1:]], c[:-1], c[1:]].sum()
        return float(total)

    def polytope(self) -> Polytope[Ints]:
        """Returns one variable for every segment, every meeting of two, and every (token, label) inside of a segment.

        The variables come in this order; the segments, as in `segments`, are the choices. Rows: one segment begins each
        sequence; segments that open agree with the meetings there, and so do those that close; a token is inside of a
        segment if the one before is and the segment goes on. Tokens are numbered through the batch.
        """
        L = self.unary.shape[1]
        heads, inner, place = self._places()
        segments, gain = self.segments()
        first, size, label = segments.T
        after, segment = first + size, np.arange(len(segments))
        where, left, entered = np.nonzero(self.pair[self.pair_type[inner]] > -np.inf)
        at, meeting = inner[where], len(segments) + np.arange(len(where))
        inside = len(segments) + len(at) + np.arange(len(inner) * L if len(self.length) > 1 else 0).reshape(-1, L)
        begins, opens, closes = place[first] < 0, place[first] >= 0, place[after] >= 0
        # Rows of first tokens, then for each (token, label) that of what opens and that of what closes.
        agree = len(heads) + np.arange(len(inner) * L * 2).reshape(-1, L, 2)
        closing = place[after[closes]], label[closes]
        sums = [
            (1.0, np.searchsorted(heads, first[begins]), segment[begins]),
            (1.0, agree[place[first[opens]], label[opens], 0], segment[opens]),
            (-1.0, agree[where, entered, 0], meeting),
            (1.0, agree[*closing, 1], segment[closes]), (-1.0, agree[where, left, 1], meeting),
        ]  # fmt: skip
        if inside.size:
            row = len(heads) + agree.size + np.arange(inside.size).reshape(-1, L)
            goes_on, further = place[first + 1] >= 0, place[inner - 1] >= 0
            sums += [
                (1.0, row[closing], segment[closes]), (1.0, row, inside),
                (-1.0, row[place[first[goes_on] + 1], label[goes_on]], segment[goes_on]),
                (-1.0, row[further], inside[:-1][further[1:]]),
            ]  # fmt: skip
        total = np.repeat([1.0, 0.0], [len(heads), agree.size + inside.size])
        within, own = np.divmod(np.arange(inside.size), L)
        steps = np.concatenate((
            np.column_stack((first[begins], np.full(begins.sum(), L), label[begins], segment[begins])),
            np.column_stack((at, left, entered, meeting)),
            np.column_stack((inner[within], own, own, inside.ravel())),
        ))  # fmt: skip
        scores = np.concatenate((gain, self.pair[self.pair_type[at], left, entered], np.zeros(inside.size)))

        def read(chosen: Flags) -> Ints:
            b, m, c = segments[chosen].T
            order = np.argsort(b)
            codes = np.repeat(2 * c[order], m[order]).astype(np.int32)
            codes[b] += 1
            return self.outputs(codes)

        return Polytope(
            scores, segment, LinearRows.equal(total, *sums), read, nested=False, steps=steps,
            last=np.column_stack((label[~closes], segment[~closes])),
        )  # fmt: skip

    def _places(self) -> tuple[Longs, Longs, Longs]:
        """Returns first tokens, the tokens after another, and each token's place among the latter, or -1.

        There is one place more than tokens, for what would follow the last one.
        """
        heads = self.offsets[:-1]
        place = np.ones(len(self.unary) + 1, np.int64)
        place[self.offsets] = 0
        inner = np.flatnonzero(place)
        place[self.offsets], place[inner] = -1, np.arange(len(inner))
        return heads, inner, place

    def segments(self) -> tuple[Longs, Floats]:
        """Returns every segment that may be, as (first token, tokens, label), and its score."""
        sizes = np.diff(self.offsets)
        room = np.repeat(self.offsets[1:], sizes) - np.arange(len(self.unary))
        found, scores = [], []
        total = np.zeros_like(self.unary)
        for m in range(1, min(len(self.length), int(sizes.max(initial=0))) + 1):
            last = len(self.unary) - m + 1
            total = total[:last] + self.unary[m - 1 :]
            score = self.opens[:last] + total + self.closes[m - 1 :] + self.length[m - 1]
            first, label = np.nonzero((score > -np.inf) & (room[:last, None] >= m))
            found.append(np.stack((first, np.full(len(first), m), label), axis=1))
            scores.append(score[first, label])
        return np.concatenate(found), np.concatenate(scores)
