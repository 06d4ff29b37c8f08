"""The page about trees and links says nothing that does not run."""

import re
from pathlib import Path

from sidelight import draw_tree, read_pairs, write_pairs, write_trees
from tests.cli.conftest import Run, run  # noqa: F401

PAGE = (Path(__file__).parents[1] / "docs" / "trees_and_links.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def _files() -> None:
    X = [[("the", "DET"), ("dog", "NOUN"), ("sleeps", "VERB")], [("dogs", "NOUN"), ("sleep", "VERB")]]
    y = [[(2, "det"), (3, "nsubj"), (0, "root")], [(2, "nsubj"), (0, "root")]]
    write_trees("trees.conllu", X, y, labelled=True)
    write_trees("new.conllu", X, [None, None])
    write_pairs("pairs.jsonl", [(["das", "Haus"], ["the", "house"]), (["ein"], ["a"])], [[(0, 0), (1, 1)], [(0, 0)]])
    Path("arcs.toml").write_text(blocks("toml")[0])


def test_commands_and_code(run: Run, tmp_path: Path, monkeypatch) -> None:  # noqa: F811
    monkeypatch.chdir(tmp_path)
    _files()
    for block in blocks("console"):
        for line in block.splitlines():
            said = run(*line.removeprefix("$ sidelight ").split())
            assert said.code == 0, (line, said.err)
    names: dict = {}
    for block in blocks("python"):
        exec(block, names)
    assert {"tree.svg", "links.svg", "aligned.jsonl"} <= {path.name for path in tmp_path.iterdir()}
    assert len(read_pairs(blocks("json")[0].splitlines())[0]) == 4


def test_the_drawing_is_what_it_looks_like() -> None:
    drawn = draw_tree(["the", "dog", "sees", "a", "cat"], [2, 3, 0, 5, 3])
    assert [line[2:] for line in drawn.splitlines()] == blocks("text")[0].splitlines()
