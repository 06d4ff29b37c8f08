"""Schedules of temperatures."""

from ..errors import DataError


def geometric(start: float, rate: float, count: int) -> list[float]:
    """start, start * rate, start * rate², ...: `count` temperatures (section 3 of Dhillon et al. 2012)."""
    if not start > 0:
        raise DataError(f"a temperature is above 0, got {start!r}")
    if not 0 < rate <= 1:
        raise DataError(f"the rate of cooling is above 0 and at most 1, got {rate!r}")
    if count < 1:
        raise DataError(f"a schedule has at least one temperature, got {count!r}")
    return [start * rate**k for k in range(count)]
