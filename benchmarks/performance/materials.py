"""The data of a cell: labelled inputs, unlabelled ones, and others that are scored.

All are drawn from training files with a fixed seed, so that no official dev or test set is touched (but for the pairs
of the Hansards that have gold links, which are a dev set), or they are generated. What only some readers or learners
need is imported when it is needed: the memory of a peer's process is not to hold what sidelight's learners import.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sidelight import read_columns, window, word

from ..chunk_features import TEMPLATES, attributes
from ..datasets import MissingData, require_files
from .cells import Cell

_SEED = 0
# Inputs with which systems are fitted before the clock starts.
_FEW = 12
TITLES = {
    "chunks": "CoNLL-2000 chunking",
    "citations": "citations",
    "references": "generated references",
    "generated": "generated sequences",
    "reviews": "reviews of books",
    "trees": "short sentences of UD English-EWT",
    "names": "pairs of English and Hebrew names",
    "bitext": "Hansards, pairs of sentences",
    "words": "UD English-EWT, sentences without tags",
}


@dataclass(frozen=True)
class Material:
    """What a system learns from, and what it is scored on.

    scored: that in words; score: takes gold and predicted outputs and gives points between 0 and 100; rule_task: whose
    rules are given, and rule_count how many of them; templates and attributes: the same features for sidelight and for
    peers.
    """

    X: list[Any]
    y: list[Any]
    pool: list[Any]
    test_X: list[Any]  # noqa: N815
    test_y: list[Any]
    metric: str
    scored: str
    score: Callable[[Sequence[Any], Sequence[Any]], float]
    classes: tuple[str, ...] = ()
    rule_task: str | None = None
    rule_count: int | None = None
    templates: tuple[Any, ...] = ()
    attributes: Callable[[Any], Any] | None = None

    @property
    def rules(self) -> list[Any]:
        """What is known about outputs."""
        if self.rule_task is None or self.rule_count == 0:
            return []
        from ..defaults.tasks import TASKS

        return TASKS[self.rule_task].rules()[: self.rule_count]

    def few(self) -> "Material":
        """The same with a few inputs of each kind."""
        known = _varied(self.y)
        return replace(
            self, X=[self.X[i] for i in known], y=[self.y[i] for i in known], pool=self.pool[:_FEW],
            test_X=self.test_X[:_FEW], test_y=self.test_y[:_FEW],
        )  # fmt: skip

    def sizes(self) -> dict[str, Any]:
        """How much there is to learn from."""
        tokens = sum(len(x) for x in (*self.X, *self.pool))
        return {"tokens": tokens, "classes": len(self.classes) or None}


def _varied(y: Sequence[Any]) -> list[int]:
    """The first inputs, and of inputs with one label the first few of each label."""
    if not all(isinstance(one, str | int) for one in y):
        return list(range(min(_FEW, len(y))))
    return sorted(i for label in set(y) for i in [i for i, one in enumerate(y) if one == label][: _FEW // 2])


def read(cell: Cell, data: Path | None) -> Material:
    """The material of a cell; data: the folder of data sets, which generated ones do not need."""
    return replace(READERS[cell.data](cell, data or Path()), rule_count=cell.rules)


def _chunks(cell: Cell, data: Path) -> Material:
    path = data / "conll2000" / "train.txt"
    require_files(data, [path])
    cut = _cut(*read_columns(path), cell, 400)
    return Material(
        *cut, "F1", "400 other sentences of its training file", _span_f1, rule_task="chunks",
        classes=_labels(cut), templates=tuple(TEMPLATES), attributes=attributes,
    )  # fmt: skip


def _citations(cell: Cell, data: Path) -> Material:
    path = data / "citations" / "train.tsv"
    require_files(data, [path])
    return _fields(read_columns(path, separator="\t"), cell, "of its training file")


def _references(cell: Cell, data: Path) -> Material:
    from sidelight import generate_references

    return _fields(generate_references(cell.labelled + cell.unlabelled + 100, seed=20), cell, "generated")


def _fields(read: tuple[list[Any], list[Any]], cell: Cell, where: str) -> Material:
    cut = _cut(*read, cell, 100)
    scored = f"100 other references, {where}"
    return Material(*cut, "token accuracy", scored, _token_accuracy, rule_task="citations", classes=_labels(cut))


def _generated(cell: Cell, data: Path) -> Material:
    """Sequences of 20 tokens from a Markov chain of this many labels.

    A label is mostly followed by one of three others; it has 40 words of its own and 20 that are also the next one's.
    """
    labels, length, scored, rng = cell.labels or 2, 20, 100, random.Random(_SEED)
    usual = [rng.sample(range(labels), min(3, labels)) for _ in range(labels)]
    X, y = [], []
    for _ in range(cell.labelled + scored):
        chain = [rng.randrange(labels)]
        while len(chain) < length:
            chain.append(rng.choice(usual[chain[-1]]) if rng.random() < 0.9 else rng.randrange(labels))
        X.append([f"w{(40 * label + rng.randrange(60)) % (40 * labels)}" for label in chain])
        y.append([f"L{label}" for label in chain])
    cut = _cut(X, y, cell, scored)
    return Material(
        *cut, "token accuracy", f"{scored} other generated sequences", _token_accuracy, classes=_labels(cut),
        templates=tuple(window(word, -1, 1)), attributes=_window,
    )  # fmt: skip


def _window(x: Sequence[str]) -> list[list[str]]:
    """The words around each token, as attributes for peers."""
    padded = ["<start>", *x, "<end>"]
    return [[f"-1={a}", f"0={b}", f"+1={c}"] for a, b, c in zip(padded, padded[1:], padded[2:], strict=False)]


def _reviews(cell: Cell, data: Path) -> Material:
    from ..agreement import read_reviews

    folder = data / "reviews" / "books"
    require_files(data, [folder / f"{sign}.parsed" for sign in ("negative", "positive")])
    cut = _cut(*read_reviews(folder), cell, 500)
    return Material(*cut, "accuracy", "500 other reviews", _right, classes=tuple(sorted(set(cut[1]))))


def _trees(cell: Cell, data: Path) -> Material:
    from ..tasks import projective, read_trees

    path = data / "ud" / "en_ewt" / "train.conllu"
    require_files(data, [path])
    cut = _cut(*projective(*read_trees(path)), cell, 100)
    return Material(*cut, "words with the right head", "100 other sentences of its training file", _token_accuracy)


def _names(cell: Cell, data: Path) -> Material:
    """Pairs that belong together, and as many that do not."""
    import numpy as np

    from .. import transliteration

    path = data / "translit" / "en_he" / "train.tsv"
    require_files(data, [path])
    rng, scored = np.random.default_rng(_SEED), 200
    good = transliteration.draw(transliteration.read(path), (cell.labelled + scored) // 2, rng, path)
    bad = transliteration.mispaired(good, 1 / (len(good) - 1), rng)
    cut = _cut([*good, *bad], [1] * len(good) + [0] * len(bad), cell, scored)
    return Material(*cut, "accuracy", f"{scored} other pairs of its training file", _right)


def _bitext(cell: Cell, data: Path) -> Material:
    from sidelight import alignment_scores, read_bitext, read_links

    paths = [data / "hansards" / name for name in ("train.e", "train.f", "dev.e", "dev.f", "dev.wa")]
    require_files(data, paths)
    dev = read_bitext(*paths[2:4])
    gold = read_links(paths[4], dev, "naacl")
    X = [*dev, *read_bitext(*paths[:2])[: cell.labelled - len(dev)]]
    return Material(
        X, [None] * len(X), [], dev, gold, "100 less AER", f"the {len(dev)} dev pairs, which are among them",
        lambda gold, links: 100 * (1 - alignment_scores(gold, links).aer),
    )  # fmt: skip


def _words(cell: Cell, data: Path) -> Material:
    """Words without labels; as many classes as there are tags are to be found."""
    from sidelight import one_to_many

    from ..induction import Text

    require_files(data, [data / "ud" / "en_ewt" / "train.conllu"])
    text = Text.read(data, "en_ewt", cell.unlabelled)
    scored, metric = "the same sentences, each class as its most frequent tag", "token accuracy"
    return Material(
        [], [], text.X, text.X, text.y, metric, scored, lambda gold, found: 100 * one_to_many(gold, found),
        classes=tuple(text.states),
    )  # fmt: skip


def _cut(X: Sequence[Any], y: Sequence[Any], cell: Cell, scored: int) -> tuple[list[Any], ...]:
    """Drawn with a fixed seed: labelled inputs and their outputs, unlabelled inputs, and those that are scored."""
    asked = scored + cell.labelled + cell.unlabelled
    if asked > len(X):
        raise MissingData(f"{TITLES[cell.data]}: {asked} inputs are asked for, and there are {len(X)}")
    order = random.Random(_SEED).sample(range(len(X)), len(X))
    test, known, pool = (
        order[:scored], order[scored:][: cell.labelled], order[scored + cell.labelled :][: cell.unlabelled]
    )  # fmt: skip
    return (
        [X[i] for i in known],
        [y[i] for i in known],
        [X[i] for i in pool],
        [X[i] for i in test],
        [y[i] for i in test],
    )


def _labels(cut: tuple[list[Any], ...]) -> tuple[str, ...]:
    return tuple(sorted({label for labels in (*cut[1], *cut[4]) for label in labels}))


def _span_f1(gold: Sequence[Any], found: Sequence[Any]) -> float:
    from sidelight import span_scores

    return 100 * float(span_scores(gold, found).overall.f1)


def _token_accuracy(gold: Sequence[Any], found: Sequence[Any]) -> float:
    right = sum(a == b for one, other in zip(gold, found, strict=True) for a, b in zip(one, other, strict=True))
    return 100 * right / sum(map(len, gold))


def _right(gold: Sequence[Any], found: Sequence[Any]) -> float:
    return 100 * sum(a == b for a, b in zip(gold, found, strict=True)) / len(gold)


READERS: dict[str, Callable[[Cell, Path], Material]] = {
    "chunks": _chunks,
    "citations": _citations,
    "references": _references,
    "generated": _generated,
    "reviews": _reviews,
    "trees": _trees,
    "names": _names,
    "bitext": _bitext,
    "words": _words,
}
