"""The page about views says nothing that does not run."""

import re
import warnings
from pathlib import Path

from tests.cli.conftest import Run, run  # noqa: F401

PAGE = (Path(__file__).parents[1] / "docs" / "agreement.md").read_text()
SENTENCES = [
    "the DT B-NP\nold JJ I-NP\ndog NN I-NP\nsees VB O\n", "a DT B-NP\ncat NN I-NP\nsleeps VB O\n",
    "dogs NN B-NP\nsee VB O\nthe DT B-NP\ncat NN I-NP\n",
]  # fmt: skip


def test_commands_and_code(run: Run, tmp_path: Path, monkeypatch) -> None:  # noqa: F811
    monkeypatch.chdir(tmp_path)
    Path("train.txt").write_text("\n".join(SENTENCES))
    Path("more.txt").write_text("\n".join(re.sub(r" \S+\n", "\n", one) for one in SENTENCES * 2))
    Path("content.txt").write_text("word\npos\n")
    Path("context.txt").write_text("pos[-1]\npos[1]\n")
    for line in re.findall(r"^\$ sidelight (.*)$", PAGE, re.MULTILINE):
        said = run(*line.split())
        assert said.code == 0, (line, said.err)
    assert "Strongest weights, learned from context" in run("inspect", "chunks.model").out
    assert run("predict", "chunks.model", "more.txt").code == 0
    said = run("train", "train.txt", "-o", "m", "--view", "content.txt")
    assert "two different files" in said.message
    said = run("train", "train.txt", "-o", "m", "--view", "content.txt", "--view", "context.txt", "--learner", "crf")
    assert "views have a learner of their own" in said.message
    options = ["--view", "content.txt", "--view", "context.txt", "--set", "guard=false", "--set", "predict_by=content"]
    assert run("train", "train.txt", "-o", "m", *options, "--unlabeled", "more.txt").code == 0
    assert "predict_by=content" in run("inspect", "m").out
    names: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
            exec(block, names)
    assert len(names["model"].predict(names["unlabelled"])) == 6
