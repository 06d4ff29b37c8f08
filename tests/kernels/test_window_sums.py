"""Sums over the lengths of segments against NumPy."""

import numpy as np
import pytest

from sidelight.kernels.compiling import Floats, kernel
from sidelight.kernels.window_sums import padded, spread_opening, sum_closing


@kernel
def columns(labels: int) -> int:
    return padded(labels)


@kernel
def close(values: Floats, weights: Floats, last: int, count: int, out: Floats) -> None:
    sum_closing(values, weights, last, count, out)


@kernel
def spread(
    values: Floats, weights: Floats, first: int, count: int, by: Floats, out: Floats, lengths: Floats, tokens: Floats
) -> None:
    spread_opening(values, weights, first, count, by, out, lengths, tokens)


def test_columns_are_eights():
    assert [columns(labels) for labels in (1, 7, 8, 9, 16, 17)] == [8, 8, 8, 16, 16, 24]


@pytest.mark.parametrize("labels", [8, 24])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_against_numpy(labels, count):
    rng = np.random.default_rng(labels + count)
    values, weights, by = rng.normal(size=(9, labels)), rng.normal(size=(6, labels)), rng.normal(size=labels)
    out = np.empty(labels)
    close(values, weights, 7, count, out)
    rows = 7 - np.arange(count)
    np.testing.assert_allclose(out, (values[rows] * weights[:count]).sum(axis=0), atol=1e-13)
    lengths, tokens = rng.normal(size=(6, labels)), rng.normal(size=(9, labels))
    expected_lengths, expected_tokens = lengths.copy(), tokens.copy()
    spread(values, weights, 3, count, by, out, lengths, tokens)
    terms = values[3 : 3 + count] * weights[:count]
    np.testing.assert_allclose(out, terms.sum(axis=0), atol=1e-13)
    expected_lengths[:count] += by * values[3 : 3 + count]
    for k in range(count):
        expected_tokens[2 : 3 + k] += by * terms[k]
    np.testing.assert_allclose(lengths, expected_lengths, atol=1e-13)
    np.testing.assert_allclose(tokens, expected_tokens, atol=1e-13)
