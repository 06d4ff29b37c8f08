"""Agreement of views against generic solvers over all outputs."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from sidelight.errors import NotSupported
from sidelight.inference.agreement import LabelMap, agree, agree_on_maps
from sidelight.structures.chain import Chain, ChainParts
from sidelight.structures.flat import FlatParts
from sidelight.structures.trees import Trees


def chains(seed, labels=2, sizes=(3, 1)):
    rng = np.random.default_rng(seed)
    tokens = sum(sizes)
    return ChainParts.of(
        np.concatenate(([0], np.cumsum(sizes))), rng.normal(size=(tokens, labels)), rng.normal(size=(labels, labels))
    )


def distribution(structure, scores, index):
    """All outputs of an input, and their probabilities."""
    outputs, one = list(structure.support(scores, index)), scores.sequences(index, index + 1)
    values = np.array([structure.score(one, np.array(y, np.int32))[0] for y in outputs])
    return outputs, np.exp(values - logsumexp(values))


def kl(q, p):
    return float(np.where(q > 0, q * np.log(np.maximum(q, 1e-300) / p), 0.0).sum())


def nearest(p1, p2, rows):
    """The least KL(q || p1 p2) over joint distributions with rows @ q = 0, by a generic solver on the dual."""
    joint = np.log(np.outer(p1, p2).ravel())

    def dual(prices):
        values = joint + prices @ rows
        total = logsumexp(values)
        return total, rows @ np.exp(values - total)

    end = minimize(dual, np.zeros(len(rows)), jac=True, method="BFGS", options={"gtol": 1e-9})
    q = np.exp(joint + end.x @ rows - end.fun)
    return -end.fun, q.reshape(len(p1), len(p2))


@pytest.mark.parametrize("kind", ["chains", "trees"])
def test_twice_the_bhattacharyya_distance_is_the_optimum_of_the_projection(kind):
    if kind == "chains":
        structure, one, other = Chain(1), chains(0), chains(1)
    else:
        structure, rng = Trees(1, projective=True), np.random.default_rng(2)
        shapes = np.array([[3, 1], [2, 1]])
        one, other = (FlatParts(rng.normal(size=13), np.array([0, 9, 13]), shapes) for _ in range(2))
    found, total = agree(structure, [one, other]), 0.0
    for i in range(2):
        _, p1 = distribution(structure, one, i)
        _, p2 = distribution(structure, other, i)
        n = len(p1)
        rows = np.array([np.repeat(np.eye(n)[y], n) - np.tile(np.eye(n)[y], n) for y in range(n)])  # Eq. 43
        value, q = nearest(p1, p2, rows)
        np.testing.assert_allclose(value, -2 * np.log(np.sqrt(p1 * p2).sum()), atol=1e-7)  # Proposition 6.1
        np.testing.assert_allclose(q.sum(axis=1), np.sqrt(p1 * p2) / np.sqrt(p1 * p2).sum(), atol=1e-4)
        total += value
    assert found.value == pytest.approx(total, abs=1e-6)


def test_three_views_meet_at_the_geometric_mean():
    structure, views = Chain(1), [chains(k) for k in range(3)]
    found = agree(structure, views)
    total = 0.0
    for i in range(2):
        ps = [distribution(structure, one, i)[1] for one in views]
        q = np.exp(np.mean(np.log(ps), axis=0))
        total += sum(kl(q / q.sum(), p) for p in ps)
    assert found.value == pytest.approx(total)


def test_documents_agree_through_maps_in_closed_form():
    one, other = chains(0, labels=3, sizes=(1, 1)), chains(1, labels=2, sizes=(1, 1))
    maps = [LabelMap(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])), LabelMap(np.eye(2))]
    found = agree_on_maps(Chain(1), [one, other], maps, tolerance=1e-9)
    total = 0.0
    for i in range(2):
        p1, p2 = distribution(Chain(1), one, i)[1], distribution(Chain(1), other, i)[1]
        z1, z2 = p1 @ maps[0].member, p2
        total += -2 * np.log(np.sqrt(z1 * z2).sum())  # Proposition 6.3
        q = np.sqrt(z1 * z2) / np.sqrt(z1 * z2).sum()
        np.testing.assert_allclose(
            found.parts[0].unary[i], p1 / (maps[0].member @ z1) * (maps[0].member @ q), atol=1e-6
        )
    assert found.value == pytest.approx(total, abs=1e-8)


def test_chains_agree_through_maps_on_labels_and_neighbours():
    one, other = chains(0, labels=3, sizes=(3,)), chains(1, labels=2, sizes=(3,))
    maps = [LabelMap(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])), LabelMap(np.eye(2))]
    found = agree_on_maps(Chain(1), [one, other], maps, tolerance=1e-9)
    (ys, p1), (zs, p2) = distribution(Chain(1), one, 0), distribution(Chain(1), other, 0)
    mapped, rows = np.argmax(maps[0].member, axis=1), []
    for t, a, b in product(range(1, 3), range(2), range(2)):
        mine = np.array([mapped[y[t - 1]] == a and mapped[y[t]] == b for y in ys], float)
        theirs = np.array([z[t - 1] == a and z[t] == b for z in zs], float)
        rows.append(np.repeat(mine, len(zs)) - np.tile(theirs, len(ys)))
    value, q = nearest(p1, p2, np.array(rows))
    assert found.value == pytest.approx(value, abs=1e-6)
    assert found.left < 1e-6
    first = np.array([sum(mass for y, mass in zip(ys, q.sum(axis=1), strict=True) if y[0] == c) for c in range(3)])
    np.testing.assert_allclose(found.parts[0].unary[0], first, atol=1e-5)
    assert found.parts[0].pair.shape == one.pair.shape


def test_maps_are_for_two_views_of_labels():
    with pytest.raises(NotSupported, match="two views"):
        agree_on_maps(Chain(1), [chains(0)] * 3, [LabelMap(np.eye(2))] * 3)
