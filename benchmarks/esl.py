"""Entropy-guided structure learning: templates that a decision tree finds, beside the basic features and a kernel.

Chunking from basic features only: words and tags in a window, affixes and capitals. The large-margin perceptron learns
from these alone, and from them with the templates of `InducedTemplates`; the kernel perceptron of degree 2, which has
all pairs of basic features, learns from a part of the sentences. A parser learns from hand-written templates of arcs
and from induced ones. Times are those of the processor, with features and templates.
"""

from collections.abc import Callable
from pathlib import Path
from statistics import fmean, pstdev
from time import process_time
from typing import Any

from sidelight import (
    CRF,
    InducedTemplates,
    KernelPerceptron,
    Parsing,
    StructuredPerceptron,
    read_trees,
    span_scores,
    tree_scores,
)
from sidelight.features.induced import basic_templates

from .chosen import constant
from .datasets import Task, chunking_files, read_chunking, treebank_files
from .report import Report, quoted
from .setting import Setting

TABLES = ("esl-chunking", "esl-kernel", "esl-parsing")
# Words and tags in a window, shapes of words, affixes.
BASIC = basic_templates(2)
# A token has some forty features, and each weight changes by one.
OPTIONS, KERNEL = constant("esl.OPTIONS"), constant("esl.KERNEL")
# Asked of the test set, and the F1 of Table 4.1 of Fernandes 2012.
F1, PUBLISHED, MORE = 93.8, {quoted("ESL"): 94.12, quoted("kernel SVM"): 93.48}, 1.0
# Sentences that the kernel perceptron learns from, and how many times longer it is to take.
SENTENCES, SLOWER = 1000, 10.0
ARC_MARGIN, APART = 300.0, 0.5
ARCS = constant("esl.ARCS")


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    chosen = setting.chosen(TABLES)
    chunks = chunking_files(setting.data, setting.split) if set(chosen) & set(TABLES[:2]) else []
    return chunks + (treebank_files(setting.data, setting.split) if TABLES[2] in chosen else [])


def scored(setting: Setting) -> str:
    """The data that is scored."""
    chunks = "CoNLL-2000 test" if setting.split == "test" else "the end of CoNLL-2000 train"
    return f"{chunks}, and UD English-EWT, {setting.split}"


def run(setting: Setting, report: Report) -> None:
    """All tables."""
    chosen = setting.chosen(TABLES)
    if set(chosen) & set(TABLES[:2]):
        task = read_chunking(setting.data, setting.split)
        some = Task(task.train_X[:50], task.train_y[:50], task.eval_X, task.eval_y)
        induced(some)  # compiles
        for make in (StructuredPerceptron, KernelPerceptron):
            make(BASIC, epochs=1).fit(some.train_X, some.train_y)
    if TABLES[0] in chosen:
        with report.section("Chunking from basic features"):
            _chunking(setting, report, task)
    if TABLES[1] in chosen:
        with report.section(f"Beside a kernel: {SENTENCES:,} sentences"):
            _kernel(setting, report, task)
    if TABLES[2] in chosen:
        with report.section("Templates of arcs"):
            _parsing(setting, report)


def cpu_seconds(work: Callable[[], Any]) -> float:
    """How long the processor was busy with it, so that other processes do not count."""
    started = process_time()
    work()
    return process_time() - started


def induced(task: Task) -> list[Any]:
    """Templates that were found in the training sentences, and the basic features."""
    templates: list[Any] = InducedTemplates(BASIC).fit(task.train_X, task.train_y).templates_
    return templates


def f1(task: Task, learner: Any) -> float:
    """Span F1 in percent."""
    return 100 * float(span_scores(task.eval_y, learner.predict(task.eval_X), scheme="bio").overall.f1)


def _chunking(setting: Setting, report: Report, task: Task) -> None:
    found: list[Any] = []
    report.add("finding templates", "sidelight", cpu_seconds(lambda: found.extend(induced(task))), "s")
    means = {}
    for name, features in (("basic features", BASIC), ("induced templates", found)):
        scores, took = [], []
        for seed in setting.seeds:
            learner = StructuredPerceptron(features, **OPTIONS, random_state=seed)
            took.append(cpu_seconds(lambda learner=learner: learner.fit(task.train_X, task.train_y)))
            scores.append(f1(task, learner))
        means[name] = fmean(scores)
        asked = F1 if setting.split == "test" and name == "induced templates" else None
        report.add(f"perceptron, {name}: F1", "sidelight", means[name], "%", deviation=pstdev(scores), at_least=asked)
        report.add(f"perceptron, {name}: features", "sidelight", len(features), "")
        report.add(f"perceptron, {name}: training", "sidelight", fmean(took), "s")
    gain = means["induced templates"] - means["basic features"]
    report.add("induced less basic: F1", "sidelight", gain, "%", at_least=MORE)
    report.add("CRF, induced templates: F1", "sidelight", f1(task, CRF(found).fit(task.train_X, task.train_y)), "%")
    for system, value in PUBLISHED.items():
        report.add("F1 on test", system, value, "%")


def _kernel(setting: Setting, report: Report, task: Task) -> None:
    """Both on the first sentences, features and templates included."""
    part = Task(task.train_X[:SENTENCES], task.train_y[:SENTENCES], task.eval_X, task.eval_y)
    scores: dict[str, list[float]] = {"induced templates": [], "kernel": []}
    took: dict[str, list[float]] = {name: [] for name in scores}
    for seed in setting.seeds:
        for name in scores:
            learners: list[Any] = []

            def fit(name: str = name, seed: int = seed, learners: list[Any] = learners) -> None:
                if name == "kernel":
                    learner: Any = KernelPerceptron(BASIC, **KERNEL, random_state=seed)
                else:
                    learner = StructuredPerceptron(induced(part), **OPTIONS, random_state=seed)
                learners.append(learner.fit(part.train_X, part.train_y))

            took[name].append(cpu_seconds(fit))
            scores[name].append(f1(task, learners[0]))
    for name in scores:
        report.add(f"{name}: F1", "sidelight", fmean(scores[name]), "%", deviation=pstdev(scores[name]))
        report.add(f"{name}: training", "sidelight", fmean(took[name]), "s")
    apart = fmean(scores["induced templates"]) - fmean(scores["kernel"])
    report.add("induced less kernel: F1", "sidelight", apart, "%", at_least=0.0)
    times = fmean(took["kernel"]) / fmean(took["induced templates"])
    report.add("kernel / induced: training", "sidelight", times, "times", at_least=SLOWER)


def _parsing(setting: Setting, report: Report) -> None:
    """Unlabelled trees by hand-written and by induced templates."""
    (X, y), (eval_X, eval_y) = map(read_trees, treebank_files(setting.data, setting.split))
    found: list[Any] = []
    took = cpu_seconds(lambda: found.extend(induced_arcs(X, y)))
    report.add("finding templates of arcs", "sidelight", took, "s")
    scores = {}
    for name, features in (("hand-written", None), ("induced", found)):
        task = Parsing(projective=True, lift=True)
        parser = StructuredPerceptron(features, task=task, margin=ARC_MARGIN, random_state=setting.seeds[0])
        took = cpu_seconds(lambda parser=parser: parser.fit(X, y))
        scores[name] = 100 * tree_scores(eval_y, parser.predict(eval_X)).uas
        report.add(f"{name}: UAS", "sidelight", scores[name], "%")
        report.add(f"{name}: templates", "sidelight", len(parser.scorer_.templates), "")
        report.add(f"{name}: training", "sidelight", took, "s")
    report.add("induced less hand-written: UAS", "sidelight", scores["induced"] - scores["hand-written"], "%",
               at_least=-APART)  # fmt: skip


def induced_arcs(X: Any, y: Any) -> list[str]:
    """Templates of arcs that were found in training trees."""
    templates: list[str] = InducedTemplates(factors="arcs", **ARCS).fit(X, y).templates_
    return templates
