"""Curves as an image."""

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from .datasets import MissingData


@dataclass
class Panel:
    """What `y` names, of systems along what `x` names; logarithmic: x, and y if `logarithmic_y`.

    ticks: whether x is marked where there are points, as it is where it is logarithmic.
    """

    x: str
    logarithmic: bool = False
    y: str = "token accuracy, %"
    logarithmic_y: bool = False
    ticks: bool = False
    curves: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def add(self, system: str, x: float, y: float) -> None:
        """One more point."""
        self.curves.setdefault(system, []).append((x, y))


def require_drawing(file: Path | None) -> None:
    """A figure needs matplotlib: say so before anything is measured."""
    if file and find_spec("matplotlib") is None:
        raise MissingData("--figure needs matplotlib; pip install 'sidelight[bench]', or leave --figure out")


def draw(panels: dict[str, Panel], file: Path) -> None:
    """Panels side by side, by title; the same panels make the same .svg, whenever they are drawn."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # Several panels with the same systems have one legend.
    shared = len(panels) > 1 and len({tuple(panel.curves) for panel in panels.values()}) == 1
    shown = Figure(figsize=(6 * max(len(panels), 1), 4), layout="constrained")
    for number, (title, panel) in enumerate(panels.items(), start=1):
        axes = shown.add_subplot(1, len(panels), number)
        for system, points in panel.curves.items():
            axes.plot(*zip(*points, strict=True), marker="o", label=system)
        axes.set(title=title, xlabel=panel.x, ylabel=panel.y)
        if panel.logarithmic:
            axes.set_xscale("log", base=2)
        if panel.logarithmic or panel.ticks:
            ticks = sorted({x for points in panel.curves.values() for x, _ in points})
            axes.set_xticks(ticks, [f"{x:,}" for x in ticks])
        if panel.logarithmic_y:
            axes.set_yscale("log")
        axes.grid(alpha=0.3)
        if not shared:
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=min(len(panel.curves), 3), frameon=False)
    if shared:
        shown.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    with rc_context({"svg.hashsalt": "sidelight", "svg.fonttype": "none"}):
        shown.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
