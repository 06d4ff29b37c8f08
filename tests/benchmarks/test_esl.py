"""The benchmark of induced templates on a few sentences."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import datasets, esl
from benchmarks.__main__ import main
from sidelight import write_columns, write_trees

X = [[("the", "DT"), ("dog", "NN"), ("barks", "VB")], [("dogs", "NN"), ("bark", "VB")]]
CHUNKS = [["B-NP", "I-NP", "B-VP"], ["B-NP", "B-VP"]]
HEADS = [[2, 3, 0], [2, 0]]


def test_everything_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conll2000").mkdir()
    write_columns(tmp_path / "conll2000" / "train.txt", X * 30, CHUNKS * 30, separator=" ")
    folder = tmp_path / "ud" / "en_ewt"
    folder.mkdir(parents=True)
    write_trees(folder / "train.conllu", X * 12, HEADS * 12)
    write_trees(folder / "dev.conllu", X, HEADS)
    monkeypatch.setattr("benchmarks.report.Console", lambda **_: Console(file=io.StringIO()))
    monkeypatch.setattr(datasets, "_DEV_AFTER", 50)
    monkeypatch.setattr(esl, "SENTENCES", 20)
    out = tmp_path / "results.jsonl"
    assert main(["esl", "--data", str(tmp_path), "--seeds", "0", "--json", str(out)]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    scores = {one["what"]: one["value"] for one in lines if one["what"].endswith(("F1", "UAS"))}
    for name in ("perceptron, basic features: F1", "kernel: F1", "hand-written: UAS", "induced: UAS"):
        assert scores[name] == 100.0
    assert [one["bound"] for one in lines if one["target"] is not None] == ["≥"] * 4
