"""The page about all signals says nothing that does not run."""

import re
from pathlib import Path

from sidelight.learners.choosing import signals

PAGE = (Path(__file__).parents[1] / "docs" / "combined.md").read_text()


def test_code(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signals, "_FOLDS", 2)
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, names)
    assert [one.name for one in names["model"].signals_][:3] == ["unlabelled", "companions", "partial labels"]
