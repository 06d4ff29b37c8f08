"""With a numba that lacks what kernels are kept by, they are compiled in the ordinary way, and a warning says so."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from sidelight.errors import SidelightError
from sidelight.kernels import compiling, internals, linked, store

_FIT = """
import sys, warnings
from sidelight.kernels import internals
if sys.argv[1] == "plain":
    internals.USED = {**internals.USED, "numba.core.gone": ("Library",)}
warnings.simplefilter("ignore")
from sidelight import HMM
X, y = [["a", "b", "a"], ["b", "c"]] * 4, [["P", "Q", "P"], ["Q", "R"]] * 4
model = HMM().fit(X, y)
print(model.predict(X), "sidelight.kernels.store" in sys.modules)
"""


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = {"numba.core.codegen": ("JITCodeLibrary._gone", "Gone.there"), "numba.core.gone": ("anything",)}
    monkeypatch.setattr(internals, "USED", {**internals.USED, **gone})
    compiling.keeps_kernels.cache_clear()
    yield
    compiling.keeps_kernels.cache_clear()


def test_all_is_there() -> None:
    assert internals.missing() == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiling.keeps_kernels.cache_clear()
        assert compiling.keeps_kernels()


def test_what_is_used_is_named() -> None:
    """What the modules import of numba and llvmlite is checked for; `config` is documented."""
    named = {f"{module}.{name.partition('.')[0]}" for module, names in internals.USED.items() for name in names}
    for module in (linked, store):
        for name, value in vars(module).items():
            source = getattr(value, "__module__", None) or ""
            if source.startswith(("numba", "llvmlite")) and getattr(value, "__name__", "") == name:
                assert any(one.endswith(f".{name}") for one in named), name


@pytest.mark.usefixtures("lacking")
def test_a_numba_without_the_internals() -> None:
    expected = ["numba.core.codegen.JITCodeLibrary._gone", "numba.core.codegen.Gone.there", "numba.core.gone.anything"]
    assert internals.missing() == expected
    with pytest.warns(UserWarning, match=r"compiled anew in every process.* has no numba.*_gone, .*; install numba 0"):

        @compiling.ordered_inner
        def one_more(x: int) -> int:
            return x + 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it was said once

        @compiling.inner
        def two_more(x: int) -> int:
            return one_more(one_more(x))

        @compiling.kernel
        def twice(x: int) -> int:
            return 2 * two_more(x)

    assert twice(3) == 10
    assert not isinstance(twice._cache, store.Store)
    (compiled,) = two_more.overloads.values()
    assert not isinstance(compiled.library, linked.LinkedLibrary)


@pytest.mark.usefixtures("lacking")
@pytest.mark.filterwarnings("ignore:kernels are compiled anew")
def test_kernels_cannot_be_made_ahead(tmp_path: Path) -> None:
    from sidelight.cli.compile import command

    with pytest.raises(SidelightError, match="cannot be kept with this version of numba"):
        command(folder=tmp_path)


def test_a_model_is_the_same() -> None:
    kept, plain = (
        subprocess.run([sys.executable, "-c", _FIT, how], check=True, capture_output=True, text=True).stdout
        for how in ("kept", "plain")
    )
    assert kept.endswith("True\n")
    assert plain == kept.replace("True\n", "False\n")
