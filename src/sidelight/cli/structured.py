"""Files of trees and of pairs with links as the commands read and write them: one format for each task."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import typer

from sidelight.cli.options import FormatName
from sidelight.cli.reading import DataReader, Sequences
from sidelight.data.formats import EXTENSIONS
from sidelight.errors import DataError

# The format of each kind of outputs, and the ways to make bad inputs from good ones.
_FORMATS = {"trees": "conllu", "links": "jsonl"}
_MADE = {"trees": ("shuffled", "transposed"), "links": ("mismatched",)}
_CALLED = {"conllu": "CoNLL-U (.conllu)", "jsonl": "JSON lines (.jsonl)"}


@dataclass(frozen=True)
class StructuredReader:
    """The options of a command about its data, where a task has outputs other than labels."""

    task: Any
    format: FormatName | None = None
    columns: str | None = None

    @property
    def made(self) -> tuple[str, ...]:
        """The ways to make bad inputs from good ones."""
        return _MADE[self.task.kind]

    def width(self, X: Sequence[Any]) -> str:
        """How many columns tokens have; the reader sees to it that it is the same in all files."""
        return ""

    def read(self, path: str, *, labels: bool) -> Sequences:
        """Read a file, or standard input if it is "-", with the outputs that it has or without."""
        from sidelight.data.source import source_name

        name = self._format(path)
        found = self._file(path, labels)
        if not found.X:
            raise DataError(f"{source_name(path)}: there are no {self.task.noun}s in it")
        for i, (x, y) in enumerate(zip(found.X, found.y, strict=True)):
            try:
                self.task.require(x, y)
            except DataError as error:
                raise found.error(i, str(error)) from None
        return Sequences(found.X, found.y, name, found)

    def read_unlabeled(self, path: str) -> list[Any]:
        """Read inputs alone."""
        return self.read(path, labels=False).X

    def _file(self, path: str, labels: bool) -> Any:
        if self.task.kind == "links":
            from sidelight.data.pairs import PairFile

            return PairFile.read(path, links=labels)
        from sidelight.data.trees import Treebank

        columns = tuple((self.columns or "form,upos").split(","))
        return Treebank.read(path, columns=columns, labelled=self.task.has_labels, heads=labels)

    def _format(self, path: str) -> str:
        """The one format of the task; an error where the file is said to have, or is named as if it had, another."""
        name = _FORMATS[self.task.kind]
        if self.format is not None and str(self.format) != name:
            raise typer.BadParameter(f"{self._reads(name)}, not {self.format}", param_hint="--format")
        if self.columns is not None and name != "conllu":
            raise typer.BadParameter(f"the format {name} has no such thing; conllu has", param_hint="--columns")
        found = EXTENSIONS.get(os.path.splitext(path)[1].lower(), name)
        if self.format is None and found != name:
            raise DataError(f"{path}: {self._reads(name)}, and this is called {found}; if it is not, say -f {name}")
        return name

    def _reads(self, name: str) -> str:
        return f"{type(self.task).__name__} reads {_CALLED[name]}"


def fill_in(learner: Any, reader: DataReader, data: str, output: str) -> int:
    """Write a file again with the trees or links that a model predicts; returns how many tokens it has."""
    from sidelight.report.outputs import parse

    found, task = reader.read(data, labels=False), learner.task_
    if task.kind == "trees":
        found.kept.write(output, parse(learner, found.X), labelled=task.has_labels)
    else:
        found.kept.write(output, learner.predict(found.X))
    return sum(map(task.tokens, found.X))
