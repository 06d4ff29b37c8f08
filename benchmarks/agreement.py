"""Two views that agree (section 6 of Ganchev et al. 2010): reviews of another kind of product, and noun phrases.

Reviews: a classifier of books' reviews is used on dvds' and the other way round, with those as unlabelled ones; views
are a division of the words and pairs of words by chance. Noun phrases: CoNLL-2000 training data, 500 sentences scored,
a few labelled and all others unlabelled; a view of the current word and tag, and one of those before and behind it. A
feature of the word before sees both labels that it stands between (`CRF(edges=True)`), without which that view
cannot know what its own word is.

Beside the gains stand paired t-tests: over the draws of chunks, and within a draw over what is right in each sentence
or review.
"""

import random
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from sidelight import CRF, Agreement, MaxEnt, paired_t_test, pos, random_views, read_columns, span_scores, word
from sidelight.metrics import right_tokens

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
CHUNKER, PLAIN_CHUNKER = "CRF", "CRF, features of single labels only"
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
            return 100 * fmean(_right(truth, predicted))

        alone = MaxEnt().fit(X, y).predict(other_X)
        single = accuracy(alone)
        scores: dict[str, list[float]] = {}
        for seed in setting.seeds:
            views, unknown = random_views(MaxEnt(), seed=seed), [None] * len(other_X)
            for name, rounds in (("views put together (agree₀)", 0), ("agreement", ROUNDS)):
                found = Agreement(views, iterations=rounds).fit([*X, *other_X], [*y, *unknown]).predict(other_X)
                scores.setdefault(name, []).append(accuracy(found))
            for name, value in _other_ways(views, X, y, other_X, accuracy, seed):
                scores.setdefault(name, []).append(value)
            report.note(f"{title}, seed {seed}: " + ", ".join(f"{name} {v[-1]:.2f}" for name, v in scores.items()))
            test = paired_t_test(_right(other_y, found), _right(other_y, alone))
            report.note(f"{title}, seed {seed}, agreement less maximum entropy in each review: {test}")
        report.add(f"{title}: maximum entropy", "sidelight", single, "%")
        for name, values in scores.items():
            deviation = pstdev(values)
            report.add(f"{title}: {name}", "sidelight", fmean(values), "%", deviation=deviation)
        for name, value in zip(
            ("maximum entropy", "co-boosting", "two-view perceptron", "agreement"), published, strict=True
        ):
            report.add(f"{title}: {name}", quoted("Ganchev et al."), value, "%")
        gains.append(fmean(scores["agreement"]) - single)
    report.add("agreement less maximum entropy, mean of both", "sidelight", fmean(gains), "%", at_least=ASKED_REVIEWS)
    report.add("agreement less maximum entropy, the lesser", "sidelight", min(gains), "%", at_least=0.0)


def _right(truth: list[str], predicted: Any) -> list[int]:
    """1 for each document whose label is right, 0 for the others."""
    return [int(a == b) for a, b in zip(truth, predicted, strict=True)]


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


class Draw(NamedTuple):
    """Sentences that are labelled, those that are not, and those that are scored."""

    X: list[Any]
    y: list[Any]
    pool: list[Any]
    scored: list[Any]
    truth: list[Any]

    def f1(self, found: Any) -> float:
        """F1 in percent of what is found in the sentences that are scored."""
        return 100 * span_scores(self.truth, found).overall.f1


def read_chunks(file: Path) -> tuple[list[Any], list[Any]]:
    """Words with tags, and the noun phrases in them."""
    X, y = read_columns(file)
    return (
        [[token[:2] for token in x] for x in X],
        [[label if label.endswith("-NP") else "O" for label in one] for one in y],
    )


def draw_chunks(X: list[Any], y: list[Any], size: int, seed: int) -> Draw:
    """Sentences drawn by chance, so many of them labelled."""
    order = random.Random(seed).sample(range(len(X)), len(X))
    test, few, rest = order[:SCORED], order[SCORED : SCORED + size], order[SCORED + size :]
    return Draw(
        [X[i] for i in few], [y[i] for i in few], [X[i] for i in rest], [X[i] for i in test], [y[i] for i in test]
    )


def chunks_found(draw: Draw) -> Iterator[tuple[str, Any, float]]:
    """What each learner finds in the sentences that are scored, by its name, and the seconds of its training."""
    views = {"content": CRF(CONTENT, l2=L2), "context": CRF(CONTEXT, l2=L2, edges=True)}
    learners = {
        CHUNKER: CRF([*CONTENT, *CONTEXT], l2=L2, edges=True),
        PLAIN_CHUNKER: CRF([*CONTENT, *CONTEXT], l2=L2),
        "views put together (agree₀)": Agreement(views, iterations=0),
        "agreement": Agreement(views, iterations=CHUNK_ROUNDS, guard=False),
    }
    for name, learner in learners.items():
        X, y = draw.X, draw.y
        if name == "agreement":
            X, y = [*X, *draw.pool], [*y, *([None] * len(draw.pool))]
        taken = seconds(lambda m=learner, a=X, b=y: m.fit(a, b))
        yield name, learner.predict(draw.scored), taken


def _chunks(setting: Setting, report: Report) -> None:
    """Table 6, for 10 to 100 labelled sentences."""
    X, y = read_chunks(setting.data / "conll2000" / "train.txt")
    for size, published in PUBLISHED_CHUNKS.items():
        title, scores = f"{size} labelled", dict[str, list[float]]()
        for seed in setting.seeds:
            draw = draw_chunks(X, y, size, seed)
            right: dict[str, list[int]] = {}
            for name, found, taken in chunks_found(draw):
                scores.setdefault(name, []).append(draw.f1(found))
                right[name] = right_tokens(draw.truth, found)
                if name == "agreement" and seed == setting.seeds[0]:
                    report.add(f"{title}: training agreement", "sidelight", taken, "s")
            for name, value in _perceptrons(draw, seed):
                scores.setdefault(name, []).append(value)
            report.note(f"{title}, seed {seed}: " + ", ".join(f"{n} {v[-1]:.2f}" for n, v in scores.items()))
            test = paired_t_test(right["agreement"], right[CHUNKER])
            report.note(f"{title}, seed {seed}, agreement less {CHUNKER}, right tokens of each sentence: {test}")
        for name, values in scores.items():
            report.add(f"{title}: {name}", "sidelight", fmean(values), "%", deviation=pstdev(values))
        for name, value in zip((CHUNKER, "agreement", "perceptron", "two-view perceptron"), published, strict=True):
            report.add(f"{title}: {name}", quoted("Ganchev et al."), value, "%")
        for name in (CHUNKER, PLAIN_CHUNKER):
            gain = fmean(scores["agreement"]) - fmean(scores[name])
            asked = ASKED_CHUNKS[size] if name == CHUNKER else None
            report.add(f"{title}: agreement less {name}", "sidelight", gain, "%", at_least=asked)
            if len(setting.seeds) > 1:
                report.note(f"{title}, agreement less {name}: {paired_t_test(scores['agreement'], scores[name])}")


def _perceptrons(draw: Draw, seed: int) -> list[tuple[str, float]]:
    """F1 of the averaged perceptron, and of that with two views and a thousand unlabelled sentences."""
    X, y = draw.X, draw.y
    single = two_views.perceptrons_of_sequences([CRF([*CONTENT, *CONTEXT])], X, y, [], epochs=20, step=0.0, seed=seed)
    both = two_views.perceptrons_of_sequences(
        [CRF(CONTENT), CRF(CONTEXT, edges=True)], X, y, draw.pool[:1000], epochs=10, step=0.1, seed=seed
    )
    mean = Agreement({"content": both[0], "context": both[1]})
    for place, model in zip(("view_0_", "view_1_"), both, strict=True):
        setattr(mean, place, model)
    mean.classes_ = both[0].classes_
    return [
        (name, draw.f1(model.predict(draw.scored)))
        for name, model in (("perceptron", single[0]), ("two-view perceptron", mean))
    ]
