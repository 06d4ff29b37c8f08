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
from sidelight.cli.reading import Reader, reader_for
from sidelight.errors import DataError

NAME = "explain"
EXAMPLES = (
    "sidelight explain fields.model dev.tsv --labeled --sequence 3 --position 7",
    "sidelight explain fields.model dev.tsv --labeled --sequence 3 --figure posteriors.png",
    'echo "M. Kay. On parsing. 1991." | sidelight explain fields.model - -f text',
    "sidelight explain parser.model dev.conllu --sequence 3 --position 7 --figure tree.svg",
    "sidelight explain parser.model dev.conllu --sequence 3 --arcs 0.25 --figure arcs.svg",
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
            help="Draw the probabilities of all labels of the sequence, before and after the rules (.png, .pdf, .svg), "
            "or the tree or links (.svg).",
        ),
    ] = None,
    arcs: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0.0,
            max=1.0,
            show_default=False,
            help="Of a tree, show and draw all arcs that are at least this probable, not only those of the best tree.",
        ),
    ] = None,
    labeled: Annotated[
        bool,
        typer.Option(
            "--labeled",
            help="The input has a label column (columns, tsv), heads or links, which are compared with what the model "
            "says.",
            rich_help_panel="How the data is read",
        ),
    ] = False,
    format: FormatOption = None,
    label_column: LabelColumnOption = None,
    columns: ColumnsOption = None,
    comment: CommentOption = None,
    json: JsonOption = False,
) -> None:
    """Show why one token got its label, head or link rather than the next most probable one.

    Of a model with rules, these are among the evidence, and it shows what the labels would be without them.
    """
    from sidelight.cli.loading import load_model
    from sidelight.cli.output import check_figure, print_json
    from sidelight.report.explanations import what_rules_changed

    if figure and not figure.lower().endswith(".svg"):  # other figures are checked when the model is there
        check_figure(figure, model, data)
    learner = load_model(model)
    labels_only = learner.task_.kind == "labels"
    if figure:
        check_figure(figure, model, data, svg=not labels_only)
    if arcs is not None and learner.task_.kind != "trees":
        raise typer.BadParameter(f"a model of {learner.task_.kind} has no arcs; a parser has", param_hint="--arcs")
    options = Reader(format, label_column, columns, comment).remembering(learner, data)
    reader = reader_for(learner.task_.for_comparing(), options)
    sequences = reader.read(data, labels=labeled or options.names_label)
    if not -len(sequences.X) <= sequence < len(sequences.X):
        noun = learner.task_.noun
        raise DataError(f"there is no {noun} {sequence}; the input has {len(sequences.X)}, counted from 0")
    tokens, gold = sequences.X[sequence], sequences.y[sequence]
    labels = learner.predict_structure([tokens])[0]
    where = learner.least_certain(tokens) if position is None else position
    explanation = learner.explain(tokens, where, top=top)
    change = what_rules_changed(learner, tokens, labels)
    known = gold if isinstance(gold, list) else None
    if figure and labels_only:
        from sidelight.report.figures import draw_posteriors

        draw_posteriors(learner, tokens, figure, gold=known)
    if not labels_only:
        _show_structure(learner, tokens, labels, known, explanation, change, figure, arcs, json)
        return
    if json:
        print_json({"tokens": tokens, "labels": labels, "explanation": explanation, "rules": change})
        return
    from sidelight.report.console import results
    from sidelight.report.explanation_pages import explanation_page

    results().print(explanation_page(explanation, tokens, labels, gold, change))


def _show_structure(
    learner: Any,
    x: Any,
    y: Any,
    gold: Any,
    explanation: Any,
    change: Any,
    figure: str | None,
    arcs: float | None,
    json: bool,
) -> None:
    """Show a tree or links, and draw them."""
    from sidelight.cli.output import print_json
    from sidelight.report.console import results
    from sidelight.report.explanation_pages import structure_page
    from sidelight.report.outputs import outputs_of

    shown, chances = outputs_of(learner.task_), learner.certainty(x)

    def draw(path: str | None) -> str | None:
        if arcs is None:
            return shown.draw(x, y, path, chances=chances, gold=gold)
        from sidelight.report.arc_posteriors import draw_arc_posteriors

        heads = None if gold is None else [one[0] if isinstance(one, tuple) else one for one in gold]
        return draw_arc_posteriors(x, {"": learner.predict_marginals([x])[0]}, path, gold=heads, threshold=arcs)

    if figure:
        draw(figure)
    if json:
        print_json({"input": x, "output": y, "explanation": explanation, "rules": change})
        return
    text = draw(None) or ""
    if learner.judges:
        value = float(learner.decision_function([x])[0])
        text += f"\n\n{'good' if value > 0 else 'bad'}, by a score of {value:+.3f}"
    results().print(structure_page(explanation, x, text, change, shown))
