import gc
import os
import sys
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Small matrices are no work for several threads: those that wait for more would only burn processor time.
# NumPy and SciPy read this when they are imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Tests start many processes, and without files of bytecode each of them would compile all modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Until everything is imported there is no garbage to look for.
gc.disable()

# How long a draw or a test takes says more about the machine than about the library.
settings.register_profile("sidelight", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sidelight")


def pytest_collection_finish() -> None:
    """What was imported stays to the end: the garbage collector need not look at it again and again, nor so often."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@cache
def _guard() -> tuple[Any, Any]:
    """The module of comparisons with the base, and how it compares."""
    from sidelight.learners.choosing import guard

    return guard, guard._look


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Comparisons with the base cost every fit its time again; tests that are about them are marked `guarded`."""
    guard, look = _guard()
    guard._look = look if item.get_closest_marker("guarded") else lambda *_, **__: None
