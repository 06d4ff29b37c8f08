"""`sidelight check`."""

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
from sidelight.cli.parameters import TaskName, named_task
from sidelight.cli.reading import Reader, reader_for
from sidelight.cli.settings import read_settings

NAME = "check"
EXAMPLES = (
    "sidelight check rules.toml train.tsv",
    "sidelight check rules.toml dev.tsv --model fields.model --examples 3",
    "sidelight check rules.toml new.txt --model fields.model --no-labels",
    "sidelight check arcs.toml trees.conllu --task parsing --set task.labelled=true",
)


def command(
    rules: Annotated[str, typer.Argument(metavar="RULES", help="TOML file of rules, or one rule, such as 'bio()'.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="Labelled sequences; - is standard input.")],
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="MODEL", help="Also check what this model predicts.")
    ] = None,
    task: Annotated[
        TaskName | None,
        typer.Option(help="What the data has where it is no labels; by default what the model predicts."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A parameter of the task, such as task.labelled=true; may be repeated."
        ),
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
    """Count how often labelled sequences, trees or links, and a model's predictions, violate rules.

    Examples are the inputs that violate a rule most, with »marks« where they do.
    """
    from sidelight.cli.loading import load_model
    from sidelight.cli.output import note, print_json
    from sidelight.inference.checking import about_nothing_text, rules_about_nothing
    from sidelight.report.rules import check_data
    from sidelight.rules.files import given_rules

    if model is None and (no_labels or without_rules):
        raise typer.BadParameter("this needs --model", param_hint="--no-labels" if no_labels else "--without-rules")
    found = given_rules(rules)
    learner = None if model is None else load_model(model, jobs, rules=not without_rules)
    what = _task(task, settings or [], learner)
    options = Reader(format, label_column, columns, comment)
    reader = reader_for(what, options if learner is None else options.remembering(learner, data))
    sequences = reader.read(data, labels=not no_labels)
    predicted = None if learner is None else learner.predict_structure(sequences.X)
    gold = [None] * len(sequences.X) if no_labels else sequences.y
    _suspect_labels(found, [_labels(what, sequences.X, y) for y in (gold, predicted or [])], learner, what)
    checked = check_data(found, sequences.X, gold, predicted, examples=examples, task=what)
    if any(one.gold is not None for one in checked):
        for rule in rules_about_nothing(found, sequences.X, gold, what):
            note(about_nothing_text(rule.title))
    if json:
        print_json({"sequences": len(sequences.X), "rules": checked})
        return
    from sidelight.report.console import results
    from sidelight.report.rule_tables import check_page

    results().print(check_page(checked, len(sequences.X), what))


def _task(name: str | None, settings: list[str], learner: Any) -> Any:
    """What the data has: the task that is named, that of the model, or labels."""
    if name is not None and learner is not None:
        raise typer.BadParameter("the model says what it predicts", param_hint="--task")
    chosen = named_task(name, read_settings(settings))
    return chosen if learner is None else learner.task_.for_comparing()


def _labels(task: Any, X: list[Any], y: list[Any]) -> list[str]:
    found: list[str] = task.labels(task.read(y, task.sizes(X))) if y else []
    return found


def _suspect_labels(rules: Any, labels: list[list[str]], learner: Any, task: Any) -> None:
    """A label that occurs nowhere may be misspelt, and labels may not suit a rule."""
    from sidelight.cli.output import note
    from sidelight.inference.checking import labels_unused, unused_labels
    from sidelight.rules.automata import labels_named, require_rule_tables

    known = labels if learner is None else [*labels, learner.model_.classes]
    names = sorted({label for y in known for label in y})
    if task is None or task.of_labels:
        require_rule_tables(rules, sorted({*names, *labels_named(rules, names)}))
    for title, unused in labels_unused(rules, names):
        note(unused_labels(unused, title, names))
    for rule in rules:
        complaint = rule.complaint(names)
        if complaint:
            note(f"the rule {rule.title!r} {complaint}")
