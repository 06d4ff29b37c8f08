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
)
from sidelight.cli.reading import Reader

NAME = "evaluate"
EXAMPLES = (
    "sidelight evaluate fields.model dev.tsv",
    "sidelight evaluate chunks.model dev.txt --confusion",
    "sidelight evaluate chunks.model dev.txt --json | jq .spans.overall.f1",
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
    json: JsonOption = False,
) -> None:
    """Compare a model's predictions with the labels of a file.

    Shows token accuracy, scores of spans as conlleval counts them, and of labels.

    A label that the model never saw counts as wrong.
    """
    from sidelight.cli.loading import load_model
    from sidelight.cli.output import print_json
    from sidelight.report.console import results
    from sidelight.report.evaluation import evaluate
    from sidelight.report.tables import evaluation_page

    learner = load_model(model, jobs, rules=not without_rules)
    sequences = Reader(format, label_column, columns, comment).read(data, labels=True)
    evaluation = evaluate(learner, sequences.X, sequences.y, scheme=scheme)
    if json:
        print_json(evaluation)
    else:
        console = results()
        console.print(evaluation_page(evaluation, console.width, confusion=confusion))
