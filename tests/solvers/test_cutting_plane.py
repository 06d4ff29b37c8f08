"""Working sets and cutting planes against quadratic programs over all outputs."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint
from sklearn.exceptions import ConvergenceWarning

from sidelight.errors import DataError, SidelightError
from sidelight.scorers.protocol import KeepsReady, SparseVectors
from sidelight.solvers import cutting_plane
from sidelight.solvers.certificate import warn_unconverged
from sidelight.solvers.margin_constraints import Accepted, BestSearch, Labelled, MarginInputs, Rejected
from sidelight.solvers.working_sets import WorkingSets
from sidelight.structures.chain import Chain
from sidelight.structures.known import Outputs
from sidelight.structures.protocol import Best
from tests.convex_oracle import least
from tests.solvers.test_losses import make

LENGTHS = (1, 3, 2, 4, 1, 3)


@dataclass(frozen=True)
class OtherSearch(BestSearch):
    """A search that is not the structure's own: search(scores, first, last), with places in the whole batch."""

    search: Any = None

    def __call__(self, scores, first, last, seed=None):
        begin = 0 if self.numbers is None else int(self.numbers[0])
        return self.search(scores, begin + first, begin + last)


def batch_of(loss, search=None):
    argmax = BestSearch(Chain(1)) if search is None else OtherSearch(Chain(1), search=search)
    return MarginInputs(KeepsReady(loss.scorer), loss.encoded, argmax)


def features(loss, i, labels):
    """F(x_i, labels) by the expectation of the indicator."""
    one, sums = loss.encoded.sequences(i, i + 1), loss.scorer.expectation()
    scores = loss.scorer.scores(one, np.zeros(loss.scorer.size))
    sums.add(one, Chain(1).indicator(scores, np.array(labels, np.int32)))
    return sums.total()


def outputs_of(loss, i):
    n = int(np.diff(loss.encoded.offsets)[i])
    return [np.array(y, np.int32) for y in product(range(loss.scorer.labels), repeat=n)]


def gold(loss, i):
    return loss.known.labels[loss.encoded.offsets[i] : loss.encoded.offsets[i + 1]]


def all_rows(loss, cost):
    """Every row of the labelled problem: vectors, margins, groups."""
    vectors, margins, groups = [], [], []
    for i in range(len(loss.encoded)):
        for y in outputs_of(loss, i):
            vectors.append(features(loss, i, gold(loss, i)) - features(loss, i, y))
            margins.append(float((y != gold(loss, i)).sum()))
            groups.append(i)
    return np.array(vectors), np.array(margins), np.array(groups)


def optimum(vectors, margins, groups, cost, squared):
    """The least primal objective, by a general solver over weights and slacks."""
    n, g = vectors.shape[1], len(cost)
    slack = np.eye(g)[groups]

    def value(z):
        w, xi = z[:n], z[n:]
        return 0.5 * w @ w + cost @ (xi**2 if squared else xi)

    def slope(z):
        return np.concatenate((z[:n], cost * (2 * z[n:] if squared else 1.0)))

    return least(
        value,
        np.concatenate((np.zeros(n), np.full(g, margins.max() + 1))),
        jac=slope,
        bounds=[(None, None)] * n + [(0, None)] * g,
        constraints=LinearConstraint(np.hstack((vectors, slack)), lb=margins),
        tolerance=1e-13,
    ).fun


def solve(demands, size, cost, squared, **options):
    sets = WorkingSets(size, cost, loss="squared_hinge" if squared else "hinge")
    chosen = {"tolerance": 1e-6, "epsilon": 0.0, "max_iterations": 3000, "seed": 0, "check": True, **options}
    return cutting_plane.minimize(demands, sets, **chosen), sets


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize(("seed", "labels", "C"), [(0, 2, 0.7), (1, 3, 0.1), (2, 2, 10.0), (3, 1, 1.0)])
def test_the_optimum_is_that_of_all_outputs(seed, labels, C, squared):
    loss, _ = make(seed, lengths=LENGTHS, labels=labels)
    cost = np.full(len(LENGTHS), C)
    found, _ = solve([Labelled(batch_of(loss), loss.known, C)], loss.scorer.size, cost, squared)
    least = optimum(*all_rows(loss, C), cost, squared)
    assert found.converged
    assert least - 1e-6 <= found.last.objective <= least + found.last.gap + 1e-6
    assert found.last.dual <= least + 1e-6


def test_outputs_that_are_violated_little_join_in_the_end():
    """No output is violated by an epsilon above all margins; it is divided by ten until the gap is closed."""
    loss, _ = make(0, lengths=LENGTHS, labels=2)
    demands, cost = [Labelled(batch_of(loss), loss.known, 0.7)], np.full(len(LENGTHS), 0.7)
    wide, narrow = (
        solve(demands, loss.scorer.size, cost, True, epsilon=epsilon, max_iterations=200)[0] for epsilon in (50.0, 0.0)
    )
    assert wide.converged
    np.testing.assert_allclose(wide.last.objective, narrow.last.objective, rtol=1e-5)


@pytest.mark.parametrize("squared", [True, False])
def test_duals_never_fall_and_bound_every_primal(squared):
    loss, _ = make(5, lengths=LENGTHS * 2, labels=3)
    cost = np.full(2 * len(LENGTHS), 1.0)
    found, _ = solve([Labelled(batch_of(loss), loss.known, 1.0)], loss.scorer.size, cost, squared)
    duals = np.array([step.dual for step in found.steps])
    primals = np.array([step.objective for step in found.steps])
    assert (np.diff(duals) >= -1e-7 * np.abs(duals[1:])).all()
    assert (primals[~np.isnan(primals)] >= duals.max() - 1e-6).all()
    assert len(found.steps) > 3


@pytest.mark.parametrize("squared", [True, False])
def test_rows_of_one_group_with_conflicting_margins(squared):
    """Two opposite rows in one group and a third in another, against the general solver."""
    vectors = np.array([[1.0, 0.0], [-1.0, 0.5], [0.0, 2.0], [1.0, 1.0]])
    margins, groups, cost = np.array([1.0, 2.0, 1.0, 0.5]), np.array([0, 0, 1, 1], np.int32), np.array([0.5, 2.0])
    sets = WorkingSets(2, cost, loss="squared_hinge" if squared else "hinge")
    sets.add(
        groups,
        margins,
        SparseVectors(np.arange(0, 9, 2), np.tile([0, 1], 4).astype(np.int32), vectors.ravel().astype("f4")),
    )
    sets.descend(500, np.random.default_rng(0))
    violation = sets.worst(0, 2)
    least = optimum(vectors, margins, groups, cost, squared)
    np.testing.assert_allclose(sets.primal(violation), least, rtol=1e-5)
    np.testing.assert_allclose(sets.dual(), least, rtol=1e-5)


def test_squared_steps_are_equation_6_9():
    """One row: α solves (margin - w·v - α / 2C) = 0 in one step."""
    sets = WorkingSets(2, np.array([0.25]), loss="squared_hinge")
    sets.add(
        np.zeros(1, np.int32),
        np.array([3.0]),
        SparseVectors(np.array([0, 2]), np.array([0, 1], np.int32), np.ones(2, "f4")),
    )
    sets.descend(1, np.random.default_rng(0))
    alpha = 3.0 / (2.0 + 1 / (2 * 0.25))
    np.testing.assert_allclose(sets.weights, [alpha, alpha])
    np.testing.assert_allclose(sets.total, [alpha])


def test_linear_steps_between_two_rows_are_exact():
    """Both rows want more than their group may have: α₁ + α₂ = C, and as much of each as makes their slopes equal."""
    sets = WorkingSets(2, np.array([0.5]), loss="hinge")
    rows = SparseVectors(np.array([0, 2, 4]), np.array([0, 1, 0, 1], np.int32), np.array([1, 0, 0.6, 0.8], "f4"))
    sets.add(np.zeros(2, np.int32), np.array([3.0, 3.1]), rows)
    sets.descend(1, np.random.default_rng(0))
    np.testing.assert_allclose(sets._alpha[:2], [0.125, 0.375], rtol=1e-6)
    np.testing.assert_allclose(sets.weights, [0.35, 0.3], rtol=1e-6)


def test_cleaning_keeps_the_objective():
    loss, _ = make(6, lengths=LENGTHS * 2, labels=3)
    cost = np.full(2 * len(LENGTHS), 1.0)
    _, sets = solve([Labelled(batch_of(loss), loss.known, 1.0)], loss.scorer.size, cost, True, tolerance=1e-3)
    before, weights, rows = sets.dual(), sets.weights.copy(), sets.count
    for _ in range(5):
        sets.clean()
    sets.refresh()
    np.testing.assert_allclose(sets.dual(), before)
    np.testing.assert_allclose(sets.weights, weights, atol=1e-9)
    assert sets.count <= rows


def companions(loss, C, constant):
    """Inputs 0, 1 labelled; 2, 3 rejected; 4, 5 accepted with some outputs; and all their rows."""
    batch = batch_of(loss)
    sizes = np.array([1.0, 2.0, 4.0, 0.5, 3.0, 1.5])
    parts = [batch_of_range(batch, a, b) for a, b in ((0, 2), (2, 4), (4, 6))]
    chosen = [outputs_of(loss, i)[-1] for i in (4, 5)]
    demands = [
        Labelled(parts[0], loss.known.inputs(0, 2), C),
        Rejected(parts[1], 2 * C, sizes[2:4], constant),
        Accepted(parts[2], 2 * C, sizes[4:], constant, Outputs(np.concatenate(chosen), parts[2].encoded.offsets)),
    ]
    vectors, margins, groups = [], [], []
    for i in (0, 1):
        for y in outputs_of(loss, i):
            vectors.append(np.append(features(loss, i, gold(loss, i)) - features(loss, i, y), 0.0))
            margins.append(float((y != gold(loss, i)).sum()))
            groups.append(i)
    for i in (2, 3):
        for y in outputs_of(loss, i):
            vectors.append(-np.append(features(loss, i, y) / sizes[i], constant))
            margins.append(1.0)
            groups.append(i)
    for i, y in zip((4, 5), chosen, strict=True):
        vectors.append(np.append(features(loss, i, y) / sizes[i], constant))
        margins.append(1.0)
        groups.append(i)
    return demands, np.array(vectors), np.array(margins), np.array(groups)


def batch_of_range(batch, first, last):
    return MarginInputs(batch.scorer, batch.encoded.sequences(first, last), batch.argmax)


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("constant", [0.0, 1.0, 0.3])
def test_companions_of_equation_6_8(squared, constant):
    loss, _ = make(7, lengths=LENGTHS, labels=2, all_weights=True)
    demands, vectors, margins, groups = companions(loss, 0.5, constant)
    cost = np.array([0.5, 0.5, 1.0, 1.0, 1.0, 1.0])
    found, _ = solve(demands, loss.scorer.size + 1, cost, squared)
    least = optimum(vectors, margins, groups, cost, squared)
    np.testing.assert_allclose(found.last.objective, least, rtol=1e-4)
    assert found.converged


def dense(rows, size):
    """Sparse rows as a matrix."""
    out = np.zeros((len(rows.pointer) - 1, size))
    out[np.repeat(np.arange(len(out)), np.diff(rows.pointer)), rows.indices] = rows.values
    return out


@pytest.mark.parametrize(("first", "last"), [(0, 6), (2, 5)])
def test_a_row_and_its_margin_give_the_violation_of_its_output(first, last):
    """margin - w·row is what the search found, wherever the range of inputs begins, whatever their sizes."""
    loss, w = make(7, lengths=LENGTHS, labels=2, all_weights=True)
    batch, sizes, w = batch_of(loss), np.array([1.0, 2.0, 4.0, 0.5, 3.0, 1.5]), np.append(w, 0.7)
    chosen = Outputs(1 - loss.known.labels, loss.encoded.offsets)
    accepted = [Accepted(batch, 1.0, sizes, 0.3, chosen, sign) for sign in (1.0, -1.0)]
    for demand in (Labelled(batch, loss.known, 1.0), Rejected(batch, 1.0, sizes, 0.3), *accepted):
        worst = demand.worst(w, first, last)
        which = np.array([2, 0, 1])
        rows, margin = demand.rows(first, last, which, worst.outputs)
        np.testing.assert_allclose(margin - dense(rows, len(w)) @ w, worst.violation[which], rtol=1e-6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rows_shifted_are_those_of_the_outputs_chosen_anew(sign):
    loss, w = make(7, lengths=LENGTHS, labels=2, all_weights=True)
    batch, sizes, size = batch_of(loss), np.array([1.0, 2.0, 4.0, 0.5, 3.0, 1.5]), len(w) + 1
    labels = loss.known.labels, np.where(np.arange(len(loss.known.labels)) % 3, loss.known.labels, 0)
    before, after = (Accepted(batch, 1.0, sizes, 0.3, Outputs(y, loss.encoded.offsets), sign) for y in labels)
    which = after.differing(before)
    assert 0 < len(which) < len(LENGTHS)
    old, new = (dense(one.rows(0, len(one), which, one.outputs)[0], size) for one in (before, after))
    np.testing.assert_allclose(old + dense(after.shift(before, which), size), new, atol=1e-6)


@pytest.mark.parametrize("order", [1, 2])
def test_rows_are_differences_of_features(order):
    loss, _ = make(8, lengths=LENGTHS, labels=3, order=order)
    rng = np.random.default_rng(0)
    one, other = (rng.integers(3, size=loss.encoded.tokens).astype(np.int32) for _ in range(2))
    offsets, which = loss.encoded.offsets, np.array([4, 0, 3])
    for plus, minus in ((one, other), (one, None), (None, other), (one, one)):
        rows = loss.scorer.rows(loss.encoded, which, plus, minus)
        for number, i in enumerate(which):
            at, expected = slice(offsets[i], offsets[i + 1]), np.zeros(loss.scorer.size)
            if plus is not None:
                expected += features(loss, i, plus[at])
            if minus is not None:
                expected -= features(loss, i, minus[at])
            mine = slice(rows.pointer[number], rows.pointer[number + 1])
            got = np.zeros(loss.scorer.size)
            got[rows.indices[mine]] = rows.values[mine]
            np.testing.assert_allclose(got, expected, atol=1e-6)
            np.testing.assert_allclose(rows.norms()[number], expected @ expected, rtol=1e-5)
            assert len(set(rows.indices[mine].tolist())) == mine.stop - mine.start


def test_inference_that_is_not_exact_is_found_out():
    """A search that returns the worst output first, and later the gold one, contradicts its own working sets."""
    loss, _ = make(9, lengths=LENGTHS, labels=2)
    calls = []

    def lazy(scores, first, last):
        calls.append(first)
        if len(calls) <= len(LENGTHS):
            return Chain(1).argmax(scores)
        labels = loss.known.labels[loss.encoded.offsets[first] : loss.encoded.offsets[last]]
        return Best(Outputs(labels, scores.offsets), Chain(1).score(scores, labels))

    demand = Labelled(batch_of(loss, lazy), loss.known, 1.0)
    with pytest.raises(SidelightError, match=r"input \d+ with violation .*, but one found before has .* not exact"):
        solve([demand], loss.scorer.size, np.full(len(LENGTHS), 1.0), True)


@pytest.mark.parametrize("iterations", [1, 2, 3, 4, 5])
def test_the_last_step_is_about_the_weights_that_are_returned(iterations):
    loss, _ = make(11, lengths=LENGTHS * 3, labels=3)
    demand = Labelled(batch_of(loss), loss.known, 1.0)
    cost = np.full(3 * len(LENGTHS), 1.0)
    found, sets = solve([demand], loss.scorer.size, cost, True, max_iterations=iterations, tolerance=1e-9)
    violation = demand.worst(found.weights, 0, len(demand)).violation
    np.testing.assert_allclose(found.last.objective, sets.primal(violation, found.weights))
    assert not found.converged


def test_known_violations_count_even_if_the_search_misses_them():
    """Without the check, a search that is not exact cannot make the primal objective too low."""
    loss, _ = make(9, lengths=LENGTHS, labels=2)
    calls = []

    def lazy(scores, first, last):
        calls.append(first)
        if len(calls) <= len(LENGTHS):
            return Chain(1).argmax(scores)
        labels = loss.known.labels[loss.encoded.offsets[first] : loss.encoded.offsets[last]]
        return Best(Outputs(labels, scores.offsets), Chain(1).score(scores, labels))

    demand = Labelled(batch_of(loss, lazy), loss.known, 1.0)
    found, _ = solve([demand], loss.scorer.size, np.full(len(LENGTHS), 1.0), True, check=False, tolerance=1e-3)
    assert found.last.objective >= found.last.dual


def test_searches_that_end_early_leave_a_certificate_that_holds():
    """Where a search returns some output with a bound, the objective is no lower than it is, and it says so."""
    loss, _ = make(9, lengths=LENGTHS, labels=2)
    cost, room = np.full(len(LENGTHS), 1.0), np.array([0.0, 0.3, 0.0, 0.0, 0.2, 0.0])

    def early(scores, first, last):
        best = Chain(1).argmax(scores)
        return Best(best.outputs, best.scores, False, best.scores + room[first:last])

    demand = Labelled(batch_of(loss, early), loss.known, 1.0)
    found, sets = solve([demand], loss.scorer.size, cost, True, max_iterations=200)
    true = Labelled(batch_of(loss), loss.known, 1.0).worst(found.weights, 0, len(LENGTHS)).violation
    np.testing.assert_allclose(found.last.objective, sets.primal(true + room, found.weights))
    assert found.last.gap > found.last.objective - sets.primal(true, found.weights) > 0
    assert (found.converged, found.unproved) == (False, 2)
    assert len(found.steps) < 200  # nothing but the bounds kept the gap open
    with pytest.warns(ConvergenceWarning, match="worst outputs of 2 inputs.* raise time_limit"):
        warn_unconverged("it", found, "")


def test_lengths_of_rows_do_not_cancel():
    rows = SparseVectors(
        np.array([0, 2, 2, 4]), np.arange(4, dtype=np.int32), np.array([1e8, 1e8, 0.1, 0.1], np.float32)
    )
    np.testing.assert_allclose(rows.norms(), [2e16, 0.0, 0.02], rtol=1e-6)


def test_warm_starts_go_on_from_other_costs():
    loss, _ = make(10, lengths=LENGTHS, labels=3)
    batch, n = batch_of(loss), len(LENGTHS)
    for squared in (True, False):
        _, sets = solve([Labelled(batch, loss.known, 1.0)], loss.scorer.size, np.full(n, 1.0), squared)
        again = sets.recast(loss.scorer.size, np.full(n, 0.5), loss="squared_hinge" if squared else "hinge")
        options = {"tolerance": 1e-6, "epsilon": 0.0, "max_iterations": 3000, "seed": 0}
        warm = cutting_plane.minimize([Labelled(batch, loss.known, 0.5)], again, **options)
        cold, _ = solve([Labelled(batch, loss.known, 0.5)], loss.scorer.size, np.full(n, 0.5), squared)
        np.testing.assert_allclose(warm.last.objective, cold.last.objective, rtol=1e-5)
        with pytest.raises(DataError, match="a warm start needs the data of the last fit"):
            sets.recast(loss.scorer.size + 1, np.full(n, 0.5), loss="squared_hinge" if squared else "hinge")
