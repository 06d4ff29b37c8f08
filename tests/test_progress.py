from math import isnan

import pytest

from sidelight.progress import TimeLeft, growing_table, in_words, progress
from sidelight.solvers.certificate import Step, distance, telling


class Clock:
    """A clock that is set."""

    now = 0.0

    def __call__(self):
        return self.now


def after(left, clock, steps):
    """The estimates after steps at times, each with what is told of it."""
    out = []
    for clock.now, *told in steps:
        out.append(left.after(*told))
    return out


def test_steps_that_are_left():
    clock = Clock()
    found = after(TimeLeft(10, clock), clock, [(2, 1), (4, 2), (6, 3), (16, 8)])
    assert isnan(found[0])
    assert found[1:] == pytest.approx([16.0, 14.0, 4.0])


def test_a_run_that_is_resumed_counts_its_own_steps():
    clock = Clock()
    assert after(TimeLeft(100, clock), clock, [(0, 90), (4, 92)])[-1] == pytest.approx(16.0)


def test_a_gap_that_falls_geometrically():
    clock = Clock()
    found = after(TimeLeft(None, clock), clock, [(k, k, 1000.0 * 0.5**k) for k in range(1, 9)])
    assert found[-1] == pytest.approx(2.0, abs=0.1)  # a thousand is two to the tenth


def test_nothing_is_said_where_nothing_can_be_told():
    clock = Clock()
    left = TimeLeft(None, clock)
    assert all(map(isnan, after(left, clock, [(1, 1), (5, 2), (9, 3, 8.0), (12, 4, 9.0), (15, 5, 30.0)])))
    assert isnan(after(TimeLeft(10, clock), clock, [(15, 1), (16, 2)])[-1])  # too early


def test_nearly_done_is_not_less_than_nothing():
    clock = Clock()
    assert after(TimeLeft(None, clock), clock, [(4, 1, 4.0), (8, 2, 2.0), (12, 3, 0.5)])[-1] == 0.0


def test_times_as_people_say_them():
    assert [in_words(s) for s in (0.2, 12.4, 89, 200, 4000, 9000)] == [
        "1 s",
        "12 s",
        "89 s",
        "3 min",
        "67 min",
        "2.5 h",
    ]


def test_log_lines_say_what_is_left(caplog, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(TimeLeft.__init__, "__defaults__", (clock,))
    with progress("EM", 4, True) as tell:
        clock.now = 10.0
        tell(1, "objective 3")
        clock.now = 20.0
        tell(2, "objective 2")
    assert caplog.messages == ["EM 1/4: objective 3", "EM 2/4: objective 2, about 20 s left"]


def test_rows_say_what_others_take_at_most(caplog):
    with growing_table("trial", ("learner", "score"), True) as add:
        add(["HMM", "80 %"])
        add(["CoDL", ""], left=42.0)
    assert caplog.messages == ["trial: HMM, 80 %", "trial: CoDL, at most 42 s left for others"]


def test_the_distance_of_a_certificate():
    nan = float("nan")
    assert distance([Step(1, 100.0, 99.0, nan)], 0.001) == pytest.approx(10.0)
    assert distance([Step(1, nan, 90.0, nan), Step(2, nan, 100.0, nan)], 0.01) == pytest.approx(20.0)
    falling = [Step(k, 100.0 - k, nan, nan) for k in range(12)]
    assert distance(falling, 0.01) == pytest.approx(10.0 / (0.1 * 0.01 * 89.0))
    assert isnan(distance(falling[:3], 0.01))


def test_steps_are_told_with_their_distance():
    told = []
    on_step = telling(lambda *what: told.append(what), 0.001)
    on_step(Step(3, 100.0, 99.0, 0.0))
    assert told[0][0] == 3
    assert "objective 100" in told[0][1]
    assert told[0][2] == pytest.approx(10.0)
