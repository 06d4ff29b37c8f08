"""A bounded run of each fuzzing target, and the harness: what it calls a failure."""

import os
import signal
import sys
from pathlib import Path

import pytest

from fuzz import checkpoints, corpora, harness, models
from fuzz.__main__ import targets
from fuzz.harness import run, run_here
from sidelight.errors import DataError

# Files whose predictions need few kernels, which other tests need too.
CHEAP = ("hmm", "crf", "crf-dicts", "perceptron", "kernel-perceptron", "maxent", "em", "crf-rules", "semicrf")


def outcomes_of(target, folder, cases):
    """How cases from a fixed seed end, none of which may fail."""
    outcomes = set()
    for number in range(cases):
        outcome, failure = run_here(target, folder, 0, number)
        assert not failure, f"case {number}: {failure}"
        outcomes.add(outcome)
    return outcomes


@pytest.mark.parametrize("name", sorted(models.CASES))
def test_altered_model_files_are_refused_or_used(name, tmp_path, monkeypatch):
    """Each of these cases is drawn from a fixed seed; `python -m fuzz models` runs any number, in a child process."""
    monkeypatch.setattr(models, "CASES", {name: models.CASES[name]})
    if name not in CHEAP:
        monkeypatch.setattr(models, "_use", lambda learner, X: None)
    assert "refused" in outcomes_of(models, tmp_path, 25 if name in CHEAP else 5)


@pytest.mark.parametrize("name", ["lbfgs", "eg", "perceptron", "kernel perceptron", "cutting planes", "em", "codl"])
def test_altered_checkpoints_are_refused_or_used(name, tmp_path, monkeypatch):
    """`python -m fuzz checkpoints` runs any number of cases, of more learners."""
    monkeypatch.setattr(checkpoints, "FITS", {name: checkpoints.FITS[name]})
    assert "refused" in outcomes_of(checkpoints, tmp_path, 12)


def test_altered_corpora_are_refused_or_used(tmp_path):
    corpora.setup(tmp_path)
    assert {"DataError", "learned from"} <= outcomes_of(corpora, tmp_path, 40)


class Target:
    """Cases that end in all ways."""

    @staticmethod
    def case(folder, random):
        raise {"own": DataError("x"), "raw": IndexError("y"), "memory": MemoryError()}[folder]


def test_outcomes():
    assert run_here(Target, "own", 0, 0) == ("DataError", "")
    assert run_here(Target, "raw", 0, 0)[1].startswith("IndexError at test_fuzz.py:")
    assert run_here(Target, "memory", 0, 0)[1].startswith("MemoryError")


BROKEN = """
import os, signal, time
def setup(folder): pass
def case(folder, random):
    number = len(os.listdir(folder))
    open(folder / str(number), "w").close()
    if number == 1: os.kill(os.getpid(), signal.SIGSEGV)
    if number == 2: time.sleep(60)
    if number == 3: bytearray(100 << 30)
    return "well"
"""


def test_crashes_and_hangs_are_failures(tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text(BROKEN)
    package = Path(harness.__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(package), *sys.path]))
    monkeypatch.setattr(harness, "SECONDS", 0.5)
    report = run("broken", 5)
    assert report.cases == 5
    assert report.outcomes == {"well": 2}
    assert [number for number, _ in report.failures] == [1, 2, 3]
    assert f"status {-signal.SIGSEGV}" in report.failures[0][1]
    assert "no end after" in report.failures[1][1]
    assert "MemoryError" in report.failures[2][1]
    assert "5 cases: 2 well; 3 failures" in str(report)


def test_targets():
    assert "models" in targets()
    assert "harness" not in targets()
