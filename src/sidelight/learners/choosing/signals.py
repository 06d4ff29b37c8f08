"""What each signal is to count, by trials on labelled sequences held out.

Every rule is tried alone, around models of labels alone (`rule_costs`). Then all signals together are tried, and again
without the unlabelled sequences, the companions or the partial labels. A signal counts in full unless it costs more
than doubt explains: few labelled sequences are noisy, and most of what people know is true.
"""

import time
import warnings
from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np

from ...kernels.compiling import Floats
from ...records import recorded
from ...rules.language import Rule
from ...supervision import Signal, kind_of
from .guard import Guard
from .rule_costs import RuleCost, rule_costs
from .trials import Difference, Fold, Metric, Trial, compare, folds, prepared

UNLABELLED, COMPANIONS, PARTIAL = "unlabelled", "companions", "partial labels"
# Folds; with more labelled sequences than _MANY the first alone will do. With fewer than _LEAST nothing is tried.
_FOLDS, _MANY, _LEAST = 5, 100, 3
# Sequences of each other kind that a trial learns from, at most, and its rounds.
_MOST, _ROUNDS = 60, 3
# A signal that costs more than half a point, and more than this many standard errors, counts little, or nothing.
_MARGIN, _DOUBT, _SURE = 0.005, 1.5, 2.5
_LITTLE = 0.1
# Why nothing but labels counts.
WORSE = "all signals together are worse than labels alone"


@recorded
class SignalWeight:
    """What a signal counts.

    name: of the signal, or the title of a rule; weight: what it counts, 1 in full; gain, error: of the score by having
    it, over a number of `sequences` held out, with its standard error, nan where that is not known; rule: whether it is
    a rule, which is tried alone; reason: why the gain is not known, or what else speaks against it.
    """

    name: str
    weight: float
    gain: float = float("nan")
    error: float = float("nan")
    sequences: int = 0
    rule: bool = False
    reason: str = ""

    def __str__(self) -> str:
        name = f"rule {self.name!r}" if self.rule else self.name
        more = f" ({self.reason})" if self.reason else ""
        if isnan(self.gain):
            return f"{name}: weight {self.weight:g}{more}"
        if not self.gain and not self.error:
            return f"{name} changes nothing: weight {self.weight:g}{more}"
        verb = "costs" if self.gain < 0 else "gains"
        points = f"{100 * abs(self.gain):.1f} ± {100 * self.error:.1f} points"
        return f"{name} {verb} {points}: weight {self.weight:g}{more}"


def choose_weights(
    learner: Any, X: Sequence[Any], read: Sequence[Any], counts: Floats, classes: Sequence[str]
) -> tuple[Guard | None, tuple[SignalWeight, ...]]:
    """Returns how all signals compare with labels alone, and what each of them is to count."""
    kinds, rules = [kind_of(one) for one in read], list(learner.rules or ())
    there = [
        name
        for name, present in (
            (UNLABELLED, any(k is not Signal.FULL for k in kinds)),
            (COMPANIONS, Signal.COMPANION in kinds),
            (PARTIAL, Signal.PARTIAL in kinds),
        )
        if present
    ]
    if not there and not rules:
        return None, ()
    noun = learner.task_.noun
    if kinds.count(Signal.FULL) < _LEAST or noun != "sequence":
        few = (
            f"trials are of sequences, not of {noun}s" if noun != "sequence" else "too few labelled sequences to try it"
        )
        return None, tuple(
            SignalWeight(name, 1.0, rule=rule, reason=few)
            for name, rule in (*((one, False) for one in there), *((one.title, True) for one in rules))
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of models that nobody keeps
        return _Trials(learner, X, read, counts, classes, rules).choose(there)


class _Trials:
    """Trials with a sample of the sequences that are not labelled in full."""

    def __init__(
        self, learner: Any, X: Sequence[Any], read: Sequence[Any], counts: Floats, classes: Sequence[str],
        rules: list[Rule],
    ) -> None:  # fmt: skip
        self.begin, self.learner, self.classes, self.rules = time.perf_counter(), learner, classes, rules
        kept = _sample(read)
        self.X, self.y, self.counts = [X[i] for i in kept], [read[i] for i in kept], counts[kept]
        self.metric, self.parts = Metric.choose(self.y), folds(self.y, _FOLDS)
        if sum(map(len, self.parts)) > _MANY:
            self.parts = self.parts[:1]

    def choose(self, there: Sequence[str]) -> tuple[Guard, tuple[SignalWeight, ...]]:
        """Rules first, then the others, all beside labels alone."""
        nothing = dict.fromkeys((UNLABELLED, COMPANIONS, PARTIAL), 0.0)
        bases = self.folds(nothing, rules=[])
        alone = Trial.of(bases)
        found = [_of_rule(cost) for cost in self._costs(bases)]
        weights = {one.name: one.weight for one in found}
        whole = Trial.of(self.folds(weights))
        signals = []
        for name in there:
            signals.append(self._of_group(name, weights, whole))
            if signals[-1].weight < 1.0:
                weights[name] = signals[-1].weight
                whole = Trial.of(self.folds(weights))
        difference = compare(whole, alone)
        guard = Guard(
            self.metric.name, "labels", whole.score, alone.score, difference.error, difference.sequences,
            seconds=time.perf_counter() - self.begin,
        )  # fmt: skip
        signals += found
        if (-difference).beyond(_DOUBT, _MARGIN):
            signals = [SignalWeight(s.name, 0.0, s.gain, s.error, s.sequences, s.rule, WORSE) for s in signals]
        return guard, tuple(signals)

    def _costs(self, bases: list[Fold]) -> list[RuleCost]:
        tried = [rule for rule in self.rules if rule.reading is None or rule.reading.kind != "hard"]
        return rule_costs(tried, self.X, self.y, bases, self.metric) if tried else []

    def _of_group(self, name: str, weights: Mapping[str, float], whole: Trial) -> SignalWeight:
        """Full weight, unless that costs; then what is best of little and nothing."""
        without = Trial.of(self.folds({**weights, name: 0.0}))
        gain = compare(whole, without)
        if not (-gain).beyond(_DOUBT, _MARGIN):
            return SignalWeight(name, 1.0, gain.mean, gain.error, gain.sequences)
        little = Trial.of(self.folds({**weights, name: _LITTLE}))
        weight = _LITTLE if little.score > without.score else 0.0
        return SignalWeight(name, weight, gain.mean, gain.error, gain.sequences)

    def folds(self, weights: Mapping[str, float], **parameters: Any) -> list[Fold]:
        """Hold out each part in turn."""
        out = []
        for part in self.parts:
            begin, away = time.perf_counter(), set(part)
            left = [i for i in range(len(self.y)) if i not in away]
            twin = prepared(self.learner, self.classes)
            twin.set_params(weights=dict(weights), iterations=min(_ROUNDS, twin.iterations), **parameters)
            model = twin.fit([self.X[i] for i in left], [self.y[i] for i in left], sample_weight=self.counts[left])
            held = [self.X[i] for i in part]
            counted = self.metric.counts([self.y[i] for i in part], model.predict(held))
            out.append(Fold(tuple(part), counted, time.perf_counter() - begin, model))
        return out


def _of_rule(cost: RuleCost) -> SignalWeight:
    """Full weight unless the rule costs, or labelled sequences break it mostly."""
    loss: Difference = -cost.difference
    weight, reason = 1.0, cost.reason or ""
    if cost.broken is not None and cost.broken.mostly:
        weight, reason = 0.0, f"broken at {cost.broken}"
    elif loss.beyond(_SURE, _MARGIN):
        weight = 0.0
    elif loss.beyond(_DOUBT, _MARGIN):
        weight = _LITTLE
    return SignalWeight(cost.rule, weight, cost.gain, cost.error, cost.sequences, True, reason)


def _sample(read: Sequence[Any], seed: int = 0) -> list[int]:
    """All fully labelled sequences, and some of every other kind."""
    rng, kinds = np.random.default_rng(seed), dict[Any, list[int]]()
    for i, one in enumerate(read):
        kind = kind_of(one)
        kinds.setdefault(one if kind is Signal.COMPANION else kind, []).append(i)
    kept = [
        some if kind is Signal.FULL or len(some) <= _MOST else rng.choice(some, _MOST, replace=False).tolist()
        for kind, some in kinds.items()
    ]
    return sorted(i for some in kept for i in some)
