"""`sidelight score`."""

from typing import Annotated, Any

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
from sidelight.cli.parameters import TaskName, make_task
from sidelight.cli.reading import Reader, Sequences, reader_for
from sidelight.errors import DataError

NAME = "score"
EXAMPLES = (
    "sidelight score gold.tsv predicted.tsv",
    "sidelight score gold.txt predicted.txt --scheme bio --json",
    "sidelight score gold.jsonl predicted.jsonl --task aligning",
)


def command(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="Sequences with the right labels.")],
    predicted: Annotated[str, typer.Argument(metavar="PREDICTED", help="The same sequences as some tool labels them.")],
    task: Annotated[
        TaskName | None,
        typer.Option(
            help="What is compared where it is no labels: aligning and matching compare whether pairs are good, or, "
            "where GOLD does not say, their links.",
            show_default=False,
        ),
    ] = None,
    scheme: SchemeOption = SchemeName.auto,
    confusion: ConfusionOption = False,
    format: FormatOption = None,
    label_column: LabelColumnOption = None,
    columns: ColumnsOption = None,
    comment: CommentOption = None,
    json: JsonOption = False,
) -> None:
    """Compare two labelled files, or two files of pairs, without a model."""
    from sidelight.cli.output import print_json
    from sidelight.report.console import results
    from sidelight.report.evaluation import compare
    from sidelight.report.tables import evaluation_page

    if task is not None:
        _score_pairs(make_task(task, [])[0], Reader(format, label_column, columns, comment), gold, predicted, json)
        return
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
    """Scores of different sequences would mean nothing. (Different lengths are told by the metrics.)"""
    for i, (x, other) in enumerate(zip(truth.X, guess.X, strict=False)):
        if len(x) == len(other) and x != other:
            t = next(t for t, (a, b) in enumerate(zip(x, other, strict=True)) if a != b)
            raise DataError(f"sequence {i}, token {t}: gold has {x[t]!r}, predicted has {other[t]!r}")


def _score_pairs(task: Any, reader: Reader, gold: str, predicted: str, json: bool) -> None:
    """Compare files of pairs: whether they are good, or else their links."""
    from sidelight.cli.output import print_json
    from sidelight.report.console import results
    from sidelight.report.outputs import Answers, Comparing, LinkOutputs

    if task.kind != "links":
        raise typer.BadParameter("this compares pairs; for trees there is `sidelight evaluate`", param_hint="--task")
    read = reader_for(task, reader, answers=True)
    said = any(known is not None for known in read.read(gold, labels=True).y)
    shown: Comparing = Answers() if said else LinkOutputs()
    read = read if said else reader_for(task, reader)
    truth, guess = read.read(gold, labels=True), read.read(predicted, labels=True)
    if truth.X != guess.X:
        raise DataError(f"{gold} and {predicted} do not have the same pairs in the same order")
    evaluation = shown.compare(truth.y, guess.y)
    if json:
        print_json(evaluation)
    else:
        console = results()
        console.print(shown.page(evaluation, console.width, confusion=False))
