"""What large-margin learners ask of inputs: that one output wins, that none is good, or that one is good enough.

Every demand knows which output violates it most under some weights, by how much, and how outputs become the rows of
`working_sets`. With F the features, κ(x) the size of an input and b the value of a constant feature, the violations are

    Labelled    max_y [Δ(y) + w·F(x, y)] - w·F(x, y_i)          the given output wins by a margin (Eq. 6.2, Chang 2011)
    Rejected    1 + max_y w·(F(x, y) / κ(x), b)                 no output is good               (Eq. 6.4, z = -1)
    Accepted    1 - w·(F(x, h) / κ(x), b)                       the output h is good            (Eq. 6.7)
                1 + w·(F(x, h) / κ(x), b)                       the output h is not good        (Algorithm 12)
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np

from ..features.encoded import Encoded
from ..kernels.compiling import Floats, Longs
from ..scorers.protocol import MarginScorer, Rows
from ..structures.known import Known, Outputs
from ..structures.protocol import Best, Loss, Structure


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

    def worst(self, w: Floats, first: int, last: int) -> tuple[Outputs, Floats]:
        """Returns the outputs of inputs first to last - 1 with the largest violations, and these violations."""
        ...

    def rows(self, first: int, last: int, which: Longs, outputs: Outputs) -> tuple[Rows, Floats]:
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

    def scores(self, w: Floats, first: int = 0, last: int | None = None) -> Any:
        """Returns the scores of inputs first to last - 1; weights beyond the scorer's are not its own."""
        some = self.encoded if last is None else self.encoded.sequences(first, last)
        return self.scorer.prepare(w[: self.scorer.size]).scores(some, self.structure.n_jobs)

    def best(self, w: Floats, seed: int | None = None) -> Best:
        """The best outputs of all inputs; with a seed, ties are broken at random."""
        return self.argmax(self.scores(w), 0, len(self), seed)


@dataclass(frozen=True)
class Labelled:
    """A given output is to win.

    known: what is known about the outputs; the structure's loss Δ beside that is the margin. chosen: the outputs that
    are to win, where what is known leaves a choice.
    """

    batch: Batch
    known: Known[Any]
    cost: float
    chosen: Outputs | None = None

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def target(self) -> Outputs:
        """The outputs that are to win."""
        return self.known.outputs if self.chosen is None else self.chosen

    @cached_property
    def _loss(self) -> Loss[Any]:
        """Δ of all inputs: the weights do not matter."""
        return self.batch.structure.loss(self.batch.scores(np.zeros(self.batch.scorer.size)), self.known)

    def worst(self, w: Floats, first: int, last: int) -> tuple[Outputs, Floats]:
        """Loss-augmented inference."""
        scores, target = self.batch.scores(w, first, last), self.target.inputs(first, last)
        best = self.batch.argmax(scores + self._loss.cost.sequences(first, last), first, last)
        own = self.batch.structure.score(scores, target.values)
        return best.outputs, best.scores + self._loss.constant[first:last] - own

    def rows(self, first: int, last: int, which: Longs, outputs: Outputs) -> tuple[Rows, Floats]:
        """F(x, y_i) - F(x, y) and Δ(y)."""
        encoded, target = self.batch.encoded.sequences(first, last), self.target.inputs(first, last)
        cost = self._loss.cost.sequences(first, last)
        margin = self.batch.structure.score(cost, outputs.values) + self._loss.constant[first:last]
        return self.batch.scorer.rows(encoded, which, target.values, outputs.values), margin[which]

    def shift(self, before: "Labelled") -> tuple[Longs, Rows]:
        """F(x, y_i) - F(x, y_i before); the loss is the same, since what is known is."""
        which, encoded = self.target.differing(before.target), self.batch.encoded
        return which, self.batch.scorer.rows(encoded, which, self.target.values, before.target.values)


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

    def _signed_rows(self, sign: float, first: int, last: int, which: Longs, outputs: Outputs) -> tuple[Rows, Floats]:
        """sign * (F(x, y) / κ, b) and 1."""
        encoded = self.batch.encoded.sequences(first, last)
        rows = self.batch.scorer.rows(encoded, which, outputs.values, None).scaled(sign / self.size[first + which])
        if self.constant:
            rows = rows.extended(self.batch.scorer.size, np.full(len(which), sign * self.constant))
        return rows, np.ones(len(which))


@dataclass(frozen=True)
class Rejected(_Companions):
    """Inputs without a good output."""

    def worst(self, w: Floats, first: int, last: int) -> tuple[Outputs, Floats]:
        """The best output."""
        best = self.batch.argmax(self.batch.scores(w, first, last), first, last)
        return best.outputs, 1.0 + best.scores / self.size[first:last] + self.constant * w[-1]

    def rows(self, first: int, last: int, which: Longs, outputs: Outputs) -> tuple[Rows, Floats]:
        """-(F(x, y) / κ, b) and 1."""
        return self._signed_rows(-1.0, first, last, which, outputs)

    def fixed(self, w: Floats) -> "Accepted":
        """The best outputs under w are not good, whatever the others are."""
        return Accepted(self.batch, self.cost, self.size, self.constant, self.batch.best(w).outputs, -1.0)


@dataclass(frozen=True)
class Accepted(_Companions):
    """Inputs of which a chosen output is good, or with the sign -1 is not good."""

    outputs: Outputs
    sign: float = 1.0

    def worst(self, w: Floats, first: int, last: int) -> tuple[Outputs, Floats]:
        """The chosen output, whatever the weights."""
        chosen = self.outputs.inputs(first, last)
        value = self.batch.structure.score(self.batch.scores(w, first, last), chosen.values)
        return chosen, 1.0 - self.sign * (value / self.size[first:last] + self.constant * w[-1])

    def rows(self, first: int, last: int, which: Longs, outputs: Outputs) -> tuple[Rows, Floats]:
        """sign * (F(x, h) / κ, b) and 1."""
        return self._signed_rows(self.sign, first, last, which, outputs)

    def shift(self, before: "Accepted") -> tuple[Longs, Rows]:
        """sign * (F(x, h) - F(x, h before)) / κ."""
        which = self.outputs.differing(before.outputs)
        rows = self.batch.scorer.rows(self.batch.encoded, which, self.outputs.values, before.outputs.values)
        return which, rows.scaled(self.sign / self.size[which])
