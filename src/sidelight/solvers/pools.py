"""E steps over a pool of inputs whose outputs are not known in full, shard by shard; only models and sums travel.

`CountedPool` expects counts, for EM. `LabelledPool` finds the best outputs under rules, for hard EM and
constraint-driven learning. Both mix the scores of a model of labelled inputs with those of the model that was learned
from the pool, which is there from the second round on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ..errors import NotSupported, numbers_of
from ..features.encoded import Encoded, same_encoders
from ..kernels.compiling import Flags, Floats, Ints, Longs
from ..running import Scattered, scatter, shards
from ..scorers.chance import RandomScores
from ..structures.protocol import Structure
from .losses import blocks

# Expected counts ------------------------------------------------------------------------------------------------------


class ExpectedCounts(NamedTuple):
    """What an E step of EM finds: the objective, and expected counts."""

    objective: float
    counts: Any


class _Counting(NamedTuple):
    """What all shards of the pool need: how parts are counted, and the model of labelled inputs, if there is one."""

    counting: Any
    labelled: Any


@dataclass(frozen=True)
class CountedShard:
    """Some inputs of the pool, as the model learned from it encodes them and as that of labelled inputs does.

    known: what is known of their outputs; first, token: the numbers of the first input and of its first token in the
    pool.
    """

    structure: Structure[Any]
    encoded: Encoded
    by_labelled: Encoded | None
    known: Any
    first: int
    token: int

    def expect(self, common: _Counting, tables: Any, weight: float) -> tuple[float, Any]:
        """Σ log Z, and expected counts; tables: of the model learned from the pool, None before there is one."""
        total, sums = 0.0, common.counting.expectation()
        for a, b in blocks(self.encoded.offsets):
            block = self.encoded.sequences(a, b)
            scores = None
            if self.by_labelled is not None:
                scores = common.labelled.scores(self.by_labelled.sequences(a, b))
            if tables is not None:
                driven = tables.scores(block, self.token + int(self.encoded.offsets[a]))
                scores = driven if scores is None else scores.mix(driven, weight)
            if self.known is not None:
                scores = self.known.inputs(a, b).restrict(scores)
            with numbers_of(range(self.first + a, self.first + b)):
                marginals = self.structure.marginals(scores)
            total += float(marginals.log_partition.sum())
            sums.add(block, marginals.parts)
        return total, sums.total()


@dataclass(frozen=True)
class CountedPool:
    """A pool where counts are expected; weight: what the model of labelled inputs counts, of 1."""

    held: Scattered[CountedShard]
    weight: float

    @classmethod
    def of(
        cls, X: Any, encoded: Encoded, known: Any, labelled: Any, weight: float, counting: Any, structure: Any
    ) -> "CountedPool":
        """Inputs, and what is known of their outputs, None for nothing; labelled: the model of labelled inputs."""
        by_labelled = None if labelled is None else labelled.encode(X)
        parts = [
            CountedShard(
                structure, encoded.sequences(a, b), None if by_labelled is None else by_labelled.sequences(a, b),
                None if known is None else known.inputs(a, b), a, int(encoded.offsets[a]),
            )
            for a, b in shards(encoded.offsets)
        ]  # fmt: skip
        common = _Counting(counting, None if labelled is None else labelled.scorer_)
        return cls(scatter(parts, common, structure.n_jobs), weight)

    def expect(self, tables: Any, prior: float) -> ExpectedCounts:
        """Returns the objective, Σ log Z and the log-prior of the model, and expected counts."""
        objective, counts = prior, None
        for log_z, some in self.held.map(CountedShard.expect, tables, self.weight):
            objective, counts = objective + log_z, some if counts is None else counts + some
        return ExpectedCounts(objective, counts)


# The best outputs under rules -----------------------------------------------------------------------------------------

# Tokens of a shard at least, about, since encoders and rules cost something for every shard; and those whose scores are
# in memory at a time.
_LEAST_TOKENS, _BLOCK_TOKENS = 2000, 20_000


class BestOutputs(NamedTuple):
    """The k best outputs of inputs: (k, slots), -1 where there are fewer, and y by them; and how they count.

    y: empty where the labels say it all; there: (k, inputs) bool, which outputs there are; broken: (rules,) degrees of
    violation, added up; score: that of all outputs.
    """

    labels: Ints
    y: list[list[Any]]
    there: Flags
    broken: Floats
    score: float

    @property
    def tokens(self) -> int:
        """How many labels there are."""
        return int((self.labels >= 0).sum())

    @classmethod
    def joined(cls, found: Sequence["BestOutputs"]) -> "BestOutputs":
        """Those of several lots of inputs as those of one."""
        return cls(
            np.concatenate([one.labels for one in found], axis=1),
            [list(chain.from_iterable(one.y[rank] for one in found)) for rank in range(len(found[0].y))],
            np.concatenate([one.there for one in found], axis=1),
            np.sum([one.broken for one in found], axis=0),
            sum(one.score for one in found),
        )


class DrivenModel(NamedTuple):
    """The model learned from the pool; number: that of its encoder among all that the rounds had."""

    learner: Any
    number: int = 0

    def then(self, learner: Any) -> "DrivenModel":
        """The model of the next round."""
        encoders: list[Any] = [getattr(one.model_, "encoder", None) for one in (learner, self.learner)]
        same = all(one is not None for one in encoders) and same_encoders(*encoders)
        return DrivenModel(learner, self.number + (not same))


@dataclass(frozen=True)
class Labeller:
    """What all shards of the pool need: rules and how outputs are found, and the model of labelled inputs.

    decoder: finds the best outputs under rules (`learners.decoding.UnderRules`); labelled: None if there is none;
    chance: what outputs begin with then, and only then.
    """

    decoder: Any
    k: int
    labelled: Any
    chance: RandomScores | None


@dataclass(frozen=True)
class LabelledShard:
    """Some inputs of the pool; first, token: the number of the first one, and of its first token.

    kept: what was worked out of them and does not change; inputs on disk, which are read again, keep nothing.
    """

    X: Any
    offsets: Longs
    first: int
    token: int
    kept: dict[Any, Any] = field(default_factory=dict, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return LabelledShard, (self.X, self.offsets, self.first, self.token)

    def label(self, common: Labeller, driven: DrivenModel | None, penalties: Floats, weight: float) -> BestOutputs:
        """The best outputs under the rules."""
        found = [self._block(common, driven, penalties, weight, a, b) for a, b in blocks(self.offsets, _BLOCK_TOKENS)]
        return BestOutputs.joined(found)

    def _block(
        self, common: Labeller, driven: DrivenModel | None, penalties: Floats, weight: float, a: int, b: int
    ) -> BestOutputs:
        decoder, X = common.decoder, self.X[a:b]
        task, structure, classes = decoder.task, decoder.structure, decoder.classes
        rules = self._keep(("rules", a), lambda: task.compiled(decoder.rules, task.for_rules(X), classes))
        scores = None if common.labelled is None else self._scores(common.labelled, None, X, a)
        if driven is not None:
            other = self._scores(driven.learner, driven.number, X, a)
            scores = other if scores is None else scores.mix(other, weight)
        if scores is None:
            assert common.chance is not None
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
        return BestOutputs(labels, y, there, broken, float(found.scores[found.scores > -np.inf].sum()))

    def _scores(self, learner: Any, number: int | None, X: Any, a: int) -> Any:
        """Scores of a learner; inputs are encoded once for each encoder. number: of it, None for labelled inputs."""

        def encoded() -> Any:
            try:
                return learner.encode(X)
            except NotSupported:  # it reads tokens themselves
                return X

        return learner.scores(self._keep(("labelled" if number is None else "driven", a), encoded, number))

    def _keep(self, key: Any, make: Callable[[], Any], number: int | None = None) -> Any:
        """What was made before, if it is kept and has this number."""
        before, made = self.kept.get(key, (-1, None))
        if before != number:
            made = make()
            if isinstance(self.X, list):
                self.kept[key] = number, made
        return made


@dataclass(frozen=True)
class LabelledPool:
    """A pool where the best outputs are found; weight: what the model of labelled inputs counts, of 1."""

    held: Scattered[LabelledShard]
    offsets: Longs
    weight: float

    @classmethod
    def of(
        cls, X: Any, sizes: Sequence[Any], labelled: Any, weight: float, decoder: Any, k: int, seed: int, n_jobs: int
    ) -> "LabelledPool":
        """Inputs of these sizes; labelled: the model of labelled inputs, without which random scores come first."""
        lengths = sizes if decoder.task.of_labels else [round(decoder.task.size_of(x)) for x in X]
        offsets: Longs = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        chance = None
        if labelled is None:
            chance = RandomScores.drawn(np.random.default_rng(seed), int(offsets[-1]), len(decoder.classes))
        parts = [
            LabelledShard(X[a:b], offsets[a : b + 1] - offsets[a], a, int(offsets[a]))
            for a, b in shards(offsets, _LEAST_TOKENS)
        ]
        return cls(scatter(parts, Labeller(decoder, k, labelled, chance), n_jobs), offsets, weight)

    def label(self, driven: DrivenModel | None, penalties: Floats) -> BestOutputs:
        """Returns the best outputs under the rules with these penalties."""
        return BestOutputs.joined(list(self.held.map(LabelledShard.label, driven, penalties, self.weight)))
