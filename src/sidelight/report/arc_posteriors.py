"""Posteriors of the arcs of one sentence, by one model or by several (Figure 10 of Ganchev et al. 2010)."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from rich.cells import cell_len

from ..errors import DataError
from ..kernels.compiling import Floats
from .svg import FONT, GREY, INK, MARGIN, SMALL, WRONG, drawing, line_style, text_at, width_of, write_svg
from .text import token_text
from .trees import END, GAP, LEVEL, arc_levels, arc_path, arrow, places_of_ends

_RIGHT, _DOTTED = "#1a7f37", ' stroke-dasharray="2 3"'
# Marks of arcs in text.
_IS_RIGHT, _IS_LISTED = "✓", "*"


class _Arc(NamedTuple):
    """An arc to draw; right: None where the right head is not known."""

    child: int
    head: int
    chance: float
    right: bool | None
    listed: bool

    @property
    def colour(self) -> str:
        """By whether it is right."""
        return INK if self.right is None else _RIGHT if self.right else WRONG


def draw_arc_posteriors(
    x: Sequence[Any],
    posteriors: Mapping[str, Any],
    path: str | PathLike[str] | None = None,
    *,
    gold: Sequence[int | None] | None = None,
    listed: Sequence[Sequence[int]] | None = None,
    threshold: float = 0.25,
) -> str | None:
    """Draw all arcs that have some probability, one drawing below the other for each model, as text or as an SVG file.

    In a file less probable arcs are fainter and thinner, and every arc has its probability. In text every word is a
    line with its likeliest heads.

    Parameters
    ----------
    x : sequence
        The words of a sentence: strings, or tuples such as (word, tag).
    posteriors : mapping of str to array of shape (words, words + 1)
        Titles and the probability of every head of every word, 0 the root, as `predict_marginals` gives it.
    path : str, path-like or None, default=None
        The file to write, which ends in .svg; None gives text.
    gold : sequence of int or None, default=None
        The right heads: arcs that are right are green, others orange. In text right ones have a check mark.
    listed : sequence of sequence of int or None, default=None
        Heads that are listed for every word, such as projected ones: their arcs are dotted. In text they have a star.
    threshold : float, default=0.25
        Arcs that are less probable are left out.

    Returns
    -------
    str or None
        The text, None where a file is written.
    """
    if not posteriors:
        raise DataError("there are no posteriors to draw")
    tables = {title: _checked(x, title, table) for title, table in posteriors.items()}
    panels = {title: _arcs(table, gold, listed, threshold) for title, table in tables.items()}
    if path is None:
        return "\n\n".join(_text(x, title, arcs) for title, arcs in panels.items())
    write_svg(path, _svg(x, panels))
    return None


def _checked(x: Sequence[Any], title: str, table: Any) -> Floats:
    """Probabilities of heads; those of labels are added up."""
    found = np.asarray(table, float)
    found = found.sum(axis=2) if found.ndim == 3 else found
    if found.shape != (len(x), len(x) + 1):
        asked = (len(x), len(x) + 1)
        raise DataError(f"{title}: posteriors of {len(x)} words have the shape {asked}, not {found.shape}")
    return found


def _arcs(table: Floats, gold: Any, listed: Any, threshold: float) -> list[_Arc]:
    """The arcs that are probable enough, likeliest first for each word."""
    out = []
    for c, row in enumerate(table, start=1):
        known = None if gold is None else gold[c - 1]
        for head in np.argsort(-row, kind="stable").tolist():
            if row[head] >= threshold:
                right = None if known is None else head == known
                out.append(_Arc(c, head, float(row[head]), right, listed is not None and head in listed[c - 1]))
    return out


def _text(x: Sequence[Any], title: str, arcs: Sequence[_Arc]) -> str:
    """One line a word: its number, itself and its heads."""
    words = [token_text(token) for token in x]
    wide, digits = max(map(cell_len, words)), len(str(len(words)))
    lines = [title] if title else []
    for c, word in enumerate(words, start=1):
        heads = ", ".join(
            f"{words[arc.head - 1] if arc.head else 'root'} {arc.chance:.0%}{_marks(arc)}"
            for arc in arcs if arc.child == c
        )  # fmt: skip
        lines.append(f"{c:>{digits}} {word}{' ' * (wide - cell_len(word))} ← {heads}".rstrip(" ←"))
    return "\n".join(lines)


def _marks(arc: _Arc) -> str:
    marks = (_IS_RIGHT if arc.right else "") + (_IS_LISTED if arc.listed else "")
    return f" {marks}" if marks else ""


def _svg(x: Sequence[Any], panels: Mapping[str, Sequence[_Arc]]) -> str:
    words = [token_text(token) for token in x]
    busiest = [
        max(sum(t in (arc.child, arc.head) for arc in arcs) for arcs in panels.values())
        for t in range(1, len(words) + 1)
    ]
    sizes = [max(width_of(word), END * busy, 26.0) for word, busy in zip(words, busiest, strict=True)]
    centres = [MARGIN + sizes[0] / 2]
    for t in range(1, len(words)):
        centres.append(centres[-1] + (sizes[t - 1] + sizes[t]) / 2 + GAP)
    width = max(centres[-1] + sizes[-1] / 2, *(MARGIN + width_of(title) for title in panels)) + MARGIN
    parts, top = list[str](), MARGIN
    for title, arcs in panels.items():
        more, top = _panel(title, words, centres, arcs, top)
        parts += more
    return drawing(width, top, parts, " ".join(words))


def _panel(
    title: str, words: Sequence[str], centres: Sequence[float], arcs: Sequence[_Arc], top: float
) -> tuple[list[str], float]:
    """The arcs of one model above the words, and where the next one begins."""
    ends = [(arc.child, arc.head) for arc in arcs]
    levels, places = arc_levels(ends), places_of_ends(ends)
    parts = list[str]()
    if title:
        parts.append(text_at(MARGIN + width_of(title) / 2, top + FONT, title, fill=GREY))
        top += FONT + 8
    base = top + SMALL + 4 + LEVEL * (max(levels, default=0) + 1)
    for arc, level, (at_child, at_head) in zip(arcs, levels, places, strict=True):
        child = centres[arc.child - 1] + at_child
        height = base - LEVEL * level if arc.head else top + SMALL + 4
        if arc.head:
            start = centres[arc.head - 1] + at_head
            way, middle = arc_path(start, child, height, base), (start + child) / 2
        else:
            way, middle = f"M{child:.1f},{height:.1f} V{base:.1f}", child
        dotted = _DOTTED if arc.listed else ""
        parts.append(f'<path d="{way}" {line_style(arc.chance, arc.colour)}{dotted}/>')
        parts.append(arrow(child, base, arc.colour, arc.chance))
        parts.append(text_at(middle, height - 3, f"{arc.chance:.2f}", size=SMALL, fill=arc.colour, halo=True))
    parts += [text_at(at, base + 6 + FONT, word) for at, word in zip(centres, words, strict=True)]
    return parts, base + 6 + FONT + 2 * MARGIN
