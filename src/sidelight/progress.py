"""Progress of long fits: a bar where a terminal is attached, log lines elsewhere, nothing if not asked."""

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

log = logging.getLogger("sidelight")


@contextmanager
def progress(title: str, total: int | None, verbose: bool) -> Iterator[Callable[[int, str], None]]:
    """Yields `tell(done, message)`. `total` None means that the end is not known beforehand."""
    if not verbose:
        yield lambda done, message: None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(title, total=total, note="")
            yield lambda done, message: bar.update(task, completed=done, note=message)
    else:
        _attach()
        yield lambda done, message: log.info("%s %d%s: %s", title, done, "" if total is None else f"/{total}", message)


@contextmanager
def growing_table(title: str, columns: Sequence[str], verbose: bool) -> Iterator[Callable[[Sequence[str]], None]]:
    """Yields `add(cells)`: a table that grows where a terminal is attached, a line for each row elsewhere."""
    if not verbose:
        yield lambda cells: None
    elif sys.stderr.isatty():
        from rich import box
        from rich.console import Console
        from rich.live import Live
        from rich.table import Table

        table = Table(*columns, title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False)
        with Live(table, console=Console(stderr=True), auto_refresh=False) as live:

            def add(cells: Sequence[str]) -> None:
                table.add_row(*cells)
                live.refresh()

            yield add
    else:
        _attach()
        yield lambda cells: log.info("%s: %s", title, ", ".join(filter(None, cells)))


def _attach() -> None:
    """Let log lines be seen."""
    if not log.hasHandlers():
        log.addHandler(_CurrentStderr())
    log.setLevel(min(log.level or logging.INFO, logging.INFO))


class _CurrentStderr(logging.Handler):
    """Writes to whatever standard error is at the time."""

    def emit(self, record: logging.LogRecord) -> None:
        print(record.getMessage(), file=sys.stderr)
