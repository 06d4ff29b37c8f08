"""`sidelight templates`, and feature templates from the command line and from files."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import Annotated

import typer

from sidelight.cli.options import (
    ColumnsOption,
    CommentOption,
    FormatOption,
    JsonOption,
    LabelColumnOption,
)
from sidelight.cli.parameters import make_task
from sidelight.cli.reading import Reader, reader_for
from sidelight.data.source import STANDARD_STREAM, read_lines
from sidelight.errors import DataError

NAME = "templates"
EXAMPLES = (
    "sidelight templates train.txt -o found.txt",
    'sidelight templates train.txt -t word -t "word[-1]" -t pos -t "pos[-1]" --max-templates 10',
    "sidelight templates trees.conllu --task parsing -o arcs.txt",
    "sidelight train train.txt -o chunks.model --learner perceptron --templates found.txt",
)
# The text that stands for the default templates.
DEFAULT = "default"


class CriterionName(StrEnum):
    """How the tree chooses a feature."""

    gain_ratio = "gain_ratio"
    gain = "gain"


class FactorsName(StrEnum):
    """What is learned."""

    labelling = "labelling"
    parsing = "parsing"


def command(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Labelled sequences, or trees; - is standard input.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="File to write the templates to.")
    ] = STANDARD_STREAM,
    task: Annotated[
        FactorsName, typer.Option(help="What the templates are for: labels of tokens, or heads of words (CoNLL-U).")
    ] = FactorsName.labelling,
    template: Annotated[
        list[str] | None,
        typer.Option(
            "--template",
            "-t",
            metavar="FEATURE",
            help='A feature to join, such as "word\\[-1]" or "word.suffix(3)", of arcs hw, ct+1, way or between; may '
            "be repeated.",
        ),
    ] = None,
    templates: Annotated[
        str | None, typer.Option(metavar="FILE", help="File of features to join, one a line; # starts a comment line.")
    ] = None,
    criterion: Annotated[
        CriterionName, typer.Option(help="How the decision tree chooses a feature.")
    ] = CriterionName.gain_ratio,
    max_length: Annotated[int, typer.Option(metavar="N", help="Most features of a template.")] = 6,
    min_rows: Annotated[int, typer.Option(metavar="N", help="Fewest rows of a branch of the tree.")] = 20,
    max_templates: Annotated[
        int | None, typer.Option(metavar="N", help="Most templates (20; of arcs 60), those to join not counted.")
    ] = None,
    basic: Annotated[bool, typer.Option(help="Whether the features to join are templates, too.")] = True,
    format: FormatOption = None,
    label_column: LabelColumnOption = None,
    columns: ColumnsOption = None,
    comment: CommentOption = None,
    json: JsonOption = False,
) -> None:
    """Find conjunctions of features that predict the labels well, with a decision tree, and write them as templates.

    `sidelight train --templates FILE` learns with them.
    """
    from sidelight.cli.output import check_writable, print_json
    from sidelight.features.induced import InducedTemplates

    parsing = task is FactorsName.parsing
    what = make_task("parsing", [])[0] if parsing else None
    options = Reader(format, label_column, columns, comment)
    names = () if parsing else options.column_names(data)
    given = read_templates(
        template or [], templates, (lambda text: [text]) if parsing else partial(parse_template, names=names)
    )
    check_writable(output, data, templates)
    reader = reader_for(what, options)
    sequences = reader.read(data, labels=True)
    found = InducedTemplates(
        given,
        factors="arcs" if parsing else "tokens",
        criterion=criterion.value,
        max_length=max_length,
        min_rows=min_rows,
        max_templates=max_templates or (60 if parsing else 20),
        keep_basic=basic,
    ).fit(sequences.X, sequences.y)
    if json:
        rows = [{"template": text, "rows": path.rows, "bits": path.bits} for text, path in found.paths_.items()]
        print_json({"templates": rows, "questions": len(found.tree_.rows)})
    if not json or output != STANDARD_STREAM:
        found.save(output)


def parse_template(text: str, names: Sequence[str] = ()) -> list[str]:
    """Read a template of tokens, and write it without names that are given to columns here."""
    from sidelight.features.columns import parse

    return [repr(parse(text, names))]


def parse_features(text: str, names: Sequence[str] = ()) -> list[str]:
    """Read a template of tokens; `default` is all default templates."""
    from sidelight.features.choose import DEFAULT_TEMPLATES, OTHER_COLUMNS

    if text == DEFAULT:
        return list(DEFAULT_TEMPLATES)
    return [text] if text == OTHER_COLUMNS else parse_template(text, names)


def parse_arc_template(text: str) -> list[str]:
    """Read a template of arcs."""
    from sidelight.features.arcs import read_templates

    read_templates([text])
    return [text]


def read_templates(
    given: list[str], file: str | None, parse: Callable[[str], list[str]] = parse_template
) -> list[str] | None:
    """The templates given one by one and those of a file, one a line; None if there are neither.

    parse: what returns the templates of a text as they are to be kept, and raises `DataError` for a text of none.
    """
    found = [one for text in given for one in parse(text)]
    if file is None:
        return found or None
    lines = read_lines(file)
    for number, line in enumerate(lines.lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            found += parse(text)
        except DataError as error:
            raise lines.error(number, str(error)) from None
    if not found:
        raise DataError(f"{file}: there are no templates in it; write one a line, such as word[-1] & word")
    return found
