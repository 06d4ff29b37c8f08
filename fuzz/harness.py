"""Runs cases in a process of their own, so that a crash, a hang or too much memory is an outcome like any other.

The process writes a line when a case has ended. The parent waits for it; a process that dies or takes too long is
replaced, and the next one goes on with the next case.
"""

import json
import os
import queue
import random
import resource
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

from sidelight.errors import SidelightError

# What one case may take: seconds of processor time, and memory beyond that of a process that is ready to begin.
SECONDS, MEBIBYTES = 20.0, 1024
# The parent waits this many times as long, since the machine may be busy; getting ready includes compiling kernels.
_PATIENCE, _READY_SECONDS = 5, 3600.0
_SHOWN = 20


@dataclass
class Report:
    """What came of the cases: how many of each outcome, and failures with the numbers of their cases."""

    cases: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)

    def __str__(self) -> str:
        found = ", ".join(f"{count} {name}" for name, count in sorted(self.outcomes.items()))
        lines = [f"{self.cases} cases: {found}; {len(self.failures)} failures"]
        first = {what: number for number, what in reversed(self.failures)}  # of those that are alike
        lines += [f"  case {number}: {what}" for what, number in sorted(first.items(), key=lambda one: one[1])[:_SHOWN]]
        return "\n".join(lines)


def run(target: str, cases: int, seed: int = 0, first: int = 0) -> Report:
    """Returns what came of some cases of a target, the name of a module, in processes of their own."""
    report, number, last = Report(), first, first + cases
    with tempfile.TemporaryDirectory() as folder:
        while number < last:
            number = _run_process(target, folder, seed, number, last, report)
    return report


def _run_process(target: str, folder: str, seed: int, first: int, last: int, report: Report) -> int:
    """Runs cases until the process ends; returns the number of the next one."""
    command = [sys.executable, "-m", "fuzz.harness", target, folder, str(seed), str(first), str(last)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    lines: queue.Queue[str] = queue.Queue()

    def read() -> None:
        for line in process.stdout or ():
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    number, ready = first, False
    try:
        while number < last:
            try:
                line = lines.get(timeout=_PATIENCE * SECONDS if ready else _READY_SECONDS)
            except queue.Empty:
                process.kill()
                report.failures.append((number, f"no end after {_PATIENCE * SECONDS:g} seconds"))
                report.cases += 1
                return number + 1
            if not line:
                if not ready:
                    raise RuntimeError(f"the target {target} could not be set up")
                report.failures.append((number, f"the process ended with status {process.wait()}"))
                report.cases += 1
                return number + 1
            result = json.loads(line)
            if "ready" in result:
                ready = True
                continue
            report.cases += 1
            if result["failure"]:
                report.failures.append((number, result["failure"]))
            else:
                report.outcomes[result["outcome"]] += 1
            number += 1
        return number
    finally:
        process.kill()
        process.wait()


def run_here(module: Any, folder: Path, seed: int, number: int) -> tuple[str, str]:
    """Returns the outcome of one case in this process, and the failure, "" where it ended well."""
    try:
        return str(module.case(folder, random.Random(f"{seed} {number}"))), ""
    except SidelightError as error:
        return type(error).__name__, ""
    except BaseException as error:
        trace = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(trace.filename).name}:{trace.lineno}"
        return "", f"{type(error).__name__} at {place}: {str(error)[:200]}"


def _peak() -> int:
    """The most memory that this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def _work(target: str, folder: Path, seed: int, first: int, last: int) -> None:
    """Runs cases and writes a line for each; a child process does nothing else."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what cases print is no outcome
    warnings.simplefilter("ignore")
    module = import_module(target)
    module.setup(folder)
    # Address space is limited too, so that a single huge array is refused at once.
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = size + (4 * MEBIBYTES << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    print(json.dumps({"ready": True}), file=out, flush=True)
    for number in range(first, last):
        begin, before = process_time(), _peak()
        outcome, failure = run_here(module, folder, seed, number)
        if not failure and process_time() - begin > SECONDS:
            failure = f"took {process_time() - begin:.0f} seconds of processor time"
        if not failure and _peak() - before > MEBIBYTES:
            failure = f"took {_peak() - before} MiB"
        print(json.dumps({"outcome": outcome, "failure": failure}), file=out, flush=True)


if __name__ == "__main__":
    _work(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
