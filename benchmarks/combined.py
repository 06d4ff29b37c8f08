"""All signals at once on citations: 10 labelled references, and whatever else is known (`Combined`).

Beside them there are 1,000 unlabelled references (100 of them marked GOOD), a shuffled copy of each as BAD, the
rules of Table 3.1 of M.-W. Chang 2011, the share of each field, and 20 references of which one half is labelled. Other
learners have the labels and one of these; those of rules or shares the unlabelled references too. The shares are those
of all labelled references of the training file: what somebody might know who does not label.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from sidelight import (
    BAD,
    CCM,
    CRF,
    EM,
    GOOD,
    HMM,
    JLIS,
    CoDL,
    Combined,
    PosteriorRegularization,
    SelfTraining,
    read_columns,
    share,
    shuffled,
    token_accuracy,
)
from sidelight.rules.language import Rule

from .citations.known import soft
from .datasets import Task, citation_files, read_citations, unlabelled_citations
from .defaults.tasks import TASKS
from .report import Report
from .setting import Setting

LABELLED, HALVES, GOODS = 10, 20, 100
ALL, MISLED = "all signals (Combined)", "all signals, one third of the rules false"
SUPERVISED = "labels alone: CRF"


@dataclass(frozen=True)
class Known:
    """What is known on one draw; halves: references with one half labelled, and what is known of these."""

    X: list[Any]
    y: list[Any]
    halves: tuple[list[Any], list[Any]]
    pool: list[Any]
    bad: list[Any]

    @classmethod
    def draw(cls, task: Task, pool: list[Any], seed: int) -> "Known":
        """Labelled and half-labelled references, by chance; of each half it is chance which one is labelled."""
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(task.train_X)).tolist()
        few, some = order[:LABELLED], order[LABELLED : LABELLED + HALVES]
        known = [_half(task.train_y[i], first=bool(rng.random() < 0.5)) for i in some]
        return cls(
            [task.train_X[i] for i in few],
            [task.train_y[i] for i in few],
            ([task.train_X[i] for i in some], known),
            pool,
            shuffled(pool, 1, seed=seed),
        )

    def and_pool(self) -> tuple[list[Any], list[Any]]:
        """With the unlabelled references."""
        return self.X + self.pool, self.y + [None] * len(self.pool)

    def and_halves(self) -> tuple[list[Any], list[Any]]:
        """With those of which one half is labelled."""
        return self.X + self.halves[0], self.y + self.halves[1]

    def and_companions(self, bad: int) -> tuple[list[Any], list[Any]]:
        """With GOOD and some BAD ones."""
        return self.X + self.pool[:GOODS] + self.bad[:bad], self.y + [GOOD] * GOODS + [BAD] * bad

    def everything(self) -> tuple[list[Any], list[Any]]:
        """All of them."""
        X, y = self.and_halves()
        rest = self.pool[GOODS:]
        return (
            X + rest + self.pool[:GOODS] + self.bad,
            y + [None] * len(rest) + [GOOD] * GOODS + [BAD] * len(self.bad),
        )


def _half(labels: list[str], *, first: bool) -> list[str | None]:
    middle = len(labels) // 2
    return [*labels[:middle], *[None] * (len(labels) - middle)] if first else [*[None] * middle, *labels[middle:]]


def shares(y: list[list[str]]) -> list[Rule]:
    """The share of each field."""
    counts = Counter(label for labels in y for label in labels)
    return [share(label) == round(counts[label] / counts.total(), 3) for label in sorted(counts)]


def misled() -> list[Rule]:
    """The rules, the first third of them replaced by false ones."""
    rules, wrong = soft(), TASKS["citations"].false()
    count = len(rules) // 3
    return [*rules[count:], *wrong[:count]]


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    return [*citation_files(setting.data, setting.split), unlabelled_citations(setting.data)]


def scored(setting: Setting) -> str:
    """The data that is scored."""
    return f"citations, {setting.split}"


def run(setting: Setting, report: Report) -> None:
    """Every learner on every draw."""
    task = read_citations(setting.data, setting.split)
    pool, _ = read_columns(unlabelled_citations(setting.data), label=None)
    classes = sorted({label for labels in task.train_y for label in labels})
    hmm, crf, given = HMM(classes=classes), CRF(classes=classes), shares(task.train_y)

    def combined(rules: list[Rule]) -> Callable[[Known], Any]:
        return lambda known: Combined(crf, [*rules, *given], view=hmm, guard=False).fit(*known.everything())

    fits: dict[str, Callable[[Known], Any]] = {
        SUPERVISED: lambda known: crf.fit(known.X, known.y),
        "labels alone: HMM": lambda known: hmm.fit(known.X, known.y),
        "partial labels: CRF": lambda known: crf.fit(*known.and_halves()),
        "rules: CCM(HMM)": lambda known: CCM(hmm, soft(), guard=False).fit(known.X, known.y),
        "rules: CoDL(HMM)": lambda known: CoDL(hmm, soft(), guard=False).fit(*known.and_pool()),
        "rules: PosteriorRegularization(HMM)": lambda known: PosteriorRegularization(hmm, soft(), guard=False).fit(
            *known.and_pool()
        ),
        "shares: PosteriorRegularization(CRF)": lambda known: PosteriorRegularization(crf, given, guard=False).fit(
            *known.and_pool()
        ),
        "shares: PosteriorRegularization(HMM)": lambda known: PosteriorRegularization(hmm, given, guard=False).fit(
            *known.and_pool()
        ),
        "unlabelled: EM(HMM)": lambda known: EM(hmm, guard=False).fit(*known.and_pool()),
        "unlabelled: SelfTraining(HMM)": lambda known: SelfTraining(hmm, guard=False).fit(*known.and_pool()),
        "GOOD and BAD: JLIS": lambda known: JLIS(classes=classes, guard=False).fit(*known.and_companions(GOODS)),
        ALL: combined(soft()),
        MISLED: combined(misled()),
    }
    scores: dict[str, list[float]] = {name: [] for name in fits}
    for seed in setting.seeds:
        known = Known.draw(task, pool, seed)
        for name, fit in fits.items():
            model = fit(known)
            scores[name].append(100 * float(token_accuracy(task.eval_y, model.predict(task.eval_X))))
            report.note(f"seed {seed}, {name}: {scores[name][-1]:.2f}")
            for signal in model.signals_:
                report.note(f"  {signal}")
    means = {name: fmean(values) for name, values in scores.items()}
    best = max(value for name, value in means.items() if name not in (ALL, MISLED))
    asked = {ALL: best, MISLED: means[SUPERVISED]}
    with report.section(f"{LABELLED} labelled references, {len(pool)} unlabelled"):
        for name, values in scores.items():
            deviation = stdev(values) if len(values) > 1 else None
            report.add(name, "sidelight", means[name], "%", deviation=deviation, at_least=asked.get(name))
