"""Lanes: threads that run the same kernel together, and wait in it until others have come far enough.

A lane that waits looks at a counter for a moment. Then its kernel returns, so that Python can hear Ctrl-C and the
thread can sleep while others have the processor. Lanes are threads of their own, not of a pool, where one could wait
for another that never begins.
"""

from collections.abc import Callable
from threading import Thread
from time import perf_counter, sleep, thread_time
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
# Work is done in one lane for some time where the first of several had the processor for less than this share of the
# time: others use the cores, and lanes that wait for each other are then slower than one. At most so many times in a
# row.
_ENOUGH = 0.5
_LONGEST_PAUSE = 64


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
    """Runs work in lanes, in one where the cores turn out to be busy; so no result may depend on their number."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._alone, self._pause = 0, 1

    def run(self, work: Callable[[int, int, Meeting], R]) -> R:
        """`work(number, lanes, meeting)` in every lane; the result of the first, which is this thread."""
        if self._alone or self.most == 1:
            self._alone = max(0, self._alone - 1)
            return work(0, 1, Meeting(1))
        begin, used = perf_counter(), thread_time()
        result = _run(work, self.most)
        if thread_time() - used < _ENOUGH * (perf_counter() - begin):
            self._alone, self._pause = self._pause, min(2 * self._pause, _LONGEST_PAUSE)
        else:
            self._pause = 1
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
