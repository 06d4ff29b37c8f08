"""Hidden Markov models by counting."""

from collections.abc import Sequence
from typing import Any, Self, get_args

import numpy as np

from ...errors import DataError
from ...features.choose import kind_of
from ...features.columns import Column
from ...features.encoded import Encoded, State, require_attributes
from ...features.symbols import SymbolEncoder
from ...kernels.compiling import Ints
from ...scorers.hmm import EstimateName, HMMCounts, HMMScorer
from ...structures.chain import ChainParts, indicator
from ..learner import Learner, require_number
from ..tasks.labelling import neighbour_reasons
from ..tasks.task import Reasons, attribute_reasons


class HMM(Learner[ChainParts]):
    """Supervised hidden Markov model: relative frequencies of starts, transitions and emissions.

        maximise  Σ_i log P(x_i, y_i)      with `smoothing` added to the counts of each kind

    Parameters
    ----------
    emission : the column expression that is emitted, as text or expression; `word` or `word.lower()`, say.
    unknown : what of an unknown word tells which kind it is; words seen once in training show how each kind is
        labelled. None puts all unknown words together.
    start_smoothing, transition_smoothing, emission_smoothing : added to every count; 0 makes the unseen impossible.
    rare : words seen at most so often show how unknown words are labelled; 0 turns that off.
    estimate : "frequencies", or "variational": each smoothing is the parameter α of a symmetric Dirichlet prior, counts
        give its posterior, and the scores are exp(ψ(count + α) - ψ(total + K α)) in place of shares (Johnson 2007).
        `EM` of it is variational EM, whose objective is the bound on the log-likelihood; a small α makes tables sparse.
    classes : all labels, where y may lack some.
    n_jobs : threads; -1 is every core.

    Attributes
    ----------
    classes_ : labels; counts_ : the counts; scorer_ : the log-probabilities.
    """

    encoder_: SymbolEncoder
    counts_: HMMCounts
    scorer_: HMMScorer

    def __init__(
        self,
        emission: str | Column = "word",
        *,
        unknown: str | Column | None = "word.shape()",
        start_smoothing: float = 0.1,
        transition_smoothing: float = 0.1,
        emission_smoothing: float = 0.1,
        rare: int = 1,
        estimate: EstimateName = "frequencies",
        classes: Sequence[str] | None = None,
        n_jobs: int = -1,
    ) -> None:
        self.emission = emission
        self.unknown = unknown
        self.start_smoothing = start_smoothing
        self.transition_smoothing = transition_smoothing
        self.emission_smoothing = emission_smoothing
        self.rare = rare
        self.estimate = estimate
        self.classes = classes
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Count over fully labelled sequences."""
        return self._add(X, y, self.classes, SymbolEncoder(self.emission, self.unknown, self.rare), None)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Add the counts of more sequences; name all labels in `classes` if the first batch lacks some.

        A batch that is refused leaves the model as it was.
        """
        if not hasattr(self, "counts_"):
            first = self.classes if classes is None else classes
            return self._add(X, y, first, SymbolEncoder(self.emission, self.unknown, self.rare), None)
        return self._add(X, y, self.classes_, self.encoder_.copy(), self.counts_)

    def _check(self) -> None:
        if self.estimate not in get_args(EstimateName):
            raise DataError(f"estimate is 'frequencies' or 'variational', got {self.estimate!r}")
        for name in ("start_smoothing", "transition_smoothing", "emission_smoothing"):
            require_number(self, name, 0, open_end=self.estimate == "variational")

    def _add(self, X: Any, y: Any, classes: Any, encoder: SymbolEncoder, before: HMMCounts | None) -> Self:
        """Count X and y on top of what was counted before."""
        self._check()
        if kind_of(X) != "columns":
            raise DataError("HMM emits words: give it tokens (strings or tuples); feature dicts and arrays suit CRF")
        found, known = self._read_known([len(x) for x in X], y, classes)
        encoder.extend(X)
        encoded = encoder.transform(X)
        parts = indicator(encoded.offsets, known.outputs.values, len(found), 1)
        return self._take(encoder, found, encoded, parts, before)

    def fit_expected(self, X: Any, parts: ChainParts, classes: Sequence[str]) -> Self:
        """Estimate from expected parts μ of every sequence instead of labels: the M step of EM."""
        self._check()
        encoder = SymbolEncoder(self.emission, self.unknown, self.rare)
        return self._take(encoder, list(classes), encoder.fit_transform(X), parts, None)

    def fit_random(self, X: Any, classes: Sequence[str], spread: float, rng: np.random.Generator) -> Self:
        """A random model of the words of X, to begin EM with: as if every count were 1 + spread U(0, 1)."""
        self._check()
        self.encoder_, self.classes_ = SymbolEncoder(self.emission, self.unknown, self.rare), list(classes)
        self.encoder_.extend(X)
        self.counts_ = HMMCounts.random(len(self.encoder_.words), len(self.classes_), spread, rng)
        self._estimate()
        return self

    def update_expected(self, encoded: Encoded, parts: ChainParts) -> Self:
        """Estimate again from other expected parts of the sequences `fit_expected` saw, as this model encodes them."""
        require_attributes(encoded, len(self.scorer_.emission))
        return self._take(self.encoder_, self.classes_, encoded, parts, None)

    def _take(
        self, encoder: SymbolEncoder, classes: list[str], encoded: Encoded, parts: ChainParts, before: HMMCounts | None
    ) -> Self:
        counts = HMMCounts.expected(encoded, parts, len(encoder.words))
        self.encoder_, self.classes_ = encoder, classes
        self.counts_ = counts if before is None else before + counts
        self._estimate()
        return self

    def log_prior(self) -> float:
        """Log-density, up to a constant, of the Dirichlet prior that the smoothing stands for.

        If variational: less the divergence from the prior to the posterior, which makes Σ log Z a bound.
        """
        smoothing = (self.start_smoothing, self.transition_smoothing, self.emission_smoothing)
        if self.estimate == "variational":
            return -self.counts_.smoothed(self.encoder_, *smoothing).divergence(*smoothing)
        tables = (self.scorer_.start, self.scorer_.transition, self.scorer_.emission)
        return sum(amount * float(table.sum()) for amount, table in zip(smoothing, tables, strict=True) if amount > 0)

    def _estimate(self) -> None:
        smoothing = (self.start_smoothing, self.transition_smoothing, self.emission_smoothing)
        self.scorer_ = HMMScorer.estimate(self.counts_.smoothed(self.encoder_, *smoothing), self.estimate)

    def _part_scores(self, encoded: Encoded) -> ChainParts:
        require_attributes(encoded, len(self.scorer_.emission))
        return self.scorer_.scores(encoded)

    def _reasons(self, encoded: Encoded, scores: ChainParts, outputs: Ints, t: int) -> Reasons:
        rows = attribute_reasons(encoded, t, self.encoder_.describe, lambda a: self.scorer_.emission[a])
        return rows + neighbour_reasons(self.classes_, scores, outputs, t)

    def top_weights(self, count: int = 20, label: str | None = None) -> list[tuple[str, str, float]]:
        """Frequent words that speak for one label: (word, label, log P(word | label) - log mean over labels)."""
        table = self.scorer_.emission[: len(self.encoder_.words)]
        ratio = table - np.log(np.exp(table).mean(axis=1, keepdims=True))
        counts = self.counts_.emission
        seen = np.where(counts > 0, np.where(counts > 0, ratio, 0.0) * np.sqrt(counts), -np.inf)
        if label is not None:
            seen[:, np.arange(len(self.classes_)) != self._number(label)] = -np.inf
        strongest = np.argsort(-seen, axis=None, kind="stable")[:count]
        rows, columns = np.unravel_index(strongest, seen.shape)
        chosen = [
            (self.encoder_.describe(int(a)), self.classes_[c], float(ratio[a, c]))
            for a, c in zip(rows, columns, strict=True)
            if seen[a, c] > -np.inf
        ]
        return sorted(chosen, key=lambda item: -item[2])

    def _state(self) -> State:
        counts = self.counts_
        return {}, {"start": counts.start, "transition": counts.transition, "emission": counts.emission}

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.counts_ = HMMCounts(arrays["start"], arrays["transition"], arrays["emission"])
        self._estimate()
