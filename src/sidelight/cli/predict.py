"""`sidelight predict`."""

import os
from typing import Annotated, Any

import typer

from sidelight.cli.options import (
    ColumnsOption,
    CommentOption,
    FormatName,
    FormatOption,
    JobsOption,
    LabelColumnOption,
    ModelArgument,
    WithoutRulesOption,
    WorkersOption,
)
from sidelight.cli.reading import Reader, Sequences, reader_for
from sidelight.errors import DataError

NAME = "predict"
EXAMPLES = (
    "sidelight predict fields.model new.txt -f text -o new.tsv",
    "sidelight predict fields.model new.txt -f tokens --json",
    'echo "M. Kay. On parsing. 1991." | sidelight predict fields.model -f text',
    "sidelight predict chunks.model test.txt --labeled --kbest 5 -o best.jsonl",
    "sidelight predict parser.model new.conllu -o parsed.conllu --marginals",
    "sidelight predict parser.model new.conllu -o best.jsonl --kbest 5",
)


def command(
    model: ModelArgument,
    data: Annotated[str, typer.Argument(metavar="INPUT", help="Sequences to label; - is standard input.")] = "-",
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="File to write to; - is standard output.")
    ] = "-",
    json: Annotated[bool, typer.Option("--json", help="Write JSON lines; short for --output-format jsonl.")] = False,
    output_format: Annotated[
        FormatName | None,
        typer.Option(help="By default that of the output's name, else that of the input (columns for text)."),
    ] = None,
    marginals: Annotated[
        bool,
        typer.Option(
            "--marginals",
            help="Add probabilities: of the label as a last column (of the head in MISC), or of all labels, heads or "
            "links in jsonl (not calibrated for the perceptron).",
        ),
    ] = False,
    kbest: Annotated[
        int | None,
        typer.Option(metavar="K", min=1, help="Add the K best outputs of each input; needs jsonl output."),
    ] = None,
    without_rules: WithoutRulesOption = False,
    labeled: Annotated[
        bool,
        typer.Option(
            "--labeled",
            help="The input has labels in the last column (or --label-column), which are replaced (columns, tsv).",
            rich_help_panel="How the data is read",
        ),
    ] = False,
    format: FormatOption = None,
    label_column: LabelColumnOption = None,
    columns: ColumnsOption = None,
    comment: CommentOption = None,
    jobs: JobsOption = None,
    workers: WorkersOption = None,
) -> None:
    """Label sequences with a model.

    Every token keeps its columns and gets the predicted label: in the column where the input has one, else as the last.
    CoNLL-U output holds tokens and labels only: comments, other columns and multiword ranges are not copied.

    Labels in jsonl and conllu input are ignored; columns and tsv need --labeled, or --columns with one called label.

    Text (--format text) is cut into words and punctuation marks; --format tokens cuts it at spaces only.

    A model of trees or links writes the file that it reads, with heads or links filled in and everything else kept;
    trees may also be written as jsonl, which holds words and trees only.
    """
    from sidelight.cli import answers
    from sidelight.cli.loading import load_model
    from sidelight.cli.output import check_writable
    from sidelight.cli.structured import write_answers, written_format

    if json:
        if output_format not in (None, "jsonl"):
            raise typer.BadParameter(f"{output_format} output is no JSON; leave one out", param_hint="--json")
        output_format = FormatName("jsonl")
    check_writable(output, data, model)
    learner = load_model(model, jobs, rules=not without_rules)
    reader = Reader(format, label_column, columns, comment)
    if learner.task_.kind != "labels":
        target = written_format(learner.task_, output, output_format, kbest)
        found = reader_for(learner.task_, reader).read(data, labels=False)
        write_answers(
            answers.ask(learner, found.X, marginals=marginals, kbest=kbest), learner.task_, found.kept, output, target
        )
        return
    sequences = reader.read(data, labels=labeled or reader.names_label)
    target = _output_format(output, output_format, sequences.format, kbest)
    _suspect_labels(learner, sequences)
    answer = answers.ask(learner, sequences.X, marginals=marginals, kbest=kbest)
    if target == "jsonl":
        answers.write_jsonl(answer, output)
    elif target == "conllu":
        names = reader.conllu_columns if sequences.format == "conllu" else ("form",)
        answers.write_conllu(answer, output, names, reader.conllu_label)
    else:
        answers.write_columns(answer, output, target, sequences.kept)


def _suspect_labels(learner: Any, sequences: Sequences) -> None:
    """One column too many is most likely the label."""
    from sidelight.report.models import inner_models

    if sequences.format not in ("columns", "tsv"):
        return
    first = sequences.X[0][0]
    found = 1 if isinstance(first, str) else len(first)
    inner = next(iter(inner_models(learner).values()))
    expected = getattr(inner.encoder_, "width_", None)
    if expected is None and found > 1:  # it reads some of the columns, however many there are
        known = set(learner.classes_)
        if all(token[-1] in known for x in sequences.X for token in x):
            raise DataError("the last column has labels of the model only; if it is the label, say --labeled")
    if expected is not None and found == expected + 1:
        raise DataError(
            f"the model was trained on tokens of {expected} column{'s' * (expected > 1)}, these have {found}; "
            "if the last is the label, say --labeled; --columns says which others to leave out"
        )


def _output_format(output: str, chosen: FormatName | None, given: str, kbest: int | None) -> str:
    from sidelight.data.formats import EXTENSIONS

    name = str(chosen) if chosen else EXTENSIONS.get(os.path.splitext(output)[1].lower())
    if name is None:
        name = "jsonl" if kbest else {"text": "columns", "tokens": "columns"}.get(given, given)
    if name in ("text", "tokens"):
        raise typer.BadParameter("plain text has no place for labels", param_hint="--output-format")
    if kbest and name != "jsonl":
        raise typer.BadParameter(f"several label sequences need jsonl output, not {name}", param_hint="--kbest")
    return name
