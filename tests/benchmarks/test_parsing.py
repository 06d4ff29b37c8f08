"""The benchmark of parsing on a few sentences."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import parsing
from benchmarks.__main__ import main
from benchmarks.datasets import Task

SENTENCES = [(["the", "dog", "barks"], ["D", "N", "V"], [2, 3, 0]), (["dogs", "bark"], ["N", "V"], [2, 0])]
ONE = ([["w"]], [[0]])


def written(count: int) -> str:
    """Sentences in CoNLL-U."""
    row = "{}\t{}\t_\t{}\t_\t_\t{}\t_\t_\t_\n"
    return "\n".join(
        "".join(row.format(i, *cells) for i, cells in enumerate(zip(*SENTENCES[k % 2], strict=True), 1))
        for k in range(count)
    )


def test_every_learner_is_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "ud" / "en_ewt"
    folder.mkdir(parents=True)
    (folder / "train.conllu").write_text(written(20))
    (folder / "dev.conllu").write_text(written(4))
    monkeypatch.setattr("benchmarks.report.Console", lambda **_: Console(file=io.StringIO()))
    monkeypatch.setattr(parsing, "SENTENCES", 20)
    out = tmp_path / "results.jsonl"
    assert main(["parsing", "--data", str(tmp_path), "--seeds", "0,1", "--json", str(out)]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    scores = {x["what"]: x["value"] for x in lines if x["system"] == "UAS" and x["target"] is None}
    assert all(scores[name] == 100.0 for name in parsing.LEARNERS)
    assert scores["CRF, half of the heads"] == 100.0
    assert [x["bound"] for x in lines if x["target"] is not None] == ["≤", "≥", "≥"]
    assert all(x["met"] for x in lines if x["target"] is not None)
    monkeypatch.setattr(parsing, "SENTENCES", 21)
    assert main(["parsing", "--data", str(tmp_path)]) == 1


def test_half_of_the_heads_are_hidden_by_seed() -> None:
    X, y = [[f"w{k}"] * 8 for k in range(60)], [list(range(8))] * 50 + [[0]] * 10
    X[50:] = [["w"]] * 10
    task = Task(X, y, *ONE)
    half, again, other = (parsing.Half.of(task, seed) for seed in (3, 3, 4))
    assert half == again
    assert half != other
    known = sum(head is not None for heads in half.left[1] for head in heads)
    assert 150 < known < 260
    assert all(head in (None, k) for heads in half.left[1] for k, head in enumerate(heads))
    assert all(any(head is not None for head in heads) for heads in half.left[1])
    assert all(None not in heads for heads in half.whole[1])
    assert all(x in half.left[0] for x in half.whole[0])
    assert known - 8 < sum(map(len, half.drawn[1])) <= known
