"""What each input counts: `sample_weight` of fits and scores."""

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
    try:
        weights = np.asarray(sample_weight, float)
    except (TypeError, ValueError):
        weights = np.empty(0)
    if weights.shape != (count,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError(f"sample_weight has a number of at least 0 for each of the {count} {noun}s")
    if not weights.any():
        raise DataError(f"sample_weight is zero for all {noun}s, so there is nothing to {use}")
    return weights
