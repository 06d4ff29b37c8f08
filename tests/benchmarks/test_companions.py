"""J-LIS beside the structural SVM on a few generated sequences: what is measured and told, not the numbers."""

import io
import json
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.__main__ import main
from benchmarks.companions import TABLES, fields, sample, tags
from benchmarks.companions.sample import COMPANIONS, SVM, Costs, draw
from benchmarks.datasets import MissingData, Task
from sidelight import JLIS, generate_references, write_columns, write_conllu

SENTENCES = [
    (["the", "walk", "ends", "here"], ["DET", "NOUN", "VERB", "ADV"]),
    (["I", "walk", "the", "dog"], ["PRON", "VERB", "DET", "NOUN"]),
    (["we", "end", "the", "walk"], ["PRON", "VERB", "DET", "NOUN"]),
]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # a few rounds are enough


@pytest.fixture
def task() -> Task:
    X, y = generate_references(30, seed=3)
    return Task(X[:20], y[:20], X[20:], y[20:])


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small files, and sizes that they have."""
    (tmp_path / "citations").mkdir()
    X, y = generate_references(30, seed=0)
    for name in ("train.tsv", "dev.tsv"):
        write_columns(tmp_path / "citations" / name, X[:20], y[:20], separator="\t")
    write_columns(tmp_path / "citations" / "unlabeled.txt", X[20:], None)
    (tmp_path / "ud" / "en_ewt").mkdir(parents=True)
    X, y = zip(*SENTENCES * 4, strict=True)
    for name in ("train.conllu", "dev.conllu"):
        write_conllu(tmp_path / "ud" / "en_ewt" / name, X, y)
    monkeypatch.setattr(fields, "CHOSEN", {20: fields.CHOSEN[100], 40: fields.CHOSEN[400]})
    for module in (fields, tags):
        monkeypatch.setattr(module, "OPTIONS", {**module.OPTIONS, "tolerance": 0.5, "max_iterations": 3})
    monkeypatch.setattr(sample, "JLIS", partial(JLIS, change=0.5))
    monkeypatch.setattr(tags, "ROUNDS", {})
    monkeypatch.setattr(tags, "CHANGE", 0.5)
    monkeypatch.setattr(fields, "GOOD_REFERENCES", 4)
    monkeypatch.setattr(fields, "BAD_REFERENCES", (0, 4))
    monkeypatch.setattr(tags, "COSTS", {8: Costs(1.0, 1.0, 0.1), 200: Costs(0.1, 0.1, 0.1)})
    monkeypatch.setattr(tags, "GOOD_SENTENCES", 5)
    monkeypatch.setattr(tags, "SHORTEST", 4)
    monkeypatch.setattr(tags, "SHUFFLES", (1, 2))
    monkeypatch.setattr(tags, "FEW_LABELLED", 2)
    monkeypatch.setattr(tags, "FEW_GOOD", 4)
    monkeypatch.setattr(sample, "GRID", (0.1, 1.0))
    monkeypatch.setattr(fields, "HELD_OUT", 3)
    monkeypatch.setattr(tags, "HELD_OUT", 3)
    monkeypatch.setattr("benchmarks.report.Console", lambda **_: Console(width=160, file=io.StringIO()))
    return tmp_path


def measured(data: Path, tables: str) -> list[dict[str, object]]:
    """The results of one run."""
    lines = data / "out.jsonl"
    arguments = ["companions", "--data", str(data), "--tables", tables, "--seeds", "0,1", "--json", str(lines)]
    assert main(arguments) == 0
    return [json.loads(line) for line in lines.read_text().splitlines()]


def test_samples_have_enough_tokens_and_no_more(task: Task) -> None:
    sample = draw(task, 1, tokens=40, good=3)
    lengths = list(map(len, sample.X))
    assert sum(lengths) >= 40 > sum(lengths[:-1])
    assert not any(x in sample.X for x in sample.good)
    assert draw(task, 1, tokens=40, good=3) == sample != draw(task, 2, tokens=40, good=3)
    assert len(draw(task, 1, sequences=7, good=3).X) == 7


def test_bad_sequences_are_good_ones_shuffled(task: Task) -> None:
    sample = draw(task, 0, tokens=10, good=4, shortest=5)
    bad = sample.bad(2)
    assert len(bad) == 8
    assert [sorted(x) for x in bad] == [sorted(x) for x in sample.good for _ in range(2)]
    assert all(x not in sample.good for x in bad)


def test_too_little_data_is_told(task: Task) -> None:
    with pytest.raises(MissingData, match="100000 labelled tokens are needed"):
        draw(task, 0, tokens=100_000, good=0)
    with pytest.raises(MissingData, match="50 more sequences"):
        draw(task, 0, tokens=10, good=50)


def test_table_2_stands_beside_the_paper(data: Path) -> None:
    found = measured(data, "table-2")
    ours = {(x["section"], x["what"]): x for x in found if x["system"] == "sidelight"}
    paper = {(x["section"], x["what"]): x["value"] for x in found if x["system"] == "quoted: Chang et al. 2010"}
    assert len(ours) == 2 * 3
    assert len(paper) == 2 * 2
    assert all(ours[row]["target"] == pytest.approx(value - 1) for row, value in paper.items())
    assert {x["target"] for (_, what), x in ours.items() if "less" in what} == {0.0}


def test_more_and_more_bad_references(data: Path) -> None:
    assert [x["what"] for x in measured(data, "figure-6.5a")] == ["0 BAD", "4 BAD", "most less fewest"]


def test_tags_by_labelled_tokens_and_by_shuffles(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {x["what"]: x for x in measured(data, "figure-6.6a")}
    assert list(found) == [
        f"{SVM}, no companions",
        f"{COMPANIONS}, 1 for each",
        f"{COMPANIONS}, 2 for each",
        "most less fewest",
    ]
    monkeypatch.setattr(tags, "COSTS", {8: Costs(1.0, 1.0, 0.1), 16: Costs(1.0, 1.0, 0.1)})
    found = {x["what"]: x for x in measured(data, "figure-6.2,tag-costs")}
    less = [x["target"] for what, x in found.items() if "less SSVM" in what]
    assert less == [tags.GAIN, tags.LOSS]
    assert len([what for what in found if "C2 = " in what]) == 2 * 4


def test_rounds_by_labelled_tokens_and_good_sentences(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tags, "ROUNDS_LABELLED", (8,))
    monkeypatch.setattr(tags, "ROUNDS_GOOD", (2, 4))
    found = measured(data, "figure-6.5b")
    assert [(x["what"], x["system"]) for x in found] == [
        ("8 labelled tokens", f"{good} GOOD and as many BAD") for good in (2, 4)
    ]
    assert all(float(str(x["value"])) >= 1 for x in found)


def test_features_and_costs_of_references_are_sought(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "CHOSEN", dict(list(fields.CHOSEN.items())[:1]))
    monkeypatch.setattr(fields, "FEATURES", dict(list(fields.FEATURES.items())[1:]))
    found = [x["what"] for x in measured(data, "citation-costs")]
    assert len([what for what in found if "C2 = " in what]) == len(fields.CHOSEN) * len(fields.FEATURES) * 4


def test_costs_are_sought_only_when_named(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    for name in TABLES:
        monkeypatch.setitem(TABLES, name, lambda *_, name=name: ran.append(name))
    assert main(["companions", "--data", str(data)]) == 0
    assert ran == [name for name in TABLES if not name.endswith("-costs")]


def test_curves_are_drawn(data: Path) -> None:
    pytest.importorskip("matplotlib")
    file = data / "curves.png"
    assert (
        main(["companions", "--data", str(data), "--tables", "figure-6.5a", "--seeds", "0", "--figure", str(file)]) == 0
    )
    assert file.read_bytes().startswith(b"\x89PNG")
