"""Derivatives of marginals: against enumeration, differences, and the NumPy twin."""

from dataclasses import replace

import numpy as np
import pytest

from sidelight.errors import DataError, Infeasible
from sidelight.kernels import reference
from sidelight.structures.chain import Chain
from tests.structure_kit import enumerate_outputs
from tests.structures.test_chain import indicator, random_scores

NAMES = ("unary", "pair", "start", "end", "triple")


def on_same_batch(rng, scores, types):
    """A finite direction with pair types of its own."""
    return random_scores(rng, np.diff(scores.offsets), scores.labels, scores.order, types)


def covariance(scores, direction):
    """E[δ·y] of each sequence and Cov(y, δ·y), by listing every output."""
    slopes, total = [], {}
    for i in range(len(scores)):
        outputs, values = enumerate_outputs(Chain(), scores, i)
        chance = np.exp(values - np.logaddexp.reduce(values))
        one = direction.sequences(i, i + 1)
        along = np.array([Chain().score(one, np.array(y, np.int32))[0] for y in outputs])
        slopes.append(chance @ along)
        for y, p, v in zip(outputs, chance, along, strict=True):
            for name, part in indicator(scores, i, y).items():
                total[name] = total.get(name, 0.0) + p * (v - slopes[-1]) * part
    return np.array(slopes), total


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("types", [1, 3])
@pytest.mark.parametrize(("scale", "forbid"), [(1.0, 0.0), (1.0, 0.15), (400.0, 0.0), (200.0, 0.15)])
def test_covariance_by_enumeration(order, types, scale, forbid):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        scores = random_scores(rng, [1, 2, 5, 3], order=order, types=types, scale=scale, forbid=forbid)
        direction = on_same_batch(rng, scores, 2)
        try:
            moved = Chain().tangents(scores, direction)
        except Infeasible:
            continue
        slopes, expected = covariance(scores, direction)
        np.testing.assert_allclose(moved.log_partition, Chain().marginals(scores).log_partition)
        np.testing.assert_allclose(moved.slope, slopes, atol=1e-9)
        for name, value in expected.items():
            np.testing.assert_allclose(getattr(moved.parts, name), value, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("order", [1, 2])
def test_it_is_the_derivative_of_marginals(order):
    rng = np.random.default_rng(5)
    scores = random_scores(rng, [7, 1, 30], labels=4, order=order, types=2)
    direction = replace(on_same_batch(rng, scores, 2), pair_type=scores.pair_type)
    moved, h = Chain().tangents(scores, direction), 1e-5
    step = direction.divide(1 / h)
    after, before = Chain().marginals(scores + step), Chain().marginals(scores - step)
    np.testing.assert_allclose(moved.slope, (after.log_partition - before.log_partition) / (2 * h), atol=1e-7)
    for name in NAMES[: 4 + (order == 2)]:
        numeric = (getattr(after.parts, name) - getattr(before.parts, name)) / (2 * h)
        np.testing.assert_allclose(getattr(moved.parts, name), numeric, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("scale", "forbid"), [(1.0, 0.0), (3.0, 0.1), (300.0, 0.0)])
def test_matches_the_twin(order, scale, forbid):
    rng = np.random.default_rng(11)
    scores = random_scores(rng, [1, 40, 7, 90], labels=6, order=order, types=3, scale=scale, forbid=forbid)
    direction = on_same_batch(rng, scores, 4)
    moved, summed = Chain().tangents(scores, direction), np.zeros_like(scores.pair)
    turn = direction.arcs()
    turn[turn == -np.inf] = 0.0
    for i in range(len(scores)):
        one, other = scores.sequences(i, i + 1), direction.sequences(i, i + 1)
        slope, states, pairs = reference.tangents(
            one.unary, scores.arcs(), one.pair_type, one.start, one.end,
            other.unary, turn, other.pair_type, other.start, other.end,
        )  # fmt: skip
        np.testing.assert_allclose(moved.slope[i], slope, atol=1e-9)
        at = slice(scores.offsets[i], scores.offsets[i + 1])
        np.testing.assert_allclose(moved.parts.unary[at], states, atol=1e-9)
        np.add.at(summed, one.pair_type, pairs[:, 0] if order == 1 else pairs.sum(axis=2))
    np.testing.assert_allclose(moved.parts.pair, summed, atol=1e-8)


def test_a_constant_direction_moves_nothing():
    """Long enough for a sum that is not kept small to lose digits."""
    rng = np.random.default_rng(2)
    scores = random_scores(rng, [5000, 1], labels=5)
    flat = replace(scores, unary=np.full_like(scores.unary, 1e6), pair=np.zeros_like(scores.pair))
    moved = Chain().tangents(scores, replace(flat, start=np.zeros(5), end=np.zeros(5)))
    np.testing.assert_allclose(moved.slope, [5e9, 1e6])
    np.testing.assert_allclose(moved.parts.unary, 0, atol=1e-7)
    np.testing.assert_allclose(moved.parts.pair, 0, atol=1e-4)


def test_threads_give_the_same():
    rng = np.random.default_rng(3)
    scores = random_scores(rng, [40] * 100, labels=4)
    direction = on_same_batch(rng, scores, 3)
    one, three = (Chain(n).tangents(scores, direction).parts for n in (1, 3))
    np.testing.assert_array_equal(one.unary, three.unary)
    np.testing.assert_allclose(one.pair, three.pair, atol=1e-9)


def test_what_is_refused():
    rng = np.random.default_rng(4)
    scores = random_scores(rng, [2, 3])
    with pytest.raises(DataError, match="on the same batch"):
        Chain().tangents(scores, random_scores(rng, [3, 2]))
    with pytest.raises(DataError, match="a direction with triples needs scores with triples"):
        Chain().tangents(scores, random_scores(rng, [2, 3], order=2))
    with pytest.raises(DataError, match="finite wherever the scores are"):
        Chain().tangents(scores, replace(scores, unary=np.full_like(scores.unary, -np.inf)))
