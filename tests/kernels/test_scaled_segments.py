"""Scaled marginals of segmentations against those in log space: the same where they are trusted."""

from dataclasses import replace

import numpy as np
import pytest

from sidelight.kernels import scaled_segments, segmentation
from sidelight.structures.segmentation import Segmentation, SegmentParts, _kernel_arguments
from tests.structures.test_segmentation import random_scores

NAMES = ("log_partition", "expected", "tokens", "opens", "closes", "pairs", "lengths")


def found_by(kernel, scores, expect=True):
    """Whether each sequence is trusted, and all that a kernel finds, by name."""
    trusted, like = np.zeros(len(scores), bool), scores.unary
    found = np.full(len(scores), np.nan), np.full(len(scores) if expect else 0, np.nan)
    found += tuple(np.full_like(like, np.nan) for _ in range(3))
    found += np.zeros_like(scores.pair), np.zeros((scores.longest, scores.labels))
    kernel(0, len(scores), *_kernel_arguments(scores), trusted, *found)
    return trusted, dict(zip(NAMES, found, strict=True))


def check(scores):
    trusted, scaled = found_by(scaled_segments.forward_backward, scores)
    assert trusted.all()
    _, logs = found_by(segmentation.log_forward_backwards, scores)
    for name in NAMES:
        np.testing.assert_allclose(scaled[name], logs[name], rtol=1e-9, atol=1e-9, err_msg=name)
    return scaled


@pytest.mark.parametrize("labels", [1, 2, 7, 8, 9, 13, 20])
@pytest.mark.parametrize("longest", [1, 3, 60])
def test_the_same_as_in_log_space(labels, longest):
    if labels > 1 or longest == 60:
        rng = np.random.default_rng(labels)
        check(random_scores(rng, [1, 2, 40, 17], labels=labels, longest=longest, scale=2.0, distinct=labels > 1))


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_forbidden_parts(scale):
    rng = np.random.default_rng(0)
    scores = random_scores(rng, [30, 1, 12, 9], labels=6, longest=12, scale=scale, forbid=0.1, distinct=True)
    scaled = check(scores)
    assert not scaled["tokens"][scores.unary == -np.inf].any()
    assert not scaled["lengths"].T[scores.length == -np.inf].any()


def test_boundaries_where_no_segment_may_close():
    rng = np.random.default_rng(1)
    scores = random_scores(rng, [12, 24], labels=3, longest=6, distinct=True)
    length = np.full((3, 6), -np.inf)
    length[:, 5] = rng.normal(size=3)
    scaled = check(replace(scores, length=length))
    assert not np.delete(scaled["closes"], np.arange(5, 36, 6), axis=0).any()


def test_a_reach_begins_anew_on_long_segments():
    """Labels that lose a thousand nats and more within the longest segment, and gain them back elsewhere."""
    rng = np.random.default_rng(2)
    scores = random_scores(rng, [150, 90], labels=4, longest=120, distinct=True)
    swing = np.where(np.arange(240) % 80 < 40, 1.0, -1.0)
    unary = scores.unary + 15.0 * swing[:, None] * np.array([1.0, -1.0, 0.0, 0.5])
    check(replace(scores, unary=unary))


def test_only_the_longest_segment_is_possible():
    n = 90
    unary = np.where(np.eye(2)[np.zeros(n, int)] > 0, 0.0, -np.inf)
    scores = SegmentParts.of(np.array([0, n]), unary, np.array([[-np.inf, 0.0], [0.0, -np.inf]]), np.zeros((2, n)))
    scaled = check(scores)
    assert scaled["lengths"][n - 1, 0] == 1.0
    np.testing.assert_allclose(scaled["tokens"][:, 0], 1.0)
    trusted, _ = found_by(scaled_segments.forward_backward, replace(scores, length=np.zeros((2, n - 1))))
    assert not trusted.any()  # there is no output


def test_what_underflows_is_not_trusted():
    """Scores so far apart that the only way through is lost, or beyond what exponentials hold."""
    n = 60
    unary = np.zeros((n, 2))
    unary[:, 1], unary[-1, 0] = -20.0, -np.inf
    alone = np.array([[0.0, -np.inf], [-np.inf, -np.inf]])
    hidden = SegmentParts.of(np.array([0, n]), unary, alone, np.zeros((2, n)))
    rng = np.random.default_rng(3)
    huge = random_scores(rng, [20], labels=3, longest=9, scale=400.0)
    steep = random_scores(rng, [20], labels=3, longest=9)
    steep = replace(steep, opens=steep.opens + 150.0)
    for scores in (hidden, huge, steep):
        assert not found_by(scaled_segments.forward_backward, scores)[0].any()
        marginals = Segmentation().marginals(scores)
        np.testing.assert_allclose(marginals.parts.unary.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(Segmentation().marginals(hidden).log_partition, [-20.0 * n])


@pytest.mark.parametrize("depth", [5.0, 20.0, 30.0, 60.0, 100.0])
def test_no_path_is_lost_on_the_way(depth):
    """Two labels that never meet: one falls behind by exp(-8 depth), which may be no number, then the other."""
    unary = np.zeros((16, 2))
    unary[:8, 1] = unary[8:, 0] = -depth
    pair = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)
    scores = SegmentParts.of(np.array([0, 16]), unary, pair, np.zeros((2, 1)))
    found = Segmentation().marginals(scores)
    np.testing.assert_allclose(found.log_partition, np.log(2) - 8 * depth)
    np.testing.assert_allclose(found.parts.unary, 0.5)
    if depth > 50:
        assert not found_by(scaled_segments.forward_backward, scores)[0].any()


def test_trusted_and_others_in_one_batch():
    rng = np.random.default_rng(4)
    scores = random_scores(rng, [10, 20, 5, 8], labels=9, longest=7)
    opens = scores.opens.copy()
    opens[10:30] *= 500.0
    scores = replace(scores, opens=opens)
    assert found_by(scaled_segments.forward_backward, scores)[0].tolist() == [True, False, True, True]
    marginals, pair = Segmentation().marginals(scores), np.zeros((9, 9))
    for i in range(4):
        one = Segmentation().marginals(scores.sequences(i, i + 1))
        np.testing.assert_allclose(marginals.log_partition[i], one.log_partition[0])
        pair += one.parts.pair
    np.testing.assert_allclose(marginals.parts.pair, pair)


def test_expected_scores_are_left_out_where_nobody_asks():
    scores = random_scores(np.random.default_rng(5), [6, 3])
    _, asked = found_by(scaled_segments.forward_backward, scores)
    _, not_asked = found_by(scaled_segments.forward_backward, scores, expect=False)
    for name in set(NAMES) - {"expected"}:
        np.testing.assert_array_equal(asked[name], not_asked[name])


def test_threads_change_no_bit():
    scores = random_scores(np.random.default_rng(6), np.full(400, 20), labels=5, longest=12)
    one, many = (Segmentation(n_jobs=jobs).marginals(scores) for jobs in (1, 3))
    np.testing.assert_array_equal(one.log_partition, many.log_partition)
    for name in ("unary", "opens", "closes", "pair", "length", "start", "end"):
        np.testing.assert_array_equal(getattr(one.parts, name), getattr(many.parts, name))
