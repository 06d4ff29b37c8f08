"""Constraint-driven learning: rules guide how unlabelled data is labelled and learned from (Algorithm 8 of Chang 2011).

    (w_0, ρ_0) = learn(L);  repeat:  label U by argmax_y w·F(x, y) - Σ ρ_k d_k(x, y)
                                     (w, ρ) = β (w_0, ρ_0) + (1 - β) learn(U)

Penalties ρ that are learned as in the thesis (`counting="tokens"`) follow the model in every round. Those by places
stay as the labelled sequences have them: outputs that were found under a rule say nothing about it.

Without rules it is hard EM. With no labelled data it begins from the rules alone.
"""

from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from ...errors import DataError, inputs_called, numbers_of
from ...inference.compiled import learn_penalties, penalties, times, trusted_penalties
from ...inference.readings import RuleReading
from ...kernels.compiling import Floats, Ints
from ...records import Record, recorded
from ...solvers import rounds
from ...supervision import Signal, by_kind
from ..choosing.guard import guarded
from ..decoding import UnderRules
from ..inputs import refuse_weights
from ..learner import Learner
from ..parameters import MixtureParameters, declared, require_number, require_share
from .ccm import (
    RuleParameters,
    check_rules,
    counted_penalties,
    decoder_under_rules,
    default_reading,
    labels_under_rules,
    readings_of,
)
from .em import labelled_weight

# Penalty per token of a rule whose penalty is to be learned, before anything was.
_UNLEARNED = 10.0


@recorded
class CoDLStep(Record):
    """One round: the objective, violations of the outputs found, and how many of their labels changed.

    The objective is that of the model and penalties which the round began with (Eq. 3.7 and 3.8 of Chang 2011), over
    the k best outputs of every unlabelled sequence: Σ [w·F - Σ_k ρ_k d_k], the log-prior of the model, and for each
    penalty that is learned per token T log(1 - P) + log P + log(1 - P), where P = 1 / (1 + e^ρ) and T is the number of
    tokens. Where nothing is labelled, or β is 0, rounds after the first never lower it, if the base learner maximises
    its share. In the first round it is that of the model learned from labelled data, or of none.
    """

    better: ClassVar[str] = "higher"
    drawn: ClassVar[dict[str, str]] = {"violations": "violations of the rules", "changed": "labels changed"}
    iteration: int
    objective: float
    violations: float
    changed: int

    @property
    def comparable(self) -> bool:
        """The first model is that of the labelled sequences alone, or none."""
        return self.iteration > 1

    def __str__(self) -> str:
        return f"objective {self.objective:.1f}, {self.changed} labels changed, {self.violations:.0f} violations"


class _RoundOutputs(NamedTuple):
    """Outputs that a round found: (k, slots), -1 where there are fewer, and y by them; and how they count."""

    labels: Ints
    y: list[list[Any]]
    broken: Floats
    objective: float
    changed: int

    @property
    def tokens(self) -> int:
        """How many labels there are."""
        return int((self.labels >= 0).sum())


@declared
class CoDL(RuleParameters, MixtureParameters, Learner):
    """Constraint-driven learning on any base learner; no rules make it hard EM.

    Attributes
    ----------
    classes_, weight_, penalties_, guard_
    base_, driven_ : learner or None
        The models from labelled and from unlabelled data.
    trace_ : tuple of CoDLStep
        The rounds.
    """

    balance: Annotated[
        float | None,
        "β, the weight of the model learned from labelled data. None: 0.5, but 1 where one label has most of the "
        "labelled tokens: unlabelled sequences do harm there, and `fit` warns that it goes without them.",
    ] = None
    iterations: Annotated[int, "Rounds of labelling and learning."] = 5
    k: Annotated[int, "Outputs taken of each unlabelled sequence."] = 1
    rules_at_prediction: Annotated[bool, "Whether `predict` uses the rules, or only the model they shaped."] = True
    random_state: Annotated[int, "Seed that breaks ties where it begins without labelled data."] = 0

    saved = ("weight_", "penalties_", "trace_")
    keeps_base = True

    @guarded
    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from labelled sequences and, where y is None, from unlabelled ones."""
        refuse_weights(self, sample_weight)
        check_rules(self)
        require_share(self, "balance", "lies between 0 and 1")
        require_number(self, "iterations", 0, whole=True)
        require_number(self, "k", 1, whole=True)
        _, read = self.read_input(X, y)
        which = by_kind(read)
        known, rest = which[Signal.FULL], which[Signal.NOTHING]
        classes = labels_under_rules(self, X, read)
        if not known and not self.iterations:
            raise DataError(f"without labelled {self.task_.noun}s there is nothing to learn in 0 iterations")
        base, weight, first = None, 0.0, None
        if known:
            base = self.fit_base([X[i] for i in known], [y[i] for i in known], classes)
            weight = labelled_weight(self, read, 0.5)
            first = counted_penalties(self, [X[i] for i in known], [read[i] for i in known], classes)
        pool = [X[i] for i in rest] if weight < 1 else []
        way = _Way(self, base, first, weight, pool, classes)
        with inputs_called(self.task_.noun), numbers_of(rest):
            trace = rounds.alternate(
                [None] * (self.iterations if pool else 0), lambda _: way.label(), rounds.InTurn(way.learn),
                lambda number, _, one: CoDLStep(number, one.objective, float(one.broken.sum()), one.changed),
                title="CoDL", verbose=self.verbose, settled=lambda one: one.changed == 0,
            )  # fmt: skip
        self.base_, self.driven_, self.classes_, self.trace_ = base, way.driven, classes, trace
        self.weight_, self.penalties_ = weight, way.current
        return self

    def check_restored(self, labels: list[str]) -> None:
        """Raise `DataError` where what a file says does not fit together."""
        super().check_restored(labels)
        check_rules(self)

    def _decoder(self) -> UnderRules:
        charged = self.penalties_ if self.rules_at_prediction else np.zeros_like(self.penalties_)
        return decoder_under_rules(self, charged)

    def rule_readings(self) -> list[RuleReading]:
        """How each of the rules is used."""
        return readings_of(self)


class _Way:
    """Where the rounds stand: the model learned from the pool, the penalties, and the outputs found last."""

    def __init__(
        self, learner: CoDL, base: Any, first: Floats | None, weight: float, pool: list[Any], classes: list[str]
    ) -> None:
        self.learner, self.weight, self.pool, self.classes = learner, weight, pool, classes
        self.structure, self.task = learner.structure_, learner.task_
        self.driven: Any = None
        self.before: Ints | None = None
        self.listed, self.first = list(learner.rules or ()), first
        self.begun = self.current = self._first_penalties()
        self.constant: Any = None
        if pool:
            self.rules = self.task.compiled(self.listed, self.task.for_rules(pool), classes)
            self.constant = None if base is None else base.scores(pool)

    def _first_penalties(self) -> Floats:
        """Penalties to begin with; without labelled data those to be learned are what rules are trusted with."""
        if self.first is not None:
            return self.first
        nothing = np.zeros(len(self.listed))
        by_places = self.learner.counting == "places"
        learned = trusted_penalties(nothing, nothing) if by_places else nothing + _UNLEARNED
        return penalties(self.listed, default_reading(self.learner), learned)

    def _scores(self) -> Any:
        """Scores of the pool: those of the supervised model mixed with those of the other; chance without any."""
        if self.driven is None and self.constant is None:
            rng = np.random.default_rng(self.learner.random_state)
            offsets = self.rules.offsets
            return self.task.start(offsets, rng.uniform(size=(int(offsets[-1]), len(self.classes))))
        if self.driven is None:
            return self.constant
        scores = self.driven.scores(self.pool)
        return scores if self.constant is None else self.constant.mix(scores, self.weight)

    def label(self) -> _RoundOutputs:
        """The E step: the best outputs under the rules."""
        one = self.learner
        decoder = UnderRules(
            self.structure, self.task, self.listed, self.current, self.classes, one.method, one.beam, one.time_limit
        )
        scores = self._scores()
        found = decoder.best_of(scores, self.rules.weigh(self.current), one.k)
        values = found.outputs.values
        labels = self.structure.token_labels(values)
        y = [self.task.decode(np.where(row < 0, values[0], row), scores, self.classes) for row in values]
        tokens = int((labels >= 0).sum())
        objective = float(found.scores[found.scores > -np.inf].sum()) + self._prior(tokens)
        if self.driven is not None and hasattr(self.driven, "log_prior"):
            objective += self.driven.log_prior()
        changed = tokens if self.before is None else int((labels != self.before).sum())
        return _RoundOutputs(labels, y, _violations(self.rules, labels), objective, changed)

    def _prior(self, tokens: int) -> float:
        """Σ_k T log(1 - P_k) + log P_k + log(1 - P_k) over the learned penalties (Eq. 3.8, and the smoothing)."""
        if self.learner.counting == "places":
            return 0.0
        readings = [rule.reading or default_reading(self.learner) for rule in self.listed]
        rho = self.current[[r.kind == "soft" and r.penalty is None for r in readings]] if readings else self.current
        return float(-np.sum((tokens + 1) * np.log1p(np.exp(-rho)) + np.logaddexp(0.0, rho)))

    def learn(self, found: _RoundOutputs) -> None:
        """The M step: a model of the outputs, and penalties that follow them if they are counted by tokens."""
        self.before = found.labels
        X, y = [], []
        for row, outputs in zip(found.labels, found.y, strict=True):
            there = row[self.rules.offsets[:-1]] >= 0
            X += [x for x, one in zip(self.pool, there, strict=True) if one]
            y += [output for output, one in zip(outputs, there, strict=True) if one]
        self.driven = self.learner.fit_base(X, y, self.classes)
        if self.learner.counting == "places":
            return
        counted = learn_penalties(found.broken, found.tokens)
        learned = penalties(self.listed, default_reading(self.learner), counted)
        mixed = learned if self.first is None else times(self.weight, self.first) + times(1 - self.weight, learned)
        self.current = np.where(np.isinf(self.begun), np.inf, mixed)


def _violations(rules: Any, labels: Ints) -> Floats:
    """Violations of every rule by all outputs; labels: (k, tokens), -1 where there are fewer."""
    total = np.zeros(len(rules.rules))
    for row in labels:
        there = row[rules.offsets[:-1]] >= 0
        total += rules.violations(np.where(row < 0, labels[0], row))[there].sum(axis=0)
    return total
