"""Progress of long fits: a bar where a terminal is attached, log lines elsewhere, nothing if not asked.

What takes more than a few seconds says how much longer it will take, where that can be told: by the steps that are
left, or by how fast a certificate nears its tolerance.
"""

import logging
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf, isfinite, log, nan
from time import perf_counter
from typing import Protocol

logger = logging.getLogger("sidelight")
# Nothing is said of the time left in the first seconds; it is told by this many steps at most.
_QUIET, _STEPS = 3.0, 20


class Tell(Protocol):
    """Says how far something is."""

    def __call__(self, done: int, message: str, far: float = nan) -> None:
        """done: steps so far; far: how many times its tolerance a certificate is, where the end is not known."""
        ...


class TimeLeft:
    """An estimate of the seconds that are left, by the last steps; nan before there is any."""

    def __init__(self, total: int | None, clock: Callable[[], float] = perf_counter) -> None:
        self._total, self._clock, self._begin = total, clock, clock()
        self._steps: deque[tuple[float, float]] = deque(maxlen=_STEPS)  # times, and what was left then

    def after(self, done: int, far: float = nan) -> float:
        """Returns the estimate after a step.

        What is left are steps or, where their number is not known, powers of e by which a certificate is to fall: it
        falls about geometrically.
        """
        left = log(far) if far > 0.0 else nan
        left = max(left, 0.0) if self._total is None else float(self._total - done)
        now = self._clock()
        if isfinite(left):
            self._steps.append((now, left))
        if len(self._steps) < 2 or now - self._begin < _QUIET:
            return nan
        (first, before), (last, after) = self._steps[0], self._steps[-1]
        pace = (before - after) / (last - first) if last > first else 0.0
        return max(after / pace - (now - last), 0.0) if pace > 0.0 else nan


def in_words(seconds: float) -> str:
    """Returns a time left as people say it: "12 s", "3 min", "2.5 h"."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _said(seconds: float) -> str:
    return f"about {in_words(seconds)} left" if isfinite(seconds) else ""


@contextmanager
def progress(title: str, total: int | None, verbose: bool) -> Iterator[Tell]:
    """Yields what is to be called after each step. `total` None means that the end is not known beforehand."""
    remaining = TimeLeft(total)
    if not verbose:
        yield lambda done, message, far=nan: None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(title, total=total, note="", left="")

            def update(done: int, message: str, far: float = nan) -> None:
                bar.update(task, completed=done, note=message, left=_said(remaining.after(done, far)))

            yield update
    else:
        _attach()
        of = "" if total is None else f"/{total}"

        def say(done: int, message: str, far: float = nan) -> None:
            left = _said(remaining.after(done, far))
            logger.info("%s %d%s: %s", title, done, of, f"{message}, {left}" if left else message)

        yield say


class AddRow(Protocol):
    """Adds a row to a table that grows."""

    def __call__(self, cells: Sequence[str], left: float = inf) -> None:
        """left: seconds that all rows after it take at most."""
        ...


@contextmanager
def growing_table(title: str, columns: Sequence[str], verbose: bool) -> Iterator[AddRow]:
    """Yields what adds a row: a table that grows where a terminal is attached, a line for each row elsewhere."""
    if not verbose:
        yield lambda cells, left=inf: None
    elif sys.stderr.isatty():
        from rich import box
        from rich.console import Console
        from rich.live import Live
        from rich.table import Table

        table = Table(*columns, title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False)
        with Live(table, console=Console(stderr=True), auto_refresh=False) as live:

            def add(cells: Sequence[str], left: float = inf) -> None:
                table.add_row(*cells)
                table.caption = _at_most(left)
                live.refresh()

            yield add
            table.caption = None
    else:
        _attach()

        def line(cells: Sequence[str], left: float = inf) -> None:
            logger.info("%s: %s", title, ", ".join(filter(None, (*cells, _at_most(left)))))

        yield line


def _at_most(seconds: float) -> str:
    return f"at most {in_words(seconds)} left for others" if _QUIET < seconds < inf else ""


def _attach() -> None:
    """Let log lines be seen."""
    if not logger.hasHandlers():
        logger.addHandler(_CurrentStderr())
    logger.setLevel(min(logger.level or logging.INFO, logging.INFO))


class _CurrentStderr(logging.Handler):
    """Writes to whatever standard error is at the time."""

    def emit(self, record: logging.LogRecord) -> None:
        print(record.getMessage(), file=sys.stderr)
