"""Options that several commands share, and how examples are shown under `--help`."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

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
        "--format",
        "-f",
        help="Format of the data; by default that of the file's name. text is cut into words and punctuation marks, "
        "tokens at spaces only.",
        rich_help_panel=_DATA,
    ),
]


def _label_column(*, hidden: bool) -> Any:
    return typer.Option(
        "--label-column",
        metavar="N|NAME",
        help="Column of the labels: a number from 0, or from the end if negative (columns, tsv; default -1), or a "
        "name such as xpos or feats:Number (conllu; default upos).",
        rich_help_panel=_DATA,
        hidden=hidden,
    )


def _comment(*, hidden: bool) -> Any:
    help = "Skip lines that start with this (columns, tsv)."
    return typer.Option("--comment", metavar="START", help=help, rich_help_panel=_DATA, hidden=hidden)


def _jobs(*, hidden: bool) -> Any:
    return typer.Option("--n-jobs", "-j", metavar="N", help="Threads; by default every core.", hidden=hidden)


def _run_on(context: typer.Context, where: str | None) -> str | None:
    """Let the command run on other processes until it ends, and say what went between these."""
    if where is not None and not context.resilient_parsing:
        context.with_resource(_on_workers(where))
    return where


@contextmanager
def _on_workers(where: str) -> Iterator[None]:
    from sidelight.running import running_on

    with running_on(where) as place:
        yield
        typer.echo(f"workers   {place.workers} of {where}: {place.traffic}", err=True)


def _workers(*, hidden: bool) -> Any:
    return typer.Option(
        "--workers",
        metavar="WHERE",
        help="Work in other processes: 4 or joblib:4, dask:4 or ray:4 start that many here; dask:tcp://HOST:8786 and "
        "ray:auto go to a cluster.",
        callback=_run_on,
        hidden=hidden,
    )


# The hidden ones are shown by --help-all.
WorkersOption = Annotated[str | None, _workers(hidden=False)]
HiddenWorkersOption = Annotated[str | None, _workers(hidden=True)]
LabelColumnOption = Annotated[str | None, _label_column(hidden=False)]
HiddenLabelColumnOption = Annotated[str | None, _label_column(hidden=True)]
CommentOption = Annotated[str | None, _comment(hidden=False)]
HiddenCommentOption = Annotated[str | None, _comment(hidden=True)]
JobsOption = Annotated[int | None, _jobs(hidden=False)]
HiddenJobsOption = Annotated[int | None, _jobs(hidden=True)]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="NAMES",
        help="Names of all columns, such as word,pos,label: the labels are in the one called label, _ leaves one out, "
        "and templates know the others (columns, tsv). Of conllu the columns that make a token, such as form,lemma. "
        "Models remember them.",
        rich_help_panel=_DATA,
    ),
]
SchemeOption = Annotated[
    SchemeName,
    typer.Option("--scheme", help="What a span is: B- and I- prefixes, runs of one label, or as the labels suggest."),
]
ConfusionOption = Annotated[bool, typer.Option("--confusion", help="Also show which labels were taken for which.")]
WithoutRulesOption = Annotated[bool, typer.Option("--without-rules", help="Predict as if the model had no rules.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
