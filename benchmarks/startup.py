"""What a user waits for before any work is done: the command line's help, and compilation."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from .report import Report
from .setting import Setting

# Columns of the table: the first process finds an empty folder of compiled kernels, the second what the first left.
CACHES = ("no kernels cached", "kernels cached")
# Timed runs of a command, and environment variables of first calls.
RUNS = 5
ENVIRONMENT: dict[str, str] = {}
CALLS = {"fit": "CRF.fit", "predict": "predict of a loaded model"}


def files(setting: Setting) -> list[Path]:
    """Nothing is read."""
    return []


def scored(setting: Setting) -> str:
    """The data that is scored."""
    return "no data"


def run(setting: Setting, report: Report) -> None:
    """Time fresh processes."""
    report.note("Every number is of a fresh process; compiling is the first call less the second.")
    command = Path(sys.executable).with_name("sidelight")
    report.add("python -c pass", "wall time", wall_time([sys.executable, "-c", "pass"]), "s")
    report.add("import sidelight", "wall time", wall_time([sys.executable, "-c", "import sidelight"]), "s")
    try:
        report.add("sidelight --help", "wall time", wall_time([str(command), "--help"]), "s")
    except (OSError, subprocess.CalledProcessError) as error:
        report.note(f"`sidelight --help` cannot be measured: {error}")
    with tempfile.TemporaryDirectory() as folder:
        for mode, call in CALLS.items():
            for column in CACHES:
                times = first_calls(mode, Path(folder))
                report.add(f"{call}: imports and loading", column, times["loaded"], "s")
                report.add(f"{call}: first call", column, times["first"], "s")
                report.add(f"{call}: of that, compiling", column, times["first"] - times["second"], "s")


def wall_time(command: list[str]) -> float:
    """Median seconds of `RUNS` runs."""
    times = []
    for _ in range(RUNS):
        started = perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(perf_counter() - started)
    return median(times)


def first_calls(mode: str, folder: Path) -> dict[str, float]:
    """Times in a process whose kernels are cached in the folder, in a place of the mode's own."""
    environment = {**os.environ, **ENVIRONMENT, "NUMBA_CACHE_DIR": str(folder / mode)}
    command = [sys.executable, "-m", "benchmarks.first_calls", mode, str(folder / "model")]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    times: dict[str, float] = json.loads(done.stdout)
    return times
