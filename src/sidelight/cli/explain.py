"""`sidelight explain`."""

from typing import Annotated, Any

import typer

from sidelight.cli.options import (
    ColumnsOption,
    CommentOption,
    FormatOption,
    JsonOption,
    LabelColumnOption,
    ModelArgument,
)
from sidelight.cli.reading import Reader
from sidelight.errors import DataError

NAME = "explain"
EXAMPLES = (
    "sidelight explain fields.model dev.tsv --labeled --sequence 3 --position 7",
    "sidelight explain fields.model dev.tsv --labeled --sequence 3 --figure posteriors.png",
    'echo "M. Kay. On parsing. 1991." | sidelight explain fields.model - -f text',
)


def command(
    model: ModelArgument,
    data: Annotated[str, typer.Argument(metavar="INPUT", help="Sequences; - is standard input.")],
    sequence: Annotated[int, typer.Option("--sequence", "-s", metavar="I", help="Which sequence, from 0.")] = 0,
    position: Annotated[
        int | None,
        typer.Option("--position", "-p", metavar="T", help="Which token, from 0; by default the least certain one."),
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="How much evidence to show.")] = 12,
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Draw the probabilities of all labels of the sequence, before and after the rules (.png, .pdf, .svg).",
        ),
    ] = None,
    labeled: Annotated[
        bool,
        typer.Option(
            "--labeled",
            help="The input has a label column, which is compared with what the model says (columns, tsv).",
            rich_help_panel="How the data is read",
        ),
    ] = False,
    format: FormatOption = None,
    label_column: LabelColumnOption = None,
    columns: ColumnsOption = None,
    comment: CommentOption = None,
    json: JsonOption = False,
) -> None:
    """Show why one token got its label rather than the next most probable one.

    Of a model with rules, these are among the evidence, and it shows what the labels would be without them.
    """
    from sidelight.cli.loading import load_model
    from sidelight.cli.output import check_figure, print_json
    from sidelight.report.explanations import what_rules_changed

    if figure:
        check_figure(figure, model, data)
    learner = load_model(model)
    sequences = Reader(format, label_column, columns, comment).read(data, labels=labeled or label_column is not None)
    if not -len(sequences.X) <= sequence < len(sequences.X):
        raise DataError(f"there is no sequence {sequence}; the input has {len(sequences.X)}, counted from 0")
    tokens, gold = sequences.X[sequence], sequences.y[sequence]
    labels = learner.predict([tokens])[0]
    where = _least_certain(learner, tokens, labels) if position is None else position
    explanation = learner.explain(tokens, where, top=top)
    change = what_rules_changed(learner, tokens, labels)
    if figure:
        from sidelight.report.figures import draw_posteriors

        draw_posteriors(learner, tokens, figure, gold=gold if isinstance(gold, list) else None)
    if json:
        print_json({"tokens": tokens, "labels": labels, "explanation": explanation, "rules": change})
        return
    from sidelight.report.console import results
    from sidelight.report.explanation_pages import explanation_page

    results().print(explanation_page(explanation, tokens, labels, gold, change))


def _least_certain(learner: Any, tokens: Any, labels: list[str]) -> int:
    """The token whose label is least probable, were there no rules."""
    table = learner.without_rules().predict_marginals([tokens])[0]
    number = {label: k for k, label in enumerate(learner.classes_)}
    return min(range(len(labels)), key=lambda t: float(table[t, number[labels[t]]]))
