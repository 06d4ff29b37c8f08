"""Outputs as the whole points of linear rows over variables: the shape in which integer programs see any structure."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..kernels.compiling import Flags, Floats, Ints, Longs

T_co = TypeVar("T_co", covariant=True)
Numbers = NDArray[np.integer[Any]]
# A row holds if it is missed by no more than this share of its coefficients: their sums are rounded.
ROUNDING = 1e-9


@dataclass(frozen=True)
class LinearRows:
    """low <= A x <= high, with A in compressed sparse rows.

    low, high: (rows,), -inf and inf where there is no bound; row r has value[k] at variable index[k] for every k from
    start[r] to start[r + 1] - 1, with rising numbers of variables. start: (rows + 1,) int32; index: (entries,) int32;
    value: (entries,) float64.
    """

    low: Floats
    high: Floats
    start: Ints
    index: Ints
    value: Floats

    @classmethod
    def of(cls, low: Floats, high: Floats, row: Numbers, variable: Numbers, value: Floats) -> "LinearRows":
        """Returns rows from their entries (row, variable, value) in any order; entries of the same place add up."""
        from scipy.sparse import coo_array

        width = int(variable.max(initial=-1)) + 1
        matrix: Any = coo_array((value, (row, variable)), shape=(len(low), width)).tocsr()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        start, index = matrix.indptr.astype(np.int32, copy=False), matrix.indices.astype(np.int32, copy=False)
        return cls(low, high, start, index, matrix.data)

    @classmethod
    def equal(cls, total: Floats, *sums: tuple[float, Numbers, Numbers]) -> "LinearRows":
        """Returns rows that are equal to their totals; each of `sums` is a sign, and rows with variables in them."""
        row = np.concatenate([rows.ravel() for _, rows, _ in sums])
        variable = np.concatenate([variables.ravel() for _, _, variables in sums])
        value = np.repeat([sign for sign, _, _ in sums], [variables.size for _, _, variables in sums])
        return cls.of(total, total, row, variable, value)

    @classmethod
    def none(cls) -> "LinearRows":
        """Returns no rows."""
        nothing = np.empty(0)
        return cls(nothing, nothing, np.zeros(1, np.int32), np.empty(0, np.int32), nothing)

    def __len__(self) -> int:
        return len(self.low)

    def __add__(self, more: "LinearRows") -> "LinearRows":
        """Returns these rows with others after them, over the same variables."""
        return LinearRows(
            np.concatenate((self.low, more.low)), np.concatenate((self.high, more.high)),
            np.concatenate((self.start, self.start[-1] + more.start[1:])),
            np.concatenate((self.index, more.index)), np.concatenate((self.value, more.value)),
        )  # fmt: skip

    def adding(self, row: Numbers, variable: Numbers, value: Floats) -> "LinearRows":
        """Returns these rows with more entries in them."""
        return LinearRows.of(
            self.low, self.high, np.concatenate((self.row, row)), np.concatenate((self.index, variable)),
            np.concatenate((self.value, value)),
        )  # fmt: skip

    def take(self, which: Longs) -> "LinearRows":
        """Returns some of the rows, in this order."""
        sizes = np.diff(self.start)[which]
        start = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
        places = np.repeat(self.start[which] - start[:-1], sizes) + np.arange(start[-1])
        return LinearRows(self.low[which], self.high[which], start, self.index[places], self.value[places])

    def times(self, x: Floats) -> Floats:
        """Returns A x: (rows,)."""
        return np.bincount(self.row, weights=self.value * x[self.index], minlength=len(self)).astype(float)

    @cached_property
    def row(self) -> Longs:
        """The row of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    @cached_property
    def room(self) -> Floats:
        """By how much each row may be missed, for its sums are rounded: (rows,)."""
        return ROUNDING * row_sizes(self)


def rows_hold(rows: LinearRows, x: Floats) -> Flags:
    """Returns which rows a point satisfies, but for what rounding may add: (rows,) bool."""
    sums = rows.times(x)
    held: Flags = (sums >= rows.low - rows.room) & (sums <= rows.high + rows.room)
    return held


def rows_hold_all(rows: LinearRows, points: Flags) -> Flags:
    """Returns which of some points satisfy all rows, as `rows_hold` has it: (points,) bool; points: (points, width)."""
    matrix = np.zeros((len(rows), points.shape[1]))
    matrix[rows.row, rows.index] = rows.value
    sums = points.astype(float) @ matrix.T
    return np.asarray(((sums >= rows.low - rows.room) & (sums <= rows.high + rows.room)).all(axis=1))


def row_sizes(rows: LinearRows) -> Floats:
    """Returns Σ |a| of each row: (rows,)."""
    return np.bincount(rows.row, weights=np.abs(rows.value), minlength=len(rows)).astype(float)


@dataclass(frozen=True)
class Polytope(Generic[T_co]):
    """The outputs of one input: the points of some rows whose variables are in [0, 1] and whose choices are whole.

    scores: (variables,), -inf fixes a variable at zero; choices: the numbers of the variables that must be whole and
    tell outputs apart; read: the output from the values of the choices, (choices,) bool; nested: whether the choices of
    one output may be among those of another.

    The two others are for automata, which read labels from token to token, and are left out where outputs have none.
    steps: (entries, 4) int64, a variable counts towards "(token, label before, label)", with the number of labels as
    the label before a first token; last: (entries, 2) int64, a variable counts towards "the last label is c".
    """

    scores: Floats
    choices: Longs
    rows: LinearRows
    read: Callable[[Flags], T_co]
    nested: bool = True
    steps: Longs | None = None
    last: Longs | None = None

    def without(self, chosen: Flags) -> LinearRows:
        """Returns the row that excludes exactly the output with these values of its choices.

        Σ_{on} (1 - x) + Σ_{off} x >= 1. Where no output contains another one, those that are off need not be looked at,
        which leaves fewer fractional points.
        """
        on, off = self.choices[chosen], self.choices[~chosen if self.nested else slice(0)]
        variable = np.concatenate((on, off))
        value = np.repeat([1.0, -1.0], [len(on), len(off)])
        low, high = np.array([-np.inf]), np.array([len(on) - 1.0])
        return LinearRows.of(low, high, np.zeros(len(variable), np.int64), variable, value)
