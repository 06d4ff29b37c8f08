"""Segmentations: the tokens are cut into labelled segments, and neighbouring segments interact (semi-Markov).

    s(x, y) = Σ segments (b..e, c) [ opens[b, c] + Σ_{t=b..e} unary[t, c] + closes[e, c] + length[c, e - b + 1] ]
              + Σ neighbours pair[c', c] + start[first label] + end[last label]

This is the segment model of Sarawagi & Cohen 2004 with scores kept factored, so that memory grows with tokens and
not with segments. An output is one code per token, 2 * label + 1 where a segment begins and 2 * label elsewhere.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..kernels.compiling import Floats, Ints, Longs
from .chain import EXACT, LARGE, joined_offsets, mixed, product_of, require_exact, require_feasible
from .known import KnownLabels, Outputs
from .lattice import SegmentLattice
from .protocol import Best, Charge, Loss, Marginals, Ranked, in_blocks

_TABLES = ("unary", "opens", "closes", "pair", "length", "start", "end")


def labels_of(outputs: NDArray[np.integer]) -> Ints:
    """The label of every token of outputs."""
    return np.asarray(outputs, np.int32) >> 1


def begins_of(outputs: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether a segment begins at each token of outputs."""
    begins: NDArray[np.bool_] = (np.asarray(outputs) & 1).astype(bool)
    return begins


def runs(offsets: Longs, labels: Ints) -> Ints:
    """The output whose segments are the runs of equal labels; offsets: (sequences + 1,), labels: (tokens,)."""
    begins = np.ones(len(labels), bool)
    begins[1:] = labels[1:] != labels[:-1]
    begins[offsets[:-1]] = True
    return (2 * labels + begins).astype(np.int32)


@dataclass(frozen=True)
class Segments:
    """Outputs as lists of segments.

    first: (segments,) flat position of the first token; lengths, labels: (segments,); heads: (sequences,) number of
    each sequence's first segment.
    """

    first: Longs
    lengths: Longs
    labels: Ints
    heads: Longs

    @classmethod
    def of(cls, offsets: Longs, outputs: NDArray[np.integer]) -> "Segments":
        """Read outputs; a label that changes within a segment, or a sequence that begins inside one, is an error."""
        labels, begins = labels_of(outputs), begins_of(outputs)
        inside = np.flatnonzero(~begins)
        if not begins[offsets[:-1]].all() or (labels[inside] != labels[inside - 1]).any():
            raise DataError("an output is 2 * label + 1 at the first token of a segment and 2 * label at its others")
        first = np.flatnonzero(begins)
        return cls(
            first,
            np.diff(np.append(first, len(labels))),
            labels[first],
            np.searchsorted(first, offsets[:-1]).astype(np.int64),
        )

    @property
    def last(self) -> Longs:
        """Flat position of every segment's last token."""
        return self.first + self.lengths - 1

    @property
    def tails(self) -> Longs:
        """Number of each sequence's last segment."""
        return np.append(self.heads[1:], len(self.first)) - 1

    @property
    def followers(self) -> Longs:
        """Numbers of the segments that have one before them."""
        return np.setdiff1d(np.arange(len(self.first)), self.heads, assume_unique=True)


@dataclass(frozen=True)
class SegmentParts:
    """One number per part of a batch of segmentations: scores θ, or expected parts μ.

    As expected parts, `pair`, `length`, `start` and `end` are summed over the batch.

    Parameters
    ----------
    offsets : array of int64, shape (sequences + 1,)
        Where the tokens of each sequence begin.
    unary : array, shape (tokens, labels)
        Numbers of a token in a segment of each label.
    opens : array, shape (tokens, labels)
        Numbers of a token as the first one of a segment.
    closes : array, shape (tokens, labels)
        Numbers of a token as the last one of a segment.
    pair : array, shape (labels, labels)
        Numbers of the labels of neighbouring segments, -inf on the diagonal where neighbours must differ.
    length : array, shape (labels, longest)
        Numbers of the lengths of segments, at [c, m - 1] for a segment of label c with m tokens. Longer segments are no
        outputs, and -inf forbids a length.
    start : array, shape (labels,)
        Numbers of the label of the first segment of a sequence.
    end : array, shape (labels,)
        Numbers of the label of the last segment of a sequence.
    """

    offsets: Longs
    unary: Floats
    opens: Floats
    closes: Floats
    pair: Floats
    length: Floats
    start: Floats
    end: Floats

    @classmethod
    def of(
        cls,
        offsets: NDArray[np.integer],
        unary: Floats,
        pair: Floats,
        length: Floats,
        *,
        opens: Floats | None = None,
        closes: Floats | None = None,
        start: Floats | None = None,
        end: Floats | None = None,
    ) -> "SegmentParts":
        """Parts from arrays, checked; what is left out is zero."""
        unary = np.ascontiguousarray(unary, np.float64)
        tokens, labels = unary.shape

        def table(given: Floats | None, *shape: int) -> Floats:
            return np.zeros(shape) if given is None else np.ascontiguousarray(given, np.float64)

        parts = cls(
            np.asarray(offsets, np.int64),
            unary,
            table(opens, tokens, labels),
            table(closes, tokens, labels),
            table(pair),
            table(length),
            table(start, labels),
            table(end, labels),
        )
        parts._check()
        return parts

    def _check(self) -> None:
        tokens, labels = self.unary.shape
        if self.offsets[0] != 0 or self.offsets[-1] != tokens or (np.diff(self.offsets) < 1).any():
            raise DataError(f"offsets must rise from 0 to the {tokens} tokens by at least one token a sequence")
        if self.length.ndim != 2 or len(self.length) != labels or self.length.shape[1] < 1:
            raise DataError(f"length scores need one row for each of the {labels} labels and at least one column")
        if self.pair.shape != (labels, labels):
            raise DataError(f"pair scores need the shape {(labels, labels)}, got {self.pair.shape}")
        for name in ("opens", "closes"):
            if getattr(self, name).shape != self.unary.shape:
                raise DataError(f"{name} needs the shape {self.unary.shape} of the unary scores")
        for name in _TABLES:
            if not (getattr(self, name) < np.inf).all():
                raise DataError(f"{name} scores must be numbers below infinity (-inf forbids a part)")

    @property
    def labels(self) -> int:
        """Number of labels."""
        return int(self.unary.shape[1])

    @property
    def longest(self) -> int:
        """Most tokens of a segment."""
        return int(self.length.shape[1])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def sequences(self, first: int, last: int) -> "SegmentParts":
        """The parts of sequences first to last - 1; tables are shared, not copied."""
        offsets = self.offsets[first : last + 1]
        at = slice(offsets[0], offsets[-1])
        return replace(
            self,
            offsets=offsets - offsets[0],
            unary=self.unary[at],
            opens=self.opens[at],
            closes=self.closes[at],
        )

    def take(self, which: Longs) -> "SegmentParts":
        """Returns the parts of some sequences; tables are shared, not copied."""
        lengths = np.diff(self.offsets)[which]
        at, offsets = ranges(self.offsets[which], lengths), np.concatenate(([0], np.cumsum(lengths)))
        return replace(self, offsets=offsets, unary=self.unary[at], opens=self.opens[at], closes=self.closes[at])

    def __add__(self, shift: "SegmentParts") -> "SegmentParts":
        """θ + δ, with both on the same batch and of one longest length."""
        return replace(self, **{name: getattr(self, name) + getattr(shift, name) for name in _TABLES})

    def __sub__(self, other: "SegmentParts") -> "SegmentParts":
        """μ - μ', with both on the same batch and finite."""
        return replace(self, **{name: getattr(self, name) - getattr(other, name) for name in _TABLES})

    def times(self, factor: float) -> "SegmentParts":
        """Returns every number times a factor."""
        return replace(self, **{name: factor * getattr(self, name) for name in _TABLES})

    def divide(self, temperature: float) -> "SegmentParts":
        """θ / T: the scores of p^(1/T)."""
        if not temperature > 0:
            raise DataError(f"a temperature must be positive, got {temperature}; use argmax for the limit at zero")
        return replace(self, **{name: getattr(self, name) / temperature for name in _TABLES})

    def restrict(self, allowed: NDArray[np.bool_]) -> "SegmentParts":
        """-inf on every (token, label) that is not allowed; allowed: (tokens, labels)."""
        return replace(self, unary=np.where(allowed, self.unary, -np.inf))

    def changed(self, change: Callable[[Floats], Floats]) -> "SegmentParts":
        """Returns parts with every table changed by a function."""
        tables: dict[str, Any] = {name: change(getattr(self, name)) for name in _TABLES}
        return replace(self, **tables)

    def for_rows(self) -> "SegmentParts":
        """Returns the parts as rows about expectations see them."""
        return self

    @staticmethod
    def joined(some: "Sequence[SegmentParts]", weights: Sequence[float]) -> "SegmentParts":
        """Returns expected parts of several batches as those of one, each counted as often as its weight says."""
        tables: dict[str, Any] = {}
        for name in _TABLES:
            counted = [w * getattr(one, name) for w, one in zip(weights, some, strict=True)]
            tables[name] = np.concatenate(counted) if name in ("unary", "opens", "closes") else np.sum(counted, axis=0)
        return replace(some[-1], offsets=joined_offsets([one.offsets for one in some]), **tables)

    def of_labels(self, unary: Floats) -> "SegmentParts":
        """Returns parts of the same batch in which only the labels of tokens count; unary: (tokens, labels)."""
        nothing = {name: np.zeros_like(getattr(self, name)) for name in _TABLES if name != "unary"}
        return replace(self, unary=unary, **nothing)

    def dot(self, other: "SegmentParts") -> float:
        """θ·μ over the whole batch; a forbidden part with no mass counts zero."""
        return sum(float(product_of(getattr(self, name), getattr(other, name)).sum()) for name in _TABLES)

    def mix(self, other: "SegmentParts", weight: float) -> "SegmentParts":
        """weight * these + (1 - weight) * the others.

        Segments that are longer than one of them allows score there as its longest ones do: a model of other texts
        may never have seen them.
        """
        if weight in (0.0, 1.0):
            return self if weight == 1.0 else other
        most = max(self.longest, other.longest)
        one, two = (replace(parts, length=parts.length[:, np.minimum(np.arange(most), parts.longest - 1)])
                    for parts in (self, other))  # fmt: skip
        tables: dict[str, Any] = {n: mixed(getattr(one, n), getattr(two, n), weight) for n in _TABLES}
        return replace(self, **tables)

    def takes(self, charge: Charge) -> bool:
        """Whether opening a segment costs the same after every label that may precede, or the same everywhere.

        A step within a segment, which has two equal labels, can be forbidden only together with opening one there.
        """
        return _Steps.of(self, charge).fold

    def charge(self, charges: Sequence[Charge]) -> "SegmentParts":
        """Scores less charges: steps within a segment in `unary`, what opening one costs beyond that elsewhere."""
        unary, opens, pair, end = self.unary.copy(), self.opens.copy(), self.pair.copy(), self.end.copy()
        heads = self.offsets[:-1]
        for one in charges:
            steps = _Steps.of(self, one)
            unary[heads] -= one.step[one.kind[heads], -1]
            unary[steps.at] -= steps.within[one.kind[steps.at]]
            finite = np.where(steps.within < np.inf, steps.within, 0.0)
            more = np.where(steps.by_place, steps.opening, 0.0) - finite
            opens[steps.at] -= np.where(steps.within < np.inf, more, 0.0)[one.kind[steps.at]]
            pair -= np.where(steps.by_place, 0.0, steps.pair)
            end -= one.last
        return replace(self, unary=unary, opens=opens, pair=pair, end=end)

    def settled(self) -> tuple["SegmentParts", Floats]:
        """Scores less the largest of each token, and by how much that lowers all outputs of each sequence: the same
        distributions from smaller numbers.
        """
        most = self.unary.max(axis=1, keepdims=True)
        most = np.where(most > -np.inf, most, 0.0)
        with np.errstate(over="ignore"):
            drop = np.add.reduceat(most.ravel(), self.offsets[:-1]) if len(self) else np.empty(0)
        return replace(self, unary=self.unary - most), drop

    def lattice(self) -> SegmentLattice:
        """The scores with those of first and last labels among the ones of first and last tokens."""
        offsets, unary, opens, closes, pair, length = _kernel_arguments(self)
        types = np.zeros(len(unary), np.int32)
        return SegmentLattice(offsets, unary, opens, closes, pair[None], types, length, marked=True)


@dataclass(frozen=True)
class _Steps:
    """A charge on the steps behind first tokens: within a segment, and where one opens.

    at: (tokens,) bool, not the first of a sequence; within: (kinds, labels), opening: (kinds, labels) least cost after
    any label that may precede, inf if none may; by_place: (labels,) bool, that cost does not depend on the label
    before; pair: (labels, labels) the cost of the first kind, 0 where a label may not precede; fold: whether parts can
    have it.
    """

    at: NDArray[np.bool_]
    within: Floats
    opening: Floats
    by_place: NDArray[np.bool_]
    pair: Floats
    fold: bool

    @classmethod
    def of(cls, scores: SegmentParts, charge: Charge) -> "_Steps":
        at, may = np.ones(len(scores.unary), bool), scores.pair > -np.inf
        at[scores.offsets[:-1]] = False
        steps = charge.step[:, :-1]
        within = np.diagonal(steps, axis1=1, axis2=2)
        least = np.where(may, steps, np.inf).min(axis=1)
        most = np.where(may, steps, -np.inf).max(axis=1)
        used = np.unique(charge.kind[at])
        by_place = (least >= most)[used].all(axis=0)
        pairs = np.where(may, steps, 0.0)[used]
        by_labels = (pairs == pairs[:1]).all(axis=(0, 1))
        lawful = ((within < np.inf) | (least == np.inf))[used].all()
        pair = pairs[0] if len(used) else np.zeros_like(scores.pair)
        return cls(at, within, least, by_place, pair, bool((by_place | by_labels).all() and lawful))


@dataclass(frozen=True)
class Segmentation:
    """Segmentations into labelled segments.

    Parameters
    ----------
    n_jobs : int, default=-1
        Threads that share the sequences of a batch; -1 is every core.
    """

    n_jobs: int = -1

    def for_rows(self) -> "Segmentation":
        """Returns the structure as rows about expectations see it."""
        return self

    def argmax(self, scores: SegmentParts, *, seed: int | None = None) -> Best:
        """Semi-Markov Viterbi. Raises `Infeasible` for a sequence without an output of finite score."""
        from ..kernels import parallel, segmentation

        outputs = np.empty(len(scores.unary), np.int32)
        best = np.empty(len(scores))
        tables = _kernel_arguments(scores)

        def run(lo: int, hi: int) -> None:
            segmentation.best_segmentations(lo, hi, *tables, -1 if seed is None else seed, outputs, best)

        parallel.map_shards(run, scores.offsets, self.n_jobs)
        require_feasible(best)
        if not np.abs(best).max(initial=0.0) > LARGE:
            return Best(Outputs(outputs, scores.offsets), best)
        settled, drop = scores.settled()
        tables = _kernel_arguments(settled)
        parallel.map_shards(run, scores.offsets, self.n_jobs)
        return Best(Outputs(outputs, scores.offsets), best + drop)

    def kbest(self, scores: SegmentParts, k: int) -> Ranked:
        """The k best segmentations."""
        from ..kernels import parallel, segmentation

        if k < 1:
            raise DataError(f"k-best needs k >= 1, got {k}")
        outputs = np.empty((k, len(scores.unary)), np.int32)
        best = np.empty((len(scores), k))
        tables = _kernel_arguments(scores)

        def run(lo: int, hi: int) -> None:
            segmentation.k_best_segmentations(lo, hi, *tables, k, outputs, best)

        parallel.map_shards(run, scores.offsets, self.n_jobs)
        require_feasible(best[:, 0])
        if not np.abs(best[:, 0]).max(initial=0.0) > LARGE:
            return Ranked(Outputs(outputs, scores.offsets), best)
        settled, drop = scores.settled()
        tables = _kernel_arguments(settled)
        parallel.map_shards(run, scores.offsets, self.n_jobs)
        return Ranked(Outputs(outputs, scores.offsets), best + drop[:, None])

    def marginals(self, scores: SegmentParts) -> Marginals[SegmentParts]:
        """Semi-Markov forward-backward; `parts.unary` holds the probability of every label at every token.

        Raises `DataError` where scores are so large, or so far apart, that rounding would spoil them.
        """
        marginals, _, drop = self._exact(scores, expect=False)
        require_feasible(drop)
        return replace(marginals, log_partition=marginals.log_partition + drop)

    def _exact(self, scores: SegmentParts, expect: bool) -> tuple[Marginals[SegmentParts], Floats, Floats]:
        """Marginals and expected scores, of settled scores where sums are large; and how much lower these are."""
        marginals, expected = self._marginals(scores, expect)
        if np.abs(marginals.log_partition).max(initial=0.0) <= LARGE and _miss(marginals).max(initial=0.0) <= EXACT:
            return marginals, expected, np.zeros(len(scores))
        settled, drop = scores.settled()
        marginals, expected = self._marginals(settled, expect)
        require_feasible(np.where(np.isnan(marginals.log_partition), 0.0, marginals.log_partition))
        require_exact(_miss(marginals))
        return marginals, expected, drop

    def _marginals(self, scores: SegmentParts, expect: bool) -> tuple[Marginals[SegmentParts], Floats]:
        """Marginals, and every sequence's expected score where it is asked for, whether they are exact or not."""
        from ..kernels import parallel, scaled_segments, segmentation

        log_partition, expected = np.empty(len(scores)), np.empty(len(scores) if expect else 0)
        unary, opens, closes = (np.empty_like(scores.unary) for _ in range(3))
        tables, trusted = _kernel_arguments(scores), np.zeros(len(scores), bool)

        def run(lo: int, hi: int) -> tuple[Floats, Floats]:
            pair, length = np.zeros_like(scores.pair), np.zeros((scores.longest, scores.labels))
            found = log_partition, expected, unary, opens, closes, pair, length
            scaled_segments.forward_backward(lo, hi, *tables, trusted, *found)
            if not trusted[lo:hi].all():
                segmentation.log_forward_backwards(lo, hi, *tables, trusted, *found)
            return pair, length

        pair, length = np.zeros_like(scores.pair), np.zeros((scores.longest, scores.labels))
        for shard_pair, shard_length in parallel.map_shards(run, scores.offsets, self.n_jobs):
            pair += shard_pair
            length += shard_length
        start, end = opens[scores.offsets[:-1]].sum(axis=0), closes[scores.offsets[1:] - 1].sum(axis=0)
        parts = SegmentParts(scores.offsets, unary, opens, closes, pair, length.T, start, end)
        return Marginals(log_partition, parts), expected

    def entropy(self, scores: SegmentParts) -> Floats:
        """H = log Z - θ·μ for each sequence; `DataError` where scores are so far apart that the difference is lost."""
        marginals, expected, _ = self._exact(scores.settled()[0], expect=True)
        miss = np.finfo(float).eps + _miss(marginals).max(initial=0.0)
        require_exact(miss * np.abs(marginals.log_partition))
        return np.maximum(marginals.log_partition - expected, 0.0)

    def sample(self, scores: SegmentParts, draws: int, *, seed: int) -> Ints:
        """Forward filtering, backward sampling: (draws, tokens)."""
        from ..kernels import parallel, segmentation

        if np.abs(self.argmax(scores).scores).max(initial=0.0) > LARGE:
            self._exact(scores, expect=False)  # raises
            scores, _ = scores.settled()
        outputs = np.empty((draws, len(scores.unary)), np.int32)
        tables = _kernel_arguments(scores)
        parallel.map_shards(
            lambda lo, hi: segmentation.sample_segmentations(lo, hi, *tables, draws, seed, outputs),
            scores.offsets,
            self.n_jobs,
        )
        return outputs

    def token_labels(self, outputs: Ints) -> Ints:
        """The label of every token."""
        return labels_of(outputs)

    def score(self, scores: SegmentParts, outputs: Ints) -> Floats:
        """θ·y of one output per sequence; -inf where a segment is longer than any allowed."""
        cut = Segments.of(scores.offsets, outputs)
        value = np.add.reduceat(scores.unary[np.arange(len(outputs)), labels_of(outputs)], cut.first)
        value += scores.opens[cut.first, cut.labels] + scores.closes[cut.last, cut.labels]
        fits = cut.lengths <= scores.longest
        value += np.where(fits, scores.length[cut.labels, np.minimum(cut.lengths, scores.longest) - 1], -np.inf)
        after = cut.followers
        value[after] += scores.pair[cut.labels[after - 1], cut.labels[after]]
        value[cut.heads] += scores.start[cut.labels[cut.heads]]
        value[cut.tails] += scores.end[cut.labels[cut.tails]]
        total: Floats = np.add.reduceat(value, cut.heads)
        return total

    def indicator(self, scores: SegmentParts, outputs: Ints) -> SegmentParts:
        """One output per sequence as 0/1 parts, tables summed over the batch."""
        cut = Segments.of(scores.offsets, outputs)
        L = scores.labels
        unary, opens, closes = (np.zeros_like(scores.unary) for _ in range(3))
        unary[np.arange(len(outputs)), labels_of(outputs)] = 1.0
        opens[cut.first, cut.labels] = 1.0
        closes[cut.last, cut.labels] = 1.0
        pair, length = np.zeros((L, L)), np.zeros((L, scores.longest))
        after = cut.followers
        np.add.at(pair, (cut.labels[after - 1], cut.labels[after]), 1.0)
        np.add.at(length, (cut.labels, cut.lengths - 1), 1.0)
        start = np.bincount(cut.labels[cut.heads], minlength=L).astype(float)
        end = np.bincount(cut.labels[cut.tails], minlength=L).astype(float)
        return SegmentParts(scores.offsets, unary, opens, closes, pair, length, start, end)

    def loss(self, scores: SegmentParts, known: KnownLabels) -> Loss[SegmentParts]:
        """Returns the Hamming loss over tokens: one for every label that contradicts what is known."""
        return Loss(scores.of_labels(known.wrong(scores.labels).astype(float)), np.zeros(len(scores)))

    def support(self, scores: SegmentParts, index: int) -> Iterator[tuple[int, ...]]:
        """Every output of sequence `index` with a finite score."""
        tokens = int(scores.offsets[index + 1] - scores.offsets[index])
        for block in in_blocks(_segmentations(tokens, scores.labels)):
            values = self.score(scores.take(np.full(len(block), index)), np.array(block, np.int32).ravel())
            yield from (output for output, value in zip(block, values, strict=True) if value > -np.inf)


def ranges(starts: Longs, lengths: Longs) -> Longs:
    """Returns the numbers from each start on, as many as its length, one range after the other."""
    ends = np.cumsum(lengths)
    return np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)


def _miss(marginals: Marginals[SegmentParts]) -> Floats:
    """By how much the probabilities of each token's labels do not add up to one."""
    miss: Floats = np.abs(marginals.parts.unary.sum(axis=1) - 1.0)
    return miss


def _segmentations(tokens: int, labels: int) -> Iterator[tuple[int, ...]]:
    if tokens == 0:
        yield ()
    for size in range(1, tokens + 1):
        for c in range(labels):
            segment = (2 * c + 1,) + (2 * c,) * (size - 1)
            for rest in _segmentations(tokens - size, labels):
                yield segment + rest


def _kernel_arguments(scores: SegmentParts) -> tuple[Longs, Floats, Floats, Floats, Floats, Floats]:
    """Offsets and tables in the kernels' layout: first and last labels folded in, lengths by rows."""
    opens, closes = scores.opens.copy(), scores.closes.copy()
    opens[scores.offsets[:-1]] += scores.start
    closes[scores.offsets[1:] - 1] += scores.end
    return scores.offsets, scores.unary, opens, closes, scores.pair, np.ascontiguousarray(scores.length.T)
