"""Counts on a batch of inputs, as tables over labels and neighbouring labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import NotSupported
from ..kernels.compiling import Flags, Floats, Ints, Longs
from .compilation import Compilation
from .counts import Count


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
    amount, at_end = np.zeros((len(kinds), L + 1, L)), np.zeros(L)
    for number, term in enumerate(counted.terms):
        to = term.coefficient * at.members(term.to)
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
