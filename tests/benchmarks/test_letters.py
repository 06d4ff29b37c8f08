"""The letters benchmark on a few words of two letters."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmarks.__main__ import main
from benchmarks.letters import Words


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Images of `a` are black above, of `b` below; four folds."""
    labels = np.tile(np.array([0, 1, 1], np.int8), 12)
    pixels = np.zeros((len(labels), 16), np.uint8)
    pixels[labels == 0, :8], pixels[labels == 1, 8:] = 255, 255
    (tmp_path / "letters").mkdir()
    lengths, folds = np.full(12, 3), np.arange(12) % 4
    np.savez(tmp_path / "letters" / "train.npz", pixels=pixels, labels=labels, lengths=lengths, folds=folds)
    return tmp_path


def test_words_are_read(data: Path) -> None:
    words = Words.read(data / "letters" / "train.npz")
    X, y = words.of([1, 2])
    assert len(X) == len(y) == 6
    assert y[0] == ["a", "b", "b"]
    assert X[0].shape == (3, 129)
    assert X[0].sum(axis=1).tolist() == [65.0] * 3


def test_every_fold_is_scored(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.report.Console", lambda **_: Console(file=io.StringIO()))
    out = data / "results.jsonl"
    assert main(["letters", "--data", str(data), "--json", str(out)]) == 0
    found = {x["what"]: x for x in map(json.loads, out.read_text().splitlines())}
    assert found["letters, trained on all other folds"]["value"] == 100.0
    assert found["letters, trained on all other folds"]["met"]
    assert found["letters, trained on one other fold"]["value"] == 100.0
