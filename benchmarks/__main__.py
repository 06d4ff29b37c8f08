"""`python -m benchmarks [NAME ...] --data DIR`: run some benchmarks, or all."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import ModuleType

from . import (
    agreement,
    annealing,
    citations,
    companions,
    defaults,
    esl,
    expectation,
    paraphrase,
    projection,
    small,
    speed,
    tagging,
    wordalign,
)
from .datasets import MissingData, require_files
from .report import Report
from .setting import TOKENS, Setting

# Modules with `files(setting)`, `scored(setting)` (the data that accuracies are of) and `run(setting, report)`.
BENCHMARKS = (
    "startup", "tasks", "defaults", "citations", "annealing", "expectation", "chunking", "speed", "letters",
    "companions",
    "tagging", "gamma", "induction", "structures", "relations", "parsing", "parser", "esl", "transliteration",
    "phonetic", "paraphrase", "entailment", "wordalign", "projection", "agreement", "combined",
)  # fmt: skip
TABLES = {
    "defaults": tuple(defaults.TABLES),
    "citations": tuple(citations.TABLES),
    "annealing": tuple(annealing.TABLES),
    "expectation": tuple(expectation.TABLES),
    "companions": tuple(companions.TABLES),
    "tagging": tuple(tagging.TABLES),
    "paraphrase": paraphrase.TABLES,
    "wordalign": tuple(wordalign.TABLES),
    "agreement": tuple(agreement.TABLES),
    "esl": esl.TABLES,
    "speed": tuple(speed.TABLES),
    "projection": tuple(projection.TABLES),
}


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser("python -m benchmarks", description="Measure sidelight and its peers in one run.")
    out.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"{', '.join(BENCHMARKS)}; if none is given, all, or those with --tables",
    )
    out.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder of data sets")
    out.add_argument("--split", choices=("dev", "test"), default="dev", help="what is scored (default: dev)")
    out.add_argument("--seeds", type=seeds, default=(0, 1, 2, 3, 4), metavar="N,N", help="default: 0,1,2,3,4")
    out.add_argument("--json", type=Path, metavar="FILE", help="append each result as a line of JSON")
    out.add_argument("--small", action="store_true", help="cut sizes down to see whether everything runs")
    out.add_argument("--peers", action="store_true", help="chunking: run sklearn-crfsuite as well; wordalign: eflomal")
    out.add_argument("--lbfgs", action="store_true", help="chunking: run sidelight's L-BFGS solver as well")
    out.add_argument("--solvers", action="store_true", help="chunking: run all solvers of CRFs and structural SVMs")
    named = "; ".join(f"{name}: {', '.join(tables_of)}" for name, tables_of in TABLES.items())
    out.add_argument("--tables", type=tables, default=(), metavar="T,T", help=named)
    out.add_argument("--tokens", type=int, metavar="N", help=f"tagging, gamma: default {TOKENS}")
    drawn = "citations, companions, gamma, induction: draw the curves; with several NAMEs each adds its own to FILE's"
    out.add_argument("--figure", type=Path, metavar="FILE", help=drawn)
    kept = "defaults: keep every score in FILE, and measure those that it lacks; delete it when the code has changed"
    out.add_argument("--cells", type=Path, metavar="FILE", help=kept)
    return out


def tables(text: str) -> tuple[str, ...]:
    """Names of tables between commas."""
    names = tuple(text.split(","))
    known = list(chain.from_iterable(TABLES.values()))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no {', '.join(unknown)}; there are {', '.join(known)}")
    return names


def seeds(text: str) -> tuple[int, ...]:
    """Numbers between commas."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers between commas such as 0,1,2, got {text!r}") from None


def run(name: str, module: ModuleType, setting: Setting, file: Path | None, *, several: bool) -> None:
    """Run a benchmark and print its results; each of several draws into a file of its own."""
    report = Report(name, setting.split, setting.seeds, file, data=module.scored(setting), small=setting.small)
    if setting.small:
        report.note(small.NOTE)
    figure = setting.figure
    if figure is not None and several:
        figure = figure.with_stem(f"{figure.stem}-{name}")
    module.run(replace(setting, figure=figure), report)
    report.show()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and return the exit code: 0, or 1 where data is missing."""
    command_line = parser()
    options = command_line.parse_args(arguments)
    unknown = sorted(set(options.names) - set(BENCHMARKS))
    if unknown:
        command_line.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    setting = Setting(
        options.data,
        options.split,
        options.seeds,
        options.peers,
        options.lbfgs,
        options.tables,
        options.figure,
        options.tokens or (small.TOKENS if options.small else TOKENS),
        options.solvers,
        options.cells,
        options.small,
    )
    asked = [name for name in BENCHMARKS if set(TABLES.get(name, ())) & set(options.tables)] or BENCHMARKS
    modules = {name: import_module(f".{name}", __package__) for name in options.names or asked}
    try:
        require_files(setting.data, [path for module in modules.values() for path in module.files(setting)])
        with small.small_sizes() if setting.small else nullcontext():
            for name, module in modules.items():
                run(name, module, setting, options.json, several=len(modules) > 1)
    except MissingData as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
