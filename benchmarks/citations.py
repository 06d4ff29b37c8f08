"""Fields of bibliographic references from 5 to 300 labelled ones, beside the thesis's supervised HMM."""

from collections.abc import Callable
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from sidelight import CRF, HMM, StructuredPerceptron, token_accuracy

from .datasets import MissingData, Task, citation_files, read_citations
from .report import Report
from .setting import Setting

# Seed -> learner; another learner is one line.
LEARNERS: dict[str, Callable[[int], Any]] = {
    "HMM": lambda seed: HMM(),
    "CRF": lambda seed: CRF(random_state=seed),
    "perceptron": lambda seed: StructuredPerceptron(random_state=seed),
}
# Labelled references -> token accuracy of the supervised HMM, Table 3.3 of M.-W. Chang 2011.
THESIS = {5: 58.5, 10: 63.4, 20: 70.8, 300: 86.7}


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    return citation_files(setting.data, setting.split)


def run(setting: Setting, report: Report) -> None:
    """Mean and standard deviation of the token accuracy over the seeds' subsets."""
    task = read_citations(setting.data, setting.split)
    if len(task.train_X) < max(THESIS):
        raise MissingData(f"citations/train.tsv has {len(task.train_X)} references, {max(THESIS)} are needed")
    report.note(
        f"Token accuracy on {len(task.eval_X)} references of {setting.split}; the thesis's numbers are on its test set "
        "and with subsets of its own."
    )
    for count, published in THESIS.items():
        what = f"accuracy, {count} labelled"
        for name, make in LEARNERS.items():
            scores = [100 * accuracy(make(seed), task, count, seed) for seed in setting.seeds]
            spread = stdev(scores) if len(scores) > 1 else None
            report.add(what, name, fmean(scores), "%", deviation=spread)
        report.add(what, "HMM of the thesis", published, "%")


def accuracy(learner: Any, task: Task, count: int, seed: int) -> float:
    """Token accuracy after learning from `count` references drawn with the seed."""
    drawn = np.random.default_rng(seed).choice(len(task.train_X), count, replace=False)
    learner.fit([task.train_X[i] for i in drawn], [task.train_y[i] for i in drawn])
    return float(token_accuracy(task.eval_y, learner.predict(task.eval_X)))
