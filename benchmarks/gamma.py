"""Unified EM by γ and start: Figure 4.1 of M.-W. Chang 2011, on UD English.

Text without tags and a dictionary, as in `tagging`; the words with more than one tag are scored. Learning begins with
even distributions over the tags of each word, or with an HMM of a few labelled sentences from the rest of the treebank,
which are not used again. Each seed draws other sentences; the even start has no chance in it. The thesis has Penn tags.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

import numpy as np

from sidelight import HMM, UnifiedEM

from .datasets import MissingData, Task, read_tagged, treebank_file
from .drawing import Panel, draw, require_drawing
from .paper_settings import UNIFIED
from .report import Report
from .setting import Setting
from .tagging import LIKELIHOOD, TAGS, Text

EM = 1.0
HARD = -np.inf
USUAL = 0.9  # which is good, the text says, from every start but the even one
GAMMAS = (HARD, 0.0, 0.25, 0.5, 0.75, USUAL, EM, 1.1, 1.5)
SIZES = (5, 10, 20, 40, 80)
ITERATIONS = 50
EVEN = "uniform"
RELATIVE = "rel(γ), Eq. 4.11"


@dataclass(frozen=True)
class Start:
    """Where learning begins: one model for each seed, or one alone where there is no chance in it."""

    name: str
    models: list[HMM]


@dataclass(frozen=True)
class Curve:
    """Accuracies by γ, one for each model of a start."""

    start: str
    accuracies: dict[float, list[float]]

    def mean(self, gamma: float) -> float:
        """Over the models."""
        return fmean(self.accuracies[gamma])

    def relative(self, gamma: float) -> float:
        """Per cent above EM (Eq. 4.11)."""
        return 100 * (self.mean(gamma) / self.mean(EM) - 1)

    def best_below(self) -> float:
        """The γ below 1 with the best mean."""
        return max((gamma for gamma in self.accuracies if gamma < EM), key=self.mean)

    def gain_below(self) -> float:
        """How much better than EM that is."""
        return self.mean(self.best_below()) - self.mean(EM)

    def gain_above(self) -> float:
        """How much better than EM the best γ above 1 is."""
        return max(self.mean(gamma) for gamma in self.accuracies if gamma > EM) - self.mean(EM)


def hmm(classes: list[str]) -> HMM:
    """Maximum likelihood of first-order transitions and words."""
    return HMM(
        unknown=None, rare=0, start_smoothing=LIKELIHOOD, transition_smoothing=LIKELIHOOD,
        emission_smoothing=LIKELIHOOD, classes=classes,
    )  # fmt: skip


def starts(text: Text, rest: Task, classes: list[str], seeds: tuple[int, ...]) -> Iterator[Start]:
    """Even distributions, which γ = inf makes, and HMMs of this many labelled sentences."""
    even = UnifiedEM(hmm(classes), gamma=np.inf, **{**UNIFIED, "iterations": 1}).fit(text.X, text.known)
    yield Start(EVEN, [even.base_])
    for size in SIZES:
        yield Start(f"{size} labelled", [_supervised(rest, size, classes, seed) for seed in seeds])


def _supervised(rest: Task, size: int, classes: list[str], seed: int) -> HMM:
    chosen = np.random.default_rng(seed).choice(len(rest.train_X), size, replace=False)
    return HMM(classes=classes).fit([rest.train_X[i] for i in chosen], [rest.train_y[i] for i in chosen])


def curve(text: Text, start: Start, classes: list[str]) -> Curve:
    """Every γ from every model of a start."""
    found: dict[float, list[float]] = {}
    for gamma in GAMMAS:
        for model in start.models:
            learner = UnifiedEM(hmm(classes), gamma=gamma, **{**UNIFIED, "iterations": ITERATIONS})
            learner.fit(text.X, text.known, initial=model)
            found.setdefault(gamma, []).append(text.accuracy(learner.complete(text.X, text.known)))
    return Curve(start.name, found)


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    return [treebank_file(setting.data)]


def scored(setting: Setting) -> str:
    """The data that is scored."""
    return f"UD English, the first {setting.tokens:,} tokens of train, which are also what is learned from"


def run(setting: Setting, report: Report) -> None:
    """Both sets of tags."""
    require_drawing(setting.figure)
    panels: dict[str, Panel] = {}
    for column, title in TAGS.items():
        text = Text.read(setting, column)
        rest, classes = _rest(setting, column, len(text.X))
        panels[title] = Panel("γ", y=f"{RELATIVE}, %")
        with report.section(f"Figure 4.1: accuracy at ambiguous words by γ, {title}"):
            curves = []
            for start in starts(text, rest, classes, setting.seeds):
                before = [text.accuracy(model.complete(text.X, text.known)) for model in start.models]
                _add(report, "the start itself", start.name, before)
                curves.append(curve(text, start, classes))
                _tell(report, curves[-1], panels[title])
        with report.section(f"Figure 4.1: what it shows, {title}"):
            _judge(report, curves)
    if setting.figure:
        draw(panels, setting.figure)
        report.note(f"wrote {setting.figure}")


def _rest(setting: Setting, column: str, used: int) -> tuple[Task, list[str]]:
    """The sentences after the text, to draw labelled ones from, and all tags."""
    X, y = read_tagged(setting.data, column)
    if len(X) - used < max(SIZES):
        raise MissingData(
            f"{treebank_file(setting.data)} has {len(X) - used} sentences after the first {setting.tokens:,} tokens, "
            f"and {max(SIZES)} are to be labelled; lower --tokens"
        )
    return Task(X[used:], y[used:], X[:used], y[:used]), sorted({tag for tags in y for tag in tags})


def _add(report: Report, what: str, system: str, values: list[float]) -> None:
    report.add(what, system, fmean(values), "%", deviation=stdev(values) if len(values) > 1 else None)


def _tell(report: Report, curve: Curve, panel: Panel) -> None:
    for gamma, accuracies in curve.accuracies.items():
        _add(report, _named(gamma), curve.start, accuracies)
        if np.isfinite(gamma):
            panel.add(curve.start, gamma, curve.relative(gamma))


def _judge(report: Report, curves: list[Curve]) -> None:
    """EM is the best where the start is even, and some γ below 1 is better where it is good."""
    for curve in curves:
        if curve.start == EVEN:
            report.add(f"{EVEN}: EM less the best γ < 1", "accuracy", -curve.gain_below(), "%", at_least=0.0)
            report.add(f"{EVEN}: EM less the best γ > 1", "accuracy", -curve.gain_above(), "%", at_least=0.0)
            continue
        for label, gamma in (("the best γ < 1", curve.best_below()), ("without choosing", USUAL)):
            what = f"{curve.start}: {_named(gamma)}, {label}, less EM"
            report.add(what, "accuracy", curve.mean(gamma) - curve.mean(EM), "%", at_least=0.0)
            report.add(what, RELATIVE, curve.relative(gamma), "%")


def _named(gamma: float) -> str:
    known = {HARD: "γ = -inf, hard EM", 0.0: "γ = 0, linear program", EM: "γ = 1, EM"}
    return known.get(gamma, f"γ = {gamma:g}")
