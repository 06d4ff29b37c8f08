"""Work in processes of this machine, by joblib.

Values and answers are files of a temporary folder, and only their names go through joblib: where a process is killed
while it sends something long, joblib and all its other processes wait for the rest of it for ever.

A worker process ends when the process that started it is gone, however that ended. The folder that is left then is
removed by the next process that makes such a folder, since its lock is free.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from threading import Thread
from time import sleep
from typing import Any

from ..errors import ClusterError
from .cluster import Cluster, LostWorker, Named, call
from .packing import unpack

try:
    import fcntl
except ImportError:  # Windows: without locks, no folder is known to be abandoned
    fcntl = None  # type: ignore[assignment]

# How names of temporary folders begin, and the name of the lock in each.
_PREFIX, _LOCK = "sidelight-", "lock"
# Seconds between two checks whether the parent process still runs.
_PERIOD = 1.0


class JoblibProcesses(Cluster):
    """Processes of `joblib.Parallel`, which read the file of a value once."""

    def __init__(self, parallel: Any, folder: Path) -> None:
        from joblib import effective_n_jobs

        super().__init__(effective_n_jobs(parallel.n_jobs) if parallel.n_jobs else 1)
        self.parallel, self.folder = parallel, folder
        self._asked: list[tuple[str, ...]] = []
        self._answers: dict[tuple[str, ...], str] = {}

    def put(self, value: Named, worker: int | None) -> str:
        """Write a file."""
        return _written(self.folder / value.name.replace("/", "+"), value.packed)

    def submit(self, part: Any, common: Any, shared: Any, worker: int) -> Any:
        """Note a call; all of them are made when the first result is asked for."""
        self._asked.append((part, common, shared))
        return self._asked[-1]

    def result(self, asked: Any) -> bytes:
        """Make the calls that were asked for, unless that is done."""
        if asked not in self._answers:
            waiting, self._asked = self._asked, []
            try:
                self._answers.update(self._made(_call_files, waiting))
            except LostWorker:
                self._asked = [one for one in waiting if one != asked]
                raise
        answer = Path(self._answers.pop(asked))
        packed = answer.read_bytes()
        answer.unlink()
        return packed

    def evaluated(self, expression: str) -> list[Any]:
        """Processes of joblib have the environment of this one."""
        calls = [(expression, str(i)) for i in range(self._workers)]
        try:
            return list(self._made(_evaluate, calls).values())
        except LostWorker:  # one that died before; joblib starts all of them anew
            return list(self._made(_evaluate, calls).values())

    def _made(self, function: Callable[..., Any], calls: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], Any]:
        """Returns what calls return, by their arguments.

        Joblib also makes those that it had ready when a death ended the ones before, and returns their results first.
        """
        from joblib import delayed
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        wanted = set(calls)
        try:
            found = self.parallel(delayed(_named_call)(function, *one) for one in calls)
        except TerminatedWorkerError as error:
            raise LostWorker(str(error).partition("\n")[0]) from None
        return {arguments: value for arguments, value in found if arguments in wanted}

    def free(self, handles: Sequence[Any]) -> None:
        """Remove files."""
        for path in handles:
            with suppress(OSError):
                os.unlink(path)


class _Filed(Named):
    """Bytes in a file, read when they are needed."""

    def load(self) -> Any:
        """Returns what the bytes of the file were made of."""
        return unpack(Path(self.packed).read_bytes())


def _named_call(function: Callable[..., Any], *arguments: str) -> tuple[tuple[str, ...], Any]:
    return arguments, function(*arguments)


def _evaluate(expression: str, number: str) -> Any:
    _end_with_parent()
    return eval(expression)


def _call_files(part: str, common: str, shared: str) -> str:
    """Make a call, write its answer to a file, and return the path of that: the same for the same call."""
    _end_with_parent()
    answer = call(*(_Filed(_name_of(path), path) for path in (part, common, shared)))
    name = blake2b("\n".join((part, common, shared)).encode(), digest_size=16).hexdigest()
    return _written(Path(part).with_name(f"answer-{name}"), answer)


def _written(path: Path, packed: bytes) -> str:
    """Write a file in one step, since after a death of a process two others may make the same call."""
    temporary = path.with_name(f"{token_hex(8)}.tmp")
    try:
        temporary.write_bytes(packed)
        temporary.replace(path)
    except OSError as error:
        raise ClusterError(
            f"{path} could not be written ({error.strerror}); give a folder with more room in TMPDIR"
        ) from None
    return str(path)


def _name_of(path: str) -> str:
    return Path(path).name.replace("+", "/")


@contextmanager
def started(where: Any) -> Iterator[JoblibProcesses]:
    """Processes of a `joblib.Parallel`, or this many of them."""
    from joblib import Parallel

    parallel = Parallel(n_jobs=where) if isinstance(where, int) else where
    if not isinstance(parallel, Parallel):
        raise ClusterError(f"give a joblib.Parallel or a number of processes, not {where!r}")
    with _own_folder() as folder, parallel:
        yield JoblibProcesses(parallel, folder)


@cache
def _end_with_parent() -> None:
    """End this process soon after the one that started it, even if that one is killed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            sleep(_PERIOD)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


@contextmanager
def _own_folder() -> Iterator[Path]:
    """A temporary folder with a lock that the operating system frees when this process ends, however it does."""
    _sweep(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name, open(Path(name, f"{_LOCK}.new"), "w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        os.rename(lock.name, Path(name, _LOCK))  # a lock of this name is always held by the process that made it
        yield Path(name)


def _sweep(place: Path) -> None:
    """Remove the temporary folders that processes of this user left when they ended."""
    if fcntl is None:
        return
    for folder in place.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with open(folder / _LOCK) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
