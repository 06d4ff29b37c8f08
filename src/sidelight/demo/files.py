"""Files to try the commands on: generated references, labelled and not, and rules about them."""

from pathlib import Path

from ..data.columns import write_columns
from ..data.source import open_for_writing
from ..data.text import write_text
from ..errors import DataError
from .references import generate_references

RULES = """\
[[rule]]
rule = "starts_with('author')"

[[rule]]
name = "each field once"
rule = "once_each()"

[[rule]]
rule = "changes_only_after(punctuation)"

[[rule]]
rule = "count('title') >= 1"

[[rule]]
name = "page numbers"
rule = "where(word.matches('^[0-9]+-[0-9]+$')).label('pages')"

[[rule]]
name = "year"
rule = "where(word.matches('^(19|20)[0-9][0-9]$')).label('date')"

[[rule]]
name = "meeting"
rule = "where(word.lower().isin('proc', 'conference', 'workshop')).label('booktitle')"

[[rule]]
name = "journal"
rule = "where(word.lower().isin('journal', 'transactions')).label('journal')"
"""

# References of each file: the first are labelled, the others are not.
_FEW, _TRAIN, _DEV, _MORE, _NEW = 20, 100, 100, 200, 10


def write_files(folder: str, *, seed: int = 1) -> list[str]:
    """Write few.tsv (the first of train.tsv), train.tsv, dev.tsv, more.txt (one token a line), new.txt (text),
    and rules.toml into a folder that has none of them, and return their names.
    """
    place = Path(folder)
    if not place.is_dir():
        raise DataError(f"{folder}: there is no such folder; make it first")
    names = ["few.tsv", "train.tsv", "dev.tsv", "more.txt", "new.txt", "rules.toml"]
    for name in names:
        if (place / name).exists():
            raise DataError(f"{place / name}: this file exists already; choose another folder, or move it away")
    X, y = generate_references(_TRAIN + _DEV + _MORE + _NEW, seed=seed)
    dev, more, new = _TRAIN, _TRAIN + _DEV, _TRAIN + _DEV + _MORE
    write_columns(place / "few.tsv", X[:_FEW], y[:_FEW])
    write_columns(place / "train.tsv", X[:dev], y[:dev])
    write_columns(place / "dev.tsv", X[dev:more], y[dev:more])
    write_columns(place / "more.txt", X[more:new])
    write_text(place / "new.txt", X[new:])
    with open_for_writing(place / "rules.toml") as file:
        file.write(RULES)
    return names
