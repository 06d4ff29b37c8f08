"""`sidelight encode`."""

import os
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from sidelight.cli.options import ColumnsOption, CommentOption, FormatOption, JsonOption, LabelColumnOption
from sidelight.cli.reading import Reader

NAME = "encode"
EXAMPLES = (
    "sidelight encode train.tsv -o train.sl",
    "sidelight encode train.tsv dev.tsv -o both.sl",
    "sidelight encode more.txt -f text -o pages.sl",
    "sidelight train train.sl -o fields.model --learner hmm --unlabeled pages.sl",
)


def command(
    data: Annotated[list[str], typer.Argument(metavar="FILE...", help="Sequences; - is standard input.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Corpus to write, such as words.sl.")],
    unlabeled: Annotated[
        bool, typer.Option("--unlabeled", help="The files have no labels (columns, tsv), or these are left out.")
    ] = False,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="The label ? is unknown, and A|B is one of these."),
    ] = False,
    format: FormatOption = None,
    label_column: LabelColumnOption = None,
    columns: ColumnsOption = None,
    comment: CommentOption = None,
    json: JsonOption = False,
) -> None:
    """Write sequences to a corpus: a file on disk to learn from when data are larger than memory.

    Files are read some sequences after the other, in memory for their distinct words. Tokens are strings or columns;
    feature objects have no place in a corpus. Sequences without tokens are left out.
    """
    from sidelight.cli.output import check_writable, print_json
    from sidelight.data.corpus import read_corpus
    from sidelight.data.corpus_file import write_corpus
    from sidelight.data.formats import guess_format

    if output == "-":
        raise typer.BadParameter("a corpus goes to a file; standard output has the summary", param_hint="--output")
    check_writable(output, *data)
    reader = Reader(format, label_column, columns, comment, partial)
    layout = None if unlabeled else reader.layout(str(format or guess_format(data[0])))
    write_corpus(output, _sequences(reader, data, unlabeled=unlabeled), layout=layout)
    corpus = read_corpus(output)
    found: dict[str, Any] = {
        "path": output,
        "bytes": os.path.getsize(output),
        "sequences": len(corpus),
        "tokens": corpus.tokens,
        "columns": corpus.columns,
        "strings": [len(some) for some in corpus.file.strings],
        "labels": sorted({name for one in corpus.file.entries for name in ([one] if isinstance(one, str) else one)}),
    }
    if json:
        print_json(found)
    else:
        shown = ", ".join(found["labels"]) or "none"
        typer.echo(
            f"{output}: {len(corpus):,} sequences, {corpus.tokens:,} tokens of {corpus.columns} "
            f"column{'s' * (corpus.columns > 1)}, labels: {shown}, {found['bytes'] / 1e6:,.1f} MB"
        )


def _sequences(reader: Reader, paths: list[str], *, unlabeled: bool) -> Iterator[tuple[Any, Any]]:
    """All sequences of the files, with what is known of them."""
    for path in paths:
        for block in reader.blocks(path, labels=not unlabeled and reader.may_have_labels(path)):
            yield from ((x, None if unlabeled else known) for x, known in zip(block.X, block.y, strict=True))
