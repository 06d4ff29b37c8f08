from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import digamma
from scipy.stats import beta, dirichlet

from sidelight.features.symbols import SymbolEncoder
from sidelight.scorers.hmm import HMMCounting, HMMCounts, HMMScorer
from sidelight.structures.chain import Chain, indicator

X = [["a", "b", "a"], ["a", "c"]]
Y = np.array([0, 1, 0, 0, 1], np.int32)  # 0 1 0 | 0 1


def counted(encoded, parts, words):
    sums = HMMCounting(words, parts.labels, 1).expectation()
    sums.add(encoded, parts)
    return sums.total()


def estimate(X=X, Y=Y, labels=2, unknown=None, **smoothing):
    encoder = SymbolEncoder("word", unknown)
    encoded = encoder.fit_transform(X)
    counts = counted(encoded, indicator(encoded.offsets, Y, labels, 1), len(encoder.words))
    settings = {"start": 0.0, "transition": 0.0, "emission": 0.0, **smoothing}
    return encoder, counts, HMMScorer.estimate(counts.smoothed(encoder, **settings))


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
    np.testing.assert_array_equal(Chain().argmax(scores).outputs.values, [0, 1, 0, 1])
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
    halves = [counted(encoded, indicator(encoded.offsets, y, 2, 1), 3) for y in outputs]
    both = halves[0] + halves[1]
    mixed = Chain().marginals(HMMScorer(np.zeros(2), np.zeros((2, 2)), np.zeros((5, 2))).scores(encoded))
    expected = counted(encoded, mixed.parts, 3)
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


def test_variational_weights_by_hand():
    """exp(ψ(count + α) - ψ(total + K α)): a transition seen twice of twice, with α = 1 and two labels."""
    encoder, counts, _ = estimate()
    scorer = HMMScorer.estimate(counts.smoothed(encoder, 1.0, 1.0, 0.5), "variational")
    np.testing.assert_allclose(scorer.transition[0], digamma([1, 3]) - digamma(4))
    np.testing.assert_allclose(scorer.start, digamma([3, 1]) - digamma(4))
    np.testing.assert_allclose(scorer.emission[:, 0], digamma([3.5, 0.5, 0.5, 0.5, 0.5]) - digamma(5.5))
    assert np.exp(scorer.transition).sum(axis=1).max() < 1


def test_the_divergence_of_dirichlet_distributions_by_integration():
    """Beta distributions: two labels, and two words of which each label has its own."""
    counts = HMMCounts(np.array([2.5, 1.2]), np.array([[0.7, 3.0], [1.5, 1.5]]), np.array([[4.0, 0.8], [1.1, 2.0]]))
    pairs = [(2.5, 1.2, 0.5), (0.7, 3.0, 0.9), (1.5, 1.5, 0.9), (4.0, 1.1, 0.6), (0.8, 2.0, 0.6)]

    def one(a, b, prior):
        ours, theirs = beta(a, b), beta(prior, prior)
        return quad(lambda p: ours.pdf(p) * (ours.logpdf(p) - theirs.logpdf(p)), 0, 1)[0]

    np.testing.assert_allclose(counts.divergence(0.5, 0.9, 0.6), sum(one(*pair) for pair in pairs), rtol=1e-6)
    triple = np.array([[[0.7, 2.0], [1.3, 1.1]], [[3.0, 0.6], [0.8, 1.7]]])  # the third label after each first two
    more = sum(one(a, b, 0.9) for a, b in triple.reshape(4, 2))
    found = replace(counts, triple=triple).divergence(0.5, 0.9, 0.6)
    np.testing.assert_allclose(found, sum(one(*pair) for pair in pairs) + more, rtol=1e-6)


def test_the_prior_is_the_density_of_dirichlet_distributions():
    """Between two models the log-prior differs as the log-densities of Dir(1 + smoothing) do, those of triples too."""
    smoothing = (0.5, 1.5, 0.25)
    found, expected = [], []
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        start, pair = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=3)
        emission, triple = rng.dirichlet(np.ones(4), size=3), rng.dirichlet(np.ones(3), size=(3, 3))
        model = HMMScorer(np.log(start), np.log(pair), np.log(emission.T), np.log(triple))
        found.append(model.log_prior(*smoothing))
        tables = (start[None], 0.5), (pair, 1.5), (emission, 0.25), (triple.reshape(9, 3), 1.5)
        expected.append(sum(dirichlet(np.full(len(p), 1 + more)).logpdf(p) for table, more in tables for p in table))
    np.testing.assert_allclose(found[0] - found[1], expected[0] - expected[1])


@pytest.mark.parametrize(("often", "strongest"), [(4, 0), (9, 1)])
def test_words_are_ranked_by_their_log_ratio_times_the_root_of_their_count(often, strongest):
    """Of label 0, word 0 is seen once with log 1.8, word 1 with log 1.3: their ratio, 2.24, lies between √4 and √9."""
    probability = np.array([[0.09, 0.01], [0.65, 0.35], [0.26, 0.64]])
    scorer = HMMScorer(np.zeros(2), np.zeros((2, 2)), np.log(probability))
    counts = HMMCounts(np.zeros(2), np.zeros((2, 2)), np.array([[1.0, 0.0], [often, 0.0], [0.0, 1.0]]))
    ((found, label, ratio),) = scorer.strongest(counts, 1, 0)
    assert (found, label) == (strongest, 0)
    np.testing.assert_allclose(ratio, np.log([1.8, 1.3][strongest]))


def test_random_counts():
    first, again = (HMMCounts.random(5, 3, 0.5, np.random.default_rng(1)) for _ in range(2))
    for name, shape in (("start", (3,)), ("transition", (3, 3)), ("emission", (5, 3))):
        table = getattr(first, name)
        assert table.shape == shape
        assert 1 <= table.min() < table.max() <= 1.5
        np.testing.assert_array_equal(table, getattr(again, name))
