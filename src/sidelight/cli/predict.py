"""`sidelight predict`."""

import os
import sys
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
from sidelight.cli.reading import CORPUS, Reader, Sequences, expected_blocks, reader_for
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
    Where the model remembers --columns from training, files may have all of these or all but the label.

    Text (--format text) is cut into words and punctuation marks; --format tokens cuts it at spaces only.

    Input of any length is read, labelled and written some sequences after the other, in constant memory.

    A model of trees or links writes the file that it reads, with heads or links filled in and everything else kept;
    trees may also be written as jsonl, which holds words and trees only.
    """
    from sidelight.cli import answers
    from sidelight.cli.loading import load_model
    from sidelight.cli.output import check_writable
    from sidelight.cli.structured import write_answers, written_format
    from sidelight.data.source import open_for_writing
    from sidelight.learners.inputs import numbers_among_all
    from sidelight.progress import progress

    if json:
        if output_format not in (None, "jsonl"):
            raise typer.BadParameter(f"{output_format} output is no JSON; leave one out", param_hint="--json")
        output_format = FormatName("jsonl")
    check_writable(output, data, model)
    learner = load_model(model, jobs, rules=not without_rules)
    reader = Reader(format, label_column, columns, comment).remembering(learner, data)
    task = learner.task_
    source = reader_for(task, reader)
    with_labels = task.kind == "labels" and (labeled or reader.names_label)
    blocks = (
        source.blocks(data, labels=with_labels) if learner.predicts_apart else [source.read(data, labels=with_labels)]
    )
    if task.kind != "labels":
        target = written_format(task, output, output_format, kbest)
    first = 0
    shown = sys.stderr.isatty() and not (output == "-" and sys.stdout.isatty())
    with open_for_writing(output) as file, progress("predict", expected_blocks(data), shown) as tell:
        for number, block in enumerate(blocks, start=1):
            if task.kind == "labels" and not first:
                target = _output_format(output, output_format, block.format, kbest)
                _suspect_labels(learner, block)
            with numbers_among_all(range(first, first + len(block.X)), task.noun):
                answer = answers.ask(learner, block.X, marginals=marginals, kbest=kbest)
                if task.kind != "labels":
                    write_answers(answer, task, block.kept, file, target)
                else:
                    _write(answer, target, block, reader, file)
            first += len(block.X)
            tell(number, f"{first:,} {task.noun}s")


def _write(answer: Any, target: str, block: Sequences, reader: Reader, file: Any) -> None:
    """Write some more labelled sequences."""
    from sidelight.cli import answers
    from sidelight.data import FORMATS

    if target == "jsonl":
        answers.write_jsonl(answer, file)
    elif target == "conllu":
        names = reader.conllu_columns if block.format == "conllu" else ("form",)
        answers.write_conllu(answer, file, names, reader.conllu_label)
    elif FORMATS[target].columnar:
        answers.write_columns(answer, file, target, block.kept)
    else:
        answers.write_labels(answer, file, target)


def _suspect_labels(learner: Any, sequences: Sequences) -> None:
    """One column too many is most likely the label."""
    from sidelight.data import FORMATS
    from sidelight.report.models import inner_models

    if sequences.format == CORPUS or not FORMATS[sequences.format].columnar:
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
    from sidelight.data.formats import EXTENSIONS, FORMATS

    name = str(chosen) if chosen else EXTENSIONS.get(os.path.splitext(output)[1].lower())
    if name is None:
        name = "jsonl" if kbest else "columns" if given == CORPUS or not FORMATS[given].labelled else given
    if not FORMATS[name].labelled:
        raise typer.BadParameter("plain text has no place for labels", param_hint="--output-format")
    if kbest and name != "jsonl":
        raise typer.BadParameter(f"several label sequences need jsonl output, not {name}", param_hint="--kbest")
    return name
