"""Schedules of temperatures."""

import math

from ..errors import DataError

_COLDEST = 1e-100


def geometric(start: float, rate: float, count: int) -> list[float]:
    """start, start * rate, start * rate², ...: `count` temperatures (section 3 of Dhillon et al. 2012)."""
    if not isinstance(start, int | float) or not 0 < start < math.inf:
        raise DataError(f"a temperature is above 0 and finite, got {start!r}")
    if not isinstance(rate, int | float) or not 0 < rate <= 1:
        raise DataError(f"the rate of cooling is above 0 and at most 1, got {rate!r}")
    if count < 1:
        raise DataError(f"a schedule has at least one temperature, got {count!r}")
    last = start * rate ** (count - 1)
    if last < _COLDEST:
        raise DataError(f"the schedule ends at {last:g}, where scores over the temperature overflow; cool less")
    return [start * rate**k for k in range(count)]
