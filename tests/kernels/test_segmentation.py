"""The compiled segmentation against its plain NumPy twin, on sequences too long to enumerate."""

import numpy as np
import pytest

from sidelight.kernels import reference
from sidelight.structures.segmentation import Segmentation, SegmentParts
from tests.structures.test_segmentation import random_scores


@pytest.mark.parametrize("longest", [4, 100])
@pytest.mark.parametrize(("scale", "forbid"), [(1.0, 0.0), (3.0, 0.05), (300.0, 0.0)])
def test_matches_the_twin(longest, scale, forbid):
    rng = np.random.default_rng(13)
    scores = random_scores(
        rng, [1, 30, 7, 50], labels=5, longest=longest, scale=scale, forbid=forbid, distinct=scale == 1
    )
    best, marginals = Segmentation().argmax(scores), Segmentation().marginals(scores)
    pair, length = np.zeros_like(scores.pair), np.zeros_like(scores.length)
    for i in range(len(scores)):
        one = scores.sequences(i, i + 1)
        at = slice(scores.offsets[i], scores.offsets[i + 1])
        opens, closes = one.opens.copy(), one.closes.copy()
        opens[0] += one.start
        closes[-1] += one.end
        arguments = (one.unary, opens, closes, one.pair, one.length.T)
        outputs, score = reference.best_segments(*arguments)
        np.testing.assert_array_equal(best.outputs.values[at], outputs)
        np.testing.assert_allclose(best.scores[i], score)
        log_partition, chance, meeting = reference.segment_marginals(*arguments)
        np.testing.assert_allclose(marginals.log_partition[i], log_partition)
        covered = np.zeros_like(one.unary)
        closed = np.zeros_like(one.unary)
        for b, m in np.ndindex(chance.shape[:2]):
            covered[b : b + m + 1] += chance[b, m]
            if b + m < len(closed):
                closed[b + m] += chance[b, m]
        np.testing.assert_allclose(marginals.parts.unary[at], covered, atol=1e-9)
        np.testing.assert_allclose(marginals.parts.opens[at], chance.sum(axis=1), atol=1e-9)
        np.testing.assert_allclose(marginals.parts.closes[at], closed, atol=1e-9)
        pair += meeting.sum(axis=0)
        length += chance.sum(axis=0).T
    np.testing.assert_allclose(marginals.parts.pair, pair, atol=1e-8)
    np.testing.assert_allclose(marginals.parts.length, length, atol=1e-8)


@pytest.mark.parametrize("depth", [5.0, 20.0, 60.0])
def test_marginals_in_log_space_are_exact_however_small(depth):
    """A label of probability e^-depth / (1 + e^-depth); openings of 150 take the pass to log space."""
    unary = np.array([[0.0, -depth], [0.0, 0.0]])
    opens = np.full((2, 2), 150.0)
    scores = SegmentParts.of(np.array([0, 2]), unary, np.zeros((2, 2)), np.zeros((2, 1)), opens=opens)
    found = Segmentation(1).marginals(scores)
    first = 1 / (1 + np.exp(depth))
    np.testing.assert_allclose(found.log_partition, 300 + np.log1p(np.exp(-depth)) + np.log(2))
    for table in (found.parts.unary, found.parts.opens, found.parts.closes):
        np.testing.assert_allclose(table, [[1 - first, first], [0.5, 0.5]], rtol=1e-9)
    np.testing.assert_allclose(found.parts.pair, np.outer([1 - first, first], [0.5, 0.5]), rtol=1e-9)


def test_ties_are_broken_evenly():
    """Of three labels that score the same each is drawn a thousand times of three, but for five standard errors."""
    scores = SegmentParts.of(np.arange(3001), np.zeros((3000, 3)), np.zeros((3, 3)), np.zeros((3, 1)))
    drawn = np.bincount(Segmentation(1).argmax(scores, seed=1).outputs.values // 2, minlength=3)
    assert np.abs(drawn - 1000).max() < 130
