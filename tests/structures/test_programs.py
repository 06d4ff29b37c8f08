"""Integer programs against a list of all points."""

import pickle
from copy import deepcopy
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from sidelight import DataError, Infeasible, NotSupported, Programs, SidelightError
from sidelight.features.parts import shape_array
from sidelight.inference.constrained import warn_unproved
from sidelight.learners.decoding import Decoder
from sidelight.structures import highs, points, reduced_programs
from sidelight.structures.flat import FlatParts, KnownOutputs
from sidelight.structures.known import Outputs
from sidelight.structures.points import k_best, with_penalties
from sidelight.structures.polytope import LinearRows
from sidelight.structures.program_rows import ProgramRows
from sidelight.supervision import Signal

from ..structure_kit import check_argmax, check_kbest, enumerate_outputs


@pytest.fixture(autouse=True)
def no_lists(monkeypatch):
    """Small components go to the solver as large ones do; `lists` takes that back."""
    monkeypatch.setattr(reduced_programs, "LISTED", 1)


@pytest.fixture
def lists(no_lists, monkeypatch):
    monkeypatch.setattr(reduced_programs, "LISTED", 300)


EXACTLY_ONE, AT_MOST_ONE = (1.0, 1.0), (-np.inf, 1.0)


def rows_of(variables, *rows, titles=(), names=()):
    """Rows (coefficients by variable, low, high)."""
    entries = [(r, v, c) for r, (terms, _, _) in enumerate(rows) for v, c in terms.items()]
    row, variable, value = (np.array(column) for column in zip(*entries, strict=True)) if entries else ([], [], [])
    low, high = (np.array([one[k] for one in rows], float) for k in (1, 2))
    linear = LinearRows.of(low, high, np.asarray(row, int), np.asarray(variable, int), np.asarray(value, float))
    return ProgramRows(variables, linear, tuple(titles), tuple(names))


def batch(values, programs):
    """Scores of several inputs."""
    offsets = np.concatenate(([0], np.cumsum([one.variables for one in programs]))).astype(np.int64)
    return FlatParts(np.asarray(values, float), offsets, shape_array([one.shape for one in programs]))


def one_of(low_high, *variables):
    return dict.fromkeys(variables, 1.0), *low_high


def random_rows(rng, variables=7, rows=4, density=0.4, whole=False):
    """Rows of every kind around a point; some variables are in none."""
    matrix = rng.integers(-3, 4, size=(rows, variables)) if whole else rng.normal(size=(rows, variables))
    matrix = matrix * (rng.random((rows, variables)) < density)
    centre = matrix @ rng.integers(0, 2, size=variables)
    kinds = rng.integers(4, size=rows)
    low = np.where(kinds == 0, -np.inf, centre - (kinds != 3) * rng.exponential(0.3, size=rows))
    high = np.where(kinds == 1, np.inf, centre + (kinds != 3) * rng.exponential(0.3, size=rows))
    ends = zip(matrix, low, high, strict=True)
    return rows_of(variables, *[({v: c for v, c in enumerate(line) if c}, a, b) for line, a, b in ends])


def choices_only(rng):
    """Sets of which exactly one or at most one is chosen, and variables in no row."""
    return rows_of(8, one_of(EXACTLY_ONE, 0, 3, 5), one_of(AT_MOST_ONE, 1, 2), one_of(EXACTLY_ONE, 6))


def check(structure, scores, k=5):
    listed = [enumerate_outputs(structure, scores, i) for i in range(len(scores))]
    check_argmax(structure, scores, listed)
    check_kbest(structure, scores, listed, k)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("whole", [False, True])
def test_programs_are_those_of_the_enumeration(seed, whole):
    """Random rows with any coefficients; whole scores tie."""
    rng = np.random.default_rng(seed)
    programs = [random_rows(rng, rng.integers(1, 8), rng.integers(0, 5), whole=whole) for _ in range(3)]
    values = [rng.integers(-2, 3, size=p.variables) if whole else rng.normal(size=p.variables) for p in programs]
    check(Programs(1), batch(np.concatenate(values), programs))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("k", [1, 3])
def test_small_programs_need_no_solver(seed, k, lists, monkeypatch):
    """Lists of points give what the enumeration has, under scores that change and forbid variables."""
    monkeypatch.setattr(points.highs, "solve", None)
    rng = np.random.default_rng(seed)
    rows, structure = random_rows(rng, 7, 5, whole=seed % 2 == 0), Programs(1)
    for scale in (1.0, 0.0, 3.0, 1.0):
        values = np.where(rng.random(7) < 0.15, -np.inf, rng.integers(-2, 3, size=7) * scale)
        scores = batch(values, [rows])
        _, best = enumerate_outputs(structure, scores, 0)
        found = structure.solve(values, rows.shape, k)
        np.testing.assert_allclose(found.scores, np.sort(best)[::-1][:k], atol=1e-9)
        np.testing.assert_allclose([values[one].sum() for one in found.values], found.scores, atol=1e-9)
        assert not any(rows.broken(one) for one in found.values)
        assert found.exact


def test_variables_that_no_row_needs_are_left_out():
    """A pair of things needs types; where it is not worth it, the things are choices of their own."""
    types = [one_of(EXACTLY_ONE, 0, 1), one_of(EXACTLY_ONE, 2, 3)]
    rows = rows_of(5, *types, ({4: 1.0, 0: -1.0}, -np.inf, 0.0), ({4: 1.0, 2: -1.0}, -np.inf, 0.0))
    worth, left = np.array([-1.0, 0.0, 0.0, 0.5, 2.0]), np.array([-1.0, 0.0, 0.0, 0.5, -0.1])
    assert rows.reduced(left)[0].tolist() == [0, 1, 2, 3]
    assert not rows.reduced(left)[1].components[1]
    assert rows.reduced(worth)[0].tolist() == [0, 1, 2, 3, 4]
    assert rows.reduced(left)[1] is rows.reduced(left - 0.05)[1]  # the same are left out
    assert Programs(1).solve(worth, rows.shape).values.tolist() == [[True, False, True, False, True]]
    assert Programs(1).solve(left, rows.shape).values.tolist() == [[False, True, False, True, False]]
    needed = rows_of(2, ({0: 1.0, 1: -1.0}, 0.0, np.inf))
    assert rows_of(2, one_of(EXACTLY_ONE, 0, 1)).reduced(np.full(2, -1.0))[0].tolist() == [0, 1]
    assert needed.reduced(np.full(2, -1.0))[0].tolist() == [0]


@pytest.mark.parametrize("seed", range(15))
def test_forbidden_variables(seed):
    rng = np.random.default_rng(seed)
    programs = [random_rows(rng), choices_only(rng)]
    values = rng.normal(size=15)
    scores = batch(np.where(rng.random(15) < 0.3, -np.inf, values), programs)
    structure = Programs(1)
    listed = [enumerate_outputs(structure, scores, i) for i in range(2)]
    none = [i for i in range(2) if not len(listed[i][0])]
    if not none:
        check(structure, scores)
        return
    with pytest.raises(Infeasible, match=f"sequence {none[0]} has no output that satisfies .*excluded"):
        structure.argmax(scores)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("k", [1, 2, 6])
def test_choices_need_no_solver(seed, k, monkeypatch):
    """Closed forms give what HiGHS gives, which is not asked."""
    rng = np.random.default_rng(seed)
    rows = choices_only(rng)
    values = rng.integers(-2, 3, size=8) / 2 if seed % 2 else rng.normal(size=8)
    values = np.where(rng.random(8) < 0.2, -np.inf, values)
    values[[0, 6]] = rng.normal(size=2)
    asked = k_best(Programs().program(values, rows.shape), k)
    monkeypatch.setattr(highs, "solve", None)
    found = Programs().solve(values, rows.shape, k)
    np.testing.assert_allclose(found.scores, asked.scores, atol=1e-12)
    assert len(found.values) == len(asked.values)
    np.testing.assert_allclose([values[one].sum() for one in found.values], found.scores)
    assert not any(rows.broken(one) for one in found.values)
    assert found.exact


def test_variables_in_no_row_go_by_their_sign():
    rows = rows_of(4)
    assert Programs(1).argmax(batch([1.0, -1.0, 0.0, -np.inf], [rows])).outputs.values.tolist() == [1, 0, 0, 0]


def test_components_are_solved_apart(monkeypatch):
    rows = rows_of(7, ({0: 2.0, 1: 3.0}, -np.inf, 4.0), ({1: 1.0, 2: -1.0}, -np.inf, 0.0), ({4: 1.0, 5: 1.0}, 1, 2))
    choices, components = rows.components
    assert [one.variables.tolist() for one in components] == [[4, 5], [0, 1, 2]]
    assert [one.numbers.tolist() for one in components] == [[2], [0, 1]]
    assert choices.members.tolist() == [7, 3, 7, 6]
    check(Programs(1), batch(np.random.default_rng(0).normal(size=7), [rows]), 200)


def test_outputs_that_contain_each_other_are_all_found():
    """Exact cuts: the output without variables is in every other one."""
    rows = rows_of(4, ({0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}, -np.inf, 3.0), ({0: 1.0, 3: 2.0}, -np.inf, 2.0))
    scores = batch([0.5, 0.25, -0.125, 1.0], [rows])
    outputs = list(Programs().support(scores, 0))
    ranked = Programs(1).kbest(scores, 16)
    assert (ranked.scores > -np.inf).sum() == len(outputs) == 12
    assert {tuple(one) for one in ranked.outputs.values[: len(outputs)].tolist()} == set(outputs)
    assert (ranked.outputs.values[len(outputs) :] == -1).all()


@pytest.mark.parametrize("size", [1e-250, 1e-9, 1e6, 1e12, 1e250])
def test_scores_of_any_size(size):
    """Only their ratios matter."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        rows, values = random_rows(rng), rng.normal(size=7)
        best = Programs(1).argmax(batch(values * size, [rows]))
        small = Programs(1).argmax(batch(values, [rows]))
        np.testing.assert_array_equal(best.outputs.values, small.outputs.values)
        np.testing.assert_allclose(best.scores / size, small.scores)


def test_small_differences_beside_large_scores():
    """Differences of 1e-8 of the largest score count; the class says what does not."""
    rows = rows_of(4, ({0: 1.0, 1: 1.0}, 1, 2), ({1: 1.0, 2: 2.0, 3: 2.0}, -np.inf, 3.0))
    best = Programs(1).argmax(batch([1e6, -2e6, 1.0, 1.01], [rows]))
    assert best.outputs.values.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize("factor", [1e-12, 1e-7, 1.0, 1e7, 1e12])
def test_rows_of_any_size(factor):
    """A row may be multiplied by any number: HiGHS has an absolute tolerance."""
    rows = rows_of(3, ({0: factor, 1: 2 * factor, 2: 3 * factor}, -np.inf, 3 * factor), ({0: 1.0, 2: 1.0}, 1, 2))
    check(Programs(1), batch([0.6, 0.5, 1.0], [rows]), 8)
    assert rows.broken([0, 1, 1]) == [0]


def test_points_within_the_tolerance_of_the_solver_are_excluded():
    """HiGHS allows a row to be missed by 1e-6; that is no output here."""
    rows = rows_of(2, ({0: 1.0, 1: 3e-7}, -np.inf, 1.0), ({0: 1.0, 1: -2.0}, -1.5, 1.0))
    assert highs.solve(Programs().program(np.ones(2), rows.shape)).values.tolist() == [1.0, 1.0]
    check(Programs(1), batch([1.0, 1.0], [rows]))


def test_too_many_points_within_the_tolerance(monkeypatch):
    monkeypatch.setattr(points, "_REPAIRS", 1)
    rows = rows_of(3, ({0: 1.0, 1: 1e-9, 2: 1e-9}, -np.inf, 1.0), ({0: 1.0, 1: 2.0, 2: 2.0}, -5, 5))
    program = Programs().program(np.ones(3), rows.shape)
    with pytest.raises(SidelightError, match="keep the coefficients of a row within a factor of a million"):
        k_best(program)


def test_sums_may_be_rounded():
    rows = rows_of(3, ({0: 0.1, 1: 0.2, 2: 0.5}, 0.3, 0.3), ({0: 1.0, 1: 1.0}, 1, 2))
    assert Programs(1).argmax(batch([0.0, 0.0, 1.0], [rows])).outputs.values.tolist() == [1, 1, 0]


def test_conflicts_are_named():
    """A smallest set of rows that cannot hold together, by title, or written out."""
    rows = rows_of(
        6, one_of(EXACTLY_ONE, 0, 1), ({0: 1.0, 2: -1.0}, -np.inf, 0.0), ({1: 1.0, 2: -1.0}, -np.inf, 0.0),
        ({2: 1.0, 3: 1.0}, -np.inf, 0.0), ({3: 1.0, 4: 1.0, 0: 2.0}, -np.inf, 3.0), one_of(AT_MOST_ONE, 4, 5),
        titles=["one type", "a needs c", None, "neither c nor d", "room", "four or five"], names="abcdef",
    )  # fmt: skip
    fine = rows_of(2)
    with pytest.raises(Infeasible) as error:
        Programs(1).argmax(batch(np.zeros(8), [fine, rows]))
    assert str(error.value) == (
        "sequence 1 has no output that satisfies 'one type', 'a needs c', (+1 'b' -1 'c' <= 0) and 'neither c nor d'; "
        "correct one of these rows"
    )
    assert Programs().best(np.zeros(6), rows.shape, 1) == []


def test_conflicts_with_forbidden_variables_are_named():
    rows = rows_of(4, one_of(EXACTLY_ONE, 0, 1), one_of(EXACTLY_ONE, 2, 3), ({0: 1.0, 3: -1.0}, -np.inf, 0.0))
    with pytest.raises(
        Infeasible, match=r"sequence 0 .* \(\+1 \[0\] \+1 \[1\] == 1\) without \[0\] and \[1\], which are"
    ):
        Programs(1).argmax(batch([-np.inf, -np.inf, 0.0, 0.0], [rows]))
    alone = rows_of(2, one_of(EXACTLY_ONE, 0, 1), titles=["one"], names="ab")
    with pytest.raises(
        Infeasible, match=r"sequence 0 has no output that satisfies 'one' without 'a' and 'b', which are"
    ):
        Programs(1).argmax(batch([-np.inf, -np.inf], [alone]))
    single = rows_of(2, ({0: 1.0, 1: 1.0}, 2, 2), ({0: 1.0}, 0, 1), names="ab")
    with pytest.raises(Infeasible, match=r"satisfies \(\+1 'a' \+1 'b' == 2\) without 'a', which is excluded"):
        Programs(1).argmax(batch([-np.inf, 0.0], [single]))


def test_rows_without_variables():
    assert Programs(1).argmax(batch([1.0], [rows_of(1, ({}, -1, 1))])).outputs.values.tolist() == [1]
    with pytest.raises(Infeasible, match=r"sequence 0 has no output that satisfies \(0 == 1\)"):
        Programs(1).argmax(batch([1.0], [rows_of(1, ({}, 1, 1))]))


def test_long_messages_are_cut():
    everything = dict.fromkeys(range(30), 1.0)
    rows = rows_of(30, (everything, 3, 30), ({0: -1.0, 1: 2.0}, -1, 2))
    with pytest.raises(Infeasible, match=r"\.\.\. <= 30\) without \[0\], .* and 20 others, which are excluded"):
        Programs(1).argmax(batch(np.full(30, -np.inf), [rows]))


def test_the_work_on_conflicts_is_limited():
    rows = rows_of(3, *[({0: 1.0, 1: 1.0, 2: 1.0 + r}, 3.5 + r, 9.0) for r in range(6)])
    program = Programs().program(np.zeros(3), rows.shape)
    assert len(points.conflict(program)) == 1
    assert points.conflict(program, solves=0) == list(range(6))
    assert points.conflict(program, seconds=-1.0) == list(range(6))


def knapsacks(seed=0, n=80, rows=40):
    """A program that takes long."""
    rng = np.random.default_rng(seed)
    matrix = rng.integers(1, 60, size=(rows, n)).astype(float)
    limits = matrix.sum(axis=1) // 3
    return rows_of(n, *[(dict(enumerate(line)), -np.inf, limits[r]) for r, line in enumerate(matrix)]), rng


def test_out_of_time_there_is_a_bound():
    rows, rng = knapsacks()
    scores = batch(np.append(rng.integers(1, 50, size=80), [1.0, -1.0]), [rows, rows_of(2)])
    structure = Programs(1, time_limit=0.3)
    best, ranked = structure.argmax(scores), structure.kbest(scores, 2)
    assert not best.exact
    assert best.bound[0] > best.scores[0]
    assert best.bound[1] == best.scores[1] == 1.0
    assert not rows.broken(best.outputs.values[:80])
    assert ranked.exact.tolist() == [False, True]
    relaxed = highs.solve(replace(structure.program(*scores.of(0)), whole=np.empty(0, int))).objective
    assert best.bound[0] <= relaxed + 1e-6
    for k in (1, 2):
        found = Decoder(structure).best(None, scores, k)
        assert found.exact.tolist() == [False, True]
        assert found.bound[0] > found.scores[0, 0]
        assert found.bound[1] == found.scores[1, 0]
    with pytest.warns(UserWarning, match="1 of 2 outputs are not proved to be the best"):
        warn_unproved(found)
    assert Decoder(Programs(1)).best(None, batch([1.0], [rows_of(1)]), 1).exact.all()


def slow_solver(monkeypatch, values, bound, linear=0.5):
    """A solver whose integer programs end early, with these values and this bound, and whose linear ones are halves."""

    def solve(program, *, time_limit=np.inf, start=None):
        if not len(program.whole):
            return highs.HighsSolution(np.full(len(program.gain), linear), 100.0, 100.0, np.empty(0), True)
        slow.starts.append(start)
        found = -np.inf if values is None else program.gain @ values
        return highs.HighsSolution(values, found, bound * slow.scale, np.empty(0), False)

    slow = SimpleNamespace(starts=[], scale=1.0)
    monkeypatch.setattr(highs, "solve", solve)
    monkeypatch.setattr(points, "_scale", lambda scores: 1.0)
    return slow


def test_nothing_found_in_time(monkeypatch):
    rows = rows_of(2, ({0: 1.0, 1: 2.0}, -np.inf, 2.0))
    slow_solver(monkeypatch, None, 5.0)
    for structure, said in ((Programs(1, time_limit=0.5), "0.5 seconds"), (Programs(1, None), "the time there was")):
        with pytest.raises(Infeasible, match=f"sequence 1 has no output that was found in {said}; give it more time"):
            structure.argmax(batch([1.0, 1.0, 1.0], [rows_of(1), rows]))
        with pytest.raises(Infeasible, match="give it more time"):
            structure.best(np.ones(2), rows.shape, 1)


def test_a_bound_by_the_solver(monkeypatch):
    rows = rows_of(3, ({0: 1.0, 1: 2.0}, -np.inf, 2.0))
    slow_solver(monkeypatch, np.array([1.0, 0.0]), 5.0)
    best = Programs(1, time_limit=1.0).argmax(batch([1.0, 1.5, 1.0], [rows]))
    assert (best.scores.tolist(), best.bound.tolist(), best.exact) == ([2.0], [6.0], False)


def test_the_next_search_begins_with_the_last_output(monkeypatch):
    rows = rows_of(3, ({0: 1.0, 1: 2.0, 2: 1.5}, -np.inf, 2.0))
    structure = Programs(1, time_limit=1.0)
    structure.argmax(batch([1.0, 1.5, 0.4], [rows]))
    slow = slow_solver(monkeypatch, None, 5.0)
    best = structure.argmax(batch([1.0, 0.5, 0.4], [rows]))
    assert [start.tolist() for start in slow.starts] == [[0.0, 1.0, 0.0]]
    assert best.outputs.values.tolist() == [0, 1, 0]  # nothing better was found
    assert not best.exact
    for copied in (deepcopy(structure), pickle.loads(pickle.dumps(structure))):
        with pytest.raises(Infeasible):
            copied.argmax(batch([1.0, 1.5, 0.4], [rows]))
    with pytest.raises(Infeasible):  # the last output is forbidden
        structure.argmax(batch([1.0, -np.inf, 0.4], [rows]))
    assert structure == Programs(1, time_limit=1.0)


def test_known_outputs_are_the_only_ones():
    """Outputs contain each other, so -inf alone would leave smaller ones."""
    programs = [rows_of(3, one_of(AT_MOST_ONE, 0, 1)), rows_of(2)]
    structure, scores = Programs(1), batch([-1.0, 5.0, -1.0, 1.0, 1.0], programs)
    outputs = Outputs(np.array([1, 0, 1, -1, -1], np.int32), np.array([0, 3, 5]))
    known = KnownOutputs((Signal.FULL, Signal.NOTHING), outputs, structure)
    best = structure.argmax(known.restrict(scores))
    assert best.outputs.values.tolist() == [1, 0, 1, 1, 1]
    assert structure.argmax(scores).outputs.values.tolist() == [0, 1, 0, 1, 1]


def test_the_loss_counts_variables_that_differ():
    structure, scores = Programs(1), batch(np.zeros(3), [rows_of(3)])
    known = KnownOutputs((Signal.FULL,), Outputs(np.array([1, 0, 1], np.int32), np.array([0, 3])), structure)
    delta = structure.loss(scores, known)
    for output in product((0, 1), repeat=3):
        cost = structure.score(delta.cost, np.array(output))[0] + delta.constant[0]
        assert cost == sum(a != b for a, b in zip(output, (1, 0, 1), strict=True))


@pytest.mark.parametrize("seed", range(10))
def test_rows_with_penalties(seed):
    """max θ·y - Σ ρ_r ξ_r, against the enumeration; inf makes a row hard."""
    rng = np.random.default_rng(seed)
    rows, theta = random_rows(rng, 6, 2), rng.normal(size=6)
    more, penalty = random_rows(rng, 6, 4).rows, np.append(rng.exponential(size=3), np.inf)
    program = with_penalties(Programs().program(theta, rows.shape), more, penalty)
    hard = ProgramRows(6, more.take(np.array([3])))
    expected = []
    for y in Programs().all_outputs(rows.shape):
        sums = more.times(y.astype(float))
        missed = np.maximum(np.maximum(sums - more.high, more.low - sums), 0.0)
        if not hard.broken(y):
            expected.append(theta @ y - penalty[:3] @ missed[:3])
    found = k_best(program, 4)
    np.testing.assert_allclose(found.scores, np.sort(expected)[::-1][:4], atol=1e-6)
    assert found.values.shape[1] == 6


def test_what_is_refused():
    structure, scores = Programs(1), batch(np.zeros(2), [rows_of(2)])
    with pytest.raises(
        NotSupported, match="no tractable marginals; use StructuredPerceptron, MIRA, StructuralSVM or JLIS"
    ):
        structure.marginals(scores)
    with pytest.raises(DataError, match="k >= 1, got 0"):
        structure.kbest(scores, 0)
    for bad in (np.nan, np.inf):
        with pytest.raises(DataError, match="sequence 1 has scores that are no numbers, or infinite"):
            structure.argmax(batch([0.0, 0.0, bad], [rows_of(2), rows_of(1)]))
    with pytest.raises(DataError, match="time_limit is a number of seconds above 0, or None, got 0"):
        Programs(time_limit=0)
    for rows, said in (
        (lambda: rows_of(0), "at least one variable"),
        (lambda: rows_of(1, ({3: 1.0}, 0, 1)), "a variable beyond the 1"),
        (lambda: rows_of(1, ({0: np.inf}, 0, 1)), "must be finite"),
        (lambda: rows_of(1, ({0: 1.0}, 0, np.nan)), "must be finite"),
        (lambda: rows_of(1, titles=["one"]), "a title for every row"),
    ):
        with pytest.raises(DataError, match=said):
            rows()
    assert repr(rows_of(2, one_of(EXACTLY_ONE, 0, 1))) == "ProgramRows(2 variables, 1 rows)"


def test_a_row_is_written_out():
    rows = rows_of(2, ({0: 1.5, 1: -1.0}, -1, np.inf), ({0: 1.0}, -1, 2), ({1: 1.0}, 1, 1), names=[("a", 1), "b"])
    assert [rows.title(r) for r in range(3)] == [
        "(-1 <= +1.5 ('a', 1) -1 'b')", "(-1 <= +1 ('a', 1) <= 2)", "(+1 'b' == 1)",
    ]  # fmt: skip


def test_shapes_of_numbers_stay_arrays_of_numbers():
    assert shape_array([(1, 2), (3, 4)]).dtype == np.int64
    scores = batch(np.arange(5.0), [rows_of(2), rows_of(3)])
    assert scores.shapes.dtype == object
    taken = scores.take(np.array([1, 0]))
    assert taken.of(0)[1] == scores.of(1)[1]
    assert taken.of(0)[0].tolist() == [2.0, 3.0, 4.0]
