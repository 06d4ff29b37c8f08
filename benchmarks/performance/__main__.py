"""`python -m benchmarks.performance --data DIR --results FILE`: measure what FILE lacks; `--write docs` shows it."""

import argparse
import signal
import sys
from collections.abc import Sequence
from math import inf
from pathlib import Path
from time import monotonic

from rich.console import Console

from ..datasets import MissingData
from . import page
from .cells import Cell, Results, measured
from .materials import TITLES
from .plan import TOPICS, cells, quick_cells


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser("python -m benchmarks.performance", description="Measure learners and their peers.")
    out.add_argument("--results", type=Path, required=True, metavar="FILE", help="lines of JSON, one per measurement")
    out.add_argument("--data", type=Path, metavar="DIR", help="folder of data sets; --quick does without")
    out.add_argument("--only", choices=tuple(TOPICS), action="append", help="this topic; can be given several times")
    out.add_argument("--on", choices=tuple(TITLES), help="on this data set")
    out.add_argument("--turns", type=int, metavar="N", help="how often systems take turns, if not as the plan says")
    out.add_argument("--again", action="store_true", help="measure also what FILE has; the new lines count")
    disturbed = "measure again what FILE has if other processes used more than CORES cores meanwhile"
    out.add_argument("--disturbed", type=float, default=inf, metavar="CORES", help=disturbed)
    out.add_argument("--within", type=float, metavar="S", help="begin no measurement later than S seconds from now")
    out.add_argument("--quick", action="store_true", help="a few systems on small generated data, to try the command")
    out.add_argument("--write", type=Path, metavar="FOLDER", help="measure nothing; write tables and plots of FILE")
    return out


def asked(options: argparse.Namespace) -> list[Cell]:
    """The cells that options name."""
    plan = quick_cells if options.quick else cells
    found = [cell for topic in options.only or TOPICS for cell in plan(topic, options.turns)]
    return [cell for cell in found if options.on in (None, cell.data)]


def measure(results: Results, options: argparse.Namespace, console: Console) -> int:
    """Measure and keep what is lacking, and return how much of it could not be measured."""
    wanted = asked(options)
    left, failed = wanted if options.again else results.lacking(wanted, options.disturbed), 0
    console.print(f"{len(wanted)} measurements, {len(wanted) - len(left)} of them are there", highlight=False)
    began = monotonic()
    for number, cell in enumerate(left, start=1):
        if options.within is not None and monotonic() - began > options.within:
            console.print(f"{len(left) - number + 1} are left; the same command goes on with them", highlight=False)
            break
        line = measured(cell, options.data)
        results.append(line)
        failed += "missing" in line
        told = line.get("missing") or (
            f"{line['wall_s']:.2f} s, {line['processor_s']:.2f} s of processor, {line['metric']} {line['score']:.1f}"
        )
        console.print(f"{number}/{len(left)} {cell}, turn {cell.turn + 1}: {told}", highlight=False, markup=False)
    return failed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and return the exit code: 0, or 1 where something is missing."""
    command_line = parser()
    options = command_line.parse_args(arguments)
    if options.data is None and not options.quick and options.write is None:
        command_line.error("give --data a folder of data sets, or try --quick")
    results = Results(options.results)
    try:
        if options.write is not None:
            page.write(results.lines(), options.write)
            return 0
        failed = measure(results, options, Console(width=None if sys.stdout.isatty() else 160))
    except MissingData as error:
        print(f"benchmarks.performance: {error}", file=sys.stderr)
        return 1
    return int(failed > 0)


if __name__ == "__main__":
    # A run that is ended also ends the process that it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
