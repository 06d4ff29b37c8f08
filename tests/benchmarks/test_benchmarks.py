"""The runner of the benchmarks, without data and without a clock."""

import io
import json
from importlib import import_module
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import induction
from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.chunk_features import TEMPLATES, attributes
from benchmarks.report import Report, quoted
from benchmarks.setting import Setting
from benchmarks.tagging import EMS, SYSTEMS
from benchmarks.weight_exchange import attribute_numbers
from sidelight.features.templates import TemplateEncoder


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return Report("chunking", "dev", (0, 1), tmp_path / "results.jsonl", Console(file=io.StringIO()))


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_result_is_one_flat_line_of_json(report: Report) -> None:
    report.compare("time", "s", 2.0, 8.0, peer="Peer", at_most=1 / 3)
    report.add("accuracy", "sidelight", 90.0, "%", deviation=1.5)
    lines = lines_of(report.file)
    assert [(x["system"], x["value"], x["met"]) for x in lines] == [
        ("sidelight", 2.0, None),
        ("Peer", 8.0, None),
        ("sidelight / Peer", 0.25, True),
        ("sidelight", 90.0, None),
    ]
    assert all(x["split"] == "dev" and x["seeds"] == "0,1" and x["numba"] for x in lines)
    assert not any(isinstance(value, dict | list) for x in lines for value in x.values())


def test_a_second_run_is_appended(report: Report) -> None:
    report.add("time", "sidelight", 1.0, "s")
    Report("chunking", "dev", (0,), report.file, report.console).add("time", "sidelight", 2.0, "s")
    assert [x["value"] for x in lines_of(report.file)] == [1.0, 2.0]


def test_a_missed_target_is_told() -> None:
    console = Console(width=140, record=True, file=io.StringIO())
    report = Report("chunking", "dev", (0,), None, console)
    report.compare("time", "s", 5.0, 8.0, peer="Peer", at_most=1 / 3)
    report.add("accuracy", "sidelight", 90.0, "%", deviation=1.5)
    report.show()
    text = console.export_text()
    row = next(line for line in text.splitlines() if "time" in line)
    assert all(cell in row for cell in ("5.000 s", "8.000 s", "0.625 ×", "≤ 0.333 ×", "no"))
    assert "90.00 ± 1.50 %" in text


def test_sections_have_tables_of_their_own() -> None:
    console = Console(width=140, record=True, file=io.StringIO())
    report = Report("citations", "dev", (0,), None, console)
    with report.section("Table 1"):
        report.add("HMM", "sidelight", 90.0, "%", at_least=91.0)
    with report.section("Table 2"):
        report.add("CRF", "sidelight", 90.0, "%", at_least=89.0)
    report.show()
    assert [(r.section, r.bound, r.target, r.met) for r in report.results] == [
        ("Table 1", "≥", 91.0, False),
        ("Table 2", "≥", 89.0, True),
    ]
    first, second = console.export_text().split("Table 2")
    assert "HMM" in first
    assert "≥ 91.00 %" in first
    assert "HMM" not in second
    assert "CRF" in second


def test_tables_say_which_data_is_scored_and_which_numbers_are_quoted() -> None:
    console = Console(width=160, record=True, file=io.StringIO())
    report = Report("companions", "dev", (0,), None, console, data="citations, dev")
    report.add("accuracy", "sidelight", 90.0, "%")
    with report.section("Costs", "citations, the end of train"):
        report.add("accuracy", "sidelight", 91.0, "%")
        report.add("accuracy", quoted("a paper"), 92.0, "%")
    report.show()
    first, second = " ".join(console.export_text().split()).split("companions")
    assert "Costs (citations, the end of train; seeds 0)" in first
    assert "quoted: a paper" in first
    assert "quoted: not measured in this run" in first
    assert "(citations, dev; seeds 0)" in second
    assert "measured in this run" in second
    assert "quoted" not in second
    assert [r.data for r in report.results] == ["citations, dev", *["citations, the end of train"] * 2]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_says_what_it_scores(name: str, tmp_path: Path) -> None:
    module = import_module(f"benchmarks.{name}")
    said = module.scored(Setting(tmp_path, "test", (0,)))
    own = {"startup": "no data", "letters": "fold", "tagging": "train", "gamma": "train", "induction": "train"}
    own["tasks"] = own["structures"] = "train"
    own["phonetic"], own["agreement"] = "generated", "training data"
    assert own.get(name, "test") in said


def test_without_a_peer_there_is_no_ratio(report: Report) -> None:
    report.compare("time", "s", 5.0, None, peer="Peer", at_most=1 / 3)
    assert [r.system for r in report.results] == ["sidelight"]


def test_a_missing_folder_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path / "nowhere")]) == 1
    assert "nowhere does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "train", "test"),
    [
        ("chunking", "conll2000/train.txt", "conll2000/test.txt"),
        ("citations", "citations/train.tsv", "citations/test.tsv"),
    ],
)
def test_a_missing_test_file_is_told(
    name: str, train: str, test: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / train
    path.parent.mkdir()
    path.write_text("")
    assert main([name, "--data", str(tmp_path), "--split", "test"]) == 1
    told = capsys.readouterr().err
    assert test in told
    assert train not in told


def test_tables_alone_choose_their_benchmark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tables", "speed-dicts", "--data", str(tmp_path)]) == 1
    told = capsys.readouterr().err
    assert "conll2000/train.txt" in told
    assert "citations" not in told


@pytest.mark.parametrize("arguments", [["nothing"], ["--seeds", "0,a"], ["--split", "train"]])
def test_wrong_arguments_are_told(arguments: list[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--data", str(tmp_path), *arguments])
    assert stopped.value.code == 2


def test_every_benchmark_is_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    told = capsys.readouterr().out
    assert all(name in told for name in BENCHMARKS)


def test_tagging_scores_ambiguous_words_of_every_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = [["the", "walk", "ends"], ["I", "walk"], ["walk", "ends"]] * 5
    tags = [["D", "N", "V"], ["P", "V"], ["N", "V"]] * 5
    path = tmp_path / "ud" / "en_ewt" / "train.conllu"
    path.parent.mkdir(parents=True)
    rows = [
        "".join(f"{i}\t{w}\t_\t{t}\t{t}\t_\t_\t_\t_\t_\n" for i, (w, t) in enumerate(zip(x, y, strict=True), 1))
        for x, y in zip(sentences, tags, strict=True)
    ]
    path.write_text("\n".join(rows) + "\n")
    monkeypatch.setattr("benchmarks.report.Console", lambda **_: Console(file=io.StringIO()))
    out = tmp_path / "results.jsonl"
    assert main(["tagging", "--data", str(tmp_path), "--tokens", "20", "--seeds", "0,1", "--json", str(out)]) == 0
    lines = lines_of(out)
    means = {(x["section"], x["what"]): x["value"] for x in lines if x["system"] == "mean"}
    assert len(means) == 2 * (len(SYSTEMS) + 4)
    few = tmp_path / "few.jsonl"
    options = ["--tokens", "20", "--seeds", "0", "--tables", "contrastive-xpos", "--json", str(few)]
    assert main(["tagging", "--data", str(tmp_path), *options]) == 0
    sections, systems = ({x[key] for x in lines_of(few)} for key in ("section", "what"))
    assert sections == {"Accuracy at ambiguous words, Penn tags"}
    assert systems & set(SYSTEMS) == {*EMS, "CE, transpose"}
    assert {x["value"] for x in lines if x["what"] == "CE, transpose" and x["unit"] == "%"} <= {100.0, 74.7}
    assert main(["tagging", "--data", str(tmp_path), "--tokens", "100"]) == 1


def test_the_projection_of_figure_11_concentrates_a_word_on_one_tag() -> None:
    panels, (before, after) = induction.one_word()
    assert before > 3.9
    assert 1.0 < after < 1.1
    assert all(value > 0.8 for _, value in panels["after"].curves["noun"])


def test_induction_scores_every_system_on_both_languages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = [["The", "walk", "ends"], ["I", "walk"], ["the", "dog", "ends"]] * 12
    tags = [["D", "N", "V"], ["P", "V"], ["D", "N", "V"]] * 12
    rows = [
        "".join(f"{i}\t{w}\t_\t{t}\t{t}\t_\t_\t_\t_\t_\n" for i, (w, t) in enumerate(zip(x, y, strict=True), 1))
        for x, y in zip(sentences, tags, strict=True)
    ]
    for treebank in induction.TREEBANKS:
        path = tmp_path / "ud" / treebank / "train.conllu"
        path.parent.mkdir(parents=True)
        path.write_text("\n".join(rows) + "\n")
    monkeypatch.setattr("benchmarks.report.Console", lambda **_: Console(file=io.StringIO()))
    for name, value in (("SENTENCES", 36), ("ROUNDS", 5), ("WARM_UP", 2)):
        monkeypatch.setattr(induction, name, value)
    out = tmp_path / "results.jsonl"
    assert main(["induction", "--data", str(tmp_path), "--seeds", "0,1", "--json", str(out)]) == 0
    lines = lines_of(out)
    assert len(lines) == 2 * (len(induction.SYSTEMS) * len(induction.COLUMNS) + 3)
    assert all(0 <= float(str(x["value"])) <= 100 for x in lines if x["unit"] == "%" and "less" not in str(x["what"]))
    assert sum(x["met"] is not None for x in lines) == 4
    monkeypatch.setattr(induction, "SENTENCES", 37)
    assert main(["induction", "--data", str(tmp_path)]) == 1


def test_rare_words_are_one_word() -> None:
    text = induction.Text.of([["A", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]])
    assert text.X == [["a", "unk"], ["a", "unk"]]
    assert text.states == ["state 1", "state 2"]


def test_peers_get_the_attributes_of_the_templates() -> None:
    X = [[("a", "D"), ("b", "N"), ("a", "D")], [("b", "N")], [("a", "N"), ("b", "D")]]
    encoded = TemplateEncoder(TEMPLATES).fit_transform(X)
    numbers = attribute_numbers(X, encoded.indices.reshape(-1, len(TEMPLATES)))
    assert len(numbers) == encoded.attributes
    assert {len(token) for x in X for token in attributes(x)} == {len(TEMPLATES)}
