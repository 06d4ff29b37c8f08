"""`sidelight score`."""

from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any

import typer

from sidelight.cli.options import (
    ColumnsOption,
    CommentOption,
    ConfusionOption,
    FormatName,
    FormatOption,
    JsonOption,
    LabelColumnOption,
    SchemeName,
    SchemeOption,
)
from sidelight.cli.parameters import TaskName, named_task
from sidelight.cli.reading import DataReader, Reader, Sequences, reader_for
from sidelight.cli.settings import read_settings
from sidelight.data.source import STANDARD_STREAM, source_name
from sidelight.errors import DataError

NAME = "score"
EXAMPLES = (
    "sidelight score gold.tsv predicted.tsv",
    "sidelight predict fields.model gold.tsv --labeled | sidelight score gold.tsv -",
    "sidelight score gold.txt predicted.txt --scheme bio --json",
    "sidelight score gold.tsv predicted.tsv --against other.tsv",
    "sidelight score gold.conllu parsed.conllu --task parsing",
    "sidelight score gold.jsonl predicted.jsonl --task aligning",
)


def command(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="Sequences with the right labels, trees or links.")],
    predicted: Annotated[
        str, typer.Argument(metavar="PREDICTED", help="The same as some tool labels them; - is standard input.")
    ],
    task: Annotated[
        TaskName | None,
        typer.Option(
            help="What the files have where it is no labels: trees or links. Aligning and matching compare whether "
            "pairs are good where GOLD says so, and else their links.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The same sequences as another tool labels them: adds a paired t-test of the labels that are right.",
            show_default=False,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A parameter of the task, such as task.labelled=true; may be repeated."
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
    """Compare two files of labels, trees or links, without a model.

    A file whose name does not say its format, and standard input, are read in the format of the other one.

    Trees are compared word by word, with their labels where both have some, with punctuation and without; of words only
    the form must be the same (--columns names other columns). A head that is not predicted is wrong.
    """
    from sidelight.cli.output import note, plain, print_json
    from sidelight.metrics import paired_t_test, right_tokens
    from sidelight.report.console import results

    what = named_task(task, read_settings(settings))
    if what.kind != "labels" and (confusion or scheme != SchemeName.auto):
        raise typer.BadParameter("this is for labels", param_hint="--confusion" if confusion else "--scheme")
    if what.kind != "labels" and against is not None:
        raise typer.BadParameter("this is for labels", param_hint="--against")
    words = columns or ("form" if what.kind == "trees" else None)
    options = Reader(format, label_column, words, comment)
    if what.kind == "labels":
        options = replace(options, format=format or _format_of_other(gold, predicted))
    what, shown, reader, truth = _gold(what, options, gold)
    guess = reader.read(predicted, labels=True)
    if what.kind == "trees" and what.has_labels and not _labelled(guess):
        note(f"{source_name(predicted)} has no labels of arcs, so heads alone are compared")
        what = replace(what, labelled=False)
        truth, guess = (one._replace(y=_heads(one.y)) for one in (truth, guess))
    _require_same(truth, guess, what, source_name(gold), source_name(predicted))
    evaluation = shown.compare(what, truth.X, truth.y, guess.y, scheme=scheme)
    test = None
    if against is not None:
        other = reader.read(against, labels=True)
        _require_same(truth, other, what, source_name(gold), source_name(against))
        test = paired_t_test(right_tokens(truth.y, guess.y), right_tokens(truth.y, other.y))
    if json:
        print_json(evaluation if test is None else {**plain(evaluation), "against": test})
    else:
        console = results()
        console.print(shown.page(evaluation, console.width, confusion=confusion))
        if test is not None:
            console.print(f"right labels per sequence, difference from {against}: {test}", markup=False)


def _gold(task: Any, options: Reader, path: str) -> tuple[Any, Any, DataReader, Sequences]:
    """The task, how predictions are compared, what reads them, and what they are compared with.

    Answers are compared where there are some, and labels of arcs where there are some.
    """
    from sidelight.report.outputs import YesOrNo, outputs_of

    if task.kind == "links":
        reader = reader_for(task, options, answers=True)
        found = reader.read(path, labels=True)
        if any(known is not None for known in found.y):
            return task, YesOrNo(), reader, found
    if task.kind == "trees":
        task = replace(task.for_comparing(), labelled=True)
        reader = reader_for(task, options)
        found = reader.read(path, labels=True)
        if _labelled(found):
            return task, outputs_of(task), reader, found
        task = replace(task, labelled=False)
    reader = reader_for(task, options)
    return task, outputs_of(task), reader, reader.read(path, labels=True)


def _labelled(trees: Sequences) -> bool:
    """Whether any arc has a label."""
    return any(label is not None for known in trees.y for _, label in known or ())


def _heads(trees: list[Any]) -> list[Any]:
    return [None if known is None else [head for head, _ in known] for known in trees]


def _format_of_other(*paths: str) -> FormatName | None:
    """The format of the file whose name says it, where that of the other one does not; else each is of its own."""
    from sidelight.data import guess_format

    if set(paths) == {STANDARD_STREAM}:
        raise DataError("only one of the two can be standard input; name a file")
    found = []
    for path in paths:
        with suppress(DataError):
            found.append(guess_format(path))
    return FormatName(found[0]) if len(found) == 1 else None


def _width(X: list[Any]) -> int:
    """How many columns tokens have."""
    token = next((token for x in X for token in x), "")
    return len(token) if isinstance(token, tuple) else 1


def _require_same(truth: Sequences, guess: Sequences, task: Any, gold: str, predicted: str) -> None:
    """Scores of different inputs, or of labels that are not there, would mean nothing."""
    from sidelight.report.evaluation import is_full

    noun = task.noun
    if len(truth.X) != len(guess.X):
        raise DataError(
            f"{predicted}: expected the {len(truth.X)} {noun}s of {gold}, found {len(guess.X)}; give the same ones"
        )
    for name, mine, theirs in ((predicted, guess, truth), (gold, truth, guess)):
        if task.kind == "labels" and _width(mine.X) > _width(theirs.X):
            raise DataError(
                f"{name}: tokens have {_width(mine.X)} columns beside the label, and those of the other file "
                f"{_width(theirs.X)}; --columns says which to leave out (predict --marginals adds one)"
            )
    for i, (x, other) in enumerate(zip(truth.X, guess.X, strict=True)):
        t = next((t for t, (a, b) in enumerate(zip(x, other, strict=False)) if a != b), None)
        if t is not None:
            place = ("source", "target")[t] if task.kind == "links" else f"token {t}"
            raise DataError(f"{predicted}: {noun} {i}, {place} is {other[t]!r}, and in {gold} it is {x[t]!r}")
        if len(x) != len(other):
            raise DataError(f"{predicted}: {noun} {i} has {len(other)} tokens, and in {gold} it has {len(x)}")
        if task.kind == "labels" and is_full(truth.y[i]) and not is_full(guess.y[i]):
            labels = guess.y[i] if isinstance(guess.y[i], list) else [guess.y[i]] * len(x)
            t = next(t for t, label in enumerate(labels) if not isinstance(label, str))
            raise DataError(f"{predicted}: {noun} {i}, token {t} has no label, and in {gold} it has {truth.y[i][t]!r}")
