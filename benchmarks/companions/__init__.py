"""J-LIS beside the structural SVM: sections 6.4.2, 6.4.3, 6.5.1 and 6.5.3 of M.-W. Chang 2011, Chang et al. 2010.

Some sequences are labelled, others are known to be GOOD, and the same with their tokens shuffled are BAD. `run` makes
the tables chosen by `--tables`; without it, all but the searches for costs.
"""

from collections.abc import Callable
from pathlib import Path

from ..datasets import citation_files, treebank_files, unlabelled_citations
from ..drawing import Panel, draw, require_drawing
from ..report import Report
from ..setting import Setting
from . import fields, tags

Panels = dict[str, Panel]
TABLES: dict[str, Callable[[Setting, Report, Panels], None]] = {
    "table-2": fields.by_labelled_tokens,
    "figure-6.5a": fields.by_bad_references,
    "figure-6.2": tags.by_labelled_tokens,
    "figure-6.5b": tags.rounds_needed,
    "figure-6.6a": tags.by_shuffles,
    "citation-costs": fields.choose_costs,
    "tag-costs": tags.choose_costs,
}
_WHEN_NAMED = ("citation-costs", "tag-costs")
_OF_REFERENCES = ("table-2", "figure-6.5a", "citation-costs")


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    read = []
    chosen = _chosen(setting)
    if any(name in _OF_REFERENCES for name in chosen):
        read += [*citation_files(setting.data, setting.split), unlabelled_citations(setting.data)]
    if any(name not in _OF_REFERENCES for name in chosen):
        read += treebank_files(setting.data, setting.split)
    return read


def scored(setting: Setting) -> str:
    """The data that is scored."""
    return f"citations and UD English, {setting.split}"


def run(setting: Setting, report: Report) -> None:
    """The tables asked for, each printed when it is done."""
    require_drawing(setting.figure)
    panels: Panels = {}
    for name in _chosen(setting):
        TABLES[name](setting, report, panels)
    if setting.figure and panels:
        draw(panels, setting.figure)
        report.note(f"wrote {setting.figure}")


def _chosen(setting: Setting) -> list[str]:
    return [name for name in setting.chosen(TABLES) if name in setting.tables or name not in _WHEN_NAMED]
