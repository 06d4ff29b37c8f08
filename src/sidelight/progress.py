"""Progress of long fits: a bar where a terminal is attached, log lines elsewhere, nothing if not asked."""

import logging
import sys
from collections.abc import Callable, Iterator
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
        if not log.hasHandlers():
            log.addHandler(_CurrentStderr())
        log.setLevel(min(log.level or logging.INFO, logging.INFO))
        yield lambda done, message: log.info("%s %d%s: %s", title, done, "" if total is None else f"/{total}", message)


class _CurrentStderr(logging.Handler):
    """Writes to whatever standard error is at the time."""

    def emit(self, record: logging.LogRecord) -> None:
        print(record.getMessage(), file=sys.stderr)
