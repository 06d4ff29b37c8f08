"""Rules compiled: every rule becomes small automata that read the labels of tokens from left to right.

An automaton sees an *event* at every token, given by the kind of position (which conditions hold there) and by the
labels of the token and of the one before; it moves from state to state and counts violations. A count with a bound is
a counter that stops where more does not matter; logic is the product of counters. An automaton with one state is a
*local* rule: its violations are a sum over steps from label to label, which fold into the scores of parts that take it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import ceil, floor, prod
from typing import Any

import numpy as np

from ..errors import DataError, NotSupported
from ..features.templates import sequence_offsets
from ..kernels.compiling import Floats, Ints, Longs
from .conditions import mask_of
from .language import Before, Comparison, Count, Each, FewLabels, Labels, Logic, MinLength, Rule

_LARGEST = 4096


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

    @property
    def local(self) -> bool:
        """Whether the violations are a sum over steps from one label to the next."""
        return len(self.after) == 1


def compile_rules(rules: Sequence[Rule], X: Sequence[Any], labels: Sequence[str]) -> list[Automaton]:
    """All automata of all rules on a batch. Labels that do not exist are an error."""
    out: list[Automaton] = []
    for rule in rules:
        if not isinstance(rule, Rule):
            raise DataError(f"expected a rule, got {rule!r}")
        for title, single in expand(rule, labels, rule.title):
            out += _automata(rule, title, single, X, labels)
    return out


def _automata(rule: Rule, title: str, single: Rule, X: Sequence[Any], labels: Sequence[str]) -> list[Automaton]:
    match single:
        case Comparison(corpus=True) | FewLabels():
            raise NotSupported(f"{rule.title} is about the corpus, not about one output; it cannot steer decoding")
        case Comparison():
            return [_counter(rule, title, single, X, labels)]
        case Logic(kind="all"):
            return [a for part in single.parts for a in _automata(rule, title, part, X, labels)]
        case Logic():
            return [_formula(rule, title, single, X, labels)]
        case MinLength():
            return [_shortest(rule, title, single, X, labels)]
        case Before():
            return [_order(rule, title, single, X, labels)]
    raise DataError(f"no automaton is known for {single!r}")


# Labels ----------------------------------------------------------------------------------------------------------


def _each_of(rule: Any) -> set[Each]:
    """Every different `each` in a rule."""
    if isinstance(rule, Labels):
        return {rule.names} if isinstance(rule.names, Each) else set()
    fields: list[Any] = []
    match rule:
        case Comparison():
            fields = [labels for term in rule.count.terms for labels in (term.to, term.after)]
        case Logic():
            fields = list(rule.parts)
        case MinLength():
            fields = [rule.to]
        case Before():
            fields = [rule.earlier, rule.later]
    return {found for f in fields for found in _each_of(f)}


def labels_named(rules: Sequence[Rule]) -> set[str]:
    """All labels that rules mention."""
    found: set[str] = set()

    def visit(thing: Any) -> None:
        match thing:
            case Labels():
                found.update(thing.names.labels if isinstance(thing.names, Each) else thing.names)
            case Comparison():
                for term in thing.count.terms:
                    visit(term.to)
                    visit(term.after)
            case Logic():
                for part in thing.parts:
                    visit(part)
            case MinLength():
                visit(thing.to)
            case Before():
                visit(thing.earlier)
                visit(thing.later)

    for rule in rules:
        visit(rule)
    return found


def about_whole_outputs(rule: Rule) -> bool:
    """Whether a rule is surely no sum over labels and neighbours, so that no chain of order 2 can keep to it."""
    match rule:
        case Comparison():
            return rule.bound > 0 and min(term.coefficient for term in rule.count.terms) >= 0
        case Logic():
            return rule.kind == "any" or any(map(about_whole_outputs, rule.parts))
    return not (isinstance(rule, MinLength) and rule.length == 1)


def about_the_corpus(rule: Rule) -> bool:
    """Whether a rule, or a part of it, is about the corpus."""
    if isinstance(rule, Logic):
        return any(map(about_the_corpus, rule.parts))
    return isinstance(rule, FewLabels) or (isinstance(rule, Comparison) and rule.corpus)


def expand(rule: Rule, labels: Sequence[str], title: str) -> list[tuple[str, Rule]]:
    """The rule once for each label that `each` stands for, with titles; inside a formula these stay together."""
    if isinstance(rule, Logic) and rule.kind == "all":
        return [pair for part in rule.parts for pair in expand(part, labels, title)]
    if isinstance(rule, Logic) or (isinstance(rule, Comparison) and rule.some):
        return [(title, _scoped(rule, labels, title))]
    return [(f"{title} [{name}]", _substitute(rule, name)) for name in _meant(rule, labels, title)] or [(title, rule)]


def _scoped(rule: Rule, labels: Sequence[str], title: str) -> Rule:
    """A formula in which each comparison of `each` is one about all labels, or about some label if it was negated."""
    if isinstance(rule, Logic):
        return replace(rule, parts=tuple(_scoped(part, labels, title) for part in rule.parts))
    parts = tuple(_substitute(rule, name) for name in _meant(rule, labels, title))
    return Logic("any" if isinstance(rule, Comparison) and rule.some else "all", parts) if parts else rule


def _meant(rule: Rule, labels: Sequence[str], title: str) -> list[str]:
    """The labels that `each` stands for in a comparison; none if it has no `each`."""
    found = _each_of(rule)
    if len(found) > 1:
        raise DataError(f"rule {title!r} has several different each(...); a comparison speaks of one label at a time")
    return [name for one in found for name in one.labels or tuple(labels)]


def _substitute(rule: Any, name: str) -> Any:
    match rule:
        case Labels():
            return replace(rule, names=(name,)) if isinstance(rule.names, Each) else rule
        case Comparison():
            terms = tuple(
                replace(t, to=_substitute(t.to, name), after=_substitute(t.after, name)) for t in rule.count.terms
            )
            return replace(rule, count=replace(rule.count, terms=terms))
        case Logic():
            return replace(rule, parts=tuple(_substitute(part, name) for part in rule.parts))
        case MinLength():
            return replace(rule, to=_substitute(rule.to, name))
        case Before():
            return replace(rule, earlier=_substitute(rule.earlier, name), later=_substitute(rule.later, name))
    return rule


def _members(these: Labels, labels: Sequence[str], rule: Rule) -> Floats:
    """0/1 over labels."""
    assert not isinstance(these.names, Each)
    unknown = [name for name in these.names if name not in labels]
    if unknown:
        raise DataError(f"rule {rule.title!r} names the label {unknown[0]!r}; known are {', '.join(labels)}")
    inside = np.array([label in these.names for label in labels], float)
    return 1 - inside if these.all_but else inside


# Counts ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CountTable:
    """A count on a batch, factored: kind (tokens,), amount (kinds, labels + 1, labels), at_end (labels,)."""

    kind: Ints
    amount: Floats
    at_end: Floats


def count_table(counted: Count, X: Sequence[Any], labels: Sequence[str], rule: Rule) -> CountTable:
    """What each (kind of position, label before, label) adds to a count."""
    tokens, L = int(sequence_offsets(X)[-1]), len(labels)
    conditions = {id(t.where): t.where for t in counted.terms}  # those of a share are one
    holds = {k: np.ones(tokens, bool) if w is None else _mask(w, X, rule) for k, w in conditions.items()}
    masks = [holds[id(t.where)] for t in counted.terms]
    kinds, kind = distinct_rows(np.stack(masks, axis=1))
    amount, at_end = np.zeros((len(kinds), L + 1, L)), np.zeros(L)
    for number, term in enumerate(counted.terms):
        to = term.coefficient * _members(term.to, labels, rule)
        here = kinds[:, number]
        if term.kind == "token":
            amount[here] += to
        elif term.kind == "start":
            amount[here, L] += to
        elif term.kind == "pair":
            table = _members(term.after, labels, rule)[:, None] * to
            amount[here, :L] += np.where(np.eye(L, dtype=bool), 0.0, table) if term.different else table
        else:
            at_end += to
    return CountTable(kind.astype(np.int32), amount, at_end)


def distinct_rows(table: Any) -> tuple[Any, Longs]:
    """The different rows of a table of small whole numbers, and for each of its rows which one it is."""
    code = np.zeros(len(table), np.int64)
    for column in table.T:
        _, code = np.unique(code * (int(column.max(initial=0)) + 1) + column, return_inverse=True)
    _, first, code = np.unique(code, return_index=True, return_inverse=True)
    return table[first], code


def _mask(condition: Any, X: Sequence[Any], rule: Rule) -> Any:
    try:
        return mask_of(condition, X)
    except DataError as error:
        raise DataError(f"rule {rule.title!r}: {error}") from error.__cause__


def _whole(values: Floats) -> Ints:
    """Amounts of a comparison in whole numbers."""
    return np.round(values).astype(np.int32)


def _excess(value: Any, op: str, bound: float) -> Any:
    """By how much a count misses its bound."""
    over, under = np.maximum(value - bound, 0.0), np.maximum(bound - value, 0.0)
    return over if op == "<=" else under if op == ">=" else over + under


def _counter(rule: Rule, title: str, given: Comparison, X: Sequence[Any], labels: Sequence[str]) -> Automaton:
    single, unit = given.in_wholes()
    table = count_table(single.count, X, labels, rule)
    amount, at_end = _whole(table.amount), _whole(table.at_end)
    values, events = np.unique(amount, return_inverse=True)
    if values.min() < 0 or at_end.min(initial=0) < 0:
        states, start = _unbounded(values, X)
    else:
        cap = min(int(np.ceil(single.bound)), int(values.max()) * _longest(X))
        states, start = np.arange(max(cap, 0) + 1), 0
    moved = states[:, None] + values[None, :]
    after = np.clip(moved, states[0], states[-1]) - states[0]
    over = np.zeros(moved.shape)
    if single.op != ">=" and start == 0:  # charged at once, so that search sees it; the counter then stands still
        over = np.maximum(moved - single.bound, 0.0) - np.maximum(states[:, None] - single.bound, 0.0)
    final = _excess(states[:, None] + at_end[None, :], single.op, single.bound)
    charged = np.zeros(len(states))
    if start == 0 and single.op != ">=":
        charged = np.maximum(states - single.bound, 0.0) - max(-single.bound, 0.0)
        final = final - charged[:, None]
    seen = events.reshape(amount.shape).astype(np.int32)
    automaton = Automaton(
        rule, title, table.kind, seen, after.astype(np.int32), over * unit, final.astype(float) * unit, start
    )
    if at_end.any():
        return automaton
    sign = -1.0 if single.op == ">=" else 1.0
    return replace(
        automaton,
        amount=sign * unit * values.astype(float),
        slack=unit * (sign * (single.bound - states) + charged),
        two_sided=single.op == "==",
    )


def _longest(X: Sequence[Any]) -> int:
    """No counter goes beyond this many steps."""
    return max(len(x) for x in X)


def _unbounded(values: Any, X: Sequence[Any]) -> tuple[Any, int]:
    """States of a counter that may go down: every value it can reach."""
    longest = _longest(X)
    low, high = min(int(values.min()), 0) * longest, max(int(values.max()), 0) * longest
    return np.arange(low, high + 1), -low


# Logic -----------------------------------------------------------------------------------------------------------


def _atoms(rule: Rule) -> list[Comparison]:
    match rule:
        case Comparison(corpus=False):
            return [rule]
        case Logic():
            return [atom for part in rule.parts for atom in _atoms(part)]
    raise NotSupported(f"{rule.title!r} cannot stand inside &, |, >> or ~; only comparisons of counts can")


def _holds(rule: Rule, truth: dict[int, bool]) -> bool:
    if isinstance(rule, Logic):
        parts = [_holds(part, truth) for part in rule.parts]
        return all(parts) if rule.kind == "all" else any(parts)
    return truth[id(rule)]


def _formula(rule: Rule, title: str, single: Logic, X: Sequence[Any], labels: Sequence[str]) -> Automaton:
    """The product of the counters of all comparisons; one violation at the end if the formula does not hold."""
    written = _atoms(single)
    atoms = [atom.in_wholes()[0] for atom in written]
    tables = [count_table(atom.count, X, labels, rule) for atom in atoms]
    reach = [round(float(t.amount.max()) * _longest(X) + float(t.at_end.max())) for t in tables]
    tell = [ceil(a.bound) if a.op == ">=" else floor(a.bound) + 1 for a in atoms]  # from here on truth is the same
    caps = [max(min(enough, most), 0) for enough, most in zip(tell, reach, strict=True)]
    sizes = [cap + 1 for cap in caps]
    if prod(sizes) > _LARGEST:
        raise NotSupported(
            f"rule {title!r} needs {prod(sizes)} states, and {_LARGEST} are the most; use smaller bounds, "
            "or fewer counts or labels in one formula"
        )
    kinds, kind = distinct_rows(np.stack([t.kind for t in tables], axis=1))
    amounts = np.stack([_whole(t.amount[kinds[:, k]]) for k, t in enumerate(tables)], axis=-1)
    if amounts.min() < 0:
        raise NotSupported(f"rule {title!r}: differences of counts cannot stand inside logic")
    values, events = np.unique(amounts.reshape(-1, len(atoms)), axis=0, return_inverse=True)
    states = np.array(list(product(*(range(size) for size in sizes))))
    radix = np.array([int(np.prod(sizes[k + 1 :])) for k in range(len(sizes))])
    after = np.minimum(states[:, None, :] + values[None, :, :], caps) @ radix
    at_end = np.stack([_whole(t.at_end) for t in tables], axis=-1)
    final = np.zeros((len(states), len(labels)))
    for s, state in enumerate(states):
        for c in range(len(labels)):
            reached = np.minimum(state + at_end[c], caps)
            truth = {id(w): not _excess(v, a.op, a.bound) > 0 for w, a, v in zip(written, atoms, reached, strict=True)}
            final[s, c] = 0.0 if _holds(single, truth) else 1.0
    shape = amounts.shape[:-1]
    return Automaton(
        rule, title, kind.astype(np.int32), events.reshape(shape).astype(np.int32), after.astype(np.int32),
        np.zeros(after.shape), final,
    )  # fmt: skip


# Patterns --------------------------------------------------------------------------------------------------------


def _shortest(rule: Rule, title: str, single: MinLength, X: Sequence[Any], labels: Sequence[str]) -> Automaton:
    """State: tokens of the current run so far, up to `length`, which also stands for a run that may be short."""
    k, L = single.length, len(labels)
    inside = _members(single.to, labels, rule).astype(bool)
    fresh = np.where(inside, 1, 2)
    events = np.broadcast_to(fresh, (1, L + 1, L)).copy()
    events[0, np.arange(L), np.arange(L)] = 0
    states = np.arange(k + 1)
    after = np.stack((np.minimum(states + 1, k), np.full(k + 1, 1), np.full(k + 1, k)), axis=1)
    short = (states < k).astype(float)
    degree = np.stack((np.zeros(k + 1), short, short), axis=1)
    kind = np.zeros(int(sequence_offsets(X)[-1]), np.int32)
    final = np.repeat(short[:, None], L, axis=1)
    return Automaton(rule, title, kind, events.astype(np.int32), after.astype(np.int32), degree, final, k)


def _order(rule: Rule, title: str, single: Before, X: Sequence[Any], labels: Sequence[str]) -> Automaton:
    """State: whether a token of `later` was seen."""
    L = len(labels)
    early = _members(single.earlier, labels, rule).astype(int)
    late = _members(single.later, labels, rule).astype(int)
    events = np.broadcast_to(early + 2 * late, (1, L + 1, L))
    after = np.array([[0, 0, 1, 1], [1, 1, 1, 1]], np.int32)
    degree = np.array([[0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    kind = np.zeros(int(sequence_offsets(X)[-1]), np.int32)
    return Automaton(rule, title, kind, events.astype(np.int32), after, degree, np.zeros((2, L)))
