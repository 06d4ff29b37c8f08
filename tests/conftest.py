import gc
import os

import pytest
from hypothesis import HealthCheck, settings

# Small matrices are no work for several threads: those that wait for more would only burn processor time.
# NumPy and SciPy read this when they are imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

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


@pytest.fixture(autouse=True)
def _no_guards(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparisons with the base cost every fit its time again; tests that are about them are marked `guarded`."""
    if request.node.get_closest_marker("guarded") is None:
        monkeypatch.setattr("sidelight.learners.choosing.guard._look", lambda *_, **__: None)
