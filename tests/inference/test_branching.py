"""Branch and bound under rows against lists of all outputs."""

from itertools import permutations

import numpy as np
import pytest
from scipy.sparse import csr_array

from sidelight.inference.branching import UpperRows, best_under_rows
from sidelight.structures.flat import FlatStructure


class Orders(FlatStructure):
    """Orders of n things; part i * n + j: thing i is at place j."""

    def slots(self, shape):
        return shape[0]

    def parts_of(self, shape, output):
        return np.arange(shape[0]) * shape[0] + output

    def best(self, scores, shape, k):
        ranked = sorted(self.all_outputs(shape), key=lambda y: -scores[self.parts_of(shape, y)].sum())
        return [y for y in ranked[:k] if scores[self.parts_of(shape, y)].sum() > -np.inf]

    def expected(self, scores, shape):
        raise NotImplementedError

    def rivals(self, shape, part):
        n = shape[0]
        row, column = divmod(part, n)
        return np.array([i * n + j for i in range(n) for j in range(n) if (i == row) != (j == column)])

    def all_outputs(self, shape):
        return (np.array(y) for y in permutations(range(shape[0])))


def listed(structure, theta, shape, rows):
    """Scores of all outputs that keep to the hard rows, best first."""
    out = []
    for y in structure.all_outputs(shape):
        parts = structure.parts_of(shape, y)
        counted = np.asarray(rows.matrix[:, parts].sum(axis=1)).ravel()
        out.append(theta[parts].sum() - rows.cost(counted))
    return sorted((v for v in out if v > -np.inf), reverse=True)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize(("k", "scale"), [(1, 1.0), (4, 1.0), (1, 0.0)])
def test_the_best_outputs_are_those_of_all(seed, k, scale):
    """Also where all outputs score the same, so that the best one is no better than the worst."""
    rng = np.random.default_rng(seed)
    n, count = 4, int(rng.integers(1, 5))
    theta = scale * rng.normal(size=n * n)
    theta[rng.random(n * n) < 0.1] = -np.inf
    matrix = csr_array(rng.integers(-2, 3, size=(count, n * n)) * (rng.random((count, n * n)) < 0.5))
    penalty = np.where(rng.random(count) < 0.4, np.inf, rng.uniform(0, 2, count))
    rows = UpperRows(matrix.astype(float), rng.integers(-1, 2, count).astype(float), penalty)
    structure = Orders(1)
    values = listed(structure, theta, (n,), rows)
    found = best_under_rows(structure, theta, (n,), rows, k)
    assert found.exact
    np.testing.assert_allclose(found.scores, values[:k], atol=1e-8)
    assert len({tuple(y) for y in found.outputs}) == len(found.outputs) == min(k, len(values))
    if values:
        np.testing.assert_allclose(found.bound, values[0], atol=1e-8)


def test_a_time_limit_leaves_a_bound():
    rng = np.random.default_rng(0)
    n = 5
    theta, matrix = rng.normal(size=n * n), csr_array(rng.normal(size=(6, n * n)))
    rows = UpperRows(matrix, np.full(6, -0.5), np.full(6, 0.7))
    structure = Orders(1)
    best = listed(structure, theta, (n,), rows)[0]
    found = best_under_rows(structure, theta, (n,), rows, 1, time_limit=0.0)
    assert found.bound >= best - 1e-9
    assert found.scores[0] <= best + 1e-9
    assert found.exact == (found.bound - found.scores[0] < 1e-6)


def test_a_time_limit_ends_the_first_share(monkeypatch):
    """Time is looked at before every call for a best output, not only between shares."""
    rng, n, calls = np.random.default_rng(0), 5, []
    theta, matrix = rng.normal(size=n * n), csr_array(rng.normal(size=(6, n * n)))
    rows = UpperRows(matrix, np.full(6, -0.5), np.full(6, 0.7))

    class Counted(Orders):
        def best(self, scores, shape, k):
            calls.append(k)
            return super().best(scores, shape, k)

    monkeypatch.setattr("sidelight.inference.branching.monotonic", lambda: float(len(calls)))
    found = best_under_rows(Counted(1), theta, (n,), rows, 1, time_limit=3.5)
    assert len(calls) == 4
    assert found.bound >= listed(Orders(1), theta, (n,), rows)[0] >= found.scores[0]
    assert not found.exact


@pytest.mark.parametrize("seed", range(12))
def test_a_search_cut_short_returns_the_best_that_it_met(seed, monkeypatch):
    """With few shares allowed, the answer is the best output that any call for the best one gave."""
    rng, n = np.random.default_rng(seed), 5
    theta = rng.normal(size=n * n)
    matrix = csr_array(rng.integers(0, 2, size=(4, n * n)).astype(float))
    rows = UpperRows(matrix, np.full(4, 2.0), np.full(4, np.inf))
    met = []

    class Watched(Orders):
        def best(self, scores, shape, k):
            found = super().best(scores, shape, k)
            for y in found:
                parts = self.parts_of(shape, y)
                met.append(theta[parts].sum() - rows.cost(np.asarray(matrix[:, parts].sum(axis=1)).ravel()))
            return found

    monkeypatch.setattr("sidelight.inference.branching._SHARES", 3)
    found = best_under_rows(Watched(1), theta, (n,), rows, 1)
    best = max(value for value in met if np.isfinite(value)) if np.isfinite(met).any() else -np.inf
    assert (found.scores[0] if found.scores else -np.inf) >= best - 1e-9
    assert found.bound >= best - 1e-9
