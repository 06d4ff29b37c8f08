"""Transliteration discovery: which Hebrew name is which English one (section 5.4.1 of Chang 2011).

250 pairs of names to learn from, a tenth of all their mismatched pairings as negative ones; each of 300 other English
names ranks the 300 Hebrew ones. Structures are monotone alignments of letters. They begin with a romanization table, by
which the two-stage system aligns throughout, while LCLR goes on from there. (The thesis begins LCLR with the weights
that the two-stage system has learned.)
"""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any
from unicodedata import combining, normalize

import numpy as np

from sidelight import LCLR, Aligning, TwoStage, ranking_scores
from sidelight.parts_metrics import RankingScores

from .datasets import MissingData
from .report import Report, quoted
from .setting import Setting

TRAIN, RANKED, MISMATCHED = 250, 300, 0.1
TASK = Aligning(features="letters")
# What missed margins cost, in both systems.
C = 1.0
# Points of accuracy above the two-stage system, and reciprocal rank, that are asked for.
ASKED, ASKED_MRR = 5.0, 92.0
# How Hebrew consonants are romanized, one Latin letter each; and letters that stand for vowels as well as consonants.
CONSONANTS = {
    "ב": "bv", "ג": "g", "ד": "d", "ה": "h", "ו": "v", "ז": "z", "ח": "h", "ט": "t", "י": "y", "כ": "k", "ל": "l",
    "מ": "m", "נ": "n", "ס": "s", "פ": "pf", "צ": "z", "ק": "k", "ר": "r", "ש": "s", "ת": "t",
}  # fmt: skip
WITH_VOWELS = {
    **CONSONANTS, "א": "aeiou", "ג": "gj", "ה": "hae", "ו": "vwou", "ז": "zs", "י": "yije", "כ": "kc",
    "ס": "sc", "ע": "ae", "צ": "zct", "ק": "kcq",
}  # fmt: skip
TABLES = {"consonants": CONSONANTS, "consonants and vowels": WITH_VOWELS}
PUBLISHED = {"two-stage": (80.0, 85.7), "LCLR": (92.3, 95.4)}

# Final letters of Hebrew, and Latin letters that are no others with an accent.
FINAL = str.maketrans("ךםןףץ", "כמנפצ")
LATIN = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ß": "ss", "æ": "ae", "œ": "oe", "ı": "i", "ð": "d", "þ": "th"})

Pair = tuple[str, str]


def start(table: dict[str, str]) -> dict[str, float]:
    """The same weight for every pair of letters in the table."""
    return {f"pair={latin} – {hebrew}": 1.0 for hebrew, letters in table.items() for latin in letters}


def read(path: Path) -> list[Pair]:
    """English names without accents, and Hebrew ones, whose final letters are written as others are."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [(plain(row[0]), row[1].replace(" ", "").translate(FINAL)) for row in rows]


def plain(name: str) -> str:
    """A name without accents."""
    return "".join(c for c in normalize("NFKD", name) if not combining(c)).translate(LATIN)


def draw(pairs: Sequence[Pair], count: int, rng: np.random.Generator, path: Path) -> list[Pair]:
    """Some pairs with different Hebrew names."""
    order, found = rng.permutation(len(pairs)).tolist(), dict[str, Pair]()
    for i in order:
        found.setdefault(pairs[i][1], pairs[i])
        if len(found) == count:
            return list(found.values())
    raise MissingData(f"{path.name} has fewer than {count} pairs with different Hebrew names")


def mispaired(pairs: Sequence[Pair], share: float, rng: np.random.Generator) -> list[Pair]:
    """A share of all pairings of names that do not belong together."""
    n = len(pairs)
    chosen = rng.choice(n * (n - 1), int(share * n * (n - 1)), replace=False)
    ends = [divmod(int(k), n - 1) for k in chosen]
    return [(pairs[i][0], pairs[j + (j >= i)][1]) for i, j in ends]


def ranked(model: Any, pairs: Sequence[Pair]) -> RankingScores:
    """How the model ranks the Hebrew names for every English one."""
    targets = [hebrew for _, hebrew in pairs]
    values = model.decision_function([(english, hebrew) for english, _ in pairs for hebrew in targets])
    return ranking_scores(values.reshape(len(pairs), -1), range(len(pairs)))


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    folder = setting.data / "translit" / "en_he"
    return [folder / "train.tsv", folder / f"{setting.split}.tsv"]


def scored(setting: Setting) -> str:
    """The data that names to be ranked are of."""
    return f"translit/en_he, {setting.split}"


def run(setting: Setting, report: Report) -> None:
    """Measure both systems from both tables, for every seed."""
    train, other = files(setting)
    known, new = read(train), read(other)
    for title, table in TABLES.items():
        found: dict[str, list[RankingScores]] = {"two-stage": [], "LCLR": []}
        for seed in setting.seeds:
            rng = np.random.default_rng(seed)
            good, held_out = draw(known, TRAIN, rng, train), draw(new, RANKED, rng, other)
            bad = mispaired(good, MISMATCHED, rng)
            X, y = [*good, *bad], [1] * len(good) + [0] * len(bad)
            options: dict[str, Any] = {"task": TASK, "C": C, "initial": start(table), "random_state": seed}
            for name, learner in (("two-stage", TwoStage(**options)), ("LCLR", LCLR(**options))):
                found[name].append(ranked(learner.fit(X, y), held_out))
        with report.section(f"Transliteration discovery, beginning with {title}"):
            _tell(report, found)


def _tell(report: Report, found: dict[str, list[RankingScores]]) -> None:
    two, joint = found["two-stage"], found["LCLR"]
    for name, scores in found.items():
        accuracy, mrr = [100 * one.accuracy for one in scores], [100 * one.mrr for one in scores]
        spread = [stdev(values) if len(values) > 1 else None for values in (accuracy, mrr)]
        least = {"at_least": ASKED_MRR} if name == "LCLR" else {}
        report.add(f"accuracy, {name}", "sidelight", fmean(accuracy), "%", deviation=spread[0])
        report.add(f"reciprocal rank, {name}", "sidelight", fmean(mrr), "%", deviation=spread[1], **least)
        for what, value in zip(("accuracy", "reciprocal rank"), PUBLISHED[name], strict=True):
            report.add(f"{what}, {name}", quoted("Chang 2011"), value, "%")
    gain = [100 * (b.accuracy - a.accuracy) for a, b in zip(two, joint, strict=True)]
    spread_of_gain = stdev(gain) if len(gain) > 1 else None
    report.add("points of accuracy gained", "sidelight", fmean(gain), "%", deviation=spread_of_gain, at_least=ASKED)
