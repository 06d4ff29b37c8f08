"""The benchmarks of sentence pairs on a few of them."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import entailment, paraphrase, sentence_pairs, sentences
from benchmarks.__main__ import main

ROWS = [
    ("The", "the", "DET", 2, "det"),
    ("dog", "dog", "NOUN", 3, "nsubj"),
    ("barked", "bark", "VERB", 0, "root"),
    (".", ".", "PUNCT", 3, "punct"),
]
SAME, OTHER = "The dog barked.", "A cat didn't see 1.5 dogs."
PAIR = '<pair id="{}" entailment="{}" task="IE"><t>{}</t><h>{}</h></pair>'


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("msrp", "rte", "ud/en_ewt", "temporary"):
        (tmp_path / name).mkdir(parents=True)
    row = "{}\t{}\t{}\t{}\t_\t_\t{}\t{}\t_\t_\n"
    tree = "".join(row.format(i, *cells) for i, cells in enumerate(ROWS, 1))
    (tmp_path / "ud" / "en_ewt" / "train.conllu").write_text("\n".join([tree] * 4))
    pairs = [(k % 2, SAME, SAME if k % 2 else OTHER) for k in range(20)]
    lines = ["Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", *(f"{a}\t1\t2\t{s}\t{t}" for a, s, t in pairs)]
    (tmp_path / "msrp" / "train.tsv").write_text("\ufeff" + "\n".join(lines))
    listed = [PAIR.format(k, "YES" if a else "NO", s, t) for k, (a, s, t) in enumerate(pairs)]
    (tmp_path / "rte" / "rte3_dev.xml").write_text(f"<entailment-corpus>{''.join(listed)}</entailment-corpus>")
    monkeypatch.setattr("benchmarks.report.Console", lambda **_: Console(file=io.StringIO()))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "temporary"))
    return tmp_path


def test_words_are_split() -> None:
    assert sentences.tokens(OTHER) == ["A", "cat", "did", "n't", "see", "1.5", "dogs", "."]
    assert sentences.tokens("Dominick's U.S. ``profit'' -- $2,500.10") == [
        "Dominick", "'s", "U.S", ".", '"', "profit", '"', "--", "$", "2,500.10",
    ]  # fmt: skip


def test_every_system_is_scored(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("FOLDS", 3), ("ROUNDS", 1), ("TOLERANCE", 0.1)):
        monkeypatch.setattr(sentence_pairs, name, value)
    for module in (paraphrase, entailment):
        monkeypatch.setattr(module, "COSTS", (0.01, 1.0))
    monkeypatch.setattr(paraphrase, "REPRESENTATIONS", {"words": paraphrase.REPRESENTATIONS["words, one to one"]})
    out = data / "results.jsonl"
    assert main(["paraphrase", "entailment", "--data", str(data), "--seeds", "0,1", "--json", str(out)]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    scores = [x["value"] for x in lines if x["what"] == "accuracy" and not x["system"].startswith("quoted")]
    assert scores == [100.0] * 6
    assert all(x["met"] for x in lines if x["target"] is not None)
    (data / "rte" / "rte3_test.xml").write_text((data / "rte" / "rte3_dev.xml").read_text())
    assert main(["entailment", "--data", str(data), "--split", "test", "--seeds", "0", "--json", str(out)]) == 0
    last = [json.loads(line) for line in out.read_text().splitlines()][len(lines) :]
    assert [x["value"] for x in last if x["system"] in sentence_pairs.SYSTEMS] == [100.0] * 5
    kept = list((data / "temporary" / "sidelight-benchmarks").iterdir())
    assert len(kept) == 2  # the first two read the same sentences
    parsed = sentences.Parsed(**json.loads(min(kept, key=lambda file: file.stat().st_size).read_text())[0])
    assert (parsed.words, parsed.heads, parsed.lemmas[2]) == (sentences.tokens(SAME), [2, 3, 0, 3], "bark")
