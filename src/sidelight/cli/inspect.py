"""`sidelight inspect`."""

from typing import Annotated, Any

import typer

from sidelight.cli.options import JsonOption, ModelArgument
from sidelight.errors import DataError

NAME = "inspect"
EXAMPLES = (
    "sidelight inspect fields.model",
    "sidelight inspect fields.model --label author --top 30",
    "sidelight inspect fields.model --transitions",
)


def command(
    model: ModelArgument,
    top: Annotated[int, typer.Option(metavar="N", min=0, help="How many weights to show.")] = 20,
    label: Annotated[str | None, typer.Option(help="Show only the weights of this label.")] = None,
    transitions: Annotated[bool, typer.Option("--transitions", help="Also show how labels follow each other.")] = False,
    json: JsonOption = False,
) -> None:
    """Show what a model file holds: learner, parameters, labels, the strongest weights."""
    from sidelight.cli.loading import load_model
    from sidelight.cli.output import print_json
    from sidelight.report.summary import summarize_model
    from sidelight.report.weights import strongest_weights, transition_scores

    learner = load_model(model)
    if label is not None and label not in learner.classes_:
        raise DataError(f"the model has no label {label!r}; it has {', '.join(learner.classes_)}")
    summary = summarize_model(learner, model)
    weights = strongest_weights(learner, top, label)
    table = transition_scores(learner) if transitions else None
    if json:
        print_json({"model": summary, "weights": weights, **({"transitions": table} if table else {})})
        return
    from sidelight.report.console import results
    from sidelight.report.tables import model_table, page, transitions_table, weights_table

    console = results()
    parts: list[Any] = [model_table(summary)]
    parts += [weights_table(weights)] if weights else []
    parts += [transitions_table(table, console.width)] if table else []
    console.print(page(*parts))
