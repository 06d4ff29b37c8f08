"""Ctrl-C as a request: loops end at their next step, with what they have, and a second Ctrl-C ends everything at once.

Loops ask `at_step` wherever they could stop. Outside of `stoppable` Ctrl-C is what it always is, a `KeyboardInterrupt`.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import Literal


@dataclass
class Request:
    """Whether loops are asked to stop, and whether one has.

    gently: whether they are to end with what they have; if not, they raise `KeyboardInterrupt` between two steps, where
    everything is in order.
    """

    gently: bool
    asked: bool = False
    heeded: bool = False


class GivenUp(BaseException):
    """A part of a loop that is not finished, and would be worse than what is there without it."""


# What loops do that are asked to stop: end with what they have, go on, or raise `GivenUp`.
_How = Literal["end", "go on", "give up"]
_request: ContextVar[Request | None] = ContextVar("request", default=None)
_how: ContextVar[_How] = ContextVar("how", default="end")


@contextmanager
def stoppable(*, gently: bool, say: Callable[[], None] = lambda: None) -> Iterator[Request]:
    """Within it the first Ctrl-C is a request, upon which `say` is called, and the second an interrupt.

    Where Ctrl-C is somebody else's already, or this is not the main thread, nothing changes.
    """
    request, outer = Request(gently), _request.get()
    if outer is not None:
        yield outer
        return
    usual = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not usual:
        yield request
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if request.asked:
            usual(number, frame)
        request.asked = True
        say()

    token = _request.set(request)
    signal.signal(signal.SIGINT, ask)
    try:
        yield request
    finally:
        signal.signal(signal.SIGINT, usual)
        _request.reset(token)


@contextmanager
def when_asked(how: _How) -> Iterator[None]:
    """Within it loops do this when they are asked to stop gently; what goes on, or is given up, does so as a whole."""
    token = _how.set(how if _how.get() == "end" else _how.get())
    try:
        yield
    finally:
        _how.reset(token)


def given_up_here() -> bool:
    """Whether what is given up is part of what is under way, not the other way round."""
    return _how.get() != "give up"


def asked() -> bool:
    """Whether a loop is to end at its next step, in whatever way."""
    request = _request.get()
    return request is not None and request.asked and not (request.gently and _how.get() == "go on")


def at_step() -> bool:
    """Returns whether a loop is to end here; raises `GivenUp`, or `KeyboardInterrupt` where it is not to end gently."""
    request = _request.get()
    if request is None or not asked():
        return False
    if not request.gently:
        raise KeyboardInterrupt
    request.heeded = True
    if _how.get() == "give up":
        raise GivenUp
    return True


def heeded() -> bool:
    """Whether something has ended early."""
    request = _request.get()
    return request is not None and request.heeded


def heed() -> bool:
    """Returns whether a loop is to end here, and takes the request back: what comes after the loop goes on."""
    request = _request.get()
    if request is None or not request.asked:
        return False
    if not request.gently:
        raise KeyboardInterrupt
    request.asked, request.heeded = False, True
    return True
