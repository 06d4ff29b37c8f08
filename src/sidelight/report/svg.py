"""SVG written by hand: what drawings of trees and of links share."""

import re
from os import PathLike, fspath
from os.path import splitext
from xml.sax.saxutils import escape

from rich.cells import cell_len

from ..data.source import open_for_writing
from ..errors import DataError

FONT, SMALL = 15.0, 11.0
INK, GREY, WRONG = "#222222", "#888888", "#c4570a"
MARGIN = 12.0
# Widths of characters in parts of the font's size: narrow ones, wide ones, those of two cells, and the others.
_NARROW, _WIDE = frozenset("ijlIft.,:;'`!|()[]{}-\"/\\ "), frozenset("mwMW@%—…")
_SHARES = (0.36, 0.92, 1.02, 0.6)
# What XML cannot hold.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def width_of(text: str, size: float = FONT) -> float:
    """Returns about how wide a text is."""
    return sum(size * _share(one) for one in text)


def _share(one: str) -> float:
    if one in _NARROW:
        return _SHARES[0]
    if one in _WIDE or one.isupper():
        return _SHARES[1] if one in _WIDE else 0.74
    cells = cell_len(one)
    return _SHARES[2] if cells == 2 else _SHARES[3] if cells else 0.0


def text_at(x: float, y: float, text: str, *, size: float = FONT, fill: str = INK, halo: bool = False) -> str:
    """Returns a text centred at x, with its base line at y; halo: with paper around it, where lines pass behind."""
    behind = ' stroke="white" stroke-width="4" paint-order="stroke" stroke-linejoin="round"' if halo else ""
    shown = escape(_NOT_XML.sub("�", text))
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{fill}"{behind}>{shown}</text>'


def line_style(chance: float | None, colour: str = INK) -> str:
    """Returns the style of a line, fainter and thinner the less probable what it stands for is."""
    if chance is None:
        return f'fill="none" stroke="{colour}" stroke-width="1.3"'
    return f'fill="none" stroke="{colour}" stroke-width="{0.6 + 1.4 * chance:.2f}" opacity="{0.3 + 0.7 * chance:.2f}"'


def drawing(width: float, height: float, parts: list[str], title: str) -> str:
    """Returns a whole drawing."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    style = 'font-family="Helvetica, Arial, sans-serif" text-anchor="middle"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style} role="img">'
    named = f"<title>{escape(_NOT_XML.sub('�', title))}</title>"
    return "\n".join([head, named, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"]) + "\n"


def require_svg(path: str | PathLike[str]) -> None:
    """Raise `DataError` unless the name of a drawing ends in .svg."""
    if splitext(fspath(path))[1].lower() != ".svg":
        raise DataError(f"{fspath(path)}: trees and links are drawn as SVG; give a name that ends in .svg")


def write_svg(path: str | PathLike[str], content: str) -> None:
    """Write a drawing to a file, as a whole or not at all."""
    require_svg(path)
    with open_for_writing(path) as file:
        file.write(content)
