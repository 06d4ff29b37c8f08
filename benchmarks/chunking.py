"""CoNLL-2000 chunking: CRF, perceptron, decoding and memory beside CRFsuite, with equal attributes and weights.

MIRA, and structural SVMs beside published numbers of others.
"""

import tempfile
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from math import isnan
from pathlib import Path
from statistics import fmean, median, pstdev
from time import perf_counter
from typing import Any

from sidelight import CRF, MIRA, StructuralSVM, StructuredPerceptron, span_scores
from sidelight.kernels.compiling import Floats
from sidelight.labels import encode_labels
from sidelight.solvers.losses import LogLoss
from sidelight.structures.chain import Chain

from . import crfsuite
from .chosen import constant
from .chunk_features import TEMPLATES, attributes
from .datasets import Task, chunking_files, read_chunking
from .memory import peak_of
from .report import Report, quoted
from .setting import Setting
from .weight_exchange import attribute_numbers, weights_as

L2 = 0.5
A_THIRD = 1 / 3
# Asked of the test set; dev is easier.
MIRA_F1, SVM_F1 = 93.4, 93.5
SVM_C = constant("chunking.SVM_C")
SVM_GAP, SVM_SECONDS = 1.0, 45.0
# Published F1 on the test set and seconds of structural SVMs: Illinois-SL by dual coordinate descent, and dlib.
PUBLISHED_SVMS = {quoted("Illinois-SL"): (93.58, 133.0), quoted("dlib"): (92.02, 123.0)}
OTHER_SOLVERS = ("eg", "sgd")
# Passes of stochastic gradient steps for a CRF.
SGD_PASSES = 10
PEER = crfsuite.NAME
VERSUS = f"sidelight / {PEER}"


class WatchedCRF(CRF):  # type: ignore[misc]
    """A CRF that tells how long its features took."""

    feature_s: float

    def fit(self, X: Any, y: Any) -> Any:
        """Fit, and remember when that began."""
        self._begun = perf_counter()
        return super().fit(X, y)

    def choose_solver(self, prepared: Any, counts: Any = None) -> str:
        """Called as soon as the features are there."""
        self.feature_s = perf_counter() - self._begun
        return str(super().choose_solver(prepared, counts))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and result."""
    started = perf_counter()
    result = work()
    return perf_counter() - started, result


@dataclass(frozen=True)
class Objective:
    """The regularised objective of any weights on a model's training data."""

    loss: LogLoss
    l2: float

    @classmethod
    def of(cls, model: CRF, task: Task) -> "Objective":
        """The objective that the model was trained for."""
        targets = encode_labels(task.train_y, [len(x) for x in task.train_X], model.classes_)
        return cls(LogLoss(model.scorer_, Chain(model.n_jobs), model.encode(task.train_X), targets), model.l2)

    def __call__(self, weights: Floats) -> float:
        """Its value."""
        return self.loss(weights)[0] + self.l2 * float(weights @ weights)


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    return chunking_files(setting.data, setting.split)


def scored(setting: Setting) -> str:
    """The data that is scored."""
    return "CoNLL-2000, test" if setting.split == "test" else "CoNLL-2000, dev: the end of train"


def run(setting: Setting, report: Report) -> None:
    """Measure everything about chunking."""
    task = read_chunking(setting.data, setting.split)
    report.note(
        f"{len(task.train_X):,} training sentences ({task.train_tokens:,} tokens), {len(task.eval_X):,} to score. "
        "Kernels are compiled before the clock starts; `startup` measures compilation. Times of training are medians "
        f"over the seeds, F1 is the mean, and both sides take turns; {PEER}'s CRF is the same for every seed and "
        "trained once. It uses one thread, and storing its model is not counted."
    )
    warm_up(task)
    if not crfsuite.INSTALLED:
        report.note(crfsuite.MISSING)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, peer = compare_crf(task, setting, report, folder)
        compare_perceptron(task, setting, report, folder)
        measure_mira(task, setting, report)
        measure_svm(task, setting, report)
        compare_decoding(task, model, peer, report)
    compare_memory(setting, report)


def warm_up(task: Task) -> None:
    """Compile, or load, every kernel that is measured."""
    X, y = task.train_X[:50], task.train_y[:50]
    StructuredPerceptron(TEMPLATES, epochs=1).fit(X, y)
    MIRA(TEMPLATES, epochs=1).fit(X, y)
    StructuralSVM(TEMPLATES).fit(X, y)
    for solver in ("eg", "lbfgs"):
        model = CRF(TEMPLATES, solver=solver, max_iterations=2).fit(X, y)
    model.predict(X)
    model.predict_marginals(X)


def f1(task: Task, predicted: Any) -> float:
    """Span F1 in percent."""
    return 100 * float(span_scores(task.eval_y, predicted, scheme="bio").overall.f1)


def compare_crf(
    task: Task, setting: Setting, report: Report, folder: Path
) -> tuple[WatchedCRF, crfsuite.Trained | None]:
    """Objective, time and F1 of CRFs."""

    def fit(**options: Any) -> tuple[float, WatchedCRF]:
        model = WatchedCRF(TEMPLATES, l2=L2, boundaries=False, **options)
        return timed(lambda: model.fit(task.train_X, task.train_y))

    report.note("CRF: sidelight")
    half = len(setting.seeds) // 2
    runs = [fit(random_state=seed) for seed in setting.seeds[:half]]
    peer = None
    if crfsuite.INSTALLED:
        report.note(f"CRF: {PEER}")
        peer = crfsuite.train(task.train_X, task.train_y, "lbfgs", crfsuite.LBFGS, folder)
    runs += [fit(random_state=seed) for seed in setting.seeds[half:]]
    model = runs[0][1]
    scores = [f1(task, m.predict(task.eval_X)) for _, m in runs]
    objective = Objective.of(model, task)
    worst = max(objective(m.weights_) for _, m in runs)
    if peer:
        compare_weights(task, model, objective, peer, report)
    report.add("CRF objective", "sidelight", worst, "nats")
    if peer and peer.loss:
        report.add("CRF objective", PEER, peer.loss, "nats")
        report.add("CRF objective", VERSUS, 100 * (worst / peer.loss - 1), "% above", at_most=0.1)
    alone, whole = median(s - m.feature_s for s, m in runs), median(s for s, _ in runs)
    peer_alone, peer_whole = (peer.training_s, peer.total_s) if peer else (None, None)
    report.compare("CRF training alone", "s", alone, peer_alone, peer=PEER, at_most=A_THIRD)
    report.compare("CRF features and training", "s", whole, peer_whole, peer=PEER, at_most=A_THIRD)
    report.add("CRF F1", "sidelight", fmean(scores), "%", deviation=pstdev(scores))
    if peer:
        report.add("CRF F1", PEER, f1(task, crfsuite.predict(crfsuite.open_tagger(peer), task.eval_X)), "%")
    if setting.lbfgs:
        report.note("CRF: sidelight by L-BFGS")
        seconds, slow = fit(solver="lbfgs")
        report.add("CRF by L-BFGS, objective", "sidelight", objective(slow.weights_), "nats")
        report.compare("CRF by L-BFGS, features and training", "s", seconds, peer_whole, peer=PEER)
        report.add("CRF by L-BFGS, F1", "sidelight", f1(task, slow.predict(task.eval_X)), "%")
    if setting.solvers:
        report.note(f"CRF: sidelight by stochastic gradient steps, {SGD_PASSES} passes")
        seconds, stochastic = fit(solver="sgd", max_iterations=SGD_PASSES)
        report.add("CRF by SGD, objective", "sidelight", objective(stochastic.weights_), "nats")
        report.add("CRF by SGD, features and training", "sidelight", seconds, "s")
        report.add("CRF by SGD, F1", "sidelight", f1(task, stochastic.predict(task.eval_X)), "%")
    if setting.peers:
        run_sklearn_crfsuite(task, report, whole)
    return model, peer


def compare_weights(
    task: Task, model: WatchedCRF, objective: Objective, peer: crfsuite.Trained, report: Report
) -> None:
    """Raise unless both have the same attributes and weights; tell what our objective says of the peer's weights."""
    if peer.weights != model.scorer_.size:
        raise ValueError(f"{PEER} has {peer.weights} weights, sidelight {model.scorer_.size}")
    numbers = attribute_numbers(task.train_X, objective.loss.encoded.indices.reshape(-1, len(TEMPLATES)))
    weights = weights_as(model.scorer_, model.classes_, numbers, crfsuite.open_tagger(peer))
    for system, w in (("sidelight", model.weights_), (PEER, weights)):
        report.add("CRF attributes", system, len(numbers), "")
        report.add("CRF weights", system, len(w), "")
        report.add("CRF objective, both by sidelight", system, objective(w), "nats")


def run_sklearn_crfsuite(task: Task, report: Report, ours: float) -> None:
    """The wrapper with scikit-learn's interface."""
    try:
        import sklearn_crfsuite
    except ImportError:
        report.note("sklearn-crfsuite is not installed, so it is left out; pip install 'sidelight[bench]'")
        return
    report.note("CRF: sklearn-crfsuite")
    model = sklearn_crfsuite.CRF(algorithm="lbfgs", c1=0.0, c2=L2)
    seconds, _ = timed(lambda: model.fit(list(map(attributes, task.train_X)), task.train_y))
    report.compare("CRF by wrapper, features and training", "s", ours, seconds, peer="sklearn-crfsuite")
    predicted = model.predict(list(map(attributes, task.eval_X)))
    report.add("CRF by wrapper, F1", "sklearn-crfsuite", f1(task, predicted), "%")


def compare_perceptron(task: Task, setting: Setting, report: Report, folder: Path) -> None:
    """Ten passes of the averaged perceptron, features included."""

    def fit(seed: int) -> tuple[float, StructuredPerceptron]:
        model = StructuredPerceptron(TEMPLATES, epochs=10, random_state=seed)
        return timed(lambda: model.fit(task.train_X, task.train_y))

    report.note("perceptron")
    parameters = {"max_iterations": 10, **crfsuite.OBSERVED_ONLY}
    times: dict[str, list[float]] = {"sidelight": [], PEER: []}
    scores: dict[str, list[float]] = {"sidelight": [], PEER: []}
    for seed in setting.seeds:
        seconds, model = fit(seed)
        times["sidelight"].append(seconds)
        scores["sidelight"].append(f1(task, model.predict(task.eval_X)))
        if crfsuite.INSTALLED:
            peer = crfsuite.train(task.train_X, task.train_y, "ap", parameters, folder)
            times[PEER].append(peer.total_s)
            scores[PEER].append(f1(task, crfsuite.predict(crfsuite.open_tagger(peer), task.eval_X)))
    ours, theirs = median(times["sidelight"]), median(times[PEER]) if times[PEER] else None
    report.compare("perceptron features and training", "s", ours, theirs, peer=PEER, at_most=A_THIRD)
    for system, values in scores.items():
        if values:
            report.add("perceptron F1", system, fmean(values), "%", deviation=pstdev(values))


def measure_mira(task: Task, setting: Setting, report: Report) -> None:
    """Ten passes of 5-best MIRA, features included."""
    report.note("MIRA")
    times, scores = [], []
    for seed in setting.seeds:
        model = MIRA(TEMPLATES, epochs=10, random_state=seed)
        times.append(timed(lambda model=model: model.fit(task.train_X, task.train_y))[0])
        scores.append(f1(task, model.predict(task.eval_X)))
    report.add("MIRA features and training", "sidelight", median(times), "s")
    asked = MIRA_F1 if setting.split == "test" else None
    report.add("MIRA F1", "sidelight", fmean(scores), "%", deviation=pstdev(scores), at_least=asked)


def measure_svm(task: Task, setting: Setting, report: Report) -> None:
    """The structural SVM with squared hinge loss, features included; the other solvers if asked for."""
    report.note("structural SVM; published numbers are on the test set and on other machines")
    asked = SVM_F1 if setting.split == "test" else None
    runs = [fit_svm(task, seed) for seed in setting.seeds]
    scores = [f1(task, model.predict(task.eval_X)) for _, model in runs]
    gap = max(100 * model.trace_[-1].relative_gap for _, model in runs)
    seconds = median(s for s, _ in runs)
    report.add("SSVM F1", "sidelight", fmean(scores), "%", deviation=pstdev(scores), at_least=asked)
    report.add("SSVM duality gap, at most", "sidelight", gap, "%", at_most=SVM_GAP)
    report.add("SSVM features and training", "sidelight", seconds, "s", at_most=SVM_SECONDS)
    report.add("SSVM outputs in working sets", "sidelight", median(model.rows_ for _, model in runs), "")
    for system, (score, spent) in PUBLISHED_SVMS.items():
        report.add("SSVM F1", system, score, "%")
        report.add("SSVM features and training", system, spent, "s")
    for solver in ("dcd", *OTHER_SOLVERS) if setting.solvers else ():
        report.note(f"structural SVM with hinge loss by {solver}")
        spent, model = fit_svm(task, setting.seeds[0], loss="hinge", solver=solver)
        last, name = model.trace_[-1], f"SSVM, hinge loss, by {solver}"
        report.add(f"{name}: F1", "sidelight", f1(task, model.predict(task.eval_X)), "%")
        report.add(f"{name}: features and training", "sidelight", spent, "s")
        report.add(f"{name}: objective", "sidelight", last.objective, "loss")
        if not isnan(last.gap):
            report.add(f"{name}: duality gap", "sidelight", 100 * last.relative_gap, "%")


def fit_svm(task: Task, seed: int, **options: Any) -> tuple[float, StructuralSVM]:
    """Seconds and model."""
    model = StructuralSVM(TEMPLATES, C=SVM_C, random_state=seed, **options)
    return timed(lambda: model.fit(task.train_X, task.train_y))


def compare_decoding(task: Task, model: WatchedCRF, peer: crfsuite.Trained | None, report: Report) -> None:
    """Tokens a second on the training sentences, the best of three, taking turns."""
    report.note(f"decoding the training sentences; encoded input of {PEER} is its ItemSequence, which holds strings")
    X, encoded, single = task.train_X, model.encode(task.train_X), deepcopy(model)
    single.use_threads(1)
    ours: dict[str, Callable[[WatchedCRF], Any]] = {
        "labels of encoded input": lambda m: m.predict(encoded),
        "labels of raw columns": lambda m: m.predict(X),
        "marginals of encoded input": lambda m: m.predict_marginals(encoded),
    }
    theirs: dict[str, Callable[[], Any]] = {}
    if peer:
        tagger, items = crfsuite.open_tagger(peer), crfsuite.item_sequences(X)
        theirs = {
            "labels of encoded input": lambda: [tagger.tag(item) for item in items],
            "labels of raw columns": lambda: crfsuite.predict(tagger, X),
            "marginals of encoded input": lambda: crfsuite.marginals(tagger, items),
        }
    for what, work in ours.items():
        works: list[Callable[[], Any]] = [partial(work, model), partial(work, single)]
        works += [theirs[what]] if peer else []
        rounds = [[task.train_tokens / timed(one)[0] for one in works] for _ in range(3)]
        threaded, alone, *rival = (max(speeds) for speeds in zip(*rounds, strict=True))
        report.compare(what, "tokens/s", threaded, rival[0] if rival else None, peer=PEER)
        report.compare(f"{what}, 1 thread", "tokens/s", alone, rival[0] if rival else None, peer=PEER)


def compare_memory(setting: Setting, report: Report) -> None:
    """Peak memory of CRF training in processes of their own."""
    report.note("memory")
    ours = peak_of("sidelight", setting)
    theirs = peak_of(PEER, setting) if crfsuite.INSTALLED else None
    report.compare("peak memory of CRF training", "MB", ours, theirs, peer=PEER)
