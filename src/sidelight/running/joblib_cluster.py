"""Work in processes of this machine, by joblib."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import ClusterError
from .cluster import Cluster, LostWorker, Named, call
from .packing import unpack


class JoblibProcesses(Cluster):
    """Processes of `joblib.Parallel`; values are files of a temporary folder, which processes read once."""

    def __init__(self, parallel: Any, folder: Path) -> None:
        from joblib import effective_n_jobs

        super().__init__(effective_n_jobs(parallel.n_jobs) if parallel.n_jobs else 1)
        self.parallel, self.folder = parallel, folder
        self._asked: list[tuple[str, ...]] = []
        self._answers: dict[tuple[str, ...], bytes] = {}

    def put(self, value: Named, worker: int | None) -> str:
        """Write a file."""
        path = self.folder / value.name.replace("/", "+")
        try:
            path.write_bytes(value.packed)
        except OSError as error:
            raise ClusterError(
                f"{path} could not be written ({error.strerror}); give a folder with more room in TMPDIR"
            ) from None
        return str(path)

    def submit(self, part: Any, common: Any, shared: Any, worker: int) -> Any:
        """Note a call; all of them are made when the first result is asked for."""
        self._asked.append((part, common, shared))
        return self._asked[-1]

    def result(self, asked: Any) -> bytes:
        """Make the calls that were asked for, unless that is done."""
        from joblib import delayed
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        if asked not in self._answers:
            waiting, self._asked = self._asked, []
            try:
                found = self.parallel(delayed(_call_files)(*one) for one in waiting)
            except TerminatedWorkerError as error:
                self._asked = [one for one in waiting if one != asked]
                raise LostWorker(str(error).partition("\n")[0]) from None
            self._answers.update(zip(waiting, found, strict=True))
        return self._answers.pop(asked)

    def evaluated(self, expression: str) -> list[Any]:
        """Processes of joblib have the environment of this one."""
        from joblib import delayed
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        try:
            return list(self.parallel(delayed(eval)(expression) for _ in range(self._workers)))
        except TerminatedWorkerError:  # of one that died before; joblib starts all of them anew
            return list(self.parallel(delayed(eval)(expression) for _ in range(self._workers)))

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


def _call_files(part: str, common: str, shared: str) -> bytes:
    return call(*(_Filed(_name_of(path), path) for path in (part, common, shared)))


def _name_of(path: str) -> str:
    return Path(path).name.replace("+", "/")


@contextmanager
def started(where: Any) -> Iterator[JoblibProcesses]:
    """Processes of a `joblib.Parallel`, or this many of them."""
    from joblib import Parallel

    parallel = Parallel(n_jobs=where) if isinstance(where, int) else where
    if not isinstance(parallel, Parallel):
        raise ClusterError(f"give a joblib.Parallel or a number of processes, not {where!r}")
    with tempfile.TemporaryDirectory(prefix="sidelight-") as folder, parallel:
        yield JoblibProcesses(parallel, Path(folder))
