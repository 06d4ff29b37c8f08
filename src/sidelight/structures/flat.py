"""Structures whose parts are one flat array: what they share, so that a new one is little more than its two calls.

The parts of a batch are one array with offsets, and every input has a shape: a few whole numbers, such as how many
words it has, from which the structure knows what its parts stand for. A structure answers for one input at a time; the
calls for batches, the loss among them, are here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count
from typing import Any

import numpy as np

from ..errors import DataError, NotSupported
from ..kernels.compiling import Flags, Floats, Ints, Longs
from ..kernels.parallel import map_each
from ..supervision import Signal
from .chain import mixed, product_of, require_feasible
from .known import Outputs, places_of
from .polytope import LinearRows
from .program_rows import Points
from .protocol import Best, Loss, Marginals, Ranked, Tangents, in_blocks

# What a structure has to know of an input beside its scores; whole numbers, but for structures with rows of their own.
Shape = tuple[Any, ...]
# Where several of this many best outputs tie, one of them is drawn.
_TIES = 8
# Steps of central differences, as a share of the largest score.
_STEP = 1e-5


@dataclass(frozen=True)
class FlatParts:
    """One number for every part of a batch: scores θ, or expected parts μ.

    Parameters
    ----------
    values : array of float64, shape (parts,)
        The numbers of all parts, one input after the other.
    offsets : array of int64, shape (inputs + 1,)
        Where the parts of each input begin.
    shapes : array of int64 or object, shape (inputs, numbers)
        The shape of each input: a few whole numbers that tell the structure what its parts stand for.
    """

    values: Floats
    offsets: Longs
    shapes: Longs

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def sequences(self, first: int, last: int) -> "FlatParts":
        """Returns the parts of inputs first to last - 1."""
        offsets = self.offsets[first : last + 1]
        return FlatParts(self.values[offsets[0] : offsets[-1]], offsets - offsets[0], self.shapes[first:last])

    def take(self, which: Longs) -> "FlatParts":
        """Returns the parts of some inputs, in this order."""
        places, offsets = places_of(self.offsets, which)
        return FlatParts(self.values[places], offsets, self.shapes[which])

    def of(self, index: int) -> tuple[Floats, Shape]:
        """Returns the numbers and the shape of one input."""
        shape = tuple(self.shapes[index].tolist())
        return self.values[self.offsets[index] : self.offsets[index + 1]], shape

    def __add__(self, shift: "FlatParts") -> "FlatParts":
        """θ + δ."""
        return replace(self, values=self.values + shift.values)

    def __sub__(self, other: "FlatParts") -> "FlatParts":
        """μ - μ'."""
        return replace(self, values=self.values - other.values)

    def without_tables(self) -> "FlatParts":
        """There are no tables that stand for the whole batch."""
        return self

    def changed(self, change: Callable[[Floats], Floats]) -> "FlatParts":
        """Returns parts with every number changed by a function."""
        return replace(self, values=change(self.values))

    def joined(self, some: Sequence["FlatParts"], weights: Sequence[float]) -> "FlatParts":
        """Returns several batches as one, each counted as often as its weight says."""
        values = np.concatenate([weight * one.values for one, weight in zip(some, weights, strict=True)])
        edges = np.cumsum([0, *(int(one.offsets[-1]) for one in some)])
        offsets = np.concatenate([[0], *(one.offsets[1:] + edge for one, edge in zip(some, edges, strict=False))])
        return FlatParts(values, offsets.astype(np.int64), np.concatenate([one.shapes for one in some]))

    def apart(self) -> "FlatParts":
        """Inputs share no parts, so these are the parts themselves."""
        return self

    def weighed(self, counts: Floats) -> "FlatParts":
        """Returns the parts of each input times what it counts."""
        return replace(self, values=np.repeat(counts, np.diff(self.offsets)) * self.values)

    def times(self, factor: float) -> "FlatParts":
        """Returns every number times a factor."""
        return replace(self, values=factor * self.values)

    def divide(self, temperature: float) -> "FlatParts":
        """θ / T: the scores of p^(1/T)."""
        if not temperature > 0:
            raise DataError(f"a temperature must be positive, got {temperature}; use argmax for the limit at zero")
        return replace(self, values=self.values / temperature)

    def for_rows(self) -> "FlatParts":
        """Rows are about parts, so these are the parts themselves."""
        return self

    def restrict(self, allowed: Flags) -> "FlatParts":
        """-inf on every part that is not allowed; allowed: (parts,)."""
        return replace(self, values=np.where(allowed, self.values, -np.inf))

    def mix(self, other: "FlatParts", weight: float) -> "FlatParts":
        """weight * these + (1 - weight) * the others."""
        return replace(self, values=mixed(self.values, other.values, weight))

    def dot(self, other: "FlatParts") -> float:
        """θ·μ over the whole batch; a forbidden part with no mass counts zero."""
        return float(product_of(self.values, other.values).sum())

    def sums(self) -> Floats:
        """Returns the sum over the parts of each input: (inputs,)."""
        owner = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        return np.bincount(owner, weights=self.values, minlength=len(self)).astype(float)


def alone(scores: Floats, shape: Shape) -> FlatParts:
    """Returns the scores of one input, whose shape is whole numbers, as those of a batch."""
    return FlatParts(np.asarray(scores, np.float64), np.array([0, len(scores)]), np.array([shape], np.int64))


def require_count(k: Any) -> None:
    """Raises `DataError` unless k outputs can be asked for."""
    if not isinstance(k, int | np.integer) or k < 1:
        raise DataError(f"k-best needs a whole number k >= 1, got {k!r}")


@dataclass(frozen=True)
class KnownOutputs:
    """Outputs that are known as a whole, in part, or not at all.

    kinds: one per input; outputs: as the structure writes them, -1 where an output is not known as a whole; structure:
    which parts they have; allowed: for each output of which some is known, the parts that it may have, else None.
    """

    kinds: tuple[Signal, ...]
    outputs: Outputs
    structure: "FlatStructure"
    allowed: tuple[Flags | None, ...] = ()

    @property
    def full(self) -> bool:
        """Whether every output is known."""
        return all(kind is Signal.FULL for kind in self.kinds)

    def __len__(self) -> int:
        return len(self.kinds)

    def inputs(self, first: int, last: int) -> "KnownOutputs":
        """Returns what is known about inputs first to last - 1."""
        return KnownOutputs(
            self.kinds[first:last], self.outputs.inputs(first, last), self.structure, self.allowed[first:last]
        )

    def take(self, which: Longs) -> "KnownOutputs":
        """Returns what is known about some inputs, in this order."""
        kinds, allowed = tuple(self.kinds[i] for i in which), tuple(self.allowed[i] for i in which if self.allowed)
        return KnownOutputs(kinds, self.outputs.take(which), self.structure, allowed)

    def all_known(self) -> "KnownOutputs":
        """Returns the same where every output is known."""
        return self

    def restrict(self, scores: FlatParts) -> FlatParts:
        """Returns the scores with -inf on every part that a known output lacks.

        Where an output may be contained in another one, smaller outputs than the known one stay possible, unless the
        structure says how they are excluded (`FlatStructure.only`).
        """
        allowed = np.ones(len(scores.values), bool)
        for i, kind in enumerate(self.kinds):
            at = slice(scores.offsets[i], scores.offsets[i + 1])
            if kind is Signal.FULL:
                one = scores.sequences(i, i + 1)
                allowed[at] = self.structure.indicator(one, self.outputs.inputs(i, i + 1).values).values > 0
            elif kind is Signal.PARTIAL:
                allowed[at] = self.allowed[i]
        return self.structure.only(scores.restrict(allowed), self)


@dataclass(frozen=True)
class FlatStructure(ABC):
    """Base of structures over flat parts; a new one gives the abstract methods, each for one input.

    The loss counts the parts that an output has and the known one lacks, and the reverse.

    Parameters
    ----------
    n_jobs : int, default=-1
        Threads that share the inputs of a batch; -1 is every core.
    """

    n_jobs: int = -1

    @abstractmethod
    def slots(self, shape: Shape) -> int:
        """Returns how many whole numbers an output is written with."""

    @abstractmethod
    def parts_of(self, shape: Shape, output: Ints) -> Longs:
        """Returns the numbers of the parts that an output has."""

    @abstractmethod
    def best(self, scores: Floats, shape: Shape, k: int) -> list[Ints]:
        """Returns the k best outputs of finite score, best first, or as many as there are."""

    @abstractmethod
    def expected(self, scores: Floats, shape: Shape) -> tuple[float, Floats]:
        """Returns the log-partition and the expected parts."""

    @abstractmethod
    def all_outputs(self, shape: Shape) -> Iterator[Ints]:
        """Returns every output of a tiny input: the oracle of the tests."""

    def rivals(self, shape: Shape, part: int) -> Longs:
        """Returns the parts that must be forbidden so that only outputs with this part are left."""
        raise NotSupported(f"{type(self).__name__} does not say how a part is forced; give it a method `rivals`")

    def only(self, scores: FlatParts, known: KnownOutputs) -> FlatParts:
        """Returns restricted scores under which outputs that are known as a whole are the only ones.

        Scores without forbidden parts leave one output where none contains another, so nothing is changed here.
        """
        return scores

    def best_under_rows(
        self, scores: Floats, shape: Shape, rows: LinearRows, penalty: Floats, k: int, seconds: float
    ) -> Points | None:
        """Returns the k best outputs of one input under more rows, each unit beyond which costs its penalty.

        None, which is usual: the structure has no way of its own, and its argmax is searched with (`branching`).
        """
        return None

    def by_partition(self, scores: Floats, shape: Shape, k: int) -> list[Ints]:
        """Returns the k best outputs by calls for the best one alone, `best(..., 1)`.

        The outputs other than the best one are parted by the first of its parts that they lack (Lawler 1972). Each
        share has its best output, and the best of these is the next one. No output may be contained in another one.
        """
        found: list[Ints] = []
        queue: list[tuple[float, int, Ints, Floats, frozenset[int]]] = []
        number = count()

        def offer(share: Floats, fixed: frozenset[int]) -> None:
            for output in self.best(share, shape, 1):
                score = float(scores[self.parts_of(shape, output)].sum())
                heappush(queue, (-score, next(number), output, share, fixed))

        offer(scores, frozenset())
        while queue and len(found) < k:
            _, _, output, share, fixed = heappop(queue)
            found.append(output)
            if len(found) == k:
                break
            left = share.copy()
            for part in self.parts_of(shape, output).tolist():
                if part in fixed:
                    continue
                without = left.copy()
                without[part] = -np.inf
                offer(without, fixed)
                left[self.rivals(shape, part)] = -np.inf
                fixed = fixed | {part}
        return found

    # For batches -----------------------------------------------------------------------------------------------------

    def output_offsets(self, scores: FlatParts) -> Longs:
        """Returns where the output of each input begins."""
        sizes = [self.slots(tuple(shape)) for shape in scores.shapes.tolist()]
        return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)

    def kbest(self, scores: FlatParts, k: int) -> Ranked:
        """The k best outputs of each input."""
        require_count(k)
        offsets = self.output_offsets(scores)
        values, ranked = np.full((k, offsets[-1]), -1, np.int32), np.full((len(scores), k), -np.inf)

        def run(i: int) -> None:
            theta, shape = scores.of(i)
            for rank, output in enumerate(self.best(theta, shape, int(k))):
                values[rank, offsets[i] : offsets[i + 1]] = output
                ranked[i, rank] = theta[self.parts_of(shape, output)].sum()

        map_each(run, list(range(len(scores))), self.n_jobs)
        require_feasible(ranked[:, 0])
        return Ranked(Outputs(values, offsets), ranked)

    def argmax(self, scores: FlatParts, *, seed: int | None = None) -> Best:
        """The best output of each input; with a seed, ties among the first few are broken at random."""
        ranked = self.kbest(scores, 1 if seed is None else _TIES)
        values, offsets = ranked.outputs.values[0].copy(), ranked.outputs.offsets
        if seed is not None:
            rng, tied = np.random.default_rng(seed), ranked.scores >= ranked.scores[:, :1]
            for i, rank in enumerate(map(rng.choice, map(np.flatnonzero, tied))):
                values[offsets[i] : offsets[i + 1]] = ranked.outputs.values[rank, offsets[i] : offsets[i + 1]]
        best, bound = ranked.scores[:, 0], ranked.bound
        return Best(Outputs(values, offsets), best, bound is None or bool((best >= bound).all()), bound)

    def marginals(self, scores: FlatParts) -> Marginals[FlatParts]:
        """Log-partition and expected parts."""
        log_partition, mass = np.empty(len(scores)), np.empty_like(scores.values)

        def run(i: int) -> None:
            at = slice(scores.offsets[i], scores.offsets[i + 1])
            log_partition[i], mass[at] = self.expected(*scores.of(i))

        map_each(run, list(range(len(scores))), self.n_jobs)
        require_feasible(log_partition)
        return Marginals(log_partition, replace(scores, values=mass))

    def entropy(self, scores: FlatParts) -> Floats:
        """H = log Z - θ·μ of each input."""
        marginals = self.marginals(scores)
        mass = replace(scores, values=product_of(scores.values, marginals.parts.values))
        entropy: Floats = np.maximum(marginals.log_partition - mass.sums(), 0.0)
        return entropy

    def tangents(self, scores: FlatParts, direction: FlatParts) -> Tangents[FlatParts]:
        """Returns derivatives of log-partition and expected parts for scores θ + ε δ, by central differences."""
        delta = np.where(np.isfinite(scores.values), direction.values, 0.0)
        size = _STEP * max(1.0, float(np.abs(scores.values[np.isfinite(scores.values)]).max(initial=0.0)))
        step = size / max(float(np.abs(delta).max(initial=0.0)), np.finfo(float).tiny)
        here = self.marginals(scores)
        if not np.abs(delta).max(initial=0.0) > 0:
            return Tangents(here.log_partition, np.zeros(len(scores)), here.parts.times(0.0))
        ahead, behind = (
            self.marginals(replace(scores, values=scores.values + sign * step * delta)).parts for sign in (1, -1)
        )
        slope = replace(scores, values=product_of(delta, here.parts.values)).sums()
        return Tangents(here.log_partition, slope, (ahead - behind).times(0.5 / step))

    def sample(self, scores: FlatParts, draws: int, *, seed: int) -> Ints:
        """Not offered, unless a structure has its own."""
        raise NotSupported(f"{type(self).__name__} draws no samples")

    def token_labels(self, outputs: Ints) -> Ints:
        """Outputs are their own decisions."""
        return outputs

    def for_rows(self) -> "FlatStructure":
        """Rows are about parts, so that is the structure itself."""
        return self

    def indicator(self, scores: FlatParts, values: Ints) -> FlatParts:
        """The given outputs as 0/1 parts."""
        offsets, on = self.output_offsets(scores), np.zeros_like(scores.values)
        for i in range(len(scores)):
            _, shape = scores.of(i)
            on[scores.offsets[i] + self.parts_of(shape, values[offsets[i] : offsets[i + 1]])] = 1.0
        return replace(scores, values=on)

    def score(self, scores: FlatParts, values: Ints) -> Floats:
        """θ·y of the given outputs."""
        on = self.indicator(scores, values)
        return replace(on, values=product_of(scores.values, on.values)).sums()

    def loss(self, scores: FlatParts, known: KnownOutputs) -> Loss[FlatParts]:
        """Returns the loss Δ(y) = Σ_p |y_p - g_p| beside the known outputs g."""
        gold = self.indicator(scores, known.outputs.values)
        return Loss(replace(gold, values=1.0 - 2.0 * gold.values), gold.sums())

    def support(self, scores: FlatParts, index: int) -> Iterator[tuple[int, ...]]:
        """Every output of one (tiny) input that has a finite score."""
        _, shape = scores.of(index)
        for outputs in in_blocks(self.all_outputs(shape)):
            values = self.score(scores.take(np.full(len(outputs), index)), np.concatenate(outputs))
            for output, value in zip(outputs, values, strict=True):
                if value > -np.inf:
                    yield tuple(output.tolist())
