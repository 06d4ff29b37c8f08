"""Ready-made features: a dense or scipy sparse array per sequence, one row per token."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Floats, Ints, Longs
from ..stored import Arrays, ArraySpec, read_arrays, whole
from .encoded import LARGEST_VALUE, Encoded, State, require_list

# What a model file keeps: which columns are used.
_STORED = {"kept": ArraySpec(np.bool_, ("columns",))}


@dataclass
class ArrayEncoder:
    """Attributes are the arrays' columns."""

    min_count: int = 1

    def fit_transform(self, X: Sequence[Any]) -> Encoded:
        """Take the number of columns from X and encode it; columns with too few non-zeros are left out."""
        if getattr(X[0], "ndim", 0) != 2:
            raise DataError(f"sequence 0: expected an array of one row per token, got {_shape_of(X[0])}")
        self.width_ = int(X[0].shape[1])
        self.kept_ = np.ones(self.width_, bool)
        encoded = self.transform(X)
        self.kept_ = np.bincount(encoded.indices, minlength=self.width_) >= self.min_count
        return encoded if self.kept_.all() else self.transform(X)

    def extended(self, X: Any) -> Self:
        """Returns an encoder with the columns that X shows too; `min_count` is of X alone."""
        grown = copy(self)
        grown.kept_ = np.ones(self.width_, bool)
        counts = np.bincount(grown.transform(X).indices, minlength=self.width_)
        grown.kept_ = self.kept_ | (counts >= self.min_count)
        return grown

    def transform(self, X: Sequence[Any]) -> Encoded:
        """Encode X."""
        require_list(X)
        lengths, columns, values, rows = [], [], [], []
        for i, x in enumerate(X):
            if getattr(x, "ndim", 0) != 2 or x.shape[1] != self.width_:
                raise DataError(f"sequence {i}: expected an array of {self.width_} columns, got {_shape_of(x)}")
            if x.shape[0] == 0:
                raise DataError(f"sequence {i} is empty; leave empty sequences out")
            try:
                found = _entries(x)
            except (ValueError, TypeError) as error:
                raise DataError(f"sequence {i}: expected an array of numbers: {error}") from None
            if not (np.abs(found.values) <= LARGEST_VALUE).all():
                k = int(np.flatnonzero(~(np.abs(found.values) <= LARGEST_VALUE))[0])
                raise DataError(
                    f"sequence {i}, token {found.rows[k]}: feature {found.columns[k]} is not a finite number, or "
                    f"beyond {LARGEST_VALUE:g}"
                )
            keep = self.kept_[found.columns]
            rows.append(np.bincount(found.rows[keep], minlength=x.shape[0]))
            columns.append(found.columns[keep])
            values.append(found.values[keep])
            lengths.append(x.shape[0])
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        indptr = np.concatenate(([0], *rows)).cumsum().astype(np.int64)
        flat = np.concatenate(values) if values else np.empty(0)
        indices = np.concatenate(columns).astype(np.int32) if columns else np.empty(0, np.int32)
        return Encoded(offsets, indptr, indices, np.empty(0) if (flat == 1.0).all() else flat, self.width_)

    def describe(self, attribute: int) -> str:
        """The column's number."""
        return f"feature {attribute}"

    def state(self) -> State:
        """Which columns are used."""
        return {"min_count": self.min_count}, {"kept": self.kept_}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: Arrays, n_jobs: int = -1) -> Self:
        """The encoder that gave this state."""
        encoder = cls(whole(values["min_count"], "min_count"))
        encoder.kept_ = read_arrays(arrays, _STORED)["kept"]
        encoder.width_ = len(encoder.kept_)
        return encoder


class _Entries(NamedTuple):
    """The entries of an array that are not zero, row by row."""

    rows: Longs
    columns: Longs | Ints
    values: Floats


def _entries(x: Any) -> _Entries:
    """Those of a dense or sparse array; raises `ValueError` or `TypeError` if it does not hold numbers."""
    if isinstance(x, np.ndarray):
        dense = np.asarray(x, np.float64)
        rows, columns = dense.nonzero()
        return _Entries(rows, columns, dense[rows, columns])
    from scipy import sparse

    block = sparse.csr_array(x, dtype=np.float64, copy=True)
    block.eliminate_zeros()
    return _Entries(np.repeat(np.arange(block.shape[0]), np.diff(block.indptr)), block.indices, block.data)


def _shape_of(x: Any) -> str:
    shape = getattr(x, "shape", None)
    return f"shape {tuple(shape)}" if shape is not None else repr(type(x).__name__)
