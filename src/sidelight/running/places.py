"""Threads or a cluster: `scatter` gives parts of the data to the place that is current, `running_on` chooses it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from ..kernels import parallel
from ..kernels.compiling import Longs

if TYPE_CHECKING:
    from .cluster import Cluster

T = TypeVar("T")
R = TypeVar("R")


class WorkPlace(Protocol):
    """Where work runs."""

    @property
    def workers(self) -> int | None:
        """How many processes work; None where these are threads of this process, which share its memory."""
        ...

    def hold(self, parts: Sequence[Any], common: Any) -> Any:
        """Returns the parts and what they have in common, as this place holds them until they are no longer needed."""
        ...

    def map(
        self, work: Callable[..., R], held: Any, among: Sequence[int], shared: tuple[Any, ...], n_jobs: int | None
    ) -> Iterator[R]:
        """`work(part, common, *shared)` for some of the parts that are held, in this order."""
        ...


class Threads:
    """Threads of this process."""

    workers: int | None = None

    def hold(self, parts: Sequence[Any], common: Any) -> Any:
        """Returns them as they are."""
        return parts, common

    def map(
        self, work: Callable[..., R], held: Any, among: Sequence[int], shared: tuple[Any, ...], n_jobs: int | None
    ) -> Iterator[R]:
        """Work in threads, a part each."""
        parts, common = held
        return parallel.each(lambda i: work(parts[i], common, *shared), among, n_jobs)


_THREADS = Threads()
_current: ContextVar[WorkPlace] = ContextVar("place", default=_THREADS)


def current() -> WorkPlace:
    """Returns where work runs now."""
    return _current.get()


@contextmanager
def running_on(where: Any) -> Iterator["Cluster"]:
    """Let fits and predictions inside a `with` block run on other processes.

    Every shard of the data goes to a worker once and stays there; then weights and prices travel to the workers, and
    sums and outputs back. Results are those of threads to rounding, and a worker that dies is replaced by another one.

    Parameters
    ----------
    where : int, str, joblib.Parallel, distributed.Client or module
        How many processes of this machine; objects of joblib or Dask, or the module `ray` after `ray.init`; or a text:
        "joblib:4", "dask:4" and "ray:4" start that many processes, "dask:tcp://host:8786" and "ray:auto" go to a
        cluster that runs already.

    Yields
    ------
    Cluster
        The place where work runs; `traffic` has the bytes that travelled.
    """
    from .cluster import opened

    with opened(where) as place:
        token = _current.set(place)
        try:
            yield place
        finally:
            _current.reset(token)


@contextmanager
def running_in_threads() -> Iterator[None]:
    """Let work inside a `with` block run in threads of this process, wherever it ran before."""
    token = _current.set(_THREADS)
    try:
        yield
    finally:
        _current.reset(token)


@dataclass(frozen=True)
class Scattered(Generic[T]):
    """Parts of the data, each where work on it is done."""

    place: WorkPlace
    held: Any
    count: int
    n_jobs: int | None

    def __len__(self) -> int:
        return self.count

    def map(self, work: Callable[..., R], *shared: Any, among: Sequence[int] | None = None) -> Iterator[R]:
        """`work(part, common, *shared)` for every part, one result after the other in the order of the parts.

        work : a function or method of a module, which other processes can import. Results are to be added up in this
            order, so that sums do not depend on timing. among : the numbers of the parts, if not of all.
        """
        return self.place.map(work, self.held, range(self.count) if among is None else among, shared, self.n_jobs)


def scatter(parts: Sequence[T], common: Any = None, n_jobs: int | None = -1) -> Scattered[T]:
    """Give parts of the data, and what work on all of them needs, to the place where work runs now.

    Both travel once, if at all; a process gets what is common once. n_jobs : threads, where the place is this process.
    """
    place = current()
    return Scattered(place, place.hold(parts, common), len(parts), n_jobs)


def shards(offsets: Longs, least: int | None = None) -> list[tuple[int, int]]:
    """Ranges of inputs (first, last + 1) of about equally many tokens, as many as the place has use for.

    In threads they depend on the data alone. A cluster of more than 16 processes gets more of them. least : tokens of
    each, about, where work has a cost of its own for every part.
    """
    return parallel.shards(np.asarray(offsets), max(parallel.MOST_SHARDS, current().workers or 1), least)
