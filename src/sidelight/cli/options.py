"""Options that several commands share, and how examples are shown under `--help`."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sidelight.data.formats import FORMATS

if TYPE_CHECKING:
    FormatName = str
else:
    FormatName = StrEnum("FormatName", {name: name for name in FORMATS})


class SchemeName(StrEnum):
    """How labels make spans, as in `sidelight.metrics`."""

    auto = "auto"
    bio = "bio"
    runs = "runs"


def examples(*lines: str) -> str:
    """An epilog with one example a line; brackets are kept from being read as markup."""
    return "\n\n".join(["[bold]Examples[/bold]", *("  " + line.replace("[", r"\[") for line in lines)])


_DATA = "How the data is read"

ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="Model file, written by `sidelight train`.")]
FormatOption = Annotated[
    FormatName | None,
    typer.Option(
        "--format", "-f", help="Format of the data; by default that of the file's name.", rich_help_panel=_DATA
    ),
]
LabelColumnOption = Annotated[
    str | None,
    typer.Option(
        "--label-column",
        metavar="N|NAME",
        help="Column of the labels: a number from 0, or from the end if negative (columns, tsv; default -1), or a "
        "name such as xpos or feats:Number (conllu; default upos).",
        rich_help_panel=_DATA,
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="NAMES",
        help="Columns that make a token, such as form,lemma (conllu; default form).",
        rich_help_panel=_DATA,
    ),
]
CommentOption = Annotated[
    str | None,
    typer.Option(
        "--comment", metavar="START", help="Skip lines that start with this (columns, tsv).", rich_help_panel=_DATA
    ),
]
SchemeOption = Annotated[
    SchemeName,
    typer.Option("--scheme", help="What a span is: B- and I- prefixes, runs of one label, or as the labels suggest."),
]
ConfusionOption = Annotated[bool, typer.Option("--confusion", help="Also show which labels were taken for which.")]
WithoutRulesOption = Annotated[bool, typer.Option("--without-rules", help="Predict as if the model had no rules.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
JobsOption = Annotated[int | None, typer.Option("--jobs", "-j", metavar="N", help="Threads; by default every core.")]
