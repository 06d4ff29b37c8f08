"""Processes that hold parts of the data and work on them, whatever library runs them.

A library is three methods: put bytes where a process finds them, ask for a call, wait for its result. The rest is here:
what travels and how often, results in order, calls that are made again because a process died, errors of the work as
they would be raised in threads, and a check that all processes have this version of the package.
"""

import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from threading import Lock
from typing import Any, TypeVar
from uuid import uuid4
from weakref import finalize

from .. import __version__
from ..errors import ClusterError, DataError, warn
from .packing import pack, unpack

R = TypeVar("R")

# How often a call is made anew after its process died, before it is given up.
_ATTEMPTS = 20
# How many of the last names that nobody needs any more workers hear of.
_DROPPED = 100


class LostWorker(Exception):
    """A process died, or what it held is gone."""


@dataclass
class Traffic:
    """Bytes between this process and the workers; `workers` times what every one of them got counts in full.

    placed: parts of the data, which travel once, and again where a worker was lost; sent: weights, prices and the like;
    received: sums and outputs; calls: maps over the parts; repeated: calls made again.
    """

    workers: int
    placed: int = 0
    sent: int = 0
    received: int = 0
    calls: int = 0
    repeated: int = 0

    def __str__(self) -> str:
        each = max(self.calls, 1) * self.workers
        return (
            f"{self.placed / 1e6:.1f} MB of data once; in each of {self.calls} passes a worker got "
            f"{self.sent / each / 1e6:.2f} MB and returned {self.received / each / 1e6:.2f} MB"
        )


@dataclass(frozen=True)
class Named:
    """Bytes under a name that is theirs alone, by which a process keeps what it made of them."""

    name: str
    packed: Any

    def load(self) -> Any:
        """Returns what the bytes were made of."""
        return unpack(self.packed)


@dataclass
class Held:
    """Parts of the data and what they have in common; handles: how the cluster finds its copies of them."""

    name: str
    parts: Sequence[Any]
    common: Any
    handles: list[Any]
    shared: Any = None


class Cluster(ABC):
    """Where work runs in other processes."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self.traffic = Traffic(workers)
        self._run, self._numbers = uuid4().hex, count()
        self._dropped: deque[str] = deque(maxlen=_DROPPED)

    @property
    def workers(self) -> int | None:
        """How many processes work."""
        return self._workers

    @abstractmethod
    def put(self, value: Named, worker: int | None) -> Any:
        """Returns a handle by which calls find this value: in one worker, or with None in all of them."""

    @abstractmethod
    def submit(self, part: Any, common: Any, shared: Any, worker: int) -> Any:
        """Ask for `call(part, common, shared)` where the part is, and return what `result` takes."""

    @abstractmethod
    def result(self, asked: Any) -> bytes:
        """Wait for a call; raises `LostWorker` if its process died."""

    @abstractmethod
    def evaluated(self, expression: str) -> list[Any]:
        """Returns the value of an expression of Python in every process, so far as they can be asked."""

    def free(self, handles: Sequence[Any]) -> None:
        """Forget values that were put: nobody will ask for them again."""
        return

    def recover(self) -> None:
        """Wait until there are processes again, after some died."""
        return

    def check(self) -> None:
        """Raise `ClusterError` unless every process has this version of the package."""
        try:
            found = set(self.evaluated("__import__('sidelight').__version__"))
        except ModuleNotFoundError as error:
            raise ClusterError(
                f"a worker lacks the module {error.name!r}; install sidelight {__version__} where workers run"
            ) from None
        if found - {__version__}:
            others = ", ".join(sorted(map(str, found - {__version__})))
            raise ClusterError(
                f"workers have sidelight {others}, and this process {__version__}; install one version everywhere"
            )

    def hold(self, parts: Sequence[Any], common: Any) -> Held:
        """Put the parts into workers, one after the other, and what is common into all of them."""
        held = Held(self._name(), parts, common, [None] * len(parts))
        self._place(held, None, None)
        for i in range(len(parts)):
            self._place(held, i, i % self._workers)
        finalize(held, self._release, held.name, held.handles)
        return held

    def map(
        self, work: Callable[..., R], held: Held, among: Sequence[int], shared: tuple[Any, ...], n_jobs: int | None
    ) -> Iterator[R]:
        """`work(part, common, *shared)` for some of the parts, in this order."""
        named = Named(self._name(), pack((work, shared, list(self._dropped))))
        self.traffic.calls += 1
        travels = self._send(named)
        asked = {i: self._submit(held, i, travels) for i in among}
        for i in among:
            for attempt in range(_ATTEMPTS + 1):
                try:
                    answer = self.result(asked[i])
                    break
                except LostWorker as lost:
                    self._give_up(attempt, lost)
                    asked[i] = self._again(held, i, named, (i + attempt + 1) % self._workers)
            self.traffic.received += len(answer)
            failed, value, said = unpack(answer)
            for message in said:
                warn(str(message), type(message))
            if failed:
                raise value
            yield value
        self.free([travels])

    def _submit(self, held: Held, i: int, travels: Any) -> Any:
        return self.submit(held.handles[i], held.shared, travels, i % self._workers)

    def _again(self, held: Held, i: int, named: Named, worker: int) -> Any:
        """Ask again for what a lost worker was asked for, of another one."""
        travels = self._send(named)
        self._place(held, None, None)
        self._place(held, i, worker)
        return self._submit(held, i, travels)

    def _send(self, named: Named) -> Any:
        self.traffic.sent += len(named.packed) * self._workers
        return self._put(named, None)

    def _place(self, held: Held, i: int | None, worker: int | None) -> None:
        """Put a part into a worker, or what is common into all of them."""
        named = Named(f"{held.name}/{i}", pack(held.common if i is None else held.parts[i]))
        self.traffic.placed += len(named.packed) * (self._workers if i is None else 1)
        if i is None:
            held.shared = self._put(named, None)
        else:
            held.handles[i] = self._put(named, worker)

    def _put(self, named: Named, worker: int | None) -> Any:
        """Put a value, again where a worker was lost meanwhile."""
        for attempt in range(_ATTEMPTS + 1):
            try:
                return self.put(named, None if worker is None else (worker + attempt) % self._workers)
            except LostWorker as lost:
                self._give_up(attempt, lost)
        raise AssertionError  # the last attempt was given up

    def _give_up(self, attempt: int, lost: LostWorker) -> None:
        """Raise `ClusterError` after the last attempt, else wait for workers."""
        if attempt == _ATTEMPTS:
            raise ClusterError(
                f"workers died {_ATTEMPTS + 1} times at the same work ({lost}); they may lack memory: use fewer "
                "workers on a machine, or larger machines"
            ) from None
        self.recover()
        self.traffic.repeated += 1

    def _name(self) -> str:
        return f"{self._run}-{next(self._numbers)}"

    def _release(self, name: str, handles: list[Any]) -> None:
        """Parts that nobody has any more: workers hear of it with the next call."""
        self._dropped.append(name)
        self.free(handles)


@dataclass
class _Kept:
    """What a worker made of bytes, by their names; and the last values that all parts of a call share."""

    lock: Lock = field(default_factory=Lock)
    values: dict[str, Any] = field(default_factory=dict)
    shared: tuple[str, Any] = ("", None)


_kept = _Kept()


def call(part: Named, common: Named, shared: Named) -> bytes:
    """Work on a part, in a worker: returns whether that failed, the result or the exception, and warnings, as bytes."""
    from ..kernels.parallel import in_this_thread
    from .places import running_in_threads

    try:
        with _kept.lock:
            if _kept.shared[0] != shared.name:
                _kept.shared = shared.name, shared.load()
                dropped = set(_kept.shared[1][2])
                for name in [name for name in _kept.values if name.partition("/")[0] in dropped]:
                    del _kept.values[name]
            work, more, _ = _kept.shared[1]
        own, everyone = _value(part), _value(common)
        with running_in_threads(), in_this_thread(), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", UserWarning)
            value = work(own, everyone, *more)
        return pack((False, value, [one.message for one in said if issubclass(one.category, UserWarning)]))
    except Exception as error:
        try:
            unpack(answer := pack((True, error, [])))
        except Exception:
            answer = pack((True, ClusterError(f"{type(error).__name__} in a worker: {error}"), []))
        return answer


def _value(named: Named) -> Any:
    """What was made of bytes, once for each process."""
    with _kept.lock:
        if named.name not in _kept.values:
            _kept.values[named.name] = named.load()
        return _kept.values[named.name]


@contextmanager
def opened(where: Any) -> Iterator[Cluster]:
    """The cluster that `running_on` names, until the end of the block; those started here end with it."""
    kind, given = _parsed(where)
    library = import_module(f".{kind}_cluster", __package__)
    with library.started(given) as cluster:
        cluster.check()
        yield cluster


def _parsed(where: Any) -> tuple[str, Any]:
    """Which library it is, and what it is given: how many processes, an address, or an object of the library."""
    if isinstance(where, int) and not isinstance(where, bool) and 0 < where < 100_000:
        return "joblib", where
    if isinstance(where, str):
        kind, _, rest = where.partition(":") if not where.isdecimal() else ("joblib", "", where)
        if kind in ("joblib", "dask", "ray") and rest and (not rest.isdecimal() or (len(rest) < 6 and int(rest) > 0)):
            if rest.isdecimal():
                return kind, int(rest)
            if kind != "joblib":
                return kind, rest
    library = (getattr(where, "__name__", "") or type(where).__module__).partition(".")[0]
    if library in ("joblib", "distributed", "ray") and not isinstance(where, str):
        return "dask" if library == "distributed" else library, where
    raise DataError(
        "where work runs is a number of processes below 100,000, a joblib.Parallel, a Dask Client, the module ray, or "
        f"a text such as 'joblib:4', 'dask:4', 'dask:tcp://host:8786', 'ray:4' or 'ray:auto'; got {where!r}"
    )
