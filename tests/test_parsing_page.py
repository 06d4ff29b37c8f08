"""The page about the parser says nothing that does not run."""

import re
from pathlib import Path

from sidelight import write_trees
from tests.cli.conftest import Run, run  # noqa: F401

PAGE = (Path(__file__).parents[1] / "docs" / "parsing.md").read_text()


def test_commands_and_code(run: Run, tmp_path: Path, monkeypatch) -> None:  # noqa: F811
    monkeypatch.chdir(tmp_path)
    X = [[("the", "DET"), ("dog", "NOUN"), ("sleeps", "VERB")], [("dogs", "NOUN"), ("sleep", "VERB")]]
    y = [[(2, "det"), (3, "nsubj"), (0, "root")], [(2, "nsubj"), (0, "root")]]
    for name, count in (("train", 26), ("dev", 1)):
        write_trees(f"{name}.conllu", X * count, y * count, labelled=True)
    write_trees("new.conllu", X, [None, None])
    for line in re.findall(r"^\$ sidelight (.*)$", PAGE, re.MULTILINE):
        said = run(*line.split())
        assert said.code == 0, (line, said.err)
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, names)
    assert names["model"].predict(X) == [[2, 3, 0], [2, 0]]
