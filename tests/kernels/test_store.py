import ast
import errno
import importlib
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from types import ModuleType

import numba
import pytest

import sidelight.kernels
from sidelight.kernels import store

KERNELS = Path(sidelight.kernels.__file__).parent


class Package:
    """A package with two modules of kernels, of which one calls the other, and a folder for what is compiled."""

    def __init__(self, root: Path) -> None:
        self.root, self.kept = root / "small_kernels", root / "kept" / "sidelight"
        self.root.mkdir()
        (self.root / "__init__.py").touch()
        self.write("called", "return x + 1")
        self.write("calling", "return called(x) * 2", "from .called import called\n")

    def write(self, name: str, body: str, imports: str = "", kind: str = "kernel") -> None:
        head = f"from sidelight.kernels.compiling import {kind}\n"
        (self.root / f"{name}.py").write_text(f"{head}{imports}\n@{kind}\ndef {name}(x):\n    {body}\n")

    def files(self) -> list[Path]:
        return sorted(self.kept.iterdir())

    def fresh(self, name: str = "called") -> ModuleType:
        """The module as a new process would see it."""
        store.source.cache_clear()
        importlib.invalidate_caches()
        for module in [key for key in sys.modules if key.startswith("small_kernels")]:
            del sys.modules[module]
        return importlib.import_module(f"small_kernels.{name}")

    def call(self, name: str = "called") -> tuple[int, bool]:
        """What it gives for 1, and whether it had to be compiled."""
        kernel = getattr(self.fresh(name), name)
        return kernel(1), not kernel.stats.cache_hits


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # sources are rewritten within the clock's second
    monkeypatch.setattr(store.config, "CACHE_DIR", str(tmp_path / "kept"))
    store._note.cache_clear()
    store._sweep.cache_clear()
    return Package(tmp_path)


def test_a_later_process_finds_what_was_compiled(package: Package) -> None:
    assert package.call() == (2, True)
    assert package.call() == (2, False)
    assert [path.name.partition("-")[0] for path in package.files()] == ["called.called"]


def test_files_count_by_their_content_not_their_time(package: Package) -> None:
    package.call()
    os.utime(package.root / "called.py", (0, 0))
    assert package.call() == (2, False)


def test_a_kernel_that_calls_an_edited_one_is_compiled_again(package: Package) -> None:
    assert package.call("calling") == (4, True)
    assert package.call("calling") == (4, False)
    package.write("called", "return x + 2")
    assert package.call("calling") == (6, True)
    package.write("called", "return x + 1")
    assert package.call("calling") == (4, False)


@pytest.mark.parametrize("damage", [b"", b"not a kernel", None])
def test_a_damaged_file_is_replaced(package: Package, damage: bytes | None) -> None:
    package.call()
    (path,) = package.files()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    assert package.call() == (2, True)
    assert package.files() == [path]
    assert package.call() == (2, False)


def test_a_folder_that_cannot_be_written_costs_one_note(package: Package) -> None:
    package.kept.parent.write_text("a file where a folder is needed")
    with pytest.warns(UserWarning, match="compiled kernels are not kept.*cannot be written") as notes:
        assert package.call("calling") == (4, True)
    assert len(notes) == 1


def test_kernels_in_a_folder_that_all_users_can_write_to_are_not_run(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    package.call("calling")
    kept = package.files()
    assert kept
    package.kept.chmod(0o777)
    loaded: list[object] = []
    monkeypatch.setattr(store.pickle, "loads", loaded.append)
    with pytest.warns(UserWarning, match="all users can write to it"):
        assert package.call("calling") == (4, True)
    assert not loaded
    assert package.files() == kept


def test_a_full_disk_costs_one_note_and_leaves_nothing(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(UserWarning, match="No space left") as notes:
        assert package.call("calling") == (4, True)
    assert len(notes) == 1
    assert package.files() == []


def test_without_a_folder_for_caches_kernels_are_compiled(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store.config, "CACHE_DIR", "")
    monkeypatch.setattr(store, "AppDirs", lambda *_, **__: type("", (), {"user_cache_dir": "~/.cache/sidelight"}))
    with pytest.warns(UserWarning, match="no folder for the user's caches"):
        assert package.call() == (2, True)


def test_kernels_of_the_package_are_found_first(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    package.call()
    monkeypatch.setattr(store, "SHIPPED", package.kept)
    monkeypatch.setattr(store.config, "CACHE_DIR", str(package.root / "other"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert package.call() == (2, False)
    assert not (package.root / "other").exists()


def test_what_nobody_has_read_for_long_is_removed(package: Package) -> None:
    package.kept.mkdir(parents=True)
    for name, age in {"old.kernel": 0, "new.kernel": 2**31}.items():
        (package.kept / name).touch()
        os.utime(package.kept / name, (age, age))
    package.call()
    names = {path.name for path in package.files()}
    assert "new.kernel" in names
    assert "old.kernel" not in names


def test_threads_share_one_version(package: Package) -> None:
    kernel, results = package.fresh().called, []
    threads = [threading.Thread(target=lambda: results.append(kernel(1))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [2] * 4
    assert len(package.files()) == 1


def compiling(package: Package, holder: str) -> list[tuple[int, bool]]:
    """What the package's kernel gives while another process holds its lock, does as `holder` says, and ends."""
    package.call()
    (path,) = package.files()
    whole = path.read_bytes()
    path.unlink()
    code = f"import fcntl, os, sys, time; f = open({str(path) + '.lock'!r}, 'ab'); fcntl.flock(f, fcntl.LOCK_EX); "
    code += f"print('held', flush=True); time.sleep(0.3); {holder}"
    (package.root / "whole").write_bytes(whole)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return [package.call(), package.call()]


def test_a_kernel_that_another_process_compiles_is_waited_for(package: Package) -> None:
    found = compiling(package, f"os.replace({str(package.root / 'whole')!r}, f.name.removesuffix('.lock'))")
    assert found == [(2, False), (2, False)]
    assert [path.suffix for path in package.files()] == [".kernel"]


def test_a_process_that_dies_while_it_compiles_keeps_nobody_waiting(package: Package) -> None:
    assert compiling(package, "os.kill(os.getpid(), 9)") == [(2, True), (2, False)]
    assert [path.suffix for path in package.files()] == [".kernel"]


def test_nobody_waits_for_ever(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_PATIENCE", 0.05)
    assert compiling(package, "pass") == [(2, True), (2, False)]


@pytest.mark.parametrize("missing", ["the system", "the file system"])
def test_without_locks_kernels_are_compiled(package: Package, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    if missing == "the system":
        monkeypatch.setattr(store, "fcntl", None)
    else:
        monkeypatch.setattr(store.fcntl, "flock", refused)
    assert package.call("calling") == (4, True)
    assert package.call("calling") == (4, False)


def test_a_kernel_that_does_not_compile_leaves_no_lock(package: Package) -> None:
    package.write("called", "return x.no_such_attribute")
    for _ in range(2):
        with pytest.raises(numba.TypingError):
            package.call()
    assert package.files() == []


@pytest.mark.parametrize("kind", ["inner", "ordered_inner", "kernel"])
def test_a_new_kernel_is_linked_with_functions_that_were_kept(package: Package, kind: str) -> None:
    package.write("called", "return x + 1 if x < 5 else called(x - 1)", kind=kind)
    package.write("again", "return called(x) * 3 + called(x + 7)", "from .called import called\n")
    assert package.call("calling") == (4, True)
    assert package.call("again") == (11, True)  # where `called` is not compiled again
    inside = sys.modules["small_kernels.called"].called.stats  # type: ignore[attr-defined]
    assert inside.cache_hits
    assert not inside.cache_misses
    assert package.call("again") == (11, False)


def test_functions_that_only_kernels_call_have_no_machine_code(package: Package) -> None:
    package.write("called", "return x + 1", kind="inner")
    assert package.call("calling") == (4, True)
    for module, has_code in (("called", False), ("calling", True)):
        (compiled,) = getattr(sys.modules[f"small_kernels.{module}"], module).overloads.values()
        assert bool(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)) == has_code


def test_errors_of_functions_that_only_kernels_call(package: Package) -> None:
    package.write("called", "if x > 0:\n        raise ValueError('not', x)\n    return x", kind="inner")
    for compiled in (True, False):
        with pytest.raises(ValueError, match=r"\('not', 1\)"):
            package.call("calling")
        assert bool(sys.modules["small_kernels.calling"].calling.stats.cache_misses) == compiled  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", sorted(KERNELS.glob("*.py")), ids=lambda path: path.stem)
def test_imports_of_kernel_modules_are_seen(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = {node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom) and node.level == 1}
    assert found == set(store._IMPORTED.findall(text))
