"""Rules compiled for a batch: every rule becomes small automata that read the labels of tokens from left to right.

An automaton sees an *event* at every token, given by the kind of position (which conditions hold there) and by the
labels of the token and of the one before; it moves from state to state and counts violations. A count with a bound is
a counter that stops where more does not matter; logic is the product of counters. An automaton with one state is a
*local* rule: its violations are a sum over steps from label to label, which fold into the scores of parts that take it.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import DataError, did_you_mean, listed
from ..features.templates import sequence_offsets
from ..kernels.compiling import Floats, Ints, Longs
from .conditions import Mask, Where, mask_of
from .labels import Labels, labels_meant
from .language import Rule, require_rule

# Entries of one table over label pairs, and of those of all rules together: several arrays have as many while a rule is
# compiled.
_MOST_PAIRS, MOST_ENTRIES = 1 << 25, 1 << 28


class Batch:
    """A batch of inputs and the labels that outputs can have; what several rules ask of it is found once."""

    def __init__(self, X: Sequence[Any], labels: Sequence[str]) -> None:
        self.X, self.labels = X, labels
        self._masks: dict[int, tuple[Where, Mask]] = {}  # by identity, which the condition beside it keeps

    @cached_property
    def offsets(self) -> Longs:
        """Where sequences begin and end among the tokens of the batch."""
        return sequence_offsets(self.X)

    @cached_property
    def longest(self) -> int:
        """The number of tokens of the longest sequence, so that no counter takes more steps."""
        return int(np.diff(self.offsets).max())

    def holds(self, condition: Where) -> Mask:
        """Where a condition holds: (tokens,) bool, not to be changed."""
        if id(condition) not in self._masks:
            self._masks[id(condition)] = condition, mask_of(condition, self.X)
        return self._masks[id(condition)][1]


@dataclass(frozen=True)
class Compilation:
    """One rule on a batch of inputs.

    rule: as it was given, which errors name; title: what tables call this share of it, such as "once [author]".
    """

    rule: Rule
    title: str
    batch: Batch

    @property
    def labels(self) -> Sequence[str]:
        """The labels that outputs can have."""
        return self.batch.labels

    @property
    def offsets(self) -> Longs:
        """Where sequences begin and end among the tokens of the batch."""
        return self.batch.offsets

    @property
    def tokens(self) -> int:
        """The number of tokens in the batch."""
        return int(self.offsets[-1])

    @property
    def longest(self) -> int:
        """The number of tokens of the longest sequence, so that no counter takes more steps."""
        return self.batch.longest

    def members(self, these: Labels) -> Floats:
        """0/1 over labels: whether each is one of these. A label that does not exist is an error."""
        inside, unknown = these.among(self.labels)
        _refuse(self.rule, unknown, self.labels)
        found = np.array(inside, float)
        return 1 - found if these.all_but else found

    def members_by_run(self, these: Labels) -> Floats:
        """`members` for a rule about runs of one label, in which no name can mean all labels of a type of spans."""
        for name in () if these.all_but else these.named:
            meant = labels_meant(name, self.labels)
            if meant not in ([name], []):
                begin = [label for label in meant if label[0] in "BSU"] or meant
                raise DataError(
                    f"rule {self.rule.title!r} is about runs of one label, and {name!r} means {listed(meant)}; the "
                    f"number of these spans is count({', '.join(map(repr, begin))})"
                )
        return self.members(these)

    def holds(self, condition: Where | None) -> Mask:
        """Where a condition holds: (tokens,) bool; None holds everywhere."""
        if condition is None:
            return np.ones(self.tokens, bool)
        try:
            return self.batch.holds(condition)
        except DataError as error:
            raise DataError(f"rule {self.rule.title!r}: {error}") from error.__cause__


@dataclass(frozen=True)
class Automaton:
    """One rule (or one label's share of it) over a batch.

    kind: (tokens,) int32 kind of position; events: (kinds, labels + 1, labels) int32, the event for (kind, label
    before, label), with `labels` as the label before the first token; after: (states, events) int32 next state;
    degree: (states, events) violation at that step; final: (states, labels) violation at the end, by the last label.
    A counter also tells what bounds the violations to come: from state s on they are at least Σ amount - slack[s], and
    if `two_sided` also at least its negative. amount: (events,), slack: (states,); both empty if nothing is known.
    """

    rule: Rule
    title: str
    kind: Ints
    events: Ints
    after: Ints
    degree: Floats
    final: Floats
    initial: int = 0
    amount: Floats = field(default_factory=lambda: np.empty(0))
    slack: Floats = field(default_factory=lambda: np.empty(0))
    two_sided: bool = False

    @classmethod
    def of_labels(
        cls, at: Compilation, events: Any, after: Any, degree: Any, final: Any = None, initial: int = 0
    ) -> "Automaton":
        """An automaton for which all positions are alike: events is (labels + 1, labels), and final may be none."""
        kind, nothing = np.zeros(at.tokens, np.int32), np.zeros((len(after), len(at.labels)))
        return cls(
            at.rule, at.title, kind, np.array(events, np.int32)[None], np.array(after, np.int32),
            np.array(degree, float), nothing if final is None else np.array(final, float), initial,
        )  # fmt: skip

    @property
    def local(self) -> bool:
        """Whether the violations are a sum over steps from one label to the next."""
        return len(self.after) == 1

    def charged(self, labels: Sequence[int]) -> list[int]:
        """The steps at which it counts violations in the labels of a batch of one sequence.

        A step is the number of its token; as many as there are tokens stands for the end.
        """
        state, before, found = self.initial, self.events.shape[2], []
        for t, label in enumerate(labels):
            event = self.events[self.kind[t], before, label]
            if self.degree[state, event] > 0:
                found.append(t)
            state, before = self.after[state, event], label
        return [*found, len(labels)] if self.final[state, before] > 0 else found


def compile_rules(rules: Sequence[Rule], X: Sequence[Any], labels: Sequence[str]) -> list[Automaton]:
    """All automata of all rules on a batch. Labels that do not exist are an error."""
    return [automaton for found in compiled_by_rule(rules, X, labels) for automaton in found]


def compiled_by_rule(rules: Sequence[Rule], X: Sequence[Any], labels: Sequence[str]) -> list[list[Automaton]]:
    """The automata of each rule on a batch."""
    batch, out, automata = Batch(X, labels), list[list[Automaton]](), 0
    for rule in rules:
        singles = require_rule(rule).expand(labels, rule.title)
        automata += len(singles)
        require_tables(rule, labels, automata)
        out.append([one for title, single in singles for one in single.automata(Compilation(rule, title, batch))])
    return out


def require_tables(rule: Rule, labels: Sequence[str], tables: int = 1) -> None:
    """Raise `DataError` where tables over label pairs, one of them of this rule, would take too much memory.

    tables: how many there are by then, one for each label or kind of position that rules tell apart.
    """
    count = len(labels)
    if count * (count + 1) > _MOST_PAIRS or tables * count * (count + 1) > MOST_ENTRIES:
        size, noun = 4 * tables * count * (count + 1) / 1e9, "a table" if tables == 1 else f"{tables:,} tables"
        raise DataError(
            f"the rule {rule.title!r} over {count:,} labels needs {noun} of label pairs, which would take {size:,.1f} "
            "GB of memory; leave out labels that the data do not have, or write rules for fewer of them"
        )


def require_rule_tables(rules: Iterable[Rule], labels: Sequence[str]) -> None:
    """Raise `DataError` where a rule names labels, and a table over pairs of all labels would take too much memory."""
    for rule in rules:
        if labels_named([rule]):
            require_tables(rule, labels)


def labels_named(rules: Iterable[Rule], known: Collection[str] = ()) -> set[str]:
    """All labels that rules name, without types of spans whose labels are known."""
    names = {name for rule in rules for these in require_rule(rule).label_sets() for name in these.named}
    return {name for name in names if name in known or not labels_meant(name, list(known))}


def _refuse(rule: Rule, unknown: Sequence[str], known: Sequence[str]) -> None:
    """Raise `DataError` where names in a rule mean none of the known labels; unknown: these names."""
    if unknown:
        raise DataError(
            f"rule {rule.title!r} names the label {unknown[0]!r}; known are {', '.join(map(str, known))}"
            f"{did_you_mean(unknown[0], map(str, known))}"
        )


def require_known_labels(rules: Iterable[Rule], known: Sequence[str]) -> None:
    """Raise `DataError` where a rule names what is neither a known label nor the type of known labels."""
    for rule in rules:
        _refuse(rule, sorted(labels_named([rule], known).difference(known)), known)


def require_suited(rules: Iterable[Rule], known: Sequence[str]) -> None:
    """Raise `DataError` where the labels of the data do not suit a rule, such as `bio()` with no label that begins."""
    for rule in rules:
        complaint = rule.complaint(known)
        if complaint:
            raise DataError(f"the rule {rule.title!r} {complaint}")


def about_whole_outputs(rule: Rule) -> bool:
    """Whether a rule is surely no sum over labels and neighbours, so that no chain of order 2 can keep to it."""
    return require_rule(rule).about_whole_outputs


def about_the_corpus(rule: Rule) -> bool:
    """Whether a rule, or a part of it, is about the corpus."""
    return require_rule(rule).about_corpus
