"""Data files as the commands read them: the format taken from the name, its options checked, nothing empty."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import typer

from sidelight.cli.options import FormatName
from sidelight.data.formats import FORMATS, Layout
from sidelight.data.source import source_name
from sidelight.errors import DataError, listed

# From this share of labelled tokens on that plain text would have cut, a note says so.
_OTHER_TOKENS = 0.01
# What corpora on disk are called beside the formats.
CORPUS = "corpus"


class Sequences(NamedTuple):
    """What a file holds, and the format it was read in; kept: the file as a whole, where it is to be written again."""

    X: Any
    y: Any
    format: str
    kept: Any = None


class FileRows(NamedTuple):
    """All columns of every token of a file, and which of them is the label's; None where there is none."""

    rows: list[list[list[str]]]
    label: int | None


def nothing_in(path: str, noun: str) -> DataError:
    """Return an error (to be raised) about a file without inputs."""
    return DataError(f"{source_name(path)}: the file is empty or has only blank lines; expected {noun}")


def expected_blocks(path: str) -> int | None:
    """About how many blocks a file is read in; None if that cannot be told beforehand."""
    from sidelight.data.corpus import BLOCK_TOKENS, read_corpus
    from sidelight.data.corpus_file import is_corpus
    from sidelight.data.source import BLOCK

    if not os.path.isfile(path):
        return None
    if is_corpus(path):
        return -(-read_corpus(path).tokens // BLOCK_TOKENS)
    return -(-os.path.getsize(path) // BLOCK)


class DataReader(Protocol):
    """What reads the data of a command."""

    @property
    def made(self) -> tuple[str, ...]:
        """The ways to make bad inputs from good ones."""
        ...

    def read(self, path: str, *, labels: bool) -> Sequences:
        """Read a file, or standard input if it is "-", with outputs or without."""
        ...

    def blocks(self, path: str, *, labels: bool) -> Iterator[Sequences]:
        """Read the same some inputs after the other."""
        ...

    def read_unlabeled(self, path: str, beside: Sequence[Any] = ()) -> Any:
        """Read inputs alone; beside: others, which they should be like."""
        ...

    def width(self, X: Sequence[Any]) -> str:
        """How many columns tokens have."""
        ...


@dataclass(frozen=True)
class Reader:
    """The options of a command about its data."""

    format: FormatName | None = None
    label_column: str | None = None
    columns: str | None = None
    comment: str | None = None
    partial: bool = False
    scratch: str | None = None
    # Whether the columns are those that a model was trained on, so that files without labels may lack the label's.
    remembered: bool = False

    # Ways to make bad sequences from good ones.
    made: ClassVar[tuple[str, ...]] = ("shuffled", "transposed")

    def remembering(self, learner: Any, path: str) -> "Reader":
        """Return this reader with the columns of the files that a model was trained on, where no option names them."""
        from sidelight.data import guess_format
        from sidelight.data.corpus_file import is_corpus

        layout = learner.layout_
        if layout is None or self.columns is not None or self.label_column is not None or is_corpus(path):
            return self
        one_format = learner.task_.kind != "labels"
        name = layout.format if one_format else str(self.format or guess_format(path))
        if "columns" not in FORMATS[name].options or FORMATS[name].columnar != FORMATS[layout.format].columnar:
            return self
        return replace(self, columns=layout.columns, label_column=layout.label_column, remembered=True)

    def layout(self, format: str, X: Any = None) -> Layout | None:
        """Return the options about columns, for a model to remember; None if there are none.

        X: the sequences; a corpus has the layout of the files that it was made of.
        """
        if format == CORPUS:
            return None if X is None else X.file.layout
        if self.columns is None and self.label_column is None:
            return None
        return Layout(format, self.columns, self.label_column)

    def width(self, X: Sequence[Any]) -> str:
        """How many columns tokens have."""
        token = next((token for x in X for token in x), "")
        if isinstance(token, dict):
            return "features"
        return "1 column" if isinstance(token, str) else f"{len(token)} columns"

    def read(self, path: str, *, labels: bool) -> Sequences:
        """Read a file, or standard input if it is "-"; with `labels`, it must be a format that can have them.

        Of columns that are named, or whose label is not the last, all columns are kept (`kept`), as `FileRows`.
        A corpus stays on disk.
        """
        from sidelight.data.corpus_file import is_corpus
        from sidelight.data.source import read_lines

        if is_corpus(path):
            corpus = self._corpus(path)
            return Sequences(corpus, corpus.y, CORPUS)
        name = self._format(path, labels)
        found = self._parsed(read_lines(path), name, labels)
        if not found.X:
            raise nothing_in(path, "sequences")
        return found

    def blocks(self, path: str, *, labels: bool) -> Iterator[Sequences]:
        """Read the same some sequences after the other, in memory that does not grow with their number."""
        from sidelight.data.corpus_file import is_corpus
        from sidelight.data.source import line_blocks

        if is_corpus(path):
            for block in self._corpus(path).blocks():
                yield Sequences(list(block), list(block.y), CORPUS)
            return
        name, kind, width = self._format(path, labels), "", ""
        blocks = line_blocks(path, whole_paragraphs=not FORMATS[name].by_lines)
        for lines in blocks:
            found = self._parsed(lines, name, labels)
            if not found.X:
                continue
            kind = self.width(found.X)
            if kind != (width or kind):
                line = next(k for k, line in enumerate(lines.lines, start=1) if line.strip())
                raise lines.error(line, f"expected tokens of {width} like those before, found {kind}")
            width = kind
            yield found
        if not width:
            raise nothing_in(path, "sequences")

    def may_have_labels(self, path: str) -> bool:
        """Whether a file is of a format that can have labels."""
        from sidelight.data import guess_format

        return FORMATS[str(self.format or guess_format(path))].labelled

    def _format(self, path: str, labels: bool) -> str:
        from sidelight.data import guess_format

        name = str(self.format or guess_format(path))
        if labels and not FORMATS[name].labelled:
            raise DataError(
                f"{source_name(path)}: plain text has no labels; if it is not text, say what it is with --format"
            )
        return name

    def _parsed(self, lines: Any, name: str, labels: bool) -> Sequences:
        from sidelight.data.columns import column_rows

        if self.remembered and FORMATS[name].columnar and self.columns is not None:
            return self._of_training(lines, name, labels)._parsed(lines, name, labels)
        options = self._options(name, labels)
        X, y = FORMATS[name].read(lines, **options)
        kept = None
        if FORMATS[name].columnar and (self.columns is not None or options["label"] not in (None, -1)):
            place = self.named.label if self.columns is not None else options["label"]
            kept = FileRows(column_rows(lines, separator="\t" if name == "tsv" else None, comment=self.comment), place)
        return Sequences(X, y, name, kept)

    def _of_training(self, lines: Any, name: str, labels: bool) -> "Reader":
        """Return a reader for a file that has the columns of the training file, or all but the label's."""
        from sidelight.data.columns import LABEL, column_rows

        names = str(self.columns).split(",")
        number, found = next(
            ((number, len(rows[0][0])) for number, line in enumerate(lines.lines, start=1)
             if (rows := column_rows([line], separator="\t" if name == "tsv" else None, comment=self.comment))),
            (1, len(names)),
        )  # fmt: skip
        if not labels and LABEL in names and found == len(names) - 1:
            names.remove(LABEL)
        if found != len(names):
            content = repr(lines.lines[number - 1])
            but_label = "" if labels or LABEL not in names else f" or all but {LABEL}"
            raise lines.error(
                number,
                f"expected the {len(names)} columns of training ({', '.join(names)}){but_label}, found {found}: "
                f"{content}; name those of this file with --columns, _ for each to leave out",
            )
        return replace(self, columns=",".join(names), remembered=False)

    def _corpus(self, path: str) -> Any:
        from sidelight.data.corpus import read_corpus

        for option, value in (
            ("--format", self.format), ("--label-column", self.label_column), ("--columns", self.columns),
            ("--comment", self.comment), ("--partial", self.partial or None),
        ):  # fmt: skip
            if value is not None:
                message = f"{path} is a corpus, and what its columns are was said to `sidelight encode`; leave this out"
                raise typer.BadParameter(message, param_hint=option)
        return read_corpus(path, scratch=self.scratch)

    def read_unlabeled(self, path: str, beside: Sequence[Any] = ()) -> Any:
        """Read sequences without labels; the format is that of the file's name, else it is that of the data.

        Files of named columns have all of these but the label. Where text is cut into tokens in another way than the
        sequences beside it, a note says so.
        """
        from sidelight.data import guess_format
        from sidelight.data.corpus_file import is_corpus

        if is_corpus(path):
            return Reader(scratch=self.scratch).read(path, labels=False).X
        try:
            name = FormatName(guess_format(path))
        except DataError:
            if self.format is None:
                raise
            name = self.format
        if name == "text":
            _compare_tokens(path, beside)
        columns = self.columns if name == "conllu" else None
        comment = self.comment if FORMATS[name].columnar else None
        if FORMATS[name].columnar and self.columns is not None:
            columns = ",".join(column for column in self.columns.split(",") if column != "label")
        return Reader(name, columns=columns, comment=comment).read(path, labels=False).X

    def _options(self, name: str, labels: bool) -> dict[str, Any]:
        self._refuse("--label-column", self.label_column, name, "label")
        self._refuse("--columns", self.columns, name, "columns")
        self._refuse("--comment", self.comment, name, "comment")
        if FORMATS[name].columnar:
            if self.columns is None:
                label = self.label_number() if labels else None
                return {"label": label, "partial": self.partial and labels, "comment": self.comment}
            if self.label_column is not None:
                message = "--columns says which column is the label; leave this out"
                raise typer.BadParameter(message, param_hint="--label-column")
            if labels and self.named.label is None:
                message = f"one of the columns must be called label, got {self.columns}"
                raise typer.BadParameter(message, param_hint="--columns")
            return {
                "label": self.named.label, "columns": self.columns.split(","), "comment": self.comment,
                "partial": self.partial and labels,
            }  # fmt: skip
        if name == "conllu":
            if labels and self.conllu_label in self.conllu_columns:
                message = f"{self.conllu_label} is the label; a model that also reads it as input learns nothing"
                raise typer.BadParameter(message, param_hint="--columns")
            return {
                "label": self.conllu_label if labels else None, "columns": self.conllu_columns,
                "partial": self.partial and labels,
            }  # fmt: skip
        given: dict[str, Any] = {
            "label": self.label_column, "comment": self.comment, "partial": self.partial or None,
            "columns": None if self.columns is None else self.columns.split(","),
        }  # fmt: skip
        return {key: value for key, value in given.items() if value is not None and key in FORMATS[name].options}

    def label_number(self) -> int:
        """Return the number of the label's column, -1 for the last."""
        try:
            return int(self.label_column or -1)
        except ValueError:
            message = f"columns have numbers, not names, so {self.label_column!r} is none of them; --columns names them"
            raise typer.BadParameter(message, param_hint="--label-column") from None

    @property
    def named(self) -> Any:
        """What --columns says of files of columns."""
        from sidelight.data.columns import named_columns

        try:
            return named_columns((self.columns or "").split(","))
        except DataError as error:
            raise typer.BadParameter(str(error), param_hint="--columns") from None

    @property
    def names_label(self) -> bool:
        """Whether the options say which column is the label."""
        return not self.remembered and (self.label_column is not None or "label" in (self.columns or "").split(","))

    def column_names(self, path: str) -> tuple[str, ...]:
        """The names that --columns gives to the columns of a token, in their order; empty where there are none."""
        from sidelight.data import guess_format

        if self.columns is None:
            return ()
        name = str(self.format or guess_format(path))
        return self.named.names if FORMATS[name].columnar else self.conllu_columns

    @property
    def conllu_label(self) -> str:
        """The column of the labels in CoNLL-U."""
        return self.label_column or "upos"

    @property
    def conllu_columns(self) -> tuple[str, ...]:
        """The columns of a token in CoNLL-U."""
        return tuple((self.columns or "form").split(","))

    @staticmethod
    def _refuse(option: str, value: str | None, name: str, keyword: str) -> None:
        if value is not None and keyword not in FORMATS[name].options:
            formats = [other for other in FORMATS if keyword in FORMATS[other].options]
            message = f"the format {name} has no such thing; {listed(formats)} {'have' if formats[1:] else 'has'}"
            raise typer.BadParameter(message, param_hint=option)


def _compare_tokens(path: str, beside: Sequence[Any]) -> None:
    """Note it where many tokens of labelled sequences would be cut by what cuts a file of plain text."""
    from sidelight.data.corpus import Corpus
    from sidelight.data.text import tokenize

    if isinstance(beside, Corpus):
        return
    tokens = [token for x in beside for token in x if isinstance(token, str)]
    cut = [token for token in tokens if len(tokenize(token)) > 1]
    if len(cut) > _OTHER_TOKENS * len(tokens):
        print(
            f"note: {path} is cut into words and punctuation marks, but {len(cut):,} of the {len(tokens):,} labelled "
            f"tokens are not, such as {cut[0]!r}; if spaces separate its tokens, call it {Path(path).stem}.tok",
            file=sys.stderr,
        )


def reader_for(task: Any, reader: Reader, *, answers: bool = False) -> DataReader:
    """The reader, or with the same options that of the files of a task whose outputs are no labels.

    answers: whether a yes or no to each input is read in place of its output.
    """
    if answers and (task is None or task.kind != "links"):
        message = "files say yes or no to pairs: --task aligning or matching; for others there is Python"
        raise typer.BadParameter(message, param_hint="--task")
    if task is None or task.kind == "labels":
        return reader
    from sidelight.cli.structured import StructuredReader

    for option, value in (
        ("--label-column", reader.label_column), ("--comment", reader.comment), ("--partial", reader.partial or None),
    ):  # fmt: skip
        if value is not None:
            raise typer.BadParameter(f"{type(task).__name__} has no such thing", param_hint=option)
    return StructuredReader(task, reader.format, reader.columns, answers)
