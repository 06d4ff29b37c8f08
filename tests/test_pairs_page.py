"""The page about pairs says nothing that does not run."""

import re
from pathlib import Path

from sidelight import BAD, GOOD, write_pairs
from tests.cli.conftest import Run, run  # noqa: F401

PAGE = (Path(__file__).parents[1] / "docs" / "pairs.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_commands_and_code(run: Run, tmp_path: Path, monkeypatch) -> None:  # noqa: F811
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in blocks("python"):
        exec(block, names)
    assert names["model"].predict([("nadina", "ναδινα"), ("nadina", "λαλα")]).tolist() == [True, False]
    assert names["links"] == [(i, i) for i in range(6)]
    write_pairs("names.jsonl", names["X"], [GOOD if one else BAD for one in names["y"]])
    for block in blocks("console"):
        for line in block.splitlines():
            said = run(*line.removeprefix("$ sidelight ").split())
            assert said.code == 0, (line, said.err)
    assert {"said.jsonl", "alignment.svg"} <= {path.name for path in tmp_path.iterdir()}
