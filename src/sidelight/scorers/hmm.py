"""Hidden Markov models as scores: log-probabilities of starts, transitions and emissions.

log P(x, y) = log P(y_1) + Σ_t log P(y_t | y_{t-1}) + Σ_t log P(x_t | y_t)      (section 2.2.2 of Chang 2011)

With order two it is P(y_t | y_{t-2}, y_{t-1}) from the third label on, and the transitions are those to the second one.

A variational model has a Dirichlet distribution over each of these tables, and E[log P] in their place, log-weights
that add up to less than one (Johnson 2007; section 8.2 of Ganchev et al. 2010).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..features.encoded import Encoded
from ..features.symbols import SymbolEncoder
from ..kernels.compiling import Floats
from ..stored import Arrays, finite, read_arrays
from ..structures.chain import ChainParts, require_tables

# What a model file keeps, with order two also the last.
_STORED = {
    "start": finite("labels", least=0),
    "transition": finite("labels", "labels", least=0),
    "emission": finite("words", "labels", least=0),
}
_STORED_TRIPLE = {"triple": finite("labels", "labels", "labels", least=0)}
EstimateName = Literal["frequencies", "variational"]


@dataclass(frozen=True)
class HMMCounts:
    """How often each start (labels,), transition (labels, labels) and word (words, labels) was seen or is expected.

    triple: three labels in a row (labels, labels, labels) with order two, where transitions are those to second labels.
    """

    start: Floats
    transition: Floats
    emission: Floats
    triple: Floats | None = None

    @classmethod
    def from_arrays(cls, arrays: Arrays, labels: int, words: int, order: int) -> "HMMCounts":
        """The counts that a model file keeps."""
        require_tables(labels, order)
        specs = _STORED if order == 1 else {**_STORED, **_STORED_TRIPLE}
        return cls(**read_arrays(arrays, specs, labels=labels, words=words))

    @classmethod
    def random(cls, words: int, labels: int, spread: float, rng: np.random.Generator, order: int = 1) -> "HMMCounts":
        """1 + spread U(0, 1) everywhere: a model to begin with (Gao and Johnson 2008)."""
        shapes = [(labels,), (labels, labels), (words, labels), *([(labels,) * 3] if order == 2 else [])]
        return cls(*(1 + spread * rng.uniform(size=shape) for shape in shapes))

    def smoothed(self, encoder: SymbolEncoder, start: float, transition: float, emission: float) -> "HMMCounts":
        """So much added to every count of that kind; the emissions are then those of all symbols.

        The classes of unknown words get the counts of the words seen once, each of which might have been unknown, and
        share the probability with the known words.
        """
        nothing = np.zeros((1, self.emission.shape[1]))
        symbols = np.concatenate((self.emission, encoder.class_counts(self.emission), nothing))
        triple = None if self.triple is None else self.triple + transition
        return HMMCounts(self.start + start, self.transition + transition, symbols + emission, triple)

    def divergence(self, start: float, transition: float, emission: float) -> float:
        """KL(Dir(counts) ‖ Dir(prior)) of all tables, where every prior has one number for all its entries."""
        kinds = [(self.start, start, 0), (self.transition, transition, 1), (self.emission, emission, 0)]
        if self.triple is not None:
            kinds.append((self.triple, transition, 2))
        return sum(_dirichlet_divergence(*kind) for kind in kinds)

    def __add__(self, other: "HMMCounts") -> "HMMCounts":
        """Both together; `other` may know more words, which come last."""
        emission = other.emission.copy()
        emission[: len(self.emission)] += self.emission
        triple = None if self.triple is None or other.triple is None else self.triple + other.triple
        return HMMCounts(self.start + other.start, self.transition + other.transition, emission, triple)

    def times(self, factor: float) -> "HMMCounts":
        """Every count times a factor."""
        triple = None if self.triple is None else factor * self.triple
        return HMMCounts(factor * self.start, factor * self.transition, factor * self.emission, triple)


@dataclass(frozen=True)
class HMMScorer:
    """Log-probabilities: start (labels,), transition (labels, labels), emission (symbols, labels), and with order two
    those of a label after two others (labels, labels, labels).
    """

    start: Floats
    transition: Floats
    emission: Floats
    triple: Floats | None = None

    @classmethod
    def estimate(cls, tables: HMMCounts, how: EstimateName = "frequencies") -> "HMMScorer":
        """Logs of relative frequencies of smoothed counts; or E[log P], the counts being those of Dirichlet ones."""
        table = _log_share if how == "frequencies" else _expected_log
        with np.errstate(divide="ignore", invalid="ignore"):
            triple = None if tables.triple is None else table(tables.triple, 2)
            return cls(table(tables.start, 0), table(tables.transition, 1), table(tables.emission, 0), triple)

    @property
    def size(self) -> int:
        """How many log-probabilities there are."""
        return sum(
            table.size for table in (self.start, self.transition, self.emission, self.triple) if table is not None
        )

    def log_prior(self, start: float, transition: float, emission: float) -> float:
        """Log-density, up to a constant, of the Dirichlet prior that so much added to every count stands for."""
        tables = (self.start, self.transition, self.emission, self.triple)
        pairs = zip((start, transition, emission, transition), tables, strict=True)
        return sum(amount * float(table.sum()) for amount, table in pairs if amount > 0 and table is not None)

    def strongest(self, counts: HMMCounts, count: int, label: int | None) -> list[tuple[int, int, float]]:
        """Frequent words that speak for one label: (word, label, log P(word | label) less the log of its mean).

        Those whose log-ratio times the root of its count is largest.
        """
        table, often = self.emission[: len(counts.emission)], counts.emission
        ratio = table - np.log(np.exp(table).mean(axis=1, keepdims=True))
        seen = np.where(often > 0, np.where(often > 0, ratio, 0.0) * np.sqrt(often), -np.inf)
        if label is not None:
            seen[:, np.arange(seen.shape[1]) != label] = -np.inf
        rows, columns = np.unravel_index(np.argsort(-seen, axis=None, kind="stable")[:count], seen.shape)
        chosen = [
            (int(a), int(c), float(ratio[a, c])) for a, c in zip(rows, columns, strict=True) if seen[a, c] > -np.inf
        ]
        return sorted(chosen, key=lambda item: -item[2])

    def scores(self, encoded: Encoded, first: int = 0) -> ChainParts:
        """log P of every part of a batch, wherever its first token is."""
        unary = self.emission[encoded.indices[encoded.indptr[:-1]]]
        types = np.zeros(encoded.tokens, np.int32)
        triple = None if self.triple is None else self.triple - self.transition  # these are added at every position
        end = np.zeros_like(self.start)
        return ChainParts(encoded.offsets, unary, self.transition[None], types, self.start, end, triple)


@dataclass(frozen=True)
class HMMCounting:
    """How parts of known words are scored by tables, and counted."""

    words: int
    labels: int
    order: int

    def prepare(self, tables: HMMScorer) -> HMMScorer:
        """Log-probabilities are ready as they are."""
        return tables

    def expectation(self) -> "HMMSums":
        """Returns an empty sum of counts."""
        L = self.labels
        triple = np.zeros((L, L, L)) if self.order == 2 else None
        return HMMSums(HMMCounts(np.zeros(L), np.zeros((L, L)), np.zeros((self.words, L)), triple))


@dataclass(frozen=True)
class HMMSums:
    """A running sum of counts over batches."""

    counts: HMMCounts

    def add(self, encoded: Encoded, parts: ChainParts) -> None:
        """Add the (expected) parts of one batch; all its tokens must be known words."""
        sums = self.counts
        np.add.at(sums.emission, encoded.indices[encoded.indptr[:-1]], parts.unary)
        np.add(sums.start, parts.start, out=sums.start)
        second = parts.pair.sum(axis=0)
        if sums.triple is not None and parts.triple is not None:
            second = np.maximum(second - parts.triple.sum(axis=0), 0.0)
            np.add(sums.triple, parts.triple, out=sums.triple)
        np.add(sums.transition, second, out=sums.transition)

    def total(self) -> HMMCounts:
        """The counts."""
        return self.counts


def _log_share(counts: Floats, axis: int) -> Floats:
    """Log of the counts' shares along an axis; where all are zero, nothing is possible."""
    total = counts.sum(axis=axis, keepdims=True)
    shares: Floats = np.where(total > 0, np.log(counts / total), -np.inf)
    return shares


def _expected_log(counts: Floats, axis: int) -> Floats:
    """E[log P] under Dirichlet distributions along an axis: ψ(count) - ψ(total)."""
    from scipy.special import digamma

    means: Floats = digamma(counts) - digamma(counts.sum(axis=axis, keepdims=True))
    return means


def _dirichlet_divergence(counts: Floats, prior: float, axis: int) -> float:
    """Σ KL(Dir(counts) ‖ Dir(prior, ..., prior)) of the distributions along an axis."""
    from scipy.special import gammaln

    size, total = counts.shape[axis], counts.sum(axis=axis)
    moved = ((counts - prior) * _expected_log(counts, axis)).sum()
    ours = gammaln(total).sum() - gammaln(counts).sum()
    theirs = total.size * (gammaln(size * prior) - size * gammaln(prior))
    return float(ours - theirs + moved)
