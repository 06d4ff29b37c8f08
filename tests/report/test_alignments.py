"""Drawings of alignments and matchings."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from sidelight import DataError, Partial, draw_alignment
from sidelight.report.alignments import links_line

PAIR = (["am", "Haus", "x"], ["by", "the", "house"])
LINKS = [((0, 1), (0, 2)), (1, 2)]


def test_a_grid() -> None:
    assert draw_alignment(PAIR, LINKS).splitlines() == [
        "          h",
        "          o",
        "        t u",
        "      b h s",
        "      y e e",
        "am    ● ● ·",
        "Haus  · · ●",
        "x     · · ·",
    ]
    assert draw_alignment(("ab", "東b"), [(0, 0)], gold=[(1, 1)]).splitlines() == ["   東 b", "a  ×  ·", "b  ·  ○"]
    assert draw_alignment(PAIR, Partial([(1, 2)])).count("●") == 1


def test_long_items_are_cut() -> None:
    assert len(draw_alignment((["a"], ["x" * 40]), []).splitlines()) == 17


def test_a_drawing(tmp_path: Path) -> None:
    draw_alignment(PAIR, LINKS, tmp_path / "a.svg", probabilities=[1.0, 0.5], gold=[(1, 2), (2, 0)])
    root = ElementTree.fromstring((tmp_path / "a.svg").read_text())
    fills = {one.text: one.get("fill") for one in root if one.tag.endswith("text")}
    assert fills == dict.fromkeys(["am", "Haus", "by", "the", "house"], "#222222") | {"x": "#888888"}
    paths = [one for one in root if one.get("d")]
    assert [one.get("stroke-dasharray") for one in paths] == ["4 3", None, None]
    assert [one.get("stroke") for one in paths] == ["#888888", "#c4570a", "#222222"]
    assert "H" in paths[1].get("d")


def test_sides_are_spread_over_the_same_width(tmp_path: Path) -> None:
    draw_alignment((["a", "b"], [f"word{k}" for k in range(40)]), [(1, 39)], tmp_path / "a.svg")
    root = ElementTree.fromstring((tmp_path / "a.svg").read_text())
    places = {one.text: float(one.get("x")) for one in root if one.tag.endswith("text")}
    assert places["b"] - places["a"] > 0.9 * (places["word39"] - places["word0"])
    assert places["word39"] < float(root.get("width"))


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(DataError, match="out of range"):
        draw_alignment(PAIR, [(0, 7)])
    with pytest.raises(DataError, match="there are 2 links and 1 probabilities"):
        draw_alignment(PAIR, LINKS, probabilities=[1.0])


def test_links_on_a_line() -> None:
    assert str(links_line(PAIR, LINKS, [1])) == "am–by the  »Haus«–house  x–∅"
    assert str(links_line((["a"], ["b"]), [])) == "a–∅  ∅–b"
