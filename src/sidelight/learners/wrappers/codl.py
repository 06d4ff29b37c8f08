"""Constraint-driven learning: rules guide how unlabelled data is labelled and learned from (Algorithm 8 of Chang 2011).

    (w_0, ρ_0) = learn(L);  repeat:  label U by argmax_y w·F(x, y) - Σ ρ_k d_k(x, y)
                                     (w, ρ) = β (w_0, ρ_0) + (1 - β) learn(U)

Penalties ρ that are learned as in the thesis (`counting="tokens"`) follow the model in every round. Those by places
stay as the labelled sequences have them: outputs that were found under a rule say nothing about it.

Without rules it is hard EM. With no labelled data it begins from the rules alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from ...declared import declared, require_number, require_share
from ...errors import DataError, NotSupported, inputs_called, numbers_of
from ...features.encoded import same_encoders, some_of
from ...inference.compiled import learn_penalties, penalties, times, trusted_penalties
from ...inference.readings import RuleReading
from ...kernels.compiling import Flags, Floats, Ints, Longs
from ...labels import CodedLabels
from ...records import Record, recorded
from ...running import Scattered, scatter, shards
from ...scorers.chance import RandomScores
from ...solvers import rounds
from ...solvers.losses import blocks
from ...supervision import Signal, by_kind, some_known
from ..choosing.guard import guarded
from ..decoding import UnderRules
from ..inputs import refuse_weights
from ..learner import Learner
from ..parameters import MixtureParameters
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
    """Outputs that a round found: (k, slots), -1 where there are fewer, and y by them; and how they count.

    y: empty where the labels say it all; there: (k, inputs) bool, which outputs there are.
    """

    labels: Ints
    y: list[list[Any]]
    there: Flags
    broken: Floats
    objective: float
    changed: int

    @property
    def tokens(self) -> int:
        """How many labels there are."""
        return int((self.labels >= 0).sum())


class _CoDLFound(NamedTuple):
    """The same of some inputs; score: that of all outputs."""

    labels: Ints
    y: list[list[Any]]
    there: Flags
    broken: Floats
    score: float


class _Driven(NamedTuple):
    """The model learned from the pool; number: that of its encoder among all that the rounds had."""

    learner: Any
    number: int


@dataclass(frozen=True)
class _CoDLCommon:
    """What all shards of the pool need: rules, how outputs are found, and the model of labelled sequences.

    labelled: None if there is none; chance: what outputs begin with then.
    """

    decoder: UnderRules
    k: int
    labelled: Any
    chance: RandomScores


# Tokens of a shard at least, about, since encoders and rules cost something for every shard; and those whose scores are
# in memory at a time.
_LEAST_TOKENS, _BLOCK_TOKENS = 2000, 20_000


@dataclass(frozen=True)
class _CoDLShard:
    """Some inputs of the pool; first, token: the number of the first one, and of its first token.

    kept: what was worked out of them and does not change; inputs on disk, which are read again, keep nothing.
    """

    X: Any
    offsets: Longs
    first: int
    token: int
    kept: dict[Any, Any] = field(default_factory=dict, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return _CoDLShard, (self.X, self.offsets, self.first, self.token)

    def label(self, common: _CoDLCommon, driven: _Driven | None, penalties: Floats, weight: float) -> _CoDLFound:
        """The best outputs under the rules."""
        found = [self._block(common, driven, penalties, weight, a, b) for a, b in blocks(self.offsets, _BLOCK_TOKENS)]
        return _joined(found)

    def _block(
        self, common: _CoDLCommon, driven: _Driven | None, penalties: Floats, weight: float, a: int, b: int
    ) -> _CoDLFound:
        decoder, X = common.decoder, self.X[a:b]
        task, structure, classes = decoder.task, decoder.structure, decoder.classes
        rules = self._keep(("rules", a), lambda: task.compiled(decoder.rules, task.for_rules(X), classes))
        scores = None if common.labelled is None else self._scores(common.labelled, None, X, a)
        if driven is not None:
            other = self._scores(driven.learner, driven.number, X, a)
            scores = other if scores is None else scores.mix(other, weight)
        if scores is None:
            offsets = self.offsets[a : b + 1] - self.offsets[a]
            unary = common.chance.unary(self.token + int(self.offsets[a]), int(offsets[-1]))
            scores = task.start(offsets, unary)
        with numbers_of(range(self.first + a, self.first + b)):
            found = decoder.best_of(scores, rules.weigh(penalties), common.k)
        values = found.outputs.values
        labels = structure.token_labels(values)
        # Where outputs are labels of tokens, numbers are enough.
        written: Any = [] if hasattr(task, "coded") else values
        y = [task.decode(np.where(row < 0, values[0], row), scores, classes) for row in written]
        there = labels[:, rules.offsets[:-1]] >= 0
        broken = np.zeros(len(decoder.rules))
        for row, own in zip(labels, there, strict=True):
            broken += rules.violations(np.where(row < 0, labels[0], row))[own].sum(axis=0)
        return _CoDLFound(labels, y, there, broken, float(found.scores[found.scores > -np.inf].sum()))

    def _scores(self, learner: Any, number: int | None, X: Any, a: int) -> Any:
        """Scores of a learner; inputs are encoded once for each encoder. number: of it, None for labelled sequences."""
        key = "labelled" if number is None else "driven", a
        before, encoded = self.kept.get(key, (-1, None))
        if before != number:
            try:
                encoded = learner.encode(X)
            except NotSupported:  # it reads tokens themselves
                encoded = X
            if isinstance(self.X, list):
                self.kept[key] = number, encoded
        return learner.scores(encoded)

    def _keep(self, key: Any, make: Callable[[], Any]) -> Any:
        """What was made before, if it is kept."""
        if key in self.kept:
            return self.kept[key]
        made = make()
        if isinstance(self.X, list):
            self.kept[key] = made
        return made


def _joined(found: Sequence[_CoDLFound]) -> _CoDLFound:
    """Outputs of several shards as those of one."""
    return _CoDLFound(
        np.concatenate([one.labels for one in found], axis=1),
        [list(chain.from_iterable(one.y[rank] for one in found)) for rank in range(len(found[0].y))],
        np.concatenate([one.there for one in found], axis=1),
        np.sum([one.broken for one in found], axis=0),
        sum(one.score for one in found),
    )


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
        sizes, read = self.read_input(X, y)
        which = by_kind(read)
        known, rest = which[Signal.FULL], which[Signal.NOTHING]
        classes = labels_under_rules(self, X, read)
        if not known and not self.iterations:
            raise DataError(f"without labelled {self.task_.noun}s there is nothing to learn in 0 iterations")
        base, weight, first = None, 0.0, None
        if known:
            labelled = some_of(X, known)
            base = self.fit_base(labelled, some_known(y, known), classes)
            weight = labelled_weight(self, read, 0.5)
            first = counted_penalties(self, labelled, some_known(read, known), classes)
        pool, own = ([], []) if weight == 1 else (some_of(X, rest), [sizes[i] for i in rest])
        way = _Way(self, base, first, weight, pool, own, classes)
        with inputs_called(self.task_.noun), numbers_of(rest):
            trace = rounds.alternate(
                [None] * (self.iterations if len(pool) else 0), lambda _: way.label(), rounds.InTurn(way.learn),
                lambda number, _, one: CoDLStep(number, one.objective, float(one.broken.sum()), one.changed),
                title="CoDL", verbose=self.verbose, settled=lambda one: one.changed == 0, first_needed=base is None,
            )  # fmt: skip
        self.base_, self.driven_, self.classes_, self.trace_ = base, way.driven and way.driven.learner, classes, trace
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


def same_encoding(one: Any, other: Any) -> bool:
    """Whether two fitted learners encode inputs in the same way, so far as that is known."""
    encoders = [getattr(learner.model_, "encoder", None) for learner in (one, other)]
    return all(encoder is not None for encoder in encoders) and same_encoders(*encoders)  # type: ignore[arg-type]


class _Way:
    """Where the rounds stand: the model learned from the pool, the penalties, and the outputs found last."""

    def __init__(
        self,
        learner: CoDL,
        base: Any,
        first: Floats | None,
        weight: float,
        pool: Any,
        sizes: Sequence[Any],
        classes: list[str],
    ) -> None:
        self.learner, self.weight, self.pool, self.classes = learner, weight, pool, classes
        self.driven: _Driven | None = None
        self.before: Ints | None = None
        self.listed, self.first = list(learner.rules or ()), first
        self.begun = self.current = self._first_penalties()
        if len(pool):
            self.shards = self._scattered(base, sizes)

    def _scattered(self, base: Any, sizes: Sequence[Any]) -> Scattered[_CoDLShard]:
        """The pool, where it is labelled."""
        one = self.learner
        decoder = UnderRules(
            one.structure_, one.task_, self.listed, self.current, self.classes, one.method, one.beam, one.time_limit
        )
        lengths = sizes if one.task_.of_labels else [round(one.task_.size_of(x)) for x in self.pool]
        self.offsets: Longs = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        offsets, rng = self.offsets, np.random.default_rng(one.random_state)
        chance = RandomScores.drawn(rng, int(offsets[-1]), len(self.classes))
        parts = [
            _CoDLShard(self.pool[a:b], offsets[a : b + 1] - offsets[a], a, int(offsets[a]))
            for a, b in shards(offsets, _LEAST_TOKENS)
        ]
        return scatter(parts, _CoDLCommon(decoder, one.k, base, chance), one.n_jobs)

    def _first_penalties(self) -> Floats:
        """Penalties to begin with; without labelled data those to be learned are what rules are trusted with."""
        if self.first is not None:
            return self.first
        nothing = np.zeros(len(self.listed))
        by_places = self.learner.counting == "places"
        learned = trusted_penalties(nothing, nothing) if by_places else nothing + _UNLEARNED
        return penalties(self.listed, default_reading(self.learner), learned)

    def label(self) -> _RoundOutputs:
        """The E step: the best outputs under the rules."""
        found = _joined(list(self.shards.map(_CoDLShard.label, self.driven, self.current, self.weight)))
        tokens = int((found.labels >= 0).sum())
        objective = found.score + self._prior(tokens)
        if self.driven is not None and hasattr(self.driven.learner, "log_prior"):
            objective += self.driven.learner.log_prior()
        changed = tokens if self.before is None else int((found.labels != self.before).sum())
        return _RoundOutputs(*found[:4], objective, changed)

    def _prior(self, tokens: int) -> float:
        """Σ_k T log(1 - P_k) + log P_k + log(1 - P_k) over the learned penalties (Eq. 3.8, and the smoothing)."""
        if self.learner.counting == "places":
            return 0.0
        readings = [rule.reading or default_reading(self.learner) for rule in self.listed]
        rho = self.current[[r.kind == "soft" and r.penalty is None for r in readings]] if readings else self.current
        return float(-np.sum((tokens + 1) * np.log1p(np.exp(-rho)) + np.logaddexp(0.0, rho)))

    def _as_y(self, found: _RoundOutputs) -> Any:
        """The best outputs of all inputs as y, then the next best ones."""
        task: Any = self.learner.task_
        return found.y or [task.coded(row, self.offsets, self.classes) for row in found.labels]

    def learn(self, found: _RoundOutputs) -> None:
        """The M step: a model of the outputs, and penalties that follow them if they are counted by tokens."""
        self.before = found.labels
        X, y = self.pool, self._as_y(found)
        if len(y) == 1:
            learner = self.learner.fit_base(X, y[0], self.classes)
        else:
            chosen = [np.flatnonzero(there).tolist() for there in found.there]
            X = some_of(X, list(chain.from_iterable(chosen)))
            some = [some_known(row, which) for row, which in zip(y, chosen, strict=True)]
            coded = isinstance(some[0], CodedLabels)
            y = CodedLabels.joined(some) if coded else list(chain.from_iterable(some))
            learner = self.learner.fit_base(X, y, self.classes)
        number = 0
        if self.driven is not None:
            number = self.driven.number + (not same_encoding(learner, self.driven.learner))
        self.driven = _Driven(learner, number)
        if self.learner.counting == "places":
            return
        counted = learn_penalties(found.broken, found.tokens)
        learned = penalties(self.listed, default_reading(self.learner), counted)
        mixed = learned if self.first is None else times(self.weight, self.first) + times(1 - self.weight, learned)
        self.current = np.where(np.isinf(self.begun), np.inf, mixed)
