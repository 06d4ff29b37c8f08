"""Measures one cell in this process: `python -m benchmarks.performance.process CELL DATA` prints a line of JSON.

Before the clock starts, the system is fitted to a few inputs, so that compiled kernels are there. Seconds are of `fit`
from raw inputs, features among it, and of `predict`; processor seconds are those of all threads and of processes that
were started. Peak memory is that of the process, with its imports and data, and what was there before the fit; of
workers it is that of the largest.
"""

import json
import os
import platform
import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from ..datasets import MissingData
from ..memory import own_peak
from .cells import Cell
from .materials import read
from .systems import NotInstalled, make

_PROC = Path("/proc")


def workers() -> list[int]:
    """The processes that this one has started."""
    found = [path.read_text().split() for path in (_PROC / "self" / "task").glob("*/children")]
    return [int(pid) for some in found for pid in some]


def worker_seconds() -> float:
    """Their processor seconds."""
    ticks = 0
    for pid in workers():
        after_name = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        ticks += int(after_name[11]) + int(after_name[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def worker_peak() -> float:
    """Peak resident MB of the largest of them."""
    texts = [(_PROC / str(pid) / "status").read_text() for pid in workers()]
    peaks = [int(line.split()[1]) for text in texts for line in text.splitlines() if line.startswith("VmHWM")]
    return max(peaks, default=0) / 1024


def resident() -> float:
    """Resident MB of this process now."""
    status = _PROC / "self" / "status"
    if not status.exists():
        return own_peak()
    return int(next(line for line in status.read_text().splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def machine_seconds() -> float | None:
    """Processor seconds of all processes of the machine; None where that is not known."""
    if not (_PROC / "stat").exists():
        return None
    user, nice, system, _, _, *more = map(int, (_PROC / "stat").read_text().split("\n")[0].split()[1:8])
    return (user + nice + system + sum(more)) / os.sysconf("SC_CLK_TCK")


def timed(work: Callable[[], Any], with_workers: bool) -> tuple[Any, float, float, float | None]:
    """What the work gives, its seconds, its processor seconds, and how many cores others used meanwhile."""

    def processor() -> float:
        ended = os.times()
        of_processes = ended.children_user + ended.children_system + (worker_seconds() if with_workers else 0.0)
        return process_time() + of_processes

    whole, began, before = machine_seconds(), perf_counter(), processor()
    found = work()
    wall, own, after = perf_counter() - began, processor() - before, machine_seconds()
    others = None if whole is None or after is None else max(0.0, (after - whole - own) / wall)
    return found, wall, own, others


def measure(cell: Cell, data: Path | None) -> dict[str, Any]:
    """All that is measured of a cell."""
    material = read(cell, data)
    system, distributed = make(cell, material), cell.workers > 0
    if distributed and not (_PROC / "self" / "task").exists():
        raise MissingData("processor seconds of workers are read from /proc, which this system does not have")
    if distributed:
        from sidelight import running_on

        place: Any = running_on(f"joblib:{cell.workers}")
    else:
        place = nullcontext()
    with place:
        system.warm_up(material)
        ready = resident()
        _, wall, processor, others = timed(lambda: system.fit(material), distributed)
        found, predict_wall, predict_processor, _ = timed(lambda: system.predict(material.test_X), distributed)
        memory = {} if system.outside else {"peak_mb": own_peak(), "ready_mb": ready}
        if distributed:
            memory["worker_peak_mb"] = worker_peak()
    return {
        **system.versions(),
        **material.sizes(),
        "wall_s": wall,
        "processor_s": processor,
        "predict_wall_s": predict_wall,
        "predict_processor_s": predict_processor,
        **memory,
        "score": material.score(material.test_y, found),
        "metric": material.metric,
        "scored": material.scored,
        "objective": system.objective(),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "others": others,
    }


def main(cell: str, data: str) -> int:
    """Measure and print."""
    warnings.simplefilter("ignore")
    try:
        print(json.dumps(_short(measure(Cell(**json.loads(cell)), Path(data) if data else None))))
    except (NotInstalled, MissingData) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _short(line: dict[str, Any]) -> dict[str, Any]:
    """Six digits are enough for what is measured."""
    return {name: float(f"{value:.6g}") if isinstance(value, float) else value for name, value in line.items()}


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
