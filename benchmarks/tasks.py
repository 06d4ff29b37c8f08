"""Every learner on every task: trained on real data, or refused with its reason.

Sequences are citations, documents are reviews of books and dvds; both are small samples of the training files, and what
is scored are others of these. Learners from rules get two rules, that a reference begins as the labelled ones do and
that fields change behind punctuation. Learners around others go around a CRF of the task (an HMM for EM), and
unlabelled inputs come where a learner can use them.
"""

import random
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sidelight
from sidelight import (
    BAD,
    CRF,
    GOOD,
    HMM,
    Classifying,
    Labelling,
    Segmenting,
    SidelightError,
    changes_only_after,
    count,
    punctuation,
    read_columns,
    shuffled,
    starts_with,
)
from sidelight.learners.registry import REGISTRY
from sidelight.supervision import Signal

from .report import Report
from .setting import Setting

LABELLED, UNLABELLED, SCORED = 20, 40, 60
_REVIEW = re.compile(r"<review>(.*?)</review>", re.S)


@dataclass(frozen=True)
class Inputs:
    """Labelled, unlabelled, bad and scored inputs of one kind."""

    X: list[Any]
    y: list[Any]
    pool: list[Any]
    bad: list[Any]
    test_X: list[Any]  # noqa: N815
    test_y: list[Any]


TASKS = {
    "labels": Labelling(),
    "labels, order 2": Labelling(order=2),
    "segments": Segmenting(),
    "documents": Classifying(),
}


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    reviews = [setting.data / "reviews" / kind / "positive.parsed" for kind in ("books", "dvd")]
    return [setting.data / "citations" / "train.tsv", *reviews]


def scored(setting: Setting) -> str:
    """What scores are of."""
    return f"{SCORED} held-out training inputs: citations (token accuracy), reviews of books and dvds (documents)"


def read(setting: Setting) -> dict[str, Inputs]:
    """Sequences and documents."""
    citations, books, dvds = files(setting)
    X, y = read_columns(citations, separator="\t")
    sequences = _split(X, y, setting.seeds[0], shuffled)
    documents, labels = [], []
    for label, path in (("books", books), ("dvd", dvds)):
        found = [re.findall(r"[a-z]+", text.lower())[:80] for text in _REVIEW.findall(path.read_text(errors="replace"))]
        documents += found
        labels += [label] * len(found)
    return {"sequences": sequences, "documents": _split(documents, labels, setting.seeds[0], _without_topic)}


def _split(X: list[Any], y: list[Any], seed: int, spoil: Any) -> Inputs:
    order = random.Random(seed).sample(range(len(X)), LABELLED + UNLABELLED + SCORED)
    known, pool, test = order[:LABELLED], order[LABELLED:][:UNLABELLED], order[LABELLED + UNLABELLED :]
    more = [X[i] for i in pool]
    return Inputs(
        [X[i] for i in known], [y[i] for i in known], more, list(spoil(more)), [X[i] for i in test],
        [y[i] for i in test],
    )  # fmt: skip


def _without_topic(documents: list[list[str]]) -> list[list[str]]:
    """Documents of common words alone."""
    return [[word for word in one if len(word) < 4] for one in documents]


def _rules(inputs: Inputs, name: str) -> list[Any]:
    """Rules for a learner that takes some, on inputs that have labels for them."""
    labels = {label for one in inputs.y if not isinstance(one, str) for label in one}
    if not labels:
        return []
    first = sorted({one[0] for one in inputs.y})
    local = [starts_with(*first), changes_only_after(punctuation)]
    return [*local, count(first[0]) >= 1] if REGISTRY[name].expecting else local


def make(name: str, task: Any, inputs: Inputs) -> Any:
    """A learner for a task, with its defaults."""
    learner, entry = getattr(sidelight, name), REGISTRY[name]
    if entry.inside:
        base = HMM() if name == "EM" else CRF(task=task)
        rules = _rules(inputs, name)
        takes = "rules" in learner(base).get_params(deep=False)
        return learner(base, rules, guard=False) if takes else learner(base, guard=False)
    parameters = learner().get_params(deep=False)
    options: dict[str, Any] = {"guard": False} if "guard" in parameters else {}
    if name == "JLIS":
        options |= {"max_rounds": 5, "size": None if isinstance(task, Classifying) else "length"}
    if name == "Auto":
        options |= {"rules": _rules(inputs, name), "budget": 10.0}
    return learner(task=task, **options) if "task" in parameters else learner(**options)


# Learners that are for one task only.
_ONLY = {
    "EM": "labels",
    "HMM": "labels",
    "Auto": "labels",
    "SemiCRF": "segments",
    "MaxEnt": "documents",
    "DocumentJLIS": "documents",
}


def cell(name: str, title: str, inputs: Inputs) -> str:
    """The score of a learner on a task, or why there is none."""
    only = _ONLY.get(name)
    if only is not None and title != only:
        return f"for {only} only"
    signals = REGISTRY[name].signals
    X, y = list(inputs.X), list(inputs.y)
    if Signal.NOTHING in signals and name != "ContrastiveEstimation":
        X, y = X + inputs.pool, y + [None] * len(inputs.pool)
    if Signal.COMPANION in signals and name != "Auto":
        X, y = X + inputs.pool + inputs.bad, y + [GOOD] * len(inputs.pool) + [BAD] * len(inputs.bad)
    if name == "ContrastiveEstimation" and title != "documents":
        y = [[{label, inputs.y[0][0]} for label in one] for one in y]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            learner = make(name, TASKS[title], inputs)
            return f"{100 * learner.fit(X, y).score(inputs.test_X, inputs.test_y):.1f}"
        except SidelightError as error:
            return f"refused: {str(error).split(';')[0]}"


def run(setting: Setting, report: Report) -> None:
    """A row for each learner, a column for each task."""
    data = read(setting)
    lines = [f"| learner | {' | '.join(TASKS)} |", f"|---|{'---|' * len(TASKS)}"]
    for name in sidelight.LEARNERS:
        row = [cell(name, title, data["documents" if title == "documents" else "sequences"]) for title in TASKS]
        lines.append(f"| {name} | {' | '.join(row)} |")
    report.note("\n".join(lines))
