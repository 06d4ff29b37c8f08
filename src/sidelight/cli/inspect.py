"""`sidelight inspect`."""

from typing import Annotated, Any

import typer

from sidelight.cli.options import JsonOption, ModelArgument
from sidelight.errors import DataError

NAME = "inspect"
EXAMPLES = (
    "sidelight inspect fields.model",
    "sidelight inspect fields.model --label author --top 30",
)


def command(
    model: ModelArgument,
    top: Annotated[int, typer.Option(metavar="N", min=0, help="How many weights to show.")] = 20,
    label: Annotated[str | None, typer.Option(help="Show only the weights of this label.")] = None,
    json: JsonOption = False,
) -> None:
    """Show what a model file holds: learner, parameters, labels, rules, the strongest weights, those of label pairs.

    A model learned from unlabelled data too has weights from each.
    """
    from sidelight.cli.loading import load_whole, prepare_model
    from sidelight.cli.output import print_json
    from sidelight.report.models import inner_models
    from sidelight.report.summary import summarize_model
    from sidelight.report.weights import strongest_weights, transition_scores

    whole = load_whole(model)
    learner = prepare_model(whole)
    if label is not None and label not in learner.model_.classes:
        raise DataError(f"the model has no label {label!r}; it has {', '.join(learner.model_.classes)}")
    summary = summarize_model(whole, model)
    weights = {source: strongest_weights(inner, top, label) for source, inner in inner_models(learner).items()}
    table = transition_scores(learner)
    if json:
        first, *others = weights.values()
        shown = {"model": summary, "weights": first, "unlabeled_weights": others[0] if others else None}
        print_json({**shown, **({"transitions": table} if table else {})})
        return
    from sidelight.report.console import results
    from sidelight.report.rule_tables import rules_table
    from sidelight.report.tables import choice_table, model_table, page, transitions_table, weights_table

    console = results()
    parts: list[Any] = [model_table(summary)]
    parts += [choice_table(summary.choice)] if summary.choice else []
    parts += [rules_table(summary.rules, summary.task)] if summary.rules else []
    parts += [weights_table(found, source) for source, found in weights.items() if found]
    parts += [transitions_table(table, console.width)] if table else []
    console.print(page(*parts))
