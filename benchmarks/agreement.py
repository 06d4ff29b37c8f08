"""Two views that agree (section 6 of Ganchev et al. 2010): reviews of another kind of product, and noun phrases.

Reviews: a classifier of books' reviews is used on dvds' and the other way round, with those as unlabelled ones; views
are a division of the words and pairs of words by chance. Noun phrases: CoNLL-2000 training data, 500 sentences scored,
a few labelled and all others unlabelled; a view of the current word and tag, and one of those before and behind it. A
feature of the word before sees both labels that it stands between (`CRF(edges=True)`), without which that view
cannot know what its own word is.
"""

import random
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import numpy as np
from scipy import sparse

from sidelight import CRF, Agreement, MaxEnt, pos, random_views, read_columns, span_scores, word

from . import two_views
from .report import Report, quoted, seconds
from .setting import Setting

TABLES = ("agreement-reviews", "agreement-chunks")
# Accuracy of Table 4 by MaxEnt, co-boosting, two-view perceptron and agreement; F1 of Table 6.
PUBLISHED_REVIEWS = {("books", "dvd"): (78.5, 78.8, 75.5, 79.8), ("dvd", "books"): (80.3, 79.8, 74.5, 81.3)}
PUBLISHED_CHUNKS = {10: (73.2, 78.2, 69.4, 71.2), 20: (79.4, 84.2, 74.4, 76.8), 50: (86.3, 86.9, 80.1, 84.1),
                    100: (88.5, 88.9, 86.1, 88.1)}  # fmt: skip
# Points that agreement is to add.
ASKED_REVIEWS, ASKED_CHUNKS = 1.0, {10: 3.0, 20: 3.0, 50: 0.0, 100: 0.0}
SCORED = 500
CONTENT, CONTEXT = [word, pos], [word[-1], pos[-1], word[1], pos[1]]
# The penalty of squared weights of the chunkers, and rounds of agreement on reviews and on chunks.
L2, ROUNDS, CHUNK_ROUNDS = 0.03, 10, 5
_REVIEW = re.compile(r"<review>(.*?)</review>", re.S)
_WORD = re.compile(r"[a-z']+|[!?]")
_SIGNS = ("negative", "positive")


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    reviews = [setting.data / "reviews" / kind / f"{sign}.parsed" for kind in ("books", "dvd") for sign in _SIGNS]
    return [setting.data / "conll2000" / "train.txt", *reviews]


def scored(setting: Setting) -> str:
    """The data that is scored."""
    return f"reviews of the other product; {SCORED} sentences of CoNLL-2000's training data, drawn for each seed"


def run(setting: Setting, report: Report) -> None:
    """The tables that are asked for."""
    for name in setting.chosen(TABLES):
        with report.section(name):
            {"agreement-reviews": _reviews, "agreement-chunks": _chunks}[name](setting, report)


def read_reviews(folder: Path) -> tuple[list[dict[str, bool]], list[str]]:
    """Which words and pairs of words each review has, and whether it is positive."""
    X, y = [], []
    for sign in _SIGNS:
        for text in _REVIEW.findall((folder / f"{sign}.parsed").read_text(errors="replace")):
            words = _WORD.findall(text.lower())
            pairs = (f"{a} {b}" for a, b in pairwise(words))
            X.append(dict.fromkeys((*words, *pairs), True))
            y.append(sign)
    return X, y


def _reviews(setting: Setting, report: Report) -> None:
    """Table 4."""
    read = {kind: read_reviews(setting.data / "reviews" / kind) for kind in ("books", "dvd")}
    gains = []
    for (source, target), published in PUBLISHED_REVIEWS.items():
        (X, y), (other_X, other_y) = read[source], read[target]
        title = f"{source} to {target}"

        def accuracy(predicted: Any, truth: list[str] = other_y) -> float:
            return 100 * float(np.mean([a == b for a, b in zip(predicted, truth, strict=True)]))

        single = accuracy(MaxEnt().fit(X, y).predict(other_X))
        scores: dict[str, list[float]] = {}
        for seed in setting.seeds:
            views, unknown = random_views(MaxEnt(), seed=seed), [None] * len(other_X)
            for name, rounds in (("views put together (agree₀)", 0), ("agreement", ROUNDS)):
                model = Agreement(views, iterations=rounds).fit([*X, *other_X], [*y, *unknown])
                scores.setdefault(name, []).append(accuracy(model.predict(other_X)))
            for name, value in _other_ways(views, X, y, other_X, accuracy, seed):
                scores.setdefault(name, []).append(value)
            report.note(f"{title}, seed {seed}: " + ", ".join(f"{name} {v[-1]:.2f}" for name, v in scores.items()))
        report.add(f"{title}: maximum entropy", "sidelight", single, "%")
        for name, values in scores.items():
            deviation = pstdev(values)
            report.add(f"{title}: {name}", "sidelight", fmean(values), "%", deviation=deviation)
        for name, value in zip(("maximum entropy", "co-boosting", "perceptron", "agreement"), published, strict=True):
            report.add(f"{title}: {name}", quoted("Ganchev et al."), value, "%")
        gains.append(fmean(scores["agreement"]) - single)
    report.add("agreement less maximum entropy, mean of both", "sidelight", fmean(gains), "%", at_least=ASKED_REVIEWS)
    report.add("agreement less maximum entropy, the lesser", "sidelight", min(gains), "%", at_least=0.0)


def _other_ways(
    views: Any, X: list[Any], y: list[str], pool: list[Any], accuracy: Callable[[Any], float], seed: int
) -> list[tuple[str, float]]:
    """Accuracy of co-training, co-boosting and the two-view perceptron."""
    tables = [_matrix(view.of([*X, *pool])) for view in views.values()]
    known, count = np.array([-1.0 if one == _SIGNS[0] else 1.0 for one in y]), len(y)

    def right(signs: Any) -> float:
        return accuracy([_SIGNS[int(one > 0)] for one in signs])

    models = two_views.co_training(tables, known)
    boosted = two_views.co_boosting(tables, known)
    weights = two_views.two_view_perceptron(tables, known, seed=seed)
    summed = sum(table[count:] @ w[:-1] + w[-1] for table, w in zip(tables, weights, strict=True))
    return [
        ("co-training", right(two_views.together(models, [table[count:] for table in tables]))),
        ("co-boosting", right(boosted[0][count:] + boosted[1][count:])),
        ("two-view perceptron", right(summed)),
    ]


def _matrix(documents: list[dict[str, Any]]) -> Any:
    """Features that are there as a sparse matrix; those of one document alone are left out."""
    numbers: dict[str, int] = {}
    indices = [numbers.setdefault(name, len(numbers)) for document in documents for name in document]
    pointer = np.cumsum([0, *map(len, documents)])
    whole = sparse.csr_array((np.ones(len(indices)), indices, pointer), shape=(len(documents), len(numbers)))
    return sparse.csr_array(whole[:, np.flatnonzero(np.bincount(indices) > 1)])


def _chunks(setting: Setting, report: Report) -> None:
    """Table 6, for 10 to 100 labelled sentences."""
    X, y = read_columns(setting.data / "conll2000" / "train.txt")
    X = [[token[:2] for token in x] for x in X]
    y = [[label if label.endswith("-NP") else "O" for label in one] for one in y]
    for size, published in PUBLISHED_CHUNKS.items():
        scores: dict[str, list[float]] = {}
        for seed in setting.seeds:
            order = random.Random(seed).sample(range(len(X)), len(X))
            test, few, rest = order[:SCORED], order[SCORED : SCORED + size], order[SCORED + size :]
            labelled, known, pool = [X[i] for i in few], [y[i] for i in few], [X[i] for i in rest]
            test_X, test_y = [X[i] for i in test], [y[i] for i in test]
            views = {"content": CRF(CONTENT, l2=L2), "context": CRF(CONTEXT, l2=L2, edges=True)}
            learners = {
                "CRF": CRF([*CONTENT, *CONTEXT], l2=L2, edges=True),
                "CRF, features of single labels only": CRF([*CONTENT, *CONTEXT], l2=L2),
                "views put together (agree₀)": Agreement(views, iterations=0),
                "agreement": Agreement(views, iterations=CHUNK_ROUNDS, guard=False),
            }
            for name, learner in learners.items():
                alone = isinstance(learner, CRF) or not learner.iterations
                some, outputs = (labelled, known) if alone else ([*labelled, *pool], [*known, *([None] * len(pool))])
                taken = seconds(lambda m=learner, a=some, b=outputs: m.fit(a, b))
                scores.setdefault(name, []).append(100 * span_scores(test_y, learner.predict(test_X)).overall.f1)
                if name == "agreement" and seed == setting.seeds[0]:
                    report.add(f"{size} labelled: training agreement", "sidelight", taken, "s")
            for name, value in _perceptrons(labelled, known, pool, test_X, test_y, seed):
                scores.setdefault(name, []).append(value)
            report.note(f"{size} labelled, seed {seed}: " + ", ".join(f"{n} {v[-1]:.2f}" for n, v in scores.items()))
        for name, values in scores.items():
            report.add(f"{size} labelled: {name}", "sidelight", fmean(values), "%", deviation=pstdev(values))
        for name, value in zip(("CRF", "agreement", "perceptron", "two-view perceptron"), published, strict=True):
            report.add(f"{size} labelled: {name}", quoted("Ganchev et al."), value, "%")
        for name in ("CRF", "CRF, features of single labels only"):
            gain = fmean(scores["agreement"]) - fmean(scores[name])
            asked = ASKED_CHUNKS[size] if name == "CRF" else None
            report.add(f"{size} labelled: agreement less {name}", "sidelight", gain, "%", at_least=asked)


def _perceptrons(
    X: list[Any], y: list[Any], pool: list[Any], test_X: list[Any], test_y: list[Any], seed: int
) -> list[tuple[str, float]]:
    """F1 of the averaged perceptron, and of that with two views and a thousand unlabelled sentences."""
    single = two_views.perceptrons_of_sequences([CRF([*CONTENT, *CONTEXT])], X, y, [], epochs=20, step=0.0, seed=seed)
    both = two_views.perceptrons_of_sequences(
        [CRF(CONTENT), CRF(CONTEXT)], X, y, pool[:1000], epochs=10, step=0.1, seed=seed
    )
    mean = Agreement({"content": both[0], "context": both[1]})
    for place, model in zip(("view_0_", "view_1_"), both, strict=True):
        setattr(mean, place, model)
    mean.classes_ = both[0].classes_
    return [
        (name, 100 * span_scores(test_y, model.predict(test_X)).overall.f1)
        for name, model in (("perceptron", single[0]), ("two-view perceptron", mean))
    ]
