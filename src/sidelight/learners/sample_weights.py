"""What each input counts in `fit`: `sample_weight`, a number for every input.

A weight of 2 is the same as the input twice, and one of 0 the same as leaving it out, in learners that minimise a sum
over inputs or count. In those that visit one input after another it is the length of a step.
"""

from typing import Any

import numpy as np

from ..errors import DataError, NotSupported
from ..features.encoded import some_of
from ..kernels.compiling import Floats
from .registry import REGISTRY


def read_weights(sample_weight: Any, count: int, noun: str) -> Floats:
    """Returns a weight for each of `count` inputs, 1 where none are given; raises `DataError` for what is none."""
    if sample_weight is None:
        return np.ones(count)
    try:
        weights = np.asarray(sample_weight, float)
    except (TypeError, ValueError):
        weights = np.empty(0)
    if weights.shape != (count,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError(f"sample_weight has a number of at least 0 for each of the {count} {noun}s")
    if not weights.any():
        raise DataError(f"sample_weight is zero for all {noun}s, so there is nothing to learn from")
    return weights


def weighed(learner: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Floats | None]:
    """Returns the inputs that count, what is known of them, and what each counts, None where all count 1.

    Inputs of weight 0 are left out after they were checked as the others are.
    """
    if sample_weight is None:
        return X, y, None
    sizes, _ = learner.read_input(X, y)
    weights = read_weights(sample_weight, len(sizes), learner.task_.noun)
    which = np.flatnonzero(weights)
    if len(which) < len(sizes):
        X, y, weights = some_of(X, which), [y[i] for i in which.tolist()], weights[which]
    return X, y, None if (weights == 1.0).all() else weights


def by_weight(X: Any, y: Any, weights: Floats | None) -> tuple[Any, Any, Floats | None]:
    """Returns inputs of the same weight side by side, which are worked out together."""
    if weights is None:
        return X, y, None
    order = np.argsort(weights, kind="stable")
    return some_of(X, order), [y[i] for i in order.tolist()], weights[order]


def refuse_weights(learner: Any, sample_weight: Any) -> None:
    """Raises `NotSupported`, naming learners that would work, if a learner that cannot use weights is given some."""
    if sample_weight is None:
        return
    others = [name for name, one in REGISTRY.items() if one.weighted and one.signals >= learner.signals]
    others = others or [name for name, one in REGISTRY.items() if one.weighted and one.signals & learner.signals]
    raise NotSupported(f"{type(learner).__name__} has no use for sample_weight; use {' or '.join(others)}")
