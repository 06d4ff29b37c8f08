"""One decision per input, against listing every label."""

import numpy as np
import pytest

from sidelight import Choice, ChoiceParts, DataError, Infeasible
from tests.structure_kit import check_loss, check_sampling, check_structure, check_ties, known_labels


def random_scores(rng, inputs=5, labels=4, scale=1.0, forbid=0.0):
    unary = rng.normal(scale=scale, size=(inputs, labels))
    unary[rng.random(unary.shape) < forbid] = -np.inf
    return ChoiceParts.of(unary)


def indicator(scores, index, output):
    unary = np.zeros_like(scores.unary)
    unary[index, output[0]] = 1
    return {"unary": unary}


@pytest.mark.parametrize("case", ["plain", "huge", "forbidden", "one label", "tempered", "loss"])
def test_against_enumeration(case):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        scores = random_scores(
            rng,
            labels=1 if case == "one label" else 4,
            scale=400.0 if case == "huge" else 1.0,
            forbid=0.4 if case == "forbidden" else 0.0,
        )
        if case == "tempered":
            scores = scores.divide(0.3)
        if case == "loss":
            scores = scores + Choice().loss(scores, known_labels(rng, scores)).cost
        check_structure(Choice(), scores, indicator)


def test_all_but_one_label_forbidden():
    only = np.array([2, 0, 1, 1, 3])
    scores = random_scores(np.random.default_rng(1)).restrict(only[:, None] == np.arange(4))
    check_structure(Choice(), scores, indicator)
    np.testing.assert_array_equal(Choice().argmax(scores, seed=3).outputs.values, only)
    np.testing.assert_array_equal(Choice().sample(scores, 3, seed=0), [only] * 3)


def test_sampling():
    check_sampling(Choice(), random_scores(np.random.default_rng(5), inputs=2, forbid=0.2))


def test_ties():
    check_ties(Choice(), ChoiceParts.of(np.zeros((1, 4))))
    mixed = ChoiceParts.of(np.array([[1.0, 1.0, 0.0], [0.0, -np.inf, 0.0]]))
    seen = np.array([Choice().argmax(mixed, seed=seed).outputs.values for seed in range(200)])
    assert set(seen[:, 0]) == {0, 1}
    assert set(seen[:, 1]) == {0, 2}
    np.testing.assert_allclose(seen.mean(axis=0), [0.5, 1.0], atol=0.25)


@pytest.mark.parametrize("partial", [False, True])
def test_the_loss_is_one_for_wrong_labels(partial):
    rng = np.random.default_rng(0)
    scores = random_scores(rng)
    check_loss(Choice(), scores, known_labels(rng, scores, partial))


def test_parts_are_combined():
    a, b = (random_scores(np.random.default_rng(seed)) for seed in (1, 2))
    labels = np.array([0, 1, 2, 3, 0], np.int32)
    choice = Choice()
    np.testing.assert_allclose(choice.score(a + b, labels), choice.score(a, labels) + choice.score(b, labels))
    np.testing.assert_allclose(a.dot(choice.indicator(a, labels)), choice.score(a, labels).sum())
    forbidden = a.restrict(np.arange(4) != np.array([1, 2, 3, 0, 1])[:, None])
    assert np.isfinite(forbidden.dot(choice.indicator(a, labels)))
    np.testing.assert_array_equal(a.offsets, np.arange(6))
    assert len(a.sequences(1, 3)) == 2


def test_bad_scores_are_refused():
    with pytest.raises(DataError, match="numbers below infinity"):
        ChoiceParts.of(np.array([[0.0, np.nan]]))
    with pytest.raises(DataError, match=r"\(inputs, labels\)"):
        ChoiceParts.of(np.zeros(3))
    scores = ChoiceParts.of(np.array([[0.0, 1.0], [-np.inf, -np.inf]]))
    with pytest.raises(Infeasible, match="sequence 1 has no output"):
        Choice().argmax(scores)
    with pytest.raises(DataError, match="temperature must be positive"):
        scores.divide(0)
    with pytest.raises(DataError, match="a seed is a whole number"):
        Choice().argmax(scores, seed=-1)
