"""Dependency trees in CoNLL-U: heads and labels of the words, and the rest of the file as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sidelight.data.conllu import COLUMNS, EMPTY, Word, sentences, token_reader, write_conllu
from sidelight.data.jsonlines import json_text
from sidelight.data.source import Inputs, InputsLike, Lines, Source, Target, open_for_writing, read_lines
from sidelight.errors import DataError

Heads: TypeAlias = "list[Any] | None"
"""The head of every word, or a pair of head and label; None for what is not known."""

_HEAD, _LABEL, _MISC = (COLUMNS.index(name) for name in ("head", "deprel", "misc"))
_TOKEN = ("form", "upos")


@dataclass(frozen=True)
class Treebank:
    """A file of trees that can be written again with other heads.

    X, y: as `read_trees` gives them; lines: of the file; places: the line of every word, counted from 1.
    """

    X: Inputs
    y: list[Heads]
    lines: Lines
    places: list[list[int]]

    @classmethod
    def read(
        cls, source: Source, *, columns: str | Sequence[str] = _TOKEN, labelled: bool = False, heads: bool = True
    ) -> Treebank:
        """Read a file, with heads or without."""
        lines = read_lines(source)
        token = token_reader(columns, lines)
        found = list(sentences(lines))
        X = [list(map(token, words)) for words in found]
        y = [_outputs(words, lines, labelled) if heads else None for words in found]
        return cls(X, y, lines, [[number for number, _ in words] for words in found])

    def error(self, index: int, message: str) -> DataError:
        """Return an error (to be raised) about one sentence."""
        return self.lines.error(self.places[index][0], message)

    def write(
        self,
        target: Target,
        y: Sequence[Any],
        *,
        labelled: bool = False,
        chances: Sequence[Sequence[float]] | None = None,
    ) -> None:
        """Write the file with these heads and labels; without labels the column of labels is emptied.

        chances: the probability of every arc, written into the column of other remarks as ``Prob=0.9312``.
        """
        lines = list(self.lines.lines)
        for index, (numbers, output) in enumerate(zip(self.places, y, strict=True)):
            for t, (number, cells) in enumerate(zip(numbers, _cells(output, len(numbers), labelled), strict=True)):
                row = lines[number - 1].split("\t")
                row[_HEAD], row[_LABEL] = cells
                if chances is not None:
                    row[_MISC] = _with_chance(row[_MISC], chances[index][t])
                lines[number - 1] = "\t".join(row)
        ended = not lines or not lines[-1].strip()
        with open_for_writing(target) as file:
            file.writelines(f"{line}\n" for line in (lines if ended else [*lines, ""]))


def read_trees(
    source: Source, *, columns: str | Sequence[str] = _TOKEN, labelled: bool = False
) -> tuple[Inputs, list[Heads]]:
    """Read the dependency trees of a file in CoNLL-U.

    Comments, multiword ranges (``1-2``) and empty nodes (``1.1``) are skipped.

    Parameters
    ----------
    source : str, path-like, file or iterable of str
        A path, "-" for standard input, an open file, or lines.
    columns : str or sequence of str, default=('form', 'upos')
        The columns that words are made of, named as in `read_conllu`.
    labelled : bool, default=False
        Whether the labels of arcs are read too.

    Returns
    -------
    X : list of list
        The words of each sentence: strings for one column, else tuples.
    y : list
        The heads of each sentence, as `Parsing` has them: numbers, or pairs of number and label; None where the file
        has ``_``, and None for a sentence of which nothing is known.
    """
    bank = Treebank.read(source, columns=columns, labelled=labelled)
    return bank.X, bank.y


def write_trees(
    target: Target,
    X: InputsLike,
    y: Sequence[Any],
    *,
    columns: str | Sequence[str] = _TOKEN,
    labelled: bool = False,
) -> None:
    """Write dependency trees as a ten-column file of CoNLL-U, with ``_`` where nothing is given.

    Parameters
    ----------
    target : str, path-like or file
        A path, "-" for standard output, or an open file.
    X : sequence
        The words of each sentence: strings, or tuples of several columns.
    y : sequence
        The heads of each sentence, or pairs of head and label; None for what is not known.
    columns : str or sequence of str, default=('form', 'upos')
        The columns that the words are written into, named as in `read_conllu`.
    labelled : bool, default=False
        Whether y has labels.
    """
    if len(X) != len(y):
        raise DataError(f"expected as many trees as sentences ({len(X)}), got {len(y)}")
    names = [columns] if isinstance(columns, str) else list(columns)
    rows, labels = [], []
    for tokens, output in zip(X, y, strict=True):
        cells = _cells(output, len(tokens), labelled)
        rows.append([(*_columns(token), head) for token, (head, _) in zip(tokens, cells, strict=True)])
        labels.append([label for _, label in cells])
    write_conllu(target, rows, labels, columns=[*names, "head"], label="deprel")


def write_tree_records(
    target: Target, X: InputsLike, y: Sequence[Any], *, labelled: bool, extra: Sequence[dict[str, Any]]
) -> None:
    """Write trees as JSON lines: words, heads, labels where there are some, and for each sentence more keys."""
    with open_for_writing(target) as file:
        for index, (tokens, output, more) in enumerate(zip(X, y, extra, strict=True)):
            record = {"tokens": list(tokens), **tree_record(output, labelled=labelled), **more}
            file.write(json_text(record, f"sentence {index}") + "\n")


def tree_record(output: Sequence[Any], *, labelled: bool) -> dict[str, Any]:
    """Return a tree as JSON has it."""
    if not labelled:
        return {"heads": list(output)}
    return {"heads": [head for head, _ in output], "labels": [label for _, label in output]}


def _with_chance(misc: str, chance: float) -> str:
    """The column of other remarks with a probability in the place of an earlier one."""
    kept = [one for one in misc.split("|") if one != EMPTY and not one.startswith("Prob=")]
    return "|".join([*kept, f"Prob={chance:.4f}"])


def _columns(token: Any) -> tuple[str, ...]:
    return (token,) if isinstance(token, str) else tuple(token)


def _outputs(words: list[Word], lines: Lines, labelled: bool) -> Heads:
    """Heads of a sentence, or pairs of head and label; None where nothing is known."""
    heads = [_head(word, len(words), lines) for word in words]
    if not labelled:
        return heads if any(head is not None for head in heads) else None
    labels = [None if row[_LABEL] == EMPTY else row[_LABEL] for _, row in words]
    known = any(value is not None for value in (*heads, *labels))
    return list(zip(heads, labels, strict=True)) if known else None


def _head(word: Word, count: int, lines: Lines) -> int | None:
    number, row = word
    text = row[_HEAD]
    if text == EMPTY:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 9 or int(text) > count:
        advice = f"a head is a word of the sentence, 1 to {count}, 0 for the root, or _ where it is not known"
        raise lines.error(number, f"word {row[0]} has the head {text!r}; {advice}")
    if text == row[0]:
        raise lines.error(number, f"word {row[0]} is its own head; give it another, or _ where it is not known")
    return int(text)


def _cells(output: Any, count: int, labelled: bool) -> list[tuple[str, str]]:
    """The two cells of every word; output: heads, or pairs with labels."""
    if output is None:
        return [(EMPTY, EMPTY)] * count
    if len(output) != count:
        raise DataError(f"a sentence has {count} words, and there are {len(output)} heads")
    pairs = [(None, None) if one is None else one for one in output] if labelled else [(one, None) for one in output]
    return [(EMPTY if head is None else str(head), EMPTY if label is None else label) for head, label in pairs]
