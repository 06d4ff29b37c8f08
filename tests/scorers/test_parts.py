"""Scores of flat parts against dense matrices."""

import numpy as np
import pytest

from sidelight import Trees
from sidelight.features.parts import PartsEncoded
from sidelight.scorers.parts import PartScorer

ATTRIBUTES = 7
LABELS = (None, 1, 3)


def drawn(rng, sizes, values):
    """Random rows for the arcs of sentences of these sizes, of which some are empty."""
    offsets = np.concatenate(([0], np.cumsum(np.square(sizes))))
    indptr = np.concatenate(([0], np.cumsum(rng.integers(0, 4, size=offsets[-1]))))
    indices = rng.integers(0, ATTRIBUTES, size=indptr[-1]).astype(np.int32)
    numbers = rng.normal(size=len(indices)) if values else np.empty(0)
    return PartsEncoded(offsets, indptr, indices, numbers, ATTRIBUTES, np.array(sizes, np.int64)[:, None])


def dense(encoded, labels):
    """F: (parts, weights)."""
    L = labels or 1
    out = np.zeros((encoded.tokens * L, ATTRIBUTES * L))
    for t in range(encoded.tokens):
        for n in range(encoded.indptr[t], encoded.indptr[t + 1]):
            for c in range(L):
                value = encoded.values[n] if len(encoded.values) else 1.0
                out[t * L + c, encoded.indices[n] * L + c] += value
    return out


@pytest.fixture(params=[False, True], ids=["ones", "values"])
def encoded(request):
    return drawn(np.random.default_rng(0), [2, 3, 1, 4], request.param)


def scorer_of(labels):
    return PartScorer(ATTRIBUTES * (labels or 1), Trees(1), labels)


@pytest.mark.parametrize("labels", LABELS)
def test_scores_and_expectations_are_products_with_the_features(encoded, labels):
    rng = np.random.default_rng(1)
    scorer = scorer_of(labels)
    w = rng.normal(size=scorer.size)
    for some in (encoded, encoded.sequences(1, 3), encoded.take(np.array([3, 0]))):
        scores = scorer.scores(some, w)
        F = dense(some, labels)
        np.testing.assert_allclose(scores.values, F @ w, atol=1e-12)
        assert scores.offsets[-1] == len(scores.values)
        mass = scores.changed(lambda values: np.where(values > 0, rng.normal(size=len(values)), 0.0))
        sums = scorer.expectation()
        for _ in range(2):
            sums.add(some, mass)
        np.testing.assert_allclose(sums.total(), 2 * F.T @ mass.values, atol=1e-12)


def tree(n, labels, rng):
    """The heads and labels of a chain from the root, in one order or the other."""
    heads = np.arange(n) if rng.random() < 0.5 else np.append(np.arange(2, n + 1), 0)
    return heads * labels + rng.integers(0, labels, size=n)


@pytest.mark.parametrize("which", [[0, 1, 2, 3], [3, 1], [1, 0, 2, 3], [2]])
@pytest.mark.parametrize("labels", LABELS[1:])
def test_rows_are_differences_of_features(encoded, labels, which):
    rng = np.random.default_rng(2)
    sequences, trees = np.array(which), Trees(1)
    scorer = scorer_of(labels)
    blank = scorer.scores(encoded, np.zeros(scorer.size))
    plus, minus = (np.concatenate([tree(n, labels, rng) for n in encoded.shapes[:, 0]]) for _ in range(2))
    for a, b in ((plus, minus), (plus, None), (None, minus)):
        on = sum(s * trees.indicator(blank, y).values for s, y in ((1, a), (-1, b)) if y is not None)
        rows = scorer.rows(encoded, sequences, a, b)
        assert len(rows.pointer) == len(which) + 1
        for number, i in enumerate(which):
            at = slice(blank.offsets[i], blank.offsets[i + 1])
            places, values = rows.row(number)
            assert (np.diff(places) > 0).all()
            assert (values != 0).all()
            found = np.zeros(scorer.size)
            found[places] = values
            np.testing.assert_allclose(found, on[at] @ dense(encoded, labels)[at], atol=1e-6)


def test_equal_outputs_make_empty_rows(encoded):
    output = np.concatenate([np.arange(n) for n in encoded.shapes[:, 0]])
    rows = scorer_of(1).rows(encoded, np.array([0, 2]), output, output)
    assert rows.pointer.tolist() == [0, 0, 0]
    assert len(rows.indices) == len(rows.values) == 0
