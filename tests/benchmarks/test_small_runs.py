"""Every benchmark runs to its end, on made-up data and with the smallest sizes; nothing is said about its numbers."""

import io
import json
import math
import tempfile
import warnings
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from rich.console import Console

import benchmarks
from benchmarks import crfsuite, small
from benchmarks.__main__ import BENCHMARKS, TABLES, main
from benchmarks.defaults.tasks import TASKS, Task
from sidelight.rules.automata import labels_named

from . import made_up

# Benchmarks with a command line of their own, `python -m benchmarks.NAME`.
OWN = {"scale"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up.make(tmp_path_factory.mktemp("data"))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_table_of_every_benchmark_is_made(
    name: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = io.StringIO()
    monkeypatch.setattr("benchmarks.report.Console", lambda **_: Console(file=printed, width=200))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    out = tmp_path / "results.jsonl"
    options = ["--small", "--data", str(data), "--seeds", "0", "--json", str(out), "--lbfgs", "--solvers", "--peers"]
    options += ["--cells", str(tmp_path / "cells.jsonl")]
    if name in TABLES:
        options += ["--tables", ",".join(TABLES[name])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert main([name, *options, "--figure", str(tmp_path / "figure.svg")]) == 0
    assert small.NOTE in printed.getvalue()
    found = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    assert found or "|---|" in printed.getvalue()
    assert all(one["small"] and math.isfinite(one["value"]) for one in found)


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)
def test_every_task_of_the_defaults_is_read(task: Task, data: Path) -> None:
    X, y = task.read(data)
    assert list(map(len, X)) == list(map(len, y))
    assert labels_named([*task.rules(), *task.false()]) <= {label for labels in y for label in labels}


def test_every_benchmark_is_known() -> None:
    modules = [one.name for one in iter_modules(benchmarks.__path__) if not one.name.startswith("_")]
    runs = {name for name in modules if callable(getattr(import_module(f"benchmarks.{name}"), "run", None))}
    assert runs - OWN == set(BENCHMARKS)


def test_without_crfsuite_its_column_is_left_out(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(crfsuite, "INSTALLED", False)
    tables, out = "speed-dicts,speed-perceptron,speed-crf", tmp_path / "results.jsonl"
    options = ["--small", "--seeds", "0", "--tables", tables, "--json", str(out)]
    assert main(["speed", "--data", str(data), *options]) == 0
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert {one["section"] for one in found} == set(tables.split(","))
    assert {one["system"] for one in found} == {"sidelight"}
    assert "pip install 'sidelight[bench]'" in " ".join(capsys.readouterr().out.split())


def test_a_small_run_leaves_sizes_as_they_were() -> None:
    def sizes() -> list[object]:
        named = (key.rpartition(".") for key in small.SIZES)
        return [getattr(import_module(f"benchmarks.{module}"), name) for module, _, name in named]

    usual = sizes()
    with small.small_sizes():
        assert sizes() == list(small.SIZES.values())
    assert sizes() == usual
