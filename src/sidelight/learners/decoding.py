"""Decoders: how outputs are read off scores. Freely, under rules, by a projection, or within a dictionary.

Every learner has one, `decoder_`, and predictions of all kinds go through it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..dictionary import TagDictionary
from ..errors import NotSupported
from ..features.encoded import Encoded
from ..inference.constrained import Constrained, Method
from ..inference.readings import Readings
from ..kernels.compiling import Floats, Ints
from ..labels import encode_labels
from ..rules.language import Rule
from ..structures.known import Outputs
from ..structures.protocol import TIME_LIMIT, Structure
from .tasks.task import Reasons, Task


@dataclass(frozen=True)
class Decoder:
    """The best outputs, whatever they are. Other decoders change what predictions see, cost or may be.

    reads_tokens: whether the inputs themselves have a say, and not only their scores.
    """

    reads_tokens: ClassVar[bool] = False
    structure: Structure[Any]

    @property
    def folds(self) -> bool:
        """Whether probabilities are those under the rules."""
        return False

    def shift(self, X: Any, scores: Any) -> Any:
        """Returns the scores as predictions see them."""
        return scores

    def best(self, X: Any, scores: Any, k: int) -> Constrained:
        """Returns the k best outputs by scores that were shifted, with what is known of their exactness."""
        if k == 1:
            found = self.structure.argmax(scores)
            outputs, values = Outputs(found.outputs.values[None], found.outputs.offsets), found.scores[:, None]
            bound, exact = found.bound, None if found.bound is None else found.scores >= found.bound
        else:
            ranked = self.structure.kbest(scores, k)
            outputs, values, bound, exact = ranked.outputs, ranked.scores, ranked.bound, ranked.exact
        count = len(values)
        bound, exact = values[:, 0] if bound is None else bound, np.ones(count, bool) if exact is None else exact
        return Constrained(outputs, values, exact, bound, np.zeros(count, bool), np.zeros(count, np.int64))

    def fold(self, X: Any, scores: Any, *, strict: bool = True) -> Any:
        """Returns shifted scores with everything that outputs cost, for probabilities.

        What is no sum over parts is an error, or without `strict` left out.
        """
        return scores

    def reasons(self, X: Any, outputs: Ints, t: int) -> Reasons:
        """Returns what speaks for each choice at t beside the model, the other decisions being as they are."""
        return []


def require_tokens(X: Any) -> None:
    """Raise `NotSupported` for encoded input, of which rules and dictionaries can read nothing."""
    if isinstance(X, Encoded):
        raise NotSupported("rules and dictionaries read tokens, not encoded input; give X, or ask without_rules()")


@dataclass(frozen=True)
class UnderRules(Decoder):
    """The best outputs less what rules cost: w·F(x, y) - Σ_k ρ_k d_k(x, y).

    folding: whether probabilities are those under the rules, which must be sums over parts then, or those of the model.
    """

    task: Task
    rules: Sequence[Rule]
    penalties: Floats
    classes: Sequence[str]
    method: Method = "exact"
    beam: int = 50
    time_limit: float | None = TIME_LIMIT
    folding: bool = True
    reads_tokens = True

    @property
    def folds(self) -> bool:
        """Whether probabilities are those under the rules."""
        return self.folding

    def weighed(self, X: Any) -> Any:
        """Returns the rules, compiled for X, with their penalties."""
        require_tokens(X)
        return self.task.compiled(self.rules, self.task.for_rules(X), self.classes).weigh(self.penalties)

    def best(self, X: Any, scores: Any, k: int) -> Constrained:
        """Returns the k best outputs under the rules."""
        if not len(scores):
            return super().best(X, scores, k)
        return self.best_of(scores, self.weighed(X), k)

    def best_of(self, scores: Any, rules: Any, k: int) -> Constrained:
        """Returns the k best outputs under rules that are compiled already."""
        found: Constrained = rules.best(
            self.structure, scores, k=k, method=self.method, beam=self.beam, time_limit=self.time_limit
        )
        return found

    def fold(self, X: Any, scores: Any, *, strict: bool = True) -> Any:
        """Returns scores less penalties; an error where a rule is no sum over parts."""
        if not len(scores) or not self.folds:
            return scores
        folded, title = self.weighed(X).folded(scores)
        if title is not None and strict:
            raise NotSupported(
                f"there are no exact marginals under the rule {title!r}; leave it out, or ask without_rules()"
            )
        return folded

    def reasons(self, X: Any, outputs: Ints, t: int) -> Reasons:
        """Returns what every rule charges for each choice."""
        charged = self.task.charges(self.rules, self.penalties, X[0], outputs, t, self.classes)
        return [(f"rule: {title}", row) for title, row in charged]


@dataclass(frozen=True)
class Projected(Decoder):
    """The best outputs by scores that prices of rules have moved; the model alone gives reasons."""

    move: Callable[[Any, Any], Any]
    reads_tokens = True

    @property
    def folds(self) -> bool:
        """Prices of the rules are in the scores."""
        return True

    def shift(self, X: Any, scores: Any) -> Any:
        """Returns the scores of the projection."""
        require_tokens(X)
        return self.move(X, scores) if len(scores) else scores


@dataclass(frozen=True)
class Within(Decoder):
    """The outputs of another decoder that a dictionary allows."""

    inner: Decoder
    dictionary: TagDictionary
    classes: Sequence[str]
    reads_tokens = True

    @property
    def folds(self) -> bool:
        """Whether probabilities are those under the rules of the other decoder."""
        return self.inner.folds

    def shift(self, X: Any, scores: Any) -> Any:
        """Returns scores with -inf on the labels that the dictionary excludes."""
        require_tokens(X)
        if not len(scores):
            return scores
        known = encode_labels(self.dictionary.apply(X), [len(x) for x in X], self.classes)
        return self.inner.shift(X, scores.restrict(known.choices(len(self.classes))))

    def best(self, X: Any, scores: Any, k: int) -> Constrained:
        """Returns the k best outputs."""
        return self.inner.best(X, scores, k)

    def fold(self, X: Any, scores: Any, *, strict: bool = True) -> Any:
        """Returns scores with everything that outputs cost."""
        return self.inner.fold(X, scores, strict=strict)

    def reasons(self, X: Any, outputs: Ints, t: int) -> Reasons:
        """Returns what the other decoder says; labels that are excluded are no rivals."""
        return self.inner.reasons(X, outputs, t)


def hard_decoder(learner: Any, rules: Sequence[Rule]) -> Decoder:
    """How a fitted learner reads outputs off where every rule is hard; a dictionary of its own limits them too."""
    structure, free = learner.structure_, Decoder(learner.structure_)
    if not rules and learner.dictionary is None:
        return free
    classes, hard = learner.model_.classes, [rule.hard() for rule in rules]
    inner = UnderRules(structure, learner.task_, hard, np.full(len(hard), np.inf), classes) if hard else free
    return inner if learner.dictionary is None else Within(structure, inner, learner.dictionary, classes)


def expectation_decoder(learner: Any) -> Decoder:
    """Returns how outputs are read off: under the rules that are about single outputs, or freely."""
    read: Readings = learner.readings_
    if learner.decode != "rules" or not read.decoded:
        return Decoder(learner.structure_)
    return UnderRules(
        learner.structure_, learner.task_, list(read.decoded), read.penalties, learner.labels_, folding=False
    )
