from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from sidelight.features.encoded import Encoded
from sidelight.scorers import linear
from sidelight.scorers.linear import LinearScorer
from sidelight.structures.chain import Chain, indicator
from sidelight.structures.known import KnownLabels
from sidelight.supervision import Signal


def random_encoded(rng, lengths, attributes=8, values=False, density=0.4):
    tokens = sum(lengths)
    table = rng.normal(size=(tokens, attributes)) * (rng.random((tokens, attributes)) < density)
    rows = sparse.csr_array(table if values else (table != 0).astype(float))
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    data = rows.data if values else np.empty(0)
    return Encoded(offsets, rows.indptr.astype(np.int64), rows.indices.astype(np.int32), data, attributes)


def random_targets(rng, encoded, labels, partial=False, known=0.5):
    """Full labels, or sets that contain them."""
    gold = rng.integers(labels, size=encoded.tokens).astype(np.int32)
    kinds = (Signal.PARTIAL if partial else Signal.FULL,) * len(encoded)
    if not partial:
        return KnownLabels(kinds, gold, None, encoded.offsets)
    allowed = rng.random((encoded.tokens, labels)) < 0.5
    allowed[rng.random(encoded.tokens) < known] = False
    allowed[np.arange(encoded.tokens), gold] = True
    codes = np.where(allowed.sum(axis=1) == 1, gold, -1).astype(np.int32)
    return KnownLabels(kinds, codes, allowed, encoded.offsets)


def options(targets, labels):
    """For every token the set of labels it may have."""
    if targets.allowed is None:
        return [{int(c)} for c in targets.labels]
    return [set(np.flatnonzero(row).tolist()) for row in targets.allowed]


def observed_sets(encoded, targets, labels):
    """The definition: which weights there are, as sets."""
    may = options(targets, labels)
    attributes = {
        (int(a), c)
        for t in range(encoded.tokens)
        for a in encoded.indices[encoded.indptr[t] : encoded.indptr[t + 1]]
        for c in may[t]
    }
    pairs, triples, starts, ends = set(), set(), set(), set()
    for p, q in pairwise(encoded.offsets):
        starts |= may[p]
        ends |= may[q - 1]
        pairs |= {(a, b) for t in range(p + 1, q) for a in may[t - 1] for b in may[t]}
        triples |= {(a, b, c) for t in range(p + 2, q) for a in may[t - 2] for b in may[t - 1] for c in may[t]}
    return attributes, pairs, starts, ends, triples


def sets_of(scorer):
    L = scorer.labels
    owners = np.repeat(np.arange(len(scorer.pointer) - 1), np.diff(scorer.pointer))
    attributes = list(zip(owners.tolist(), scorer.label.tolist(), strict=True))
    assert len(attributes) == len(set(attributes))
    return (
        set(attributes),
        set(zip(*(i.tolist() for i in np.unravel_index(scorer.pairs, (L, L))), strict=True)),
        set(scorer.starts.tolist()),
        set(scorer.ends.tolist()),
        set(zip(*(i.tolist() for i in np.unravel_index(scorer.triples, (L, L, L))), strict=True)),
    )


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("labels", [1, 3, 31, 32, 64, 70])
def test_weights_exist_for_what_is_observed(partial, labels):
    rng = np.random.default_rng(labels)
    encoded = random_encoded(rng, [1, 2, 3, 9, 5, 12, 8], attributes=9)
    targets = random_targets(rng, encoded, labels, partial)
    scorer = LinearScorer.observed(encoded, targets, labels, order=2)
    expected = observed_sets(encoded, targets, labels)
    assert sets_of(scorer) == expected
    assert scorer.size == sum(map(len, expected))


def test_possible_triples_are_looked_at_in_chunks(monkeypatch):
    monkeypatch.setattr(linear, "_CELLS", 3 * 5 * 5)
    rng = np.random.default_rng(0)
    encoded = random_encoded(rng, [1, 2, 3, 9, 5], attributes=9)
    targets = random_targets(rng, encoded, 5, True)
    assert sets_of(LinearScorer.observed(encoded, targets, 5, order=2)) == observed_sets(encoded, targets, 5)


def test_options_of_the_layout():
    rng = np.random.default_rng(0)
    encoded = random_encoded(rng, [2, 4, 3])
    targets = random_targets(rng, encoded, 3)
    attributes, pairs, starts, ends, triples = observed_sets(encoded, targets, 3)
    plain = LinearScorer.observed(encoded, targets, 3)
    assert sets_of(plain) == (attributes, pairs, starts, ends, set())
    bare = LinearScorer.observed(encoded, targets, 3, order=2, boundaries=False)
    assert sets_of(bare) == (attributes, pairs, set(), set(), triples)
    for order, size in ((1, 8 * 3 + 9 + 3 + 3), (2, 8 * 3 + 9 + 3 + 3 + 27)):
        assert LinearScorer.observed(encoded, targets, 3, order=order, all_weights=True).size == size
    assert LinearScorer.observed(encoded, targets, 3, boundaries=False, all_weights=True).size == 8 * 3 + 9


def test_no_attributes_at_all():
    encoded = Encoded(np.array([0, 2]), np.zeros(3, np.int64), np.empty(0, np.int32), np.empty(0), 0)
    targets = KnownLabels.complete(np.array([0, 1]), encoded.offsets)
    scorer = LinearScorer.observed(encoded, targets, 2)
    assert scorer.size == 3
    np.testing.assert_array_equal(scorer.scores(encoded, np.ones(3)).unary, 0)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("all_weights", [False, True])
def test_scores_and_counts_are_adjoint(order, values, all_weights):
    """θ(w)·y = w·F(x, y) for random outputs, whether or not a feature has a weight."""
    rng = np.random.default_rng(order)
    encoded = random_encoded(rng, [1, 2, 7, 4], values=values, density=0.7)
    scorer = LinearScorer.observed(encoded, random_targets(rng, encoded, 5), 5, order=order, all_weights=all_weights)
    assert len(scorer.heavy)
    w = rng.normal(size=scorer.size)
    scores = scorer.scores(encoded, w)
    for _ in range(5):
        y = rng.integers(5, size=encoded.tokens).astype(np.int32)
        parts = indicator(encoded.offsets, y, 5, order)
        expectation = scorer.expectation()
        expectation.add(encoded, parts)
        np.testing.assert_allclose(scores.dot(parts), w @ expectation.total())
        np.testing.assert_allclose(Chain().score(scores, y).sum(), w @ expectation.total())


def test_scores_against_the_sets():
    """Every single score is the sum of the weights of what is there."""
    rng = np.random.default_rng(4)
    encoded = random_encoded(rng, [3, 2], values=True)
    scorer = LinearScorer.observed(encoded, random_targets(rng, encoded, 6), 6, order=2)
    w = rng.normal(size=scorer.size)
    scores = scorer.scores(encoded, w)
    owners = np.repeat(np.arange(8), np.diff(scorer.pointer))
    unary = np.zeros((5, 6))
    for t in range(5):
        for n in range(encoded.indptr[t], encoded.indptr[t + 1]):
            for k in np.flatnonzero(owners == encoded.indices[n]):
                unary[t, scorer.label[k]] += encoded.values[n] * w[k]
    np.testing.assert_allclose(scores.unary, unary)
    for a in range(8):
        row = np.zeros(6)
        row[scorer.label[owners == a]] = w[: len(owners)][owners == a]
        np.testing.assert_array_equal(scorer.weight_at(w, a), row)
    rest = w[len(owners) :]
    for table, places in (
        (scores.pair[0], scorer.pairs),
        (scores.start, scorer.starts),
        (scores.end, scorer.ends),
        (scores.triple, scorer.triples),
    ):
        flat = np.zeros(table.size)
        flat[places], rest = rest[: len(places)], rest[len(places) :]
        np.testing.assert_array_equal(table.ravel(), flat)
    assert len(rest) == 0


def test_batches_add_up_and_threads_agree():
    rng = np.random.default_rng(6)
    encoded = random_encoded(rng, [20] * 200, values=True)
    scorer = LinearScorer.observed(encoded, random_targets(rng, encoded, 3), 3)
    w = rng.normal(size=scorer.size)
    np.testing.assert_array_equal(scorer.scores(encoded, w, 1).unary, scorer.scores(encoded, w, 3).unary)
    y = rng.integers(3, size=encoded.tokens).astype(np.int32)
    whole, halves = scorer.expectation(), scorer.expectation()
    whole.add(encoded, indicator(encoded.offsets, y, 3, 1))
    for lo, hi in ((0, 90), (90, 200)):
        part = encoded.sequences(lo, hi)
        halves.add(part, indicator(part.offsets, y[encoded.offsets[lo] : encoded.offsets[hi]], 3, 1))
    np.testing.assert_allclose(whole.total(), halves.total(), atol=1e-9)


def test_places_and_join_mirror_the_tables():
    rng = np.random.default_rng(7)
    encoded = random_encoded(rng, [4, 3, 1])
    for order in (1, 2):
        scorer = LinearScorer.observed(encoded, random_targets(rng, encoded, 3), 3, order=order)
        w = rng.normal(size=scorer.size)
        pair, start, end, triple = scorer.tables(w)
        tables = [start, end, pair.ravel(), *([] if triple is None else [triple.ravel()])]
        read = np.where(scorer.places >= 0, w[scorer.places], 0.0)
        np.testing.assert_array_equal(read, np.concatenate(tables))
        if order == 1:
            np.testing.assert_array_equal(scorer.join(scorer.attribute_weights(w), pair, start, end), w)


@pytest.mark.parametrize("order", [1, 2])
def test_indicator_counts_parts(order):
    y = np.array([0, 1, 1, 0, 2, 0, 1], np.int32)
    parts = indicator(np.array([0, 1, 3, 7]), y, 3, order)  # 0 | 1 1 | 0 2 0 1
    pair = np.zeros((3, 3))
    for a, b in ((1, 1), (0, 2), (2, 0), (0, 1)):
        pair[a, b] += 1
    np.testing.assert_array_equal(parts.pair[0], pair)
    np.testing.assert_array_equal(parts.start, [2, 1, 0])
    np.testing.assert_array_equal(parts.end, [1, 2, 0])
    np.testing.assert_array_equal(parts.unary, np.eye(3)[y])
    if order == 2:
        triple = np.zeros((3, 3, 3))
        triple[0, 2, 0] = triple[2, 0, 1] = 1
        np.testing.assert_array_equal(parts.triple, triple)
    else:
        assert parts.triple is None
