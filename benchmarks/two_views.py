"""Other ways to learn from two views, for comparison with `Agreement`: of documents with two labels, and of sequences.

Co-training (Blum and Mitchell 1998), co-boosting of decision stumps (Collins and Singer 1999) and the two-view averaged
perceptron (Brefeld et al. 2005). Documents are sparse matrices of features that are there or not, one for each view,
the labelled ones first, and labels are -1 and 1.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from sidelight import MaxEnt
from sidelight.learners.model import prepare
from sidelight.structures.chain import Chain

Matrix = Any
Floats = Any


def co_training(views: Sequence[Matrix], y: Floats, *, rounds: int = 5, share: float = 0.1, l2: float = 1.0) -> Any:
    """Each view labels the documents that it is surest of for both, as many of each label; returns the models."""
    count, total = len(y), views[0].shape[0]
    known = np.concatenate((y, np.zeros(total - count)))
    each = max(1, round(share * (total - count) / 2))
    models = []
    for _ in range(rounds + 1):
        at = np.flatnonzero(known)
        labels = ["no" if one < 0 else "yes" for one in known[at]]
        models = [MaxEnt(l2=l2, classes=["no", "yes"]).fit(view[at], labels) for view in views]
        fresh = known.copy()
        for model, view in zip(models, views, strict=True):
            open_ = np.flatnonzero(known == 0)
            if len(open_) < 2 * each:
                return models
            chances = model.predict_proba(view[open_])[:, 1]
            order = np.argsort(chances)
            fresh[open_[order[:each]]], fresh[open_[order[-each:]]] = -1.0, 1.0
        known = fresh
    return models


def together(models: Sequence[Any], views: Sequence[Matrix]) -> Floats:
    """Predictions by the product of what the models of both views give."""
    chances = [np.log(np.maximum(m.predict_proba(v), 1e-300)) for m, v in zip(models, views, strict=True)]
    return np.where(np.diff(sum(chances))[:, 0] > 0, 1.0, -1.0)


def co_boosting(views: Sequence[Matrix], y: Floats, *, rounds: int = 300, alone: int = 100) -> list[Floats]:
    """Stumps that are there or not, one at a time for each view; unlabelled documents have the other view's labels.

    The first rounds, `alone`, see labelled documents only: these are many here, and labels of few stumps are poor.
    Returns what each view gives to all documents; its sign is the label.
    """
    count, total = len(y), views[0].shape[0]
    columns, given, smooth = [view.tocsc() for view in views], [np.zeros(total), np.zeros(total)], 1.0
    for number in range(rounds):
        for k, table in enumerate(columns):
            target = np.concatenate((y, np.sign(given[1 - k][count:]) * (number >= alone)))
            weights = np.exp(np.clip(-target * given[k], -30, 30)) * (target != 0)
            scale = weights.sum() / total
            for_, against = (table.T @ (weights * (target == sign)) for sign in (1, -1))
            best = int(np.argmax(np.abs(np.sqrt(for_) - np.sqrt(against))))
            vote = 0.5 * np.log((for_[best] + smooth * scale) / (against[best] + smooth * scale))
            given[k][table.indices[table.indptr[best] : table.indptr[best + 1]]] += vote
    return given


def two_view_perceptron(
    views: Sequence[Matrix], y: Floats, *, epochs: int = 20, step: float = 0.1, seed: int = 0
) -> list[Floats]:
    """Averaged perceptrons; where they disagree on an unlabelled document, each moves towards the other.

    Returns the averaged weights of each view, whose last one is the bias.
    """
    count, rng = len(y), np.random.default_rng(seed)
    bias = sparse.csr_array(np.ones((views[0].shape[0], 1)))
    rows = [sparse.csr_array(sparse.hstack([view, bias])) for view in views]
    weights = [np.zeros(view.shape[1]) for view in rows]
    sums, made = [np.zeros_like(w) for w in weights], 0
    for _ in range(epochs):
        for i in rng.permutation(rows[0].shape[0]):
            at = [slice(view.indptr[i], view.indptr[i + 1]) for view in rows]
            where = [view.indices[one] for view, one in zip(rows, at, strict=True)]
            signs = [1.0 if w[place].sum() > 0 else -1.0 for w, place in zip(weights, where, strict=True)]
            made += 1
            for k, (w, place) in enumerate(zip(weights, where, strict=True)):
                target, size = (y[i], 1.0) if i < count else (signs[1 - k], step)
                if signs[k] != target:
                    w[place] += size * target
                    sums[k][place] += made * size * target
    return [w - total / (made + 1) for w, total in zip(weights, sums, strict=True)]


def perceptrons_of_sequences(
    learners: Sequence[Any], X: list[Any], y: list[Any], pool: list[Any], *, epochs: int, step: float, seed: int
) -> list[Any]:
    """The two-view averaged perceptron on label chains; with one learner, or no pool, the averaged perceptron.

    Returns fitted learners with the averaged weights.
    """
    classes = sorted({label for one in y for label in one})
    everything, known = [*X, *pool], [*y, *([[set(classes)] * len(x) for x in pool])]
    prepared = [prepare(learner, everything, known, classes) for learner in learners]
    chain, rng, count = Chain(1), np.random.default_rng(seed), len(X)
    weights = [np.zeros(one.scorer.size) for one in prepared]
    sums, made = [np.zeros_like(w) for w in weights], 0
    gold = prepared[0].known.labels
    for _ in range(epochs):
        for i in rng.permutation(len(everything)).tolist():
            made += 1
            parts = [one.encoded.sequences(i, i + 1) for one in prepared]
            found = [
                chain.argmax(one.scorer.scores(part, w)).outputs.values
                for one, part, w in zip(prepared, parts, weights, strict=True)
            ]
            for k, (one, part) in enumerate(zip(prepared, parts, strict=True)):
                right = gold[one.encoded.offsets[i] : one.encoded.offsets[i + 1]] if i < count else found[1 - k]
                if np.array_equal(right, found[k]):
                    continue
                place, value = one.scorer.rows(part, np.zeros(1, np.int64), right, found[k]).row(0)
                size = 1.0 if i < count else step
                weights[k][place] += size * value
                sums[k][place] += made * size * value
    for learner, one, w, total in zip(learners, prepared, weights, sums, strict=True):
        learner._adopt(one.model(w - total / (made + 1)))
    return list(learners)
