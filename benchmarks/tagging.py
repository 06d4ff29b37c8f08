"""Unsupervised tagging with a dictionary: section 6.5.4 of M.-W. Chang 2011, on UD English.

Text without tags, and for every word the tags it has anywhere in the treebank; what is scored is the same text, at the
words with more than one tag. Every system is fitted once for each seed; the fit with the best objective is a row of
its own beside the mean. A system is a line in `SYSTEMS`, and a table of `TABLES` is some of them on one set of tags.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import fmean, stdev
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sidelight import BAD, EM, GOOD, HMM, JLIS, ContrastiveEstimation, TagDictionary, shuffled

from .chosen import constant
from .datasets import MissingData, read_tagged, treebank_file
from .report import Report, quoted
from .setting import Setting

# Table of section 6.5.4, on 96,000 words of the Wall Street Journal with trigrams; not tuned.
PUBLISHED = {
    "EM, maximum likelihood": 60.9,
    "CE, transpose": 74.7,
    "J-LIS, random ties": 70.16,
    "J-LIS, fixed ties": 62.89,
}
TAGS = {"xpos": "Penn tags", "upos": "universal tags"}
# Mean accuracy and that of the best objective, by system.
Found = dict[str, tuple[float, float]]
LIKELIHOOD = 1e-6
# Shuffled copies of each sentence, as there; what missed margins cost.
_BAD, C2 = 4, constant("tagging.C2")


@dataclass(frozen=True)
class Text:
    """Sentences, their tags, and those that the dictionary gives."""

    X: list[Any]
    y: list[Any]
    known: list[Any]
    dictionary: TagDictionary

    @classmethod
    def read(cls, setting: Setting, column: str) -> "Text":
        """The first sentences of the treebank that hold this many tokens; the dictionary is made of all of it."""
        X, y = read_tagged(setting.data, column)
        edges = list(accumulate(map(len, X)))
        if not edges or edges[-1] < setting.tokens:
            raise MissingData(f"{treebank_file(setting.data)} has fewer than {setting.tokens} tokens")
        count = next(i for i, tokens in enumerate(edges, start=1) if tokens >= setting.tokens)
        dictionary = TagDictionary.of(X, y)
        return cls(X[:count], y[:count], dictionary.apply(X[:count]), dictionary)

    def accuracy(self, predicted: list[Any]) -> float:
        """Per cent of right tags at ambiguous words."""
        right = [
            a == b
            for labels, found, known in zip(self.y, predicted, self.known, strict=True)
            for a, b, tags in zip(labels, found, known, strict=True)
            if len(tags) > 1
        ]
        return 100 * fmean(right)


@dataclass(frozen=True)
class System:
    """A fit to a text for each seed, and the objective it ended with: the lower the better."""

    fit: Callable[[Text, int], Any]
    objective: Callable[[Any], float]


def em(smoothing: float, iterations: int) -> System:
    """A first-order HMM by EM from nearly uniform scores."""

    def fit(text: Text, seed: int) -> EM:
        hmm = HMM(
            unknown=None,
            rare=0,
            start_smoothing=smoothing,
            transition_smoothing=smoothing,
            emission_smoothing=smoothing,
        )
        return EM(hmm, iterations=iterations, random_state=seed, guard=False).fit(text.X, text.known)

    return System(fit, lambda model: -model.trace_[-1].objective)


def contrastive(**parameters: Any) -> System:
    """Contrastive estimation with the features of an HMM."""

    def fit(text: Text, seed: int) -> ContrastiveEstimation:
        learner = ContrastiveEstimation(["word"], max_iterations=100, random_state=seed, **parameters)
        return learner.fit(text.X, text.known)

    return System(fit, lambda model: float(model.trace_[-1].objective))


def companions(*, random_ties: bool, drawn: bool = False) -> System:
    """J-LIS without labels: the text is GOOD, and four shuffled copies of each sentence are BAD (second order).

    With fixed ties the first label wins, so all depends on the order of the labels: that of the alphabet, or drawn
    with the seed.
    """

    def fit(text: Text, seed: int) -> JLIS:
        good = [x for x in text.X if len(x) > 2]
        bad = shuffled(good, _BAD)
        labels = sorted(set().union(*text.dictionary.labels.values()))
        learner = JLIS(
            ["word"], C2=C2, dictionary=text.dictionary, order=2, random_ties=random_ties, random_state=seed,
            classes=np.random.default_rng(seed).permutation(labels).tolist() if drawn else labels, guard=False,
        )  # fmt: skip
        return learner.fit(good + bad, [GOOD] * len(good) + [BAD] * len(bad))

    return System(fit, lambda model: model.objective_)


SYSTEMS = {
    "EM, maximum likelihood": em(LIKELIHOOD, 100),
    "EM, smoothed by 0.1": em(0.1, 50),
    "CE, transpose": contrastive(),
    "J-LIS, random ties": companions(random_ties=True),
    "J-LIS, fixed ties": companions(random_ties=False),
    "J-LIS, fixed ties, drawn order": companions(random_ties=False, drawn=True),
}


FIXED = ("J-LIS, fixed ties", "J-LIS, fixed ties, drawn order")
EMS = ("EM, maximum likelihood", "EM, smoothed by 0.1")
GROUPS = {"contrastive": (*EMS, "CE, transpose"), "companions": ("J-LIS, random ties", *FIXED)}
# Name of a table: its group and its tags.
TABLES = {f"{group}-{column}": (group, column) for column in TAGS for group in GROUPS}


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    return [treebank_file(setting.data)]


def scored(setting: Setting) -> str:
    """The data that is scored."""
    return f"UD English, the first {setting.tokens:,} tokens of train, which are also what is learned from"


def run(setting: Setting, report: Report) -> None:
    """The tables asked for."""
    chosen = [TABLES[name] for name in setting.chosen(TABLES)]
    for column, title in TAGS.items():
        groups = [group for group, of in chosen if of == column]
        if not groups:
            continue
        text = Text.read(setting, column)
        choices = [len(tags) for known in text.known for tags in known]
        ambiguous = [n for n in choices if n > 1]
        report.note(
            f"{title}: {len(choices):,} tokens, {len(ambiguous) / len(choices):.1%} ambiguous; "
            f"a tag at random is right in {fmean(1 / n for n in ambiguous):.1%} of these."
        )
        with report.section(f"Accuracy at ambiguous words, {title}"):
            found = {name: _measure(report, setting.seeds, text, name) for group in groups for name in GROUPS[group]}
            if "contrastive" in groups:
                _compare_contrastive(report, found)
            if "companions" in groups:
                _compare_companions(report, found)


def _compare_contrastive(report: Report, found: Found) -> None:
    mean, best = found["CE, transpose"]
    for name in EMS:
        report.add(f"CE less {name}", "mean", mean - found[name][0], "%")
        report.add(f"CE less {name}", "best objective", best - found[name][1], "%", at_least=0.0)


def _compare_companions(report: Report, found: Found) -> None:
    mean, best = found["J-LIS, random ties"]
    for name in FIXED:
        report.add(
            f"J-LIS, random ties less {name.removeprefix('J-LIS, ')}", "mean", mean - found[name][0], "%", at_least=0.0
        )
    report.add("J-LIS, best objective less mean", "best objective", best - mean, "%", at_least=0.0)


def _measure(report: Report, seeds: tuple[int, ...], text: Text, name: str) -> tuple[float, float]:
    """Fit once per seed; reports and returns the mean accuracy, and that of the fit with the best objective."""
    system = SYSTEMS[name]
    fits = []
    begin = perf_counter()
    for seed in seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = system.fit(text, seed)
        fits.append((system.objective(model), text.accuracy(model.complete(text.X, text.known))))
    seconds = (perf_counter() - begin) / len(seeds)
    scores = [accuracy for _, accuracy in fits]
    report.add(name, "mean", fmean(scores), "%", deviation=stdev(scores) if len(scores) > 1 else None)
    report.add(name, "best objective", min(fits)[1], "%")
    report.add(name, "a fit", seconds, "s")
    if name in PUBLISHED:
        report.add(name, quoted("Chang 2011"), PUBLISHED[name], "%")
    return fmean(scores), min(fits)[1]
