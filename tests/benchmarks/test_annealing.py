"""Rules about expectations on a few generated references: what is measured and told, not the numbers."""

import io
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from rich.console import Console

from benchmarks import annealing, word_classes
from benchmarks.citations import known
from benchmarks.citations.experiment import Experiment
from benchmarks.datasets import Task
from benchmarks.report import Report
from sidelight import generate_references, share, word
from sidelight.inference.rows import Rows
from sidelight.rules.files import saved_text

WORDS = annealing._WORDS  # before `quick` leaves some out


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    X, y = generate_references(36, seed=3)
    return annealing.classed(Experiment(Task(X[10:20], y[10:20], X[20:25], y[20:25]), X[25:], (0,)))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annealing, "SIZES", (3, 5, 10))
    monkeypatch.setattr(annealing, "ROUNDS", 1)
    monkeypatch.setattr(annealing, "PR_ROUNDS", 2)
    monkeypatch.setattr(annealing, "TIMED", (1, 2))
    monkeypatch.setattr(annealing, "SCHEDULE", {"start": 1.2, "rate": 0.8, "temperatures": 2, "iterations": 1})
    monkeypatch.setattr(annealing, "PAPER_SCHEDULE", {"start": 2.0, "rate": 0.9, "temperatures": 2, "iterations": 1})
    monkeypatch.setattr(annealing, "HOT_ROUNDS", 1)
    monkeypatch.setattr(annealing, "FLAT_ROUNDS", 1)
    monkeypatch.setattr(annealing, "FEATURES", ["word.lower()", "word.shape()"])
    seen = {"Pages": annealing._WORDS["Pages"], "Date": annealing._WORDS["Date"]}
    monkeypatch.setattr(annealing, "_WORDS", seen)
    monkeypatch.setattr(annealing, "TABLE_4", {(2.0, 0.5, 2): (72.8, 76.2)})


@pytest.fixture(scope="module")
def told(experiment: Experiment) -> Callable[[str], Report]:
    """The report of a table by its name, measured once for all tests, all of which are `quick`."""

    @cache
    def made(name: str) -> Report:
        report = Report("annealing", "dev", (0,), None, Console(width=160, record=True, file=io.StringIO()))
        annealing.TABLES[name](experiment, report)
        return report

    return made


def test_words_are_those_of_the_paper() -> None:
    """Table 2 of Dhillon et al. 2012; Table 3.1 of Chang 2011 has another word of technical reports."""
    assert str(WORDS["TechReport"][0]) == str(word.lower().isin("tech", "tech_report"))
    assert "'technical'" in known.RULES["TechReport"].body()


def test_rules_are_statements(experiment: Experiment) -> None:
    X, y = experiment.subset(5, 0)
    known = annealing.rules(y)
    labels = sorted({c for labels in y for c in labels})
    rows = Rows.compile(known, experiment.pool, labels)
    assert len(rows.about_each) == len(labels)
    assert len(rows.about_corpus) == 2 + len(labels) + 1
    assert all(saved_text(rule) for rule in known)
    labels_of_training = Rows.compile([r for r in known if "share" in r.body()][2:], X, labels)
    codes = np.array([labels.index(c) for one in y for c in one], np.int32)
    rounded = 0.5e-4 * len(codes) / len(X)  # of a share with four digits, in tokens per reference
    assert np.abs(labels_of_training.count(codes)).max() < 1.001 * rounded


def test_violations_of_shares_are_fractions(experiment: Experiment) -> None:
    """One token of four has the right label, so a share of 1 is missed by 3/4, in whatever sequences these are."""

    class Always:
        classes_ = ("author", "date", "pages")

        def predict(self, X: list[list[object]]) -> list[list[str]]:
            return [["author"] * len(x) for x in X[:-1]] + [["date"] * len(X[-1])]

    X = [[("1999", "?"), ("2001", "?"), ("x", "?")], [("1998", "?")], [("y", "?")], [("1997", "?")]]
    date = (share("date", where=annealing.word.matches("^(19|20)")) == 1).expected(100.0)
    assert annealing.violations(Always(), [date], X) == pytest.approx(0.75**2)


def test_rows_of_table_3_stand_beside_those_of_the_paper(told: Callable[[str], Report]) -> None:
    table = told("daso-3")
    ours = {r.what for r in table.results if r.system == annealing.OURS}
    paper = {r.what: r.value for r in table.results if r.system == annealing.PAPER}
    assert "CoDL, 3 labelled" in ours
    assert paper["CoDL, 3 labelled"] == 71.0
    assert paper[f"{annealing.HOT} (T), 5 labelled"] == paper["DASO (T), 5 labelled"] == 86.0
    left = {r.system for r in table.results if r.section.startswith("Violations")}
    assert left == {"PR", "DASO", annealing.HOT}


@pytest.mark.parametrize("name", annealing.TABLES)
def test_tables_are_told(told: Callable[[str], Report], name: str) -> None:
    table = told(name)
    assert table.results
    assert all(np.isfinite(r.value) for r in table.results)
    assert "labelled" in table.console.export_text()


def test_words_of_one_kind_share_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that stand between the same neighbours, whatever their case and digits; others have none."""
    monkeypatch.setattr(word_classes, "CLASSES", 4)
    X = [[name, ".", year, ","] for name in ("Ann", "Bob", "Cid") for year in ("1990", "2001", "soon")]
    found = dict(word_classes.with_classes([["ANN", "Bob", "Cid", "1234", "soon", ".", ",", "new"]],
                                           word_classes.learn_classes(X))[0])  # fmt: skip
    assert found["ANN"] == found["Bob"] == found["Cid"]
    assert found["1234"] == found["soon"]
    assert len({found[w] for w in ("Bob", "soon", ".", ",")}) == 4
    assert found["new"] == "?"


def test_published_rows_have_every_size() -> None:
    assert {len(numbers) for numbers in annealing.TABLE_3.values()} == {3}
