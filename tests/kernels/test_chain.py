"""The compiled chain against its plain NumPy twin, on sequences too long to enumerate."""

import numpy as np
import pytest

from sidelight.kernels import reference
from sidelight.structures.chain import Chain, ChainParts
from tests.structures.test_chain import random_scores


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("scale", "forbid"), [(1.0, 0.0), (3.0, 0.1), (300.0, 0.0)])
def test_matches_the_twin(order, scale, forbid):
    rng = np.random.default_rng(11)
    scores = random_scores(rng, [1, 40, 7, 90], labels=6, order=order, types=3, scale=scale, forbid=forbid)
    best, marginals = Chain().argmax(scores), Chain().marginals(scores)
    arcs = scores.arcs()
    summed = np.zeros_like(scores.pair)
    for i in range(len(scores)):
        one = scores.sequences(i, i + 1)
        at = slice(scores.offsets[i], scores.offsets[i + 1])
        arguments = (one.unary, arcs, one.pair_type, one.start, one.end)
        labels, score = reference.best_path(*arguments)
        np.testing.assert_array_equal(best.outputs.values[at], labels)
        np.testing.assert_allclose(best.scores[i], score)
        log_partition, gamma, xi = reference.marginals(*arguments)
        np.testing.assert_allclose(marginals.log_partition[i], log_partition)
        np.testing.assert_allclose(marginals.parts.unary[at], gamma, atol=1e-10)
        pairs = xi[:, 0] if order == 1 else xi.sum(axis=2)
        np.add.at(summed, one.pair_type, pairs)
    np.testing.assert_allclose(marginals.parts.pair, summed, atol=1e-9)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("depth", [11.0, 13.0, 20.0, 30.0, 35.0])
def test_sums_in_log_space_lose_no_digit(depth, order):
    """log (1 + e^-depth), to the last digit of a number near 1; the label at -500 takes the pass to log space."""
    unary = np.array([[0.0, -depth], [0.0, -500.0], [0.0, -500.0]])
    triple = np.zeros((2, 2, 2)) if order == 2 else None
    scores = ChainParts.of([0, 3], unary, np.zeros((2, 2)), triple=triple)
    np.testing.assert_allclose(Chain(1).marginals(scores).log_partition, np.log1p(np.exp(-depth)), rtol=0, atol=4e-16)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("depth", [30.0, 60.0, 100.0])
def test_no_path_is_lost_on_the_way(depth, order):
    """Two paths that never meet: one falls behind by exp(-8 depth), which may be no number, and then the other does."""
    unary = np.zeros((16, 2))
    unary[:8, 1] = unary[8:, 0] = -depth
    pair = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)
    triple = np.zeros((2, 2, 2)) if order == 2 else None
    scores = ChainParts.of([0, 16], unary, pair, triple=triple)
    for found in (Chain(1).marginals(scores), Chain(1).group_marginals(scores, np.array([0, 1]))):
        np.testing.assert_allclose(found.log_partition, np.log(2) - 8 * depth)
        np.testing.assert_allclose(found.parts.unary, 0.5)
