from xml.etree import ElementTree

import numpy as np
import pytest

from sidelight import DataError, GoldLinks, draw_link_posteriors
from sidelight.wordalign.aligner import PairPosteriors

PAIR = (["the", "house"], ["la", "maison"])
BEFORE = PairPosteriors(np.array([[0.9, 0.6], [0.0, 0.3]]), np.array([[0.7, 0.1], [0.2, 0.4]]), np.ones(2), np.ones(2))
AFTER = PairPosteriors(np.array([[0.9, 0.1], [0.0, 0.8]]), np.array([[0.9, 0.1], [0.0, 0.8]]), np.ones(2), np.ones(2))
GOLD = GoldLinks(frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)}))


def test_text_shows_both_directions_and_gold():
    text = draw_link_posteriors(PAIR, {"before": BEFORE, "after": AFTER}, gold=GOLD)
    before, after = text.split("\n\n")
    assert before.splitlines()[3:5] == ["the    [●  ◉    [◉  ∘", "house   · (○     ∘ (○"]
    assert after.splitlines()[4] == "house   · (◉     · (◉"
    assert after.splitlines()[-1].split() == ["0", "la", "1", "maison"]


def test_drawing_shows_what_changed(tmp_path):
    assert draw_link_posteriors(PAIR, {"before": BEFORE, "after": AFTER}, tmp_path / "p.svg", gold=GOLD) is None
    root = ElementTree.parse(tmp_path / "p.svg").getroot()
    space = "{http://www.w3.org/2000/svg}"
    colours = [circle.get("fill") for circle in root.iter(f"{space}circle")]
    assert len(colours) == 3 + 4 + 3 + 3
    assert set(colours[:7]) == {"#222222"}
    assert {"#1a7f37", "#c4570a"} < set(colours)
    assert [text.text for text in root.iter(f"{space}text")].count("maison") == 4


def test_sizes_must_fit():
    with pytest.raises(DataError, match=r"before: there are 1 and 2 words"):
        draw_link_posteriors((["the"], ["la", "maison"]), {"before": BEFORE})
