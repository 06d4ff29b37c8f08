"""`train --figure` and `explain --figure`."""

import os
from pathlib import Path

import pytest

from sidelight.report import figures

from .conftest import Run

RULES = "[[rule]]\nrule = \"starts_with('author', 'editor')\"\n"


def test_train_and_explain(run: Run, folder: Path, more: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "r.toml").write_text(RULES)
    options = ["-l", "pr", "--rules", tmp_path / "r.toml", "--unlabeled", more, "--iterations", 2, "-q"]
    said = run("train", folder / "train.tsv", "-o", tmp_path / "m", *options, "--figure", tmp_path / "fit.png")
    assert (said.code, said.err) == (0, "")
    data = ["explain", tmp_path / "m", folder / "dev.tsv", "--labeled", "-s", 2]
    said = run(*data, "--figure", tmp_path / "posteriors.png", "--json")
    assert (said.code, said.json["labels"] != []) == (0, True)
    assert sorted(os.listdir(tmp_path)) == ["fit.png", "m", "posteriors.png", "r.toml"]
    for name in ("fit.png", "posteriors.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--figure", "fit.jpg"], "fit.jpg: expected the name of a figure"),
        (["--figure", "no/fit.png"], "no/fit.png: cannot write: its folder does not exist"),
        (["--figure", "fit.png", "-l", "hmm"], "an hmm learns by counting"),
    ],
)
def test_found_before_anything_is_read(run: Run, tmp_path: Path, options: list[str], message: str) -> None:
    pytest.importorskip("matplotlib")
    said = run("train", "nowhere.tsv", "-o", tmp_path / "m", *options)
    assert (said.code, message in said.err) == (1, True)


def test_without_matplotlib(run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "find_spec", lambda name: None)
    for command in (["train", "nowhere.tsv", "-o", tmp_path / "m"], ["explain", "nowhere.model", "nowhere.txt"]):
        said = run(*command, "--figure", tmp_path / "f.png")
        assert (said.code, "pip install 'sidelight[figures]'" in said.err) == (1, True)
    assert os.listdir(tmp_path) == []
