"""One decision among labels for every input: classification as the smallest structure.

s(x, y) = unary[x, y]
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..kernels.compiling import Floats, Ints, Longs
from .chain import Chain, ChainParts, mixed, product_of, require_feasible
from .known import KnownLabels, Outputs
from .lattice import SegmentLattice
from .protocol import Best, Charge, Loss, Marginals, Ranked


@dataclass(frozen=True)
class ChoiceParts:
    """One number for every input and label: scores θ, or expected parts μ.

    Parameters
    ----------
    unary : array of float64, shape (inputs, labels)
        Numbers of the labels of each input.
    """

    unary: Floats

    @classmethod
    def of(cls, unary: Floats) -> "ChoiceParts":
        """Parts from an array, checked."""
        unary = np.ascontiguousarray(unary, np.float64)
        if unary.ndim != 2 or not (unary < np.inf).all():
            raise DataError("unary scores must be an array (inputs, labels) of numbers below infinity")
        return cls(unary)

    @property
    def offsets(self) -> Longs:
        """Every input is one decision."""
        return np.arange(len(self.unary) + 1)

    @property
    def labels(self) -> int:
        """Number of labels."""
        return int(self.unary.shape[1])

    def __len__(self) -> int:
        return len(self.unary)

    def sequences(self, first: int, last: int) -> "ChoiceParts":
        """The parts of inputs first to last - 1."""
        return ChoiceParts(self.unary[first:last])

    def __add__(self, shift: "ChoiceParts") -> "ChoiceParts":
        """θ + δ."""
        return ChoiceParts(self.unary + shift.unary)

    def __sub__(self, other: "ChoiceParts") -> "ChoiceParts":
        """μ - μ'."""
        return ChoiceParts(self.unary - other.unary)

    def apart(self) -> "ChoiceParts":
        """Inputs share no parts, so these are the parts themselves."""
        return self

    def weighed(self, counts: Floats) -> "ChoiceParts":
        """Returns the parts of each input times what it counts."""
        return ChoiceParts(counts[:, None] * self.unary)

    def times(self, factor: float) -> "ChoiceParts":
        """Returns every number times a factor."""
        return ChoiceParts(factor * self.unary)

    def divide(self, temperature: float) -> "ChoiceParts":
        """θ / T: the scores of p^(1/T)."""
        if not temperature > 0:
            raise DataError(f"a temperature must be positive, got {temperature}; use argmax for the limit at zero")
        return ChoiceParts(self.unary / temperature)

    def restrict(self, allowed: NDArray[np.bool_]) -> "ChoiceParts":
        """-inf on every label that is not allowed; allowed: (inputs, labels)."""
        return replace(self, unary=np.where(allowed, self.unary, -np.inf))

    def as_chain(self) -> ChainParts:
        """Returns the same scores as those of chains of one token."""
        L, types = self.labels, np.zeros(len(self.unary), np.int32)
        return ChainParts(self.offsets, self.unary, np.zeros((1, L, L)), types, np.zeros(L), np.zeros(L))

    def for_rows(self) -> ChainParts:
        """Returns the scores as rows about expectations see them: those of chains of one token."""
        return self.as_chain()

    def takes(self, charge: Charge) -> bool:
        """Whatever is charged for a single label is a part."""
        return True

    def charge(self, charges: Sequence[Charge]) -> "ChoiceParts":
        """Scores less charges: every input is a sequence of one token, the first and the last one."""
        unary = self.unary.copy()
        for one in charges:
            unary -= one.step[one.kind, -1] + one.last
        return ChoiceParts(unary)

    def lattice(self) -> SegmentLattice:
        """The scores as one segment of one token for each input."""
        nothing, L = np.zeros_like(self.unary), self.labels
        types = np.zeros(len(self.unary), np.int32)
        pair, length = np.zeros((1, L, L)), np.zeros((1, L))
        return SegmentLattice(self.offsets, self.unary, nothing, nothing, pair, types, length, marked=False)

    def mix(self, other: "ChoiceParts", weight: float) -> "ChoiceParts":
        """weight * these + (1 - weight) * the others."""
        return ChoiceParts(mixed(self.unary, other.unary, weight))

    def dot(self, other: "ChoiceParts") -> float:
        """θ·μ over the whole batch; a forbidden part with no mass counts zero."""
        return float(product_of(self.unary, other.unary).sum())


@dataclass(frozen=True)
class Choice:
    """One label for every input.

    Parameters
    ----------
    n_jobs : int, default=-1
        Threads that share the inputs where scores are worked out; -1 is every core.
    """

    n_jobs: int = -1

    def for_rows(self) -> Chain:
        """Returns the structure as rows about expectations see it: chains of one token."""
        return Chain(self.n_jobs)

    def argmax(self, scores: ChoiceParts, *, seed: int | None = None) -> Best:
        """The best label. Raises `Infeasible` for an input without a label of finite score."""
        if seed is not None and seed < 0:
            raise DataError(f"a seed is a whole number of at least 0, got {seed}")
        best = scores.unary.max(axis=1, initial=-np.inf)
        require_feasible(best)
        tied = scores.unary == best[:, None]
        order = tied if seed is None else tied * (1.0 - np.random.default_rng(seed).random(tied.shape))
        return Best(Outputs(order.argmax(axis=1).astype(np.int32), scores.offsets), best)

    def kbest(self, scores: ChoiceParts, k: int) -> Ranked:
        """The labels in the order of their scores."""
        if not isinstance(k, int | np.integer) or k < 1:
            raise DataError(f"k-best needs a whole number k >= 1, got {k!r}")
        order = np.argsort(-scores.unary, axis=1, kind="stable")[:, :k]
        values = np.take_along_axis(scores.unary, order, axis=1)
        require_feasible(values[:, 0])
        labels = np.full((k, len(scores)), -1, np.int32)
        ranked = np.full((len(scores), k), -np.inf)
        ranked[:, : order.shape[1]] = values
        labels[: order.shape[1]] = np.where(values > -np.inf, order, -1).T
        return Ranked(Outputs(labels, scores.offsets), ranked)

    def marginals(self, scores: ChoiceParts) -> Marginals[ChoiceParts]:
        """Softmax."""
        top = scores.unary.max(axis=1, initial=-np.inf)
        require_feasible(top)
        mass = np.exp(scores.unary - top[:, None])
        total = mass.sum(axis=1)
        return Marginals(top + np.log(total), ChoiceParts(mass / total[:, None]))

    def entropy(self, scores: ChoiceParts) -> Floats:
        """H = log Z - θ·μ of each input."""
        top = scores.unary.max(axis=1, initial=-np.inf)
        require_feasible(top)
        settled = ChoiceParts(scores.unary - top[:, None])
        marginals = self.marginals(settled)
        expected = product_of(settled.unary, marginals.parts.unary).sum(axis=1)
        entropy: Floats = np.maximum(marginals.log_partition - expected, 0.0)
        return entropy

    def sample(self, scores: ChoiceParts, draws: int, *, seed: int) -> Ints:
        """Independent draws: (draws, inputs)."""
        rising = self.marginals(scores).parts.unary.cumsum(axis=1)
        rising /= rising[:, -1:]
        where = np.random.default_rng(seed).random((draws, len(scores)))
        out = np.empty((draws, len(scores)), np.int32)
        for d in range(draws):
            out[d] = (rising <= where[d][:, None]).sum(axis=1)
        return out

    def score(self, scores: ChoiceParts, labels: Ints) -> Floats:
        """θ·y of one label per input."""
        value: Floats = scores.unary[np.arange(len(labels)), labels]
        return value

    def token_labels(self, outputs: Ints) -> Ints:
        """Outputs are labels."""
        return outputs

    def indicator(self, scores: ChoiceParts, labels: Ints) -> ChoiceParts:
        """One label per input as 0/1 parts."""
        unary = np.zeros_like(scores.unary)
        unary[np.arange(len(labels)), labels] = 1.0
        return ChoiceParts(unary)

    def loss(self, scores: ChoiceParts, known: KnownLabels) -> Loss[ChoiceParts]:
        """Returns the zero-one loss: one for a label that contradicts what is known."""
        return Loss(ChoiceParts(known.wrong(scores.labels).astype(float)), np.zeros(len(scores)))

    def support(self, scores: ChoiceParts, index: int) -> Iterator[tuple[int, ...]]:
        """Every label of input `index` with a finite score."""
        for label in np.flatnonzero(scores.unary[index] > -np.inf):
            yield (int(label),)
