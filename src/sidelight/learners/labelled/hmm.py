"""Hidden Markov models by counting."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Self

import numpy as np

from ...declared import Bounds, declared
from ...errors import DataError
from ...features.choose import input_kind
from ...features.columns import Column
from ...features.encoded import Encoded, in_blocks, require_attributes, sequence_lengths
from ...features.symbols import SymbolEncoder
from ...features.templates import sequence_offsets
from ...kernels.compiling import Ints
from ...labels import encode_labels
from ...scorers.chance import RandomScores
from ...scorers.hmm import EstimateName, HMMCounting, HMMCounts, HMMScorer
from ...solvers.expected import CountingFit, ToFit, WordShares, counted
from ...stored import Arrays
from ...structures.chain import ChainParts, indicator
from ..inputs import weighed
from ..learner import Learner
from ..tasks.labelling import Labelling, neighbour_reasons
from ..tasks.task import Reasons, attribute_reasons


@dataclass(frozen=True)
class HMMModel:
    """Counts, and the log-probabilities that were estimated from them."""

    classes: list[str]
    encoder: SymbolEncoder
    counts: HMMCounts
    scorer: HMMScorer

    @property
    def attributes(self) -> int:
        """The symbols that can be emitted."""
        return int(self.encoder.transform([]).attributes)

    @property
    def size(self) -> int:
        """How many log-probabilities there are."""
        return self.scorer.size

    def encode(self, X: Any) -> Encoded:
        """Returns X as flat arrays."""
        return X if isinstance(X, Encoded) else self.encoder.transform(X)

    def scores(self, X: Any, n_jobs: int = -1) -> ChainParts:
        """Returns the log-probabilities of every part."""
        encoded = self.encode(X)
        require_attributes(encoded, len(self.scorer.emission))
        return self.scorer.scores(encoded)

    def reasons(self, X: Any, outputs: Ints, t: int, n_jobs: int) -> Reasons:
        """Returns what the word and the neighbours say for each label of token t."""
        encoded = self.encode(X)
        rows = attribute_reasons(encoded, t, self.encoder.describe, lambda a: self.scorer.emission[a])
        return rows + neighbour_reasons(self.classes, self.scores(encoded), outputs, t)

    def strongest(self, count: int, label: int | None) -> list[tuple[str, int, float]]:
        """Returns frequent words that speak for one label, with log P(word | label) less the log of its mean."""
        found = self.scorer.strongest(self.counts, count, label)
        return [(self.encoder.describe(a), c, ratio) for a, c, ratio in found]

    def state(self) -> dict[str, Any]:
        """Returns the counts, for a model file."""
        counts = self.counts
        more = {} if counts.triple is None else {"triple": counts.triple}
        return {"start": counts.start, "transition": counts.transition, "emission": counts.emission, **more}


@declared
class HMM(Learner):
    """Supervised hidden Markov model: relative frequencies of starts, transitions and emissions.

        maximise  Σ_i log P(x_i, y_i)      with `smoothing` added to the counts of each kind

    Attributes
    ----------
    classes_
    counts_ : HMMCounts
        The counts.
    scorer_ : HMMScorer
        The log-probabilities.
    """

    emission: Annotated[
        str | Column, "The column expression that is emitted, as text or expression, such as `word.lower()`."
    ] = field(default="word", kw_only=False)
    unknown: Annotated[
        str | Column | None,
        "The expression that divides unknown words into kinds; words that are seen once in training show how each "
        "kind is labelled. None puts all unknown words into one kind.",
    ] = "word.shape()"
    start_smoothing: Annotated[
        float, "Added to the count of every first label; 0 makes the unseen impossible.", Bounds(0)
    ] = 0.1
    transition_smoothing: Annotated[float, "Added to the count of every label pair.", Bounds(0)] = 0.1
    emission_smoothing: Annotated[float, "Added to the count of every word with every label.", Bounds(0)] = 0.1
    rare: Annotated[
        int, "Words seen at most this often show how unknown words are labelled; 0 turns that off.", Bounds(0)
    ] = 1
    estimate: Annotated[
        EstimateName,
        '"frequencies", or "variational": each smoothing is the parameter α of a symmetric Dirichlet prior, '
        "counts give its posterior, and the scores are exp(ψ(count + α) - ψ(total + K α)) in place of shares "
        "(Johnson 2007). `EM` of it is variational EM, whose objective is the bound on the log-likelihood; a "
        "small α makes tables sparse.",
    ] = "frequencies"
    order: Annotated[int, "How many earlier labels a label depends on, 1 or 2.", Bounds(1, 2)] = 1
    classes: Annotated[Sequence[str] | None, "All labels, where y may lack some."] = None
    n_jobs: Annotated[int, "Threads; -1 is every core."] = -1

    generative = True
    has_course = False

    @property
    def task_(self) -> Labelling:
        """Sequences are labelled."""
        return Labelling(self.order)

    @property
    def counts_(self) -> HMMCounts:
        """The counts."""
        counts: HMMCounts = self.model_.counts
        return counts

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Count over fully labelled sequences.

        sample_weight : how often each sequence counts, at least 0; None: once. Whether a word is rare is a matter of
        whole numbers: weights are rounded up there.
        """
        return self._add(X, y, self.classes, self._encoder(), None, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, *, sample_weight: Any = None) -> Self:
        """Add the counts of more sequences; name all labels in `classes` if the first batch lacks some.

        A batch that is refused leaves the model as it was. sample_weight : as for `fit`.
        """
        if not hasattr(self, "model_"):
            known = self.classes if classes is None else classes
            return self._add(X, y, known, self._encoder(), None, sample_weight)
        self.require_same_labels(classes)
        return self._add(X, y, self.labels_, self.encoder_.copy(), self.counts_, sample_weight)

    def _encoder(self) -> SymbolEncoder:
        return SymbolEncoder(self.emission, self.unknown, self.rare)

    @property
    def _smoothing(self) -> tuple[float, float, float]:
        return self.start_smoothing, self.transition_smoothing, self.emission_smoothing

    def check_parameters(self) -> None:
        """Raise `DataError` for a smoothing of 0 where it would make all outputs impossible."""
        for name in ("start_smoothing", "transition_smoothing", "emission_smoothing"):
            pairs_first = name == "transition_smoothing" and self.order == 2
            if not getattr(self, name) and (self.estimate == "variational" or pairs_first):
                reason = "order=2" if pairs_first else "estimate='variational'"
                raise DataError(f"{name} must be a finite number above 0 with {reason}, got 0")

    def _add(
        self, X: Any, y: Any, classes: Any, encoder: SymbolEncoder, before: HMMCounts | None, sample_weight: Any
    ) -> Self:
        """Count X and y on top of what was counted before."""
        if input_kind(X) != "columns":
            raise DataError("HMM emits words: give it tokens (strings or tuples); feature dicts and arrays suit CRF")
        X, y, weights = weighed(self, X, y, sample_weight)
        found, _ = self.read_known(X, y, classes)
        encoder.extend(X, None if weights is None else np.ceil(weights).astype(int).tolist())
        counting = self.counting(encoder, found)
        for first, last in in_blocks(X):
            some, known = X[first:last], y[first:last]
            each = None if weights is None else weights[first:last]
            new = counted(self, counting, encoder.transform(some), some, known, found, each)
            before = new if before is None else before + new
        assert before is not None
        return self.estimated(encoder, found, before)

    def symbols(self, X: Any) -> SymbolEncoder:
        """Returns an encoder that knows the words of X."""
        encoder = self._encoder()
        encoder.extend(X)
        return encoder

    def counting(self, encoder: SymbolEncoder, classes: Sequence[str]) -> HMMCounting:
        """Returns how parts of the words that an encoder knows are counted."""
        return HMMCounting(len(encoder.words), len(classes), self.order)

    def estimated(self, encoder: SymbolEncoder, classes: Sequence[str], counts: HMMCounts) -> Self:
        """Estimate from counts, which may be expected ones: the M step of EM."""
        scorer = HMMScorer.estimate(counts.smoothed(encoder, *self._smoothing), self.estimate)
        self._adopt(HMMModel(list(classes), encoder, counts, scorer))
        return self

    def observed(self, X: Any, read: Sequence[Any], classes: Sequence[str]) -> ChainParts:
        """Returns known labels as parts."""
        labels = encode_labels(read, sequence_lengths(X), classes).labels
        return indicator(sequence_offsets(X), labels, len(classes), self.order)

    def beginning(
        self, encoder: SymbolEncoder, encoded: Encoded, classes: Sequence[str], rng: np.random.Generator
    ) -> RandomScores:
        """Returns random scores of every token, to begin with where no label is known."""
        return RandomScores.drawn(rng, encoded.tokens, len(classes), self.order)

    def fit_random(self, X: Any, classes: Sequence[str], spread: float, rng: np.random.Generator) -> Self:
        """A random model of the words of X, to begin EM with: as if every count were 1 + spread U(0, 1)."""
        encoder = self.symbols(X)
        counts = HMMCounts.random(len(encoder.words), len(classes), spread, rng, self.order)
        return self.estimated(encoder, classes, counts)

    def fitting(self, data: ToFit) -> CountingFit:
        """Returns the M step of learners around this one."""
        return CountingFit(self, data)

    def word_shares(self, encoder: SymbolEncoder, own: Ints, other: Ints) -> WordShares | None:
        """Returns this model on the words of another encoder; None if it is variational, and has no shares of words.

        own, other: the symbols of the same tokens, among which are all words of that encoder.
        """
        if self.estimate == "variational":
            return None
        pairs, number = self.encoder_.paired(encoder, own, other)
        table = np.zeros((encoder.symbols, len(self.labels_)))
        np.add.at(table, pairs[1], np.exp(self.scorer_.emission[pairs[0]]) / number[pairs[0], None])
        with np.errstate(divide="ignore"):
            whole = replace(self.scorer_, emission=np.log(table))
        return WordShares(number[own], whole.log_prior(*self._smoothing))

    def log_prior(self) -> float:
        """Log-density, up to a constant, of the Dirichlet prior that the smoothing stands for.

        If variational: less the divergence from the prior to the posterior, which makes Σ log Z a bound.
        """
        if self.estimate == "variational":
            return -self.counts_.smoothed(self.encoder_, *self._smoothing).divergence(*self._smoothing)
        prior: float = self.scorer_.log_prior(*self._smoothing)
        return prior

    def restore(self, encoder: Any, arrays: Arrays) -> None:
        """Take back what `state` gave."""
        found = HMMCounts.from_arrays(arrays, len(self.classes_), len(encoder.words), self.order)
        self.estimated(encoder, self.classes_, found)
