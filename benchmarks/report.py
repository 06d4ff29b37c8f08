"""Results as a table for readers and as JSON lines for programs."""

import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

PACKAGES = ("sidelight", "numpy", "numba", "python-crfsuite", "sklearn-crfsuite")
RATIO = "×"
AT_MOST, AT_LEAST = "≤", "≥"
_VERSUS = " / "
_QUOTED = "quoted: "
_DECIMALS = {"s": 3, "nats": 1, "loss": 1, "bits": 3, "labels": 2, "ξ²": 3, "%": 2, "% above": 3, "score": 9, RATIO: 3}


@dataclass(frozen=True)
class Result:
    """One number: `value` of `what` for `system`; met if it is at most the target, or at least, as `bound` says."""

    benchmark: str
    what: str
    system: str
    value: float
    unit: str
    deviation: float | None = None
    target: float | None = None
    met: bool | None = None
    bound: str | None = None
    section: str = ""
    data: str = ""

    def __str__(self) -> str:
        spread = "" if self.deviation is None else f" ± {_number(self.deviation, self.unit)}"
        return f"{_number(self.value, self.unit)}{spread} {self.unit}".strip()


@dataclass
class Report:
    """Collects the results of one benchmark; every result goes to the file at once, so a broken run keeps them.

    data: the data set that is scored, and which part of it; small: whether sizes are cut down (`small`).
    """

    benchmark: str
    split: str
    seeds: tuple[int, ...]
    file: Path | None = None
    console: Console = field(default_factory=lambda: Console(width=None if sys.stdout.isatty() else 140))
    results: list[Result] = field(default_factory=list)
    data: str = ""
    small: bool = False
    _section: str = ""

    def add(
        self,
        what: str,
        system: str,
        value: float,
        unit: str,
        *,
        deviation: float | None = None,
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> None:
        """Record one number."""
        target, bound, met = None, None, None
        if at_most is not None:
            target, bound, met = at_most, AT_MOST, bool(value <= at_most)
        elif at_least is not None:
            target, bound, met = at_least, AT_LEAST, bool(value >= at_least)
        result = Result(
            self.benchmark, what, system, float(value), unit, deviation, target, met, bound, self._section, self.data
        )
        self.results.append(result)
        if self.file:
            with self.file.open("a") as lines:
                lines.write(json.dumps(self._flat(result), ensure_ascii=False) + "\n")

    def compare(
        self, what: str, unit: str, ours: float, theirs: float | None, *, peer: str, at_most: float | None = None
    ) -> None:
        """Record both numbers and the ratio ours / theirs, or ours alone where there is no peer."""
        self.add(what, "sidelight", ours, unit)
        if theirs is not None:
            self.add(what, peer, theirs, unit)
            self.add(what, f"sidelight{_VERSUS}{peer}", ours / theirs, RATIO, at_most=at_most)

    def note(self, text: str) -> None:
        """Tell the reader something beside the numbers."""
        self.console.print(text, style="dim", highlight=False, markup=False)

    @contextmanager
    def section(self, title: str, data: str | None = None) -> Iterator[None]:
        """Results of a table of their own, printed at the end of the block; data: what is scored, if it is other."""
        usual = self.data
        self._section, self.data = title, usual if data is None else data
        try:
            yield
        finally:
            self._section, self.data = "", usual
        self._print(title, [r for r in self.results if r.section == title])

    def show(self) -> None:
        """Print the table of the results outside of sections."""
        rest = [r for r in self.results if not r.section]
        if rest or not self.results:
            self._print(self.benchmark, rest)

    def _print(self, title: str, results: list[Result]) -> None:
        scored = "; ".join(dict.fromkeys(r.data for r in results if r.data)) or self.split
        self.console.print(table(f"{title} ({scored}; seeds {', '.join(map(str, self.seeds))})", results))

    def _flat(self, result: Result) -> dict[str, Any]:
        run = {"split": self.split, "seeds": ",".join(map(str, self.seeds)), "small": self.small}
        return {**asdict(result), **run, **environment()}


def table(title: str, results: Iterable[Result]) -> Table:
    """A row for each thing measured, a column for each system, and one for ratios."""
    results = list(results)
    columns = list(dict.fromkeys(map(_column, results)))
    judged = {r.what: r for r in results if r.target is not None}
    caption = "measured in this run"
    if any(column.startswith(_QUOTED) for column in columns):
        caption = "quoted: not measured in this run, and on other data or another split of it; all others: " + caption
    out = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    out.add_column("measured")
    for column in columns:
        out.add_column(column, justify="right")
    if judged:
        out.add_column("target", justify="right")
        out.add_column("met")
    for what in dict.fromkeys(r.what for r in results):
        cells = {_column(r): str(r) for r in results if r.what == what}
        row = [what, *(cells.get(column, "") for column in columns)]
        if judged:
            row += _verdict(judged.get(what))
        out.add_row(*row)
    return out


def quoted(source: str) -> str:
    """The system that numbers of a paper or of another's run belong to."""
    return _QUOTED + source


def environment() -> dict[str, Any]:
    """Versions and machine, flat."""
    return {
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def seconds(work: Callable[[], Any]) -> float:
    """How long it takes."""
    started = perf_counter()
    work()
    return perf_counter() - started


def _column(result: Result) -> str:
    return "ratio" if _VERSUS in result.system else result.system


def _verdict(result: Result | None) -> list[str]:
    if result is None or result.target is None:
        return ["", ""]
    return [
        f"{result.bound} {_number(result.target, result.unit)} {result.unit}",
        "[green]yes" if result.met else "[red]no",
    ]


def _number(value: float, unit: str) -> str:
    return f"{value:,.{_DECIMALS.get(unit, 0)}f}"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
