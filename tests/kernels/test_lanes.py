"""Threads that meet inside a kernel: none goes on before all have come, and none is left waiting."""

from threading import active_count, current_thread, main_thread

import numpy as np
import pytest

from sidelight.kernels import lanes
from sidelight.kernels.compiling import Longs, kernel
from sidelight.kernels.lanes import Lanes, advance, reached

ROUNDS = 200


@kernel
def write_and_read(number: int, count: int, rounds: int, state: Longs, board: Longs, counter: Longs) -> int:
    """In every round write its number, and read those of all when they have: how many were wrong, or -1: it waits."""
    while state[0] < 2 * rounds:
        if state[1] == 0:
            if state[0] % 2 == 0:
                board[number] = state[0]
            advance(counter, number)
            state[1] = 1
        for other in range(count):
            if not reached(counter, other, state[0] + 1):
                return -1
        if state[0] % 2 == 0:
            for other in range(count):
                state[2] += board[other] != state[0]
        state[0] += 1
        state[1] = 0
    return state[2]


def meet(number, count, meeting, board):
    state = np.zeros(3, np.int64)
    while (wrong := write_and_read(number, count, ROUNDS, state, board, meeting.counter)) < 0:
        meeting.rest()
    return wrong


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_nobody_goes_on_before_all_have_come(most):
    board, seen = np.full(most, -1), []

    def work(number, count, meeting):
        wrong = meet(number, count, meeting, board)
        seen.append((number, wrong))
        return wrong, current_thread()

    assert Lanes(most).run(work, 1.0) == (0, main_thread())
    assert sorted(seen) == [(number, 0) for number in range(most)]


@pytest.mark.parametrize(
    ("failing", "error"), [(0, KeyboardInterrupt), (0, ValueError), (1, ValueError), (2, MemoryError)]
)
def test_an_error_in_one_lane_ends_all(failing, error):
    before = active_count()

    def work(number, count, meeting):
        if number == failing:
            raise error("here")
        return meet(number, count, meeting, np.full(count, -1))

    with pytest.raises(error, match="here"):
        Lanes(3).run(work, 1.0)
    assert active_count() == before


def lanes_of(monkeypatch, seconds, runs, sizes=None):
    """How many lanes each of some runs has, where `seconds(run, lanes)` go by in it; sizes: of their work."""
    clock = [0.0]
    monkeypatch.setattr(lanes, "perf_counter", lambda: clock[0])
    some, counts = Lanes(2), []

    def work(number, count, meeting):
        if number == 0:
            clock[0] += seconds(len(counts), count)
            counts.append(count)

    for run in range(runs):
        some.run(work, sizes[run] if sizes else 10.0)
    return counts


def test_several_lanes_while_the_cores_are_free(monkeypatch):
    """One lane is tried again after four times as many runs each time, the first time after one."""
    counts = lanes_of(monkeypatch, lambda run, count: 1.0 / count, 50)
    assert [run for run, count in enumerate(counts) if count == 1] == [1, 6, 23]


def test_one_lane_while_the_cores_are_busy(monkeypatch):
    """From the first trial on, and only trials have two."""
    counts = lanes_of(monkeypatch, lambda run, count: float(count), 50)
    assert [run for run, count in enumerate(counts) if count == 2] == [0, 6, 23]


def test_lanes_again_when_the_cores_are_free(monkeypatch):
    counts = lanes_of(monkeypatch, lambda run, count: float(count) if run < 8 else 1.0 / count, 30)
    assert counts[1:6] == [1, 1, 1, 1, 1]
    assert counts[22:26] == [1, 2, 2, 2]


def test_the_size_of_the_work_is_taken_into_account(monkeypatch):
    """Less work takes less time, which is no reason to go on in one lane; the second run is a trial."""
    sizes = [20.0, 5.0, 20.0, 20.0, 20.0]
    counts = lanes_of(monkeypatch, lambda run, count: sizes[run] * (1.0 if count == 2 else 1.5), 5, sizes)
    assert counts == [2, 1, 2, 2, 2]
