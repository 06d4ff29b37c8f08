"""Labelled segments that follow each other: the shape in which search and integer programs see an output.

    s(x, y) = Σ segments (b..e, c) [ opens[b, c] + Σ_{t=b..e} unary[t, c] + closes[e, c] + length[e - b, c] ]
              + Σ neighbours pair[type_b, c', c]

A segmentation is that already; a chain of order one has segments of one token each.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..kernels.compiling import Floats, Ints, Longs


@dataclass(frozen=True)
class Polytope:
    """The outputs of one input as the 0/1 points of some rows over variables.

    scores: (variables,); choices: so many variables, the first ones, must be whole and tell outputs apart; rows: each
    (value, plus, minus) says Σ plus - Σ minus = value, over numbers of variables; steps: (entries, 4) int64, a variable
    counts towards "(token, label before, label)", with `labels` as the label before the first token; last: (entries, 2)
    int64, a variable counts towards "the last label is c"; read: the output from the numbers of the variables chosen.
    """

    scores: Floats
    choices: int
    rows: list[tuple[float, Longs, Longs]]
    steps: Longs
    last: Longs
    read: Callable[[Longs], Ints]


@dataclass(frozen=True)
class Lattice:
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

    def sequence(self, index: int) -> "Lattice":
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

    def polytope(self) -> Polytope:
        """One variable for every segment, every meeting of two, and every (token, label) inside of a segment.

        Rows: one segment begins the sequence; segments that open agree with the meetings there, and so do those that
        close; a token is inside of a segment if the one before is and the segment goes on.
        """
        n, L = self.unary.shape
        segments, gain = self._segments()
        first, size, label = segments.T
        meets = np.argwhere(self.pair[self.pair_type[1:]] > -np.inf) + np.array([1, 0, 0])
        at, before, after = meets.T
        count = len(segments)
        meeting = count + np.arange(len(meets))
        inside = count + len(meets) + np.arange((n - 1) * L if len(self.length) > 1 else 0).reshape(-1, L)
        opened, closed = _group(first * L + label, (n + 1) * L), _group((first + size) * L + label, (n + 1) * L)
        entered, left = _group(at * L + after, n * L, meeting), _group(at * L + before, n * L, meeting)
        nothing = np.empty(0, np.int64)
        rows = [(1.0, np.concatenate(opened[:L]), nothing)]
        for cell in range(L, n * L):
            rows += [(0.0, opened[cell], entered[cell]), (0.0, closed[cell], left[cell])]
        for cell, variable in enumerate(inside.ravel(), start=L):
            go_on = nothing if cell < 2 * L else np.array([variable - L])
            rows.append((0.0, np.append(closed[cell], variable), np.concatenate((opened[cell - L], go_on))))
        start = np.concatenate(opened[:L])
        within = np.stack(np.meshgrid(np.arange(1, len(inside) + 1), np.arange(L), indexing="ij"), -1).reshape(-1, 2)
        steps = np.concatenate((
            np.stack((first[start], np.full(len(start), L), label[start], start), axis=1),
            np.column_stack((meets, meeting)),
            np.column_stack((within[:, 0], within[:, 1], within[:, 1], inside.ravel())),
        ))  # fmt: skip
        final = np.concatenate(closed[n * L :])
        scores = np.concatenate((gain, self.pair[self.pair_type[at], before, after], np.zeros(inside.size)))

        def read(chosen: Longs) -> Ints:
            codes = np.empty(n, np.int32)
            for b, m, c in segments[chosen]:
                codes[b : b + m] = 2 * c
                codes[b] += 1
            return self.outputs(codes)

        return Polytope(scores, count, rows, steps, np.stack((label[final], final), axis=1), read)

    def _segments(self) -> tuple[Longs, Floats]:
        """Every segment that may be, as (first token, tokens, label), and its score."""
        n = len(self.unary)
        found, scores = [], []
        total = np.zeros_like(self.unary)
        for m in range(1, min(len(self.length), n) + 1):
            total = total[: n - m + 1] + self.unary[m - 1 :]
            score = self.opens[: n - m + 1] + total + self.closes[m - 1 :] + self.length[m - 1]
            first, label = np.nonzero(score > -np.inf)
            found.append(np.stack((first, np.full(len(first), m), label), axis=1))
            scores.append(score[first, label])
        return np.concatenate(found), np.concatenate(scores)


def _group(key: NDArray[np.integer], keys: int, values: Longs | None = None) -> list[Longs]:
    """The values (or places) that have each key."""
    order = np.argsort(key, kind="stable")
    edges = np.searchsorted(key[order], np.arange(1, keys))
    return np.split(order if values is None else values[order], edges)
