"""The benchmarks of pairs on a little data."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmarks import phonetic, transliteration
from benchmarks.__main__ import main
from benchmarks.datasets import MissingData


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.report.Console", lambda **_: Console(file=io.StringIO()))


def test_transliteration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hebrew = {"b": "ב", "g": "ג", "d": "ד", "l": "ל", "m": "מ", "n": "נ", "r": "ר", "t": "ט"}
    folder, rng = tmp_path / "translit" / "en_he", np.random.default_rng(0)
    folder.mkdir(parents=True)
    for name in ("train", "dev"):
        words = {"a".join(rng.choice(list(hebrew), 4)) for _ in range(60)}
        rows = [f"{word}\t{' '.join(hebrew[c] for c in word if c != 'a')}\t1" for word in sorted(words)]
        (folder / f"{name}.tsv").write_text("\n".join(rows), encoding="utf-8")
    monkeypatch.setattr(transliteration, "TRAIN", 15)
    monkeypatch.setattr(transliteration, "RANKED", 20)
    out = tmp_path / "results.jsonl"
    assert main(["transliteration", "--data", str(tmp_path), "--seeds", "0,1", "--json", str(out)]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    ours = {(x["section"], x["what"]): x["value"] for x in lines if x["system"] == "sidelight"}
    assert len(ours) == 2 * 5
    assert min(value for (_, what), value in ours.items() if what == "accuracy, LCLR") > 80
    assert sum(x["target"] is not None for x in lines) == 4
    with pytest.raises(MissingData, match="fewer than 100 pairs"):
        transliteration.draw([("a", "א")], 100, rng, Path("train.tsv"))


def test_mismatched_pairings_are_none_of_the_pairs() -> None:
    pairs = [(str(i), chr(ord("a") + i)) for i in range(10)]
    found = transliteration.mispaired(pairs, 1.0, np.random.default_rng(0))
    assert len(set(found)) == len(found) == 90
    assert not set(found) & set(pairs)


def test_generated_names_keep_their_alignment() -> None:
    drawn = phonetic.names(200, 3)
    assert drawn == phonetic.names(200, 3)
    for one in drawn:
        ends = [edge for link in one.links for edge in link]
        assert all(last - first in (1, 2) for first, last in ends)
        for (s, t), (s2, t2) in zip(one.links, one.links[1:], strict=False):
            assert s[1] <= s2[0]
            assert t[1] <= t2[0]
        assert one.links[-1][0][1] <= len(one.name)
        assert one.links[-1][1][1] <= len(one.spelling)


def test_phonetic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LABELLED", (10,)), ("COMPANIONS", (0, 40)), ("TEST", 20)):
        monkeypatch.setattr(phonetic, name, value)
    out = tmp_path / "results.jsonl"
    assert main(["phonetic", "--data", str(tmp_path), "--seeds", "0", "--json", str(out)]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    ours = [x for x in lines if x["system"] == "sidelight"]
    assert [x["what"] for x in ours] == ["10 alignments, 0 yes or no", "10 alignments, 40 yes or no"]
    assert all(30 < x["value"] < 100 for x in ours)
    assert ours[1]["target"] == ours[0]["value"]
