"""Constraint-driven learning: labelled and unlabelled data with rules (Algorithm 8 of Chang 2011).

    (w_0, ρ_0) = learn(L);  repeat:  label U by argmax_y w·F(x, y) - Σ ρ_k d_k(x, y)
                                     (w, ρ) = β (w_0, ρ_0) + (1 - β) learn(U)

Penalties ρ that are learned as in the thesis (`counting="tokens"`) follow the model in every round. Those by places
stay as the labelled sequences have them: outputs that were found under a rule say nothing about it.

Without rules it is hard EM. With no labelled data it begins from the rules alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from ...errors import DataError
from ...features.encoded import State
from ...inference.compiled import (
    CompiledRules,
    Counting,
    WeighedRules,
    learn_penalties,
    penalties,
    times,
    trusted_penalties,
)
from ...inference.constrained import Method
from ...kernels.compiling import Floats, Ints
from ...labels import encode_labels
from ...progress import progress
from ...rules.language import Rule
from ..choosing.guard import guarded
from ..learner import require_number
from .ccm import RuleLearner
from .mixture import Mixture
from .wrapper import fit_on, numbers_of, split_known

# Penalty per token of a rule whose penalty is to be learned, before anything was.
_UNLEARNED = 10.0


@dataclass(frozen=True)
class CodlStep:
    """One round: the objective, violations of the outputs found, and how many of their labels changed.

    The objective is that of the model and penalties which the round began with (Eq. 3.7 and 3.8 of Chang 2011), over
    the k best outputs of every unlabelled sequence: Σ [w·F - Σ_k ρ_k d_k], the log-prior of the model, and for each
    penalty that is learned per token T log(1 - P) + log P + log(1 - P), where P = 1 / (1 + e^ρ) and T is the number of
    tokens. Where nothing is labelled, or β is 0, rounds after the first never lower it, if the base learner maximises
    its share. In the first round it is that of the model learned from labelled data, or of none.
    """

    iteration: int
    objective: float
    violations: float
    changed: int


class Codl(Mixture, RuleLearner):
    """Constraint-driven learning on any base learner.

    Parameters
    ----------
    base : any learner of sequences.
    rules, reading, counting, method, beam, time_limit, guard : as for `CCM`; no rules make it hard EM.
    balance : β, the weight of the model learned from labelled data. None: 0.5, but 1 where one label has most of
        the labelled tokens: unlabelled sequences do harm there, and `fit` warns that it goes without them.
    iterations : rounds of labelling and learning.
    k : outputs taken of each unlabelled sequence.
    rules_at_prediction : whether `predict` uses the rules, or only the model they shaped.
    random_state : breaks ties where it begins without labelled data.
    verbose, n_jobs : as for `CRF`.

    Attributes
    ----------
    base_ : the model learned from labelled data (None without any); driven_ : the one learned from unlabelled data
    (None where it has no weight); weight_ : the weight of the first; penalties_; classes_; trace_ : a `CodlStep` for
    each round; guard_ : as for `CCM`.
    """

    _usual = 0.5

    def __init__(
        self,
        base: Any,
        rules: Sequence[Rule] | None = None,
        *,
        reading: Literal["hard", "soft"] = "soft",
        counting: Counting = "places",
        balance: float | None = None,
        iterations: int = 5,
        k: int = 1,
        rules_at_prediction: bool = True,
        method: Method = "exact",
        beam: int = 50,
        time_limit: float | None = None,
        guard: bool = True,
        random_state: int = 0,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.base = base
        self.rules = rules
        self.reading = reading
        self.counting = counting
        self.balance = balance
        self.iterations = iterations
        self.k = k
        self.rules_at_prediction = rules_at_prediction
        self.method = method
        self.beam = beam
        self.time_limit = time_limit
        self.guard = guard
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    @guarded
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from labelled sequences and, where y is None, from unlabelled ones."""
        self._check()
        known, rest, read = split_known(self, X, y)
        classes = self._check_labels(X, read)
        if not classes:
            raise DataError("no label is known: give labelled sequences, or rules that name the labels")
        if not known and not self.iterations:
            raise DataError("without labelled sequences there is nothing to learn in 0 iterations")
        base, weight, first = None, 0.0, None
        if known:
            base = fit_on(self.base, [X[i] for i in known], [y[i] for i in known], classes)
            weight = self._labelled_weight(read)
            first = self._penalties_of([X[i] for i in known], [read[i] for i in known], classes)
        with numbers_of(rest):
            pool = [X[i] for i in rest] if weight < 1 else []
            driven, second, trace = self._drive(base, first, weight, pool, classes)
        self.base_, self.driven_, self.classes_, self.trace_ = base, driven, classes, tuple(trace)
        self.weight_ = weight
        self.penalties_ = second
        return self

    def _check(self) -> None:
        self._check_rules()
        self._check_rounds()
        require_number(self, "k", 1, whole=True)

    def _penalties_of(self, X: Any, y: Any, classes: list[str]) -> Floats:
        some = self._task.for_rules(X)
        codes = encode_labels(y, [len(x) for x in some], classes).labels
        learned = CompiledRules.compile(self._rule_list(), some, classes).learn(codes, self.counting)
        return penalties(self._rule_list(), self._default(), learned)

    def _drive(
        self, base: Any, first: Floats | None, weight: float, pool: list[Any], classes: list[str]
    ) -> tuple[Any, Floats, list[CodlStep]]:
        """Rounds of labelling the pool and learning from it: the last model, its penalties, and the trace."""
        driven, current = None, self._first_penalties(first)
        trace: list[CodlStep] = []
        if not pool:
            return driven, current, trace
        rules = CompiledRules.compile(self._rule_list(), self._task.for_rules(pool), classes)
        constant = None if base is None else base.scores(pool)
        before: Ints | None = None
        with progress("CoDL", self.iterations, self.verbose) as tell:
            for iteration in range(1, self.iterations + 1):
                scores = self._mixed(constant, driven, weight, pool, len(classes))
                found = self._best(scores, rules.weigh(current), self.k)
                labels = self._structure.token_labels(found.outputs.values)
                broken, tokens = _violations(rules, labels), int((labels >= 0).sum())
                objective = float(found.scores[found.scores > -np.inf].sum()) + self._prior(current, tokens)
                if driven is not None and hasattr(driven, "log_prior"):
                    objective += driven.log_prior()
                changed = tokens if before is None else int((labels != before).sum())
                violated = float(broken.sum())
                trace.append(CodlStep(iteration, objective, violated, changed))
                tell(iteration, f"objective {objective:.1f}, {changed} labels changed, {violated:.0f} violations")
                if changed == 0:
                    break
                before = labels
                driven = self._learn(pool, labels, scores.offsets.tolist(), classes)
                if self.counting == "places":
                    continue
                learned = penalties(self._rule_list(), self._default(), learn_penalties(broken, tokens))
                mixed = learned if first is None else times(weight, first) + times(1 - weight, learned)
                current = np.where(np.isinf(self._first_penalties(first)), np.inf, mixed)
        return driven, current, trace

    def _first_penalties(self, first: Floats | None) -> Floats:
        """Penalties to begin with; without labelled data those to be learned are what rules are trusted with."""
        if first is not None:
            return first
        nothing = np.zeros(len(self._rule_list()))
        learned = trusted_penalties(nothing, nothing) if self.counting == "places" else nothing + _UNLEARNED
        return penalties(self._rule_list(), self._default(), learned)

    def _prior(self, current: Floats, tokens: int) -> float:
        """Σ_k T log(1 - P_k) + log P_k + log(1 - P_k) over the learned penalties (Eq. 3.8, and the smoothing)."""
        if self.counting == "places":
            return 0.0
        readings = [rule.reading or self._default() for rule in self._rule_list()]
        rho = current[[r.kind == "soft" and r.penalty is None for r in readings]] if readings else current
        return float(-np.sum((tokens + 1) * np.log1p(np.exp(-rho)) + np.logaddexp(0.0, rho)))

    def _learn(self, pool: list[Any], labels: Ints, edges: list[int], classes: list[str]) -> Any:
        """Fit the base learner to the outputs found; labels: (k, tokens), -1 where there are fewer."""
        names = np.array(classes, object)
        X, y = [], []
        for row in labels:
            words = names[np.maximum(row, 0)].tolist()
            for x, a, b in zip(pool, edges[:-1], edges[1:], strict=True):
                if row[a] >= 0:
                    X.append(x)
                    y.append(words[a:b])
        return fit_on(self.base, X, self._task.write(y), classes)

    def _state(self) -> State:
        steps = [[s.iteration, s.objective, s.violations, s.changed] for s in self.trace_]
        return {"weight": self.weight_, "trace": steps}, {"penalties": self.penalties_}

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.weight_, self.penalties_ = values["weight"], arrays["penalties"]
        self.trace_ = tuple(CodlStep(*step) for step in values["trace"])

    def _rules(self, X: Any) -> WeighedRules:
        rules = super()._rules(X)
        return rules if self.rules_at_prediction else replace(rules, penalty=np.zeros_like(rules.penalty))


def _violations(rules: CompiledRules, labels: Ints) -> Floats:
    """Violations of every rule by all outputs; labels: (k, tokens), -1 where there are fewer."""
    total = np.zeros(len(rules.rules))
    for row in labels:
        there = row[rules.offsets[:-1]] >= 0
        total += rules.violations(np.maximum(row, 0))[there].sum(axis=0)
    return total
