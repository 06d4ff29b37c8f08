"""`sidelight parse`."""

import time
from typing import Annotated

import typer

from sidelight.cli.options import ColumnsOption, JobsOption, ModelArgument, WithoutRulesOption
from sidelight.cli.reading import Reader, reader_for
from sidelight.errors import DataError

NAME = "parse"
EXAMPLES = (
    "sidelight parse parser.model new.conllu -o parsed.conllu",
    "cat tagged.conllu | sidelight parse parser.model > parsed.conllu",
)


def command(
    model: ModelArgument,
    data: Annotated[str, typer.Argument(metavar="INPUT", help="CoNLL-U with tags; - is standard input.")] = "-",
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="File to write to; - is standard output.")
    ] = "-",
    without_rules: WithoutRulesOption = False,
    columns: ColumnsOption = None,
    jobs: JobsOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not say how long it took.")] = False,
) -> None:
    """Parse the sentences of a CoNLL-U file.

    HEAD and DEPREL are filled in. Everything else is kept: comments, other columns, multiword ranges and empty nodes.
    The model is one of `sidelight train --task parsing`.
    """
    from sidelight.cli.loading import load_model
    from sidelight.cli.output import check_writable, note
    from sidelight.report.outputs import parse

    check_writable(output, data, model)
    learner = load_model(model, jobs, rules=not without_rules)
    if learner.task_.kind != "trees":
        raise DataError(f"{model}: {type(learner.task_).__name__} does not parse; use sidelight predict")
    begin = time.perf_counter()
    found = reader_for(learner.task_, Reader(columns=columns).remembering(learner, data)).read(data, labels=False)
    if not quiet and all(isinstance(token, tuple) and token[1] == "_" for x in found.X for token in x):
        note("no word has a tag, which the parser relies on; tag the words first")
    found.kept.write(output, parse(learner, found.X), labelled=learner.task_.has_labels)
    words = sum(map(len, found.X))
    seconds = time.perf_counter() - begin
    if not quiet:
        note(f"{words:,} words in {seconds:.1f} s, files included")
