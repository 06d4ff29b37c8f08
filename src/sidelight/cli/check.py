"""`sidelight check`."""

import sys
from typing import Annotated, Any

import typer

from sidelight.cli.options import (
    ColumnsOption,
    CommentOption,
    FormatOption,
    JobsOption,
    JsonOption,
    LabelColumnOption,
    WithoutRulesOption,
)
from sidelight.cli.reading import Reader

NAME = "check"
EXAMPLES = (
    "sidelight check rules.toml train.tsv",
    "sidelight check rules.toml dev.tsv --model fields.model --examples 3",
    "sidelight check rules.toml new.txt --model fields.model --no-labels",
)


def command(
    rules: Annotated[str, typer.Argument(metavar="RULES", help="TOML file of rules.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="Labelled sequences; - is standard input.")],
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="MODEL", help="Also check what this model predicts.")
    ] = None,
    examples: Annotated[int, typer.Option(metavar="N", min=0, help="Sequences to show for each rule.")] = 1,
    without_rules: WithoutRulesOption = False,
    no_labels: Annotated[
        bool,
        typer.Option(
            "--no-labels", help="The data has no labels; only with --model.", rich_help_panel="How the data is read"
        ),
    ] = False,
    format: FormatOption = None,
    label_column: LabelColumnOption = None,
    columns: ColumnsOption = None,
    comment: CommentOption = None,
    jobs: JobsOption = None,
    json: JsonOption = False,
) -> None:
    """Count how often labelled sequences, and a model's predictions, violate rules.

    Examples are the sequences that violate a rule most, with »marks« where they do.
    """
    from sidelight.cli.loading import load_model
    from sidelight.cli.output import print_json
    from sidelight.report.rules import check_data
    from sidelight.rules.files import read_rules

    if model is None and (no_labels or without_rules):
        raise typer.BadParameter("this needs --model", param_hint="--no-labels" if no_labels else "--without-rules")
    found = read_rules(rules)
    learner = None if model is None else load_model(model, jobs, rules=not without_rules)
    sequences = Reader(format, label_column, columns, comment).read(data, labels=not no_labels)
    predicted = None if learner is None else learner.predict(sequences.X)
    gold = [None] * len(sequences.X) if no_labels else sequences.y
    _suspect_labels(found, gold, predicted, learner)
    checked = check_data(found, sequences.X, gold, predicted, examples=examples)
    if json:
        print_json({"sequences": len(sequences.X), "rules": checked})
        return
    from sidelight.report.console import results
    from sidelight.report.rule_tables import check_page

    results().print(check_page(checked, len(sequences.X)))


def _suspect_labels(rules: Any, gold: Any, predicted: Any, learner: Any) -> None:
    """A label that occurs nowhere may be misspelt."""
    from sidelight.report.rules import labels_unused

    known = [] if learner is None else [learner.classes_]
    for label, titles in labels_unused(rules, gold, predicted or [], known).items():
        print(f"note: no token has the label {label!r} of the rule {titles[0]!r}", file=sys.stderr)
