"""Dependency trees as text and as drawings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from ..errors import DataError
from ..learners.tasks.parsing import Parsing
from .svg import FONT, GREY, INK, MARGIN, SMALL, WRONG, drawing, line_style, text_at, width_of, write_svg
from .text import DIFFERS, marked, token_text

# Corners and joints of lines by where they lead: up, down, left, right.
_JOINTS = {
    (0, 0, 0, 0): " ", (1, 1, 0, 0): "│", (0, 0, 1, 1): "─", (0, 1, 0, 1): "╭", (1, 0, 0, 1): "╰", (1, 1, 0, 1): "├",
    (0, 1, 1, 1): "┬", (1, 0, 1, 1): "┴", (1, 1, 1, 1): "┼", (0, 0, 0, 1): "─", (0, 0, 1, 0): "─",
}  # fmt: skip
# Pixels between levels of arcs, between their ends at one word, and between words; radius of corners.
LEVEL, END, GAP, _CORNER = 26.0, 7.0, 14.0, 8.0


@dataclass(frozen=True)
class _Tree:
    """A tree to draw; heads: 0 for the root, None where they are not known; labels, notes: "" where there are none."""

    words: list[str]
    tags: list[str]
    heads: list[int | None]
    labels: list[str]
    chances: list[float | None]
    wrong: list[str]

    @classmethod
    def of(cls, x: Sequence[Any], y: Any, probabilities: Sequence[float | None] | None, gold: Any) -> "_Tree":
        """Checked, whatever kinds of trees are allowed elsewhere."""
        heads, labels = _read(x, y)
        given = [None] * len(heads) if probabilities is None else probabilities
        chances = [None if p is None else float(p) for p in given]
        if len(chances) != len(heads):
            raise DataError(f"the sentence has {len(heads)} words, and there are {len(chances)} probabilities")
        wrong = [""] * len(heads)
        for t, (head, label) in enumerate(zip(*_read(x, gold), strict=True) if gold is not None else ()):
            if head is not None and (head != heads[t] or (label and labels[t] and label != labels[t])):
                wrong[t] = f"{_name(x, head)} {label}".strip()
        tags = [token[1] if isinstance(token, tuple) and len(token) > 1 else "" for token in x]
        return cls([token_text(token) for token in x], tags, heads, labels, chances, wrong)


def _read(x: Sequence[Any], y: Any) -> tuple[list[Any], list[str]]:
    """Heads and labels."""
    labelled = any(isinstance(one, tuple | list) for one in y)
    Parsing(labelled=labelled, single_root=False).require(x, y)
    pairs = [(None, None) if one is None else one for one in y] if labelled else [(one, None) for one in y]
    return [head for head, _ in pairs], [label or "" for _, label in pairs]


def _name(x: Sequence[Any], head: int) -> str:
    return "root" if head == 0 else token_text(x[head - 1])


def draw_tree(
    x: Sequence[Any],
    y: Any,
    path: str | PathLike[str] | None = None,
    *,
    probabilities: Sequence[float] | None = None,
    gold: Any = None,
) -> str | None:
    """Draw a dependency tree, as text or as an SVG file.

    In text every word is a line, and lines lead from each head (on the left) to the words that depend on it. In a file
    words stand side by side with arcs above them.

    Parameters
    ----------
    x : sequence
        The words of a sentence: strings, or tuples such as (word, tag).
    y : sequence
        The head of every word, or pairs of head and label; None where it is not known.
    path : str, path-like or None, default=None
        The file to write, which ends in .svg; None gives text.
    probabilities : sequence of float or None, default=None
        The probability of every word's head; less probable arcs are fainter and thinner.
    gold : sequence or None, default=None
        The right heads; arcs that differ have another colour, and in text the right head is named.

    Returns
    -------
    str or None
        The text, None where a file is written.
    """
    tree = _Tree.of(x, y, probabilities, gold)
    if path is None:
        return "\n".join(_lines(tree))
    write_svg(path, _svg(tree))
    return None


def tree_line(x: Sequence[Any], y: Any, marks: Iterable[int] = ()) -> Text:
    """Returns every word with its head on one line: The→dog, or The-det→dog; some words marked."""
    chosen, out = frozenset(marks), Text()
    heads, labels = _read(x, y)
    for t, (head, label) in enumerate(zip(heads, labels, strict=True)):
        out.append("  " if t else "")
        out.append(*marked(token_text(x[t]), t in chosen))
        out.append(f"-{label}" if label else "", "cyan")
        out.append(f"→{'?' if head is None else _name(x, head)}", "dim")
    return out


# Text --------------------------------------------------------------------------------------------------------------


def _lines(tree: _Tree) -> list[str]:
    """One line a word: lines from heads, number, word, tag, label, probability, and what would be right."""
    columns = [
        _branches(tree),
        _padded([str(t + 1) for t in range(len(tree.words))], right=True),
        _padded(tree.words),
        _padded(tree.tags),
        _padded(tree.labels),
        _padded(["" if p is None else f"{p:.0%}" for p in tree.chances], right=True),
        [f"{DIFFERS} {name}" if name else "" for name in tree.wrong],
    ]
    shown = [column for column in columns if any(cell.strip() for cell in column)]
    return [" ".join(cells).rstrip() for cells in zip(*shown, strict=True)]


def _padded(cells: list[str], *, right: bool = False) -> list[str]:
    width = max(map(cell_len, cells))
    return [" " * (width - cell_len(one)) + one if right else one + " " * (width - cell_len(one)) for one in cells]


def _spans(heads: Sequence[int | None]) -> dict[int, tuple[int, int]]:
    """The first and last word that each head with dependents, or one of these, is; words count from 1."""
    out: dict[int, tuple[int, int]] = {}
    for c, h in enumerate(heads, start=1):
        if h:
            first, last = out.get(h, (h, h))
            out[h] = min(first, c), max(last, c)
    return out


def _columns(heads: Sequence[int | None]) -> dict[int, int]:
    """The column of each head's line, from 1 at the words: left of those of its dependents, with no other in it."""
    spans, out = _spans(heads), dict[int, int]()

    def place(h: int) -> int:
        if h not in out:
            below = [place(c) for c, head in enumerate(heads, start=1) if head == h and c in spans]
            level = 1 + max(below, default=0)
            while any(out[o] == level and _meet(spans[h], spans[o]) for o in out):
                level += 1
            out[h] = level
        return out[h]

    for h in sorted(spans, key=lambda h: spans[h][1] - spans[h][0]):
        place(h)
    return out


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _branches(tree: _Tree) -> list[str]:
    """The lines from heads to words, one row a word."""
    heads, spans, column = tree.heads, _spans(tree.heads), _columns(tree.heads)
    most, rows = max(column.values(), default=0), []
    at = {level: [h for h in column if column[h] == level] for level in range(1, most + 1)}
    for c, head in enumerate(heads, start=1):
        reach = column[head] if head else most + 1  # how far left the word's line goes
        row = "?" if head is None else " " if head else "─"
        row += " " if head else "─"
        for level in range(most, 0, -1):
            over = next((h for h in at[level] if spans[h][0] <= c <= spans[h][1]), None)
            member = over is not None and over in (c, head)
            up = over is not None and spans[over][0] < c
            down = over is not None and c < spans[over][1]
            across = reach > level
            if over is not None and not member:
                row += "│" + ("─" if across else " ")
            else:
                key = (int(up), int(down), int(across), int(across or member))
                row += _JOINTS[key] + ("─" if across or member else " ")
        rows.append(row)
    return rows


# Drawing ------------------------------------------------------------------------------------------------------------


def _svg(tree: _Tree) -> str:
    """Words side by side, arcs above them."""
    heads = tree.heads
    arcs = [(c, head) for c, head in enumerate(heads, start=1) if head is not None]
    levels = {c: level for (c, _), level in zip(arcs, arc_levels(arcs), strict=True)}
    ends = {c: places for (c, _), places in zip(arcs, places_of_ends(arcs), strict=True)}
    centres, width = _centres(tree)
    top = MARGIN + SMALL + 4 + LEVEL * (max(levels.values(), default=0) + (1 if 0 in heads else 0))
    parts = []
    for t, head in enumerate(heads):
        if head is None:
            continue
        colour, chance = WRONG if tree.wrong[t] else INK, tree.chances[t]
        child = centres[t] + ends[t + 1][0]
        height = MARGIN + SMALL + 4 if head == 0 else top - LEVEL * levels[t + 1]
        if head == 0:
            way, middle = f"M{child:.1f},{height:.1f} V{top:.1f}", child
            named = tree.labels[t] or "root"
        else:
            start = centres[head - 1] + ends[t + 1][1]
            way, middle, named = arc_path(start, child, height, top), (start + child) / 2, tree.labels[t]
        parts.append(f'<path d="{way}" {line_style(chance, colour)}/>')
        parts.append(arrow(child, top, colour, chance))
        if named:
            parts.append(text_at(middle, height - 4, named, size=SMALL, fill=colour, halo=True))
    base = top + 6 + FONT
    parts += [text_at(x, base, word) for x, word in zip(centres, tree.words, strict=True)]
    parts += [
        text_at(x, base + 16, tag, size=SMALL, fill=GREY) for x, tag in zip(centres, tree.tags, strict=True) if tag
    ]
    height = base + (22 if any(tree.tags) else 8) + MARGIN / 2
    return drawing(width, height, parts, " ".join(tree.words))


def arc_levels(arcs: Sequence[tuple[int, int]]) -> list[int]:
    """Returns how high each arc (child, head) is: above all arcs inside it, and not on one that it crosses.

    Words count from 1; an arc from the root, 0, has no level: 0.
    """
    spans = [(min(c, h), max(c, h)) for c, h in arcs]
    out = [0] * len(arcs)
    real = [k for k, (_, h) in enumerate(arcs) if h]
    for k in sorted(real, key=lambda k: (spans[k][1] - spans[k][0], *arcs[k])):
        low, high = spans[k]
        others = [(out[o], spans[o]) for o in real if out[o]]
        out[k] = 1 + max((level for level, (a, b) in others if a < high and low < b), default=0)
    return out


def places_of_ends(arcs: Sequence[tuple[int, int]]) -> list[tuple[float, float]]:
    """Returns where each arc (child, head) meets its words: distances from the middles of child and head.

    Arcs to the left stand on the left, short ones outside, so that none crosses another where they begin.
    """
    at: dict[int, list[tuple[float, int, int, int]]] = {}
    for k, (c, h) in enumerate(arcs):
        at.setdefault(c, []).append((_side(c, h or c), c, k, 0))
        if h:
            at.setdefault(h, []).append((_side(h, c), c, k, 1))
    out = [[0.0, 0.0] for _ in arcs]
    for found in at.values():
        for place, (_, _, k, end) in enumerate(sorted(found)):
            out[k][end] = END * (place - (len(found) - 1) / 2)
    return [(child, head) for child, head in out]


def _side(word: int, other: int) -> float:
    """The place among arcs at a word: leftward from short to long, then rightward from long to short."""
    return 0.0 if other == word else -1 / (word - other) if other < word else 1 / (other - word)


def _centres(tree: _Tree) -> tuple[list[float], float]:
    """The middles of the words, far enough apart for words, tags, and labels of arcs; and the width of it all."""
    sizes = [
        max(width_of(word), width_of(tag, SMALL), END * tree.heads.count(t + 1) + END)
        for t, (word, tag) in enumerate(zip(tree.words, tree.tags, strict=True))
    ]
    out = [MARGIN + max(sizes[0], width_of(_root_label(tree, 0), SMALL)) / 2]
    for t in range(1, len(sizes)):
        apart = (sizes[t - 1] + sizes[t]) / 2 + GAP
        for a, b in ((t - 1, t), (t, t - 1)):
            if tree.heads[a] == b + 1:
                ends = END * (tree.heads.count(t) + tree.heads.count(t + 1) + 2) / 2
                apart = max(apart, width_of(tree.labels[a], SMALL) + ends + 4)
        out.append(out[-1] + apart)
    last = max(sizes[-1], width_of(_root_label(tree, -1), SMALL)) / 2
    return out, out[-1] + last + MARGIN


def _root_label(tree: _Tree, t: int) -> str:
    return (tree.labels[t] or "root") if tree.heads[t] == 0 else ""


def arc_path(start: float, end: float, height: float, base: float) -> str:
    """Returns the way of an arc: up, across and down, with round corners."""
    turn = min(_CORNER, abs(end - start) / 2) * (1 if end > start else -1)
    down = height + abs(turn)
    return (
        f"M{start:.1f},{base:.1f} V{down:.1f} Q{start:.1f},{height:.1f} {start + turn:.1f},{height:.1f} "
        f"H{end - turn:.1f} Q{end:.1f},{height:.1f} {end:.1f},{down:.1f} V{base:.1f}"
    )


def arrow(x: float, base: float, colour: str, chance: float | None) -> str:
    """Returns the point of an arc."""
    faint = "" if chance is None else f' opacity="{0.3 + 0.7 * chance:.2f}"'
    way = f"M{x - 3.5:.1f},{base - 6:.1f} L{x + 3.5:.1f},{base - 6:.1f} L{x:.1f},{base + 2:.1f} Z"
    return f'<path d="{way}" fill="{colour}"{faint}/>'
