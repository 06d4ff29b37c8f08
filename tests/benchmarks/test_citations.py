"""The tables of citations on a few generated references: what is measured, drawn and told, not the numbers."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmarks import citations, drawing
from benchmarks.__main__ import main
from benchmarks.citations import decoding, figures, tables
from benchmarks.citations.experiment import Experiment, Mean
from benchmarks.citations.known import LARGE, RULES, hard, soft
from benchmarks.citations.published import SIZES, TABLE_3_3, TABLE_3_4, TABLE_3_6, TABLE_3_7
from benchmarks.datasets import Task
from benchmarks.report import Report
from sidelight import check, generate_references, write_columns


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    """References whose fields are those of the data."""
    X, y = generate_references(20, seed=3)
    return Experiment(Task(X[:8], y[:8], X[8:13], y[8:13]), X[13:], (0, 1))


@pytest.fixture
def report() -> Report:
    return Report("citations", "dev", (0, 1), None, Console(width=160, record=True, file=io.StringIO()))


def told(report: Report) -> str:
    return report.console.export_text()


def test_the_rules_are_those_of_the_table() -> None:
    assert set(TABLE_3_7) == {"None", "ALL", *RULES}
    assert [rule.name for rule in soft()] == list(RULES)
    assert all(rule.reading is None for rule in soft())
    assert {rule.reading.penalty for rule in hard() if rule.reading} == {LARGE}
    assert [rule.title for rule in hard("Date", "Note")] == ["Date", "Note"]


@pytest.mark.parametrize(
    ("token", "name"),
    [("ACM", "BookJournal"), ("1999", "Date"), ("Eds", None), ("ed", "Editors"), ("pp.", "Pages"), ("12000", None)],
)
def test_words_of_the_rules(token: str, name: str | None) -> None:
    X, y = [["A", ".", token, "."]], [["author", "author", "volume", "volume"]]
    assert [c.rule.name for c in check(soft(), X, y) if c.violations] == ([name] if name else [])


def test_every_published_row_has_every_size() -> None:
    for table in (TABLE_3_3, TABLE_3_4, TABLE_3_6):
        assert {len(numbers) for numbers in table.values()} == {len(SIZES)}


def test_subsets_are_drawn_by_seed(experiment: Experiment) -> None:
    X, y = experiment.subset(5, 1)
    drawn = np.random.default_rng(1).choice(8, 5, replace=False)
    assert [experiment.task.train_X[i] for i in drawn] == X
    assert y == [experiment.task.train_y[i] for i in drawn]
    X, y = experiment.with_pool(5, 1)
    assert len(X) == len(y) == 5 + len(experiment.pool)
    assert y[5:] == [None] * len(experiment.pool)


class Counting:
    """Predicts what is right, and counts how often it is fitted."""

    fits = 0

    def __init__(self, task: Task) -> None:
        self.task = task

    def fit(self, X: object, y: object) -> "Counting":
        Counting.fits += 1
        return self

    def predict(self, X: object) -> object:
        return self.task.eval_y


def test_nothing_is_measured_twice(experiment: Experiment) -> None:
    Counting.fits = 0
    for _ in range(2):
        assert experiment.supervised("counting", lambda: Counting(experiment.task), 5) == Mean(100.0, 0.0)
    assert Counting.fits == len(experiment.seeds)


def test_all_references_are_one_subset(experiment: Experiment) -> None:
    Counting.fits = 0
    assert experiment.supervised("counting", lambda: Counting(experiment.task), 8) == Mean(100.0, None)
    assert Counting.fits == 1


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes that the generated references have."""
    for module in (tables, figures):
        monkeypatch.setattr(module, "SIZES", (5, 6, 7, 8))
    monkeypatch.setattr(figures, "ROUNDS", (0, 1))
    monkeypatch.setattr(figures, "MORE_SIZES", (5, 8))
    monkeypatch.setattr(figures, "BALANCES", (0.5, 1.0))
    monkeypatch.setattr(decoding, "LABELLED", 6)
    monkeypatch.setattr(decoding, "SAMPLE", 2)
    monkeypatch.setattr(tables.published, "TABLE_3_5", {"AP-T": {5: 75.6}, "AP-I": {5: 74.6}})


@pytest.mark.usefixtures("small")
def test_accuracies_stand_beside_the_published_ones(experiment: Experiment, report: Report) -> None:
    tables.rules_and_unlabelled(experiment, report)
    ours = {r.what: r for r in report.results if r.system == tables.OURS}
    theirs = {r.what: r for r in report.results if r.system == tables.THESIS}
    assert ours.keys() == theirs.keys()
    assert len(ours) == 16 + 8
    judged = {what: r for what, r in ours.items() if r.target is not None}
    assert len(judged) == 16
    assert all(r.target == pytest.approx(theirs[what].value - 1) and r.bound == "≥" for what, r in judged.items())
    assert "Table 3.3" in told(report)


@pytest.mark.usefixtures("small")
def test_errors_that_rules_take_away_and_the_balances_of_the_thesis(experiment: Experiment, report: Report) -> None:
    tables.rules_and_unlabelled(experiment, report)
    ours = {(r.section, r.what): r.value for r in report.results if r.system == tables.OURS}
    sections = list(dict.fromkeys(section for section, _ in ours))
    assert [section.partition("β = ")[2][:3] for section in sections] == ["0.5", "0.1", "0.9"]
    for section in sections:
        before, after = (
            ours[section, f"{name}, 5 labelled"]
            for name in ("HMM, semi-supervised (hard EM)", "HMM and rules, semi-supervised (CoDL)")
        )
        found = ours[section, "errors of HMM, semi-supervised (hard EM) less with rules, 5 labelled"]
        assert found == pytest.approx(100 * (1 - (100 - after) / (100 - before)))
    assert "31.69 %" in told(report)


@pytest.mark.usefixtures("small")
def test_only_semicrf_as_it_comes_has_a_target(experiment: Experiment, report: Report) -> None:
    tables.tailored_models(experiment, report)
    judged = [r for r in report.results if r.target is not None]
    assert [(r.what, r.target) for r in judged] == [("SemiCRF, default features, 8 labelled", 93.5)]
    assert {r.what.rpartition(", ")[0] for r in report.results} > set(TABLE_3_4)


@pytest.mark.usefixtures("small")
def test_rules_alone_and_together(experiment: Experiment, report: Report) -> None:
    tables.each_rule(experiment, report)
    tables.soft_and_hard(experiment, report)
    tables.alternating_projections(experiment, report)
    text = told(report)
    assert all(name in text for name in (*RULES, "None", "ALL", "AP-I", "75.60 %"))
    assert f"penalty of {LARGE:g}" in text
    assert "its hard rules together have 78.18 in Table 3.6" in " ".join(text.split())


@pytest.mark.usefixtures("small")
def test_curves_are_kept_for_the_figure(experiment: Experiment, report: Report, tmp_path: Path) -> None:
    experiment.panels.clear()
    figures.by_iteration(experiment, report)
    figures.by_balance(experiment, report)
    iterations, balances = experiment.panels.values()
    assert list(iterations.curves) == ["EM", "hard EM", "CoDL"]
    assert {len(points) for points in iterations.curves.values()} == {2}
    assert {x for points in balances.curves.values() for x, _ in points} == {0.5, 1.0}
    pytest.importorskip("matplotlib")
    drawing.draw(experiment.panels, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("small")
def test_curves_by_labelled_references(experiment: Experiment, report: Report) -> None:
    experiment.panels.clear()
    figures.by_labelled(experiment, report)
    figures.rules_for_labels(experiment, report)
    rules, places = experiment.panels.values()
    assert list(rules.curves) == ["hard EM", "CoDL"]
    assert list(places.curves) == ["HMM, labels alone", "HMM learned by CoDL, no rules at prediction", "CoDL"]
    assert places.curves["CoDL"] == rules.curves["CoDL"]
    assert [x for x, _ in rules.curves["CoDL"]] == [5, 8]


@pytest.mark.usefixtures("small")
def test_search_and_integer_programs_agree(experiment: Experiment, report: Report) -> None:
    decoding.decode(experiment, report)
    decoding.drive(experiment, report)
    by_name = {r.what: r for r in report.results}
    assert by_name["proved exact"].value == len(experiment.pool)
    assert by_name["largest difference in score there"].met


@pytest.mark.parametrize("searched", [0, 1, 3, 10])
def test_half_of_the_sample_needed_search(searched: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "SAMPLE", 4)

    class Found:
        pass

    found = Found()
    found.searched = np.arange(10) < searched
    chosen = decoding.sample(found, np.random.default_rng(0))
    assert len(set(chosen.tolist())) == 4
    assert found.searched[chosen].sum() == (4 if searched == 10 else min(searched, 2))


def test_a_figure_without_matplotlib_is_told_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("train.tsv", "dev.tsv", "unlabeled.txt"):
        (tmp_path / "citations").mkdir(exist_ok=True)
        (tmp_path / "citations" / name).write_text("")
    monkeypatch.setattr(drawing, "find_spec", lambda name: None)
    assert main(["citations", "--data", str(tmp_path), "--figure", str(tmp_path / "curves.png")]) == 1
    assert "--figure needs matplotlib" in capsys.readouterr().err


def test_tables_are_chosen_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "citations"
    folder.mkdir()
    X, y = generate_references(6, seed=0)
    for name in ("train.tsv", "dev.tsv"):
        write_columns(folder / name, X, y, separator="\t")
    write_columns(folder / "unlabeled.txt", X, None)
    monkeypatch.setattr(citations.experiment, "SIZES", (5,))
    monkeypatch.setattr(decoding, "LABELLED", 5)
    lines = tmp_path / "out.jsonl"
    assert main(["citations", "--data", str(tmp_path), "--tables", "driving", "--json", str(lines)]) == 0
    found = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [x["what"] for x in found] == ["at most 5 iterations", "iterations made"]
    assert all(x["section"].startswith("CoDL over 6 references") for x in found)


def test_too_few_references_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "citations"
    folder.mkdir()
    for name in ("train.tsv", "dev.tsv", "unlabeled.txt"):
        (folder / name).write_text("A\tauthor\n" if name.endswith("tsv") else "A\n")
    assert main(["citations", "--data", str(tmp_path)]) == 1
    assert "has 1 references, 300 are needed" in capsys.readouterr().err


def test_an_unknown_table_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["citations", "--data", str(tmp_path), "--tables", "3.3,3.9"])
    assert "there is no 3.9" in capsys.readouterr().err
