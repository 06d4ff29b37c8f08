"""Textual entailment of RTE 3: does a text entail a hypothesis? (Figure 5.2 b of Chang 2011, there on RTE 5.)

Features are divided by the words of the hypothesis, since texts may be long or short. Edges can be deleted, with
features of their own; the thesis has no such variables for entailment (Table 5.2).
"""

from pathlib import Path
from typing import Any

from sidelight import GraphAligning

from .datasets import treebank_file
from .report import Report, quoted
from .sentence_pairs import APPROXIMATE, JOINT, TWO_STAGE, Study, graphs, report_difference, report_systems
from .sentences import parsed, read_entailments
from .setting import Setting

# What missed margins may cost.
COSTS = (0.1, 0.3, 1.0)
# On RTE 5.
QUOTED = {TWO_STAGE: 65.0, JOINT: 66.8}


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    names = ("rte3_dev.xml", "rte3_test.xml") if setting.split == "test" else ("rte3_dev.xml",)
    return [treebank_file(setting.data), *(setting.data / "rte" / name for name in names)]


def scored(setting: Setting) -> str:
    """The data that is scored."""
    return "RTE 3, " + ("test" if setting.split == "test" else "dev by 5 folds")


def hypothesis_words(pair: Any) -> float:
    """How many words the hypothesis has."""
    return float(len(pair[1]))


def study(setting: Setting) -> Study:
    """The pairs; with the test set, those after the first ones are tested."""
    read = [read_entailments(path) for path in files(setting)[1:]]
    texts, y = ([one for part in read for one in part[k]] for k in (0, 1))
    first = len(read[0][1]) if len(read) > 1 else None
    task = GraphAligning(directed=True)
    return Study(graphs(parsed(texts, setting.data)), y, task, COSTS, size=hypothesis_words, first=first)


def run(setting: Setting, report: Report) -> None:
    """Accuracy of every system, with and without edges."""
    pairs = study(setting)
    found = report_systems(report, pairs.encoded(), "accuracy", setting.seeds)
    for name, value in QUOTED.items():
        report.add("accuracy", quoted(f"{name}, thesis"), value, "%")
    report_difference(report, found, JOINT, TWO_STAGE, at_least=0.0)
    report_difference(report, found, JOINT, APPROXIMATE)
    words = report_systems(
        report, pairs.encoded(edges=False), "accuracy by words alone", setting.seeds, (TWO_STAGE, JOINT)
    )
    report_difference(report, {"with edges": found[JOINT], "words alone": words[JOINT]}, "with edges", "words alone")
