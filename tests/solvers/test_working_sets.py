"""Working sets by themselves: rows that move, and duals that stay duals."""

import numpy as np
import pytest

from sidelight.scorers.protocol import SparseVectors
from sidelight.solvers.working_sets import WorkingSets

GROUPS = np.array([0, 0, 1, 2, 2, 2], np.int32)


def as_rows(dense):
    """A dense matrix as sparse rows, without its zeros."""
    kept = [np.flatnonzero(row) for row in dense]
    pointer = np.concatenate(([0], np.cumsum(list(map(len, kept)))))
    values = np.concatenate([row[at] for row, at in zip(dense, kept, strict=True)])
    return SparseVectors(pointer, np.concatenate(kept).astype(np.int32), values.astype(np.float32))


def filled(seed, squared, passes=50):
    """Random rows, solved; small whole numbers, so that single precision is exact."""
    rng = np.random.default_rng(seed)
    vectors, margins = rng.integers(-2, 3, size=(6, 4)).astype(float), rng.integers(1, 4, size=6).astype(float)
    sets = WorkingSets(4, np.array([0.5, 2.0, 1.0]), loss="squared_hinge" if squared else "hinge")
    sets.add(GROUPS, margins, as_rows(vectors))
    sets.descend(passes, rng)
    return sets, vectors, margins


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("moved", [[1], [0, 2], [2, 0, 1]])
def test_rows_move_by_the_vector_of_their_group(squared, moved):
    """Solved again, the sets have the optimum of the moved rows that were in use."""
    for seed in range(5):
        sets, vectors, margins = filled(seed, squared)
        used = (sets._alpha[:6] > 0) | ~np.isin(GROUPS, moved)
        shifts = np.random.default_rng(seed + 100).integers(-2, 3, size=(len(moved), 4)).astype(float)
        sets.shift(np.array(moved), as_rows(shifts))
        expected = vectors.copy()
        for group, vector in zip(moved, shifts, strict=True):
            expected[group == GROUPS] += vector
        fresh = WorkingSets(4, sets.cost, loss="squared_hinge" if squared else "hinge")
        fresh.add(GROUPS[used], margins[used], as_rows(expected[used]))
        w = np.random.default_rng(seed).normal(size=4)
        sets.weights[:], fresh.weights[:] = w, w
        np.testing.assert_allclose(sets.worst(0, 3), fresh.worst(0, 3), atol=1e-6)
        for each in (sets, fresh):
            each.refresh()
            each.descend(300, np.random.default_rng(0))
        np.testing.assert_allclose(sets.dual(), fresh.dual(), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("dropped", [[], [1], [0, 2], [2, 0, 1]])
def test_rows_of_groups_can_be_dropped(squared, dropped):
    """What is left starts no worse than from nothing, and solved again has the optimum of the rows of the others."""
    for seed in range(5):
        sets, vectors, margins = filled(seed, squared)
        left = ~np.isin(GROUPS, dropped)
        sets.drop(np.array(dropped, np.int64))
        assert sets.count == left.sum()
        assert sets.dual() >= -1e-9
        np.testing.assert_allclose(sets.weights, sets._alpha[: sets.count] @ vectors[left], atol=1e-6)
        fresh = WorkingSets(4, sets.cost, loss=sets.loss)
        if left.any():
            fresh.add(GROUPS[left], margins[left], as_rows(vectors[left]))
        for each in (sets, fresh):
            each.descend(300, np.random.default_rng(0))
        np.testing.assert_allclose(sets.dual(), fresh.dual(), rtol=1e-5, atol=1e-9)


def test_the_logistic_loss_ends_without_a_gap():
    """Σ_g C_g log(1 + e^ξ_g), where groups keep a share of their dual variables whatever the margins are."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        vectors, margins = rng.integers(-2, 3, size=(6, 4)).astype(float), 3.0 * rng.integers(-3, 4, size=6)
        sets = WorkingSets(4, np.array([0.5, 20.0, 1.0]), loss="logistic")
        sets.add(GROUPS, margins, as_rows(vectors))
        sets.descend(200, rng)

        def primal(w, vectors=vectors, margins=margins, cost=sets.cost):
            slack = [(margins - vectors @ w)[g == GROUPS].max() for g in range(3)]
            return 0.5 * w @ w + cost @ np.logaddexp(0.0, slack)

        np.testing.assert_allclose(sets.primal(sets.worst(0, 3)), primal(sets.weights), rtol=1e-6)
        np.testing.assert_allclose(sets.dual(), primal(sets.weights), rtol=1e-6)
        assert sets.dual() <= min(primal(sets.weights + 0.1 * rng.normal(size=4)) for _ in range(20))


@pytest.mark.parametrize("squared", [True, False])
def test_a_move_starts_no_worse_than_from_nothing(squared):
    """The dual variables are scaled by the best share of at most 1: no other raises the dual objective."""
    scaled = 0
    for seed in range(20):
        sets, _, _ = filled(seed, squared)
        before = sets._alpha[: sets.count].sum()
        sets.shift(np.arange(3), as_rows(np.full((3, 4), 0.5 if seed % 2 else 9.0)))
        value, alpha = sets.dual(), sets._alpha[: sets.count].copy()
        assert value >= -1e-9
        assert squared or (sets.total <= sets.cost + 1e-9).all()
        shares = [0.0, 0.5, 0.99]
        if 0 < alpha.sum() < before - 1e-9:
            shares, scaled = [*shares, 1.01, 1.5, 2.0], scaled + 1
        for share in shares:
            sets._alpha[: sets.count] = share * alpha
            sets.refresh()
            assert sets.dual() <= value + 1e-9
    assert scaled > 3


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
def test_other_costs_cut_dual_variables_to_what_they_allow(loss):
    """Σ_g α comes down to C_g, in proportion, where it was above; the squared loss has no such limit."""
    sets, vectors, _ = filled(3, loss == "squared_hinge")
    sets.loss, alpha, total = loss, sets._alpha[:6].copy(), sets.total.copy()
    cost = total * [0.4, 3.0, 1.0] + 1e-3
    other = sets.recast(4, cost, loss=loss)
    share = np.ones(3) if loss == "squared_hinge" else np.minimum(1.0, cost / np.maximum(total, 1e-9))
    assert share.min() < 1 or loss == "squared_hinge"
    np.testing.assert_allclose(other._alpha[:6], alpha * share[GROUPS])
    np.testing.assert_allclose(other.total, total * share)
    np.testing.assert_allclose(other.weights, (alpha * share[GROUPS]) @ vectors, atol=1e-6)
    np.testing.assert_array_equal(sets._alpha[:6], alpha)


def test_without_groups_nothing_moves():
    sets, _, _ = filled(0, True)
    before, rows = sets.dual(), sets.count
    sets.shift(
        np.empty(0, np.int64), SparseVectors(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    )
    assert (sets.dual(), sets.count) == (before, rows)


@pytest.mark.parametrize("tolerance", [0.1, 0.002])
def test_settled_duals_are_as_near_the_optimum_as_asked(tolerance):
    """From nothing, and from the optimum, which they never leave; the other loss and many weights are left alone."""
    for seed in range(5):
        best, _, _ = filled(seed, True, passes=3000)
        sets, _, _ = filled(seed, True, passes=0)
        least = best.dual()
        sets.settle(tolerance)
        assert (1 - tolerance) * least - 1e-9 <= sets.dual() <= least + 1e-9
        np.testing.assert_allclose(sets.total, np.bincount(GROUPS, weights=sets._alpha[:6]))
        best.settle(tolerance)
        assert best.dual() >= least - 1e-9
        linear, _, _ = filled(seed, False, passes=1)
        before = linear.dual()
        linear.settle(tolerance)
        assert linear.dual() == before
