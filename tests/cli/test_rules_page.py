"""Sections of the README and the page about rules say nothing that does not run.

`python -m benchmarks.readme` runs all of README.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks import readme
from sidelight import check, generate_references, parse_rule, read_rules, write_columns
from sidelight.rules import files

from .conftest import Run

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "README.md").read_text().split("### Rules and unlabelled data")[1].split("\n### ")[0]
AUTO = (ROOT / "README.md").read_text().split("## In Python")[1].split("### Which learner?")[0]
DOCUMENTS = (ROOT / "README.md").read_text().split("### Documents")[1].split("\n### ")[0]
PAGE = (ROOT / "docs" / "rules.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return [one.text for one in readme.blocks(text) if one.language == language]


def test_every_page_is_linked() -> None:
    more = (ROOT / "README.md").read_text().split("## More")[1]
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"(docs/{page.name})" not in more] == []


def test_python_example() -> None:
    (code,) = blocks(SECTION, "python")
    assert len(readme.promises(code)) == 3
    assert readme.broken(code, {}) == []


@pytest.mark.usefixtures("quick")
def test_auto_example(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks(AUTO, "python")
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["model"].why_ in capsys.readouterr().out


def test_documents_example() -> None:
    for code in blocks(DOCUMENTS, "python"):
        assert readme.promises(code)
        assert readme.broken(code, {}) == []


@pytest.mark.usefixtures("quick")
def test_rule_file_and_commands(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    X, y = generate_references(60, seed=3)
    for name, part in (("train", slice(0, 40)), ("few", slice(0, 40)), ("dev", slice(40, 60))):
        write_columns(f"{name}.tsv", X[part], y[part])
    write_columns("more.txt", X[40:])
    Path("rules.toml").write_text(blocks(SECTION, "toml")[0])
    assert len(read_rules("rules.toml")) == 4
    for block in (*blocks(SECTION, "console"), *blocks(PAGE, "console")):
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
