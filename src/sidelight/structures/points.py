"""The k best points of an integer program.

A linear program comes first: where its best point is whole, no integer program is needed. Every point found is excluded
by a row of its own before the next one is searched for, exactly: points may contain each other.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import monotonic

import numpy as np

from ..errors import Infeasible, SidelightError
from ..kernels.compiling import Flags, Floats
from . import highs
from .highs import HighsProgram
from .polytope import LinearRows, Polytope, rows_hold
from .program_rows import Points

# Scores are scaled to at most this size: HiGHS takes those for equal that differ by less than 1e-7.
_LARGEST = 1024.0
# A value is whole if it is no further from a whole number.
_WHOLE = 1e-6
# HiGHS lets rows be missed by 1e-6. Points that miss one are excluded, at most this many of them.
_REPAIRS = 200


def k_best(
    program: HighsProgram,
    k: int = 1,
    *,
    time_limit: float = np.inf,
    start: Flags | None = None,
) -> Points:
    """Returns the k best points by the whole variables, which are 0 or 1; none where no point satisfies the rows.

    Points differ in their whole variables; others, such as the slack of rows, take their best values. Out of
    time, the points are the best ones found. start: (whole variables,) a point to begin with.
    """
    whole, end = program.whole, monotonic() + time_limit
    choices = Polytope(program.gain, whole, program.rows, lambda chosen: chosen)
    strict = _Strict.of(program)
    found: list[Flags] = []
    scores: list[float] = []
    exact, bound, repairs = True, -np.inf, 0
    while len(found) < k:
        try:
            best = _solved(program, end, start)
        except Infeasible:
            break
        exact, bound = exact and best.optimal, max(bound, best.bound)
        if best.values is None:
            break
        point = best.values[whole] > 0.5
        program, start = replace(program, rows=program.rows + choices.without(point)), None
        if strict.holds(point):
            found.append(point)
            scores.append(_score(program, point, best.values))
        elif (repairs := repairs + 1) == _REPAIRS:
            raise SidelightError(
                f"{repairs} points of the integer program miss a row by less than 1e-6, which HiGHS does not see; "
                "keep the coefficients of a row within a factor of a million"
            )
    if not found:
        return Points.none(len(whole), exact=exact, bound=bound)
    order = np.argsort(-np.array(scores), kind="stable")
    values, ranked = np.array(found)[order], np.array(scores)[order]
    return Points.proved(values, ranked) if exact else Points(values, ranked, False, max(bound, float(ranked[0])))


def _score(program: HighsProgram, point: Flags, values: Floats) -> float:
    """Returns gain·x with the whole variables as they are after rounding, so that scores are those of outputs."""
    x = values.copy()
    x[program.whole] = point
    used = x != 0
    return float(program.gain[used] @ x[used])


def _solved(program: HighsProgram, end: float, start: Flags | None) -> highs.HighsSolution:
    """Returns the best point; by the linear program where that is whole."""
    scale = _scale(program.gain[program.whole])
    scaled = replace(program, gain=program.gain * scale)
    relaxed = replace(scaled, whole=np.empty(0, np.int64))
    first = highs.solve(relaxed, time_limit=max(end - monotonic(), 0.0))
    if not first.optimal or first.values is None:
        best = highs.HighsSolution(None, -np.inf, _without_rows(scaled), np.empty(0), False)
    elif (np.abs(first.values - np.round(first.values))[program.whole] <= _WHOLE).all():
        best = first
    else:
        left = max(end - monotonic(), 0.0)
        best = highs.solve(scaled, time_limit=left, start=_complete(scaled, start))
        best = replace(best, bound=min(best.bound, first.objective))
    if best.values is None and start is not None:
        best = _given(scaled, start, best.bound)
    return replace(best, objective=best.objective / scale, bound=best.bound / scale)


def _scale(scores: Floats) -> float:
    """Returns a power of two that brings the largest score near `_LARGEST`."""
    largest = np.abs(scores[np.isfinite(scores)]).max(initial=0.0)
    power = np.floor(np.log2(_LARGEST) - np.log2(largest)) if largest > 0 else 0.0
    return float(2.0 ** np.clip(power, -1000, 1000))


def _without_rows(program: HighsProgram) -> float:
    """Returns a bound that needs no solver: every gain above zero at the largest value of its variable."""
    above = program.gain > 0
    return float(program.gain[above] @ program.upper[above])


def _complete(program: HighsProgram, start: Flags | None) -> Floats | None:
    """Returns values to begin with; those of variables that need not be whole are not known."""
    if start is None:
        return None
    values = np.full(len(program.gain), np.nan)
    values[program.whole] = start
    return values


def _given(program: HighsProgram, start: Flags, bound: float) -> highs.HighsSolution:
    """Returns the point that was to begin with, where all variables are whole and it fits."""
    if len(program.whole) < len(program.gain) or not _Strict.of(program).holds(start):
        return highs.HighsSolution(None, -np.inf, bound, np.empty(0), False)
    values = start.astype(float)
    return highs.HighsSolution(values, _score(program, start, values), bound, np.empty(0), False)


@dataclass(frozen=True)
class _Strict:
    """The rows over whole variables alone, which are to hold beyond the tolerance of HiGHS.

    whole: (variables,) bool; forbidden: (whole variables,) bool.
    """

    rows: LinearRows
    whole: Flags
    forbidden: Flags

    @classmethod
    def of(cls, program: HighsProgram) -> "_Strict":
        """Takes them from a program."""
        rows, whole = program.rows, np.zeros(len(program.gain), bool)
        whole[program.whole] = True
        mixed = replace(rows, value=np.ones(len(rows.value))).times((~whole).astype(float)) > 0
        return cls(rows.take(np.flatnonzero(~mixed)), whole, np.isneginf(program.gain[program.whole]))

    def holds(self, point: Flags) -> bool:
        """Whether a point satisfies them."""
        x = np.zeros(len(self.whole))
        x[self.whole] = point
        return not (point & self.forbidden).any() and bool(rows_hold(self.rows, x).all())


def with_penalties(program: HighsProgram, rows: LinearRows, penalty: Floats) -> HighsProgram:
    """Returns a program with more rows over its variables, which cost when they are missed.

        max over x, ξ   gain·x - Σ_r ρ_r ξ_r      s.t.  low_r - ξ_r <= A_r x <= high_r + ξ_r,  ξ >= 0

    penalty: (rows,) ρ; a row of penalty inf has no slack. The slack variables come after the others, and there is one
    for each of the other rows, in their order.
    """
    hard, soft = np.flatnonzero(np.isinf(penalty)), np.flatnonzero(~np.isinf(penalty))
    slack, some = len(program.gain) + np.arange(len(soft)), rows.take(soft)
    free = np.full(len(soft), np.inf)
    above = replace(some, low=-free).adding(np.arange(len(soft)), slack, -np.ones(len(soft)))
    below = replace(some, high=free).adding(np.arange(len(soft)), slack, np.ones(len(soft)))
    both = above.take(np.flatnonzero(above.high < np.inf)) + below.take(np.flatnonzero(below.low > -np.inf))
    return HighsProgram(
        np.concatenate((program.gain, -penalty[soft])), np.concatenate((program.upper, free)),
        program.rows + rows.take(hard) + both, program.whole,
    )  # fmt: skip


def conflict(program: HighsProgram, *, solves: int = 400, seconds: float = 5.0) -> list[int]:
    """Returns numbers of few rows that cannot hold together, given that a program has no point.

    Rows are left out, first many at once and then one after the other, as long as the others have no point. Where that
    takes too many solves, or too long, more rows than needed are named.
    """
    end = monotonic() + seconds
    still = replace(program, gain=np.where(np.isneginf(program.gain), -np.inf, 0.0))
    kept = list(range(len(program.rows)))
    size = max(len(kept) // 2, 1)
    while True:
        for chunk in list(_chunks(kept, size)):
            if solves <= 0 or monotonic() > end:
                return kept
            rest = [r for r in kept if r not in chunk]
            solves -= 1
            some = replace(still, rows=program.rows.take(np.array(rest, np.int64)))
            if impossible(some, time_limit=max(end - monotonic(), 0.0)):
                kept = rest
        if size == 1:
            return kept
        size = max(min(size, len(kept)) // 2, 1)


def _chunks(rows: list[int], size: int) -> Iterator[set[int]]:
    """Sets of this many rows after each other."""
    return (set(rows[first : first + size]) for first in range(0, len(rows), size))


def impossible(program: HighsProgram, *, time_limit: float = np.inf) -> bool:
    """Returns whether it is proved that a program has no point."""
    points = k_best(program, time_limit=time_limit)
    return points.exact and not len(points.values)
