"""What the command line says about a run."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .datasets import Split

# How much text tagging and gamma learn from; section 4.4 of Chang 2011 has 24,115 tokens. Section 6.5.4 has 96,000,
# which take four times as long.
TOKENS = 24_000


@dataclass(frozen=True)
class Setting:
    """data: folder of data sets; seeds: of subsets and learners; peers, lbfgs, solvers: whether to run the
    slow extras.

    tables: which tables of the benchmarks that have several, all if none is named; figure: where citations,
    companions and gamma draw their curves; tokens: how much text tagging and gamma learn from; cells: where defaults
    keeps its scores, so that a run that was broken off goes on; small: whether sizes are cut down (`small`).
    """

    data: Path
    split: Split
    seeds: tuple[int, ...]
    peers: bool = False
    lbfgs: bool = False
    tables: tuple[str, ...] = ()
    figure: Path | None = None
    tokens: int = TOKENS
    solvers: bool = False
    cells: Path | None = None
    small: bool = False

    def chosen(self, tables: Iterable[str]) -> list[str]:
        """Those of a benchmark's tables that are named, or all if none is."""
        return [name for name in tables if not self.tables or name in self.tables]
