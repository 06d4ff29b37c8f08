"""What each input counts: `sample_weight` of fits and scores."""

import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DataError


def read_weights(sample_weight: Any, count: int, noun: str, use: str = "learn from") -> NDArray[np.float64]:
    """Returns a weight for each of `count` inputs, 1 where none are given; raises `DataError` for what is none.

    use: what there is nothing to do to where all are zero.
    """
    if sample_weight is None:
        return np.ones(count)
    wanted = f"sample_weight must be a number of at least 0 for each of the {count} {noun}s"
    try:
        weights = np.asarray(sample_weight, float)
    except (TypeError, ValueError):
        raise DataError(f"{wanted}, got something that is not numbers: {reprlib.repr(sample_weight)}") from None
    if weights.shape != (count,):
        came = f"{len(weights)} of them" if weights.ndim == 1 else f"an array of shape {weights.shape}"
        raise DataError(f"{wanted}, got {came}")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise DataError(f"{wanted}, got {weights[wrong[0]]:g} for {noun} {wrong[0]}")
    if not weights.any():
        raise DataError(f"sample_weight is zero for all {noun}s, so there is nothing to {use}")
    return weights
