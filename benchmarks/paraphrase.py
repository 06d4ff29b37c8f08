"""Paraphrases of the MSR corpus: do two sentences mean the same? (Tables 5.3 and 5.5 of Chang 2011.)"""

from pathlib import Path

from sidelight import GraphAligning

from .datasets import treebank_file
from .report import Report, quoted
from .sentence_pairs import APPROXIMATE, JOINT, TWO_STAGE, Study, graphs, report_difference, report_systems
from .sentences import parsed, read_paraphrases
from .setting import Setting

# What missed margins may cost.
COSTS = (0.3, 1.0, 3.0)
# Accuracy that LCLR is to reach at least, in per cent.
ASKED = 73.0
# Pairs of the table with structures without null words, in which any two words can be linked. With edges as well, the
# search takes minutes for some hundred pairs, so that these are linked one to one as words alone.
FEW = 1000
REPRESENTATIONS = {
    "words, one to one": {"edges": False, "null_words": False},
    "words + null words": {"edges": False},
    "+ edges": {"null_relations": False},
    "+ null relations": {},
}
TABLES = ("systems", "representations")
# Table 5.3, and Table 5.5 on the thesis's development data.
QUOTED = {TWO_STAGE: 76.23, JOINT: 76.41}
QUOTED_DEV = {
    "words, one to one": (73.6, 71.0),
    "+ edges": (75.8, 72.9),
    "+ null relations": (77.0, 74.9),
}


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    names = ("train.tsv", "test.tsv") if setting.split == "test" else ("train.tsv",)
    return [treebank_file(setting.data), *(setting.data / "msrp" / name for name in names)]


def scored(setting: Setting) -> str:
    """The data that is scored."""
    return "MSR paraphrases, " + ("test" if setting.split == "test" else "train by 5 folds")


def study(setting: Setting) -> Study:
    """The pairs; with the test set, those after the first ones are tested."""
    read = [read_paraphrases(path) for path in files(setting)[1:]]
    texts, y = ([one for part in read for one in part[k]] for k in (0, 1))
    first = len(read[0][1]) if len(read) > 1 else None
    return Study(graphs(parsed(texts, setting.data)), y, GraphAligning(), COSTS, first=first)


def run(setting: Setting, report: Report) -> None:
    """Accuracy of every system, and what null words and relations are worth."""
    pairs = study(setting)
    if "systems" in setting.chosen(TABLES):
        with report.section("Systems"):
            found = report_systems(report, pairs.encoded(), "accuracy", setting.seeds)
            for name, value in QUOTED.items():
                report.add("accuracy", quoted(f"{name}, thesis"), value, "%")
            report.add("LCLR", "accuracy", sum(found[JOINT]) / len(found[JOINT]), "%", at_least=ASKED)
            report_difference(report, found, JOINT, TWO_STAGE, at_least=0.0)
            report_difference(report, found, JOINT, APPROXIMATE, at_least=0.0)
    if "representations" in setting.chosen(TABLES) and setting.split != "test":
        few = Study(pairs.X[:FEW], pairs.y[:FEW], pairs.task, COSTS)
        with report.section(f"What is latent: {len(few.y):,} pairs"):
            joint = []
            for name, options in REPRESENTATIONS.items():
                found = report_systems(report, few.encoded(**options), name, setting.seeds)
                joint.append(found[JOINT])
                for system, value in zip((JOINT, APPROXIMATE), QUOTED_DEV.get(name, ()), strict=False):
                    report.add(name, quoted(f"{system}, thesis"), value, "%")
            gains = {"null words and relations": joint[-1], "one to one": joint[0]}
            report_difference(report, gains, "null words and relations", "one to one", at_least=0.0)
