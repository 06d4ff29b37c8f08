"""Figures: the course of a fit, and the probabilities of labels before and after rules. They need matplotlib."""

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import pairwise
from os import PathLike, fspath
from os.path import splitext
from typing import Any

from ..data.source import open_for_writing
from ..errors import DataError, NotSupported
from ..records import Curve
from .posteriors import Effect, Posteriors, Table, posteriors_of
from .text import token_text
from .training_curves import Course, course_of

_ENDINGS = (".png", ".pdf", ".svg")
_BLUE, _ORANGE, _GREY = "#1f5fa8", "#d9730d", "#666666"
# Inches of a token's row, of a label's column, of a line of text; characters of a token and of a rule.
_ROW, _COLUMN, _LINE = 0.2, 0.27, 0.19
_WORD, _RULE = 20, 70
# Rules listed below the tables, and points up to which each is marked.
_LISTED, _MARKED = 10, 40
_DOTS = 150
_MOST_PIXELS = 30_000


def draw_training(model: Any, path: str | PathLike[str]) -> None:
    """Draw the course of a fit, round by round, into a file.

    The figure shows the objective and, where there are rules, how much they are missed.

    Parameters
    ----------
    model : learner
        A fitted learner of any kind that goes in steps.
    path : str or path-like
        The file to write; its ending (.png, .pdf, .svg) says what is written.
    """
    require_figure(path)
    course = course_of(model)
    around = f" around {type(model.base).__name__}" if model.base is not None else ""
    rules = len(model.rules or ())
    more = f", {rules} rule{'s' * (rules != 1)}" if rules else ""
    _write(_course_figure(course, type(model).__name__ + around + more), path)


def draw_posteriors(
    model: Any, x: Sequence[Any], path: str | PathLike[str], *, gold: Sequence[Any] | None = None
) -> None:
    """Draw the probability of every label at every token of a sequence into a file.

    For a model with rules, the probabilities before and after them are drawn, and the rules that made a difference are
    listed with their prices.

    Parameters
    ----------
    model : learner
        A fitted learner.
    x : sequence
        One input sequence.
    path : str or path-like
        The file to write; its ending (.png, .pdf, .svg) says what is written.
    gold : sequence or None, default=None
        Gold labels of the tokens, which are framed in the figure.
    """
    require_figure(path)
    found = posteriors_of(model, x)
    if gold is not None and len(gold) != len(x):
        raise DataError(f"expected a gold label for each of the {len(x)} tokens, got {len(gold)}")
    _write(_posterior_figure(found, gold), path)


def require_figure(path: str | PathLike[str]) -> None:
    """Raise if matplotlib is missing, or if the path does not say what kind of figure it is to be."""
    if find_spec("matplotlib") is None:
        raise NotSupported("figures need matplotlib, which is not there; pip install 'sidelight[figures]'")
    if splitext(fspath(path))[1].lower() not in _ENDINGS:
        raise DataError(f"{fspath(path)}: expected the name of a figure, ending in {', '.join(_ENDINGS)}")


def _write(figure: Any, path: str | PathLike[str]) -> None:
    kind = splitext(fspath(path))[1].lower().removeprefix(".")
    dots = min(_DOTS, _MOST_PIXELS / max(figure.get_size_inches()))
    with open_for_writing(path, binary=True) as file, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # a box stands for what the font lacks
        figure.savefig(file, format=kind, dpi=dots)


# The course of a fit ---------------------------------------------------------------------------------------------


def _course_figure(course: Course, title: str) -> Any:
    """Curves one below the other."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    count = len(course.curves)
    figure = Figure(figsize=(7.0, 0.8 + 2.0 * count), layout="constrained")
    figure.suptitle(title, fontsize=11, parse_math=False)
    panels = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
    for axes, curve in zip(panels, course.curves, strict=True):
        _draw_curve(axes, course, curve)
    panels[-1].set_xlabel(course.unit)
    panels[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def _draw_curve(axes: Any, course: Course, curve: Curve) -> None:
    size = 3.5 if len(course.steps) <= _MARKED else 1.5
    is_objective = curve.title.startswith("objective")
    for (name, values), colour in zip(curve.lines.items(), (_BLUE, _ORANGE), strict=False):
        # Objectives at different temperatures are not the same function: no line joins them.
        edges = [0, *(course.breaks if is_objective else ()), len(values)]
        for a, b in pairwise(edges):
            label = name if a == 0 else None
            axes.plot(course.steps[a:b], values[a:b], marker="o", markersize=size, color=colour, label=label)
    for at in course.breaks:
        axes.axvline(course.steps[at] - 0.5, color=_GREY, linewidth=0.5, alpha=0.5)
    axes.set_title(curve.title, fontsize=9, loc="left")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.margins(x=0.02)
    if curve.logarithmic:
        axes.set_yscale("log")
    else:
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
        if not is_objective:
            axes.set_ylim(0, 1.1 * max(map(max, curve.lines.values())) or 1)
    if len(curve.lines) > 1:
        axes.legend(fontsize=8, frameon=False)


# Posteriors ------------------------------------------------------------------------------------------------------


def _posterior_figure(found: Posteriors, gold: Sequence[Any] | None) -> Any:
    """Tables side by side, and the rules below."""
    from matplotlib.figure import Figure

    lines = _rule_lines(found)
    wide = max(_COLUMN * len(found.classes), 1.6)
    high, below = max(_ROW * len(found.tokens), 1.0), _LINE * len(lines)
    names = 0.075 * max(map(len, found.classes)) + 0.1
    size = (2.6 + len(found.tables) * (wide + 0.2), high + below + names + 1.0)
    figure = Figure(figsize=(max(size[0], 8.0 if lines else 4.0), size[1]), layout="constrained")
    figure.suptitle(_legend(found, gold), fontsize=8, color=_GREY)
    grid = figure.add_gridspec(2, len(found.tables), height_ratios=(high + names, max(below, 0.01)))
    first = None
    for number, table in enumerate(found.tables):
        axes = figure.add_subplot(grid[0, number], sharey=first)
        image = _draw_table(axes, found, table, gold)
        first = first or axes
    _name_tokens(first, found)
    bar = figure.colorbar(image, ax=figure.axes, shrink=min(1.0, 3.0 / high), aspect=25, pad=0.01)
    bar.ax.tick_params(labelsize=8)
    bar.set_label("probability", fontsize=8)
    text = figure.add_subplot(grid[1, :])
    text.axis("off")
    text.text(0.0, 1.0, "\n".join(lines), fontsize=7.5, family="monospace", va="top", parse_math=False,
              transform=text.transAxes)  # fmt: skip
    return figure


def _legend(found: Posteriors, gold: Sequence[Any] | None) -> str:
    parts = ["dots: best labels"]
    parts += ["frames: gold labels"] if gold else []
    parts += ["orange words: the rules changed the label"] if found.changed else []
    return "; ".join(parts)


def _draw_table(axes: Any, found: Posteriors, table: Table, gold: Sequence[Any] | None) -> Any:
    """A heat map with the best labels dotted and the gold ones framed.

    Lines, dots and frames are one artist each: one for each token takes seconds where there are hundreds of them.
    """
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    image = axes.imshow(table.chance, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest")
    number = {label: k for k, label in enumerate(found.classes)}
    best = [number[label] for label in table.labels]
    axes.scatter(best, range(len(best)), s=9, color="white", edgecolors="black", linewidths=0.6, zorder=3)
    framed = [(number[label], t) for t, label in enumerate(gold or ()) if isinstance(label, str) and label in number]
    frames = [Rectangle((k - 0.5, t - 0.5), 1, 1) for k, t in framed]
    axes.add_collection(PatchCollection(frames, facecolor="none", edgecolor=_ORANGE, linewidth=1.2, zorder=2))
    axes.set_title(table.title, fontsize=10)
    axes.set_xticks(range(len(found.classes)))
    axes.set_xticklabels(found.classes, rotation=60, ha="right", rotation_mode="anchor", fontsize=8, parse_math=False)
    axes.set_yticks([])
    ends = (-0.5, len(found.tokens) - 0.5), (-0.5, len(found.classes) - 0.5)
    axes.vlines([k + 0.5 for k in range(len(found.classes) - 1)], *ends[0], color="0.9", linewidth=0.4, zorder=1)
    axes.hlines([t + 0.5 for t in range(len(found.tokens) - 1)], *ends[1], color="0.9", linewidth=0.4, zorder=1)
    return image


def _name_tokens(axes: Any, found: Posteriors) -> None:
    """Words beside the rows, in orange where the rules changed the best label."""
    words, changed = [_cut(token_text(token), _WORD) for token in found.tokens], set(found.changed)
    place, wide = axes.get_yaxis_transform(), 0.6 * max(map(len, words))
    for t, name in enumerate(words):
        text = axes.text(
            -0.03, t, name, transform=place, ha="right", va="center_baseline", fontsize=8, parse_math=False
        )
        if t in changed:
            text.set(color=_ORANGE, fontweight="bold")
        text.set_in_layout(len(name) >= wide)  # hundreds of short ones would take seconds


def _rule_lines(found: Posteriors) -> list[str]:
    """A line for each rule with a price, the dearest first."""
    if len(found.tables) == 1:
        return []
    dear = sorted((e for e in found.effects if e.price is None or abs(e.price) >= 0.005), key=_dearness, reverse=True)
    if not dear:
        return ["No rule has a price here: the rules change nothing."]
    shown = dear[:_LISTED]
    width = max(len(_cut(e.rule, _RULE)) for e in shown)
    lines = [f"{'rule':{width}}  {found.cost:>7}  {found.measure} before -> after"]
    lines += [f"{_cut(e.rule, _RULE):{width}}  {_price(e.price):>7}  {_amounts(e)}" for e in shown]
    if dear[_LISTED:]:
        lines.append(f"and {len(dear) - _LISTED} more")
    return lines


def _dearness(effect: Effect) -> float:
    return float("inf") if effect.price is None else abs(effect.price)


def _price(price: float | None) -> str:
    return "hard" if price is None else f"{price:.2f}"


def _amounts(effect: Effect) -> str:
    if effect.before is None or effect.after is None:
        return effect.bound
    bound = f"  ({effect.bound})" if effect.bound else ""
    return f"{effect.before:.2f} -> {effect.after:.2f}{bound}"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
