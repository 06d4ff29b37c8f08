"""Temperatures, and schedules of them."""

import math
from numbers import Real
from typing import Any

from ..errors import DataError

# Below it, scores over the temperature have no digits left.
_COLDEST = 1e-10


def require_temperature(value: Any) -> None:
    """Raise `DataError` unless it is a number above 0 and finite, and scores can be divided by it."""
    if not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise DataError(f"a temperature is above 0 and finite, got {value!r}")
    if value < _COLDEST:
        raise DataError(f"a temperature of {float(value):g} is too low to divide scores by: {_COLDEST:g} is the lowest")


def geometric(start: float, rate: float, count: int) -> list[float]:
    """start, start * rate, start * rate², ...: `count` temperatures (section 3 of Dhillon et al. 2012)."""
    last_temperature(start, rate, count)
    return [float(start) * float(rate) ** k for k in range(count)]


def last_temperature(start: float, rate: float, count: int) -> float:
    """Returns the last of these temperatures; raises `DataError` where there are none, or they become too low."""
    require_temperature(start)
    if not isinstance(rate, Real) or not 0 < rate <= 1:
        raise DataError(f"the rate of cooling is above 0 and at most 1, got {rate!r}")
    if count < 1:
        raise DataError(f"a schedule has at least one temperature, got {count!r}")
    last = float(start) * float(rate) ** (count - 1)
    if last < _COLDEST:
        raise DataError(f"the schedule ends at {last:g}, too low to divide scores by ({_COLDEST:g} is not); cool less")
    return last
