"""Drawings of the posteriors of arcs."""

import re
from pathlib import Path

import numpy as np
import pytest

from sidelight import DataError, draw_arc_posteriors

X = [("les", "DET"), ("chiens", "NOUN"), ("aboient", "VERB")]
BEFORE = np.array([[0.1, 0.0, 0.6, 0.3], [0.3, 0.3, 0.0, 0.4], [0.6, 0.1, 0.3, 0.0]])
AFTER = np.array([[0.0, 0.0, 0.9, 0.1], [0.1, 0.0, 0.0, 0.9], [0.9, 0.0, 0.1, 0.0]])
GOLD, LISTED = [2, 3, 0], [[2], [], [0]]


def test_text() -> None:
    text = draw_arc_posteriors(X, {"EM": BEFORE, "PR": AFTER}, gold=GOLD, listed=LISTED)
    assert text.splitlines() == [
        "EM",
        "1 les     ← chiens 60% ✓*, aboient 30%",
        "2 chiens  ← aboient 40% ✓, root 30%, les 30%",
        "3 aboient ← root 60% ✓*, chiens 30%",
        "",
        "PR",
        "1 les     ← chiens 90% ✓*",
        "2 chiens  ← aboient 90% ✓",
        "3 aboient ← root 90% ✓*",
    ]
    assert draw_arc_posteriors(X, {"": AFTER}, threshold=0.95).splitlines()[0] == "1 les"


def test_file(tmp_path: Path) -> None:
    draw_arc_posteriors(X, {"EM": BEFORE, "PR": AFTER}, tmp_path / "arcs.svg", gold=GOLD, listed=LISTED)
    drawn = (tmp_path / "arcs.svg").read_text()
    numbers = re.findall(r">(0\.\d\d)<", drawn)
    assert sorted(numbers) == sorted(f"{p:.2f}" for table in (BEFORE, AFTER) for p in table.ravel() if p >= 0.25)
    assert drawn.count("stroke-dasharray") == 4
    assert drawn.count("aboient</text>") == 2
    widths = [float(w) for w in re.findall(r'stroke-width="([\d.]+)" opacity', drawn)]
    assert max(widths) == pytest.approx(0.6 + 1.4 * 0.9, abs=0.01)


def test_labels_are_added_up_and_shapes_checked() -> None:
    labelled = np.stack((0.5 * AFTER, 0.5 * AFTER), axis=2)
    assert draw_arc_posteriors(X, {"": labelled}) == draw_arc_posteriors(X, {"": AFTER})
    with pytest.raises(DataError, match=r"not \(3, 3\)"):
        draw_arc_posteriors(X, {"EM": np.zeros((3, 3))})
    with pytest.raises(DataError, match="no posteriors"):
        draw_arc_posteriors(X, {})
