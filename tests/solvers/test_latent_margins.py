"""Rounds with unknown outputs, against quadratic programs over all outputs that are listed."""

from itertools import pairwise, product

import numpy as np
import pytest

from sidelight.solvers import cutting_plane, latent_margins
from sidelight.solvers.latent_margins import LatentProblem
from sidelight.solvers.margin_constraints import Accepted, Labelled, Rejected
from sidelight.structures.chain import Chain
from sidelight.structures.known import KnownLabels, Outputs
from sidelight.supervision import Signal
from tests.solvers.test_cutting_plane import LENGTHS, batch_of, batch_of_range, features, optimum, outputs_of
from tests.solvers.test_losses import make

C = 0.5
OPTIONS = {"change": 1e-6, "max_rounds": 30, "tolerance": 1e-5, "epsilon": 0.0, "max_iterations": 2000, "seed": 3}


class Latent:
    """Sequences whose labels are known at some tokens only, by listing all outputs (Eq. 2.18 of Chang 2011)."""

    def __init__(self, seed, squared, labels=2):
        self.loss, _ = make(seed, lengths=LENGTHS, labels=labels)
        self.squared = squared
        self.cost = np.full(len(LENGTHS), C)
        known = np.random.default_rng(seed).random(self.loss.encoded.tokens) < 0.5
        self.allowed = (self.loss.known.labels[:, None] == np.arange(labels)) | ~known[:, None]
        kinds, labels = (Signal.PARTIAL,) * len(LENGTHS), np.where(known, self.loss.known.labels, -1)
        self.known = KnownLabels(kinds, labels, self.allowed, self.loss.encoded.offsets)
        self.outputs = [outputs_of(self.loss, i) for i in range(len(LENGTHS))]
        self.vectors = [
            np.array([features(self.loss, i, y) for y in outputs]) for i, outputs in enumerate(self.outputs)
        ]
        self.losses = [np.array([self._wrong(i, y) for y in outputs]) for i, outputs in enumerate(self.outputs)]
        self.chosen = []

    def _wrong(self, i, y):
        allowed = self.allowed[self.loss.encoded.offsets[i] : self.loss.encoded.offsets[i + 1]]
        return float((~allowed[np.arange(len(y)), y]).sum())

    def problem(self):
        batch = batch_of(self.loss)

        def complete(w, number):
            best = batch.argmax(self.known.restrict(batch.scores(w)), 0, len(batch), number)
            self.chosen.append(best.outputs.values)
            return Labelled(batch, self.known, C, best.outputs)

        return LatentProblem((), (complete,), "squared_hinge" if self.squared else "hinge", margins_stay=True)

    def value(self, w):
        """Q(w)."""
        missed = [
            (loss + rows @ w).max() - (rows @ w)[loss == 0].max()
            for rows, loss in zip(self.vectors, self.losses, strict=True)
        ]
        return w @ w / 2 + C * (np.square(missed) if self.squared else np.array(missed)).sum()

    def least(self, chosen):
        """The least A(·) with these outputs put in."""
        offsets, rows, margins, groups = self.loss.encoded.offsets, [], [], []
        for i, outputs in enumerate(self.outputs):
            mine = chosen[offsets[i] : offsets[i + 1]]
            number = next(n for n, y in enumerate(outputs) if (y == mine).all())
            rows.append(self.vectors[i][number] - self.vectors[i])
            margins.append(self.losses[i])
            groups += [i] * len(outputs)
        return optimum(np.concatenate(rows), np.concatenate(margins), np.array(groups), self.cost, self.squared)


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_round_solves_its_convex_problem(seed, squared):
    """Though it goes on from the rows of the round before, whose outputs were others."""
    latent = Latent(seed, squared)
    found = latent_margins.minimize(latent.problem(), np.zeros(latent.loss.scorer.size), **OPTIONS)
    for one, chosen in zip(found.rounds, latent.chosen, strict=False):
        least = latent.least(chosen)
        assert least * (1 - 1e-4) <= one.bound <= max(least * (1 + 1e-4), min(one.objective, least * 1.01))
    assert len({tuple(chosen) for chosen in latent.chosen}) > 1


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_where_margins_change_with_outputs_their_rows_are_dropped(loss):
    """Rows of labelled inputs and of outputs that stay are kept, and no row asks for more than the demands do."""
    for seed in range(4):
        data, _ = make(seed, lengths=LENGTHS, labels=3)
        batch, offsets, count = batch_of(data), data.encoded.offsets, len(LENGTHS)
        rng = np.random.default_rng(seed)
        changed = np.sort(rng.choice(count, 2, replace=False))
        labels = rng.integers(0, 3, offsets[-1]).astype(np.int32)
        others = labels.copy()
        others[offsets[changed]] = (others[offsets[changed]] + 1) % 3
        labelled = Labelled(batch, data.known, C)
        before, after = (Labelled(batch, KnownLabels.complete(some, offsets), C) for some in (labels, others))
        problem = LatentProblem((labelled,), (), loss, margins_stay=False)
        sets = problem.empty_sets([labelled, before], data.scorer.size)
        options = {"tolerance": 1e-2, "epsilon": 0.0, "max_iterations": 50, "seed": seed}
        cutting_plane.minimize([labelled, before], sets, **options)
        rows = np.bincount(sets._group[: sets.count], minlength=2 * count)
        assert rows[count + changed].all()
        problem.move(sets, [before], [after])
        rows[count + changed] = 0
        np.testing.assert_array_equal(np.bincount(sets._group[: sets.count], minlength=2 * count), rows)
        for w in (sets.weights.copy(), rng.normal(size=data.scorer.size)):
            bound = np.concatenate([one.worst(w.view(), 0, count).bound for one in (labelled, after)])
            assert sets.dual() <= sets.primal(bound, w) + 1e-9
            warm = sets.copy()
            warm.weights[:] = w
            assert (warm.worst(0, 2 * count) <= bound + 1e-4).all()


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("tolerance", [1e-5, 0.3])
def test_the_objective_never_rises(squared, tolerance):
    for seed in range(4):
        latent = Latent(seed, squared, labels=3)
        found = latent_margins.minimize(
            latent.problem(), np.zeros(latent.loss.scorer.size), **{**OPTIONS, "tolerance": tolerance}
        )
        values = [one.objective for one in found.rounds] + [found.objective]
        np.testing.assert_allclose(found.objective, latent.value(found.weights), rtol=1e-6)
        np.testing.assert_allclose(values[0], latent.value(np.zeros(latent.loss.scorer.size)), rtol=1e-9)
        assert (np.diff(values) <= 1e-9 * np.abs(values[1:])).all()
        for one, after in zip(found.rounds, values[1:], strict=True):
            assert after <= one.bound * (1 + 1e-9) <= one.objective * (1 + 2e-9)


@pytest.mark.parametrize("squared", [True, False])
def test_accepted_inputs_end_at_a_fixed_point(squared):
    """Companions: the last outputs are the best ones, and the weights those of their convex problem."""
    loss, _ = make(7, lengths=LENGTHS, labels=2, all_weights=True)
    sizes, constant = np.array([1.0, 2.0, 4.0, 0.5, 3.0, 1.5]), 0.7
    batch = batch_of(loss)
    bad, good = batch_of_range(batch, 0, 3), batch_of_range(batch, 3, 6)

    def accept(w, number):
        return Accepted(good, 2 * C, sizes[3:], constant, good.best(w, number).outputs)

    problem = LatentProblem(
        (Rejected(bad, C, sizes[:3], constant),), (accept,), "squared_hinge" if squared else "hinge", margins_stay=True
    )
    found = latent_margins.minimize(problem, np.zeros(loss.scorer.size + 1), **OPTIONS)
    chosen = Chain(1).argmax(good.scores(found.weights)).outputs.values
    vectors, groups = [], []
    for i in range(6):
        mine = outputs_of(loss, i)
        if i >= 3:
            mine = [chosen[good.encoded.offsets[i - 3] : good.encoded.offsets[i - 2]]]
        sign = 1.0 if i >= 3 else -1.0
        vectors += [sign * np.append(features(loss, i, y) / sizes[i], constant) for y in mine]
        groups += [i] * len(mine)
    cost = np.array([C] * 3 + [2 * C] * 3)
    least = optimum(np.array(vectors), np.ones(len(vectors)), np.array(groups), cost, squared)
    assert found.converged
    np.testing.assert_allclose(found.objective, least, rtol=1e-3)


def test_a_good_start_is_never_lost():
    """Begun from the weights of the best of many completions, it ends no higher than these."""
    latent = Latent(1, True)
    tokens = [np.flatnonzero(row).tolist() for row in latent.allowed]
    free = [t for t, labels in enumerate(tokens) if len(labels) > 1][:6]
    fixed = np.array([labels[0] for labels in tokens], np.int32)
    values = {}
    for labels in product(range(2), repeat=len(free)):
        chosen = fixed.copy()
        chosen[free] = labels
        values[tuple(chosen)] = latent.least(chosen)
    lowest = np.array(min(values, key=values.get), np.int32)
    demand = Labelled(batch_of(latent.loss), latent.known, C, Outputs(lowest, latent.known.offsets))
    start = latent_margins.minimize(
        LatentProblem((demand,), (), "squared_hinge", margins_stay=True), np.zeros(latent.loss.scorer.size), **OPTIONS
    ).weights
    found = latent_margins.minimize(latent.problem(), start, **OPTIONS)
    assert found.objective <= values[tuple(lowest)] * (1 + 1e-4)


def test_rounds_end_when_the_bound_falls_by_no_more_than_asked():
    """A(w_{t+1}, w_t) falls by more than the share `change` in every round but the last (Eq. 6.11)."""
    latent = Latent(4, True, labels=3)
    for change, rounds in ((0.1, 3), (0.01, 5)):
        start = np.zeros(latent.loss.scorer.size)
        found = latent_margins.minimize(latent.problem(), start, **{**OPTIONS, "change": change})
        bounds = np.array([one.bound for one in found.rounds])
        falls = -np.diff(bounds) / bounds[:-1]
        assert found.converged
        assert (falls[:-1] > change).all()
        assert falls[-1] <= change
        assert len(bounds) == rounds


def test_a_solution_that_raises_the_objective_is_sought_more_closely(monkeypatch):
    """With a fifth of its tolerance, or of the gap that it has; so the rounds go on, and end lower."""
    latent, solved, solve = Latent(3, True, labels=3), [], cutting_plane.minimize

    def noted(*args, **options):
        solved.append((options["tolerance"], solve(*args, **options)))
        return solved[-1][1]

    monkeypatch.setattr(cutting_plane, "minimize", noted)
    options = {**OPTIONS, "tolerance": 0.3}
    found = latent_margins.minimize(latent.problem(), np.zeros(latent.loss.scorer.size), **options)
    closer = [(one, two) for one, two in pairwise(solved) if two[0] < 0.3]
    assert closer
    for (before, solution), (after, _) in closer:
        assert after == pytest.approx(0.2 * min(before, solution.last.relative_gap))
    assert found.objective < 1.5  # 1.67 where it ends with the first solution that it cannot take
