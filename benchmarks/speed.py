"""Speed beside CRFsuite on CoNLL-2000, every comparison in turns: feature dicts, penalties, threads, memory.

CRFsuite uses one thread; sidelight all cores, unless a row says otherwise.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median
from typing import Any

from sidelight import CRF, StructuredPerceptron
from sidelight.estimator import clone

from . import crfsuite
from .chunk_features import TEMPLATES, feature_dicts
from .chunking import Objective, compare_memory, scored, timed
from .datasets import Task, chunking_files, read_chunking
from .report import RATIO, Report
from .setting import Setting

PEER = crfsuite.NAME
EPOCHS = 10
PERCEPTRON = {"max_iterations": EPOCHS, **crfsuite.OBSERVED_ONLY}
# Targets: times as shares of CRFsuite's, and by how much two threads are faster than one.
DICT_PREDICTION, DICT_TRAINING = 1.0, 0.5
CRF_TIMES = {0.5: 0.08, 0.1: 1 / 3}
PERCEPTRON_TIME = 0.2
THREADS = 1.5
# Inputs of a batch of the perceptron, and how many sentences are few.
BATCHES = 1, 4, 16, 64
FEW = 300


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    return chunking_files(setting.data, setting.split)


def run(setting: Setting, report: Report) -> None:
    """Measure the chosen tables."""
    task = read_chunking(setting.data, setting.split)
    if not crfsuite.INSTALLED:
        report.note(crfsuite.MISSING)
    report.note(f"{len(task.train_X):,} training sentences; times are medians over the seeds, both sides taking turns.")
    for name in setting.chosen(TABLES):
        with report.section(name):
            TABLES[name](task, setting, report)


def in_turns(setting: Setting, *works: Callable[[int], Any]) -> list[tuple[float, list[Any]]]:
    """For each kind of work the median of its seconds and all results, one of each kind after the other."""
    rounds = [[timed(lambda work=work, seed=seed: work(seed)) for work in works] for seed in setting.seeds]
    return [(median(s for s, _ in runs), [found for _, found in runs]) for runs in zip(*rounds, strict=True)]


def beside_peer(
    setting: Setting, ours: Callable[[int], Any], theirs: Callable[[int], Any]
) -> tuple[tuple[float, list[Any]], tuple[float | None, list[Any]]]:
    """Time sidelight and CRFsuite in turns; without CRFsuite, its time is None and it has no results."""
    if not crfsuite.INSTALLED:
        return in_turns(setting, ours)[0], (None, [])
    own, other = in_turns(setting, ours, theirs)
    return own, other


def compare_dicts(task: Task, setting: Setting, report: Report) -> None:
    """The perceptron from feature dicts to a model, and labels from feature dicts."""
    X, new = [[feature_dicts(x) for x in some] for some in (task.train_X, task.eval_X)]
    StructuredPerceptron(epochs=1).fit(X[:50], task.train_y[:50]).predict(X[:50])
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = beside_peer(
            setting,
            lambda seed: StructuredPerceptron(epochs=EPOCHS, random_state=seed).fit(X, task.train_y),
            lambda seed: crfsuite.train(X, task.train_y, "ap", PERCEPTRON, Path(folder), lambda x: x),
        )
        report.compare("perceptron of feature dicts", "s", ours[0], theirs[0], peer=PEER, at_most=DICT_TRAINING)
        model, tagger = ours[1][0], crfsuite.open_tagger(theirs[1][0]) if theirs[1] else None
        ours, theirs = beside_peer(setting, lambda seed: model.predict(new), lambda seed: [tagger.tag(x) for x in new])
    report.compare("labels of feature dicts", "s", ours[0], theirs[0], peer=PEER, at_most=DICT_PREDICTION)


def compare_penalties(task: Task, setting: Setting, report: Report) -> None:
    """CRFs by the default solver, and where their objectives end."""
    CRF(TEMPLATES, max_iterations=2, boundaries=False).fit(task.train_X[:50], task.train_y[:50])
    with tempfile.TemporaryDirectory() as folder:
        for l2, share in CRF_TIMES.items():
            ours, theirs = beside_peer(
                setting,
                lambda seed, l2=l2: CRF(TEMPLATES, l2=l2, boundaries=False, random_state=seed).fit(
                    task.train_X, task.train_y
                ),
                lambda seed, l2=l2: crfsuite.train(
                    task.train_X, task.train_y, "lbfgs", {**crfsuite.LBFGS, "c2": l2}, Path(folder)
                ),
            )
            objective = Objective.of(ours[1][0], task)
            worst = max(objective(m.weights_) for m in ours[1])
            report.compare(f"CRF, l2 = {l2}", "s", ours[0], theirs[0], peer=PEER, at_most=share)
            report.add(f"CRF, l2 = {l2}, objective", "sidelight", worst, "nats")
            if theirs[1]:
                report.add(f"CRF, l2 = {l2}, objective", PEER, theirs[1][0].loss, "nats")


def compare_perceptron(task: Task, setting: Setting, report: Report) -> None:
    """The perceptron from columns."""
    StructuredPerceptron(TEMPLATES, epochs=1).fit(task.train_X[:50], task.train_y[:50])
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = beside_peer(
            setting,
            lambda seed: StructuredPerceptron(TEMPLATES, epochs=EPOCHS, random_state=seed).fit(
                task.train_X, task.train_y
            ),
            lambda seed: crfsuite.train(task.train_X, task.train_y, "ap", PERCEPTRON, Path(folder)),
        )
    report.compare("perceptron of columns", "s", ours[0], theirs[0], peer=PEER, at_most=PERCEPTRON_TIME)


def compare_threads(task: Task, setting: Setting, report: Report) -> None:
    """One thread and two, for both solvers of CRFs and for the perceptron."""
    learners: dict[str, Callable[..., Any]] = {
        "CRF, default solver": lambda **more: CRF(TEMPLATES, l2=0.5, boundaries=False, **more),
        "CRF, 20 iterations of L-BFGS": lambda **more: CRF(TEMPLATES, solver="lbfgs", max_iterations=20, **more),
        "perceptron": lambda **more: StructuredPerceptron(TEMPLATES, epochs=EPOCHS, **more),
        "perceptron, batches of 16": lambda **more: StructuredPerceptron(
            TEMPLATES, epochs=EPOCHS, batch_size=16, **more
        ),
    }
    for name, make in learners.items():
        one, two = in_turns(
            setting,
            *(
                lambda seed, jobs=jobs, make=make: make(random_state=seed, n_jobs=jobs).fit(task.train_X, task.train_y)
                for jobs in (1, 2)
            ),
        )
        for jobs, (seconds, _) in ((1, one), (2, two)):
            report.add(name, f"{jobs} thread{'s' * (jobs > 1)}", seconds, "s")
        target = THREADS if name == "CRF, default solver" else None
        report.add(f"{name}: two threads are faster", "times", one[0] / two[0], RATIO, at_least=target)


def compare_batches(task: Task, setting: Setting, report: Report) -> None:
    """Batches of the perceptron with two threads: time of a fit and accuracy, with many sentences and with few."""
    for size in BATCHES:
        name = f"batches of {size}" if size > 1 else "one by one"
        for count in (len(task.train_X), FEW):
            X, y = task.train_X[:count], task.train_y[:count]
            learner = StructuredPerceptron(TEMPLATES, epochs=EPOCHS, batch_size=size, n_jobs=2)
            ((seconds, fitted),) = in_turns(
                setting, lambda seed, X=X, y=y, one=learner: clone(one).set_params(random_state=seed).fit(X, y)
            )
            scores = [one.score(task.eval_X, task.eval_y) for one in fitted]
            report.add(f"perceptron, {name}, {count:,} sentences", "fit", seconds, "s")
            report.add(f"perceptron, {name}, {count:,} sentences", "accuracy", 100 * fmean(scores), "%")


def compare_peaks(task: Task, setting: Setting, report: Report) -> None:
    """Peak memory of CRF training."""
    compare_memory(setting, report)


TABLES: dict[str, Callable[[Task, Setting, Report], None]] = {
    "speed-dicts": compare_dicts,
    "speed-perceptron": compare_perceptron,
    "speed-crf": compare_penalties,
    "speed-threads": compare_threads,
    "speed-batches": compare_batches,
    "speed-memory": compare_peaks,
}

__all__ = ["TABLES", "files", "run", "scored"]
