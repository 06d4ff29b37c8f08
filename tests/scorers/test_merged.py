"""Merged attributes: the same scores and penalties, the same optimum."""

import numpy as np
import pytest
from scipy import sparse

from sidelight.features.encoded import Encoded
from sidelight.scorers import merged
from sidelight.scorers.linear import LinearScorer
from sidelight.scorers.merged import Merged
from sidelight.solvers import lbfgs
from sidelight.solvers.losses import LogLoss
from sidelight.structures.chain import Chain
from tests.scorers.test_linear import random_encoded, random_targets

LENGTHS = [3, 1, 6, 4]


def with_copies(seed, partial=False, order=1):
    """A batch in which columns return, one of them twice, and its dense table."""
    rng = np.random.default_rng(seed)
    plain = random_encoded(rng, LENGTHS)
    table = sparse.csr_array((np.ones(len(plain.indices)), plain.indices, plain.indptr), (14, 8)).toarray()
    table = table[:, [0, 1, 2, 0, 3, 4, 5, 0, 6, 2, 7]]
    rows = sparse.csr_array(table)
    indptr, indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
    encoded = Encoded(plain.offsets, indptr, indices, np.empty(0), table.shape[1])
    targets = random_targets(rng, encoded, 3, partial)
    return encoded, targets, LinearScorer.observed(encoded, targets, 3, order=order), table


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("order", [1, 2])
def test_scores_and_penalty_are_the_same(partial, order):
    for seed in range(4):
        encoded, _, scorer, table = with_copies(seed, partial, order)
        found = Merged.of(scorer, encoded)
        assert found.encoded.attributes == len(np.unique(table, axis=1).T)
        assert found.scorer.size < scorer.size
        w = np.random.default_rng(seed).normal(size=found.scorer.size)
        every = found.expand(w)
        assert every.shape == (scorer.size,)
        np.testing.assert_allclose(every @ every, w @ w)
        ours, theirs = found.scorer.scores(found.encoded, w), scorer.scores(encoded, every)
        for name in ("unary", "pair", "start", "end") + (("triple",) if order == 2 else ()):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), err_msg=name)


def test_the_optimum_is_the_same():
    encoded, targets, scorer, _ = with_copies(1)
    found = Merged.of(scorer, encoded)
    few, all_of_them = (
        lbfgs.minimize(
            LogLoss(s, Chain(1), e, targets), np.zeros(s.size), l1=0.0, l2=0.1, tolerance=1e-10, max_iterations=1000
        )
        for s, e in ((found.scorer, found.encoded), (scorer, encoded))
    )
    np.testing.assert_allclose(few.last.objective, all_of_them.last.objective)
    np.testing.assert_allclose(found.expand(few.weights), all_of_them.weights, atol=1e-5)


def test_the_same_sum_by_chance_is_not_the_same_attribute(monkeypatch):
    class Nothing:
        def integers(self, high, size, dtype):
            return np.zeros(size, dtype)

    encoded, _, scorer, table = with_copies(2)
    monkeypatch.setattr(merged.np.random, "default_rng", lambda seed: Nothing())
    found = Merged.of(scorer, encoded)
    assert found.encoded.attributes == table.shape[1] - 2  # the copies of the first
    monkeypatch.undo()
    w = np.random.default_rng(0).normal(size=found.scorer.size)
    np.testing.assert_allclose(
        found.scorer.scores(found.encoded, w).unary, scorer.scores(encoded, found.expand(w)).unary
    )


def test_attributes_with_values_stay_alone():
    rng = np.random.default_rng(0)
    encoded = random_encoded(rng, LENGTHS, values=True)
    scorer = LinearScorer.observed(encoded, random_targets(rng, encoded, 3), 3)
    found = Merged.of(scorer, encoded)
    assert found.encoded is encoded
    w = rng.normal(size=scorer.size)
    np.testing.assert_array_equal(found.expand(w), w)
