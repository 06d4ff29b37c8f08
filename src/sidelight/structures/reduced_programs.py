"""Programs made smaller before a solver sees them: variables that are 0 in a best output, and lists of all points.

A variable is *idle* if it scores nothing or less and no row needs it: whatever the others are, 0 keeps every row that 1
keeps. Without idle variables many rows hold by themselves, and what is left falls into small components. Of these, all
points that satisfy the rows are listed once, and a search looks through the list.
"""

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..kernels.compiling import Flags, Floats, Longs
from .polytope import ROUNDING, LinearRows, rows_hold_all

if TYPE_CHECKING:
    from .program_rows import Component, ProgramRows

# Points of a component, before its rows are looked at, up to which they are listed.
LISTED = 2048


def idle_variables(rows: LinearRows, scores: Floats) -> Flags:
    """Returns which variables may be left at 0 where only one best output is asked for: (variables,)."""
    needing = np.where(rows.value > 0, rows.low[rows.row] > -np.inf, rows.high[rows.row] < np.inf)
    needed = np.zeros(len(scores), bool)
    needed[rows.index[needing]] = True
    return np.asarray((scores <= 0) & ~needed | np.isneginf(scores))


def without_variables(program: "ProgramRows", left: Longs) -> "ProgramRows | None":
    """Returns the program of some variables, all others being 0, without rows that hold whatever these are.

    None where a row cannot hold any more.
    """
    rows, place = program.rows, np.full(program.variables, -1, np.int32)
    place[left] = np.arange(len(left))
    kept = place[rows.index] >= 0
    row = rows.row[kept]
    index, value = place[rows.index[kept]], rows.value[kept]
    least, most = (
        np.bincount(row, weights=np.where(sign * value > 0, value, 0.0), minlength=len(rows)) for sign in (-1, 1)
    )
    room = ROUNDING * (most - least)
    if ((rows.low > most + room) | (rows.high < least - room)).any():
        return None
    binding = (rows.low > least + room) | (rows.high < most - room)
    start = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(rows))))).astype(np.int32)
    some = LinearRows(rows.low, rows.high, start, index, value).take(np.flatnonzero(binding))
    return program.smaller(len(left), some)


def listed_points(component: "Component") -> Flags | None:
    """Returns all points that satisfy the rows of a component, (points, variables); None where there may be many."""
    count, rows = len(component.variables), component.rows
    sets = _choices(rows, count)
    if prod(len(members) + more for members, more in sets) > LISTED:
        return None
    points = np.zeros((1, count), bool)
    for members, more in sets:  # one of the members, or with one more none of them
        options = np.zeros((len(members) + more, count), bool)
        options[np.arange(len(members)), members] = True
        points = (points[:, None] | options).reshape(-1, count)
    return points[rows_hold_all(rows, points)]


def _choices(rows: LinearRows, count: int) -> list[tuple[list[int], int]]:
    """Sets of variables of which exactly one is 1 (0), or at most one (1); no variable is in two."""
    out, free = list[tuple[list[int], int]](), np.ones(count, bool)
    for r in range(len(rows)):
        at = slice(rows.start[r], rows.start[r + 1])
        members = rows.index[at]
        if rows.high[r] == 1 and (rows.value[at] == 1).all() and free[members].all():
            out.append((members.tolist(), int(rows.low[r] != 1)))
            free[members] = False
    return [*out, *(([variable], 1) for variable in np.flatnonzero(free).tolist())]
