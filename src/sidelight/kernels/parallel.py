"""Map a function over shards of a batch on one thread pool; results come back in shard order.

The shards depend on the batch alone, never on the number of threads, so that sums over them are the same to the last
bit for any `n_jobs`.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from threading import Event, local
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from ..errors import DataError
from ..quoting import quoted

R = TypeVar("R")
T = TypeVar("T")

# Tokens of a shard at least, and of a batch that threads are worth their cost for.
_SMALLEST_SHARD, WORTH_TOKENS = 1000, 4000
# Shards of a batch at most, and so threads that are of use: a shard of a gradient has a vector of its own. All counts
# of shards are powers of two, so that two, four or eight threads have equally many.
MOST_SHARDS = 16


def available_cores() -> int:
    """Cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count(n_jobs: int | None) -> int:
    """Threads meant by `n_jobs`, counted as scikit-learn does: None is one, -1 every core, -2 all but one.

    Work that is one of several pieces runs in its own thread alone (`in_this_thread`).
    """
    if n_jobs is None or getattr(_at_work, "alone", False):
        return 1
    require_count(n_jobs)
    if n_jobs > 0:
        return int(n_jobs)
    return max(1, available_cores() + 1 + n_jobs)


def require_count(n_jobs: int | None) -> None:
    """Raises `DataError` unless `n_jobs` means a number of threads."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise DataError(f"n_jobs is a number of threads, or -1 for every core, got {quoted(n_jobs)}")


_at_work = local()


@contextmanager
def in_this_thread() -> Iterator[None]:
    """Let work inside a `with` block run in the current thread alone, whatever `n_jobs` it has."""
    before, _at_work.alone = getattr(_at_work, "alone", False), True
    try:
        yield
    finally:
        _at_work.alone = before


@cache
def _libraries() -> ThreadpoolController:
    """The libraries of linear algebra, SciPy's own among them. To find them takes milliseconds, so it is done once."""
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Returns a context in which products of vectors have one thread; others would cost more than they save."""
    limited: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limited


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="sidelight")


if hasattr(os, "register_at_fork"):  # a forked process has the pool but not its threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


def shards(offsets: NDArray[np.int64], most: int = MOST_SHARDS, least: int | None = None) -> list[tuple[int, int]]:
    """Split sequences into ranges (first, last + 1) of about equally many tokens, few where there are few tokens.

    most: how many of them; least: tokens of each, about, where that is to be more than usual.
    """
    sequences, tokens = len(offsets) - 1, int(offsets[-1] - offsets[0])
    count = 1 << (max(1, min(most, sequences, tokens // (least or _SMALLEST_SHARD))).bit_length() - 1)
    if count == 1:
        return [(0, sequences)]
    cuts = offsets[0] + np.arange(1, count) * tokens // count
    edges = np.unique(np.concatenate(([0], np.searchsorted(offsets, cuts), [sequences])))
    return [(int(a), int(b)) for a, b in pairwise(edges)]


def each_shard(function: Callable[[int, int], R], offsets: NDArray[np.int64], n_jobs: int | None = -1) -> Iterator[R]:
    """`function(first, last)` for every shard, in threads, one result after the other in shard order.

    What is added up as it comes need not be kept; nothing runs before the first result is asked for.
    """
    threads = 1 if thread_count(n_jobs) == 1 or offsets[-1] - offsets[0] < WORTH_TOKENS else n_jobs
    return each(lambda bounds: function(*bounds), shards(offsets), threads)


def each(function: Callable[[T], R], items: Sequence[T], n_jobs: int | None = -1) -> Iterator[R]:
    """`function(item)` for every item, in threads, one result after the other in order, when it is asked for.

    Where there are several threads, what runs in one of them has no others. A single item has all of them.
    """
    threads = thread_count(n_jobs)
    if threads == 1 or len(items) == 1:
        yield from map(function, items)
        return
    piece = _Piece(function, _Stop())
    try:
        yield from _pool(threads).map(piece, items)
    except BaseException:
        piece.stop.set()
        raise


def map_shards(function: Callable[[int, int], R], offsets: NDArray[np.int64], n_jobs: int | None = -1) -> list[R]:
    """`function(first, last)` for every shard, in threads; the results in shard order."""
    if offsets[-1] - offsets[0] < WORTH_TOKENS:  # often called, so nothing is done that is of no use here
        require_count(n_jobs)
        return [function(first, last) for first, last in shards(offsets)]
    return list(each_shard(function, offsets, n_jobs))


class _Stop(Event):
    """Asks work to end early; so does the event of the work that this is a piece of."""

    def __init__(self) -> None:
        super().__init__()
        self._whole: Event | None = getattr(_at_work, "stop", None)

    def is_set(self) -> bool:
        return super().is_set() or (self._whole is not None and self._whole.is_set())


@dataclass(frozen=True)
class _Piece(Generic[T, R]):
    """Work on one of several items, in a thread that has no others."""

    function: Callable[[T], R]
    stop: _Stop

    def __call__(self, item: T) -> R:
        before, _at_work.stop = getattr(_at_work, "stop", None), self.stop
        try:
            with in_this_thread():
                return self.function(item)
        finally:
            _at_work.stop = before  # threads go on to other work


def stop_event() -> Event:
    """The event that asks the current thread to end its work early: that of `map_each`, else one that nobody sets."""
    return getattr(_at_work, "stop", None) or Event()


def map_each(function: Callable[[T], R], items: Iterable[T], n_jobs: int | None = -1) -> list[R]:
    """`function(item)` for every item, each as a thread becomes free; the results in order.

    The caller only waits, so that Ctrl-C stops it: items not yet begun are then left out, and those that take long are
    asked to end (`stop_event`), as they are after an error. A piece of other work does not wait: Ctrl-C is heard by
    what waits for all pieces.
    """
    piece = _Piece(function, _Stop())
    try:
        if getattr(_at_work, "alone", False):
            return list(map(piece, items))
        return list(_pool(thread_count(n_jobs)).map(piece, items))
    except BaseException:
        piece.stop.set()
        raise
