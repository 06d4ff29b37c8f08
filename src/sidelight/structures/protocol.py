"""What every structure answers, and the shapes of the answers.

An output is a 0/1 vector y over parts and has the score θ·y. A structure says which vectors are outputs and answers
two questions about scores θ, `argmax` and `marginals`; the other calls follow from the same recursions. All calls
take a whole batch.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from .known import Outputs
from .lattice import SegmentLattice

# Seconds that exact inference may take for one input where nothing else is asked for.
TIME_LIMIT = 60.0


@dataclass(frozen=True)
class Charge:
    """A cost for every step from one token's label to the next one's, and for every last label; inf forbids.

    kind: (tokens,) int32 kind of position; step: (kinds, labels + 1, labels), for (kind, label before, label), with
    `labels` as the label before the first token; last: (labels,).
    """

    kind: NDArray[np.int32]
    step: NDArray[np.float64]
    last: NDArray[np.float64]


class Parts(Protocol):
    """A number for every part of every input of a batch: scores θ or expected parts μ."""

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each input begins in the flat arrays; one more entry than inputs."""
        ...

    def __add__(self, other: Self) -> Self:
        """Shifted scores."""
        ...

    def __sub__(self, other: Self) -> Self:
        """Difference of expected parts."""
        ...

    def times(self, factor: float) -> Self:
        """Every number times a factor."""
        ...

    def divide(self, temperature: float) -> Self:
        """Scores of the tempered distribution p^(1/T)."""
        ...

    def dot(self, other: Self) -> float:
        """Sum over all parts of the batch of the products; 0 times -inf is 0."""
        ...

    def mix(self, other: Self, weight: float) -> Self:
        """weight * these + (1 - weight) * the others: for linear models the scores of the mixed weights."""
        ...


class RuledParts(Parts, Protocol):
    """Parts that rules can speak about."""

    def __len__(self) -> int:
        """Number of inputs."""
        ...

    def sequences(self, first: int, last: int) -> Self:
        """The parts of inputs first to last - 1."""
        ...

    def takes(self, charge: Charge) -> bool:
        """Whether the charge is a sum over parts, so that scores can have it in them."""
        ...

    def charge(self, charges: Sequence[Charge]) -> Self:
        """Scores less charges that they take."""
        ...

    def lattice(self) -> SegmentLattice:
        """The scores as labelled segments, for search and integer programs."""
        ...


P = TypeVar("P", bound=Parts)
T = TypeVar("T")


@dataclass(frozen=True)
class Best:
    """The best output of every input.

    outputs: as the structure writes them; scores: (inputs,) float64; exact: whether no output can score higher; bound:
    (inputs,) what no output scores above, None where these are the scores themselves.
    """

    outputs: Outputs
    scores: NDArray[np.float64]
    exact: bool = True
    bound: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Ranked:
    """The k best outputs of every input, best first.

    outputs: with values (k, slots), -1 where an input has fewer than k outputs; scores: (inputs, k), -inf there; exact:
    (inputs,) bool, whether they are proved to be the best, None where all are; bound: as in `Best`.
    """

    outputs: Outputs
    scores: NDArray[np.float64]
    exact: NDArray[np.bool_] | None = None
    bound: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Marginals(Generic[P]):
    """log_partition: (sequences,) float64; parts: the expected parts μ under p(y) ∝ exp(θ·y)."""

    log_partition: NDArray[np.float64]
    parts: P


@dataclass(frozen=True)
class Tangents(Generic[P]):
    """Derivatives along δ, for scores θ + ε δ at ε = 0.

    log_partition: (sequences,) as it is; slope: (sequences,) its derivative E[δ·y]; parts: that of μ, Cov(y, δ·y).
    """

    log_partition: NDArray[np.float64]
    slope: NDArray[np.float64]
    parts: P


@dataclass(frozen=True)
class Loss(Generic[P]):
    """How wrong outputs are beside what is known: Δ(y) = cost·y + constant.

    cost: a number for every part; constant: (inputs,).
    """

    cost: P
    constant: NDArray[np.float64]


class Structure(Protocol[P]):
    """A family of outputs over parts of type `P`."""

    @property
    def n_jobs(self) -> int:
        """Threads that share the inputs of a batch."""
        ...

    def argmax(self, scores: P, *, seed: int | None = None) -> Best:
        """The best output of each input; with a seed, ties are broken at random."""
        ...

    def kbest(self, scores: P, k: int) -> Ranked:
        """The k best outputs of each input."""
        ...

    def marginals(self, scores: P) -> Marginals[P]:
        """Log-partition and expected parts."""
        ...

    def entropy(self, scores: P) -> NDArray[np.float64]:
        """Entropy of each input's distribution over outputs, in nats."""
        ...

    def sample(self, scores: P, draws: int, *, seed: int) -> NDArray[np.int32]:
        """Independent exact draws: (draws, tokens)."""
        ...

    def token_labels(self, outputs: NDArray[np.int32]) -> NDArray[np.int32]:
        """The label number of every token, from outputs as the structure writes them; -1 stays."""
        ...

    def score(self, scores: P, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """θ·y of the given outputs: (sequences,)."""
        ...

    def indicator(self, scores: P, labels: NDArray[np.int32]) -> P:
        """The given outputs as 0/1 parts of the batch that `scores` are for."""
        ...

    def loss(self, scores: P, known: Any) -> Loss[P]:
        """Returns the loss Δ of outputs of the batch that `scores` are for; known: what is known about them."""
        ...

    def for_rows(self) -> "Structure[Any]":
        """Returns the structure whose parts rows about expectations see: documents are sequences of one token."""
        ...

    def support(self, scores: P, index: int) -> Iterator[tuple[int, ...]]:
        """Every output of one (tiny) input that has a finite score: the oracle of the tests."""
        ...


def in_blocks(outputs: Iterable[T]) -> Iterator[list[T]]:
    """Returns outputs some at a time, so that they can be scored together; few at first, for whoever needs but one."""
    size, rest = 8, iter(outputs)
    while block := list(islice(rest, size)):
        yield block
        size = min(2 * size, 1024)
