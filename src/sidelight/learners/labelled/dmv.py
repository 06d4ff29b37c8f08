"""The dependency model with valence (Klein & Manning 2004): a generative model of tags and trees of sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

import numpy as np

from ...declared import Bounds, declared
from ...features.columns import Column
from ...features.encoded import Encoded, require_attributes
from ...features.symbols import SymbolEncoder
from ...kernels.compiling import Ints
from ...scorers.valence import ValenceCounting, ValenceCounts, ValenceScorer, harmonic_parts
from ...solvers.expected import CountingFit, ToFit, WordShares, counted
from ...solvers.losses import blocks
from ...stored import Arrays
from ...structures.flat import FlatParts
from ..inputs import weighed
from ..learner import Learner
from ..tasks.task import Reasons
from ..tasks.valence import ValenceParsing

StartName = Literal["harmonic", "even", "random"]
_SIDES, _DECISIONS = ("left", "right"), ("stop", "go on")


@dataclass(frozen=True)
class DMVModel:
    """Counts, and the log-probabilities that were estimated from them."""

    task: ValenceParsing
    encoder: SymbolEncoder
    counts: ValenceCounts
    scorer: ValenceScorer

    @property
    def classes(self) -> list[str]:
        """Arcs have no labels."""
        return []

    @property
    def attributes(self) -> int:
        """The symbols that words are known by."""
        return int(self.encoder.symbols)

    @property
    def size(self) -> int:
        """How many log-probabilities there are."""
        return sum(table.size for table in self.scorer.tables)

    def encode(self, X: Any) -> Encoded:
        """Returns X as flat arrays."""
        return X if isinstance(X, Encoded) else self.encoder.transform(X)

    def scores(self, X: Any, n_jobs: int = -1) -> FlatParts:
        """Returns the log-probabilities of every part."""
        encoded = self.encode(X)
        require_attributes(encoded, len(self.scorer.root))
        return self.scorer.scores(encoded)

    def reasons(self, X: Any, outputs: Ints, t: int, n_jobs: int) -> Reasons:
        """Returns what the choice of the child, and those to stop or not, say for each head of word t.

        What all trees have in common, words without children, is left out, though the score of the root has it.
        """
        encoded = self.encode(X)
        at, found = self.task.arcs_to(outputs, t), self.scorer.reasons(encoded)
        names = {"child": "this child, or root", "valence": "number of children"}
        return [
            (text, np.broadcast_to(found[name], (encoded.tokens**2, 2)).ravel()[at]) for name, text in names.items()
        ]

    def strongest(self, count: int, label: int | None) -> list[tuple[str, int, float]]:
        """Returns the most frequent events with their log-probabilities."""
        name, s = self.encoder.describe, self.counts
        events = [(float(n), f"root {name(k)}", float(self.scorer.root[k])) for k, n in enumerate(s.root)]
        for place, n in np.ndenumerate(s.child):
            h, side, c = place
            events.append((n, f"{name(c)} on the {_SIDES[side]} of {name(h)}", float(self.scorer.child[place])))
        for place, n in np.ndenumerate(s.stop):
            h, side, after, go = place
            text = (
                f"{_DECISIONS[go]} on the {_SIDES[side]} of {name(h)}, {'after a child' if after else 'no child yet'}"
            )
            events.append((n, text, float(self.scorer.stop[place])))
        events.sort(key=lambda event: -event[0])
        return [(text, -1, value) for n, text, value in events[:count] if n > 0]

    def state(self) -> dict[str, Any]:
        """Returns the counts, for a model file."""
        return {"root": self.counts.root, "child": self.counts.child, "stop": self.counts.stop}


@declared
class DMV(Learner):
    """Dependency model with valence, estimated by counting over trees.

        maximise  Σ_i log P(x_i, y_i)      with `smoothing` added to every count

    A head makes its children on each side: as long as it does not stop, which depends on whether it has a child there
    already, it chooses the next one (Eq. 57 of Ganchev et al. 2010). Words are known by their tags alone, and trees are
    projective. `EM`, `UnifiedEM` and `PosteriorRegularization` around it learn from sentences without trees.

    Attributes
    ----------
    counts_ : ValenceCounts
        The counts.
    scorer_ : ValenceScorer
        The log-probabilities.
    """

    symbol: Annotated[str | Column, "The column expression that a word is known by, as text or expression."] = field(
        default="pos", kw_only=False
    )
    smoothing: Annotated[
        float,
        "Added to every count, above 0, in each M step of learners around it too. Ganchev et al. 2010 add e⁻¹⁰ to each "
        "learned parameter instead, after learning (section 7.3.2).",
        Bounds(0, above=True),
    ] = 0.1
    start: Annotated[
        StartName,
        'Where no tree is known, the first model: "harmonic" makes heads nearby likelier (Klein & Manning 2004), '
        '"even" counts everything once, "random" about once.',
    ] = "harmonic"
    constant: Annotated[
        float,
        "For the harmonic start: the probability of a head is proportional to 1 / (distance + constant).",
        Bounds(0),
    ] = 0.0
    n_jobs: Annotated[int, "Threads; -1 is every core."] = -1

    generative = True
    has_course = False

    @property
    def task_(self) -> ValenceParsing:
        """Heads of words."""
        return ValenceParsing()

    @property
    def counts_(self) -> ValenceCounts:
        """The counts."""
        counts: ValenceCounts = self.model_.counts
        return counts

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Count over sentences with trees; crossing arcs are lifted.

        sample_weight : how often each sentence counts, at least 0; None: once.
        """
        X, y, counts = weighed(self, X, y, sample_weight)
        _, read = self.read_input(X, y)
        encoder = self.symbols(X)
        found = counted(self, self.counting(encoder, ()), encoder.transform(X), X, read, (), counts)
        return self.estimated(encoder, (), found)

    def observed(self, X: Any, read: Sequence[Any], classes: Sequence[str]) -> FlatParts:
        """Returns known trees as parts."""
        if not len(X):
            return FlatParts(np.empty(0), np.zeros(1, np.int64), np.empty((0, 2), np.int64))
        known = self.task_.known(read, self.task_.sizes(X), ())
        return self.task_.structure(1).indicator(self.task_.blank(X, ()), known.outputs.values)

    def symbols(self, X: Any) -> SymbolEncoder:
        """Returns an encoder that knows the symbols of X."""
        encoder = SymbolEncoder(self.symbol, None, 0)
        encoder.extend(X)
        return encoder

    def counting(self, encoder: SymbolEncoder, classes: Sequence[str]) -> ValenceCounting:
        """Returns how parts of the symbols that an encoder knows are counted."""
        return ValenceCounting(encoder.symbols)

    def estimated(self, encoder: SymbolEncoder, classes: Sequence[str], counts: ValenceCounts) -> Self:
        """Estimate from counts, which may be expected ones: the M step of EM."""
        self._adopt(DMVModel(self.task_, encoder, counts, ValenceScorer.estimate(counts, self.smoothing)))
        return self

    def beginning(
        self, encoder: SymbolEncoder, encoded: Encoded, classes: Sequence[str], rng: np.random.Generator
    ) -> ValenceScorer:
        """Returns log-probabilities to begin with where no tree is known."""
        if self.start == "harmonic":
            sums = self.counting(encoder, ()).expectation()
            for a, b in blocks(encoded.offsets):
                some = encoded.sequences(a, b)
                sums.add(some, harmonic_parts(some, self.constant))
            counts = sums.total()
        else:
            counts = ValenceCounts.random(encoder.symbols, float(self.start == "random"), rng)
        return ValenceScorer.estimate(counts, self.smoothing)

    def fit_random(self, X: Any, classes: Sequence[str], spread: float, rng: np.random.Generator) -> Self:
        """A random model of the symbols of X, to begin EM with: as if every count were 1 + spread U(0, 1)."""
        encoder = self.symbols(X)
        return self.estimated(encoder, (), ValenceCounts.random(encoder.symbols, spread, rng))

    def fitting(self, data: ToFit) -> CountingFit:
        """Returns the M step of learners around this one."""
        return CountingFit(self, data)

    def word_shares(self, encoder: SymbolEncoder, own: Ints, other: Ints) -> WordShares | None:
        """Returns None where the model lacks symbols, since these have no class whose probability they share."""
        known = list(encoder.words) == list(self.encoder_.words)
        return WordShares(np.ones(len(own)), self.log_prior()) if known else None

    def log_prior(self) -> float:
        """Log-density, up to a constant, of the Dirichlet prior that the smoothing stands for."""
        return self.smoothing * sum(float(table.sum()) for table in self.scorer_.tables)

    def restore(self, encoder: Any, arrays: Arrays) -> None:
        """Take back what `state` gave."""
        self.estimated(encoder, (), ValenceCounts.from_arrays(arrays, encoder.symbols))
