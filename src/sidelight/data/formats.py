"""The file formats by name. A format is a reader and a writer; adding one is a line in `FORMATS`."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from sidelight.data.columns import read_columns, write_columns
from sidelight.data.conllu import read_conllu, write_conllu
from sidelight.data.jsonlines import read_jsonlines, write_jsonlines
from sidelight.data.source import STANDARD_STREAM, Inputs, Outputs, file_error, line_blocks
from sidelight.data.text import read_text, write_text
from sidelight.errors import DataError
from sidelight.quoting import quoted


@dataclass(frozen=True)
class Format:
    """``read(source, **options) -> (X, y)`` and ``write(target, X, y=None, **options)``.

    options: the keyword options of ``read``. labelled: whether a file can have labels. by_lines: whether every line is
    a sequence, so that large files are cut between any two lines; otherwise blank lines separate sequences. columnar:
    whether a token is a line of columns without names, so that rows of any number of columns can be written.
    """

    read: Callable[..., tuple[Inputs, Outputs]]
    write: Callable[..., None]
    options: frozenset[str] = frozenset()
    labelled: bool = True
    by_lines: bool = False
    columnar: bool = False


@dataclass(frozen=True)
class Layout:
    """The column options of a training run, which later commands use to read files.

    format: the name of the format; columns, label_column: the values of ``--columns`` and ``--label-column``.
    """

    format: str
    columns: str | None
    label_column: str | None

    @property
    def options(self) -> str:
        """The options, as they are typed."""
        typed = {"--columns": self.columns, "--label-column": self.label_column}
        return " ".join(f"{option} {value}" for option, value in typed.items() if value is not None)

    def check(self) -> None:
        """Raise `DataError` unless all values are as declared and the format is known."""
        from sidelight.stored import check_declared

        check_declared(self)
        if self.format not in FORMATS:
            raise DataError(f"there is no format {quoted(self.format)}; there are {', '.join(FORMATS)}")


_COLUMNS = frozenset({"label", "partial", "comment", "columns"})
_TEXT = frozenset({"tokenized"})

FORMATS: dict[str, Format] = {
    "columns": Format(read_columns, partial(write_columns, separator=" "), _COLUMNS | {"separator"}, columnar=True),
    "tsv": Format(
        partial(read_columns, separator="\t"), partial(write_columns, separator="\t"), _COLUMNS, columnar=True
    ),
    "conllu": Format(read_conllu, write_conllu, frozenset({"columns", "label", "partial"})),
    "jsonl": Format(read_jsonlines, write_jsonlines, frozenset({"partial"}), by_lines=True),
    "text": Format(read_text, write_text, _TEXT, labelled=False, by_lines=True),
    "tokens": Format(partial(read_text, tokenized=True), write_text, _TEXT, labelled=False, by_lines=True),
}

EXTENSIONS = {
    ".tsv": "tsv",
    ".conllu": "conllu",
    ".jsonl": "jsonl",
    ".json": "jsonl",
    ".conll": "columns",
    ".bio": "columns",
    ".iob": "columns",
    ".tok": "tokens",
}

# The extension of corpora on disk, which are no format: they are made of files by `sidelight encode`.
CORPUS_EXTENSION = ".sl"
_SAMPLE, _SAMPLE_BYTES = 20, 1 << 16


def guess_format(path: Any) -> str:
    """Return the name of the format of a file, by its extension; a ``.txt`` file is columns or text.

    It is columns if its first 20 lines (blank ones aside) all have as many columns, text if they differ; text that is
    cut into tokens already looks like any other, so that is never guessed. Where
    that says nothing (one line, no lines, standard input, another extension) it is a DataError.
    """
    if not isinstance(path, str | os.PathLike) or path == STANDARD_STREAM:
        raise _unclear("this input has no file name")
    name = os.fspath(path)
    extension = os.path.splitext(name)[1].lower()
    if extension in EXTENSIONS:
        return EXTENSIONS[extension]
    if extension == ".txt":
        return _columns_or_text(name)
    if not os.path.exists(name):
        raise file_error(name, FileNotFoundError(), "read")
    if extension == ".csv":
        raise DataError(
            f"{name}: commas between columns are not read; write the file with tabs and call it .tsv, or in Python "
            "give read_table the table that pandas.read_csv makes of it"
        )
    raise _unclear(f"{name}: the extension {extension!r} is not one of {', '.join(EXTENSIONS)}, .txt")


def _columns_or_text(name: str) -> str:
    lines = (line for block in line_blocks(name, size=_SAMPLE_BYTES) for line in block.lines)
    counts = list(islice((count for line in lines if (count := len(line.split()))), _SAMPLE))
    if len(counts) < 2:
        raise _unclear(f"{name}: {len(counts)} line is too little to tell columns from text")
    return "columns" if len(set(counts)) == 1 else "text"


def _unclear(reason: str) -> DataError:
    return DataError(f"cannot tell the format: {reason}; say which with --format ({', '.join(FORMATS)})")
