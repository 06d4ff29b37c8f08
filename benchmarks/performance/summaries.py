"""Lines of results brought together: what a system took over all turns."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .cells import Cell


@dataclass(frozen=True)
class Summary:
    """A cell over all of its turns: the shortest times and the highest memory.

    line: the last of its lines, for all that is the same in every turn; turns: how many there are; wall, processor: of
    the fit; predicting: processor seconds of the prediction; peak: MB of the process, or of its largest worker, None
    where it is not known; grown: how much of that the fit and the prediction added.
    """

    cell: Cell
    line: dict[str, Any]
    turns: int
    wall: float
    processor: float
    predicting: float
    peak: float | None
    grown: float | None

    @property
    def score(self) -> float:
        """Points between 0 and 100."""
        return float(self.line["score"])

    @property
    def version(self) -> str:
        """The package, with its version."""
        return f"{self.line['package']} {self.line['version']}"


def summaries(lines: Iterable[dict[str, Any]]) -> list[Summary]:
    """One for every cell that was measured, whatever its turn."""
    found: dict[Cell, list[dict[str, Any]]] = {}
    for line in lines:
        if "missing" not in line:
            found.setdefault(Cell.of(line).without_turn, []).append(line)
    return [_summary(cell, some) for cell, some in found.items()]


def _summary(cell: Cell, lines: list[dict[str, Any]]) -> Summary:
    def least(name: str) -> float:
        return min(float(line[name]) for line in lines)

    known = [line for line in lines if line.get("peak_mb") is not None]
    grown = max((line["peak_mb"] - line["ready_mb"] for line in known), default=None)
    peak = max((max(line["peak_mb"], line.get("worker_peak_mb", 0.0)) for line in known), default=None)
    times = least("wall_s"), least("processor_s"), least("predict_processor_s")
    return Summary(cell, lines[-1], len(lines), *times, peak, grown)
