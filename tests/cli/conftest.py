import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer.testing

from sidelight import generate_references, write_columns, write_jsonlines
from sidelight.cli.main import app
from sidelight.learners.choosing.candidates import Knowledge


@dataclass(frozen=True)
class Said:
    """What a command printed and how it ended; messages without the boxes and line breaks of the terminal."""

    code: int
    out: str
    err: str

    @property
    def message(self) -> str:
        return " ".join(re.sub("[│╭╮╰╯─]", " ", self.err).split())

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Said]


@pytest.fixture(scope="session")
def run() -> Iterator[Run]:
    """Commands as they are typed; all are read by the same parser, since making one takes as long as many commands."""
    parser = typer.main.get_command(app)

    def call(*arguments: object, stdin: str | bytes | None = None) -> Said:
        runner = typer.testing.CliRunner(env={"COLUMNS": "100"})
        result = runner.invoke(app, [str(a) for a in arguments], input=stdin)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Said(result.exit_code, result.stdout, result.stderr)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", lambda _: parser)
        yield call


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Auto` tries quick learners only."""
    everything, names = Knowledge.candidates, ("HMM", "CRF", "CCM(HMM)", "CoDL(HMM)")
    monkeypatch.setattr(Knowledge, "candidates", lambda self: (one for one in everything(self) if one.name in names))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Path:
    """Generated references as train and dev files in three formats, and a model learned from them."""
    folder = tmp_path_factory.mktemp("references")
    X, y = generate_references(60, seed=3)
    for name, part in (("train", slice(0, 40)), ("dev", slice(40, 60))):
        write_columns(folder / f"{name}.tsv", X[part], y[part])
        write_columns(folder / f"{name}.conll", X[part], y[part], separator=" ")
        write_jsonlines(folder / f"{name}.jsonl", X[part], y[part])
    (folder / "new.txt").write_text("J. Moore. On planar graphs. Logic Letters, 6(5): 717-727, 1989.\nA B C.\n")
    assert run("train", folder / "train.tsv", "-o", folder / "crf.model", "-l", "crf", "-q").code == 0
    return folder


@pytest.fixture(scope="session")
def more(folder: Path) -> Path:
    """The dev references, one token a line, without labels."""
    lines = (folder / "dev.tsv").read_text().splitlines()
    path = folder / "more.txt"
    path.write_text("\n".join(line.split("\t")[0] for line in lines) + "\n")
    return path
