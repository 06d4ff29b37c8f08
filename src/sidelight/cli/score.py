"""`sidelight score`."""

from typing import Annotated

import typer

from sidelight.cli.options import (
    ColumnsOption,
    CommentOption,
    ConfusionOption,
    FormatOption,
    JsonOption,
    LabelColumnOption,
    SchemeName,
    SchemeOption,
)
from sidelight.cli.reading import Reader, Sequences
from sidelight.errors import DataError

NAME = "score"
EXAMPLES = (
    "sidelight score gold.tsv predicted.tsv",
    "sidelight score gold.txt predicted.txt --scheme bio --json",
)


def command(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="Sequences with the right labels.")],
    predicted: Annotated[str, typer.Argument(metavar="PREDICTED", help="The same sequences as some tool labels them.")],
    scheme: SchemeOption = SchemeName.auto,
    confusion: ConfusionOption = False,
    format: FormatOption = None,
    label_column: LabelColumnOption = None,
    columns: ColumnsOption = None,
    comment: CommentOption = None,
    json: JsonOption = False,
) -> None:
    """Compare two labelled files, without a model."""
    from sidelight.cli.output import print_json
    from sidelight.report.console import results
    from sidelight.report.evaluation import compare
    from sidelight.report.tables import evaluation_page

    reader = Reader(format, label_column, columns, comment)
    truth, guess = reader.read(gold, labels=True), reader.read(predicted, labels=True)
    _require_same_tokens(truth, guess)
    evaluation = compare(truth.y, guess.y, scheme=scheme)
    if json:
        print_json(evaluation)
    else:
        console = results()
        console.print(evaluation_page(evaluation, console.width, confusion=confusion))


def _require_same_tokens(truth: Sequences, guess: Sequences) -> None:
    """Scores of different sequences would mean nothing. (The metrics refuse different lengths.)"""
    for i, (x, other) in enumerate(zip(truth.X, guess.X, strict=False)):
        if len(x) == len(other) and x != other:
            t = next(t for t, (a, b) in enumerate(zip(x, other, strict=True)) if a != b)
            raise DataError(f"sequence {i}, token {t}: gold has {x[t]!r}, predicted has {other[t]!r}")
