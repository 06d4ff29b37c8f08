"""Label chains of order one and two: every token has a label, and neighbouring labels interact.

    s(x, y) = start[y_1] + Σ_t unary[t, y_t] + Σ_t pair[type_t, y_{t-1}, y_t]
              + Σ_t triple[y_{t-2}, y_{t-1}, y_t] + end[y_n]

The triple scores make the chain one of order two.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, Infeasible, NotSupported
from ..kernels.compiling import Floats, Ints, Longs
from .known import KnownLabels, Outputs
from .lattice import SegmentLattice
from .protocol import Best, Charge, Loss, Marginals, Ranked, Tangents, in_blocks

if TYPE_CHECKING:
    from ..kernels.tangents import Direction

# Sums of scores beyond this lose digits that matter: what is common to all outputs is taken out first (`settled`).
LARGE = 1e8
# What probabilities may miss of their sum.
EXACT = 1e-6
# An output that scores this much more than any other has all the mass, up to rounding.
AHEAD = 40.0
# The least share of a sequence where sequences are weighed.
_LEAST = 1e-300
# Entries of one table of label pairs or triples at most; they take 2 GiB.
_MOST_ENTRIES = 2**28


def require_tables(labels: int, order: int) -> None:
    """Raises `DataError` where one table of label pairs, or of triples for order two, would be too large."""
    if labels ** (order + 1) > _MOST_ENTRIES:
        most = int(_MOST_ENTRIES ** (1 / (order + 1)) + 1e-9)
        what, instead = ("triples", "order=1, or ") if order == 2 else ("pairs", "")
        raise DataError(
            f"a table of {what} of {labels:,} labels takes {8 * labels ** (order + 1) / 1e9:,.1f} GB of memory, and "
            f"several are needed; use {instead}at most {most:,} labels"
        )


@dataclass(frozen=True)
class ChainParts:
    """One number per part of a batch of chains: scores θ, or expected parts μ.

    As expected parts, `pair`, `start`, `end` and `triple` are summed over the batch.

    Parameters
    ----------
    offsets : array of int64, shape (sequences + 1,)
        Where the tokens of each sequence begin.
    unary : array, shape (tokens, labels)
        Numbers of the labels at each token.
    pair : array, shape (types, labels, labels)
        Numbers of the labels of neighbours, one table for each type of position.
    pair_type : array of int32, shape (tokens,)
        The table of `pair` that is used at position t is `pair_type[t]`; its value at the first token of a sequence is
        not read.
    start : array, shape (labels,)
        Numbers of the first label of a sequence.
    end : array, shape (labels,)
        Numbers of the last label of a sequence.
    triple : array of shape (labels, labels, labels) or None, default=None
        Numbers of three labels in a row, which make the chain one of order two; None for order one.
    """

    offsets: Longs
    unary: Floats
    pair: Floats
    pair_type: Ints
    start: Floats
    end: Floats
    triple: Floats | None = None

    @classmethod
    def of(
        cls,
        offsets: NDArray[np.integer],
        unary: Floats,
        pair: Floats,
        *,
        pair_type: Ints | None = None,
        start: Floats | None = None,
        end: Floats | None = None,
        triple: Floats | None = None,
    ) -> "ChainParts":
        """Parts from arrays, checked; what is left out is zero, and `pair` may be one (labels, labels) table."""
        unary = np.ascontiguousarray(unary, np.float64)
        tokens, labels = unary.shape
        pair = np.ascontiguousarray(pair, np.float64)
        if pair.shape[-2:] != (labels, labels):
            raise DataError(
                f"pair scores must have the shape ({labels}, {labels}) for {labels} labels, got {pair.shape}"
            )
        pair = pair.reshape(-1, labels, labels)
        types = np.zeros(tokens, np.int32) if pair_type is None else np.asarray(pair_type, np.int32)
        parts = cls(
            np.asarray(offsets, np.int64),
            unary,
            pair,
            types,
            np.zeros(labels) if start is None else np.asarray(start, np.float64),
            np.zeros(labels) if end is None else np.asarray(end, np.float64),
            None if triple is None else np.ascontiguousarray(triple, np.float64),
        )
        parts._check()
        return parts

    def _check(self) -> None:
        tokens, L = self.unary.shape
        for name, shape in (("start", (L,)), ("end", (L,)), ("triple", (L, L, L))):
            table = getattr(self, name)
            if table is not None and table.shape != shape:
                raise DataError(f"{name} scores must have the shape {shape} for {L} labels, got {table.shape}")
        if len(self.offsets) == 0:
            raise DataError("offsets must begin with 0")
        if self.offsets[0] != 0 or self.offsets[-1] != tokens or (np.diff(self.offsets) < 1).any():
            raise DataError(f"offsets must rise from 0 to the {tokens} tokens by at least one token a sequence")
        if len(self.pair_type) != tokens or (
            tokens and not 0 <= self.pair_type.min() <= self.pair_type.max() < len(self.pair)
        ):
            raise DataError(f"pair_type needs one of 0..{len(self.pair) - 1} for each of the {tokens} tokens")
        for name in ("unary", "pair", "start", "end", "triple"):
            table = getattr(self, name)
            if table is not None and not (table < np.inf).all():
                raise DataError(f"{name} scores must be numbers below infinity (-inf forbids a part)")

    @property
    def labels(self) -> int:
        """Number of labels."""
        return int(self.unary.shape[1])

    @property
    def order(self) -> int:
        """How many earlier labels a label looks at."""
        return 1 if self.triple is None else 2

    @property
    def large(self) -> bool:
        """Whether scores are so large that what others take off them may be lost."""
        tables = (self.unary, self.pair, self.start, self.end, *(() if self.triple is None else (self.triple,)))
        return any(float(table.max(initial=0.0)) > LARGE for table in tables)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def sequences(self, first: int, last: int) -> "ChainParts":
        """The parts of sequences first to last - 1; tables are shared, not copied."""
        offsets = self.offsets[first : last + 1]
        tokens = slice(offsets[0], offsets[-1])
        return replace(self, offsets=offsets - offsets[0], unary=self.unary[tokens], pair_type=self.pair_type[tokens])

    def repeated(self, times: int) -> "ChainParts":
        """The same batch several times over; tables are shared, not copied."""
        starts = np.arange(times) * self.offsets[-1]
        return replace(
            self,
            offsets=np.append(0, (starts[:, None] + self.offsets[1:]).ravel()),
            unary=np.tile(self.unary, (times, 1)),
            pair_type=np.tile(self.pair_type, times),
        )

    def __add__(self, shift: "ChainParts") -> "ChainParts":
        """θ + δ, with both on the same batch and pair types, or δ with one table of pairs for all positions.

        A shift without triples leaves them as they are.
        """
        return self._combine(shift, 1.0)

    def __sub__(self, other: "ChainParts") -> "ChainParts":
        """μ - μ', with both on the same batch and pair types, and finite."""
        return self._combine(other, -1.0)

    def _combine(self, other: "ChainParts", sign: float) -> "ChainParts":
        if len(other.pair) != len(self.pair):
            other = other._with_types(self)
        if self.pair.shape != other.pair.shape or not np.array_equal(self.pair_type, other.pair_type):
            raise DataError("parts can be combined only on the same batch with the same pair types")
        triple = self.triple
        if other.triple is not None:
            triple = sign * other.triple if triple is None else triple + sign * other.triple
        return replace(
            self,
            unary=self.unary + other.unary if sign > 0 else self.unary - other.unary,
            pair=self.pair + sign * other.pair,
            start=self.start + sign * other.start,
            end=self.end + sign * other.end,
            triple=triple,
        )

    def times(self, factor: float) -> "ChainParts":
        """Returns every number times a factor."""
        return replace(
            self,
            unary=factor * self.unary,
            pair=factor * self.pair,
            start=factor * self.start,
            end=factor * self.end,
            triple=None if self.triple is None else factor * self.triple,
        )

    def divide(self, temperature: float) -> "ChainParts":
        """θ / T: the scores of p^(1/T)."""
        if not temperature > 0:
            raise DataError(f"a temperature must be positive, got {temperature}; use argmax for the limit at zero")
        return replace(
            self,
            unary=self.unary / temperature,
            pair=self.pair / temperature,
            start=self.start / temperature,
            end=self.end / temperature,
            triple=None if self.triple is None else self.triple / temperature,
        )

    def restrict(self, allowed: NDArray[np.bool_]) -> "ChainParts":
        """-inf on every (token, label) that is not allowed; allowed: (tokens, labels)."""
        return replace(self, unary=np.where(allowed, self.unary, -np.inf))

    def as_chain(self) -> "ChainParts":
        """Returns these scores: they are those of chains."""
        return self

    def without_tables(self) -> "ChainParts":
        """Returns the parts with nothing in the tables that stand for the whole batch."""
        nothing = {name: 0.0 * getattr(self, name) for name in ("pair", "start", "end")}
        return replace(self, **nothing, triple=None if self.triple is None else 0.0 * self.triple)

    def changed(self, change: Callable[[Floats], Floats]) -> "ChainParts":
        """Returns parts with every table changed by a function."""
        return replace(
            self,
            unary=change(self.unary),
            pair=change(self.pair),
            start=change(self.start),
            end=change(self.end),
            triple=None if self.triple is None else change(self.triple),
        )

    def for_rows(self) -> "ChainParts":
        """Returns the parts as rows about expectations see them."""
        return self

    @staticmethod
    def joined(some: "Sequence[ChainParts]", weights: Sequence[float]) -> "ChainParts":
        """Returns expected parts of several batches as those of one, each counted as often as its weight says."""
        if len({len(one.pair) for one in some}) > 1:
            raise DataError("parts can be joined only with the same pair types")
        pairs = list(zip(weights, some, strict=True))
        triples = [one.triple for one in some if one.triple is not None]
        return replace(
            some[-1],
            offsets=joined_offsets([one.offsets for one in some]),
            unary=np.concatenate([w * one.unary for w, one in pairs]),
            pair=np.sum([w * one.pair for w, one in pairs], axis=0),
            pair_type=np.concatenate([one.pair_type for one in some]),
            start=np.sum([w * one.start for w, one in pairs], axis=0),
            end=np.sum([w * one.end for w, one in pairs], axis=0),
            triple=np.sum([w * table for w, table in zip(weights, triples, strict=True)], axis=0) if triples else None,
        )

    def apart(self) -> "ChainParts | None":
        """Returns the same scores with a pair table for each sequence, so that expected parts can be `weighed`.

        None where there are label triples, or several tables already.
        """
        if self.triple is not None or len(self.pair) != 1:
            return None
        owner = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.offsets))
        return replace(self, pair=np.repeat(self.pair, len(self), axis=0), pair_type=owner)

    def weighed(self, counts: Floats) -> "ChainParts":
        """Returns expected parts under scores that stand `apart`, those of each sequence times what it counts."""
        unary = np.repeat(counts, np.diff(self.offsets))[:, None] * self.unary
        start, end = unary[self.offsets[:-1]].sum(axis=0), unary[self.offsets[1:] - 1].sum(axis=0)
        return replace(self, unary=unary, pair=counts[:, None, None] * self.pair, start=start, end=end)

    def of_labels(self, unary: Floats) -> "ChainParts":
        """Returns parts of the same batch in which only single labels count; unary: (tokens, labels)."""
        start, pair, types = (
            np.zeros(self.labels),
            np.zeros((1, self.labels, self.labels)),
            np.zeros_like(self.pair_type),
        )
        return replace(self, unary=unary, pair=pair, pair_type=types, start=start, end=start, triple=None)

    def dot(self, other: "ChainParts") -> float:
        """θ·μ over the whole batch; a forbidden part with no mass counts zero."""
        total = 0.0
        for name in ("unary", "pair", "start", "end", "triple"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine is not None and theirs is not None:
                total += float(product_of(mine, theirs).sum())
        return total

    def mix(self, other: "ChainParts", weight: float) -> "ChainParts":
        """weight * these + (1 - weight) * the others, on the same batch.

        Where one has the same pair table at all positions, it takes the pair types of the other.
        """
        if len(self.pair) != len(other.pair):
            return self._with_types(other).mix(other._with_types(self), weight)
        triple = self.triple
        if triple is not None or other.triple is not None:
            nothing = np.zeros((self.labels,) * 3)
            triple = mixed(
                nothing if triple is None else triple, nothing if other.triple is None else other.triple, weight
            )
        return replace(
            self,
            unary=mixed(self.unary, other.unary, weight),
            pair=mixed(self.pair, other.pair, weight),
            start=mixed(self.start, other.start, weight),
            end=mixed(self.end, other.end, weight),
            triple=triple,
        )

    def _with_types(self, other: "ChainParts") -> "ChainParts":
        """These scores with the pair types of others, where they have one table for all positions."""
        if len(self.pair) != 1:
            return self
        return replace(self, pair=np.repeat(self.pair, len(other.pair), axis=0), pair_type=other.pair_type)

    def takes(self, charge: Charge) -> bool:
        """A chain has a part for every step."""
        return True

    def charge(self, charges: Sequence[Charge]) -> "ChainParts":
        """Scores less charges; positions of the same kinds share a pair table."""
        unary, end = self.unary.copy(), self.end.copy()
        heads = self.offsets[:-1]
        inner = np.ones(len(unary), bool)
        inner[heads] = False
        kinds, shifts = [self.pair_type], []
        for one in charges:
            unary[heads] -= one.step[one.kind[heads], -1]
            if (one.step[:, :-1] == one.step[:, :1]).all():
                unary[inner] -= one.step[one.kind[inner], 0]
            else:
                kinds.append(one.kind)
                shifts.append(one.step[:, :-1])
            end -= one.last
        if not shifts:
            return replace(self, unary=unary, end=end)
        combined, types = np.unique(np.stack(kinds, axis=1), axis=0, return_inverse=True)
        pair = self.pair[combined[:, 0]]
        for column, shift in enumerate(shifts, start=1):
            pair = pair - shift[combined[:, column]]
        return replace(self, unary=unary, end=end, pair=pair, pair_type=types.ravel().astype(np.int32))

    def settled(self) -> tuple["ChainParts", Floats]:
        """Scores less the largest of each token and of each table, and by how much that lowers all outputs of each
        sequence: the same distributions from smaller numbers.
        """
        heads = self.offsets[:-1]
        most = _tops(self.unary, (1,))
        pair, start, end = _tops(self.pair, (1, 2)), _tops(self.start, (0,)), _tops(self.end, (0,))
        drop = most[:, 0] + pair[self.pair_type, 0, 0]
        drop[heads] += start[0] + end[0] - pair[self.pair_type[heads], 0, 0]
        triple = self.triple
        if triple is not None:
            top = _tops(triple, (0, 1, 2))
            triple = triple - top
            drop += top.ravel()
            for first in (heads, heads[np.diff(self.offsets) > 1] + 1):  # these have no triple
                drop[first] -= top.ravel()
        parts = replace(
            self, unary=self.unary - most, pair=self.pair - pair, start=self.start - start, end=self.end - end,
            triple=triple,
        )  # fmt: skip
        with np.errstate(over="ignore"):
            return parts, np.add.reduceat(drop, heads) if len(heads) else np.empty(0)

    def lattice(self) -> SegmentLattice:
        """The scores as segments of one token."""
        if self.triple is not None:
            raise NotSupported("rules that are not local need a chain of order 1")
        opens, closes = np.zeros_like(self.unary), np.zeros_like(self.unary)
        opens[self.offsets[:-1]], closes[self.offsets[1:] - 1] = self.start, self.end
        return SegmentLattice(
            self.offsets, self.unary, opens, closes, self.pair, self.pair_type, np.zeros((1, self.labels)), marked=False
        )  # fmt: skip

    def arcs(self) -> Floats:
        """Arc scores in the kernels' layout: (2, types, B, labels, labels), see `kernels.chain`."""
        if self.triple is None:
            return np.stack((self.pair, self.pair))[:, :, None]
        second = np.full((len(self.pair), self.labels, self.labels, self.labels), -np.inf)
        second[:, :, 0] = self.pair
        later = self.triple.transpose(1, 0, 2) + self.pair[:, :, None, :]
        return np.stack((second, later))


def _tops(table: Floats, axes: tuple[int, ...]) -> Floats:
    """The largest entry along these axes, which are kept; 0 where all are -inf."""
    top = table.max(axis=axes, keepdims=True)
    return np.where(top > -np.inf, top, 0.0)


def product_of(scores: Floats, mass: Floats) -> Floats:
    """scores * mass with -inf * 0 = 0: what forbidden parts without mass add to an expected score."""
    with np.errstate(invalid="ignore"):
        out: Floats = np.where(mass == 0, 0.0, scores * mass)
    return out


def joined_offsets(some: Sequence[Longs]) -> Longs:
    """Returns the offsets of several batches, one after the other."""
    starts = np.cumsum([0, *(int(one[-1]) for one in some)])
    return np.concatenate([[0], *(one[1:] + a for one, a in zip(some, starts, strict=False))]).astype(np.int64)


def mixed(first: Floats, second: Floats, weight: float) -> Floats:
    """weight * first + (1 - weight) * second; a weight of zero leaves out even -inf."""
    if weight in (0.0, 1.0):
        return first if weight == 1.0 else second
    return weight * first + (1 - weight) * second


@dataclass(frozen=True)
class Chain:
    """Label chains.

    The order of a chain follows from its scores.

    Parameters
    ----------
    n_jobs : int, default=-1
        Threads that share the sequences of a batch; -1 is every core.
    """

    n_jobs: int = -1

    def for_rows(self) -> "Chain":
        """Returns the structure as rows about expectations see it."""
        return self

    def argmax(self, scores: ChainParts, *, seed: int | None = None) -> Best:
        """Viterbi. Raises `Infeasible` for a sequence without an output of finite score."""
        from ..kernels import chain, parallel

        if seed is not None and seed < 0:
            raise DataError(f"a seed is a whole number of at least 0, got {seed}")
        labels = np.empty(len(scores.unary), np.int32)
        best = np.empty(len(scores))
        tables = _kernel_arguments(scores)
        few = np.zeros(len(scores), bool)
        if scores.unary.min(initial=0.0) == -np.inf:
            chain.mark_few(scores.offsets, scores.unary, scores.labels ** (scores.order - 1), few)

        def run(lo: int, hi: int) -> None:
            longest = np.diff(scores.offsets[lo : hi + 1]).max(initial=0)
            delta = np.empty((longest, scores.labels**scores.order))
            stream = np.empty(0 if seed is None else 1, np.uint64)
            given = (*tables, few, seed or 0, stream, delta)
            if not few[lo:hi].all():
                chain.best_paths(lo, hi, *given, labels, best)
            if few[lo:hi].any():
                possible, count = np.empty((longest, scores.labels), np.int32), np.empty(longest, np.int64)
                chain.best_paths_of_few(lo, hi, *given, possible, count, np.zeros(1, np.int32), labels, best)

        parallel.map_shards(run, scores.offsets, self.n_jobs)
        require_feasible(best)
        if not np.abs(best).max(initial=0.0) > LARGE:
            return Best(Outputs(labels, scores.offsets), best)
        settled, drop = scores.settled()
        tables = _kernel_arguments(settled)
        parallel.map_shards(run, scores.offsets, self.n_jobs)
        return Best(Outputs(labels, scores.offsets), best + drop)

    def kbest(self, scores: ChainParts, k: int) -> Ranked:
        """k-best Viterbi."""
        from ..kernels import chain, parallel

        if not isinstance(k, int | np.integer) or k < 1:
            raise DataError(f"k-best needs a whole number k >= 1, got {k!r}")
        labels = np.empty((k, len(scores.unary)), np.int32)
        best = np.empty((len(scores), k))
        tables = _kernel_arguments(scores)

        def run(lo: int, hi: int) -> None:
            chain.k_best_paths(lo, hi, *tables, k, labels, best)

        parallel.map_shards(run, scores.offsets, self.n_jobs)
        require_feasible(best[:, 0])
        if not np.abs(best[:, 0]).max(initial=0.0) > LARGE:
            return Ranked(Outputs(labels, scores.offsets), best)
        settled, drop = scores.settled()
        tables = _kernel_arguments(settled)
        parallel.map_shards(run, scores.offsets, self.n_jobs)
        return Ranked(Outputs(labels, scores.offsets), best + drop[:, None])

    def marginals(self, scores: ChainParts) -> Marginals[ChainParts]:
        """Forward-backward; the pair and triple marginals are summed over the positions of each type."""
        return self._marginals(scores, np.empty((0, 0, 0, 0)))

    def arc_marginals(self, scores: ChainParts) -> Floats:
        """Pair marginals of every position, or triple marginals for order two.

        (tokens, labels, labels) with p(y_{t-1} = a, y_t = b) at [t, a, b], or (tokens, labels, labels, labels) with
        p(y_{t-2} = a, y_{t-1} = b, y_t = c) at [t, a, b, c]. Positions without enough predecessors are zero.
        """
        arcs = self._arc_marginals(scores)
        if scores.order == 1:
            return arcs[:, 0]
        arcs[scores.offsets[:-1][np.diff(scores.offsets) > 1] + 1] = 0
        return arcs.transpose(0, 2, 1, 3)

    def _arc_marginals(self, scores: ChainParts) -> Floats:
        width = 1 if scores.order == 1 else scores.labels
        position = np.zeros((len(scores.unary), width, scores.labels, scores.labels))
        self._marginals(scores, position)
        return position

    def _marginals(self, scores: ChainParts, position: Floats) -> Marginals[ChainParts]:
        """Marginals; `DataError` where scores are so large, or so far apart, that rounding would spoil them."""
        found = self._plain_marginals(scores, position)
        if not scores.large and np.abs(found.log_partition).max(initial=0.0) <= LARGE:
            return found
        settled, drop = scores.settled()
        position[...] = 0.0
        found = self._plain_marginals(settled, position)
        self._require_sure(settled, found.log_partition)
        return replace(found, log_partition=found.log_partition + drop)

    def _require_sure(self, settled: ChainParts, log_partition: Floats) -> None:
        """Raise `DataError` where rounding of settled scores, none of which is above zero, may spoil probabilities.

        Where one output is so far ahead of all others that it has all the mass, rounding does not matter.
        """
        rounding = np.finfo(float).eps * np.abs(log_partition)
        if (rounding > EXACT).any():
            best, second = self.kbest(settled, 2).scores.T
            ahead = best - second > AHEAD + 64 * rounding
            require_exact(np.where(ahead, 0.0, rounding))

    def _plain_marginals(self, scores: ChainParts, position: Floats) -> Marginals[ChainParts]:
        from ..kernels import chain, parallel

        offsets, unary, arcs, types, start, end = _kernel_arguments(scores)
        log_partition = np.empty(len(scores))
        gamma = np.empty_like(unary)
        e_arcs, top, fits = _exponentials(arcs, chain.RANGE)

        trusted = np.zeros(len(scores), bool)

        def run(lo: int, hi: int) -> Floats:
            sums = np.zeros_like(arcs)
            if fits:
                chain.forward_backward(
                    lo, hi, offsets, unary, e_arcs, top, types, start, end, trusted, log_partition, gamma, sums,
                    position,
                )  # fmt: skip
                sums *= e_arcs
            if not trusted[lo:hi].all():
                chain.log_forward_backwards(
                    lo, hi, offsets, unary, arcs, types, start, end, trusted, log_partition, gamma, sums, position
                )  # fmt: skip
            return sums

        sums = sum(parallel.map_shards(run, offsets, self.n_jobs), np.zeros_like(arcs))
        require_feasible(log_partition)
        return Marginals(log_partition, _expected(scores, gamma, sums))

    def group_marginals(self, scores: ChainParts, groups: Longs) -> Marginals[ChainParts]:
        """Marginals where a sequence of a group and its labels are drawn together, p(i, y) ∝ exp θ_i·y.

        groups: where each group begins among the sequences, with one more entry than groups. Gives the log-partition
        log Σ_i Z_i of each group and the expected parts; forbidden labels cost nothing.
        """
        from ..kernels import parallel
        from ..kernels.groups import group_marginals

        if len(groups) == 0 or groups[0] != 0 or groups[-1] != len(scores) or (np.diff(groups) < 1).any():
            raise DataError(f"groups must rise from 0 to the {len(scores)} sequences by at least one each")
        log_partition, gamma = np.empty(len(groups) - 1), np.empty_like(scores.unary)
        triple = np.empty((0, 0, 0)) if scores.triple is None else scores.triple
        (e_pair, pair_top, pair_fits), (e_triple, triple_top, triple_fits) = map(_shifted, (scores.pair, triple))
        top, fits = np.array([pair_top, triple_top]), pair_fits and triple_fits

        def run(lo: int, hi: int) -> tuple[Floats, Floats]:
            return group_marginals(
                lo, hi, groups, scores.offsets, scores.unary, scores.pair, e_pair, scores.pair_type, triple, e_triple,
                top, fits, scores.start, scores.end, log_partition, gamma,
            )  # fmt: skip

        sums = parallel.map_shards(run, scores.offsets[groups], self.n_jobs)
        require_feasible(log_partition)
        heads, tails = scores.offsets[:-1], scores.offsets[1:] - 1
        shares = gamma.sum(axis=1)  # of each token, the chance of its sequence
        whole = np.add.reduceat(shares[heads], groups[:-1]) if len(heads) else np.empty(0)
        with np.errstate(invalid="ignore"):
            require_exact(np.abs(shares - np.repeat(shares[heads], np.diff(scores.offsets))))
            require_exact(np.abs(whole - 1.0))
        parts = replace(
            scores,
            unary=gamma,
            pair=sum((pair for pair, _ in sums), np.zeros_like(scores.pair)),
            start=gamma[heads].sum(axis=0),
            end=gamma[tails].sum(axis=0),
            triple=None if scores.triple is None else sum((t for _, t in sums), np.zeros_like(scores.triple)),
        )
        return Marginals(log_partition, parts)

    def weighed_parts(self, scores: ChainParts, counts: Floats, log_partition: Floats) -> ChainParts:
        """Expected parts where each sequence counts as much as it is given, which is not below zero.

        That is one group, in which log c_i - log Z_i is added to the scores of each sequence.
        """
        total, unary = float(counts.sum()), scores.unary.copy()
        if not total > 0:  # all counts are zero
            return self.indicator(scores, np.zeros(len(unary), np.int32)).times(0.0)
        unary[scores.offsets[:-1]] += (np.log(np.maximum(counts / total, _LEAST)) - log_partition)[:, None]
        drawn = self.group_marginals(replace(scores, unary=unary), np.array([0, len(scores)], np.int64))
        return drawn.parts.times(total)

    def tangents(self, scores: ChainParts, direction: "ChainParts | Direction") -> Tangents[ChainParts]:
        """How marginals of θ + ε δ move at ε = 0: E[δ·y] for each sequence, and Cov(y, δ·y) in place of μ.

        δ is on the same batch, with pair types of its own; it is finite, and not read where θ is -inf. What rules make
        of it comes in the kernels' layout (`Rows.direction`).
        """
        found = self._tangents(scores, direction)
        if not scores.large and np.abs(found.log_partition).max(initial=0.0) <= LARGE:
            return found
        settled, drop = scores.settled()
        found = self._tangents(settled, direction)
        self._require_sure(settled, found.log_partition)
        return replace(found, log_partition=found.log_partition + drop)

    def _tangents(self, scores: ChainParts, direction: "ChainParts | Direction") -> Tangents[ChainParts]:
        from ..kernels import chain, parallel, tangents

        theta = scores.arcs()
        delta = _direction(scores, direction) if isinstance(direction, ChainParts) else direction
        e_arcs, top, fits = _exponentials(theta, chain.RANGE)
        at = tangents.Scores(scores.unary, theta, e_arcs, top, fits, scores.pair_type, scores.start, scores.end)
        log_partition, slope = np.empty(len(scores)), np.empty(len(scores))
        gamma = np.empty_like(scores.unary)

        def run(lo: int, hi: int) -> tuple[Floats, Floats]:
            return tangents.tangents(lo, hi, scores.offsets, at, delta, log_partition, slope, gamma)

        sums = np.zeros_like(theta)
        for direct, factors in parallel.map_shards(run, scores.offsets, self.n_jobs):
            sums += direct + factors * e_arcs
        require_feasible(log_partition)
        return Tangents(log_partition, slope, _expected(scores, gamma, sums))

    def entropy(self, scores: ChainParts) -> Floats:
        """H = log Z - θ·μ for each sequence; `DataError` where scores are so far apart that the difference is lost."""
        settled, _ = scores.settled()
        moved = self.tangents(settled, settled)
        require_exact(np.finfo(float).eps * np.abs(moved.log_partition))
        return np.maximum(moved.log_partition - moved.slope, 0.0)

    def sample(self, scores: ChainParts, draws: int, *, seed: int) -> Ints:
        """Forward filtering, backward sampling: (draws, tokens)."""
        from ..kernels import chain, parallel

        self.argmax(scores)  # raises Infeasible
        labels = np.empty((draws, len(scores.unary)), np.int32)
        tables = _kernel_arguments(scores)
        parallel.map_shards(
            lambda lo, hi: chain.sample_paths(lo, hi, *tables, draws, seed, labels), scores.offsets, self.n_jobs
        )
        return labels

    def token_labels(self, outputs: Ints) -> Ints:
        """Outputs are labels."""
        return outputs

    def score(self, scores: ChainParts, labels: Ints) -> Floats:
        """θ·y of one output per sequence."""
        heads, tails = scores.offsets[:-1], scores.offsets[1:] - 1
        value = scores.unary[np.arange(len(labels)), labels].copy()
        second = np.ones(len(labels), bool)
        second[heads] = False
        at = np.flatnonzero(second)
        value[at] += scores.pair[scores.pair_type[at], labels[at - 1], labels[at]]
        if scores.triple is not None:
            second[heads[tails > heads] + 1] = False
            at = np.flatnonzero(second)
            value[at] += scores.triple[labels[at - 2], labels[at - 1], labels[at]]
        value[heads] += scores.start[labels[heads]]
        value[tails] += scores.end[labels[tails]]
        total: Floats = np.add.reduceat(value, heads) if len(heads) else np.empty(0)
        return total

    def indicator(self, scores: ChainParts, labels: Ints) -> ChainParts:
        """One output per sequence as 0/1 parts, tables summed over the batch."""
        if len(scores.pair) == 1:
            return indicator(scores.offsets, labels, scores.labels, scores.order)
        gold = indicator(scores.offsets, labels, scores.labels, scores.order)
        follows = np.ones(len(labels), bool)
        follows[scores.offsets[:-1]] = False
        at = np.flatnonzero(follows)
        pair = np.zeros_like(scores.pair)
        np.add.at(pair, (scores.pair_type[at], labels[at - 1], labels[at]), 1.0)
        return replace(gold, pair=pair, pair_type=scores.pair_type)

    def loss(self, scores: ChainParts, known: KnownLabels) -> Loss[ChainParts]:
        """Returns the Hamming loss: one for every label that contradicts what is known."""
        return Loss(scores.of_labels(known.wrong(scores.labels).astype(float)), np.zeros(len(scores)))

    def support(self, scores: ChainParts, index: int) -> Iterator[tuple[int, ...]]:
        """Every output of sequence `index` with a finite score."""
        one = scores.sequences(index, index + 1)
        for block in in_blocks(product(range(scores.labels), repeat=len(one.unary))):
            values = self.score(one.repeated(len(block)), np.array(block, np.int32).ravel())
            yield from (labels for labels, value in zip(block, values, strict=True) if value > -np.inf)


def indicator(offsets: Longs, labels: Ints, count: int, order: int) -> ChainParts:
    """One output per sequence as 0/1 parts, tables summed over the batch."""
    L = count
    unary = np.zeros((len(labels), L))
    unary[np.arange(len(labels)), labels] = 1.0
    pair, start, end, triple = count_tables(offsets, labels, L, order)
    types = np.zeros(len(labels), np.int32)
    return ChainParts(offsets, unary, pair[None], types, start, end, triple if order == 2 else None)


def count_tables(offsets: Longs, labels: Ints, L: int, order: int) -> tuple[Floats, Floats, Floats, Floats]:
    """How often each label pair, start, end and triple occurs."""
    heads, tails = offsets[:-1], offsets[1:] - 1
    codes = labels.astype(np.int64)
    follows = np.ones(len(labels), bool)
    follows[heads] = False
    at = np.flatnonzero(follows)
    pair = np.bincount(codes[at - 1] * L + codes[at], minlength=L * L).reshape(L, L).astype(float)
    follows[heads[tails > heads] + 1] = False
    at = np.flatnonzero(follows)
    triple = np.zeros((0, 0, 0))
    if order == 2:
        cells = (codes[at - 2] * L + codes[at - 1]) * L + codes[at]
        triple = np.bincount(cells, minlength=L**3).reshape(L, L, L).astype(float)
    start = np.bincount(codes[heads], minlength=L).astype(float)
    end = np.bincount(codes[tails], minlength=L).astype(float)
    return pair, start, end, triple


def _kernel_arguments(scores: ChainParts) -> tuple[Longs, Floats, Floats, Ints, Floats, Floats]:
    return scores.offsets, scores.unary, scores.arcs(), scores.pair_type, scores.start, scores.end


def _exponentials(arcs: Floats, widest: float) -> tuple[Floats, Floats, bool]:
    """exp(arcs - top), the largest finite score `top` of each (level, type), and whether no span exceeds `widest`."""
    flat = arcs.reshape(*arcs.shape[:2], -1)
    top = flat.max(axis=2)
    top[top == -np.inf] = 0.0
    low = np.where(flat > -np.inf, flat, np.inf).min(axis=2)
    return np.exp(arcs - top[:, :, None, None, None]), top, bool((top - low <= widest).all())


def _shifted(table: Floats) -> tuple[Floats, float, bool]:
    """exp(table - top), its largest finite score `top`, and whether the finite scores span few enough for that."""
    from ..kernels.chain import RANGE

    finite = table[table > -np.inf]
    top, low = float(finite.max(initial=-np.inf)), float(finite.min(initial=np.inf))
    top = top if len(finite) else 0.0
    return np.exp(table - top), top, top - low <= RANGE


def _direction(scores: ChainParts, direction: ChainParts) -> "Direction":
    """δ in the kernels' layout, zero where θ is -inf."""
    from ..kernels.tangents import Direction, Own
    from ..kernels.tilting import Entries

    if not np.array_equal(scores.offsets, direction.offsets) or scores.labels != direction.labels:
        raise DataError("a direction must be on the same batch as the scores")
    if scores.triple is None and direction.triple is not None:
        raise DataError("a direction with triples needs scores with triples")
    triple = np.zeros_like(scores.triple) if scores.triple is not None else None
    arcs = replace(direction, triple=triple if direction.triple is None else direction.triple).arcs()
    arcs[arcs == -np.inf] = 0.0
    unary, start, end = (
        np.where(getattr(scores, name) > -np.inf, getattr(direction, name), 0.0) for name in ("unary", "start", "end")
    )
    if not all(np.isfinite(table).all() for table in (unary, arcs, start, end)):
        raise DataError("a direction must be finite wherever the scores are")
    code, nothing = np.zeros(len(unary), np.int32), np.empty(0, np.int32)
    pointer = np.zeros(arcs.shape[1] + 1, np.int64)
    none = Entries(pointer, nothing, nothing, np.empty(0))
    own = Own(code, none, none, np.empty((len(scores), 0)))
    shift = np.zeros((1, scores.labels))
    return Direction(1.0, unary, code, shift, arcs, direction.pair_type, start, end, own)


def _expected(scores: ChainParts, gamma: Floats, sums: Floats) -> ChainParts:
    """Arc sums in the kernels' layout as expected parts."""
    heads, tails = scores.offsets[:-1], scores.offsets[1:] - 1
    both = sums.sum(axis=0)
    return replace(
        scores,
        unary=gamma,
        pair=both[:, 0] if scores.triple is None else both.sum(axis=2),
        start=gamma[heads].sum(axis=0),
        end=gamma[tails].sum(axis=0),
        triple=None if scores.triple is None else sums[1].sum(axis=0).transpose(1, 0, 2),
    )


def require_exact(miss: Floats) -> None:
    """Raise `DataError` where probabilities, or their logarithms, miss by too much what they are, or are no numbers."""
    if not miss.max(initial=0.0) <= EXACT:
        raise DataError(
            "scores are too large or too far apart for exact probabilities; scale them down, and forbid parts by -inf, "
            "not by large negative scores"
        )


def require_feasible(best: Floats) -> None:
    """Raise `Infeasible` naming the first sequence whose best score is -inf; `DataError` where it is no number."""
    if np.isfinite(best).all():
        return
    large = np.flatnonzero(~(best < np.inf))
    if len(large):
        raise DataError(
            f"sequence {large[0]} has scores that are no numbers, or add up to more than numbers can be (about 1e308); "
            "scale them down"
        )
    bad = np.flatnonzero(best == -np.inf)
    raise Infeasible(
        f"has no output of finite score ({len(bad)} such in the batch): every output has a part that is "
        "impossible by the model or excluded by what is known about it",
        int(bad[0]),
    )
