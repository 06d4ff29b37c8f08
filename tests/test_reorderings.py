"""Reordered copies of sequences."""

import numpy as np
import pytest
from scipy import sparse

from sidelight import DataError
from sidelight.reorderings import different_orders, neighbourhoods, reorder, shuffles, transpositions


@pytest.mark.parametrize("n", [1, 2, 5])
def test_transpositions(n):
    orders = transpositions(n)
    assert orders.shape == (n, n)
    assert orders[0].tolist() == list(range(n))
    for t, order in enumerate(orders[1:]):
        expected = list(range(n))
        expected[t], expected[t + 1] = expected[t + 1], expected[t]
        assert order.tolist() == expected


def test_shuffles():
    orders = shuffles(6, 20, np.random.default_rng(0))
    assert orders.shape == (21, 6)
    assert orders[0].tolist() == list(range(6))
    np.testing.assert_array_equal(np.sort(orders, axis=1), np.tile(np.arange(6), (21, 1)))
    assert len({tuple(order) for order in orders.tolist()}) > 15
    np.testing.assert_array_equal(orders, shuffles(6, 20, np.random.default_rng(0)))


def test_neighbourhoods_are_sets():
    """Exchanging equal tokens gives the sequence itself, which is there already."""
    assert different_orders(transpositions(4), ["a", "a", "b", "c"]).tolist() == [
        [0, 1, 2, 3],
        [0, 2, 1, 3],
        [0, 1, 3, 2],
    ]
    assert len(different_orders(shuffles(2, 50, np.random.default_rng(0)), "ab")) == 2


def test_what_is_allowed_moves_with_the_tokens():
    X = [["a", "b", "c"], ["d"], ["e", "e"]]
    allowed = np.eye(6, dtype=bool)
    allowed[5] = allowed[4]
    others, moved, groups = neighbourhoods(X, allowed, transpositions)
    assert others == [["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"], ["d"], ["e", "e"]]
    assert groups.tolist() == [0, 3, 4, 5]
    assert moved.argmax(axis=1).tolist() == [0, 1, 2, 1, 0, 2, 0, 2, 1, 3, 4, 4]


def test_equal_tokens_with_different_labels_are_different():
    _, moved, groups = neighbourhoods([["e", "e"]], np.eye(2, dtype=bool), transpositions)
    assert groups.tolist() == [0, 2]
    assert moved.argmax(axis=1).tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    "x",
    [
        [("a", "N"), ("b", "V"), ("a", "N")],
        [{"w": "a"}, {"w": "b"}, {"w": "a"}],
        np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]),
        sparse.csr_array(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])),
    ],
    ids=["columns", "dicts", "array", "sparse"],
)
def test_every_form_of_tokens(x):
    others, _, groups = neighbourhoods([x], np.ones((3, 2), bool), transpositions)
    assert groups.tolist() == [0, 3]
    assert all(type(other) is type(x) for other in others)
    swapped = reorder(x, np.array([1, 0, 2]))
    dense = (lambda v: v.toarray().tolist()) if sparse.issparse(x) else (lambda v: np.asarray(v).tolist())
    assert dense(others[1]) == dense(swapped)
    _, _, groups = neighbourhoods([reorder(x, np.array([0, 2, 1]))], np.ones((3, 2), bool), transpositions)
    assert groups.tolist() == [0, 2]


def test_odd_tokens_are_refused():
    with pytest.raises(DataError, match="sequence 0: a token is a string"):
        neighbourhoods([[3, 4]], np.ones((2, 2), bool), transpositions)
