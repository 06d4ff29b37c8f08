"""Pairs with links as JSON lines: one object a line, ``{"source": ..., "target": ..., "links": [[0, 0], [1, 2]]}``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sidelight.data.jsonlines import json_name, json_text, parse_object
from sidelight.data.source import Lines, Source, Target, open_for_writing, read_lines
from sidelight.errors import DataError
from sidelight.supervision import BAD, GOOD, Companion, Partial

SIDES, LINKS, PARTIAL, COMPANION = ("source", "target"), "links", "partial", "good"


@dataclass(frozen=True)
class PairFile:
    """A file of pairs that can be written again with other links.

    X, y: as `read_pairs` gives them; lines: of the file; places: the line of every pair, counted from 1; records: what
    stands there.
    """

    X: list[tuple[Any, Any]]
    y: list[Any]
    lines: Lines
    places: list[int]
    records: list[dict[str, Any]]

    @classmethod
    def read(cls, source: Source, *, links: bool = True, answers: bool = False) -> PairFile:
        """Read a file with links, with answers (whether each pair is good) in their place, or without either."""
        lines = read_lines(source)
        X, y, places, records = [], [], list[int](), []
        for number, line in enumerate(lines.lines, start=1):
            if not line.strip():
                continue
            record = parse_object(line, lines, number, '{"source": ..., "target": ...}')
            X.append((_side(record, "source", lines, number), _side(record, "target", lines, number)))
            y.append(_known(record, lines, number, answers) if links or answers else None)
            places.append(number)
            records.append(record)
        return cls(X, y, lines, places, records)

    def error(self, index: int, message: str) -> DataError:
        """Return an error (to be raised) about one pair."""
        return self.lines.error(self.places[index], message)

    def write(self, target: Target, y: Sequence[Any], more: Sequence[dict[str, Any]] | None = None) -> None:
        """Write the file with these links, and more of every pair; the other keys stay."""
        with open_for_writing(target) as file:
            for index, (record, links) in enumerate(zip(self.records, y, strict=True)):
                kept = {key: value for key, value in record.items() if key not in (LINKS, PARTIAL)}
                said = {**kept, **(more[index] if more else {}), **_links_record(links, index)}
                file.write(json_text(said, f"pair {index}") + "\n")


def read_pairs(source: Source) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Read pairs with links from JSON lines, one pair a line; blank lines and other keys are skipped.

    A side is a string (of characters) or a list of strings, or of lists of strings (columns, which become tuples).
    Links are a list of pairs ``[i, j]``, or ``[[i, i2], [j, j2]]`` for the items i to i2 - 1 and j to j2 - 1; with
    ``"partial": true`` there may be others. Where they are null or absent, nothing is known but what ``"good": true``
    or ``false`` says of the pair.

    Parameters
    ----------
    source : str, path-like, file or iterable of str
        A path, "-" for standard input, an open file, or lines.

    Returns
    -------
    X : list of tuple
        The pairs (source, target).
    y : list
        What is known about the links of each pair: a list of links, `Partial`, None, GOOD or BAD.
    """
    found = PairFile.read(source)
    return found.X, found.y


def write_pairs(target: Target, X: Sequence[Any], y: Sequence[Any]) -> None:
    """Write pairs with links as JSON lines, one pair a line.

    Parameters
    ----------
    target : str, path-like or file
        A path, "-" for standard output, or an open file.
    X : sequence
        The pairs (source, target).
    y : sequence
        What is known about the links of each pair: a list of links, `Partial`, None, GOOD or BAD.
    """
    if len(X) != len(y):
        raise DataError(f"expected as many outputs as pairs ({len(X)}), got {len(y)}")
    with open_for_writing(target) as file:
        for index, (x, links) in enumerate(zip(X, y, strict=True)):
            sides = {name: side if isinstance(side, str) else list(side) for name, side in zip(SIDES, x, strict=True)}
            file.write(json_text({**sides, **_links_record(links, index)}, f"pair {index}") + "\n")


def _side(record: dict[str, Any], name: str, lines: Lines, number: int) -> Any:
    """One side of a pair: a string, or a list of strings or tuples of strings."""
    value = record.get(name)
    if value is None:
        found = f"only the keys {sorted(record)}" if name not in record else "null"
        raise lines.error(number, f'expected a string or a list under "{name}", found {found}')
    if not isinstance(value, str | list):
        raise lines.error(number, f'expected a string or a list under "{name}", found {_shown(value)}')
    if not value:
        raise lines.error(number, f"the {name} is empty; leave such pairs out")
    return value if isinstance(value, str) else [_item(one, i, name, lines, number) for i, one in enumerate(value)]


def _item(item: Any, index: int, name: str, lines: Lines, number: int) -> Any:
    if isinstance(item, str):
        return item
    if isinstance(item, list) and item and all(isinstance(column, str) for column in item):
        return tuple(item)
    raise lines.error(number, f"{name} item {index}: expected a string or a list of strings, found {_shown(item)}")


def _known(record: dict[str, Any], lines: Lines, number: int, answers: bool = False) -> Any:
    """What a record says of the links; where answers are asked for, only whether the pair is good."""
    for key in (PARTIAL, COMPANION):
        if not isinstance(record.get(key), bool | None):
            raise lines.error(number, f'expected true or false under "{key}", found {_shown(record[key])}')
    links = None if answers else record.get(LINKS)
    if links is None:
        good = record.get(COMPANION)
        return None if good is None else GOOD if good else BAD
    if not isinstance(links, list):
        raise lines.error(number, f'expected a list of links [i, j] under "links", found {_shown(links)}')
    read = [_link(link, lines, number) for link in links]
    return Partial(read) if record.get(PARTIAL) else read


def _link(link: Any, lines: Lines, number: int) -> tuple[Any, Any]:
    if isinstance(link, list) and len(link) == 2:
        if all(map(_is_number, link)):
            return link[0], link[1]
        if all(isinstance(end, list) and len(end) == 2 and all(map(_is_number, end)) for end in link):
            return tuple(link[0]), tuple(link[1])
    raise lines.error(number, f"expected a link [i, j] or [[i, i2], [j, j2]], found {_shown(link)}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    return f"{json_name(value)} {json.dumps(value, ensure_ascii=False)}"


def _links_record(links: Any, index: int) -> dict[str, Any]:
    """What is known of the links, as a record has it."""
    if links is None:
        return {LINKS: None}
    if isinstance(links, Companion):
        return {LINKS: None, COMPANION: links is GOOD}
    if isinstance(links, Partial):
        return {LINKS: list(links.known), PARTIAL: True}
    if isinstance(links, str) or not hasattr(links, "__iter__"):
        raise DataError(f"pair {index}: expected a list of links, Partial, None, GOOD or BAD, got {links!r}")
    return {LINKS: list(links)}
