"""The page about trees and links shows what is printed when it is typed in an empty folder."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run, run  # noqa: F401
from tests.typed import ROOT, wrong_steps


def test_everything_is_as_shown(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.chdir(tmp_path)
    assert wrong_steps((ROOT / "docs" / "trees_and_links.md").read_text(), run) == []
    assert {"tree.svg", "links.svg", "aligned.jsonl", "best.jsonl"} <= {path.name for path in tmp_path.iterdir()}
