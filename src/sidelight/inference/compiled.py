"""Rules ready for inference on one batch: automata, their penalties, and the scores with the local ones folded in."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from ..errors import DataError, NotSupported
from ..features.templates import sequence_offsets
from ..kernels.compiling import Floats, Ints, Longs
from ..rules.automata import Automaton, compiled_by_rule
from ..rules.language import Reading, Rule
from ..structures.protocol import Charge, RuledParts

if TYPE_CHECKING:
    from .constrained import Constrained

R = TypeVar("R", bound=RuledParts)
# Before a rule is seen on labelled data it is as if it had held in this many places, and been broken in this many.
_TRUST, _DOUBT = 30.0, 0.1
# Penalty per unit of log-odds of a soft rule of CCM and CoDL (docs/defaults.md, "Learned penalties").
PENALTY_PER_LOG_ODDS = 1.5
Counting = Literal["places", "tokens"]


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
        by_rule = compiled_by_rule(rules, X, labels)
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
        return self._by_rule(self._degrees(labels))

    def learn(self, labels: Ints, counting: Counting = "places") -> Floats:
        """The log-odds of every rule, by counting violations of the gold outputs, one for each sequence."""
        if counting == "tokens":
            return learn_penalties(self.violations(labels).sum(axis=0), len(labels))
        return rule_log_odds(self.broken(labels), self.places)

    def learn_from(self, known: Any, counting: Counting = "places") -> Floats:
        """The same from labels that are known."""
        return self.learn(known.labels, counting)

    def broken(self, labels: Ints) -> Floats:
        """At how many of the `places` of each rule one output per sequence violates it."""
        degrees = self._degrees(labels)
        counting = np.array([m.local for m in self.automata], bool)
        broken: Floats = self._by_rule(np.where(counting, degrees, degrees > 0)).sum(axis=0)
        return broken

    @cached_property
    def places(self) -> Floats:
        """In how many places each rule can be violated: tokens, or for a rule about whole outputs sequences.

        A rule of several automata, such as one for `each` label, has the places of all of them.
        """
        inner = np.ones(int(self.offsets[-1]), bool)
        inner[self.offsets[:-1]] = False
        out = np.zeros((1, len(self.automata)))
        for number, m in enumerate(self.automata):
            if not m.local:
                out[0, number] = len(self.offsets) - 1
                continue
            cost = m.degree[0][m.events]
            after, at_start = (cost[:, :-1].max(axis=(1, 2)) > 0)[m.kind], (cost[:, -1].max(axis=1) > 0)[m.kind]
            out[0, number] = np.where(inner, after, at_start).sum() + (len(self.offsets) - 1) * (m.final[0].max() > 0)
        places: Floats = self._by_rule(out)[0]
        return places

    def _degrees(self, labels: Ints) -> Floats:
        """Degree of violation of each sequence and automaton."""
        from ..kernels import search

        if len(labels) != self.offsets[-1]:
            raise DataError(
                f"the rules were compiled for {self.offsets[-1]} tokens, and there are {len(labels)} labels"
            )
        stacked = stack(self.automata, self.labels)
        out = np.zeros((len(self.offsets) - 1, len(self.automata)))
        search.count_violations(self.offsets, labels, *stacked.at(slice(None)), out)
        return out

    def _by_rule(self, columns: Floats) -> Floats:
        """Columns of automata added up to columns of rules."""
        out = np.zeros((len(columns), len(self.rules)))
        for column, rule in enumerate(self.owner):
            out[:, rule] += columns[:, column]
        return out

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

    def folded(self, scores: R) -> tuple[R, str | None]:
        """Scores less penalties, and the title of a rule that is no sum over parts, None if all are."""
        folded, rest = self.fold(scores)
        return folded, rest.compiled.automata[0].title if rest.compiled.automata else None

    def best(self, structure: Any, scores: R, **options: Any) -> "Constrained":
        """The best outputs under the rules; see `constrained.best_outputs`."""
        from .constrained import best_outputs

        return best_outputs(structure, scores, self, **options)

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


def rule_log_odds(broken: Floats, places: Floats) -> Floats:
    """log (h / b): how many places speak for each rule, and how many against it.

    b are the places where labelled data breaks the rule, and a little more; h are those where it holds, and as many
    more as a rule is trusted before it is seen, less and less of them the more often it is broken. So a rule about
    words that the labelled data lacks counts almost as much as one that always holds there. A rule that is broken in
    every second place counts little, the less the more places there are (0.9 with 10, 0.1 with 100 of them), and one
    that is broken nearly everywhere counts nothing.
    """
    places = np.maximum(places, broken)
    share = np.divide(broken, places, out=np.zeros_like(places), where=places > 0)
    holding = places - broken + _TRUST * (1.0 - share) ** 2
    with np.errstate(divide="ignore"):
        odds: Floats = np.maximum(np.log(holding) - np.log(broken + _DOUBT), 0.0)
    return odds


def decoding_penalties(log_odds: Floats, counting: Counting) -> Floats:
    """Returns learned penalties for decoding: 1.5 times the log-odds by places, or those per token as in the thesis."""
    return PENALTY_PER_LOG_ODDS * log_odds if counting == "places" else log_odds


def learn_penalties(violations: Floats, tokens: int, smoothing: float = 1.0) -> Floats:
    """ρ = -log P/(1 - P) with P the violations per token (Eq. 3.10 and Algorithm 7 of Chang 2011), smoothed.

    A rule that is violated at every second token or more gets no penalty.
    """
    share = (violations + smoothing) / (tokens + 2 * smoothing)
    odds: Floats = np.maximum(np.log1p(-np.minimum(share, 0.5)) - np.log(share), 0.0)
    return odds


def log_prior(penalties: Floats, tokens: int) -> float:
    """Σ T log(1 - P) + log P + log(1 - P) over penalties, of T tokens (Eq. 3.8 of Chang 2011, and the smoothing)."""
    return float(-np.sum((tokens + 1) * np.log1p(np.exp(-penalties)) + np.logaddexp(0.0, penalties)))
