"""Posteriors of the links of one sentence pair before and after projection (Figure 5 of Ganchev et al. 2010)."""

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from rich.cells import cell_len

from ..data.bitext import GoldLinks
from ..errors import DataError
from ..kernels.compiling import Floats
from .svg import FONT, GREY, INK, MARGIN, SMALL, drawing, text_at, width_of, write_svg

_CELL, _GAP = 22.0, 36.0
_HIGHER, _LOWER = "#1a7f37", "#c4570a"
# How much a posterior must change to be drawn in another colour.
_CHANGE = 0.05
# Shades of a cell in text, each from this posterior on.
_SHADES = ((0.875, "●"), (0.5, "◉"), (0.25, "○"), (0.05, "∘"), (0.0, "·"))


def draw_link_posteriors(
    x: tuple[Sequence[str], Sequence[str]],
    posteriors: dict[str, Any],
    path: str | PathLike[str] | None = None,
    *,
    gold: GoldLinks | None = None,
) -> str | None:
    """Draw posteriors of both directions of one pair, one row of grids for each entry, as text or as an SVG file.

    In a file the size of a circle is the probability of the link, and in all rows but the first green means higher
    than in the first row, orange lower. Sure links have squares with borders, possible ones without.

    Parameters
    ----------
    x : tuple
        The pair (source, target) of lists of words.
    posteriors : dict of str to PairPosteriors
        Titles and what `WordAligner.predict_posteriors` gives, the one to compare with first.
    path : str, path-like or None, default=None
        The file to write, which ends in .svg; None gives text.
    gold : GoldLinks or None, default=None
        The right links.

    Returns
    -------
    str or None
        The text, None where a file is written.
    """
    source, target = list(x[0]), list(x[1])
    for title, one in posteriors.items():
        if one.forward.shape != (len(source), len(target)):
            raise DataError(
                f"{title}: there are {len(source)} and {len(target)} words, and {one.forward.shape} posteriors"
            )
    if path is None:
        return "\n\n".join(_text(title, source, target, one, gold) for title, one in posteriors.items())
    write_svg(path, _svg(source, target, posteriors, gold))
    return None


def _text(title: str, source: list[str], target: list[str], one: Any, gold: GoldLinks | None) -> str:
    """Both directions side by side, target words numbered above and written below."""
    side = max(map(cell_len, source), default=0)
    heads = "".join(f"{j % 100:>3}" for j in range(len(target)))
    lines = [
        f"{title}",
        f"{'':{side}} {'source → target':{len(heads)}}   target → source",
        f"{'':{side}} {heads}   {heads}",
    ]
    for i, word in enumerate(source):
        grids = (
            "".join(_mark(matrix[i, j], (i, j), gold) for j in range(len(target)))
            for matrix in (one.forward, one.backward)
        )
        lines.append(f"{word}{' ' * (side - cell_len(word))} {'   '.join(grids)}")
    lines.append(f"{'':{side}} {'  '.join(f'{j} {word}' for j, word in enumerate(target))}")
    return "\n".join(line.rstrip() for line in lines)


def _mark(p: float, link: tuple[int, int], gold: GoldLinks | None) -> str:
    """A sign for the posterior; behind a bracket if the link is sure, behind a parenthesis if it is possible."""
    shade = next(sign for least, sign in _SHADES if p >= least)
    known = " " if gold is None or link not in gold.possible else "[" if link in gold.sure else "("
    return f" {known}{shade}"


def _svg(source: list[str], target: list[str], posteriors: dict[str, Any], gold: GoldLinks | None) -> str:
    left = MARGIN + max(map(width_of, source), default=0.0) + 8
    above = max(map(width_of, target), default=0.0) + FONT + 14
    wide, tall = _CELL * len(target), _CELL * len(source)
    first = next(iter(posteriors.values()), None)
    parts, y = list[str](), MARGIN
    for title, one in posteriors.items():
        for column, name in enumerate(("forward", "backward")):
            corner = left + column * (wide + _GAP), y + above
            arrow = "source → target" if column == 0 else "target → source"
            parts.append(text_at(corner[0] + wide / 2, y + SMALL, f"{title}, {arrow}", size=SMALL, fill=GREY))
            parts += _grid(
                corner, source if column == 0 else [], target, getattr(one, name), getattr(first, name), gold
            )
        y += above + tall + _GAP
    return drawing(left + 2 * wide + _GAP + MARGIN, y, parts, f"{' '.join(source)} / {' '.join(target)}")


def _grid(
    corner: tuple[float, float],
    source: list[str],
    target: list[str],
    now: Floats,
    before: Floats,
    gold: GoldLinks | None,
) -> list[str]:
    """One grid: words beside rows and above columns, squares of gold links, circles of posteriors."""
    x, y = corner
    out = []
    for i, word in enumerate(source):
        out.append(text_at(x - 6 - width_of(word) / 2, y + _CELL * (i + 0.5) + FONT / 3, word))
    for j, word in enumerate(target):
        middle = x + _CELL * (j + 0.5) + FONT / 3
        turned = text_at(0, 0, word).replace(
            "<text", f'<text transform="translate({middle:.1f},{y - 6:.1f}) rotate(-90)"'
        )
        out.append(turned.replace("<text", '<text text-anchor="start"', 1))
    shape = now.shape
    for i, j in np.ndindex(shape):
        left, top = x + _CELL * j, y + _CELL * i
        known = gold is not None and (i, j) in gold.possible
        fill = "#e8e8e8" if known else "none"
        edge = INK if gold is not None and (i, j) in gold.sure else "#e4e4e4"
        out.append(
            f'<rect x="{left + 1.5:.1f}" y="{top + 1.5:.1f}" width="{_CELL - 3:.1f}" height="{_CELL - 3:.1f}" '
            f'fill="{fill}" stroke="{edge}"/>'
        )
        if now[i, j] >= 0.01:
            change = now[i, j] - before[i, j]
            colour = _HIGHER if change > _CHANGE else _LOWER if change < -_CHANGE else INK
            out.append(
                f'<circle cx="{left + _CELL / 2:.1f}" cy="{top + _CELL / 2:.1f}" '
                f'r="{(_CELL / 2 - 3) * float(np.sqrt(now[i, j])):.2f}" fill="{colour}"/>'
            )
    return out
