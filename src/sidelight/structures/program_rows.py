"""Linear rows over the 0/1 variables of one input, and the components that they fall into.

Variables that no chain of rows connects are decided apart. A component whose only row says "one of these", exactly or
at most, is a choice and needs no solver, and neither does a variable in no row.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Flags, Floats, Ints, Longs
from .polytope import LinearRows, rows_hold
from .reduced_programs import idle_variables, listed_points, without_variables

# Reduced programs that are kept for the next search.
_KEPT = 16
# Terms of a row without a title that a message shows at most.
_TERMS = 5


@dataclass(frozen=True)
class Points:
    """The best values of 0/1 variables that were found, best first.

    values: (points, variables) bool; scores: (points,); exact: whether they are proved to be the best ones, and all of
    them where there are fewer than asked for; bound: nothing scores higher, -inf where nothing is possible.
    """

    values: Flags
    scores: Floats
    exact: bool
    bound: float

    @classmethod
    def none(cls, variables: int, *, exact: bool = True, bound: float = -np.inf) -> "Points":
        """Returns no values."""
        return cls(np.empty((0, variables), bool), np.empty(0), exact, bound)

    @classmethod
    def proved(cls, values: Flags, scores: Floats) -> "Points":
        """Returns values that are the best ones, sorted by scores."""
        return cls(values, scores, True, float(scores[0]) if len(scores) else -np.inf)


@dataclass(frozen=True, eq=False, repr=False)
class ProgramRows:
    """The rows over the 0/1 variables of one input.

    Parameters
    ----------
    variables : int
        How many variables there are.
    rows : LinearRows
        The rows; an output satisfies all of them.
    titles : tuple of str or None, default=()
        What messages call each row. A row whose title is None is written as a formula, and all are if this is
        empty.
    names : tuple, default=()
        What messages and outputs call each variable; if this is empty, they are called by their numbers.
    """

    variables: int
    rows: LinearRows
    titles: tuple[str | None, ...] = ()
    names: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        rows = self.rows
        if self.variables < 1:
            raise DataError("a program needs at least one variable")
        if len(rows.index) and not 0 <= rows.index.min() <= rows.index.max() < self.variables:
            raise DataError(f"a row has a variable beyond the {self.variables} of the program")
        if not np.isfinite(rows.value).all() or np.isnan(rows.low).any() or np.isnan(rows.high).any():
            raise DataError("coefficients of rows must be finite, and their bounds numbers")
        if len(self.titles) not in (0, len(rows)) or len(self.names) not in (0, self.variables):
            raise DataError("give a title for every row and a name for every variable, or none at all")

    @staticmethod
    def smaller(variables: int, rows: LinearRows) -> "ProgramRows":
        """Returns a program of other variables and rows, without titles and names."""
        return ProgramRows(variables, rows)

    def __repr__(self) -> str:
        return f"ProgramRows({self.variables} variables, {len(self.rows)} rows)"

    @property
    def shape(self) -> tuple[int, "ProgramRows"]:
        """The shape of the input."""
        return self.variables, self

    def title(self, row: int) -> str:
        """Returns what messages call a row."""
        if self.titles and self.titles[row] is not None:
            return repr(self.titles[row])
        at, low, high = slice(*self.rows.start[row : row + 2]), self.rows.low[row], self.rows.high[row]
        terms = [f"{c:+g} {self.name(v)}" for v, c in zip(self.rows.index[at], self.rows.value[at], strict=True)]
        text = " ".join([*terms[:_TERMS], *(["..."] if len(terms) > _TERMS else [])]) or "0"
        if low == high:
            return f"({text} == {low:g})"
        return f"({f'{low:g} <= ' if low > -np.inf else ''}{text}{f' <= {high:g}' if high < np.inf else ''})"

    def name(self, variable: int) -> str:
        """Returns what messages call a variable."""
        return repr(self.names[variable]) if self.names else f"[{variable}]"

    def broken(self, output: Ints) -> list[int]:
        """Returns the numbers of the rows that an output does not satisfy."""
        rows: list[int] = np.flatnonzero(~rows_hold(self.rows, np.asarray(output, float))).tolist()
        return rows

    @cached_property
    def impossible(self) -> list[int]:
        """Rows without variables that cannot hold."""
        empty = np.diff(self.rows.start) == 0
        return [row for row in self.broken(np.zeros(self.variables, np.int32)) if empty[row]]

    @cached_property
    def _reduced(self) -> "dict[bytes, tuple[Longs, ProgramRows | None]]":
        """The reduced programs of the last searches, by the variables that were idle."""
        return {}

    def reduced(self, scores: Floats) -> "tuple[Longs, ProgramRows | None]":
        """Returns the variables that are not idle under these scores, and the program of these alone.

        The best output of that one, with zeros for the others, is the best of all. None where it has no output.
        """
        idle = idle_variables(self.rows, scores)
        key = np.packbits(idle).tobytes()
        found = self._reduced.get(key)
        if found is None:
            left = np.flatnonzero(~idle)
            found = left, without_variables(self, left) if len(left) else None
            if len(self._reduced) >= _KEPT:
                self._reduced.clear()
            self._reduced[key] = found
        return found

    @cached_property
    def components(self) -> "tuple[ExclusiveSets, tuple[Component, ...]]":
        """The single choices, and the components that are none, small ones first."""
        choices: list[tuple[list[int], int]] = []
        others: list[Component] = []
        for variables, rows in self._connected():
            members = self._choice(variables, rows)
            if members is None:
                others.append(Component.of(self.rows, variables, rows))
            else:
                choices.append((members, int(rows[0]) if len(rows) else -1))
        return ExclusiveSets.of(choices, self.variables), tuple(sorted(others, key=lambda one: len(one.variables)))

    def _connected(self) -> Iterator[tuple[Longs, Longs]]:
        """The variables and the rows of each component; rows without variables are in none."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        n, sizes = self.variables, np.diff(self.rows.start)
        row = n + np.repeat(np.arange(len(sizes)), sizes)
        graph = coo_array((np.ones(len(row)), (self.rows.index, row)), shape=(n + len(sizes),) * 2)
        number = connected_components(graph, directed=False)[1]
        kinds, of_variable = np.unique(number[:n], return_inverse=True)
        of_row = np.where(sizes > 0, np.searchsorted(kinds, number[n:]), len(kinds))
        return zip(_places(of_variable, len(kinds)), _places(of_row, len(kinds)), strict=True)

    def _choice(self, variables: Longs, rows: Longs) -> list[int] | None:
        """The members of a choice, the number of variables for none of them; None if the component is no choice."""
        if not len(rows):
            return [self.variables, *variables.tolist()]
        at = slice(*self.rows.start[rows[0] : rows[0] + 2])
        low, high = self.rows.low[rows[0]], self.rows.high[rows[0]]
        if len(rows) > 1 or (self.rows.value[at] != 1).any() or high != 1 or not (low == 1 or low <= 0):
            return None
        return [*([] if low == 1 else [self.variables]), *variables.tolist()]


def _places(number: Longs, count: int) -> list[Longs]:
    """Where each of the numbers 0, ..., count - 1 stands."""
    order = np.argsort(number, kind="stable")
    edges = np.searchsorted(number[order], np.arange(count + 1))
    return [order[a:b] for a, b in pairwise(edges)]


@dataclass(frozen=True, eq=False)
class Component:
    """Variables that rows connect.

    variables: their numbers; rows: over these, in their order, scaled for the solver; numbers: those of the rows.
    """

    variables: Longs
    rows: LinearRows
    numbers: Longs

    @classmethod
    def of(cls, rows: LinearRows, variables: Longs, numbers: Longs) -> "Component":
        """Returns the component with these variables and rows."""
        own = _balanced(rows.take(numbers))
        return cls(variables, replace(own, index=np.searchsorted(variables, own.index).astype(np.int32)), numbers)

    @cached_property
    def listed(self) -> Flags | None:
        """All points that satisfy the rows, (points, variables); None where there may be many."""
        return listed_points(self)

    def points(self, theta: Floats, k: int) -> Points | None:
        """Returns the k best points from the list; None where there is none."""
        if self.listed is None:
            return None
        gain, values = theta[self.variables], self.listed
        forbidden = np.isneginf(gain)
        if forbidden.any():
            values = values[~values[:, forbidden].any(axis=1)]
        scores: Floats = values.astype(float) @ np.where(forbidden, 0.0, gain)
        order = [int(scores.argmax())] if k == 1 and len(scores) else np.argsort(-scores, kind="stable")[:k]
        return Points.proved(values[order], scores[order])


def _balanced(rows: LinearRows) -> LinearRows:
    """Returns rows, none of them empty, scaled by powers of two so that their coefficients are around one."""
    size = np.log2(np.abs(rows.value))
    first = rows.start[:-1]
    middle = (np.minimum.reduceat(size, first) + np.maximum.reduceat(size, first)) / 2
    factor = 2.0 ** -np.round(middle)
    value = rows.value * np.repeat(factor, np.diff(rows.start))
    return replace(rows, low=rows.low * factor, high=rows.high * factor, value=value)


@dataclass(frozen=True)
class ExclusiveSets:
    """Sets of variables of which one is chosen, or none.

    members: the variables of all sets, one set after the other, `variables` standing for none of them, which comes
    first; edges: (sets + 1,) where each begins; rows: (sets,) the row that asks for it, -1 where there is none.
    """

    members: Longs
    edges: Longs
    rows: Longs
    variables: int

    @classmethod
    def of(cls, sets: list[tuple[list[int], int]], variables: int) -> "ExclusiveSets":
        """Returns them from lists of members, each with its row."""
        edges = np.concatenate(([0], np.cumsum([len(members) for members, _ in sets]))).astype(np.int64)
        flat = np.array([v for members, _ in sets for v in members], np.int64)
        return cls(flat, edges, np.array([row for _, row in sets], np.int64), variables)

    def __len__(self) -> int:
        return len(self.rows)

    def points(self, theta: Floats, k: int) -> Iterator[tuple[Longs, Points]]:
        """Returns variables and their k best values: those of each set, or for k = 1 of all sets together."""
        scores = np.append(theta, 0.0)[self.members]  # none of them scores zero
        if k == 1 and len(self):
            yield self._best(theta, scores)
            return
        for first, last in pairwise(self.edges):
            own, members = scores[first:last], self.members[first:last]
            order = np.argsort(-own, kind="stable")[:k]
            order = order[own[order] > -np.inf]
            variables = members[members < self.variables]
            yield variables, Points.proved(members[order, None] == variables, own[order])

    def _best(self, theta: Floats, scores: Floats) -> tuple[Longs, Points]:
        """The best member of each set, the first one of those that tie."""
        variables, first = self.members[self.members < self.variables], self.edges[:-1]
        top = np.maximum.reduceat(scores, first)
        if np.isneginf(top).any():
            return variables, Points.none(len(variables))
        hits = np.flatnonzero(scores == np.repeat(top, np.diff(self.edges)))
        on = np.zeros(self.variables + 1, bool)
        on[self.members[hits[np.searchsorted(hits, first)]]] = True
        return variables, Points.proved(on[variables][None], np.array([top.sum()]))
