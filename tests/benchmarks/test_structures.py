"""The benchmark of structures on a few short sentences."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import structures
from benchmarks.__main__ import main


def test_every_call_has_a_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ud" / "en_ewt" / "train.conllu"
    path.parent.mkdir(parents=True)
    row = "{}\tw\t_\tN\tN\t_\t_\t_\t_\t_\n"
    path.write_text("\n".join("".join(row.format(i + 1) for i in range(n)) for n in (1, 4, 2, 7)))
    monkeypatch.setattr("benchmarks.report.Console", lambda **_: Console(file=io.StringIO()))
    monkeypatch.setattr(structures, "ROUNDS", 2)
    monkeypatch.setattr(structures, "LABELS", (1, 3))
    out = tmp_path / "results.jsonl"
    assert main(["structures", "--data", str(tmp_path), "--json", str(out)]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len({x["what"] for x in lines}) == len(lines) == 8
    assert all(x["value"] > 0 and x["unit"] == "tokens/s" for x in lines)
    assert sum(x["target"] is not None for x in lines) == 2


def test_calls_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structures, "ROUNDS", 3)
    report = structures.Report("structures", "dev", (0,), None, Console(file=io.StringIO()))
    seen: list[str] = []
    calls = [structures.Call(name, "sidelight", lambda name=name: seen.append(name), 1, "calls/s") for name in "ab"]
    structures.measure(report, calls)
    assert "".join(seen) == "ab" * 4
    assert [r.what for r in report.results] == ["a", "b"]
