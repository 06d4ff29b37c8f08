"""The benchmark of defaults: draws, false rules, cells that are kept, and peers that are given the same knowledge."""

import io
from dataclasses import replace
from math import ceil
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmarks import defaults
from benchmarks.defaults import peers, penalties
from benchmarks.defaults.cells import Cells
from benchmarks.defaults.learners import LEARNERS
from benchmarks.defaults.tasks import TASKS, Task
from benchmarks.report import Report
from benchmarks.setting import Setting
from sidelight import CCM, HMM, generate_references

SMALL = replace(
    TASKS["references"], read=lambda _: generate_references(60, seed=3), counts=(4, 8), pool=10, scored=20
)  # fmt: skip


@pytest.fixture
def report() -> Report:
    return Report("defaults", "dev", (0, 1), None, Console(width=200, record=True, file=io.StringIO()))


def setting(cells: Path | None = None) -> Setting:
    return Setting(Path(), "dev", (0, 1), cells=cells)


def test_draws_are_apart_and_grow() -> None:
    data = ([[str(i)] for i in range(60)], [["A"]] * 60)
    few, many = (SMALL.draw(data, count, 0) for count in SMALL.counts)
    assert many.X[:4] == few.X
    assert (few.pool, few.test_X) == (many.pool, many.test_X)
    words = [x[0] for x in (*many.X, *many.pool, *many.test_X)]
    assert len(words) == len(set(words)) == 8 + 10 + 20


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)
def test_a_third_of_the_rules_is_replaced(task: Task) -> None:
    rules, misled = task.rules(), defaults.misled(task)
    titles = {rule.title for rule in rules}
    wrong = [rule for rule in misled if rule.title not in titles]
    assert len(misled) == len(rules)
    assert len(wrong) == ceil(len(rules) / 3)


def test_estimates_of_penalties() -> None:
    data = SMALL.read(Path())
    classes = sorted({label for labels in data[1] for label in labels})
    draw, rules = SMALL.draw(data, 8, 0), SMALL.rules()
    found = {name: fit(draw, classes).penalties_ for name, fit in penalties.fits(rules).items() if "HMM" in name}
    odds = found["CCM(HMM), log-odds"]
    usual = CCM(HMM(classes=classes), rules, guard=False).fit(draw.X, draw.y)
    np.testing.assert_allclose(found["CCM(HMM), 1.5 times"], usual.penalties_)
    np.testing.assert_allclose(found["CCM(HMM), twice"], 2 * odds)
    assert not found["CCM(HMM), no rules"].any()
    held, gold = penalties.HeldOut(usual, draw), penalties.broken(usual, draw.X, draw.y)
    never = held.broken(np.zeros_like(odds)) == 0  # the model keeps to these rules without any penalty
    places = usual.task_.compiled(rules, draw.X, usual.labels_).places
    assert (found["CCM(HMM), odds ratio"][never & (places > 0)] < odds[never & (places > 0)]).all()
    missed = [np.abs(held.broken(found[f"CCM(HMM), {name}"]) - gold).sum() for name in ("matched", "no rules")]
    assert missed[0] < missed[1]


def test_cells_are_measured_once(tmp_path: Path, report: Report) -> None:
    fits: list[int] = []

    def fit(draw, classes):  # type: ignore[no-untyped-def]
        fits.append(len(draw.X))
        return HMM(classes=classes).fit(draw.X, draw.y)

    for _ in range(2):
        cells = Cells(setting(tmp_path / "cells"), report)
        cells.measure(SMALL, {"HMM": fit})
    assert fits == [4, 4, 8, 8]
    assert 30 < cells.mean(SMALL, 4, "HMM") < 100
    Cells(setting(tmp_path / "cells"), report, misled=True).measure(SMALL, {"HMM": fit})
    assert len(fits) == 8


def test_learners_below_their_base_stand_out(tmp_path: Path, report: Report) -> None:
    kept = tmp_path / "cells"
    values = {"HMM": 50.0, "worse": 49.4, "as good": 49.6}
    lines = [f'["references", {n}, {seed}, "{name}", false, {value}, 0.1]' for name, value in values.items()
             for n in (4, 8) for seed in (0, 1)]  # fmt: skip
    kept.write_text("\n".join(lines))
    Cells(setting(kept), report).print([SMALL], {"HMM": None, "worse": "HMM", "as good": "HMM"}, 0.5)
    shown = report.console.export_text()
    assert "| learner | references, 4 / 8 |" in shown
    assert "| worse | **49.4** / **49.4** |" in shown
    assert "| as good | 49.6 / 49.6 |" in shown


@pytest.mark.parametrize("name", ["CoDL(HMM)", "PosteriorRegularization(CRF)", "EM(HMM)"])
def test_learners_have_their_defaults(name: str) -> None:
    """All but the guard, which only warns, and the labels."""
    draw = SMALL.draw(SMALL.read(Path()), 8, 0)
    fitted = LEARNERS[name].fit(draw, SMALL.rules(), sorted({label for y in draw.y for label in y} | {"editor", "tech"}
                                                            | {"institution", "publisher", "note", "location"}
                                                            | {"journal", "booktitle", "volume"}))  # fmt: skip
    fresh = type(fitted)(fitted.base).get_params(deep=False)
    changed = {key for key, value in fitted.get_params(deep=False).items() if key in fresh and value != fresh[key]}
    assert changed <= {"guard", "rules"}


def test_peers_are_given_the_word_lists() -> None:
    where = peers.conditions(SMALL.rules())
    assert len(where) >= 10
    (held,) = peers.masks(where, [["Proceedings", "of", "the", "1998"]])
    found = peers.attributes(["Proceedings", "of", "the", "1998"], held)
    for token, at in zip(found, held, strict=True):
        assert [one for one in token if one.startswith("rule")] == [f"rule{k}" for k in at.nonzero()[0]]
    assert any(held[0] & ~held[1])
    only = {peers._only(rule) for rule in SMALL.rules()} - {""}
    assert {"date", "pages", "booktitle"} <= only
