"""Criteria on unlabelled sequences: values by enumeration, gradients by central differences."""

import numpy as np
import pytest

from sidelight import NotSupported, changes, count, each, runs, share, starts_with, where, word
from sidelight.errors import DataError
from sidelight.inference.distances import check_distance, distance
from sidelight.inference.rows import Rows
from sidelight.scorers.linear import LinearScorer
from sidelight.solvers.unlabelled import UnlabelledLoss
from sidelight.structures.chain import Chain
from tests.inference.test_rows import counts
from tests.scorers.test_linear import random_encoded, random_targets
from tests.structure_kit import enumerate_outputs

LABELS = ["A", "B", "C"]
LENGTHS = [1, 4, 2, 3]
COUNTS = [
    (share("A") == 0.3).expected(2),
    share("B", where=word.isdigit()) >= 0.9,
    (changes() <= 0.5).over_corpus(),
    runs(each("A", "B")) <= 1,
    starts_with("B"),
    where(word.isin("a")).label("C"),
]
ANY = [*COUNTS, (count("A") - 2 * count("C") == 0.5).expected(0.3)]


def words(seed):
    rng = np.random.default_rng(seed)
    X = [[str(w) for w in rng.choice(["a", "b", "1", ","], n)] for n in LENGTHS]
    X[0][0], X[1][0] = "1", "a"
    return X


def make(seed, rules, name="squared", *, strength=0.7, entropy=0.0, order=1, partial=False):
    rng = np.random.default_rng(seed)
    encoded = random_encoded(rng, LENGTHS, values=True)
    targets = random_targets(rng, encoded, 3, True)
    scorer = LinearScorer.observed(encoded, targets, 3, order=order, all_weights=True)
    rows = Rows.compile(rules, words(seed), LABELS)
    known = targets if partial else None
    loss = UnlabelledLoss(scorer, Chain(1), encoded, rows, name, strength, entropy, known)
    return loss, 0.7 * rng.normal(size=scorer.size)


def listed(loss, w):
    """Expectations of the rows and the entropy, by listing every output."""
    scores = loss.scorer.scores(loss.encoded, w)
    scores = scores if loss.known is None else loss.known.restrict(scores)
    cut, shared, own, entropy = len(loss.rows.about_corpus), 0.0, [], 0.0
    for i in range(len(scores)):
        outputs, values = enumerate_outputs(Chain(), scores, i)
        log_p = values - np.logaddexp.reduce(values)
        table = np.array([counts(loss.rows, i, np.array(y, np.int32)) for y in outputs])
        means = np.exp(log_p) @ table
        shared, entropy = shared + means[:cut], entropy - float(np.exp(log_p) @ log_p)
        own.append(means[cut:])
    return np.concatenate((shared, np.concatenate(own))), entropy


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("entropy", [0.0, 0.4])
@pytest.mark.parametrize(("rules", "name"), [(ANY, "squared"), (COUNTS, "kl"), ([], "squared")])
def test_value_and_gradient(rules, name, entropy, partial):
    for seed in range(3):
        loss, w = make(seed, rules, name, entropy=entropy, partial=partial)
        value, gradient = loss(w)
        expected, certain = listed(loss, w)
        np.testing.assert_allclose(value, 0.7 * distance(name, loss.rows, expected)[0] + entropy * certain, atol=1e-9)
        numeric = np.empty_like(w)
        for k in range(len(w)):
            step = np.zeros_like(w)
            step[k] = 1e-5
            numeric[k] = (loss(w + step)[0] - loss(w - step)[0]) / 2e-5
        np.testing.assert_allclose(gradient, numeric, atol=2e-6)


def test_entropy_of_order_two():
    loss, w = make(1, [], entropy=1.0, order=2)
    value, gradient = loss(w)
    np.testing.assert_allclose(value, Chain().entropy(loss.scorer.scores(loss.encoded, w)).sum())
    step = np.random.default_rng(0).normal(size=len(w))
    numeric = (loss(w + 1e-6 * step)[0] - loss(w - 1e-6 * step)[0]) / 2e-6
    np.testing.assert_allclose(gradient @ step, numeric, rtol=1e-6)


def test_threads_give_the_same():
    rng = np.random.default_rng(0)
    encoded = random_encoded(rng, [40] * 100, values=False)
    scorer = LinearScorer.observed(encoded, random_targets(rng, encoded, 3, True), 3, all_weights=True)
    X = [[str(w) for w in rng.choice(["a", "b", "1", ","], 40)] for _ in range(100)]
    rows, w = Rows.compile(ANY, X, LABELS), rng.normal(size=scorer.size)
    one, three = (UnlabelledLoss(scorer, Chain(n), encoded, rows, "squared", 0.1, 0.2)(w) for n in (1, 3))
    np.testing.assert_allclose(one[0], three[0])
    np.testing.assert_allclose(one[1], three[1], atol=1e-7)


def test_divergence_of_all_shares_is_that_of_the_distributions():
    X = words(0)
    tokens = sum(map(len, X))
    target, model = np.array([0.2, 0.5, 0.3]), np.array([0.4, 0.4, 0.2])
    rows = Rows.compile([share(c) == t for c, t in zip(LABELS, target, strict=True)], X, LABELS)
    value, slope = distance("kl", rows, tokens / len(X) * (model - target))
    np.testing.assert_allclose(value, tokens * (target * np.log(target / model)).sum())
    np.testing.assert_allclose(slope, len(X) * (1 - target / model))


def test_distances_and_their_slopes():
    """Σ c ξ² / 2, Σ c |ξ| and √(Σ c ξ²), the norms but for their corners at zero; slopes by central differences."""
    rows, rng = Rows.compile(ANY, words(0), LABELS), np.random.default_rng(0)
    c, expected = rows.penalty * rows.copies, rows.bound + rng.normal(size=len(rows))
    assert len(set(c)) > 2
    xi = rows.excess(expected)
    exact = {"squared": c @ xi**2 / 2, "l1": c @ np.abs(xi), "l2": np.sqrt(c @ xi**2)}
    for name, value in exact.items():
        found, slope = distance(name, rows, expected)
        assert 0 <= value - found <= (1e-12 if name == "squared" else 1e-3 * c.sum())
        assert distance(name, rows, rows.bound)[0] == 0
        steps = 1e-6 * np.eye(len(rows))
        numeric = [
            (distance(name, rows, expected + e)[0] - distance(name, rows, expected - e)[0]) / 2e-6 for e in steps
        ]
        np.testing.assert_allclose(slope, numeric, atol=1e-6)


def test_one_side_costs_nothing():
    rows = Rows.compile([count("A") <= 2, count("B") >= 1, count("C") == 1], [["a", "b"]], LABELS)
    for name in ("squared", "kl"):
        assert distance(name, rows, np.array([1.5, 1.5, 1.0]))[0] == 0
        value, slope = distance(name, rows, np.array([3.0, 0.5, 2.0]))
        assert value > 0
        np.testing.assert_array_equal(np.sign(slope), [1, -1, 1])
        assert np.isfinite(distance(name, rows, np.zeros(3))[1]).all()


def test_what_is_refused():
    rows = Rows.compile([count("A") - count("B") == 0], [["a", "b"]], LABELS)
    check_distance("squared", rows)
    with pytest.raises(NotSupported, match=r"'kl' is between counts, and .* can be below zero"):
        check_distance("kl", rows)
    with pytest.raises(DataError, match="the distance is one of squared, l1, l2, kl, got 'l7'"):
        check_distance("l7", rows)
