"""What only shows in a process of its own: imports, pipes, colours."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import sidelight
from sidelight.__main__ import main

from .conftest import Run

SIDELIGHT = [sys.executable, "-c", "from sidelight.cli.main import main; main()"]


def call(*arguments: object, **options: object) -> "subprocess.CompletedProcess[str]":
    command = [*SIDELIGHT, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)  # type: ignore[call-overload, no-any-return]


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, sidelight.cli.main\n"
        "heavy = {'numpy', 'scipy', 'numba', 'sklearn', 'rich'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_pipe_is_quiet(folder: Path) -> None:
    text = "J . Moore . On graphs .\n" * 20000
    command = [*SIDELIGHT, "predict", str(folder / "crf.model"), "-", "-f", "text"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(text)
        process.stdin.close()
        assert process.stdout.readline().split()[0] == "J"
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 141


def test_progress_goes_to_standard_error(folder: Path, tmp_path: Path) -> None:
    done = call("train", folder / "train.tsv", "-o", tmp_path / "m", "-l", "crf", "--json")
    assert done.returncode == 0
    assert done.stdout.startswith("{")
    assert "CRF 1: " in done.stderr


def test_a_terminal_without_unicode(tmp_path: Path) -> None:
    data = tmp_path / "umlaut.tsv"
    data.write_text("Müller\tfür\n…\tüber\n", encoding="utf-8")
    done = call("score", data, data, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "f?r" in done.stdout


def test_version_and_help(run: Run) -> None:
    assert run("--version").out == f"sidelight {sidelight.__version__}\n"
    for command in ("train", "predict", "evaluate", "score", "check", "inspect", "explain", "demo"):
        said = run(command, "--help")
        assert said.code == 0
        assert "Examples" in said.out
        assert f"sidelight {command}" in said.out


def test_formats_of_the_command_line_are_those_of_the_library() -> None:
    from sidelight.cli.options import FormatName
    from sidelight.data import FORMATS

    assert {str(name) for name in FormatName} == set(FORMATS)


def test_learners_of_the_command_line_are_those_of_the_library() -> None:
    from sidelight.cli.parameters import BASES, CLASSES, DEFAULT_BASES, WRAPPERS

    of_python = {"MaxEnt", "DocumentJLIS", "TwoStage", "Agreement", "DMV"}  # agreement is asked for with --view
    assert {*CLASSES.values(), *WRAPPERS.values()} == set(sidelight.LEARNERS) - of_python
    assert {*DEFAULT_BASES.values()} <= set(BASES) < set(CLASSES)
    assert set(DEFAULT_BASES) == set(WRAPPERS)


def test_ctrl_c_while_modules_are_imported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Interrupted(ModuleType):
        def __getattr__(self, name: str) -> None:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "sidelight.cli.main", Interrupted("main"))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr() == ("", "interrupted\n")
