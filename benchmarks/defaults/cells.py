"""Scores of learners by task, number of labelled sequences and seed, and tables of their means."""

import json
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
# Task, labelled sequences, seed, learner, and whether some rules are false.
Key = tuple[str, int, int, str, bool]


class Cells:
    """Scores that are measured, task by task; those in the setting's file of cells are not measured again.

    misled: whether some of the rules that learners are given are false.
    """

    def __init__(self, setting: Setting, report: Report, *, misled: bool = False) -> None:
        self._setting, self._report, self._misled = setting, report, misled
        self._found: dict[Key, tuple[float, float]] = {}
        if setting.cells is not None and setting.cells.exists():
            for line in setting.cells.read_text().splitlines():
                *key, score, seconds = json.loads(line)
                self._found[tuple(key)] = score, seconds

    def measure(self, task: Task, fits: Mapping[str, Fit]) -> None:
        """Every count and seed of a task; what is done is noted at once."""
        data = task.read(self._setting.data)
        classes = sorted({label for labels in data[1] for label in labels})
        for count in task.counts:
            for seed in self._setting.seeds:
                draw = task.draw(data, count, seed)
                for name, fit in fits.items():
                    key = (task.name, count, seed, name, self._misled)
                    if key not in self._found:
                        self._keep(key, *self._score(task, draw, lambda draw, fit=fit: fit(draw, classes)))
            cells = (f"{name} {self.mean(task, count, name):.1f} ({self._seconds(task, count, name)})" for name in fits)
            self._report.note(f"{task.name} ({task.metric}), {count} labelled: {'; '.join(cells)}")

    @staticmethod
    def _score(task: Task, draw: Draw, fit: Callable[[Draw], Any]) -> tuple[float, float]:
        begin = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            score = task.score(draw.test_y, fit(draw).predict(draw.test_X))
        return score, perf_counter() - begin

    def _keep(self, key: Key, score: float, seconds: float) -> None:
        self._found[key] = score, seconds
        if self._setting.cells is not None:
            with self._setting.cells.open("a") as lines:
                lines.write(json.dumps([*key, score, seconds]) + "\n")

    def _all(self, task: Task, count: int, name: str) -> list[tuple[float, float]]:
        return [self._found[task.name, count, seed, name, self._misled] for seed in self._setting.seeds]

    def mean(self, task: Task, count: int, name: str) -> float:
        """Mean over the seeds."""
        return fmean(score for score, _ in self._all(task, count, name))

    def _seconds(self, task: Task, count: int, name: str) -> str:
        return f"{fmean(seconds for _, seconds in self._all(task, count, name)):.1f} s"

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
