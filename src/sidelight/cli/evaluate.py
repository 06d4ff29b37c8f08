"""`sidelight evaluate`."""

from typing import Annotated

import typer

from sidelight.cli.options import (
    ColumnsOption,
    CommentOption,
    ConfusionOption,
    FormatOption,
    JobsOption,
    JsonOption,
    LabelColumnOption,
    ModelArgument,
    SchemeName,
    SchemeOption,
    WithoutRulesOption,
    WorkersOption,
)
from sidelight.cli.reading import Reader, reader_for

NAME = "evaluate"
EXAMPLES = (
    "sidelight evaluate fields.model dev.tsv",
    "sidelight evaluate chunks.model dev.txt --confusion",
    "sidelight evaluate chunks.model dev.txt --json > scores.json",
    "sidelight evaluate parser.model dev.conllu",
)


def command(
    model: ModelArgument,
    data: Annotated[str, typer.Argument(metavar="DATA", help="Labelled sequences; - is standard input.")],
    scheme: SchemeOption = SchemeName.auto,
    confusion: ConfusionOption = False,
    without_rules: WithoutRulesOption = False,
    format: FormatOption = None,
    label_column: LabelColumnOption = None,
    columns: ColumnsOption = None,
    comment: CommentOption = None,
    jobs: JobsOption = None,
    workers: WorkersOption = None,
    json: JsonOption = False,
) -> None:
    """Compare a model's predictions with the labels, trees or links of a file.

    Shows token accuracy, scores of spans as conlleval counts them, and of labels.

    A label that the model never saw counts as wrong.

    Of trees it shows the share of right heads (UAS), with right labels (LAS), and of right trees; of links precision,
    recall and F1; of a model that says yes or no to pairs the share of right answers.
    """
    from sidelight.cli.loading import load_model
    from sidelight.cli.output import print_json
    from sidelight.report.console import results
    from sidelight.report.evaluation import evaluate_blocks
    from sidelight.report.outputs import evaluated_by

    learner = load_model(model, jobs, rules=not without_rules)
    shown = evaluated_by(learner)
    if learner.task_.kind != "labels" and (confusion or scheme != SchemeName.auto):
        raise typer.BadParameter("this is for labels", param_hint="--confusion" if confusion else "--scheme")
    reader = Reader(format, label_column, columns, comment).remembering(learner, data)
    source = reader_for(learner.task_.for_comparing(), reader, answers=learner.judges)
    if learner.task_.kind == "labels" and learner.predicts_apart:
        blocks = ((one.X, one.y) for one in source.blocks(data, labels=True))
        evaluation = evaluate_blocks(learner, blocks, scheme=scheme)
    else:
        sequences = source.read(data, labels=True)
        evaluation = shown.evaluate(learner, sequences.X, sequences.y, scheme=scheme)
    if json:
        print_json(evaluation)
    else:
        console = results()
        console.print(shown.page(evaluation, console.width, confusion=confusion))
