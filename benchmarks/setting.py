"""What the command line says about a run."""

from dataclasses import dataclass
from pathlib import Path

from .datasets import Split


@dataclass(frozen=True)
class Setting:
    """data: folder of data sets; seeds: of subsets and learners; peers, lbfgs: whether to run the slow extras.

    tables: which tables of citations, all if none is named; figure: where to draw their curves.
    """

    data: Path
    split: Split
    seeds: tuple[int, ...]
    peers: bool = False
    lbfgs: bool = False
    tables: tuple[str, ...] = ()
    figure: Path | None = None
