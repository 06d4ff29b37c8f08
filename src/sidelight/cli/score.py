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
from sidelight.cli.parameters import TaskName
from sidelight.cli.reading import Reader, Sequences, reader_for
from sidelight.errors import DataError

NAME = "score"
EXAMPLES = (
    "sidelight score gold.tsv predicted.tsv",
    "sidelight score gold.txt predicted.txt --scheme bio --json",
    "sidelight score gold.conllu parsed.conllu --task parsing",
)


def command(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="Sequences with the right labels.")],
    predicted: Annotated[str, typer.Argument(metavar="PREDICTED", help="The same sequences as some tool labels them.")],
    scheme: SchemeOption = SchemeName.auto,
    confusion: ConfusionOption = False,
    task: Annotated[
        TaskName | None, typer.Option("--task", help="What the files hold: parsing for trees; else labels.")
    ] = None,
    format: FormatOption = None,
    label_column: LabelColumnOption = None,
    columns: ColumnsOption = None,
    comment: CommentOption = None,
    json: JsonOption = False,
) -> None:
    """Compare two labelled files, without a model.

    Of trees it shows the share of right heads (UAS), with right labels (LAS), with punctuation and without.
    """
    from sidelight.cli.output import print_json
    from sidelight.report.console import results
    from sidelight.report.evaluation import compare
    from sidelight.report.outputs import LabelOutputs, TreeOutputs

    reader = Reader(format, label_column, columns, comment)
    shown: LabelOutputs | TreeOutputs = LabelOutputs() if task is None else TreeOutputs()
    if task is None:
        truth, guess = reader.read(gold, labels=True), reader.read(predicted, labels=True)
        _require_same_tokens(truth, guess)
        evaluation: Any = compare(truth.y, guess.y, scheme=scheme)
    else:
        evaluation = _compare_trees(task, reader, gold, predicted)
    if json:
        print_json(evaluation)
    else:
        console = results()
        console.print(shown.page(evaluation, console.width, confusion=confusion))


def _compare_trees(task: str, reader: Reader, gold: str, predicted: str) -> Any:
    """Attachment scores of two treebanks; labels count where the gold one has some."""
    from sidelight import Parsing
    from sidelight.parts_metrics import tree_scores

    if task != "parsing":
        raise typer.BadParameter("there are scores of labels and of trees (parsing)", param_hint="--task")
    trees = reader_for(Parsing(labelled=True).for_comparing(), reader)
    truth, guess = trees.read(gold, labels=True), trees.read(predicted, labels=True)
    if len(truth.X) != len(guess.X):
        raise DataError(f"{gold} has {len(truth.X)} sentences, and {predicted} has {len(guess.X)}")
    _require_same_tokens(truth, guess)
    chosen = [i for i, y in enumerate(truth.y) if y is not None]
    X, right = [truth.X[i] for i in chosen], [truth.y[i] for i in chosen]
    found = [guess.y[i] or [(None, None)] * len(truth.X[i]) for i in chosen]
    labelled = any(label is not None for y in right for _, label in y)
    if not labelled:
        right, found = ([[head for head, _ in one] for one in some] for some in (right, found))
    return tree_scores(right, found, labelled=labelled, X=X)


def _require_same_tokens(truth: Sequences, guess: Sequences) -> None:
    """Scores of different sequences would mean nothing. (Different lengths are told by the metrics.)"""
    for i, (x, other) in enumerate(zip(truth.X, guess.X, strict=False)):
        if len(x) == len(other) and x != other:
            t = next(t for t, (a, b) in enumerate(zip(x, other, strict=True)) if a != b)
            raise DataError(f"sequence {i}, token {t}: gold has {x[t]!r}, predicted has {other[t]!r}")
