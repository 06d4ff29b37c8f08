"""What large-margin learners ask of inputs: that one output wins, that none is good, or that one is good enough.

Every demand knows which output violates it most under some weights, by how much, and how outputs become the rows of
`working_sets`. With F the features, κ(x) the size of an input and b the value of a constant feature, the violations are

    Labelled    max_y [Δ(y) + w·F(x, y)] - w·F(x, y_i)          the given output wins by a margin (Eq. 6.2, Chang 2011)
    Rejected    1 + max_y w·(F(x, y) / κ(x), b)                 no output is good               (Eq. 6.4, z = -1)
    Accepted    1 - w·(F(x, h) / κ(x), b)                       the output h is good            (Eq. 6.7)
                1 + w·(F(x, h) / κ(x), b)                       the output h is not good        (Algorithm 12)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np

from ..errors import Infeasible
from ..features.encoded import Encoded
from ..kernels.compiling import Floats, Longs
from ..scorers.protocol import KeepsReady, SparseVectors
from ..structures.known import Known, Outputs
from ..structures.protocol import Best, Loss, Structure


@dataclass(frozen=True)
class BestSearch:
    """The search for the best outputs of the inputs of a batch, among those that rules and a dictionary leave.

    numbers: their places in X, by which errors name them, None where these are the same; allowed: what a dictionary
    leaves; rules: hard rules, compiled for the inputs.
    """

    structure: Structure[Any]
    numbers: Longs | None = None
    allowed: Known[Any] | None = None
    rules: Any = None

    def inputs(self, first: int, last: int) -> "BestSearch":
        """Returns the search for inputs first to last - 1, which takes one thread."""
        single: Structure[Any] = replace(self.structure, n_jobs=1)  # type: ignore[type-var]
        numbers = np.arange(first, last) if self.numbers is None else self.numbers[first:last]
        allowed = None if self.allowed is None else self.allowed.inputs(first, last)
        rules = None if self.rules is None else self.rules.sequences(first, last)
        return replace(self, structure=single, numbers=numbers, allowed=allowed, rules=rules)

    def place(self, number: int) -> int:
        """Returns the place in X of an input of the batch."""
        return number if self.numbers is None else int(self.numbers[number])

    def __call__(self, scores: Any, first: int, last: int, seed: int | None = None) -> Best:
        """Returns the best outputs of inputs first to last - 1; with a seed, ties are broken at random."""
        try:
            return self._best(scores, first, last, seed)
        except Infeasible as error:
            if error.sequence is None or self.numbers is None:
                raise
            raise error.numbered(self.place(first + error.sequence)) from None

    def _best(self, scores: Any, first: int, last: int, seed: int | None) -> Best:
        if self.allowed is not None:
            scores = self.allowed.inputs(first, last).restrict(scores)
        if self.rules is None:
            return self.structure.argmax(scores, seed=seed)
        limits = self.rules.sequences(first, last).weigh(np.full(len(self.rules.rules), np.inf))
        folded, left = limits.folded(scores)
        if left is None:
            return self.structure.argmax(folded, seed=seed)
        found: Best = limits.best(self.structure, scores).best()
        return found


@dataclass(frozen=True)
class Worst:
    """The outputs of some inputs with the largest violations.

    outputs: those that were found; violation: (inputs,) theirs; bound: (inputs,) what no output violates more than, and
    more than `violation` where a time limit ended the search for it.
    """

    outputs: Outputs
    violation: Floats
    bound: Floats

    @classmethod
    def of(cls, best: Best, scale: Floats | float, shift: Floats | float) -> "Worst":
        """Returns them where the violation of an output is scale * score + shift, with a scale above zero."""
        violation = scale * best.scores + shift
        return cls(best.outputs, violation, violation if best.bound is None else scale * best.bound + shift)


class Demand(Protocol):
    """What is asked of the inputs of one batch; each input is a group of its own."""

    @property
    def batch(self) -> "MarginInputs":
        """The inputs."""
        ...

    @property
    def cost(self) -> Floats | float:
        """C: one number for all inputs, or one for each."""
        ...

    def __len__(self) -> int: ...

    def worst(self, w: Floats, first: int, last: int) -> Worst:
        """Returns the outputs of inputs first to last - 1 with the largest violations."""
        ...

    def rows(self, first: int, last: int, which: Longs, outputs: Outputs) -> tuple[SparseVectors, Floats]:
        """Outputs of some of the inputs first to last - 1 as rows, and their margins."""
        ...

    def inputs(self, first: int, last: int) -> Self:
        """Returns what is asked of inputs first to last - 1, which are worked on by one thread."""
        ...


def _some(cost: Floats | float, first: int, last: int) -> Floats | float:
    """C of inputs first to last - 1."""
    return cost[first:last] if isinstance(cost, np.ndarray) and cost.ndim else cost


def worst_of_part(part: Any, scorer: KeepsReady, w: Floats) -> Worst:
    """Returns the outputs with the largest violations of all inputs of a demand."""
    part.batch.adopt(scorer)
    found: Worst = part.worst(w, 0, len(part))
    return found


def costs(demands: Sequence[Demand]) -> Floats:
    """Returns C of each input of these demands."""
    return np.concatenate([np.broadcast_to(np.asarray(one.cost, float), (len(one),)) for one in demands])


class Chosen(Demand, Protocol):
    """A demand about outputs that were chosen, and may be chosen again."""

    def differing(self, before: Self) -> Longs:
        """Returns the inputs whose chosen outputs were others in `before`."""
        ...

    def shift(self, before: Self, which: Longs) -> SparseVectors:
        """Returns what the chosen outputs of these inputs add to every row of theirs; margins must be the same."""
        ...


@dataclass(frozen=True)
class MarginInputs:
    """Encoded inputs, and how the best outputs of some of them are found.

    scorer: other processes get it once for all parts of the data, and parts without it (`adopt`).
    """

    scorer: KeepsReady
    encoded: Encoded
    argmax: BestSearch

    def __len__(self) -> int:
        return len(self.encoded)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "scorer": None}

    def adopt(self, scorer: KeepsReady) -> None:
        """Take the scorer of this process, where the inputs came without one."""
        if self.scorer is None:
            object.__setattr__(self, "scorer", scorer)

    @property
    def structure(self) -> Structure[Any]:
        """What can be predicted."""
        return self.argmax.structure

    def inputs(self, first: int, last: int) -> "MarginInputs":
        """Returns inputs first to last - 1, which are worked on by one thread."""
        return MarginInputs(self.scorer, self.encoded.sequences(first, last), self.argmax.inputs(first, last))

    def scores(self, w: Floats, first: int = 0, last: int | None = None) -> Any:
        """Returns the scores of inputs first to last - 1; w: an object of its own for other weights (`w.view()`)."""
        some = self.encoded if last is None else self.encoded.sequences(first, last)
        return self.scorer.prepare(w).scores(some, self.structure.n_jobs)

    def best(self, w: Floats, seed: int | None = None) -> Best:
        """The best outputs of all inputs; with a seed, ties are broken at random."""
        return self.argmax(self.scores(w.view()), 0, len(self), seed)


@dataclass(frozen=True)
class Labelled:
    """A given output is to win.

    known: what is known about the outputs; the structure's loss Δ beside that is the margin. chosen: the outputs that
    are to win, where what is known leaves a choice.
    """

    batch: MarginInputs
    known: Known[Any]
    cost: Floats | float
    chosen: Outputs | None = None

    def __len__(self) -> int:
        return len(self.batch)

    def inputs(self, first: int, last: int) -> "Labelled":
        """Returns what is asked of inputs first to last - 1."""
        chosen = None if self.chosen is None else self.chosen.inputs(first, last)
        return Labelled(
            self.batch.inputs(first, last), self.known.inputs(first, last), _some(self.cost, first, last), chosen
        )

    @property
    def target(self) -> Outputs:
        """The outputs that are to win."""
        return self.known.outputs if self.chosen is None else self.chosen

    @cached_property
    def _loss(self) -> Loss[Any]:
        """Δ of all inputs: the weights do not matter."""
        return self.batch.structure.loss(self.batch.scores(np.zeros(self.batch.scorer.size)), self.known)

    def worst(self, w: Floats, first: int, last: int) -> Worst:
        """Loss-augmented inference."""
        scores, target = self.batch.scores(w, first, last), self.target.inputs(first, last)
        best = self.batch.argmax(scores + self._loss.cost.sequences(first, last), first, last)
        own = self.batch.structure.score(scores, target.values)
        return Worst.of(best, 1.0, self._loss.constant[first:last] - own)

    def rows(self, first: int, last: int, which: Longs, outputs: Outputs) -> tuple[SparseVectors, Floats]:
        """F(x, y_i) - F(x, y) and Δ(y)."""
        encoded, target = self.batch.encoded.sequences(first, last), self.target.inputs(first, last)
        cost = self._loss.cost.sequences(first, last)
        margin = self.batch.structure.score(cost, outputs.values) + self._loss.constant[first:last]
        return self.batch.scorer.rows(encoded, which, target.values, outputs.values), margin[which]

    def differing(self, before: "Labelled") -> Longs:
        """Returns the inputs whose outputs that are to win were others before."""
        return self.target.differing(before.target)

    def shift(self, before: "Labelled", which: Longs) -> SparseVectors:
        """F(x, y_i) - F(x, y_i before), where what is known is the same, and so the loss."""
        return self.batch.scorer.rows(self.batch.encoded, which, self.target.values, before.target.values)


@dataclass(frozen=True)
class _Companions:
    """Inputs of which only a yes or no is known.

    size: (sequences,) κ; constant: b, whose weight is the last one, or 0 for none.
    """

    batch: MarginInputs
    cost: Floats | float
    size: Floats
    constant: float

    def __len__(self) -> int:
        return len(self.batch)

    def _signed_rows(
        self, sign: float, first: int, last: int, which: Longs, outputs: Outputs
    ) -> tuple[SparseVectors, Floats]:
        """sign * (F(x, y) / κ, b) and 1."""
        encoded = self.batch.encoded.sequences(first, last)
        rows = self.batch.scorer.rows(encoded, which, outputs.values, None).scaled(sign / self.size[first + which])
        if self.constant:
            rows = rows.extended(self.batch.scorer.size, np.full(len(which), sign * self.constant))
        return rows, np.ones(len(which))


@dataclass(frozen=True)
class Rejected(_Companions):
    """Inputs without a good output."""

    def worst(self, w: Floats, first: int, last: int) -> Worst:
        """The best output."""
        best = self.batch.argmax(self.batch.scores(w, first, last), first, last)
        return Worst.of(best, 1.0 / self.size[first:last], 1.0 + self.constant * w[-1])

    def rows(self, first: int, last: int, which: Longs, outputs: Outputs) -> tuple[SparseVectors, Floats]:
        """-(F(x, y) / κ, b) and 1."""
        return self._signed_rows(-1.0, first, last, which, outputs)

    def inputs(self, first: int, last: int) -> "Rejected":
        """Returns what is asked of inputs first to last - 1."""
        cost = _some(self.cost, first, last)
        return Rejected(self.batch.inputs(first, last), cost, self.size[first:last], self.constant)

    def fixed(self, w: Floats) -> "Accepted":
        """The best outputs under w are not good, whatever the others are."""
        return Accepted(self.batch, self.cost, self.size, self.constant, self.batch.best(w).outputs, -1.0)


@dataclass(frozen=True)
class Accepted(_Companions):
    """Inputs of which a chosen output is good, or with the sign -1 is not good."""

    outputs: Outputs
    sign: float = 1.0

    @classmethod
    def best(
        cls,
        batch: MarginInputs,
        cost: Floats | float,
        size: Floats,
        constant: float,
        seed: int | None,
        w: Floats,
        number: int,
    ) -> "Accepted":
        """Returns the demand that the best outputs under w are good; a seed breaks ties at random, by `number`."""
        best = batch.best(w, None if seed is None else seed + number)
        return cls(batch, cost, size, constant, best.outputs)

    def inputs(self, first: int, last: int) -> "Accepted":
        """Returns what is asked of inputs first to last - 1."""
        cost, outputs = _some(self.cost, first, last), self.outputs.inputs(first, last)
        return Accepted(self.batch.inputs(first, last), cost, self.size[first:last], self.constant, outputs, self.sign)

    def worst(self, w: Floats, first: int, last: int) -> Worst:
        """The chosen output, whatever the weights."""
        chosen = self.outputs.inputs(first, last)
        value = self.batch.structure.score(self.batch.scores(w, first, last), chosen.values)
        violation = 1.0 - self.sign * (value / self.size[first:last] + self.constant * w[-1])
        return Worst(chosen, violation, violation)

    def rows(self, first: int, last: int, which: Longs, outputs: Outputs) -> tuple[SparseVectors, Floats]:
        """sign * (F(x, h) / κ, b) and 1."""
        return self._signed_rows(self.sign, first, last, which, outputs)

    def differing(self, before: "Accepted") -> Longs:
        """Returns the inputs whose chosen outputs were others before."""
        return self.outputs.differing(before.outputs)

    def shift(self, before: "Accepted", which: Longs) -> SparseVectors:
        """sign * (F(x, h) - F(x, h before)) / κ."""
        rows = self.batch.scorer.rows(self.batch.encoded, which, self.outputs.values, before.outputs.values)
        return rows.scaled(self.sign / self.size[which])
