"""Fitting to expected parts: what the M step of EM and its relatives is made of.

A generative learner counts (Eq. 15 of Ganchev et al. 2010), then the parts are expected anew. For a discriminative one,
the gradient of the expected log-loss (Eq. 30 there) at the best expected parts is that of the objective with these
parts minimised out (Danskin's theorem), so L-BFGS goes down that objective and expects anew at every point.
`PoolWeights` has what each kind of sequence counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class PoolWeights:
    """What the sequences of the pool count beside a labelled one.

    partial: how many of them, the first ones, have partial labels; observed: what the likelihood of the partial labels
    of one of these counts; unlabelled: what an unlabelled one counts; rules: what the divergence of each counts.
    """

    partial: int
    observed: float
    unlabelled: float
    rules: float

    @classmethod
    def of(cls, partial: int, weight: float, strength: float) -> "PoolWeights":
        """Partial labels are observed and count as full labels do, or as unlabelled sequences where these count more.

        So no likelihood counts less than its divergence, without which an M step may raise the objective.
        """
        return cls(partial, max(1.0, weight), weight, weight * strength)

    def groups(self, sequences: int) -> list[tuple[int, int, float]]:
        """The ranges of sequences of one weight (first, last + 1, weight), of a pool of so many."""
        both = ((0, self.partial, self.observed), (self.partial, sequences, self.unlabelled))
        return [(first, last, weight) for first, last, weight in both if first < last]


@dataclass(frozen=True)
class Expected:
    """What an E step finds for the pool: parts to fit, those of the model itself, and what both cost together.

    All of them count what their sequences count.
    """

    parts: Any
    model: Any
    cost: float


class Fitting(Protocol):
    """A base learner between its updates; `generative`: whether its scores are log p(x, y), not only log p(y|x)."""

    learner: Any
    generative: bool
    weights: PoolWeights

    def scores(self, first: int = 0, last: int | None = None) -> Any:
        """Returns the scores of the pool, or of its sequences first to last - 1."""
        ...

    def update(self, parts: Any) -> None:
        """Fit to the labelled sequences and the pool's expected parts, which count what their sequences count."""
        ...

    def alternate(self, expect: Callable[[], Expected], rounds: int, after: Callable[[Expected], bool]) -> None:
        """Make E and M steps, as `rounds.MStep` has it."""
        ...

    def loss(self) -> float:
        """Returns what the labelled sequences and the prior add to the objective: -log p(labelled) - log prior."""
        ...


@dataclass(frozen=True)
class ToFit:
    """What a base learner is fitted to: labelled sequences X and y, and a pool of others.

    known: what is known of the pool's outputs, those with partial labels first; labelled_first: whether the first model
    is that of the labelled sequences, not one that knows nothing; initial: a fitted model to begin with instead.
    """

    X: Sequence[Any]
    y: Sequence[Any]
    pool: Sequence[Any]
    known: Sequence[Any]
    classes: list[str]
    weights: PoolWeights
    seed: int
    n_jobs: int
    labelled_first: bool = True
    initial: Any = None


def joined(some: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
    """Expected parts of several batches as those of one, each counted as often as its weight says."""
    return some[-1].joined(some, weights or [1.0] * len(some))
