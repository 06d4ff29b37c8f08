"""What large-margin learners ask of inputs: that one output wins, that none is good, or that one is good enough.

Every demand knows which output violates it most under some weights, by how much, and how outputs become the rows of
`working_sets`. With F the features, κ(x) the size of an input and b the value of a constant feature, the violations are

    Labelled    max_y [Δ(y) + w·F(x, y)] - w·F(x, y_i)          the given output wins by a margin (Eq. 6.2, Chang 2011)
    Rejected    1 + max_y w·(F(x, y) / κ(x), b)                 no output is good               (Eq. 6.4, z = -1)
    Accepted    1 - w·(F(x, h) / κ(x), b)                       the output h is good            (Eq. 6.7)
"""

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from ..features.encoded import Encoded
from ..kernels.compiling import Flags, Floats, Ints, Longs
from ..scorers.protocol import MarginScorer, Rows
from ..structures.protocol import Best, Structure


class Argmax(Protocol):
    """Finds the best outputs of inputs first to last - 1 of a batch, given their scores."""

    def __call__(self, scores: Any, first: int, last: int, seed: int | None = None) -> Best:
        """With a seed, ties are broken at random."""
        ...


class Demand(Protocol):
    """What is asked of the inputs of one batch; each input is a group of its own."""

    @property
    def cost(self) -> float:
        """C of every input."""
        ...

    def __len__(self) -> int: ...

    def worst(self, w: Floats, first: int, last: int) -> tuple[Ints, Floats]:
        """For inputs first to last - 1 the outputs with the largest violations, flat, and these violations."""
        ...

    def rows(self, first: int, last: int, which: Longs, outputs: Ints) -> tuple[Rows, Floats]:
        """Outputs of some of the inputs first to last - 1 as rows, and their margins."""
        ...


class Chosen(Demand, Protocol):
    """A demand about outputs that were chosen, and may be chosen again."""

    def shift(self, before: Self) -> tuple[Longs, Rows]:
        """Inputs whose chosen outputs were others in `before`, and what the new ones add to every row of these."""
        ...


def by_structure(structure: Structure[Any]) -> Argmax:
    """The search of the structure itself."""
    return lambda scores, first, last, seed=None: structure.argmax(scores, seed=seed)


@dataclass(frozen=True)
class Batch:
    """Encoded inputs, and how the best outputs of some of them are found."""

    scorer: MarginScorer[Any]
    structure: Structure[Any]
    encoded: Encoded
    argmax: Argmax

    def __len__(self) -> int:
        return len(self.encoded)

    def part(self, first: int, last: int) -> tuple[Encoded, slice]:
        """Inputs first to last - 1, and where their tokens are."""
        offsets = self.encoded.offsets
        return self.encoded.sequences(first, last), slice(int(offsets[first]), int(offsets[last]))

    def scores(self, w: Floats, encoded: Encoded) -> Any:
        """Scores of the parts; weights beyond the scorer's are not its own."""
        return self.scorer.prepare(w[: self.scorer.size]).scores(encoded, self.structure.n_jobs)

    def best(self, w: Floats, seed: int | None = None) -> Best:
        """The best outputs of all inputs; with a seed, ties are broken at random."""
        return self.argmax(self.scores(w, self.encoded), 0, len(self), seed)

    def changed(self, outputs: Ints, before: Ints) -> Longs:
        """The inputs whose outputs differ."""
        return np.flatnonzero(np.logical_or.reduceat(outputs != before, self.encoded.offsets[:-1]))


@dataclass(frozen=True)
class Labelled:
    """A given output is to win.

    target: (tokens,) outputs as the structure writes them; allowed: (tokens, labels) where labels are known in part;
    those in it cost nothing. The loss Δ counts wrong tokens.
    """

    batch: Batch
    target: Ints
    cost: float
    allowed: Flags | None = None

    def __len__(self) -> int:
        return len(self.batch)

    def worst(self, w: Floats, first: int, last: int) -> tuple[Ints, Floats]:
        """Loss-augmented inference."""
        encoded, at = self.batch.part(first, last)
        target, scores = self.target[at], self.batch.scores(w, encoded)
        lossy = scores.add_loss(target) if self.allowed is None else scores.add_cost(~self.allowed[at])
        best = self.batch.argmax(lossy, first, last)
        return best.labels, best.scores - self.batch.structure.score(scores, target)

    def rows(self, first: int, last: int, which: Longs, outputs: Ints) -> tuple[Rows, Floats]:
        """F(x, y_i) - F(x, y) and Δ(y)."""
        encoded, at = self.batch.part(first, last)
        target = self.target[at]
        wrong = outputs != target if self.allowed is None else ~self.allowed[at][np.arange(len(outputs)), outputs]
        loss = np.add.reduceat(wrong.astype(float), encoded.offsets[:-1])
        return self.batch.scorer.rows(encoded, which, target, outputs), loss[which]

    def shift(self, before: "Labelled") -> tuple[Longs, Rows]:
        """F(x, y_i) - F(x, y_i before); the loss is the same, since what is allowed is."""
        which = self.batch.changed(self.target, before.target)
        return which, self.batch.scorer.rows(self.batch.encoded, which, self.target, before.target)


@dataclass(frozen=True)
class _Companions:
    """Inputs of which only a yes or no is known.

    size: (sequences,) κ; constant: b, whose weight is the last one, or 0 for none.
    """

    batch: Batch
    cost: float
    size: Floats
    constant: float

    def __len__(self) -> int:
        return len(self.batch)

    def _signed_rows(self, sign: float, first: int, last: int, which: Longs, outputs: Ints) -> tuple[Rows, Floats]:
        """sign * (F(x, y) / κ, b) and 1."""
        encoded, _ = self.batch.part(first, last)
        rows = self.batch.scorer.rows(encoded, which, outputs, None).scaled(sign / self.size[first + which])
        if self.constant:
            rows = rows.extended(self.batch.scorer.size, np.full(len(which), sign * self.constant))
        return rows, np.ones(len(which))


@dataclass(frozen=True)
class Rejected(_Companions):
    """Inputs without a good output."""

    def worst(self, w: Floats, first: int, last: int) -> tuple[Ints, Floats]:
        """The best output."""
        encoded, _ = self.batch.part(first, last)
        best = self.batch.argmax(self.batch.scores(w, encoded), first, last)
        return best.labels, 1.0 + best.scores / self.size[first:last] + self.constant * w[-1]

    def rows(self, first: int, last: int, which: Longs, outputs: Ints) -> tuple[Rows, Floats]:
        """-(F(x, y) / κ, b) and 1."""
        return self._signed_rows(-1.0, first, last, which, outputs)


@dataclass(frozen=True)
class Accepted(_Companions):
    """Inputs of which a chosen output is good; outputs: (tokens,)."""

    outputs: Ints

    def worst(self, w: Floats, first: int, last: int) -> tuple[Ints, Floats]:
        """The chosen output, whatever the weights."""
        encoded, at = self.batch.part(first, last)
        value = self.batch.structure.score(self.batch.scores(w, encoded), self.outputs[at])
        return self.outputs[at], 1.0 - value / self.size[first:last] - self.constant * w[-1]

    def rows(self, first: int, last: int, which: Longs, outputs: Ints) -> tuple[Rows, Floats]:
        """(F(x, h) / κ, b) and 1."""
        return self._signed_rows(1.0, first, last, which, outputs)

    def shift(self, before: "Accepted") -> tuple[Longs, Rows]:
        """(F(x, h) - F(x, h before)) / κ."""
        which = self.batch.changed(self.outputs, before.outputs)
        rows = self.batch.scorer.rows(self.batch.encoded, which, self.outputs, before.outputs)
        return which, rows.scaled(1.0 / self.size[which])
