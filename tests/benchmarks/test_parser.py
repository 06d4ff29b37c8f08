"""The benchmark of the parser on a few sentences."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import parser
from benchmarks.__main__ import main
from sidelight import write_trees

X = [
    [("the", "DET"), ("old", "ADJ"), ("dog", "NOUN"), ("barks", "VERB"), (".", "PUNCT")],
    [("dogs", "NOUN"), ("want", "VERB"), ("to", "PART"), ("bark", "VERB"), (".", "PUNCT")],
]
Y = [
    [(3, "det"), (3, "amod"), (4, "nsubj"), (0, "root"), (4, "punct")],
    [(2, "nsubj"), (0, "root"), (4, "mark"), (2, "xcomp"), (2, "punct")],
]


def test_everything_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in parser.TREEBANKS:
        folder = tmp_path / "ud" / name
        folder.mkdir(parents=True)
        write_trees(folder / "train.conllu", X * 12, Y * 12, labelled=True)
        write_trees(folder / "dev.conllu", X, Y, labelled=True)
    monkeypatch.setattr("benchmarks.report.Console", lambda **_: Console(file=io.StringIO()))
    for name, value in (("KNOWN", 4), ("POOL", 8), ("WORDS_PER_SECOND", 0)):
        monkeypatch.setattr(parser, name, value)
    out = tmp_path / "results.jsonl"
    assert main(["parser", "--data", str(tmp_path), "--seeds", "0", "--json", str(out)]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    heads = [one for one in lines if one["what"] == "words with the right head" and one["system"] == "sidelight"]
    assert [one["value"] for one in heads] == [100.0, 100.0]
    assert {one["what"] for one in lines if one["system"] == "UAS"} >= {"supervised", "CoDL", "CoDL less supervised"}
