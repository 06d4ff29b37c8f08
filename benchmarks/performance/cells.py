"""One measurement: what is measured, the process that measures it, and the line of JSON that is kept."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any

from ..datasets import MissingData

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Cell:
    """A system on some data.

    labelled, unlabelled: how many inputs there are to learn from; labels: how many labels generated sequences have;
    rules: how many rules are given, None for all; workers: processes of joblib, 0 where work runs in threads; turn: all
    systems of a topic take turns, as often as the plan says.
    """

    topic: str
    system: str
    data: str
    labelled: int
    unlabelled: int = 0
    labels: int | None = None
    rules: int | None = None
    threads: int = 1
    workers: int = 0
    turn: int = 0

    @classmethod
    def of(cls, line: dict[str, Any]) -> "Cell":
        """The cell that a line is about."""
        return cls(**{one.name: line[one.name] for one in fields(cls)})

    @property
    def without_turn(self) -> "Cell":
        """The same for all turns."""
        return replace(self, turn=0)

    def __str__(self) -> str:
        more = {"unlabelled": self.unlabelled, "labels": self.labels, "rules": self.rules, "workers": self.workers}
        said = ", ".join(f"{value} {name}" for name, value in more.items() if value)
        threads = f"{self.threads} thread{'s' * (self.threads > 1)}"
        return (
            f"{self.topic}: {self.system} on {self.data}, {self.labelled} labelled, {said + ', ' * bool(said)}{threads}"
        )


class Results:
    """Lines of JSON in a file; the last line about a cell counts, unless it says that nothing was measured."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[dict[str, Any]]:
        """The lines that count, in the order in which they were measured."""
        found: dict[Cell, dict[str, Any]] = {}
        for number, text in enumerate(self.path.read_text().splitlines() if self.path.exists() else [], start=1):
            try:
                line = json.loads(text)
                cell = Cell.of(line)
            except (ValueError, KeyError, TypeError):
                advice = "delete the line, or give another file"
                raise MissingData(f"line {number} of {self.path} is no result of a measurement; {advice}") from None
            if "missing" not in line or "missing" in found.get(cell, line):
                found.pop(cell, None)
                found[cell] = line
        return list(found.values())

    def lacking(self, cells: Iterable[Cell], disturbed: float = inf) -> list[Cell]:
        """Those of the cells that were not measured, or while other processes used more than this many cores."""
        done = {
            Cell.of(line) for line in self.lines() if "missing" not in line and (line["others"] or 0.0) <= disturbed
        }
        return [cell for cell in cells if cell not in done]

    def append(self, line: dict[str, Any]) -> None:
        """Keep one more line."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as lines:
            lines.write(json.dumps(line, ensure_ascii=False) + "\n")


def measured(cell: Cell, data: Path | None) -> dict[str, Any]:
    """Measure in a process of its own, and return the line; it has `missing` where there is nothing to measure."""
    command = [sys.executable, "-m", "benchmarks.performance.process", json.dumps(asdict(cell)), str(data or "")]
    threads = {name: str(cell.threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    environment = os.environ | threads | {"PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        found: dict[str, Any] = {"missing": reason}
    else:
        found = json.loads(next(line for line in reversed(done.stdout.splitlines()) if line.startswith("{")))
    return asdict(cell) | found | {"date": datetime.now(UTC).strftime("%Y-%m-%d")}
