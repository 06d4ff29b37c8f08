import re
import subprocess
import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest

import sidelight


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_loads_nothing_heavy():
    code = "import sys, sidelight; dir(sidelight); print(*(m for m in sys.modules))"
    loaded = {name.partition(".")[0] for name in run(code).split()}
    assert "sidelight" in loaded
    assert not loaded & {"numpy", "scipy", "numba", "sklearn", "rich", "typer"}


def test_expressions_load_no_compiler():
    code = "import sys\nfrom sidelight import parse, word\nparse('word[-1].lower()')\nprint(*sys.modules)"
    assert not {name.partition(".")[0] for name in run(code).split()} & {"numpy", "scipy", "numba", "sklearn"}


def test_every_public_name_is_there():
    assert dir(sidelight) == sorted(sidelight.__all__)
    for name in sidelight.__all__:
        assert getattr(sidelight, name) is not None
    for name, home in sidelight._HOME.items():
        assert getattr(sidelight, name) is getattr(import_module(f"sidelight.{home}"), name)


def test_star_import():
    names = {}
    exec("from sidelight import *", names)
    assert set(sidelight.__all__) <= set(names)


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="module 'sidelight' has no attribute 'Crf'"):
        _ = sidelight.Crf
    with pytest.raises(ImportError):
        from sidelight import Crf  # noqa: F401


def test_learners_by_name():
    learners = sidelight.learners_by_name()
    assert list(learners) == list(sidelight.LEARNERS)
    for name, cls in learners.items():
        assert cls.__name__ == name
        assert cls is getattr(sidelight, name)
        assert cls.signals


def test_errors_share_a_base():
    for name in ("DataError", "NotSupported", "Infeasible", "ModelFileError"):
        assert issubclass(getattr(sidelight, name), sidelight.SidelightError)
    assert issubclass(sidelight.DataError, ValueError)


def test_the_package_runs_as_the_command():
    said = subprocess.run([sys.executable, "-m", "sidelight", "--version"], capture_output=True, text=True, check=True)
    assert said.stdout == f"sidelight {sidelight.__version__}\n"


def test_a_name_stands_for_one_class():
    """No two classes share a name, but for the tuples that kernels take."""
    found = defaultdict(list)
    package = Path(sidelight.__file__).parent
    for path in package.rglob("*.py"):
        if path.parent.name != "kernels":
            for name in re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE):
                found[name].append(str(path.relative_to(package)))
    assert {name: homes for name, homes in found.items() if len(homes) > 1} == {}
