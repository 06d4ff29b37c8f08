"""Figures are written as a whole, whatever the words are, and say what is missing."""

import os
import sys
from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sidelight import (
    CRF,
    HMM,
    DataError,
    NotSupported,
    changes_only_after,
    draw_posteriors,
    draw_training,
    few_labels,
    generate_references,
    punctuation,
    share,
    starts_with,
    where,
    word,
)
from sidelight.report import figures
from sidelight.report.posteriors import posteriors_of
from sidelight.report.training_curves import course_of
from tests.learners.as_published import PosteriorRegularization, UnifiedEM

X, y = generate_references(40, seed=2)
HALF = [labels if i < 15 else None for i, labels in enumerate(y)]
RULES = [
    starts_with("author", "editor"),
    changes_only_after(punctuation),
    where(word.lower().isin("pp", "pages")).label("pages"),
]
ODD = ["$x", "^", "$", "\\frac", "", "東京", "a" * 60, "%", "_{", "."]


@pytest.fixture(scope="module")
def model():
    return PosteriorRegularization(HMM(), RULES, iterations=3, decode="projected", penalty=10.0).fit(X, HALF)


@pytest.mark.parametrize(("ending", "start"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".SVG", b"<?xml")])
def test_kinds_of_files(model, tmp_path, ending, start):
    pytest.importorskip("matplotlib")
    draw_training(model, tmp_path / f"fit{ending}")
    draw_posteriors(model, X[0], tmp_path / f"posteriors{ending}", gold=y[0])
    for name in ("fit", "posteriors"):
        assert (tmp_path / f"{name}{ending}").read_bytes().startswith(start)
    assert len(os.listdir(tmp_path)) == 2


@pytest.mark.filterwarnings("error")
def test_any_words(model, tmp_path):
    pytest.importorskip("matplotlib")
    odd = CRF(["word"], classes=["$a", "b_$", "c"]).fit([["x", "y"]], [["$a", "b_$"]])
    for number, (learner, x, gold) in enumerate([(model, ODD, None), (model, ["one"], None), (odd, ["x"], [None])]):
        path = tmp_path / f"{number}.png"
        draw_posteriors(learner, x, path, gold=gold)
        assert path.read_bytes().startswith(b"\x89PNG")
        figure = figures._posterior_figure(posteriors_of(learner, x), gold)
        assert names_of(figure) == [token if len(token) <= 20 else token[:19] + "…" for token in x]
        assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == learner.classes_


def test_a_long_sequence_has_as_few_artists(model):
    """What is not a word is drawn together, so that a sequence of hundreds of tokens takes seconds."""
    pytest.importorskip("matplotlib")
    x, gold = X[0] * 30, y[0] * 30
    short, long = (figures._posterior_figure(posteriors_of(model, x[:n]), gold[:n]) for n in (20, len(x)))
    assert names_of(long) == [*x]
    for one, other in zip(short.axes, long.axes, strict=True):
        assert len(other.get_children()) - len(other.texts) == len(one.get_children()) - len(one.texts)
        assert len(other.get_yticks()) == len(one.get_yticks())
    considered = [text for text in long.axes[0].texts if text.get_in_layout()]
    assert max(map(len, x)) == max(len(text.get_text()) for text in considered)
    assert len(considered) < len(x) / 2


def names_of(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_what_the_pictures_say(model):
    pytest.importorskip("matplotlib")
    course = course_of(model)
    figure = figures._course_figure(course, "title")
    assert [axes.get_title(loc="left") for axes in figure.axes] == [curve.title for curve in course.curves]
    assert figure.axes[1].lines[0].get_ydata().tolist() == [step.slack for step in model.trace_]
    found = posteriors_of(model, X[20])
    figure = figures._posterior_figure(found, y[20])
    first, second = figure.axes[:2]
    assert names_of(figure) == X[20]
    assert [text.get_text() for text in second.get_xticklabels()] == model.classes_
    for axes, table in zip((first, second), found.tables, strict=True):
        assert (axes.images[0].get_array() == table.chance).all()
        dots = axes.collections[0].get_offsets()[:, 0].astype(int)
        assert [model.classes_[k] for k in dots] == table.labels
        assert len(axes.collections[1].get_paths()) == len(y[20])
    (text,) = [text.get_text() for axes in figure.axes[1:] for text in axes.texts]
    assert all(e.rule in text for e in found.effects if abs(e.price) >= 0.01)


@pytest.mark.parametrize(
    "learner",
    [
        UnifiedEM(HMM(), RULES, gamma=0.0, iterations=1),
        UnifiedEM(HMM(), RULES, gamma=-np.inf, iterations=1),
        PosteriorRegularization(HMM(), [few_labels(word)], iterations=1, tolerance=0.1),
        PosteriorRegularization(HMM(), [share("title") == 0.3], norm="l2", iterations=1),
    ],
    ids=lambda m: str(m)[:50],
)
def test_learners_without_a_price_for_each_rule(learner):
    """They have one table, that of the model."""
    found = posteriors_of(learner.fit(X, HALF), X[20])
    assert [table.title for table in found.tables] == ["probabilities"]
    np.testing.assert_allclose(found.tables[0].chance, learner.predict_marginals([X[20]])[0])
    assert found.effects == []


def test_nothing_overlaps(model):
    """Words and labels stay inside the figure, and the rows of words do not touch."""
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    x = max(X, key=len)[:40]
    figure = figures._posterior_figure(posteriors_of(model, x), None)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    width, height = canvas.get_width_height()
    words = [text.get_window_extent() for text in figure.axes[0].texts]
    assert all(box.x0 >= 0 for box in words)
    assert all(upper.y0 >= lower.y0 + 0.9 * lower.height for upper, lower in pairwise(words))
    labels = [text for axes in figure.axes[:2] for text in axes.get_xticklabels()]
    (rules,) = [text for axes in figure.axes[1:] for text in axes.texts]
    for box in (text.get_window_extent() for text in (*labels, rules)):
        assert 0 <= box.y0 <= box.y1 <= height
        assert box.x1 <= width
    assert rules.get_window_extent().y1 <= min(text.get_window_extent().y0 for text in labels)


def test_wrong_paths(model, tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(DataError, match=r"expected the name of a figure, ending in \.png, \.pdf, \.svg"):
        draw_training(model, tmp_path / "fit.jpg")
    with pytest.raises(DataError, match="its folder does not exist"):
        draw_training(model, tmp_path / "no" / "fit.png")
    (tmp_path / "old.png").write_bytes(b"old")
    with pytest.raises(NotSupported, match="by counting"):
        draw_training(HMM().fit(X, y), tmp_path / "old.png")
    assert (tmp_path / "old.png").read_bytes() == b"old"


def test_what_cannot_be_drawn(model, tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(DataError, match=f"a gold label for each of the {len(X[0])} tokens, got 1"):
        draw_posteriors(model, X[0], tmp_path / "f.png", gold=["author"])
    with pytest.raises(NotFittedError):
        draw_training(PosteriorRegularization(HMM()), tmp_path / "f.png")
    assert not os.listdir(tmp_path)


def test_without_matplotlib(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(figures, "find_spec", lambda name: None)
    with pytest.raises(NotSupported, match=r"pip install 'sidelight\[figures\]'"):
        draw_training(model, tmp_path / "fit.png")
    assert os.listdir(tmp_path) == []
