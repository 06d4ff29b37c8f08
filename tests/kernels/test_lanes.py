"""Threads that meet inside a kernel: none goes on before all have come, and none is left waiting."""

from itertools import count as ticks
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

    assert Lanes(most).run(work) == (0, main_thread())
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
        Lanes(3).run(work)
    assert active_count() == before


def test_one_lane_while_the_cores_are_busy(monkeypatch):
    """A first lane that gets little of a processor: the work then runs in one lane once, twice, four times."""
    clock = (1e-6 * tick for tick in ticks())
    monkeypatch.setattr(lanes, "thread_time", lambda: next(clock))
    some, counts = Lanes(2), []
    for _ in range(10):
        counts.append(some.run(lambda number, count, meeting: count))
    assert counts == [2, 1, 2, 1, 1, 2, 1, 1, 1, 1]


def test_lanes_again_when_the_cores_are_free(monkeypatch):
    used = iter([0.0, 0.0, 0.0, 9.0, 9.0, 18.0, 18.0, 27.0])
    monkeypatch.setattr(lanes, "thread_time", lambda: next(used))
    some = Lanes(2)
    assert [some.run(lambda number, count, meeting: count) for _ in range(5)] == [2, 1, 2, 2, 2]
