"""Files of trees and of pairs with links as the commands read and write them: one format for each task."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import typer

from sidelight.cli.answers import Answers
from sidelight.cli.options import FormatName
from sidelight.cli.reading import Sequences, nothing_in
from sidelight.data.formats import EXTENSIONS
from sidelight.data.pairs import LINKS
from sidelight.data.trees import tree_record, write_tree_records
from sidelight.errors import DataError

# The format of each kind of outputs, and the ways to make bad inputs from good ones.
_FORMATS = {"trees": "conllu", "links": "jsonl"}
_MADE = {"trees": ("shuffled", "transposed"), "links": ("mismatched",)}
# Digits of probabilities in JSON.
_DIGITS = 6
_CALLED = {"conllu": "CoNLL-U (.conllu)", "jsonl": "JSON lines (.jsonl)"}


@dataclass(frozen=True)
class StructuredReader:
    """The options of a command about its data, where a task has outputs other than labels."""

    task: Any
    format: FormatName | None = None
    columns: str | None = None
    answers: bool = False

    @property
    def made(self) -> tuple[str, ...]:
        """The ways to make bad inputs from good ones."""
        return _MADE[self.task.kind]

    def width(self, X: Sequence[Any]) -> str:
        """How many columns tokens have; the reader sees to it that it is the same in all files."""
        return ""

    def read(self, path: str, *, labels: bool) -> Sequences:
        """Read a file, or standard input if it is "-", with the outputs that it has or without."""
        name = self._format(path)
        found = self._file(path, labels)
        if not found.X:
            raise nothing_in(path, f"{self.task.noun}s")
        return self._checked(found, name)

    def blocks(self, path: str, *, labels: bool) -> Iterator[Sequences]:
        """Read the same some inputs after the other; lines without any stay with inputs before or behind them."""
        from sidelight.data.source import Lines, line_blocks

        name, before, lines = self._format(path), None, Lines("", [])
        for more in line_blocks(path, whole_paragraphs=name == "conllu"):
            found = self._file(more, labels)
            if before is not None and before.X and found.X:
                yield self._checked(before, name)
            elif before is not None:
                more = Lines(more.name, lines.lines + more.lines, lines.first)
                found = self._file(more, labels)
            before, lines = found, more
        if before is None or not before.X:
            raise nothing_in(path, f"{self.task.noun}s")
        yield self._checked(before, name)

    def _checked(self, found: Any, name: str) -> Sequences:
        for i, (x, y) in enumerate(zip(found.X, found.y, strict=True)):
            try:
                self.task.require(x, y)
            except DataError as error:
                raise found.error(i, str(error)) from None
        return Sequences(found.X, found.y, name, found)

    def read_unlabeled(self, path: str, beside: Sequence[Any] = ()) -> Any:
        """Read inputs alone."""
        return self.read(path, labels=False).X

    def _file(self, path: Any, labels: bool) -> Any:
        if self.task.kind == "links":
            from sidelight.data.pairs import PairFile

            return PairFile.read(path, links=labels and not self.answers, answers=labels and self.answers)
        from sidelight.data.trees import Treebank

        columns = tuple((self.columns or "form,upos").split(","))
        return Treebank.read(path, columns=columns, labelled=self.task.has_labels, heads=labels)

    def _format(self, path: str) -> str:
        """The one format of the task; an error where another is asked for, or the file's name is that of another."""
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


def written_format(task: Any, output: str, chosen: FormatName | None, kbest: int | None) -> str:
    """Return the format to write: that which the task reads, and for trees also JSON lines."""
    own = _FORMATS[task.kind]
    if chosen is not None and str(chosen) not in (own, "jsonl"):
        possible = " or ".join(_CALLED[name] for name in dict.fromkeys((own, "jsonl")))
        raise typer.BadParameter(f"{task.kind} are written as {possible}, not {chosen}", param_hint="--output-format")
    named = EXTENSIONS.get(os.path.splitext(output)[1].lower())
    target = str(chosen) if chosen else "jsonl" if named == "jsonl" or (named is None and kbest) else own
    if kbest and target != "jsonl":
        raise typer.BadParameter(f"several trees need jsonl output, not {target}", param_hint="--kbest")
    return target


def write_answers(answers: Answers, task: Any, file: Any, output: Any, target: str) -> None:
    """Write a file again with the trees or links that a model predicts, or words and trees as JSON lines."""
    if task.kind == "links":
        links = [_link_chances(task, answers, i) for i in range(len(answers.X))] if answers.marginals else None
        file.write(output, answers.outputs, extra=_extra(answers, links, lambda one: {LINKS: one}))
    elif target == "jsonl":
        heads = [_head_chances(table, answers.classes) for table in answers.marginals or ()]
        more = _extra(answers, heads or None, lambda one: tree_record(one, labelled=task.has_labels))
        write_tree_records(output, answers.X, answers.outputs, labelled=task.has_labels, extra=more)
    else:
        file.write(output, answers.outputs, labelled=task.has_labels, chances=_arc_chances(answers, task))


def _extra(
    answers: Answers, marginals: list[Any] | None, record: Callable[[Any], dict[str, Any]]
) -> list[dict[str, Any]]:
    """What records have beside inputs and outputs."""
    out: list[dict[str, Any]] = [dict(one) for one in answers.verdicts or [{}] * len(answers.X)]
    for index, extra in enumerate(out):
        if marginals is not None:
            extra["marginals"] = marginals[index]
        if answers.kbest is not None:
            extra["kbest"] = answers.ranked(index, record)
    return out


def _arc_chances(answers: Answers, task: Any) -> list[list[float]] | None:
    """The probability of the arc that each word was given."""
    if answers.marginals is None:
        return None
    number = {label: k for k, label in enumerate(answers.classes)}
    out = []
    for table, output in zip(answers.marginals, answers.outputs, strict=True):
        places = [(head, number[label]) for head, label in output] if task.has_labels else [(head,) for head in output]
        out.append([float(table[(t, *place)]) for t, place in enumerate(places)])
    return out


def _head_chances(table: Any, classes: list[str]) -> list[list[dict[str, Any]]]:
    """The heads of every word, and their labels, that have a probability which rounding leaves above zero."""
    out: list[list[dict[str, Any]]] = []
    for row in table.round(_DIGITS):
        found = []
        for place in zip(*row.nonzero(), strict=True):
            head, *label = map(int, place)
            more = {"label": classes[label[0]]} if label else {}
            found.append({"head": head, **more, "probability": float(row[place])})
        out.append(found)
    return out


def _link_chances(task: Any, answers: Answers, index: int) -> list[dict[str, Any]]:
    """The links of a pair that have a probability which rounding leaves above zero."""
    assert answers.marginals is not None
    columns = [column.tolist() for column in task.segments(task.shape(answers.X[index]))]
    chances = answers.marginals[index].round(_DIGITS).tolist()
    return [
        {"link": task.written_link(*segments), "probability": chance}
        for *segments, chance in zip(*columns, chances, strict=False)
        if chance > 0
    ]
