"""Command line: `python -m fuzz TARGET --cases N --seed S`."""

import argparse
import sys
from pkgutil import iter_modules

import fuzz
from fuzz.harness import run

_NO_TARGETS = ("harness", "__main__")


def targets() -> list[str]:
    """Returns the names of the targets: the other modules of this package."""
    return sorted(one.name for one in iter_modules(fuzz.__path__) if one.name not in _NO_TARGETS)


def main() -> int:
    """Run the cases of one target, or of all; returns 1 if any failed."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Fuzz what reads files and text.")
    parser.add_argument("target", choices=[*targets(), "all"])
    parser.add_argument("--cases", type=int, default=1000, help="how many cases (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="what cases are drawn from (default: 0)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case (default: 0)")
    given = parser.parse_args()
    failed = 0
    for name in targets() if given.target == "all" else [given.target]:
        report = run(f"fuzz.{name}", given.cases, given.seed, given.first)
        print(f"{name}: {report}")
        failed += len(report.failures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
