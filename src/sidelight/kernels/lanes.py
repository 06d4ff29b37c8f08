"""Lanes: threads that run the same kernel together, and wait in it until others have come far enough.

A lane that waits looks at a counter for a moment. Then its kernel returns, so that Python can hear Ctrl-C and the
thread can sleep while others have the processor. Lanes are threads of their own, not of a pool, where one could wait
for another that never begins.
"""

from collections.abc import Callable
from math import inf
from threading import Thread
from time import perf_counter, sleep
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .compiling import COMPILED, Longs, inner

R = TypeVar("R")

# How often a lane looks before its kernel returns, about half a millisecond; seconds that it sleeps then.
_LOOKS = 500_000
_REST = 5e-5
# The counter has a cache line, of so many numbers, for whether all are to stop, and one for the steps of each lane.
_LINE = 8
# Where others use the cores, lanes that wait for each other are slower than one. So the way that is not in use is tried
# out after the first run. It is taken if it needs less than a share of the other's time: one lane less than the share
# `_ONE_IS_BETTER`, and several less than `_SEVERAL_ARE_BETTER`, which on free cores they do, and beside others only by
# luck. The next trial comes after `_RARER` runs, and after each trial that changes nothing `_RARER` times as many, at
# most `_RAREST`.
_ONE_IS_BETTER, _SEVERAL_ARE_BETTER = 0.95, 0.8
_RARER, _RAREST = 4, 128


class Meeting:
    """Where lanes wait for each other; kernels are given its `counter`."""

    def __init__(self, lanes: int) -> None:
        self.counter: Longs = np.zeros(_LINE * (lanes + 1), np.int64)

    def stop(self) -> None:
        """Ask all lanes to end."""
        self.counter[0] = 1

    def rest(self) -> None:
        """Sleep for a moment; raises where a lane failed."""
        if self.counter[0]:
            raise _Stopped
        sleep(_REST)


class _Stopped(Exception):
    """Another lane failed."""


class Lanes:
    """Runs work in lanes, or in one where that turns out to be faster; so no result may depend on their number."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._usual, self._cost = most, inf  # the number of lanes in use, and what a unit of work took last
        self._runs, self._patience = 0, 1

    def run(self, work: Callable[[int, int, Meeting], R], size: float) -> R:
        """`work(number, lanes, meeting)` in every lane; the result of the first, which is this thread.

        size: of the work, in any unit that its time is about proportional to.
        """
        if self.most == 1:
            return work(0, 1, Meeting(1))
        trial = self._runs == self._patience
        lanes = self.most + 1 - self._usual if trial else self._usual
        begin = perf_counter()
        result = _run(work, lanes)
        cost = (perf_counter() - begin) / size
        if not trial:
            self._cost, self._runs = cost, self._runs + 1
        elif cost < (_ONE_IS_BETTER if lanes == 1 else _SEVERAL_ARE_BETTER) * self._cost:
            self._usual, self._cost, self._runs, self._patience = lanes, cost, 0, _RARER
        else:
            self._runs, self._patience = 0, min(_RARER * self._patience, _RAREST)
        return result


def _run(work: Callable[[int, int, Meeting], R], lanes: int) -> R:
    meeting = Meeting(lanes)
    errors: list[BaseException] = []

    def help_out(number: int) -> None:
        try:
            work(number, lanes, meeting)
        except BaseException as error:  # raised below, in the thread of the caller
            errors.append(error)
            meeting.stop()

    helpers = [Thread(target=help_out, args=(number,), name=f"sidelight-lane-{number}") for number in range(1, lanes)]
    started = []
    try:
        for helper in helpers:
            helper.start()
            started.append(helper)
        result = work(0, lanes, meeting)
    except _Stopped:
        pass
    except BaseException:
        meeting.stop()
        raise
    finally:
        for helper in started:
            helper.join()
    for error in errors:
        if not isinstance(error, _Stopped):
            raise error
    return result


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """A pointer to an element of an array of int64, without a check."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [arguments[1]])


@intrinsic  # type: ignore[untyped-decorator]
def _increment(typing: Any, array: Any, at: Any) -> Any:
    """array[at] += 1, seen by all threads, after all that this one wrote."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one = ir.Constant(ir.IntType(64), 1)
        return builder.atomic_rmw("add", _place(context, builder, signature, arguments), one, "seq_cst")

    return types.int64(array, types.int64), build


@intrinsic  # type: ignore[untyped-decorator]
def _look(typing: Any, array: Any, at: Any) -> Any:
    """array[at] as it is now, and with it all that others wrote before they changed it."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_place(context, builder, signature, arguments), "seq_cst", 8)

    return types.int64(array, types.int64), build


@inner
def advance(counter: Longs, lane: int) -> None:
    """Say that this lane is a step further."""
    if COMPILED:
        _increment(counter, _LINE * (lane + 1))
    else:
        counter[_LINE * (lane + 1)] += 1


@inner
def reached(counter: Longs, lane: int, steps: int) -> bool:
    """Wait until a lane has advanced so many steps; False where that takes long, or all are to stop."""
    if not COMPILED:
        return bool(counter[_LINE * (lane + 1)] >= steps)
    for _ in range(_LOOKS):
        if _look(counter, _LINE * (lane + 1)) >= steps:
            return True
        if _look(counter, 0) != 0:
            return False
    return False
