"""Drawings of trees: every line leads where it should, and files hold what is said of them."""

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path

import pytest

from sidelight import DataError, draw_tree
from sidelight.report.trees import _columns, _spans, arc_levels, tree_line

WORDS = ["The", "dog", "saw", "a", "cat", "yesterday", "which", "was", "black"]
CROSSING = [2, 3, 0, 5, 3, 3, 9, 9, 5]


def test_a_word_a_line_with_lines_from_its_head() -> None:
    assert draw_tree(WORDS, CROSSING).splitlines() == [
        "      ╭─ 1 The",
        "  ╭───┴─ 2 dog",
        "──┼───── 3 saw",
        "  │ ╭─── 4 a",
        "  ├─┼─── 5 cat",
        "  ╰─│─── 6 yesterday",
        "    │ ╭─ 7 which",
        "    │ ├─ 8 was",
        "    ╰─┴─ 9 black",
    ]


def test_tags_labels_probabilities_and_what_is_right() -> None:
    x = [("The", "DET"), ("東京", "PROPN"), ("x", "X")]
    y = [(2, "det"), (0, "root"), (None, None)]
    text = draw_tree(x, y, probabilities=[0.5, 1.0, 0.25], gold=[(2, "amod"), (0, "root"), (2, "x")])
    assert text.splitlines() == [
        "  ╭─ 1 The  DET   det   50% ≠ 東京 amod",
        "──┴─ 2 東京 PROPN root 100%",
        "?─── 3 x    X           25% ≠ 東京 x",
    ]


@pytest.mark.parametrize(
    "heads", [CROSSING, [0], [0, 1, 1, 3, 3, 5], [3, 4, 0, 3], [6, 5, 6, 5, 0, 5], [None, 1, 4, 1]]
)
def test_no_two_heads_share_a_place(heads: list[int]) -> None:
    spans, columns = _spans(heads), _columns(heads)
    levels = arc_levels([(c, h or 0) for c, h in enumerate(heads, 1)])
    for one in columns:
        for other in columns:
            if one != other and columns[one] == columns[other]:
                assert spans[one][1] < spans[other][0] or spans[other][1] < spans[one][0]
        above = heads[one - 1]
        assert not above or columns[above] > columns[one]
    arcs = [(min(c, h), max(c, h), level) for (c, h), level in zip(enumerate(heads, 1), levels, strict=True) if h]
    for a, b, level in arcs:
        for a2, b2, other in arcs:
            if (a, b) != (a2, b2) and level == other:
                assert b <= a2 or b2 <= a


def _svg(path: Path) -> ElementTree.Element:
    return ElementTree.fromstring(path.read_text(encoding="utf-8"))


def test_a_drawing_has_words_arcs_and_labels_inside_its_frame(tmp_path: Path) -> None:
    words = [f"word{'s' * (k % 9)}" for k in range(40)] + ["<&>", "東京", "bad\x00"]
    heads = [(k, f"label{k % 7}") for k in range(len(words))]
    assert draw_tree(words, heads, tmp_path / "t.svg") is None
    root = _svg(tmp_path / "t.svg")
    texts = [one for one in root if one.tag.endswith("text")]
    shown = [one.text for one in texts]
    assert [word for word in words[:-1] if word not in shown] == []
    assert "bad\ufffd" in shown
    assert shown.count("label3") == 6
    width, height = float(root.get("width")), float(root.get("height"))
    assert all(0 < float(one.get("x")) < width and 0 < float(one.get("y")) < height for one in texts)
    numbers = [float(n) for one in root if one.get("d") for n in re.findall(r"[\d.]+", one.get("d"))]
    assert max(numbers) < width
    centres = [float(one.get("x")) for one in texts if one.get("font-size") == "15"]
    assert all(b - a > 30 for a, b in pairwise(centres))


def test_colours_and_widths_say_something(tmp_path: Path) -> None:
    draw_tree(WORDS[:3], [2, 3, 0], tmp_path / "t.svg")
    assert "opacity" not in (tmp_path / "t.svg").read_text()
    assert "#c4570a" not in (tmp_path / "t.svg").read_text()
    draw_tree(WORDS[:3], [2, 3, 0], tmp_path / "t.svg", probabilities=[0.5, 1, 1], gold=[3, 3, 0])
    text = (tmp_path / "t.svg").read_text()
    assert text.count("#c4570a") == 2
    assert 'opacity="0.65"' in text


def test_what_cannot_be_drawn(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="are in a cycle"):
        draw_tree(["a", "b"], [2, 1])
    with pytest.raises(DataError, match="the sentence has 2 words, and there are 1 heads"):
        draw_tree(["a", "b"], [0])
    with pytest.raises(DataError, match="2 words, and there are 1 probabilities"):
        draw_tree(["a", "b"], [0, 1], probabilities=[1])
    with pytest.raises(DataError, match=r"t.png: trees and links are drawn as SVG"):
        draw_tree(["a", "b"], [0, 1], tmp_path / "t.png")


def test_a_line_of_heads() -> None:
    assert str(tree_line(["a", "b"], [(2, "x"), (0, None)], [0])) == "»a«-x→b  b→root"
    assert str(tree_line(["a", "b"], [None, 0])) == "a→?  b→root"
