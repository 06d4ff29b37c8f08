"""Columns of offsets and ids, which a fit refuses: the option that leaves them out."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sidelight.cli.reading import CORPUS, Reader, Sequences
from sidelight.data.formats import FORMATS
from sidelight.errors import DataError


@contextmanager
def naming_columns(reader: Reader, path: str, sequences: Sequences) -> Iterator[None]:
    """Add to the error of a fit about columns of offsets or ids the option that leaves them out."""
    from sidelight.features.choose import CountingColumns

    try:
        yield
    except CountingColumns as error:
        if sequences.format == CORPUS:
            advice = "leave them out with `sidelight encode --columns`"
        elif "columns" in FORMATS[sequences.format].options:
            advice = f"leave them out with --columns {_without(reader, error.columns, sequences)}"
        else:
            advice = "leave them out"
        raise DataError(f"{path}: {error.what}; {advice}, or say which columns to read with -t") from None


def _without(reader: Reader, columns: Sequence[int], sequences: Sequences) -> str:
    """Return the value of --columns that leaves columns of tokens out."""
    from sidelight.data.columns import LABEL, LEFT_OUT

    if sequences.format == "conllu":
        return ",".join(name for k, name in enumerate(reader.conllu_columns) if k not in columns)
    width = len(sequences.X[0][0])
    if reader.columns is not None and 0 not in columns:
        names = reader.columns.split(",")
        for k in columns:
            names[reader.named.token[k]] = LEFT_OUT
        return ",".join(names)
    fresh = iter(["word", "pos", *(f"column{k}" for k in range(2, width))])
    kept = [LEFT_OUT if k in columns else next(fresh) for k in range(width)]
    if reader.columns is None:
        place = reader.label_number()
        kept.insert(place if place >= 0 else width + 1 + place, LABEL)
        return ",".join(kept)
    names = [LABEL if name == LABEL else LEFT_OUT for name in reader.columns.split(",")]
    for k, name in enumerate(kept):
        names[reader.named.token[k]] = name
    return ",".join(names)
