"""Scores of learners by task, number of labelled sequences and seed, and tables of their means."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from time import perf_counter
from typing import Any

from ..report import Report
from ..setting import Setting
from .tasks import Draw, Task

# Gives a fitted learner for a draw and all labels of its task.
Fit = Callable[[Draw, list[str]], Any]


class Cells:
    """Scores that are measured, task by task."""

    def __init__(self, setting: Setting, report: Report) -> None:
        self._setting, self._report = setting, report
        self._scores: dict[tuple[str, int, str], list[float]] = {}

    def measure(self, task: Task, fits: Mapping[str, Fit]) -> None:
        """Every count and seed of a task; what is done is noted at once."""
        data = task.read(self._setting.data)
        classes = sorted({label for labels in data[1] for label in labels})
        for count in task.counts:
            spent = dict.fromkeys(fits, 0.0)
            for seed in self._setting.seeds:
                draw = task.draw(data, count, seed)
                for name, fit in fits.items():
                    begin = perf_counter()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        found = task.score(draw.test_y, fit(draw, classes).predict(draw.test_X))
                    spent[name] += perf_counter() - begin
                    self._scores.setdefault((task.name, count, name), []).append(found)
            cells = (f"{name} {self.mean(task, count, name):.1f} ({spent[name]:.0f} s)" for name in fits)
            self._report.note(f"{task.name} ({task.metric}), {count} labelled: {'; '.join(cells)}")

    def mean(self, task: Task, count: int, name: str) -> float:
        """Mean over the seeds."""
        return fmean(self._scores[task.name, count, name])

    def print(self, tasks: Sequence[Task], bases: Mapping[str, str | None], below: float) -> None:
        """All means as a table in Markdown; a learner that is further `below` its base than this is in bold.

        bases: the learners in order, each with that which it is compared with.
        """
        head = [f"{task.name}, {' / '.join(map(str, task.counts))}" for task in tasks]
        lines = [f"| learner | {' | '.join(head)} |", f"|---|{'---|' * len(head)}"]
        for name, base in bases.items():
            row = []
            for task in tasks:
                values = [(self.mean(task, n, name), base and self.mean(task, n, base)) for n in task.counts]
                row.append(" / ".join(f"**{v:.1f}**" if b and v < b - below else f"{v:.1f}" for v, b in values))
            lines.append(f"| {name} | {' | '.join(row)} |")
        self._report.note("\n".join(lines))
