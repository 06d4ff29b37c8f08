"""Few labels for each word: the projection that charges the l1/l∞ norm of the posteriors of its occurrences.

    min over q   Σ_i [ E_q(-log p_θ(y|x_i)) - T H(q_i) ] + Σ_w σ_w Σ_t max over occurrences k of w of q_k(t)

(Eq. 58 of Ganchev et al. 2010, there with T = 1.) The first occurrence of a word that takes a tag pays for it, the
others have it for free. The dual has a price for every occurrence and tag,

    q(y) ∝ exp((θ·y - Σ_k λ_k,y_k) / T),    D(λ) = Σ_i [log Z(θ) - T log Z((θ - λ) / T)]
    s.t.  λ >= 0,  Σ over occurrences k of w of λ_kt <= σ_w      (Eq. 59)

with the gradient q. A projected gradient step is forward-backward over the corpus, then the prices of every word and
tag back into their budget (`kernels.simplex`). It is the group norm of `projection`, with a row for each occurrence and
tag, which would be far too many rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import DataError, NotSupported
from ..kernels.compiling import Floats, Longs
from ..rules.few_labels import FewLabels, tokens_by_word
from ..rules.language import Rule
from ..rules.rows import penalty_of, require_expected
from ..solvers.annealing import require_temperature
from ..solvers.spectral import minimize
from ..structures.chain import Chain, ChainParts
from .projection import Projection


@dataclass(frozen=True)
class Occurrences:
    """Tokens of words in a batch, word by word: those of word g are token[edges[g] : edges[g + 1]].

    penalty: (words,) σ. A token is a member once for each rule that speaks of it.
    """

    token: Longs
    edges: Longs
    penalty: Floats

    @classmethod
    def compile(cls, rules: Sequence[FewLabels], X: Sequence[Any]) -> "Occurrences":
        """The words of all rules in X, each with the penalty of its rule."""
        some = [cls._priced(*r.occurrences(X), penalty_of(r)) for r in rules]
        starts = np.cumsum([0, *(one.members for one in some)])
        edges = [one.edges[1:] + start for one, start in zip(some, starts, strict=False)]
        return cls(
            np.concatenate([one.token for one in some]),
            np.concatenate([np.zeros(1, np.int64), *edges]),
            np.concatenate([one.penalty for one in some]),
        )

    @classmethod
    def of(cls, values: Sequence[str], at_least: int, penalty: float = 1.0) -> "Occurrences":
        """One word for each token ("" is none), and of these the ones seen so often."""
        return cls._priced(*tokens_by_word(values, at_least), penalty)

    @classmethod
    def _priced(cls, token: Longs, edges: Longs, penalty: float) -> "Occurrences":
        return cls(token, edges, np.full(len(edges) - 1, float(penalty)))

    @property
    def members(self) -> int:
        """How many occurrences there are."""
        return len(self.token)

    @property
    def words(self) -> int:
        """How many words there are."""
        return len(self.penalty)

    @cached_property
    def _apart(self) -> bool:
        """Whether no token is a member twice."""
        return len(np.unique(self.token)) == self.members

    def shift(self, scores: ChainParts, prices: Floats) -> ChainParts:
        """θ - λ."""
        unary, prices = scores.unary.copy(), prices.reshape(self.members, scores.labels)
        if self._apart:
            unary[self.token] -= prices
        else:
            np.subtract.at(unary, self.token, prices)
        return replace(scores, unary=unary)

    def largest(self, probability: Floats) -> Floats:
        """max over each word's occurrences of the probability (members, labels) of each label: (words, labels)."""
        if not self.words:
            return np.zeros((0, probability.shape[1]))
        found: Floats = np.maximum.reduceat(probability, self.edges[:-1], axis=0)
        return found

    def step(self, prices: Floats, gradient: Floats, size: float, n_jobs: int) -> Floats:
        """A gradient step back into the budget of every word and label; prices, gradient: (members, labels)."""
        from ..kernels import parallel, simplex

        out = np.empty_like(prices)

        def run(lo: int, hi: int) -> None:
            simplex.step_within(lo, hi, self.edges, self.penalty, prices, gradient, size, out)

        if self.words:
            parallel.map_shards(run, self.edges, n_jobs)
        return out


@dataclass(frozen=True)
class _DualPoint:
    """The dual at some prices."""

    prices: Floats
    parts: ChainParts
    probability: Floats
    largest: Floats
    divergence: float
    primal: float
    dual: float
    done: bool

    @property
    def value(self) -> float:
        return -self.dual

    @property
    def gradient(self) -> Floats:
        return -self.probability


def project_words(
    scores: ChainParts,
    words: Occurrences,
    *,
    temperature: float = 1.0,
    start: Floats | None = None,
    log_partition: Floats | None = None,
    tolerance: float = 1e-4,
    max_iterations: int = 200,
    n_jobs: int = -1,
) -> Projection:
    """Project p_θ; see the module for the problem, and `project` for the options.

    In the answer, `prices` and `expected` have a row of labels for each occurrence, flat, and `excess` is what is
    charged: the largest probability of every word and label.
    """
    require_temperature(temperature)
    structure, shape = Chain(n_jobs), (words.members, scores.labels)
    known = structure.marginals(scores).log_partition if log_partition is None else log_partition
    allowed = tolerance * max(len(known), 1)
    passes = 0

    def evaluate(prices: Floats) -> _DualPoint:
        nonlocal passes
        passes += 1
        model = structure.marginals(words.shift(scores, prices).divide(temperature))
        probability = model.parts.unary[words.token]
        largest = words.largest(probability)
        dual = float((known - temperature * model.log_partition).sum())
        paid = float((prices * probability).sum())
        charged = float((words.penalty * largest.sum(axis=1)).sum())
        primal = dual - paid + charged
        return _DualPoint(
            prices, model.parts, probability, largest, dual - paid, primal, dual, primal - dual <= allowed
        )

    def proximal(prices: Floats, gradient: Floats, step: float) -> Floats:
        return words.step(prices, gradient, step, n_jobs)

    first = np.zeros(shape) if start is None else words.step(start.reshape(shape), np.zeros(shape), 0.0, n_jobs)
    at = minimize(evaluate, proximal, first, temperature, max_iterations)
    return Projection(
        at.parts, at.prices.ravel(), at.probability.ravel(), at.largest.ravel(), at.divergence, at.primal, at.dual,
        0.0, at.done, float(passes),
    )  # fmt: skip


def alone(rules: Sequence[Rule], *, chained: bool, charged: bool) -> list[FewLabels]:
    """Returns the rules that each word has few labels; raises where these are not by themselves, or cannot be used.

    chained: whether outputs are label chains; charged: whether there is a penalty for what rules ask.
    """
    few = [rule for rule in rules if isinstance(rule, FewLabels)]
    if not few:
        return []
    for rule in rules:
        require_expected(rule)
    if not chained:
        raise NotSupported(f"{few[0].title!r} is projected onto on label chains alone; use CRF or HMM")
    other = next((rule for rule in rules if not isinstance(rule, FewLabels)), None)
    if other is not None:
        raise NotSupported(f"{few[0].title!r} is projected onto alone, without other rules such as {other.title!r}")
    if not charged:
        raise DataError(
            f"{few[0].title!r} is charged for and has no bound, so the penalty of the learner cannot be None; give a "
            "number or 'learned'"
        )
    return few
