import numpy as np
import pytest
from scipy import sparse

from sidelight.errors import DataError
from sidelight.features.arrays import ArrayEncoder

KINDS = [np.asarray, np.asfortranarray, sparse.csr_array, sparse.coo_array, sparse.csc_array, sparse.csr_matrix]


def dense(encoded):
    values = encoded.values if len(encoded.values) else np.ones(len(encoded.indices))
    shape = (encoded.tokens, encoded.attributes)
    return sparse.csr_array((values, encoded.indices, encoded.indptr), shape=shape).toarray()


def random_arrays(seed, ones=False):
    rng = np.random.default_rng(seed)
    made = [rng.normal(size=(n, 6)) * (rng.random((n, 6)) < 0.4) for n in (1, 4, 3)]
    return [np.where(x != 0, 1.0, 0.0) for x in made] if ones else made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("min_count", [1, 3])
def test_values(kind, min_count):
    X, X_new = random_arrays(0), random_arrays(1)
    kept = (np.concatenate(X) != 0).sum(axis=0) >= min_count
    assert min_count == 1 or not kept.all()
    encoder = ArrayEncoder(min_count)
    encoded = encoder.fit_transform([kind(x) for x in X])
    np.testing.assert_array_equal(encoded.offsets, [0, 1, 5, 8])
    again = ArrayEncoder.from_state(*encoder.state())
    np.testing.assert_array_equal(dense(encoded), np.concatenate(X) * kept)
    for one in (encoder, again):
        np.testing.assert_array_equal(dense(one.transform([kind(x) for x in X_new])), np.concatenate(X_new) * kept)
    assert encoder.describe(2) == "feature 2"


def test_kinds_may_be_mixed_and_ones_need_no_values():
    X = random_arrays(2, ones=True)
    mixed = [X[0].astype(bool), sparse.coo_array(X[1]), X[2].astype(np.float32)]
    encoded = ArrayEncoder().fit_transform(mixed)
    assert len(encoded.values) == 0
    np.testing.assert_array_equal(dense(encoded), np.concatenate(X))


def test_repeated_and_explicit_zero_entries():
    twice = sparse.coo_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    np.testing.assert_array_equal(dense(ArrayEncoder().fit_transform([twice])), [[0, 3], [0, 0]])
    x = sparse.csr_array(np.array([[1.0, 2.0], [3.0, 4.0]]))
    x.data[1] = 0.0
    before = [x.indptr.copy(), x.indices.copy(), x.data.copy()]
    encoded = ArrayEncoder().fit_transform([x])
    assert len(encoded.indices) == 3
    for array, copy in zip((x.indptr, x.indices, x.data), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_bad_numbers_name_sequence_token_and_feature(kind, bad):
    X = random_arrays(0)
    X[1][2, 4] = bad
    with pytest.raises(DataError, match="sequence 1, token 2: feature 4 is not a finite number"):
        ArrayEncoder().fit_transform([kind(x) for x in X])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([np.ones((2, 3)), np.ones((2, 4))], r"sequence 1: expected an array of 3 columns, got shape \(2, 4\)"),
        ([np.ones((2, 3)), np.ones(3)], r"sequence 1: expected an array of 3 columns, got shape \(3,\)"),
        ([np.ones((2, 3)), [[1, 2, 3]]], "sequence 1: expected an array of 3 columns, got 'list'"),
        ([np.ones((2, 3)), np.ones((0, 3))], "sequence 1 is empty"),
        ([np.ones(3)], r"sequence 0: expected an array of one row per token, got shape \(3,\)"),
        ([np.array([["a", "b"]])], "sequence 0: expected an array of numbers"),
    ],
)
def test_bad_shapes(X, message):
    with pytest.raises(DataError, match=message):
        ArrayEncoder().fit_transform(X)
