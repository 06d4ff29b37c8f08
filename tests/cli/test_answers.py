"""Pairs that are good or bad, on the command line."""

import json
from pathlib import Path

import pytest

from sidelight import GOOD, load, mismatched, read_pairs, write_pairs
from sidelight.supervision import BAD
from tests.parts_data import spellings

from .conftest import Run

SET = ["--learner", "lclr", "--task", "aligning", "--set", "task.features=letters", "--C", "10", "-q"]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Path:
    folder = tmp_path_factory.mktemp("names")
    good = [x for x in spellings(40)[0] if len(x[0]) > 2]
    bad = mismatched(good, seed=1)
    write_pairs(folder / "good.jsonl", good, [GOOD] * len(good))
    write_pairs(folder / "all.jsonl", good + bad, [GOOD] * len(good) + [BAD] * len(bad))
    said = run("train", folder / "all.jsonl", "-o", folder / "m", *SET, "--set", "calibration=2", "--json")
    assert said.code == 0, said.err
    assert said.json["companions"] == 2 * len(good)
    return folder


def test_predict_evaluate_and_score(run: Run, names: Path, tmp_path: Path) -> None:
    assert run("predict", names / "m", names / "all.jsonl", "-o", tmp_path / "out.jsonl").code == 0
    model, (X, _) = load(names / "m"), read_pairs(names / "all.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["good"] for line in lines] == [one is GOOD for one in model.predict(X)]
    assert [[tuple(link) for link in line["links"]] for line in lines] == model.predict_structure(X)
    assert all(0 < line["probability"] < 1 for line in lines)
    said = run("evaluate", names / "m", names / "all.jsonl", "--json").json
    assert said["accuracy"] > 0.9
    again = run("score", names / "all.jsonl", tmp_path / "out.jsonl", "--task", "aligning", "--json").json
    assert again == said
    assert "% of" in run("evaluate", names / "m", names / "all.jsonl").out
    assert "% of" in run("score", names / "all.jsonl", tmp_path / "out.jsonl", "--task", "aligning").out


def test_explain_and_inspect(run: Run, names: Path, tmp_path: Path) -> None:
    said = run("explain", names / "m", names / "all.jsonl", "-p", 0, "--figure", tmp_path / "a.svg")
    assert said.code == 0, said.err
    assert "●" in said.out
    assert "good, by a score of +" in said.out
    assert "</svg>" in (tmp_path / "a.svg").read_text()
    assert "source next=" in run("inspect", names / "m").out


def test_bad_pairs_can_be_made(run: Run, names: Path, tmp_path: Path) -> None:
    said = run("train", names / "good.jsonl", "-o", tmp_path / "m", *SET, "--bad", "mismatched", "--json")
    assert said.code == 0, said.err
    assert said.json["companions"] == 2 * len(read_pairs(names / "good.jsonl")[0])


def test_links_are_scored_without_answers(run: Run, tmp_path: Path) -> None:
    X, y = spellings(5)
    write_pairs(tmp_path / "a.jsonl", X, y)
    write_pairs(tmp_path / "b.jsonl", X, [[], *y[1:]])
    said = run("score", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--task", "aligning", "--json").json
    assert said["exact"] == 0.8
    write_pairs(tmp_path / "c.jsonl", X[:4], y[:4])
    said = run("score", tmp_path / "a.jsonl", tmp_path / "c.jsonl", "--task", "aligning")
    assert "expected the 5 pairs of" in said.err


def test_what_cannot_be_learned(run: Run, names: Path, folder: Path, tmp_path: Path) -> None:
    said = run("train", names / "good.jsonl", "-o", tmp_path / "m", *SET)
    assert "all pairs have the same label" in said.err
    (tmp_path / "none.jsonl").write_text('{"source": "ab", "target": "cd"}\n')
    said = run("train", tmp_path / "none.jsonl", "-o", tmp_path / "m", *SET)
    assert "pair 0 has the label None; a label is GOOD or BAD" in said.err
    said = run("train", folder / "dev.tsv", "-o", tmp_path / "m", "--learner", "lclr")
    assert "--task aligning or matching" in said.message
    said = run("train", names / "all.jsonl", "-o", tmp_path / "m", *SET, "--set", "initial=1")
    assert "initial is for Python" in said.message
