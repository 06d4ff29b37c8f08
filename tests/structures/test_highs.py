"""Linear programs against SciPy's solver, integer programs against a list of all points."""

import os
import signal
from dataclasses import replace
from itertools import product
from threading import Timer
from time import monotonic

import numpy as np
import pytest
from scipy.optimize import linprog

from sidelight import DataError, Infeasible, SidelightError
from sidelight.kernels.parallel import map_each, stop_event
from sidelight.structures.highs import HighsProgram, solve
from sidelight.structures.polytope import LinearRows


def rows_of(matrix, low, high):
    row, variable = np.nonzero(matrix)
    return LinearRows.of(np.asarray(low, float), np.asarray(high, float), row, variable, matrix[row, variable])


def random_program(seed, variables=7, rows=4, whole=True):
    """Rows of every kind, around a point so that there is one at least; and the matrix."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(rows, variables)) * (rng.random((rows, variables)) < 0.7)
    centre = matrix @ rng.integers(0, 2, size=variables)
    kinds = rng.integers(3, size=rows)  # at least, at most, between
    low = np.where(kinds == 1, -np.inf, centre - rng.exponential(0.3, size=rows))
    high = np.where(kinds == 0, np.inf, centre + rng.exponential(0.3, size=rows))
    numbers = np.arange(variables) if whole else np.empty(0, np.int64)
    return HighsProgram(rng.normal(size=variables), np.ones(variables), rows_of(matrix, low, high), numbers), matrix


@pytest.mark.parametrize("seed", range(20))
def test_linear_programs_are_those_of_scipy(seed):
    program, matrix = random_program(seed, whole=False)
    rows = program.rows
    above, below = rows.high < np.inf, rows.low > -np.inf
    other = linprog(
        -program.gain, np.concatenate((matrix[above], -matrix[below])),
        np.concatenate((rows.high[above], -rows.low[below])), bounds=(0, 1),
    )  # fmt: skip
    found = solve(program)
    np.testing.assert_allclose([found.objective, found.bound], -other.fun)
    np.testing.assert_allclose(found.values, other.x, atol=1e-9)
    prices = np.zeros(len(rows))
    prices[above] -= other.ineqlin.marginals[: above.sum()]
    prices[below] += other.ineqlin.marginals[above.sum() :]
    np.testing.assert_allclose(found.prices, prices, atol=1e-9)
    assert found.optimal


@pytest.mark.parametrize("seed", range(20))
def test_integer_programs_find_the_best_point(seed):
    program, matrix = random_program(seed)
    points = np.array(list(product((0.0, 1.0), repeat=len(program.gain))))
    inside = ((points @ matrix.T <= program.rows.high) & (points @ matrix.T >= program.rows.low)).all(axis=1)
    found = solve(program)
    np.testing.assert_allclose(found.objective, (points[inside] @ program.gain).max())
    np.testing.assert_allclose(program.gain @ found.values, found.objective)
    np.testing.assert_allclose(program.rows.times(found.values), matrix @ found.values)
    assert found.optimal
    assert found.bound == found.objective
    assert len(found.prices) == 0


def test_bounds_and_forbidden_variables():
    rows = rows_of(np.array([[1.0, 1.0, 1.0]]), [-np.inf], [3.5])
    program = HighsProgram(np.array([1.0, 3.0, -np.inf]), np.array([2.0, 1.0, 1.0]), rows, np.array([0, 1]))
    assert solve(program).values.tolist() == [2.0, 1.0, 0.0]
    assert solve(replace(program, upper=np.array([np.inf, 1.0, 1.0]), whole=np.array([], int))).values[0] == 2.5
    assert solve(replace(program, rows=LinearRows.none())).objective == 5.0
    nothing = solve(HighsProgram(np.empty(0), np.empty(0), LinearRows.none()))
    assert (len(nothing.values), nothing.objective, nothing.bound) == (0, 0.0, 0.0)


def hard_program(n=80, rows=40):
    """Knapsacks that take long."""
    rng = np.random.default_rng(0)
    matrix = rng.integers(1, 60, size=(rows, n)).astype(float)
    limits = rows_of(matrix, np.full(rows, -np.inf), matrix.sum(axis=1) // 3)
    return HighsProgram(rng.integers(1, 50, size=n).astype(float), np.ones(n), limits, np.arange(n))


def test_time_limit_and_start():
    program = hard_program()
    linear = replace(program, whole=np.array([], int))
    none = solve(program, time_limit=0.0)
    assert (none.values, none.objective, none.optimal) == (None, -np.inf, False)
    start = (np.arange(len(program.gain)) % 5 == 0).astype(float)
    assert (program.rows.times(start) <= program.rows.high).all()
    given = solve(program, time_limit=0.0, start=start)
    np.testing.assert_array_equal(given.values, start)
    assert (given.objective, given.optimal) == (program.gain @ start, False)
    for known in (start, np.where(np.arange(len(start)) < 60, start, np.nan)):
        found = solve(program, time_limit=0.5, start=known)
        assert not found.optimal
        assert given.objective < found.objective < found.bound < solve(linear).objective + 1e-6
    assert solve(linear).optimal


def test_asked_to_end():
    program, begun = hard_program(), monotonic()

    def stopped(one):
        stop_event().set()
        return solve(one).optimal

    assert map_each(stopped, [program, replace(program, whole=np.array([], int))], 1) == [False, False]
    assert monotonic() - begun < 5


@pytest.fixture
def _heard():
    """Ctrl-C reaches Python, also in a run that was started in the background, where it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_heard")
@pytest.mark.parametrize("threads", [False, True])
def test_ctrl_c_ends_a_program(threads):
    program, begun = hard_program(), monotonic()
    Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        map_each(solve, [program], 1) if threads else solve(program)
    assert map_each(lambda _: None, [0], 1) == [None]  # the thread is free again
    assert monotonic() - begun < 30


def test_no_solution_and_bad_programs():
    rows = rows_of(np.array([[1.0, 1.0]]), [3.0], [np.inf])
    for whole, name in ((np.arange(2), "integer"), (np.arange(0), "linear")):
        program = HighsProgram(np.ones(2), np.ones(2), rows, whole)
        with pytest.raises(Infeasible, match=f"the {name} program has no solution"):
            solve(program)
        with pytest.raises(SidelightError, match=rf"the {name} program ended with .*[uU]nbounded"):
            solve(replace(program, upper=np.full(2, np.inf)))
        for gain in (np.nan, np.inf):
            with pytest.raises(DataError, match=f"the scores of the {name} program must be below infinity"):
                solve(replace(program, gain=np.array([0.0, gain])))
        with pytest.raises(DataError, match=f"the rows of the {name} program do not fit its 1 variables"):
            solve(HighsProgram(np.ones(1), np.ones(1), rows, whole[:1]))
