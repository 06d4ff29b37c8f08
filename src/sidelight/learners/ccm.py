"""Constrained conditional models: any trained model, with rules at prediction.

    maximise  w·F(x, y) - Σ_k ρ_k d_k(x, y)      (Eq. 3.2 of Chang 2011)

d_k is the degree to which output y violates rule k, and ρ_k its penalty: infinite for a hard rule, given or learned by
counting for a soft one (Eq. 3.10, Algorithm 7).
"""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..errors import DataError, NotSupported
from ..features.encoded import Encoded, State
from ..inference.compiled import CompiledRules, WeighedRules, learn_penalties, penalties
from ..inference.constrained import Constrained, Method, best_outputs
from ..kernels.compiling import Floats, Ints
from ..rules.automata import labels_named
from ..rules.language import Reading, Rule
from ..supervision import Signal, encode_targets, kind_of, label_set, learns_from
from .base import Explanation, Scored
from .mixture import Around, check_input, fit_on


class RuleLearner(Around):
    """What learners with rules share: prediction under the rules.

    A subclass gives `scores(X)`, `classes_`, and `penalties_`, one per rule.
    """

    rules: Sequence[Rule] | None
    reading: Literal["hard", "soft"]
    method: Method
    beam: int
    penalties_: Floats

    def _rules(self, X: Any) -> WeighedRules:
        return CompiledRules.compile(self._rule_list(), X, self.classes_).weigh(self.penalties_)

    def _rule_list(self) -> list[Rule]:
        return list(self.rules or ())

    def _default(self) -> Reading:
        if self.reading not in ("hard", "soft"):
            raise DataError(f"reading must be 'hard' or 'soft', got {self.reading!r}")
        return Reading(self.reading)

    def infer(self, X: Any, k: int = 1) -> Constrained:
        """The k best outputs under the rules, with what is known of their exactness, as arrays."""
        check_is_fitted(self, "penalties_")
        return self._infer(X, self.scores(X), k)

    def _infer(self, X: Any, scores: Any, k: int = 1) -> Constrained:
        rules = self._rules(X)
        return best_outputs(self._structure, scores, rules, k=k, method=self.method, beam=self.beam)

    def predict(self, X: Any) -> list[list[str]]:
        """The best label sequence of each input under the rules."""
        if len(X) == 0:
            return []
        return self._split(self.infer(X).labels[0], self.scores(X))

    def complete(self, X: Any, y: Any) -> list[list[str]]:
        """The best label sequence of each input under the rules among those that agree with y."""
        scores = self.scores(X)
        if len(X) == 0:
            return []
        return self._split(self._infer(X, self._agreeing(scores, y)).labels[0], scores)

    def predict_kbest(self, X: Any, k: int = 5) -> list[list[Scored]]:
        """The k best label sequences under the rules, penalties included in their scores."""
        if len(X) == 0:
            return []
        scores, found = self.scores(X), self.infer(X, k)
        by_rank = [self._split(np.maximum(row, 0), scores) for row in found.labels]
        return [
            [Scored(by_rank[r][i], float(s)) for r, s in enumerate(row) if s > -np.inf]
            for i, row in enumerate(found.scores)
        ]

    def predict_marginals(self, X: Any) -> list[Floats]:
        """Label probabilities under rules that are sums over parts; other rules have no exact marginals."""
        if len(X) == 0:
            return []
        scores = self._folded(X)
        unary = self._structure.marginals(scores).parts.unary
        return [unary[a:b] for a, b in zip(scores.offsets[:-1], scores.offsets[1:], strict=True)]

    def log_partition(self, X: Any) -> Floats:
        """log Σ exp(score less penalties), under rules that are sums over parts."""
        return self._structure.marginals(self._folded(X)).log_partition

    def _folded(self, X: Any) -> Any:
        check_is_fitted(self, "penalties_")
        folded, rest = self._rules(X).fold(self.scores(X))
        if rest.compiled.automata:
            title = rest.compiled.automata[0].title
            raise NotSupported(
                f"there are no exact marginals under the rule {title!r}; leave it out, or ask the base model"
            )
        return folded

    def encode(self, X: Any) -> Encoded:
        """Not offered: rules read the tokens themselves."""
        check_is_fitted(self, "penalties_")
        raise NotSupported(f"{type(self).__name__} reads tokens, not encoded input; encode with its base model, base_")

    def _penalties(self, X: Any, y: Any) -> Floats:
        """Penalties by the rules' readings, learned from fully labelled sequences where they are to be learned."""
        rules = self._rule_list()
        labelled = [i for i, known in enumerate(y) if kind_of(known) is Signal.FULL]
        learned = None
        if labelled and rules:
            some = [X[i] for i in labelled]
            codes = encode_targets([y[i] for i in labelled], [len(x) for x in some], self.classes_).labels
            learned = count_penalties(rules, some, codes, self.classes_)
        return penalties(rules, self._default(), learned)

    def _all_labels(self, y: Any) -> list[str]:
        """Labels of y, of the rules, and those the base learner was told of."""
        told = getattr(self.base, "classes", None) or ()
        return sorted({*label_set(y), *labels_named(self._rule_list()), *told})

    def explain(self, x: Any, position: int, *, top: int = 10) -> Explanation:
        """Not offered: a rule speaks about the whole output."""
        check_is_fitted(self, "penalties_")
        raise NotSupported(f"{type(self).__name__} has no explain; ask its base model, base_.explain(...)")


def count_penalties(rules: Sequence[Rule], X: Any, labels: Ints, classes: Sequence[str]) -> Floats:
    """Penalties from the violations of given labels."""
    violations = CompiledRules.compile(rules, X, classes).violations(labels)
    return learn_penalties(violations.sum(axis=0), len(labels))


@learns_from(Signal.FULL, Signal.PARTIAL)
class CCM(RuleLearner):
    """A base learner trained as usual, with rules at prediction.

    Parameters
    ----------
    base : any learner of sequences; `CCM.around` takes one that is fitted.
    rules : the rules; their readings say how each is used.
    reading : for rules without a reading of their own: "soft" with penalties learned by counting, or "hard".
    method : "exact" (search, then integer programming where it is needed), "program", or "beam".
    beam : width of the beam.

    Attributes
    ----------
    base_ : the fitted base learner; penalties_ : one per rule, inf for hard ones; classes_ : labels.
    """

    def __init__(
        self,
        base: Any,
        rules: Sequence[Rule] | None = None,
        *,
        reading: Literal["hard", "soft"] = "soft",
        method: Method = "exact",
        beam: int = 50,
        n_jobs: int = -1,
    ) -> None:
        self.base = base
        self.rules = rules
        self.reading = reading
        self.method = method
        self.beam = beam
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Train the base learner, and count how often labelled sequences violate the rules."""
        self._default()
        check_input(self, X, y)
        classes = self._all_labels(y)
        self.base_ = fit_on(self.base, X, y, classes)
        self.classes_ = self.base_.classes_
        self.penalties_ = self._penalties(X, y)
        return self

    @classmethod
    def around(cls, fitted: Any, rules: Sequence[Rule], **parameters: Any) -> "CCM":
        """Rules around a model that is trained already; soft rules then need penalties."""
        check_is_fitted(fitted, "classes_")
        model = cls(fitted, rules, **parameters)
        model.base_, model.classes_ = fitted, fitted.classes_
        model.penalties_ = penalties(list(rules), model._default(), None)
        return model

    def _models(self) -> dict[str, Any]:
        return {"base_": getattr(self, "base_", None)}

    def _state(self) -> State:
        return {}, {"penalties": self.penalties_}

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.penalties_ = arrays["penalties"]

    def scores(self, X: Any) -> Any:
        """The base model's scores."""
        check_is_fitted(self, "penalties_")
        return self.base_.scores(X)
