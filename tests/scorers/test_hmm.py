import numpy as np
import pytest

from sidelight.features.symbols import SymbolEncoder
from sidelight.scorers.hmm import HMMCounts, HMMScorer
from sidelight.structures.chain import Chain, indicator

X = [["a", "b", "a"], ["a", "c"]]
Y = np.array([0, 1, 0, 0, 1], np.int32)  # 0 1 0 | 0 1


def estimate(X=X, Y=Y, labels=2, unknown=None, **smoothing):
    encoder = SymbolEncoder("word", unknown)
    encoded = encoder.fit_transform(X)
    counts = HMMCounts.expected(encoded, indicator(encoded.offsets, Y, labels, 1), len(encoder.words))
    settings = {"start": 0.0, "transition": 0.0, "emission": 0.0, **smoothing}
    return encoder, counts, HMMScorer.estimate(counts, encoder, **settings)


def test_by_hand():
    """Label 0 emits a three times; label 1 emits b and c once each, which also stand for the unknown word."""
    encoder, counts, scorer = estimate(start=0.5, transition=1.0, emission=0.25)
    np.testing.assert_array_equal(counts.start, [2, 0])
    np.testing.assert_array_equal(counts.transition, [[0, 2], [1, 0]])
    np.testing.assert_array_equal(counts.emission, [[3, 0], [0, 1], [0, 1]])
    np.testing.assert_allclose(np.exp(scorer.start), [2.5 / 3, 0.5 / 3])
    np.testing.assert_allclose(np.exp(scorer.transition), [[1 / 4, 3 / 4], [2 / 3, 1 / 3]])
    # rows a, b, c, unknown, never; 5 * 0.25 is added to totals of 3 and of 1 + 1 + 2
    emission = np.array([[3, 0], [0, 1], [0, 1], [0, 2], [0, 0]]) + 0.25
    np.testing.assert_allclose(np.exp(scorer.emission), emission / [4.25, 5.25])
    scores = scorer.scores(encoder.transform([["a", "zebra"]]))
    by_hand = np.log(2.5 / 3) + np.log(3.25 / 4.25) + np.log(3 / 4) + np.log(2.25 / 5.25)
    np.testing.assert_allclose(Chain().score(scores, np.array([0, 1], np.int32)), [by_hand])


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 3.0])
def test_probabilities_sum_to_one(smoothing):
    rng = np.random.default_rng(0)
    data = [[str(w) for w in rng.integers(40, size=n)] for n in (1, 7, 12, 30)]
    labels = rng.integers(4, size=50).astype(np.int32)
    _, _, scorer = estimate(
        data, labels, 4, "word.suffix(1)", start=smoothing, transition=smoothing, emission=smoothing
    )
    np.testing.assert_allclose(np.exp(scorer.start).sum(), 1)
    np.testing.assert_allclose(np.exp(scorer.transition).sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(scorer.emission).sum(axis=0), 1)


def test_without_smoothing_the_unseen_is_impossible():
    encoder, _, scorer = estimate()
    assert scorer.start.tolist() == [0.0, -np.inf]
    assert scorer.transition.tolist() == [[-np.inf, 0.0], [0.0, -np.inf]]
    np.testing.assert_array_equal(scorer.emission[0], [0.0, -np.inf])
    scores = scorer.scores(encoder.transform([["a", "b", "a", "c"]]))
    np.testing.assert_array_equal(Chain().argmax(scores).labels, [0, 1, 0, 1])
    assert len(list(Chain().support(scores, 0))) == 1


def test_a_label_never_seen_is_impossible_without_smoothing_and_possible_with():
    _, _, scorer = estimate(labels=3)
    assert (scorer.emission[:, 2] == -np.inf).all()
    assert (scorer.transition[2] == -np.inf).all()
    _, _, smooth = estimate(labels=3, start=1.0, transition=1.0, emission=1.0)
    np.testing.assert_allclose(np.exp(smooth.transition[2]), 1 / 3)


def test_expected_counts_of_fractional_parts():
    """Counts are linear in the parts: half of one output and half of another."""
    encoder = SymbolEncoder("word", None)
    encoded = encoder.fit_transform(X)
    outputs = [Y, 1 - Y]
    halves = [HMMCounts.expected(encoded, indicator(encoded.offsets, y, 2, 1), 3) for y in outputs]
    both = halves[0] + halves[1]
    mixed = Chain().marginals(HMMScorer(np.zeros(2), np.zeros((2, 2)), np.zeros((5, 2))).scores(encoded))
    expected = HMMCounts.expected(encoded, mixed.parts, 3)
    np.testing.assert_allclose(expected.emission, both.emission / 2)
    np.testing.assert_allclose(expected.transition, np.full((2, 2), 3 / 4))
    np.testing.assert_allclose(expected.start, both.start / 2)


def test_adding_counts_with_more_words():
    few = HMMCounts(np.ones(2), np.ones((2, 2)), np.ones((2, 2)))
    more = HMMCounts(np.ones(2), np.ones((2, 2)), np.ones((3, 2)))
    both = few + more
    np.testing.assert_array_equal(both.emission, [[2, 2], [2, 2], [1, 1]])
    np.testing.assert_array_equal(both.start, [2, 2])
    np.testing.assert_array_equal(more.emission, np.ones((3, 2)))
