"""Sparse sums against dense matrix products."""

import numpy as np
import pytest
from scipy import sparse

from sidelight.kernels import linear
from sidelight.kernels.row_products import bits_of

TOKENS, ATTRIBUTES = 30, 12


class Problem:
    """Random rows and a random set of (attribute, label) weights, sparse and dense."""

    def __init__(self, labels, with_values, heavy):
        rng = np.random.default_rng(labels)
        self.rng = rng
        F = rng.normal(size=(TOKENS, ATTRIBUTES)) * (rng.random((TOKENS, ATTRIBUTES)) < 0.3)
        rows = sparse.csr_array(F if with_values else (F != 0).astype(float))
        self.F = rows.toarray()
        self.rows = (
            rows.indptr.astype(np.int64),
            rows.indices.astype(np.int32),
            rows.data if with_values else np.empty(0),
        )
        self.there = rng.random((ATTRIBUTES, labels)) < 0.5
        self.there[3] = False
        self.pointer = np.concatenate(([0], np.cumsum(self.there.sum(axis=1)))).astype(np.int64)
        self.label = np.nonzero(self.there)[1].astype(np.int32)
        self.w = rng.normal(size=len(self.label))
        self.W = np.zeros((ATTRIBUTES, labels))
        self.W[self.there] = self.w
        self.heavy = rng.permutation(ATTRIBUTES)[: 5 if heavy else 0]
        self.dense = np.zeros((len(self.heavy), labels))
        self.spans = linear.spans_of(self.pointer, self.heavy)

    def scores(self):
        linear.spread(self.pointer, self.label, self.w, self.heavy, self.dense)
        unary = np.ones((TOKENS, self.W.shape[1]))
        linear.add_scores(*self.rows, self.spans, self.label, self.w, self.dense, unary)
        return unary - 1

    def expectations(self, mass):
        out, dense = np.zeros(len(self.w)), np.zeros_like(self.dense)
        linear.add_expectations(*self.rows, self.spans, self.label, mass, dense, out)
        linear.collect(self.pointer, self.label, dense, self.heavy, out)
        return out


problems = pytest.mark.parametrize(
    "problem", [Problem(L, v, h) for L in (6, 8, 11, 16, 21) for v in (False, True) for h in (False, True)]
)


@problems
def test_scores_are_a_matrix_product(problem):
    np.testing.assert_allclose(problem.scores(), problem.F @ problem.W, atol=1e-12)


@problems
def test_expectations_are_the_transposed_product(problem):
    mass = problem.rng.normal(size=(TOKENS, problem.W.shape[1]))
    np.testing.assert_allclose(problem.expectations(mass), (problem.F.T @ mass)[problem.there], atol=1e-12)


@problems
def test_one_is_the_adjoint_of_the_other(problem):
    mass = problem.rng.normal(size=(TOKENS, problem.W.shape[1]))
    np.testing.assert_allclose((problem.scores() * mass).sum(), problem.w @ problem.expectations(mass))


@problems
def test_moving_weights_tells_the_growth_of_the_norm(problem):
    mass, w = problem.rng.normal(size=(TOKENS, problem.W.shape[1])), problem.w.copy()
    free = np.zeros_like(problem.dense)
    linear.spread(problem.pointer, problem.label, np.ones_like(w), problem.heavy, free)
    linear.spread(problem.pointer, problem.label, w, problem.heavy, problem.dense)
    where = problem.spans, problem.label
    growth = linear.move_weights(*problem.rows, *where, mass, -0.3, w, problem.dense, bits_of(free))
    for row, attribute in enumerate(problem.heavy):  # whose weights are in the dense rows
        at = slice(problem.pointer[attribute], problem.pointer[attribute + 1])
        np.testing.assert_array_equal(w[at], problem.w[at])
        w[at] = problem.dense[row, problem.label[at]]
        assert problem.dense[row].sum() == pytest.approx(w[at].sum())  # nothing where there is no weight
    np.testing.assert_allclose(w, problem.w - 0.3 * (problem.F.T @ mass)[problem.there], atol=1e-12)
    np.testing.assert_allclose(growth, w @ w - problem.w @ problem.w, atol=1e-12)


@problems
def test_rows_may_be_a_part_of_a_batch(problem):
    indptr, indices, values = problem.rows
    unary = np.zeros((7, problem.W.shape[1]))
    linear.spread(problem.pointer, problem.label, problem.w, problem.heavy, problem.dense)
    linear.add_scores(indptr[10:18], indices, values, problem.spans, problem.label, problem.w, problem.dense, unary)
    np.testing.assert_allclose(unary, (problem.F @ problem.W)[10:17], atol=1e-12)
