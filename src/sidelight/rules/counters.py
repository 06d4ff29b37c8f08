"""Counts on a batch, as tables over labels and neighbouring labels, and automata that compare them with bounds.

A counter compares one count with a bound; a product of counters stands for a formula of several.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, floor, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import NotSupported
from ..kernels.compiling import Flags, Floats, Ints, Longs
from .automata import Automaton, Compilation, require_tables
from .counts import Count, Op

if TYPE_CHECKING:
    from .comparisons import Comparison

# The most states of the product of the counters of a formula.
_LARGEST = 4096
# The most cells, states by events and labels, of the tables of one counter.
_CELLS = 4_000_000
# Whole numbers that floats hold exactly.
_EXACT = 2.0**53


@dataclass(frozen=True)
class CountTable:
    """A count on a batch, factored: kind (tokens,), amount (kinds, labels + 1, labels), at_end (labels,)."""

    kind: Ints
    amount: Floats
    at_end: Floats

    @property
    def spoken(self) -> Flags:
        """The tokens that the count speaks of: (tokens,) bool."""
        spoken: Flags = (np.abs(self.amount).sum(axis=(1, 2)) > 0)[self.kind]
        return spoken

    def divided(self, unit: float) -> "CountTable":
        """The count in units of this size."""
        return CountTable(self.kind, self.amount / unit, self.at_end / unit)

    def total(self, labels: Ints, offsets: Longs) -> float:
        """The count over all sequences of the batch, whose tokens have these labels."""
        start = len(self.at_end)
        before = np.concatenate(([start], labels[:-1]))
        before[offsets[:-1]] = start
        return float(self.amount[self.kind, before, labels].sum() + self.at_end[labels[offsets[1:] - 1]].sum())


def count_table(counted: Count, at: Compilation) -> CountTable:
    """What each (kind of position, label before, label) adds to a count."""
    L = len(at.labels)
    apart = next((t.by for t in counted.terms if t.by is not None), None)
    if apart is not None:
        raise NotSupported(
            f"rule {at.rule.title!r} counts by {apart!r}, and the tokens that are labelled here have no ends"
        )
    conditions = {id(t.where): t.where for t in counted.terms}  # those of a share are one
    holds = {k: at.holds(where) for k, where in conditions.items()}
    kinds, kind = distinct_rows(np.stack([holds[id(t.where)] for t in counted.terms], axis=1))
    require_tables(at.rule, at.labels, len(kinds))
    amount, at_end = np.zeros((len(kinds), L + 1, L)), np.zeros(L)
    for number, term in enumerate(counted.terms):
        to = term.coefficient * (at.members_by_run if term.different else at.members)(term.to)
        here = kinds[:, number]
        if term.kind == "token":
            amount[here] += to
        elif term.kind == "start":
            amount[here, L] += to
        elif term.kind == "pair":
            table = at.members(term.after)[:, None] * to
            amount[here, :L] += np.where(np.eye(L, dtype=bool), 0.0, table) if term.different else table
        else:
            at_end += to
    return CountTable(kind.astype(np.int32), amount, at_end)


def distinct_rows(table: Any) -> tuple[Any, Longs]:
    """The different rows of a table of small whole numbers, and for each of its rows which one it is."""
    code, size = np.zeros(len(table), np.int64), min(1, len(table))
    for column in table.T:
        values = int(column.max(initial=0)) + 1
        code, size = _ranked(code * values + column, size * values)
    first = np.empty(size, np.int64)
    first[code[::-1]] = np.arange(len(table))[::-1]  # of several, the first is written last
    return table[first], code


def _ranked(code: Longs, size: int) -> tuple[Longs, int]:
    """Numbers below `size` by their rank among those that are there, and how many these are."""
    if size > len(code) + 1024:
        there, rank = np.unique(code, return_inverse=True)
        return rank, len(there)
    seen = np.zeros(size, bool)
    seen[code] = True
    return (np.cumsum(seen) - 1)[code], int(seen.sum())


def missed(value: Any, op: Op, bound: float) -> Any:
    """By how much a count misses its bound."""
    over, under = np.maximum(value - bound, 0.0), np.maximum(bound - value, 0.0)
    return over if op == "<=" else under if op == ">=" else over + under


def counter(table: CountTable, op: Op, bound: float, unit: float, at: Compilation) -> Automaton:
    """A count in whole numbers compared with a bound; each of its units is a violation of `unit`."""
    amount, at_end = _whole(table.amount, at), _whole(table.at_end, at)
    values, events = np.unique(amount, return_inverse=True)
    step = max(int(np.gcd.reduce(values)), 1)  # every value it reaches is a multiple of this
    if values.min() < 0 or at_end.min(initial=0) < 0:
        low, high = min(int(values.min()), 0) * at.longest, max(int(values.max()), 0) * at.longest
    else:
        low, high = 0, max(min(ceil(bound / step) * step, int(values.max()) * at.longest), 0)
    size = (high - low) // step + 1
    if size * (len(values) + len(at.labels)) > _CELLS:
        raise NotSupported(
            f"rule {at.title!r} needs a counter with {size:,} states, which is too large; use smaller coefficients and "
            "bounds, or shorter sequences"
        )
    states, start = low + step * np.arange(size), -low // step
    moved = states[:, None] + values[None, :]
    after = (np.clip(moved, low, high) - low) // step
    over = np.zeros(moved.shape)
    if op != ">=" and start == 0:  # charged at once, so that search sees it; the counter then stands still
        over = np.maximum(moved - bound, 0.0) - np.maximum(states[:, None] - bound, 0.0)
    final = missed(states[:, None] + at_end[None, :], op, bound)
    charged = np.zeros(len(states))
    if start == 0 and op != ">=":
        charged = np.maximum(states - bound, 0.0) - max(-bound, 0.0)
        final = final - charged[:, None]
    seen = events.reshape(amount.shape).astype(np.int32)
    automaton = Automaton(
        at.rule, at.title, table.kind, seen, after.astype(np.int32), over * unit, final.astype(float) * unit, start
    )
    if at_end.any():
        return automaton
    sign = -1.0 if op == ">=" else 1.0
    return replace(
        automaton,
        amount=sign * unit * values.astype(float),
        slack=unit * (sign * (bound - states) + charged),
        two_sided=op == "==",
    )


def _whole(values: Floats, at: Compilation) -> Longs:
    """Amounts of a comparison in whole numbers."""
    if np.abs(values).max(initial=0.0) * at.longest >= _EXACT:
        raise NotSupported(f"rule {at.title!r} counts in numbers too large to add up exactly; use smaller ones")
    return np.round(values).astype(np.int64)


def product_of_counters(
    written: "Sequence[Comparison]", holds: Callable[[dict[int, bool]], bool], at: Compilation
) -> Automaton:
    """The counters of several comparisons side by side.

    There is one violation at the end if the formula of them does not hold; `holds` is given which comparisons do, by
    their id.
    """
    atoms = [atom.in_wholes()[0] for atom in written]
    tables = [count_table(atom.count, at) for atom in atoms]
    reach = [round(float(t.amount.max()) * at.longest + float(t.at_end.max())) for t in tables]
    tell = [ceil(a.bound) if a.op == ">=" else floor(a.bound) + 1 for a in atoms]  # from here on truth is the same
    caps = [max(min(enough, most), 0) for enough, most in zip(tell, reach, strict=True)]
    sizes = [cap + 1 for cap in caps]
    if prod(sizes) > _LARGEST:
        raise NotSupported(
            f"rule {at.title!r} needs {prod(sizes)} states, and {_LARGEST} are the most; use smaller bounds, "
            "or fewer counts or labels in one formula"
        )
    kinds, kind = distinct_rows(np.stack([t.kind for t in tables], axis=1))
    amounts = np.stack([_whole(t.amount[kinds[:, k]], at) for k, t in enumerate(tables)], axis=-1)
    if amounts.min() < 0:
        raise NotSupported(f"rule {at.title!r}: differences of counts cannot stand inside logic")
    values, events = np.unique(amounts.reshape(-1, len(atoms)), axis=0, return_inverse=True)
    states = np.array(list(product(*(range(size) for size in sizes))))
    radix = np.array([int(np.prod(sizes[k + 1 :])) for k in range(len(sizes))])
    after = np.minimum(states[:, None, :] + values[None, :, :], caps) @ radix
    at_end = np.stack([_whole(t.at_end, at) for t in tables], axis=-1)
    added, label = np.unique(at_end, axis=0, return_inverse=True)  # most labels add the same
    final = np.zeros((len(states), len(added)))
    for c, more in enumerate(added):
        reached = np.minimum(states + more, caps)
        truths = np.stack([~(missed(v, a.op, a.bound) > 0) for a, v in zip(atoms, reached.T, strict=True)], axis=1)
        different, which = distinct_rows(truths.astype(np.int64))
        failed = [not holds({id(w): bool(t) for w, t in zip(written, row, strict=True)}) for row in different]
        final[:, c] = np.array(failed, float)[which]
    shape = amounts.shape[:-1]
    return Automaton(
        at.rule, at.title, kind.astype(np.int32), events.reshape(shape).astype(np.int32), after.astype(np.int32),
        np.zeros(after.shape), final[:, label.ravel()],
    )  # fmt: skip
