"""Unified EM by γ and start on a few sentences: what is measured and told, not the numbers."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import gamma
from benchmarks.__main__ import main
from benchmarks.gamma import EM, EVEN, HARD, USUAL, Curve
from sidelight import write_conllu

SENTENCES = [
    (["the", "walk", "ends"], ["D", "N", "V"]),
    (["I", "walk"], ["P", "V"]),
    (["the", "walk", "ends", "the", "walk"], ["D", "N", "V", "D", "N"]),
]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Few sentences, and sizes that they have."""
    X, y = zip(*SENTENCES * 6, strict=True)
    both = [list(zip(words, tags, strict=True)) for words, tags in zip(X, y, strict=True)]
    (tmp_path / "ud" / "en_ewt").mkdir(parents=True)
    write_conllu(tmp_path / "ud" / "en_ewt" / "train.conllu", both, y, columns=("form", "xpos"))
    monkeypatch.setattr(gamma, "SIZES", (2, 4))
    monkeypatch.setattr(gamma, "GAMMAS", (HARD, 0.0, USUAL, EM, 2.0))
    monkeypatch.setattr(gamma, "ITERATIONS", 3)
    monkeypatch.setattr("benchmarks.report.Console", lambda **_: Console(width=160, file=io.StringIO()))
    return tmp_path


def test_every_gamma_and_start_is_told(data: Path) -> None:
    out = data / "out.jsonl"
    assert main(["gamma", "--data", str(data), "--tokens", "20", "--seeds", "0,1", "--json", str(out)]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    told = [x for x in lines if "Penn" in x["section"]]
    assert len(lines) == 2 * len(told)
    rows = {x["what"] for x in told if x["target"] is None and x["system"] == EVEN}
    assert rows == {"the start itself", "γ = -inf, hard EM", "γ = 0, linear program", "γ = 0.9", "γ = 1, EM", "γ = 2"}
    assert {x["system"] for x in told if "what it shows" not in x["section"]} == {EVEN, "2 labelled", "4 labelled"}
    assert all((x["deviation"] is None) == (x["system"] == EVEN) for x in told if x["what"] == "γ = 1, EM")
    judged = [x["what"] for x in told if x["target"] is not None]
    assert [what.split(":")[0] for what in judged] == [EVEN] * 2 + ["2 labelled"] * 2 + ["4 labelled"] * 2


def test_hard_em_is_the_linear_program_without_rules(data: Path) -> None:
    out = data / "out.jsonl"
    assert main(["gamma", "--data", str(data), "--tokens", "20", "--seeds", "0", "--json", str(out)]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    hard, linear = ([x["value"] for x in lines if x["what"].startswith(f"γ = {g},")] for g in ("-inf", "0"))
    assert hard == linear


def test_the_best_gamma_is_found() -> None:
    curve = Curve("5 labelled", {HARD: [60.0, 62.0], 0.5: [80.0, 84.0], EM: [70.0, 90.0], 2.0: [50.0, 40.0]})
    assert curve.best_below() == 0.5
    assert curve.gain_below() == 2.0
    assert curve.gain_above() == -35.0
    assert curve.relative(0.5) == pytest.approx(2.5)
    assert curve.relative(EM) == 0


def test_curves_are_drawn(data: Path) -> None:
    pytest.importorskip("matplotlib")
    figure = data / "curves.svg"
    assert main(["gamma", "--data", str(data), "--tokens", "20", "--seeds", "0", "--figure", str(figure)]) == 0
    assert "svg" in figure.read_text()


def test_too_few_sentences_to_label_are_told(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gamma", "--data", str(data), "--tokens", "55", "--seeds", "0"]) == 1
    assert "4 are to be labelled; lower --tokens" in capsys.readouterr().err
