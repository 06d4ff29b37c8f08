"""Fields of bibliographic references: chapter 3 of M.-W. Chang 2011, and the speed of inference under its rules.

`run` makes the tables chosen by `--tables`; without it, all of them.
"""

from collections.abc import Callable
from pathlib import Path

from ..datasets import citation_files, unlabelled_citations
from ..drawing import draw, require_drawing
from ..report import Report
from ..setting import Setting
from . import decoding, figures, tables
from .experiment import Experiment

TABLES: dict[str, Callable[[Experiment, Report], None]] = {
    "3.3": tables.rules_and_unlabelled,
    "3.4": tables.tailored_models,
    "3.5": tables.alternating_projections,
    "3.6": tables.soft_and_hard,
    "3.7": tables.each_rule,
    "figure-3.3": figures.by_labelled,
    "figure-3.4": figures.rules_for_labels,
    "figure-3.5": figures.by_iteration,
    "figure-3.6": figures.by_balance,
    "decoding": decoding.decode,
    "driving": decoding.drive,
}


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    return [*citation_files(setting.data, setting.split), unlabelled_citations(setting.data)]


def scored(setting: Setting) -> str:
    """The data that is scored."""
    return f"citations, {setting.split}"


def run(setting: Setting, report: Report) -> None:
    """The tables asked for, each printed when it is done."""
    require_drawing(setting.figure)
    experiment = Experiment.read(setting)
    task = experiment.task
    report.note(
        f"Token accuracy on {len(task.eval_X)} references of {setting.split}, mean ± standard deviation over subsets "
        f"drawn with the seeds (all {len(task.train_X)} labelled references are one subset); "
        f"{len(experiment.pool)} unlabelled references. The thesis's numbers are on its test set, with its own subsets."
    )
    for name in setting.chosen(TABLES):
        TABLES[name](experiment, report)
    if setting.figure:
        draw(experiment.panels, setting.figure)
        report.note(f"wrote {setting.figure}")
