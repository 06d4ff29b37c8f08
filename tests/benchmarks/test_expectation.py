"""Generalized expectation on a few generated references: what is measured and told, not the numbers."""

import io

import numpy as np
import pytest
from rich.console import Console

from benchmarks import annealing, expectation
from benchmarks.citations.experiment import Experiment
from benchmarks.datasets import Task
from benchmarks.report import Report
from sidelight import generate_references
from sidelight.rules.files import saved_text


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    X, y = generate_references(25, seed=3)
    return Experiment(Task(X[:12], y[:12], X[12:17], y[12:17]), X[17:], (0, 1))


def test_seventeen_statements() -> None:
    known = expectation.rules()
    assert len(known) == 17
    assert all(saved_text(rule) for rule in known)


def test_tables_are_told(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expectation, "SIZES", (3, 5, 12))
    monkeypatch.setattr(expectation, "GENERATED", 8)
    monkeypatch.setattr(annealing, "FEATURES", ["word.lower()", "word.shape()"])
    seen = {name: expectation.STATEMENTS[name] for name in ("Start", "Pages", "Year")}
    monkeypatch.setattr(expectation, "STATEMENTS", seen)
    for name, make in expectation.TABLES.items():
        told = Report("expectation", "dev", (0, 1), None, Console(width=160, record=True, file=io.StringIO()))
        make(experiment, told)
        assert told.results, name
        assert all(np.isfinite(r.value) for r in told.results)
        assert {r.system for r in told.results} <= {"sidelight", "quoted: MALLET"}
        assert "labelled" in told.console.export_text()


def test_quoted_rows_have_every_size() -> None:
    assert {len(numbers) for numbers in expectation.ACCURACY.values()} == {3}
