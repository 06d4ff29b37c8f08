"""The benchmark of word alignment on a few sentences."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import wordalign
from benchmarks.__main__ import main
from sidelight import WordAligner
from tests.wordalign.test_aligner import bitext


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "hansards").mkdir()
    for name, pairs in (("train", bitext(30)), ("dev", bitext(5, seed=1))):
        for side, end in enumerate("ef"):
            lines = [" ".join(pair[side]) for pair in pairs]
            (tmp_path / "hansards" / f"{name}.{end}").write_text("\n".join(lines) + "\n")
    gold = "".join(f"{k} 1 1 S\n{k} 2 3 S\n{k} 3 2 P\n" for k in range(1, 6))
    (tmp_path / "hansards" / "dev.wa").write_text(gold)
    return tmp_path


def test_tables_of_error_rates(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.report.Console", lambda **_: Console(file=io.StringIO()))
    monkeypatch.setattr(wordalign, "SIZES", (20, 10_000))
    monkeypatch.setattr(wordalign, "MEASURED", {"eflomal": {20: 9.3}})
    tables = "wordalign-papers,wordalign-peers"
    assert main(["wordalign", "--data", str(data), "--tables", tables, "--json", str(tmp_path / "r.jsonl")]) == 0
    found = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    rates = {(one["what"], one["system"]): one["value"] for one in found}
    assert rates["20 pairs", "sidelight"] == 0.0
    assert rates["20 pairs", "quoted: eflomal, test"] == 9.3
    assert rates["PR, bijective", "entropy of e | f"] < rates["EM", "entropy of e | f"]


def test_a_peer_that_is_not_installed_is_left_out(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(wordalign, "SIZES", (20,))
    monkeypatch.setattr(wordalign, "MEASURED", {})
    monkeypatch.setattr(wordalign, "_EFLOMAL", "no such command")
    assert main(["wordalign", "--data", str(data), "--tables", "wordalign-peers", "--peers"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "eflomal is not installed" in printed
    assert "pip install eflomal" in printed
    assert "eflomal, intersected" not in printed


def test_the_chosen_constants_are_the_defaults() -> None:
    assert WordAligner().get_params().items() >= wordalign.DEFAULTS.items()
