"""All signals on the command line."""

from pathlib import Path

import pytest

from sidelight import load
from sidelight.learners.choosing import signals

from .conftest import Run


def test_everything_at_once(
    run: Run, folder: Path, more: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signals, "_FOLDS", 2)
    few = "\n\n".join((folder / "train.tsv").read_text().strip().split("\n\n")[:6])
    head, _, rest = few.partition("\n")
    (tmp_path / "few.tsv").write_text(f"{head.split(chr(9))[0]}\t?\n{rest}\n")
    (tmp_path / "r.toml").write_text("[[rule]]\nrule = \"starts_with('author')\"\n")
    data = ["train", tmp_path / "few.tsv", "-o", tmp_path / "m", "--learner", "combined", "--partial", "-q"]
    given = ["--rules", tmp_path / "r.toml", "--unlabeled", more, "--good", more, "--bad", "shuffled"]
    said = run(*data, *given, "-t", "word.lower()", "--iterations", 1)
    assert said.code == 0, said.err
    assert "signals" in said.out
    assert "companions" in said.out
    names = [one.name for one in load(tmp_path / "m").signals_]
    assert names[:3] == ["unlabelled", "companions", "partial labels"]
    assert run("inspect", tmp_path / "m").code == 0
    alone = run("train", folder / "train.tsv", "-o", tmp_path / "m", "-l", "codl", "--good", more)
    assert "jlis, lclr, combined or auto" in alone.err
