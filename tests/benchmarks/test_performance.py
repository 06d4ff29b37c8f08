"""The command that measures costs: processes of their own, lines that are kept, and a page made of them alone."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

import sidelight
from benchmarks.datasets import MissingData
from benchmarks.performance import __main__ as command
from benchmarks.performance import page, plan, systems
from benchmarks.performance.cells import Cell, Results
from benchmarks.performance.materials import READERS, TITLES, read
from benchmarks.performance.summaries import summaries
from sidelight.learners.registry import REGISTRY
from sidelight.supervision import Signal

DOCS = Path(__file__).parents[2] / "docs"
OURS = Cell("peers", plan.CRF, "chunks", 8000, threads=2)
THEIRS = Cell("peers", plan.THEIR_CRF, "chunks", 8000)


def line(cell: Cell, wall: float, **more: Any) -> dict[str, Any]:
    """A line as a measurement makes it."""
    found = {
        "package": "sidelight", "version": "1.0", "sidelight": "1.0", "tokens": 1000, "classes": 5, "wall_s": wall,
        "processor_s": 2 * wall, "predict_wall_s": 0.1, "predict_processor_s": 0.1, "peak_mb": 100.0, "ready_mb": 60.0,
        "score": 90.0, "metric": "F1", "scored": "others", "objective": 12.5, "python": "3.11", "cpus": 2,
        "others": 0.2, "date": "2026-01-31",
    }  # fmt: skip
    return asdict(cell) | found | more


def results(path: Path, *lines: dict[str, Any]) -> Results:
    found = Results(path)
    for one in lines:
        found.append(one)
    return found


def test_a_quick_run_is_kept_shown_and_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On generated data, in processes of their own; the second run finds nothing to do."""
    file = tmp_path / "results.jsonl"
    arguments = ["--quick", "--only", "rules", "--results", str(file)]
    assert command.main(arguments) == 0
    lines = [json.loads(text) for text in file.read_text().splitlines()]
    assert [(one["system"], one["rules"], one["labelled"]) for one in lines] == [
        ("CCM(HMM)", 0, 10),
        ("CCM(HMM)", 2, 10),
    ]
    for one in lines:
        assert 0 < one["processor_s"] < 60
        assert one["peak_mb"] >= one["ready_mb"] > 20
        assert 40 < one["score"] <= 100
        assert (one["package"], one["version"]) == ("sidelight", one["sidelight"])
        assert one["metric"] == "token accuracy"
    monkeypatch.setattr(command, "measured", lambda cell, data: pytest.fail(f"{cell} is measured again"))
    assert command.main(arguments) == 0
    assert command.main(["--results", str(file), "--write", str(tmp_path / "docs")]) == 0
    text = (tmp_path / "docs" / page.PAGE).read_text()
    assert "| rules | 0 | 2 |" in text
    assert "(10 labelled inputs and 15 unlabelled ones" in text
    assert (tmp_path / "docs" / "performance_rules.svg").read_text().startswith("<?xml")


def test_a_broken_run_goes_on_and_again_measures_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, seen = plan.quick_cells("labels"), list[Cell]()
    results(tmp_path / "r", line(asked[0], 1.0), asdict(asked[1]) | {"missing": "it was ended", "date": "2026-01-31"})

    def measured(cell: Cell, data: Path | None) -> dict[str, Any]:
        seen.append(cell)
        return line(cell, 2.0)

    monkeypatch.setattr(command, "measured", measured)
    arguments = ["--quick", "--only", "labels", "--results", str(tmp_path / "r")]
    command.main([*arguments, "--within", "-1"])
    assert not seen
    command.main(arguments)
    assert seen == asked[1:]
    command.main([*arguments, "--again"])
    assert seen == [*asked[1:], *asked]
    assert {one["wall_s"] for one in Results(tmp_path / "r").lines()} == {2.0}


def test_what_cannot_be_measured_is_said_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systems.shutil, "which", lambda name: None)
    with pytest.raises(systems.NotInstalled, match="pip install eflomal"):
        systems.make(Cell("peers", "eflomal", "bitext", 10), read(Cell("peers", "HMM", "references", 2), None))
    gone = asdict(THEIRS) | {"missing": "it is not installed", "date": "2026-01-31"}
    found = results(tmp_path / "r", line(OURS, 1.0), gone)
    assert found.lacking([OURS, THEIRS]) == [THEIRS]
    assert found.lacking([OURS, THEIRS], disturbed=0.1) == [OURS, THEIRS]
    assert "Not measured: CRFsuite: CRF (it is not installed)." in page.section("peers", found.lines())
    found.append(line(THEIRS, 8.0))
    found.append(gone)
    assert found.lacking([OURS, THEIRS]) == []
    assert "Not measured" not in page.section("peers", found.lines())


def test_the_shortest_time_and_the_highest_memory_of_all_turns_count() -> None:
    lines = [line(replace(OURS, turn=turn), wall, peak_mb=peak) for turn, (wall, peak) in enumerate([(3, 90), (2, 99)])]
    (one,) = summaries(lines)
    assert (one.turns, one.wall, one.processor, one.peak, one.grown) == (2, 2, 4, 99, 39)
    assert summaries([line(OURS, 1.0, worker_peak_mb=300.0)])[0].peak == 300
    assert summaries([line(OURS, 1.0, peak_mb=None)])[0].peak is None


def test_ours_is_a_share_of_the_peer() -> None:
    text = page.section("peers", [line(OURS, 1.5), line(THEIRS, 12.0, package="python-crfsuite", peak_mb=50.0)])
    assert f"| {plan.CRF} / {plan.THEIR_CRF} | CoNLL-2000 chunking, 8,000 | **0.125** | 0.125 | 2.00 |" in text
    assert (
        "python-crfsuite 1.0, sidelight 1.0; 2 cores; other processes used up to 0.2 cores meanwhile; 2026-01-31"
        in text
    )
    assert "--only peers` measures it" in text


def test_only_what_is_between_markers_is_replaced() -> None:
    text = "".join(f"before {topic}\n{page.begin(topic)}\nold\n{page.end(topic)}\nafter\n" for topic in plan.TOPICS)
    made = page.filled(text, [line(OURS, 1.0)])
    assert "old" not in made
    assert made.count("Not measured yet.") == len(plan.TOPICS) - 1
    assert all(f"before {topic}\n{page.begin(topic)}\n" in made for topic in plan.TOPICS)
    assert page.filled(made, [line(OURS, 1.0)]) == made
    with pytest.raises(MissingData, match="has 0 places for the topic peers"):
        page.filled("nothing", [])


def test_the_page_is_what_the_lines_give() -> None:
    text, lines = (DOCS / page.PAGE).read_text(), Results(DOCS / "performance.jsonl").lines()
    assert page.filled(text, lines) == text
    drawn = {one["topic"] for one in lines} & set(page.AXES)
    assert all((DOCS / f"performance_{topic}.svg").exists() for topic in drawn)


def test_a_file_of_something_else_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r").write_text(json.dumps(line(OURS, 1.0)) + "\nsome text\n")
    assert command.main(["--quick", "--only", "rules", "--results", str(tmp_path / "r")]) == 1
    assert "line 2 of" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main(["--results", str(tmp_path / "other")])
    assert "--quick" in capsys.readouterr().err


def test_the_plan_has_every_learner_on_data_that_there_is() -> None:
    cells = [cell for topic in plan.TOPICS for cell in plan.cells(topic)]
    assert set(sidelight.LEARNERS) <= {cell.system for cell in cells if cell.topic == "learners"}
    assert {cell.data for cell in cells} <= set(READERS) == set(TITLES)
    assert {cell.data for topic in plan.TOPICS for cell in plan.quick_cells(topic)} == {"references", "generated"}
    assert all(plan.quick_cells(topic) for topic in plan.TOPICS)


@pytest.mark.parametrize("name", [name for name in sidelight.LEARNERS if name not in plan.OTHERS])
def test_learners_are_given_what_they_can_use(name: str) -> None:
    """As many inputs as outputs, some of them unlabelled only where a learner takes such."""
    material = read(Cell("learners", name, "references", 5, 4), None)
    learner = systems.make(Cell("learners", name, "references", 5, 4), material)
    X, y = learner.given(material)
    assert len(X) == len(y)
    assert (None in y) == (Signal.NOTHING in REGISTRY[name].signals and name != "ContrastiveEstimation")
