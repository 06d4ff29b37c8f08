"""Constraint-driven learning: rules guide how unlabelled data is labelled and learned from (Algorithm 8 of Chang 2011).

    (w_0, ρ_0) = learn(L);  repeat:  label U by argmax_y w·F(x, y) - Σ ρ_k d_k(x, y)
                                     (w, ρ) = β (w_0, ρ_0) + (1 - β) learn(U)

Penalties ρ that are learned as in the thesis (`counting="tokens"`) follow the model in every round. Those by places
stay as the labelled sequences have them: outputs that were found under a rule say nothing about it.

Without rules it is hard EM. With no labelled data it begins from the rules alone.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from ...declared import Bounds, declared
from ...errors import DataError, inputs_called, numbers_of
from ...features.encoded import some_of
from ...inference.compiled import decoding_penalties, learn_penalties, log_prior, penalties, rule_log_odds, times
from ...kernels.compiling import Floats, Ints
from ...labels import CodedLabels
from ...records import Record, recorded
from ...running.forms import Instance, Number, Several, Such
from ...solvers import rounds
from ...solvers.pools import BestOutputs, DrivenModel, LabelledPool
from ...stored import ArraySpec, finite
from ...supervision import Signal, by_kind, some_known
from ..choosing.guard import guarded
from ..decoding import UnderRules
from ..inputs import refuse_weights
from ..learner import Learner
from ..parameters import MixtureParameters
from .ccm import RuleParameters
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
    first_apart: ClassVar[bool] = True
    drawn: ClassVar[dict[str, str]] = {"violations": "violations of the rules", "changed": "labels changed"}
    iteration: int
    objective: float
    violations: float
    changed: int

    def __str__(self) -> str:
        return f"objective {self.objective:.1f}, {self.changed} labels changed, {self.violations:.0f} violations"


class _Round(NamedTuple):
    """Outputs that a round found, its objective, and how many labels are others than in the round before."""

    outputs: BestOutputs
    objective: float
    changed: int


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
        "labelled tokens: unlabelled sequences do harm there, and `fit` warns and leaves them out.",
        Bounds(0, 1),
    ] = None
    iterations: Annotated[int, "Rounds of labelling and learning.", Bounds(0)] = 5
    k: Annotated[int, "Outputs taken of each unlabelled sequence.", Bounds(1)] = 1
    rules_at_prediction: Annotated[bool, "Whether `predict` uses the rules, or only the model they shaped."] = True
    random_state: Annotated[int, "Seed that breaks ties where it begins without labelled data."] = 0

    saved = ("weight_", "penalties_", "trace_")
    keeps_base = True

    @guarded
    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from labelled sequences and, where y is None, from unlabelled ones."""
        refuse_weights(self, sample_weight)
        sizes, read = self.read_input(X, y)
        which = by_kind(read)
        known, rest = which[Signal.FULL], which[Signal.NOTHING]
        classes = self.labels_under_rules(X, read)
        if not known and not self.iterations:
            raise DataError(f"without labelled {self.task_.noun}s there is nothing to learn in 0 iterations")
        base, weight, first = None, 0.0, None
        if known:
            labelled = some_of(X, known)
            base = self.fit_base(labelled, some_known(y, known), classes)
            weight = labelled_weight(self, read, 0.5)
            first = self.counted_penalties(labelled, some_known(read, known), classes)
        pool = [] if weight == 1 else some_of(X, rest)
        way = _Way(self, classes, first, weight, pool)
        if len(pool):
            way.begin(base, [sizes[i] for i in rest])
        with inputs_called(self.task_.noun), numbers_of(rest):
            trace = rounds.alternate(
                [None] * (self.iterations if len(pool) else 0), lambda _: way.label(), rounds.InTurn(way.learn),
                lambda number, _, one: CoDLStep(number, one.objective, float(one.outputs.broken.sum()), one.changed),
                title="CoDL", verbose=self.verbose, settled=lambda one: one.changed == 0, first_needed=base is None,
                form=way.form,
            )  # fmt: skip
        self.base_, self.driven_, self.classes_, self.trace_ = base, way.driven and way.driven.learner, classes, trace
        self.weight_, self.penalties_ = weight, way.current
        return self

    def _decoder(self) -> UnderRules:
        charged = self.penalties_ if self.rules_at_prediction else np.zeros_like(self.penalties_)
        return self.decoder_at(charged, self.labels_)


class _Way:
    """Where the rounds stand: the model learned from the pool, the penalties, and the outputs found last."""

    pool: LabelledPool

    def __init__(self, learner: CoDL, classes: list[str], first: Floats | None, weight: float, X: Any) -> None:
        self.learner, self.classes, self.first, self.weight, self.X = learner, classes, first, weight, X
        self.listed = list(learner.rules or ())
        self.begun = self.current = self._first_penalties()
        self.driven: DrivenModel | None = None
        self.before: Ints | None = None

    def begin(self, base: Any, sizes: Sequence[Any]) -> None:
        """Bring the inputs where they are labelled; base: the model of the labelled ones."""
        one = self.learner
        decoder = one.decoder_at(self.current, self.classes)
        self.pool = LabelledPool.of(self.X, sizes, base, self.weight, decoder, one.k, one.random_state, one.n_jobs)

    def _first_penalties(self) -> Floats:
        """Initial penalties; without labelled data, those to be learned are what a rule without counts has."""
        if self.first is not None:
            return self.first
        nothing = np.zeros(len(self.listed))
        by_places = self.learner.counting == "places"
        learned = decoding_penalties(rule_log_odds(nothing, nothing), "places") if by_places else nothing + _UNLEARNED
        return penalties(self.listed, self.learner.default_reading, learned)

    def label(self) -> _Round:
        """The E step: the best outputs under the rules."""
        found = self.pool.label(self.driven, self.current)
        objective = found.score + self._prior(found.tokens)
        if self.driven is not None and hasattr(self.driven.learner, "log_prior"):
            objective += self.driven.learner.log_prior()
        if self.before is not None and self.before.shape != found.labels.shape:
            raise DataError("the outputs of the last round, which the checkpoint has, are those of other inputs")
        changed = found.tokens if self.before is None else int((found.labels != self.before).sum())
        return _Round(found, objective, changed)

    def form(self) -> Instance:
        """Returns the form of what the E step finds."""
        task: Any = self.learner.task_
        coded, tokens, inputs = hasattr(task, "coded"), int(self.pool.offsets[-1]), len(self.X)
        labels = ArraySpec(
            np.int32, ("ranks", tokens if coded else "slots"), -1, below=len(self.classes) if coded else None
        )
        found = Instance(
            BestOutputs, labels=labels, y=[] if coded else Several(Several(Any, inputs)),
            there=ArraySpec(np.bool_, ("ranks", inputs)), broken=finite(len(self.listed), least=0.0), score=Number(),
        )  # fmt: skip
        outputs = Such(found, lambda one: len(one.there) > 0 and (coded or len(one.y) == len(one.there)))
        return Instance(_Round, outputs=outputs, objective=Number(), changed=Number(0, whole=True))

    def _prior(self, tokens: int) -> float:
        """The log-prior of the penalties that are learned per token."""
        if self.learner.counting == "places":
            return 0.0
        readings = [rule.reading or self.learner.default_reading for rule in self.listed]
        learned = [one.kind == "soft" and one.penalty is None for one in readings]
        return log_prior(self.current[np.array(learned, bool)], tokens)

    def _learned_from(self, found: BestOutputs) -> tuple[Any, Any]:
        """Inputs and outputs to fit the base to: the best outputs of all inputs, then the next best ones."""
        task: Any = self.learner.task_
        y = found.y or [task.coded(row, self.pool.offsets, self.classes) for row in found.labels]
        if len(y) == 1:
            return self.X, y[0]
        chosen = [np.flatnonzero(there).tolist() for there in found.there]
        some = [some_known(row, which) for row, which in zip(y, chosen, strict=True)]
        coded = isinstance(some[0], CodedLabels)
        joined = CodedLabels.joined(some) if coded else list(chain.from_iterable(some))
        return some_of(self.X, list(chain.from_iterable(chosen))), joined

    def learn(self, found: _Round) -> None:
        """The M step: a model of the outputs, and penalties that follow them if they are counted by tokens."""
        outputs = found.outputs
        self.before = outputs.labels
        learner = self.learner.fit_base(*self._learned_from(outputs), self.classes)
        self.driven = DrivenModel(learner) if self.driven is None else self.driven.then(learner)
        if self.learner.counting == "places":
            return
        counted = learn_penalties(outputs.broken, outputs.tokens)
        learned = penalties(self.listed, self.learner.default_reading, counted)
        mixed = learned if self.first is None else times(self.weight, self.first) + times(1 - self.weight, learned)
        self.current = np.where(np.isinf(self.begun), np.inf, mixed)
