"""Every learner on every task: trained on real data, or refused with its reason.

Sequences are citations, documents are reviews of books and dvds, trees are sentences of EWT, links are those of the
Hansards that are sure (for alignments without those that cross others), programs are entities and relations of
CoNLL-2004; all are small samples, and what is scored are others of these. Learners from rules get a few: that a
reference begins as the labelled ones do and fields change behind punctuation; that determiners have no dependents and
adpositions at most two; that punctuation is linked to punctuation and full stops have a link; that a sentence has few
relations. Learners around others go around a CRF of the task (an HMM for EM, a structural SVM where there are no
probabilities), `Agreement` has a view of all features and one of those that are seen twice, and unlabelled inputs come
where a learner can use them.
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
    Aligning,
    Classifying,
    Labelling,
    Matching,
    Parsing,
    Segmenting,
    SidelightError,
    StructuralSVM,
    changes_only_after,
    child,
    count,
    head,
    pos,
    punctuation,
    read_columns,
    shuffled,
    source,
    starts_with,
    target,
    word,
)
from sidelight.learners.registry import REGISTRY
from sidelight.supervision import Signal

from . import relations
from .report import Report
from .setting import Setting

LABELLED, UNLABELLED, SCORED = 20, 40, 60
# The same of pairs of the Hansards, and of CoNLL-2004.
PAIRS, SENTENCES = (8, 8, 8), (15, 20, 30)
# Seconds that `Auto` may take for a task.
BUDGET = 10.0
# Parameters of learners that would take long with their defaults.
OPTIONS: dict[str, dict[str, Any]] = {"JLIS": {"max_rounds": 5}}
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
    "trees": Parsing(),
    "projective trees": Parsing(projective=True, single_root=False),
    "alignments": Aligning(),
    "matchings": Matching(),
    "programs": relations.Relations(),
}
# The inputs of each task, and those where outputs have no probabilities.
_KIND = {
    "documents": "documents", "trees": "trees", "projective trees": "projective", "alignments": "alignments",
    "matchings": "matchings", "programs": "programs",
}  # fmt: skip
_WITHOUT_PROBABILITIES = ("matchings", "programs")
# Words of a sentence of a tree or a pair, at most.
_LONGEST = 15


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    reviews = [setting.data / "reviews" / kind / "positive.parsed" for kind in ("books", "dvd")]
    bitext = [setting.data / "hansards" / f"dev.{kind}" for kind in ("e", "f", "wa")]
    trees = setting.data / "ud" / "en_ewt" / "train.conllu"
    return [setting.data / "citations" / "train.tsv", *reviews, trees, *bitext, setting.data / "conll04" / "train.txt"]


def scored(setting: Setting) -> str:
    """What scores are of."""
    return (
        f"{SCORED} held-out training inputs (Hansards {PAIRS[2]} of dev, CoNLL-2004 {SENTENCES[2]}): citations (token "
        "accuracy), reviews of books and dvds (documents), EWT (heads), Hansards (F1 of sure links), CoNLL-2004 "
        "(sentences with all variables right)"
    )


def read(setting: Setting) -> dict[str, Inputs]:
    """Sequences and documents."""
    citations, books, dvds, treebank, *bitext, conll = files(setting)
    X, y = read_columns(citations, separator="\t")
    sizes = LABELLED, UNLABELLED, SCORED
    sequences = _split(X, y, setting.seeds[0], shuffled, sizes)
    documents, labels = [], []
    for label, path in (("books", books), ("dvd", dvds)):
        found = [re.findall(r"[a-z]+", text.lower())[:80] for text in _REVIEW.findall(path.read_text(errors="replace"))]
        documents += found
        labels += [label] * len(found)
    seed = setting.seeds[0]
    trees = read_trees(treebank)
    pairs, links = _read_links(*bitext)
    sentences = _few_entities(*relations.read(conll, keep_rules=True))
    return {
        "sequences": sequences,
        "documents": _split(documents, labels, seed, _without_topic, sizes),
        "trees": _split(*trees, seed, shuffled, sizes),
        "projective": _split(*projective(*trees), seed, shuffled, sizes),
        "alignments": _split(pairs, [_monotone(one) for one in links], seed, _mismatched, PAIRS),
        "matchings": _split(pairs, links, seed, _mismatched, PAIRS),
        "programs": _split(*sentences, seed, lambda X: [relations.backwards(x) for x in X], SENTENCES),
    }


def read_trees(path: Path) -> tuple[list[Any], list[Any]]:
    """Short sentences with tags, and the heads of their words."""
    X, y = [], []
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        cells = [line.split("\t") for line in block.splitlines() if line and line[0] != "#"]
        words = [one for one in cells if one[0].isdigit()]
        if 3 <= len(words) <= _LONGEST:
            X.append([(one[1], one[3]) for one in words])
            y.append([int(one[6]) for one in words])
        if len(X) == 400:
            break
    return X, y


def projective(X: list[Any], y: list[Any]) -> tuple[list[Any], list[Any]]:
    """The sentences whose arcs do not cross."""
    task = TASKS["projective trees"]
    kept = []
    for i, heads in enumerate(y):
        try:
            task.read([heads], [(len(heads),)])
        except SidelightError:
            continue
        kept.append(i)
    return [X[i] for i in kept], [y[i] for i in kept]


def _read_links(english: Path, french: Path, gold: Path) -> tuple[list[Any], list[Any]]:
    """Pairs of sentences, and their sure links, each word in one of them at most."""
    sides = [[line.split() for line in path.read_text().splitlines()] for path in (english, french)]
    X = list(zip(*sides, strict=True))
    y: list[list[tuple[int, int]]] = [[] for _ in X]
    for line in gold.read_text().splitlines():
        pair, i, j, kind = line.split()
        links, link = y[int(pair) - 1], (int(i) - 1, int(j) - 1)
        if kind == "S" and not any(link[0] == a or link[1] == b for a, b in links):
            links.append(link)
    short = [i for i, pair in enumerate(X) if max(map(len, pair)) <= 2 * _LONGEST]
    return [X[i] for i in short], [sorted(y[i]) for i in short]


def _monotone(links: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Links without those that cross an earlier one."""
    kept: list[tuple[int, int]] = []
    for link in links:
        if not kept or link[1] > kept[-1][1]:
            kept.append(link)
    return kept


def _mismatched(pairs: list[Any]) -> list[Any]:
    """Each sentence with the translation of the next."""
    return [(one[0], other[1]) for one, other in zip(pairs, [*pairs[1:], pairs[0]], strict=True)]


def _few_entities(X: list[Any], y: list[Any]) -> tuple[list[Any], list[Any]]:
    """Sentences with three entities at most."""
    kept = [i for i, x in enumerate(X) if len(x.spans) <= 3]
    return [X[i] for i in kept], [y[i] for i in kept]


def _split(X: list[Any], y: list[Any], seed: int, spoil: Any, sizes: tuple[int, int, int]) -> Inputs:
    order = random.Random(seed).sample(range(len(X)), sum(sizes))
    known, pool, test = order[: sizes[0]], order[sizes[0] :][: sizes[1]], order[sizes[0] + sizes[1] :]
    more = [X[i] for i in pool]
    return Inputs(
        [X[i] for i in known], [y[i] for i in known], more, list(spoil(more)), [X[i] for i in test],
        [y[i] for i in test],
    )  # fmt: skip


def _without_topic(documents: list[list[str]]) -> list[list[str]]:
    """Documents of common words alone."""
    return [[word for word in one if len(word) < 4] for one in documents]


# Rules about arcs, links and variables.
_PART_RULES = {
    "trees": [count(where=head(pos.isin("DET"))) == 0, count(by=head(pos.isin("ADP"))) <= 2],
    "projective trees": [
        count(where=head(pos.isin("DET"))) == 0, count(where=child(pos.isin("DET")) & head(pos.isin("PUNCT"))) == 0,
    ],
    "alignments": [
        count(where=source(word.isin(".")) & target(~word.isin("."))) == 0, count(by=source(word.isin("."))) >= 1,
    ],
    "matchings": [
        count(where=source(word.isin(".")) & target(~word.isin("."))) == 0, count(by=source(word.isin("."))) >= 1,
    ],
    "programs": [count(*relations.ARGUMENTS) <= 3],
}  # fmt: skip


def _rules(inputs: Inputs, name: str, title: str) -> list[Any]:
    """Rules for a learner that takes some, on inputs that have labels, arcs or links for them."""
    if title in _PART_RULES:
        return _PART_RULES[title]
    labels = {label for one in inputs.y if not isinstance(one, str) for label in one}
    if not labels:
        return []
    first = sorted({one[0] for one in inputs.y})
    local = [starts_with(*first), changes_only_after(punctuation)]
    return [*local, count(first[0]) >= 1] if REGISTRY[name].expecting else local


def make(name: str, title: str, inputs: Inputs) -> Any:
    """A learner for a task, with its defaults."""
    learner, entry, task = getattr(sidelight, name), REGISTRY[name], TASKS[title]
    if name == "Agreement":
        views = {"all": CRF(task=task), "frequent": CRF(task=task, min_count=2)}
        return learner({view: _set(one) for view, one in views.items()}, guard=False)
    if entry.inside:
        probable = HMM() if name == "EM" else CRF(task=task)
        base = _set(StructuralSVM(task=task) if title in _WITHOUT_PROBABILITIES else probable)
        rules = _rules(inputs, name, title)
        takes = "rules" in learner(base).get_params(deep=False)
        return _set(learner(base, rules, guard=False) if takes else learner(base, guard=False))
    parameters = learner().get_params(deep=False)
    options: dict[str, Any] = {"guard": False} if "guard" in parameters else {}
    if name == "JLIS" and isinstance(task, Classifying):
        options["size"] = None
    if name == "Auto":
        options |= {"rules": _rules(inputs, name, title), "budget": BUDGET}
    return _set(learner(task=task, **options) if "task" in parameters else learner(**options))


def _set(learner: Any) -> Any:
    """Gives a learner the parameters that it has here in the place of its defaults."""
    return learner.set_params(**OPTIONS.get(type(learner).__name__, {}))


# Learners that are for one task only, or for none of these.
_ONLY = {
    "EM": "labels",
    "HMM": "labels",
    "Auto": "labels",
    "SemiCRF": "segments",
    "MaxEnt": "documents",
    "DocumentJLIS": "documents",
    "KernelPerceptron": "labels",
    "LCLR": "a yes or no of each input (benchmark transliteration)",
    "TwoStage": "a yes or no of each input (benchmark transliteration)",
    "DMV": "trees of tags (benchmark projection)",
}


def cell(name: str, title: str, inputs: Inputs) -> str:
    """The score of a learner on a task, or why there is none."""
    only = _ONLY.get(name)
    if only is not None and title != only:
        return f"for {only} only" if only in TASKS else f"for {only}"
    signals = REGISTRY[name].signals
    X, y = list(inputs.X), list(inputs.y)
    if Signal.NOTHING in signals and name != "ContrastiveEstimation":
        X, y = X + inputs.pool, y + [None] * len(inputs.pool)
    if Signal.COMPANION in signals and name != "Auto":
        X, y = X + inputs.pool + inputs.bad, y + [GOOD] * len(inputs.pool) + [BAD] * len(inputs.bad)
    if name == "ContrastiveEstimation" and title.startswith(("labels", "segments")):
        y = [[{label, inputs.y[0][0]} for label in one] for one in y]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            learner = make(name, title, inputs)
            return f"{100 * learner.fit(X, y).score(inputs.test_X, inputs.test_y):.1f}"
        except SidelightError as error:
            return f"refused: {str(error).split(';')[0]}"


def run(setting: Setting, report: Report) -> None:
    """A row for each learner, a column for each task."""
    data = read(setting)
    report.note(f"| learner | {' | '.join(TASKS)} |\n|---|{'---|' * len(TASKS)}")
    for name in sidelight.LEARNERS:
        row = [cell(name, title, data[_KIND.get(title, "sequences")]) for title in TASKS]
        report.note(f"| {name} | {' | '.join(row)} |")
