"""Few labels for each word: the projection against a generic convex solver over every output (Eq. 58 and 59)."""

from itertools import pairwise, product

import numpy as np
import pytest

from sidelight import Chain, ChainParts, DataError, few_labels, word
from sidelight.inference.few_labels import Occurrences, project_words
from sidelight.rules.rows import penalty_of
from tests.convex_oracle import least

X = [["a", "b"], ["a", "A"], ["b"], ["c", "a"]]
OFFSETS = np.array([0, 2, 4, 5, 7])
LABELS = 3
RULES = {
    "every word": [few_labels(word, at_least=1)],
    "frequent words": [few_labels(word.lower(), at_least=2).expected(0.7)],
    "two rules": [few_labels(word.lower(), at_least=2), few_labels(word.istitle(), at_least=1).expected(0.2)],
}
TIGHT = {"tolerance": 1e-9, "max_iterations": 3000}


def charged(rules, penalty):
    """The rules with this many times their penalties."""
    return [rule.expected(penalty * penalty_of(rule)) for rule in rules]


def example(seed, size=2.0):
    rng = np.random.default_rng(seed)
    unary, pair = size * rng.normal(size=(7, LABELS)), rng.normal(size=(LABELS, LABELS))
    return ChainParts.of(OFFSETS, unary, pair, start=rng.normal(size=LABELS), end=rng.normal(size=LABELS))


def listed(scores):
    """log p of every output of every sequence, which sequence each is of, and its 0/1 vector over tokens and labels."""
    log_p, owner, parts = [], [], []
    for i, (a, b) in enumerate(pairwise(OFFSETS)):
        outputs = [np.array(y, np.int32) for y in product(range(LABELS), repeat=b - a)]
        values = np.array([Chain().score(scores.sequences(i, i + 1), y)[0] for y in outputs])
        log_p.append(values - np.logaddexp.reduce(values))
        owner += [i] * len(outputs)
        for y in outputs:
            part = np.zeros((7, LABELS))
            part[np.arange(a, b), y] = 1
            parts.append(part)
    return np.concatenate(log_p), np.array(owner), np.array(parts)


def best(scores, words, temperature):
    """SLSQP over q and the largest probability c of each word and label."""
    log_p, owner, parts = listed(scores)
    size, table = len(log_p), parts[:, words.token].reshape(len(log_p), -1)  # outputs x (members, labels)
    word_of = np.repeat(np.arange(words.words), np.diff(words.edges))
    cell = (word_of[:, None] * LABELS + np.arange(LABELS)).ravel()
    charge = np.repeat(words.penalty, LABELS)

    def cost(z):
        q = np.maximum(z[:size], 1e-300)
        return -q @ log_p + temperature * q @ np.log(q) + charge @ z[size:]

    def slope(z):
        return np.concatenate((-log_p + temperature * (1 + np.log(np.maximum(z[:size], 1e-300))), charge))

    once = np.concatenate(((owner == np.arange(4)[:, None]).astype(float), np.zeros((4, len(charge)))), axis=1)
    below = np.concatenate((-table.T, np.eye(len(charge))[cell]), axis=1)
    start = np.concatenate((1 / np.bincount(owner)[owner], np.ones(len(charge))))
    found = least(
        cost, start, jac=slope, tolerance=1e-10, bounds=[(1e-12, 1)] * size + [(0, None)] * len(charge),
        constraints=[
            {"type": "eq", "fun": lambda z: once @ z - 1, "jac": lambda z: once},
            {"type": "ineq", "fun": lambda z: below @ z, "jac": lambda z: below},
        ],
    )  # fmt: skip
    return found.fun, np.tensordot(found.x[:size], parts, axes=1)


@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize(("penalty", "temperature"), [(0.3, 1.0), (2.0, 1.0), (1.0, 0.5), (1.0, 3.0)])
def test_against_a_generic_solver(rules, penalty, temperature):
    scores, words = example(0), Occurrences.compile(charged(RULES[rules], penalty), X)
    found = project_words(scores, words, temperature=temperature, **TIGHT)
    value, unary = best(scores, words, temperature)
    assert found.converged
    assert abs(found.gap) <= 1e-8
    np.testing.assert_allclose(found.primal, value, atol=1e-6)
    np.testing.assert_allclose(found.parts.unary, unary, atol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_the_certificate(seed):
    """Prices are in their budget, primal and dual are those of the definition, and the gap falls with the tolerance."""
    scores, words = example(seed, 4.0), Occurrences.compile(charged(RULES["frequent words"], 3.0), X)
    log_p, _, parts = listed(scores)
    for tolerance in (1.0, 1e-2, 1e-6):
        found = project_words(scores, words, tolerance=tolerance)
        prices, expected = found.prices.reshape(-1, LABELS), found.expected.reshape(-1, LABELS)
        assert (prices >= 0).all()
        assert (np.add.reduceat(prices, words.edges[:-1]) <= words.penalty[:, None] + 1e-9).all()
        np.testing.assert_array_equal(expected, found.parts.unary[words.token])
        largest = np.maximum.reduceat(expected, words.edges[:-1])
        np.testing.assert_array_equal(found.excess, largest.ravel())
        np.testing.assert_allclose(found.primal - found.divergence, (words.penalty[:, None] * largest).sum())
        tilt = log_p - np.tensordot(parts[:, words.token], prices, axes=2)
        np.testing.assert_allclose(found.dual, -sum(np.logaddexp.reduce(t) for t in np.split(tilt, [9, 18, 21])))
        assert found.gap <= tolerance * 4


def test_warm_starts_need_fewer_steps():
    scores, words = example(3), Occurrences.compile(charged(RULES["every word"], 2.0), X)
    cold = project_words(scores, words, **TIGHT)
    warm = project_words(scores, words, start=cold.prices, **TIGHT)
    assert warm.passes == 1 < cold.passes
    np.testing.assert_allclose(warm.prices, cold.prices, atol=1e-12)
    cheaper = Occurrences.compile(charged(RULES["every word"], 0.5), X)
    inside = project_words(scores, cheaper, start=cold.prices, **TIGHT)  # prices beyond the budget are cut
    np.testing.assert_allclose(inside.primal, project_words(scores, cheaper, **TIGHT).primal, atol=1e-7)


def test_forbidden_parts_stay_forbidden():
    scores = example(1)
    scores.unary[[0, 2], [1, 0]] = -np.inf
    words = Occurrences.compile(charged(RULES["every word"], 2.0), X)
    found = project_words(scores, words, **TIGHT)
    assert found.converged
    assert found.parts.unary[0, 1] == found.parts.unary[2, 0] == 0


def test_shards_change_nothing():
    """Enough tokens for three threads."""
    rng = np.random.default_rng(0)
    offsets = np.arange(0, 4001, 10)
    scores = ChainParts.of(offsets, rng.normal(size=(4000, 4)), rng.normal(size=(4, 4)))
    words = Occurrences.of([str(w) for w in rng.integers(50, size=4000)], 10, 5.0)
    one, three = (project_words(scores, words, tolerance=1e-2, n_jobs=n) for n in (1, 3))
    np.testing.assert_allclose(one.parts.unary, three.parts.unary, atol=1e-6)
    assert one.excess.sum() < 0.8 * words.largest(Chain().marginals(scores).parts.unary[words.token]).sum()


def test_words_are_found():
    words = Occurrences.compile([few_labels(word.lower(), at_least=2).expected(6.0)], X)
    assert [words.token[a:b].tolist() for a, b in pairwise(words.edges)] == [
        [0, 2, 3, 6],
        [1, 4],
    ]
    assert words.penalty.tolist() == [6.0, 6.0]
    absent = Occurrences.compile([few_labels(word.suffix(2), at_least=1)], [["ab", "b", "cab"]])
    assert absent.token.tolist() == [0, 2]


def test_without_words_it_is_the_model():
    scores, words = example(0), Occurrences.compile([few_labels(word, at_least=50)], X)
    found = project_words(scores, words)
    assert words.words == 0
    np.testing.assert_allclose(found.parts.unary, Chain().marginals(scores).parts.unary)
    np.testing.assert_allclose(found.primal, 0, atol=1e-12)


@pytest.mark.parametrize("temperature", [0.0, -1.0, np.inf, np.nan])
def test_temperatures_are_above_zero(temperature):
    with pytest.raises(DataError, match="a temperature is above 0"):
        project_words(example(0), Occurrences.of(["a"] * 7, 1), temperature=temperature)
