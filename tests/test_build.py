"""The hook that compiles kernels while a wheel is built, and what it may import."""

import subprocess
import sys
import types
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DEPENDENCIES = ["numpy>=1.26", "scipy>=1.11", "numba>=0.60", "threadpoolctl>=3.1", "rich>=13.7"]


class Interface:
    """What hatchling gives to a hook, as far as ours reads it."""

    def __init__(self, root):
        self.root, self.warnings = root, []
        self.app = types.SimpleNamespace(display_warning=self.warnings.append)
        self.metadata = types.SimpleNamespace(core=types.SimpleNamespace(dependencies=DEPENDENCIES))


@pytest.fixture
def module(monkeypatch):
    interface = types.ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = Interface
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    monkeypatch.delenv("SIDELIGHT_COMPILE", raising=False)
    spec = spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    found = module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_what_is_compiled_becomes_a_part_of_the_wheel(module, monkeypatch):
    def run(command, env, **options):
        assert env["PYTHONPATH"].split(":")[0] == str(ROOT / "src")
        Path(command[-2], "chain.forward-1.kernel").touch()
        Path(command[-1], "model").touch()
        return subprocess.CompletedProcess(command, 0, b"", b"")

    monkeypatch.setattr(module.subprocess, "run", run)
    hook, data = module.CustomBuildHook(str(ROOT)), {"force_include": {}}
    assert hook.dependencies() == ["numpy>=1.26", "numba>=0.60", "threadpoolctl>=3.1"]
    hook.initialize("standard", data)
    assert (data.pop("pure_python"), data.pop("infer_tag")) == (False, True)
    ((source, place),) = data["force_include"].items()
    assert place == "sidelight/kernels/compiled/chain.forward-1.kernel"
    assert Path(source).is_file()
    hook.finalize("standard", data, "")
    assert not Path(source).parent.exists()
    assert hook.warnings == []


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            subprocess.CalledProcessError(1, "python", stderr=b"Traceback\nImportError: no numba"),
            "ImportError: no numba",
        ),
        (subprocess.TimeoutExpired("python", 300), "TimeoutExpired"),
        (FileNotFoundError(2, "no python"), "FileNotFoundError"),
    ],
)
def test_an_install_does_not_fail_where_kernels_cannot_be_compiled(module, monkeypatch, tmp_path, error, reason):
    def run(*args, **options):
        raise error

    monkeypatch.setattr(module.subprocess, "run", run)
    hook, data = module.CustomBuildHook(str(tmp_path)), {"force_include": {}}
    hook.initialize("standard", data)
    hook.finalize("standard", data, "")
    assert data == {"force_include": {}}
    assert hook.warnings == [f"kernels will be compiled when they are first needed, and not now: {reason}"]


def test_an_editable_install_has_kernels_beside_its_sources(module, monkeypatch, tmp_path):
    def run(command, env, **options):
        assert Path(command[-2]) == tmp_path / "src" / "sidelight" / "kernels" / "compiled"
        assert Path(command[-1]).is_dir()
        scratch.append(Path(command[-1]))
        return subprocess.CompletedProcess(command, 0, b"", b"warning: it cannot be written\n")

    scratch = []
    monkeypatch.setattr(module.subprocess, "run", run)
    hook, data = module.CustomBuildHook(str(tmp_path)), {"force_include": {}}
    hook.initialize("editable", data)
    hook.finalize("editable", data, "")
    assert data == {"force_include": {}}
    assert not scratch[0].exists()
    assert hook.warnings == [
        "kernels will be compiled when they are first needed, and not now: warning: it cannot be written"
    ]


@pytest.mark.parametrize("version", ["editable", "standard"])
def test_installs_without_kernels(module, monkeypatch, tmp_path, version):
    monkeypatch.setenv("SIDELIGHT_COMPILE", "0")
    monkeypatch.setattr(module.subprocess, "run", None)
    hook, data = module.CustomBuildHook(str(tmp_path)), {"force_include": {}}
    hook.initialize(version, data)
    hook.finalize(version, data, "")
    assert data == {"force_include": {}}
    assert hook.dependencies() == []


def test_a_wheel_that_takes_along_kernels_beside_the_sources_is_not_for_every_platform(module, monkeypatch, tmp_path):
    monkeypatch.setenv("SIDELIGHT_COMPILE", "0")
    kernels = tmp_path / "src" / "sidelight" / "kernels" / "compiled"
    kernels.mkdir(parents=True)
    (kernels / "chain.forward-1.kernel").touch()
    hook, data = module.CustomBuildHook(str(tmp_path)), {"force_include": {}}
    hook.initialize("standard", data)
    assert data == {"force_include": {}, "pure_python": False, "infer_tag": True}


def test_what_is_run_needs_no_other_package(module, tmp_path):
    """It runs where only what the hook depends on is installed; here others cannot be imported."""
    others = ("scipy", "sklearn", "highspy", "typer", "rich", "matplotlib", "pandas")
    code = f"import sys\nsys.modules.update(dict.fromkeys({others!r}))\n"
    # With kernels that are there already, which takes a second; the hook has a folder of its own filled.
    run = module._USE.replace("with store.fill(Path(sys.argv[1])):", "if True:")
    assert run != module._USE
    subprocess.run([sys.executable, "-c", code + run, "", str(tmp_path)], check=True)
    assert (tmp_path / "model").is_file()
