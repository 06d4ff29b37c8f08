"""The page about rules says nothing that does not run."""

import re
from pathlib import Path

import pytest

from benchmarks import readme
from sidelight import check, generate_references, parse_rule, read_rules, write_columns
from sidelight.demo.files import RULES
from sidelight.rules import files

from .conftest import Run

PAGE = (Path(__file__).parents[2] / "docs" / "rules.md").read_text()
EXAMPLE = PAGE.split("## What a rule says")[0]


def blocks(text: str, language: str) -> list[str]:
    return [one.text for one in readme.blocks(text) if one.language == language]


def test_python_example() -> None:
    (code,) = blocks(EXAMPLE, "python")
    assert len(readme.promises(code)) == 3
    assert readme.broken(code, {}) == []


@pytest.mark.usefixtures("quick")
def test_commands(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    X, y = generate_references(60, seed=3)
    for name, part in (("train", slice(0, 40)), ("few", slice(0, 40)), ("dev", slice(40, 60))):
        write_columns(f"{name}.tsv", X[part], y[part])
    write_columns("more.txt", X[40:])
    Path("rules.toml").write_text(RULES)
    for block in blocks(PAGE, "console"):
        for line in block.splitlines():
            arguments = line.split("#")[0].removeprefix("$ sidelight ").split()
            said = run(*arguments)
            assert said.code == 0, (line, said.err)


def test_every_line_of_the_page_is_a_rule(tmp_path: Path) -> None:
    lines = [line for block in blocks(PAGE, "rules") for line in block.splitlines()]
    X, y = generate_references(5)
    for line in lines:
        check([parse_rule(line.split("#")[0].strip())], X, y)
    (tmp_path / "r.toml").write_text(blocks(PAGE, "toml")[0])
    assert [rule.name for rule in read_rules(tmp_path / "r.toml")] == ["venue", "year"]


def test_the_page_has_every_function() -> None:
    assert [name for name in files._NAMES if not re.search(rf"\b{name}\b", PAGE)] == []
