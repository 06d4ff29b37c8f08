from collections import Counter

import numpy as np
import pytest
from scipy import sparse

from sidelight import mismatched, shuffled, transposed
from sidelight.errors import DataError

X = [["a", "b", "c", "d"], ["x"], ["y", "y"], ["b", "a"], ["a", "a", "b"]]


def test_shuffled_is_another_order_of_the_same_tokens():
    out = shuffled(X, k=3)
    owners = [x for x in X if len(set(x)) > 1 for _ in range(3)]
    assert len(out) == 9
    for before, after in zip(owners, out, strict=True):
        assert Counter(before) == Counter(after)
        assert before != after
    assert shuffled(X, k=3) == out
    assert shuffled(X, k=3, seed=1) != out


def test_transposed_exchanges_two_neighbours_at_different_places():
    out = transposed(X, k=2)
    assert ["a", "b"] in out
    assert ["a", "b", "a"] in out
    from_first = [x for x in out if len(x) == 4]
    assert len(from_first) == 2
    assert from_first[0] != from_first[1]
    for x in from_first:
        wrong = [t for t in range(4) if x[t] != X[0][t]]
        assert wrong == [wrong[0], wrong[0] + 1]
    assert len(out) == 4


def test_arrays_stay_arrays():
    dense, thin = np.arange(6.0).reshape(3, 2), sparse.csr_array(np.arange(6.0).reshape(3, 2))
    for x in (dense, thin):
        for make in (shuffled, transposed):
            (out,) = make([x])
            rows = np.asarray(out.toarray() if sparse.issparse(out) else out)
            assert sorted(rows.tolist()) == dense.tolist()
            assert rows.tolist() != dense.tolist()


def test_mismatched_pairs_are_never_right():
    pairs = [("a", "1"), ("b", "2"), ("c", "2"), ("d", "3")]
    out = mismatched(pairs, k=2)
    assert len(out) == 8
    assert [first for first, _ in out] == [first for first, _ in pairs for _ in range(2)]
    right = dict(pairs)
    assert all(second != right[first] for first, second in out)
    with pytest.raises(DataError, match="'b' has 2 other partners, which is less than k = 3"):
        mismatched(pairs, k=3)
    with pytest.raises(DataError, match="a list of tuples of two"):
        mismatched([["a", "b"]])


@pytest.mark.parametrize("make", [shuffled, transposed])
@pytest.mark.parametrize("x", ["ab", 3, None])
def test_what_is_no_sequence_is_named(make, x):
    with pytest.raises(DataError, match=f"sequence 1: expected a list of tokens or an array, got {x!r}"):
        make([["a", "b"], x])


@pytest.mark.parametrize("make", [shuffled, transposed, mismatched])
def test_k_must_be_a_number_of_copies(make):
    with pytest.raises(DataError, match="k is a whole number of at least 1, got 0"):
        make([("a", "b")], k=0)
