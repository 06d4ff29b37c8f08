"""Rules ready for inference on one batch: automata, their penalties, and the scores with the local ones folded in."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ..errors import NotSupported
from ..features.templates import sequence_offsets
from ..kernels.compiling import Floats, Ints, Longs
from ..rules.automata import Automaton, compile_rules
from ..rules.language import Reading, Rule
from ..structures.protocol import Charge, RuledParts

R = TypeVar("R", bound=RuledParts)


@dataclass(frozen=True)
class Stacked:
    """Automata in the kernels' padded layout, see `kernels.search`."""

    kinds: Ints
    events: Ints
    after: Ints
    degree: Floats
    final: Floats
    initial: Ints
    sizes: Longs
    amount: Floats
    slack: Floats
    low: Floats
    high: Floats

    def at(self, tokens: slice) -> tuple[Ints, Ints, Ints, Floats, Floats, Ints]:
        """The kernels' arguments for some tokens."""
        kinds = np.ascontiguousarray(self.kinds[:, tokens])
        return kinds, self.events, self.after, self.degree, self.final, self.initial


@dataclass(frozen=True)
class CompiledRules:
    """The automata of a list of rules on a batch of inputs."""

    rules: tuple[Rule, ...]
    automata: tuple[Automaton, ...]
    offsets: Longs
    labels: int
    owner: tuple[int, ...]  # number of each automaton's rule

    @classmethod
    def compile(cls, rules: Sequence[Rule], X: Sequence[Any], labels: Sequence[str]) -> "CompiledRules":
        """Compile once for a batch; the rules' conditions are evaluated here."""
        by_rule = [compile_rules([rule], X, labels) for rule in rules]
        owner = tuple(k for k, found in enumerate(by_rule) for _ in found)
        automata = tuple(m for found in by_rule for m in found)
        return cls(tuple(rules), automata, sequence_offsets(X), len(labels), owner)

    def sequences(self, first: int, last: int) -> "CompiledRules":
        """The same rules on sequences first to last - 1."""
        a, b = self.offsets[first], self.offsets[last]
        automata = tuple(replace(m, kind=m.kind[a:b]) for m in self.automata)
        return CompiledRules(self.rules, automata, self.offsets[first : last + 1] - a, self.labels, self.owner)

    def violations(self, labels: Ints) -> Floats:
        """Degree of violation of each sequence (rows) and rule (columns) by one output per sequence."""
        from ..kernels import search

        stacked = stack(self.automata, self.labels)
        out = np.zeros((len(self.offsets) - 1, len(self.automata)))
        search.count_violations(self.offsets, labels, *stacked.at(slice(None)), out)
        by_rule = np.zeros((len(out), len(self.rules)))
        for column, rule in enumerate(self.owner):
            by_rule[:, rule] += out[:, column]
        return by_rule

    def weigh(self, penalties: Floats) -> "WeighedRules":
        """With a penalty per rule; inf makes a rule hard."""
        return WeighedRules(self, np.array([penalties[rule] for rule in self.owner], float))


@dataclass(frozen=True)
class WeighedRules:
    """Compiled rules with a penalty for each automaton."""

    compiled: CompiledRules
    penalty: Floats

    def keep(self, numbers: Sequence[int]) -> "WeighedRules":
        """Some of the automata."""
        automata, owner = self.compiled.automata, self.compiled.owner
        some = replace(
            self.compiled, automata=tuple(automata[k] for k in numbers), owner=tuple(owner[k] for k in numbers)
        )
        return WeighedRules(some, self.penalty[list(numbers)])

    def sequence(self, index: int) -> "WeighedRules":
        """The same rules on one sequence."""
        return WeighedRules(self.compiled.sequences(index, index + 1), self.penalty)

    def fold(self, scores: R) -> "tuple[R, WeighedRules]":
        """θ - ρA for every rule that is a sum over the parts of these scores, and the rules that are left.

        Rules without a penalty are neither. The same outputs get the same scores, less the folded rules' penalties.
        """
        charges, left = [], []
        for k in np.flatnonzero(self.penalty > 0).tolist():
            m = self.compiled.automata[k]
            if m.local:
                cost = times(self.penalty[k], m.degree[0][m.events])
                charge = Charge(m.kind, cost, times(self.penalty[k], m.final[0]))
                if scores.takes(charge):
                    charges.append(charge)
                    continue
            left.append(k)
        return scores.charge(charges), self.keep(left)

    @cached_property
    def stacked(self) -> Stacked:
        """The automata in the kernels' layout."""
        return stack(self.compiled.automata, self.compiled.labels)

    def cost(self, labels: Ints) -> Floats:
        """Penalty of one output per sequence, given as labels of tokens."""
        from ..kernels import search

        out = np.zeros((len(self.compiled.offsets) - 1, len(self.penalty)))
        search.count_violations(self.compiled.offsets, labels, *self.stacked.at(slice(None)), out)
        total: Floats = times(self.penalty, out).sum(axis=1)
        return total


def times(penalty: Any, degree: Floats) -> Floats:
    """penalty * degree, with inf * 0 = 0."""
    with np.errstate(invalid="ignore"):
        product: Floats = np.where(degree > 0, penalty * degree, 0.0)
    return product


def stack(automata: Sequence[Automaton], labels: int) -> Stacked:
    """Pad automata to one shape."""
    count = len(automata)
    tokens = len(automata[0].kind) if count else 0
    kinds = max((len(m.events) for m in automata), default=1)
    states = max((len(m.after) for m in automata), default=1)
    events = max((m.after.shape[1] for m in automata), default=1)
    out = Stacked(
        np.zeros((count, tokens), np.int32),
        np.zeros((count, kinds, labels + 1, labels), np.int32),
        np.zeros((count, states, events), np.int32),
        np.zeros((count, states, events)),
        np.zeros((count, states, labels)),
        np.array([m.initial for m in automata], np.int32),
        np.array([len(m.after) for m in automata], np.int64),
        np.zeros((count, events)),
        np.zeros((count, states)),
        np.array([-1.0 if m.two_sided else 0.0 for m in automata]),
        np.array([1.0 if len(m.amount) else 0.0 for m in automata]),
    )
    for k, m in enumerate(automata):
        out.kinds[k] = m.kind
        out.events[k, : len(m.events)] = m.events
        out.after[k, : m.after.shape[0], : m.after.shape[1]] = m.after
        out.degree[k, : m.degree.shape[0], : m.degree.shape[1]] = m.degree
        out.final[k, : len(m.final)] = m.final
        out.amount[k, : len(m.amount)] = m.amount
        out.slack[k, : len(m.slack)] = m.slack
    return out


def penalties(rules: Sequence[Rule], default: Reading, learned: Floats | None) -> Floats:
    """The penalty of every rule: inf for hard ones, the given or the learned one for soft ones."""
    out = np.empty(len(rules))
    for k, rule in enumerate(rules):
        reading = rule.reading or default
        if reading.kind == "expected":
            raise NotSupported(
                f"{rule.title!r} is read as a statement about expectations, which decoding cannot use; "
                "PosteriorRegularization and GeneralizedExpectation learn from it"
            )
        if reading.kind == "hard":
            out[k] = np.inf
        elif reading.penalty is not None:
            out[k] = reading.penalty
        elif learned is None:
            raise NotSupported(f"the penalty of {rule.title!r} is to be learned, which needs labelled sequences")
        else:
            out[k] = learned[k]
    return out


def learn_penalties(violations: Floats, tokens: int, smoothing: float = 1.0) -> Floats:
    """ρ = -log P/(1 - P) with P the violations per token (Eq. 3.10 and Algorithm 7 of Chang 2011), smoothed.

    A rule that is violated at every second token or more gets no penalty.
    """
    share = (violations + smoothing) / (tokens + 2 * smoothing)
    odds: Floats = np.maximum(np.log1p(-np.minimum(share, 0.5)) - np.log(share), 0.0)
    return odds
