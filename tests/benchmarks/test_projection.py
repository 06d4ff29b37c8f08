"""The benchmark of grammars from another language on a few sentences."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import projection
from benchmarks.__main__ import main
from sidelight import write_trees
from tests.cli.test_transfer import ENGLISH, FRENCH, HEADS, tagged


def test_everything_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, lines in (("en_ewt", ENGLISH), ("fr_sequoia", FRENCH)):
        folder = tmp_path / "ud" / name
        folder.mkdir(parents=True)
        for part in ("train", "dev"):
            write_trees(folder / f"{part}.conllu", tagged(lines), HEADS)
    (tmp_path / "hansards").mkdir()
    for end, lines in (("e", ENGLISH), ("f", FRENCH)):
        (tmp_path / "hansards" / f"train.{end}").write_text("".join(f"{line}\n" for line in lines * 8))
    monkeypatch.setattr("benchmarks.report.Console", lambda **_: Console(file=io.StringIO()))
    for name, value in (("HELD_OUT", 8), ("EM_ROUNDS", 3), ("SETTINGS", ((0.9, True), (1.0, False)))):
        monkeypatch.setattr(projection, name, value)
    monkeypatch.setattr(projection, "ROUNDS", {"generative": 2, "discriminative": 5})
    out = tmp_path / "results.jsonl"
    assert main(["projection", "--data", str(tmp_path), "--seeds", "0", "--json", str(out)]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    uas = [one for one in lines if one["system"] == "UAS"]
    chosen = [one["value"] for one in uas if one["what"].startswith("PR, chosen")]
    assert chosen == [100.0, 100.0]
    assert {one["what"] for one in uas} >= {"random completion", "unsupervised, harmonic start"}
    assert sum(one["system"].startswith("quoted") for one in lines) == 5


def test_plain_words() -> None:
    assert [projection.plain(word) for word in ("Élu", "L’", "qu'", "chat")] == ["elu", "le", "que", "chat"]


def test_trees_without_punctuation() -> None:
    X, y = [[("a", "NOUN"), (",", "PUNCT"), ("b", "VERB"), (".", "PUNCT")]], [[2, 3, 0, 3]]
    assert projection.short_trees(X, y) == ([[("a", "NOUN"), ("b", "VERB")]], [[2, 0]])
