"""The page about grammars from another language says nothing that does not run."""

import re
from pathlib import Path

from sidelight import DMV, HMM, write_trees
from tests.cli.conftest import Run, run  # noqa: F401
from tests.cli.test_transfer import ENGLISH, FRENCH, HEADS, TAGS, tagged

PAGE = (Path(__file__).parents[1] / "docs" / "grammar_projection.md").read_text()


def test_commands_and_code(run: Run, tmp_path: Path, monkeypatch) -> None:  # noqa: F811
    monkeypatch.chdir(tmp_path)
    for name, lines in (("en", ENGLISH), ("fr", FRENCH)):
        Path(f"text.{name}").write_text("\n".join(lines * 3) + "\n")
        words = [line.split() for line in lines]
        HMM().fit(words, [[TAGS[word] for word in x] for x in words]).save(f"{name}-tags.model")
    DMV().fit(tagged(ENGLISH), HEADS).save("en.model")
    write_trees("new.conllu", tagged(FRENCH), [None] * len(FRENCH))
    for line in re.findall(r"^\$ sidelight (.*)$", PAGE, re.MULTILINE):
        said = run(*line.split())
        assert said.code == 0, (line, said.err)
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, names)
    assert names["parser"].predict(names["X"])[0] == HEADS[0]
    assert Path("arcs.svg").read_text().startswith("<svg")
