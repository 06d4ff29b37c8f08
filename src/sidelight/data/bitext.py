"""Bitexts, one sentence a line on each side, and files of word links in the Pharaoh and the NAACL format.

Pharaoh: one sentence pair a line, links as ``0-0 1-2``, source before target, counted from 0; ``1?2`` or ``1p2`` is a
possible link. NAACL: one link a line, ``pair source target``, all counted from 1, with ``S`` (sure, the default) or
``P`` (possible) and perhaps a confidence behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sidelight.data.source import Lines, Source, Target, open_for_writing, read_lines
from sidelight.errors import DataError, warn

LinkFormat = Literal["pharaoh", "naacl"]
SentencePair: TypeAlias = tuple[list[str], list[str]]
Link: TypeAlias = tuple[int, int]

_PHARAOH = re.compile(r"(\d{1,9})([-?p])(\d{1,9})")
# Line numbers that a message names at most.
_NAMED = 5


@dataclass(frozen=True)
class GoldLinks:
    """The links of one sentence pair that people agree on, and those that may be there.

    Parameters
    ----------
    sure : frozenset of tuple, default=frozenset()
        The links (i, j) that must be found.
    possible : frozenset of tuple, default=frozenset()
        The links that may be found; sure ones are among them.
    """

    sure: frozenset[Link] = frozenset()
    possible: frozenset[Link] = frozenset()


def read_bitext(source: Source, target: Source) -> list[SentencePair]:
    """Read two files whose lines with the same number translate each other; words are separated by spaces.

    An empty line is kept as a sentence without words, with a warning that names it.

    Parameters
    ----------
    source, target : str, path-like, file or iterable of str
        A path, "-" for standard input, an open file, or lines.

    Returns
    -------
    list of tuple
        Pairs (source, target) of lists of words.
    """
    one, two = read_lines(source), read_lines(target)
    if len(one.lines) != len(two.lines):
        shorter, longer = sorted((one, two), key=lambda lines: len(lines.lines))
        raise longer.error(
            len(shorter.lines) + 1,
            f"there is no line with this number in {shorter.name}, which has {len(shorter.lines)} lines while "
            f"{longer.name} has {len(longer.lines)}; both sides need a line for every sentence pair",
        )
    pairs = [(a.split(), b.split()) for a, b in zip(one.lines, two.lines, strict=True)]
    empty = [number for number, (a, b) in enumerate(pairs, start=1) if not a or not b]
    if empty:
        named = ", ".join(map(str, empty[:_NAMED])) + (", ..." if len(empty) > _NAMED else "")
        one_or_more = "1 pair has" if len(empty) == 1 else f"{len(empty)} pairs have"
        warn(f"{one.name}, {two.name}: {one_or_more} an empty side and get no links (line {named})")
    return pairs


def write_links(target: Target, links: Iterable[Iterable[Link]], format: LinkFormat = "pharaoh") -> None:
    """Write the links of every pair.

    Parameters
    ----------
    target : str, path-like or file
        A path, "-" for standard output, or an open file.
    links : iterable
        The links (i, j) of every pair, counted from 0.
    format : {'pharaoh', 'naacl'}, default='pharaoh'
        One pair a line, ``0-0 1-2``; or one link a line, ``pair i j``, counted from 1.
    """
    _require_format(format)
    with open_for_writing(target) as file:
        for number, found in enumerate(links, start=1):
            if format == "pharaoh":
                file.write(" ".join(f"{i}-{j}" for i, j in found) + "\n")
            else:
                file.writelines(f"{number} {i + 1} {j + 1}\n" for i, j in found)


def read_links(
    source: Source, pairs: Sequence[tuple[Sequence[str], Sequence[str]]], format: LinkFormat | None = None
) -> list[GoldLinks]:
    """Read the links of sentence pairs, sure and possible ones.

    Parameters
    ----------
    source : str, path-like, file or iterable of str
        A path, "-" for standard input, an open file, or lines.
    pairs : sequence
        The pairs (source, target) that the links are of; a link out of their range is an error.
    format : {'pharaoh', 'naacl'} or None, default=None
        The format; None tells it from the first line that is not empty.

    Returns
    -------
    list of GoldLinks
        The links of every pair, positions counted from 0.
    """
    lines = read_lines(source)
    if format is None:
        first = next((line for line in lines.lines if line.strip()), "")
        format = "pharaoh" if _PHARAOH.fullmatch(first.split()[0] if first else "0-0") else "naacl"
    _require_format(format)
    sure, possible = [set[Link]() for _ in pairs], [set[Link]() for _ in pairs]
    if format == "pharaoh" and len(lines.lines) != len(pairs):
        raise lines.error(
            min(len(lines.lines), len(pairs)) + 1,
            f"there are {len(lines.lines)} lines of links and {len(pairs)} sentence pairs; expected a line for each",
        )
    for number, line in enumerate(lines.lines, start=1):
        for pair, i, j, is_sure in (
            _pharaoh(line, lines, number) if format == "pharaoh" else _naacl(line, lines, number)
        ):
            if not 0 <= pair < len(pairs):
                raise lines.error(
                    number, f"there is no sentence pair of this number, which counts from 1; there are {len(pairs)}"
                )
            lengths = len(pairs[pair][0]), len(pairs[pair][1])
            if not (0 <= i < lengths[0] and 0 <= j < lengths[1]):
                base = 0 if format == "pharaoh" else 1
                raise lines.error(
                    number,
                    f"the link {i + base} {j + base} is out of range: pair {pair} has {lengths[0]} source and "
                    f"{lengths[1]} target words, which this format counts from {base}",
                )
            (sure if is_sure else possible)[pair].add((i, j))
    return [GoldLinks(frozenset(a), frozenset(a | b)) for a, b in zip(sure, possible, strict=True)]


def _pharaoh(line: str, lines: Lines, number: int) -> list[tuple[int, int, int, bool]]:
    out = []
    for item in line.split():
        found = _PHARAOH.fullmatch(item)
        if found is None:
            raise lines.error(number, f"expected links such as 0-0 1-2 (or 1?2 for a possible one), found {item!r}")
        out.append((number - 1, int(found[1]), int(found[3]), found[2] == "-"))
    return out


def _naacl(line: str, lines: Lines, number: int) -> list[tuple[int, int, int, bool]]:
    columns = line.split()
    if not columns:
        return []
    kind = columns[3] if len(columns) > 3 and columns[3] in ("S", "P") else "S"
    if len(columns) < 3 or not all(column.isdecimal() and len(column) < 10 for column in columns[:3]):
        raise lines.error(number, f"expected `pair source target`, counted from 1, and S or P, found {line.strip()!r}")
    pair, i, j = (int(column) - 1 for column in columns[:3])
    return [(pair, i, j, kind == "S")]


def _require_format(format: str) -> None:
    if format not in ("pharaoh", "naacl"):
        raise DataError(f"links are written as 'pharaoh' or 'naacl', not {format!r}")
