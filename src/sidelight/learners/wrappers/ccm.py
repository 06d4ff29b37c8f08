"""Constrained conditional models: any trained model, with rules at prediction.

    maximise  w·F(x, y) - Σ_k ρ_k d_k(x, y)      (Eq. 3.2 of Chang 2011)

d_k is the degree to which output y violates rule k, and ρ_k its penalty: infinite for a hard rule, given or learned by
counting for a soft one (Eq. 3.10, Algorithm 7).
"""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...errors import DataError, NotSupported, warn
from ...features.encoded import Encoded, State
from ...inference.compiled import CompiledRules, Counting, WeighedRules, penalties, require_counting
from ...inference.constrained import Constrained, Method, best_outputs, check_method
from ...kernels.compiling import Floats
from ...labels import encode_labels, label_set
from ...rules.automata import about_the_corpus, about_whole_outputs, labels_named
from ...rules.language import Reading, Rule
from ...supervision import Signal, kind_of
from ..choosing.guard import Guard, guarded
from ..learner import Explanation, Scored, require_number
from .wrapper import Wrapper, check_input, fit_on, listed_rules


class RuleLearner(Wrapper):
    """What learners with rules share: prediction under the rules.

    A subclass gives `scores(X)`, `classes_`, and `penalties_`, one per rule.
    """

    rules: Sequence[Rule] | None
    reading: Literal["hard", "soft"]
    counting: Counting
    method: Method
    beam: int
    time_limit: float | None
    guard: bool
    penalties_: Floats
    guard_: Guard | None
    _keeps_base = True  # base_ is the supervised model

    def _rules(self, X: Any) -> WeighedRules:
        return CompiledRules.compile(self._rule_list(), self._task.for_rules(X), self.classes_).weigh(self.penalties_)

    def _rule_list(self) -> list[Rule]:
        return list(self.rules or ())

    def _check_rules(self) -> None:
        """Refuse at once what would fail after training: no list of rules, rules that cannot be used, wrong options."""
        name = type(self).__name__
        for rule in listed_rules(self):
            if about_the_corpus(rule):
                raise NotSupported(
                    f"the rule {rule.title!r} is about the corpus, and {name} decodes one sequence at a time; leave it "
                    "out here and test it with check, or use PosteriorRegularization"
                )
            if getattr(self._task, "order", 1) == 2 and about_whole_outputs(rule):
                raise NotSupported(
                    f"the rule {rule.title!r} is about whole outputs, which chains of order 2 cannot keep to; use "
                    "order=1, or rules about labels and neighbours such as where(...) and starts_with(...)"
                )
        penalties(self._rule_list(), self._default(), np.zeros(len(self._rule_list())))
        require_counting(self.counting)
        require_number(self, "beam", 1, whole=True)
        check_method(self.method, self.beam, time_limit=self.time_limit)

    def _check_labels(self, X: Any, y: Any) -> list[str]:
        """All labels; errors of the rules' conditions, and about labels that only rules name, which look misspelt.

        Without labelled sequences the labels are those that the rules name.
        """
        told, known = getattr(self.base, "classes", None) or (), label_set(y)
        classes = sorted({*known, *told, *labels_named(self._rule_list())})
        for rule in self._rule_list() if known else ():
            unknown = sorted(labels_named([rule]) - {*known, *told})
            if unknown:
                raise DataError(
                    f"the rule {rule.title!r} names the label {unknown[0]!r}, which no sequence has (they have "
                    f"{', '.join(known)}); if it is right, name all labels in the base learner's `classes`"
                )
        if classes:
            CompiledRules.compile(self._rule_list(), self._task.for_rules(X), classes)
        return classes

    def _default(self) -> Reading:
        if self.reading not in ("hard", "soft"):
            raise DataError(f"reading must be 'hard' or 'soft', got {self.reading!r}")
        return Reading(self.reading)

    def infer(self, X: Any, k: int = 1) -> Constrained:
        """The k best outputs under the rules, with what is known of their exactness, as arrays."""
        check_is_fitted(self, "penalties_")
        return self._best(self.scores(X), self._rules(X), k)

    def _best(self, scores: Any, rules: WeighedRules, k: int) -> Constrained:
        return best_outputs(
            self._structure, scores, rules, k=k, method=self.method, beam=self.beam, time_limit=self.time_limit
        )

    def predict(self, X: Any) -> list[list[str]]:
        """The best label sequence of each input under the rules."""
        if len(X) == 0:
            return []
        check_is_fitted(self, "penalties_")
        scores = self.scores(X)
        return self._split(warn_unproved(self._best(scores, self._rules(X), 1)).outputs.values[0], scores)

    def complete(self, X: Any, y: Any) -> list[list[str]]:
        """The best label sequence of each input under the rules among those that agree with y."""
        scores = self.scores(X)
        if len(X) == 0:
            return []
        found = warn_unproved(self._best(self._agreeing(scores, y), self._rules(X), 1))
        return self._split(found.outputs.values[0], scores)

    def predict_kbest(self, X: Any, k: int = 5) -> list[list[Scored]]:
        """The k best label sequences under the rules, penalties included in their scores."""
        if len(X) == 0:
            return []
        scores, found = self.scores(X), warn_unproved(self.infer(X, k))
        return self._ranked(found.outputs.values, found.scores, scores)

    def predict_marginals(self, X: Any) -> list[Floats]:
        """Label probabilities under rules that are sums over parts; other rules have no exact marginals."""
        if len(X) == 0:
            return []
        return self._task.chances(self._structure.marginals(self._folded(X)).parts)

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
            some = self._task.for_rules([X[i] for i in labelled])
            codes = encode_labels([y[i] for i in labelled], [len(x) for x in some], self.classes_).labels
            learned = CompiledRules.compile(rules, some, self.classes_).learn(codes, self.counting)
        return penalties(rules, self._default(), learned)

    def explain(self, x: Any, position: int = 0, *, top: int = 10) -> Explanation:
        """Not offered: a rule speaks about the whole output."""
        check_is_fitted(self, "penalties_")
        raise NotSupported(f"{type(self).__name__} has no explain; ask its base model, base_.explain(...)")


def warn_unproved(found: Constrained) -> Constrained:
    """The same, with a warning where outputs are not proved to be the best."""
    open_ends = int((~found.exact).sum())
    if open_ends:
        warn(
            f"{open_ends} of {len(found.exact)} outputs are not proved to be the best (beam or time limit); "
            "`infer` gives a bound for each",
        )
    return found


class CCM(RuleLearner):
    """A base learner trained as usual, with rules at prediction.

    Parameters
    ----------
    base : any learner of sequences; `CCM.around` takes one that is fitted.
    rules : the rules; their readings say how each is used.
    reading : for rules without a reading of their own: "soft" with penalties learned by counting, or "hard".
    counting : "places" compares the places where labelled sequences keep to a rule with those where they break it, and
        trusts rules that they say little about; "tokens" is Eq. 3.10 of Chang 2011, the violations per token.
    method : "exact" (search, then integer programming where it is needed), "program", or "beam".
    beam : width of the beam.
    time_limit : seconds for each sequence that needs search; then the best output found is taken (`infer` tells which).
    guard : whether `fit` tries the learner and its base alone on labelled sequences held out, and warns
        (`WorseThanBase`) where rules do harm.

    Attributes
    ----------
    base_ : the fitted base learner; penalties_ : one per rule, inf for hard ones; classes_ : labels; guard_ : a
    `Guard`, or None where nothing was compared.
    """

    def __init__(
        self,
        base: Any,
        rules: Sequence[Rule] | None = None,
        *,
        reading: Literal["hard", "soft"] = "soft",
        counting: Counting = "places",
        method: Method = "exact",
        beam: int = 50,
        time_limit: float | None = None,
        guard: bool = True,
        n_jobs: int = -1,
    ) -> None:
        self.base = base
        self.rules = rules
        self.reading = reading
        self.counting = counting
        self.method = method
        self.beam = beam
        self.time_limit = time_limit
        self.guard = guard
        self.n_jobs = n_jobs

    @guarded
    def fit(self, X: Any, y: Any) -> Self:
        """Train the base learner, and count how often labelled sequences violate the rules."""
        self._check_rules()
        known = check_input(self, X, y)
        classes = self._check_labels(X, known)
        self.base_ = fit_on(self.base, X, y, classes)
        self.classes_ = self.base_.classes_
        self.penalties_ = self._penalties(X, known)
        return self

    @classmethod
    def around(cls, fitted: Any, rules: Sequence[Rule], **parameters: Any) -> "CCM":
        """Rules around a model that is trained already; soft rules then need penalties."""
        check_is_fitted(fitted, "classes_")
        model = cls(fitted, rules, **parameters)
        model._check_rules()
        model.base_, model.classes_ = fitted, fitted.classes_
        model.penalties_, model.guard_ = penalties(list(rules), model._default(), None), None
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
