"""Alignments and matchings as text and as drawings."""

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from ..errors import DataError
from ..learners.tasks.matching import Matching
from ..parts_metrics import as_segments
from ..supervision import Partial
from .svg import FONT, GREY, INK, MARGIN, WRONG, drawing, line_style, text_at, width_of, write_svg
from .text import marked, token_text

# Cells of a target item that are shown above its column, pixels between items and between both rows.
_LONGEST, _GAP, _APART = 16, 14.0, 110.0
_LINK, _RIGHT_ONLY, _WRONG = "●", "○", "×"


def draw_alignment(
    x: Any,
    y: Any,
    path: str | PathLike[str] | None = None,
    *,
    probabilities: Sequence[float | None] | None = None,
    gold: Any = None,
) -> str | None:
    """Draw an alignment or a matching, as text or as an SVG file.

    In text the source items are rows, the target items are columns, and links are dots where they meet. In a file the
    source stands above the target with lines between them; items without a link are grey.

    Parameters
    ----------
    x : tuple
        A pair (source, target) of strings or lists of items.
    y : sequence
        The links: (i, j), or ((i, i2), (j, j2)) for longer segments.
    path : str, path-like or None, default=None
        The file to write, which ends in .svg; None gives text.
    probabilities : sequence of float or None, default=None
        The probability of every link; less probable ones are fainter and thinner.
    gold : sequence or None, default=None
        The right links; others have another colour (in text a cross), and those that are missing are dashed (circles).

    Returns
    -------
    str or None
        The text, None where a file is written.
    """
    source, target = ([token_text(item) for item in side] for side in x)
    links, right = _read(x, y), None if gold is None else _read(x, gold)
    given = [None] * len(links) if probabilities is None else probabilities
    chances = [None if p is None else float(p) for p in given]
    if len(chances) != len(links):
        raise DataError(f"there are {len(links)} links and {len(chances)} probabilities")
    if path is None:
        return "\n".join(_lines(source, target, links, right))
    write_svg(path, _svg(source, target, links, chances, right))
    return None


def _read(x: Any, y: Any) -> list[tuple[int, int, int, int]]:
    """Links as segments, checked to be in range."""
    shape = Matching().shape(x)
    links = y.known if isinstance(y, Partial) else y
    return [Matching().link_segments(shape, link) for link in links]


def links_line(x: Any, y: Any, marks: Iterable[int] = ()) -> Text:
    """Returns every link on one line, Haus–house, and what is not linked; some source items marked."""
    source, target = ([token_text(item) for item in side] for side in x)
    segments = sorted(as_segments(link) for link in y)
    chosen, out, linked = frozenset(marks), Text(), set[int]()
    starts = {i: (i2, j, j2) for i, i2, j, j2 in segments}
    covered = {k for i, i2, _, _ in segments for k in range(i, i2)}
    for i in range(len(source)):
        if i in covered and i not in starts:
            continue
        i2, j, j2 = starts.get(i, (i + 1, 0, 0))
        out.append("  " if out else "")
        out.append(*marked(" ".join(source[i:i2]), not chosen.isdisjoint(range(i, i2))))
        out.append(f"–{' '.join(target[j:j2]) or '∅'}", "" if j2 > j else "dim")
        linked.update(range(j, j2))
    for j in sorted(set(range(len(target))) - linked):
        out.append(f"  ∅–{target[j]}", "dim")
    return out


# Text --------------------------------------------------------------------------------------------------------------


def _lines(source: list[str], target: list[str], links: Any, right: Any) -> list[str]:
    """A grid: target items written downwards above their columns."""
    side = max(map(cell_len, source))
    heads = [_letters(item) for item in target]
    wide = max(2, 1 + max((cell_len(letter) for head in heads for letter in head), default=1))
    tall = max(map(len, heads))
    out = []
    for row in range(tall):
        cells = [head[row - (tall - len(head))] if row >= tall - len(head) else "" for head in heads]
        out.append(" " * side + "  " + "".join(one + " " * (wide - cell_len(one)) for one in cells))
    dots, wanted = _cells(links), None if right is None else _cells(right)
    for i, item in enumerate(source):
        marks = [_mark((i, j), dots, wanted) for j in range(len(target))]
        out.append(item + " " * (side - cell_len(item)) + "  " + "".join(mark + " " * (wide - 1) for mark in marks))
    return [line.rstrip() for line in out]


def _letters(item: str) -> list[str]:
    """The characters of an item, each with what stands above or below it; long items are cut."""
    letters: list[str] = []
    for letter in item:
        if cell_len(letter) or not letters:
            letters.append(letter)
        else:
            letters[-1] += letter
    return letters if len(letters) <= _LONGEST else [*letters[: _LONGEST - 1], "⋮"]


def _cells(links: Any) -> set[tuple[int, int]]:
    return {(i, j) for first, last, begin, end in links for i in range(first, last) for j in range(begin, end)}


def _mark(cell: tuple[int, int], dots: set[tuple[int, int]], wanted: set[tuple[int, int]] | None) -> str:
    if cell in dots:
        return _LINK if wanted is None or cell in wanted else _WRONG
    return "·" if wanted is None or cell not in wanted else _RIGHT_ONLY


# Drawing ------------------------------------------------------------------------------------------------------------


def _svg(source: list[str], target: list[str], links: Any, chances: list[float | None], right: Any) -> str:
    """Two rows with lines between them."""
    rows, width = _rows(source, target)
    above, below = MARGIN + FONT, MARGIN + FONT + _APART
    parts = []
    for link in sorted(set(right or ()) - set(links)):
        parts.append(_link(link, rows, above, below, line_style(None, GREY) + ' stroke-dasharray="4 3"'))
    for link, chance in zip(links, chances, strict=True):
        colour = WRONG if right is not None and link not in right else INK
        parts.append(_link(link, rows, above, below, line_style(chance, colour)))
    for items, places, base, ends in ((source, rows[0], above, (0, 1)), (target, rows[1], below + FONT, (2, 3))):
        used = {k for link in links for k in range(link[ends[0]], link[ends[1]])}
        parts += [
            text_at(x, base, item, fill=INK if k in used else GREY)
            for k, (item, (x, _)) in enumerate(zip(items, places, strict=True))
        ]
    return drawing(width, below + FONT + MARGIN + 4, parts, f"{' '.join(source)} / {' '.join(target)}")


def _rows(*sides: list[str]) -> tuple[list[list[tuple[float, float]]], float]:
    """Middle and width of every item, both rows spread over the same width; and that width with margins."""
    sizes = [[max(width_of(item), 8.0) for item in side] for side in sides]
    natural = [sum(row) + _GAP * (len(row) - 1) for row in sizes]
    widest, rows = max(natural), []
    for row, size in zip(sizes, natural, strict=True):
        gap = _GAP + (widest - size) / max(len(row) - 1, 1) if len(row) > 1 else 0.0
        x, places = MARGIN + (0.0 if len(row) > 1 else (widest - size) / 2), []
        for one in row:
            places.append((x + one / 2, one))
            x += one + gap
        rows.append(places)
    return rows, widest + 2 * MARGIN


def _link(link: tuple[int, int, int, int], rows: Any, above: float, below: float, style: str) -> str:
    """A line from the middle of one segment to that of the other; longer segments have a line along them."""
    i, i2, j, j2 = link
    ends, bars = [], ""
    for places, first, last, y, away in ((rows[0], i, i2, above, 6.0), (rows[1], j, j2, below, -2.0)):
        left, right = places[first][0] - places[first][1] / 2, places[last - 1][0] + places[last - 1][1] / 2
        ends.append(((left + right) / 2, y + away))
        if last - first > 1:
            bars += f" M{left:.1f},{y + away:.1f} H{right:.1f}"
    (x, y), (x2, y2) = ends
    return f'<path d="M{x:.1f},{y:.1f} L{x2:.1f},{y2:.1f}{bars}" {style}/>'
