"""Work on a Ray cluster."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import ClusterError
from .cluster import Cluster, LostWorker, Named, call
from .packing import unpack

# How often Ray itself makes a call anew whose process died.
_RETRIES = 10


class RayCluster(Cluster):
    """The processors of a Ray cluster."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray
        super().__init__(max(1, int(ray.cluster_resources().get("CPU", 1))))
        self._call = ray.remote(max_retries=_RETRIES, num_cpus=1)(call)
        self._eval = ray.remote(max_retries=_RETRIES, num_cpus=1)(_evaluate)

    def put(self, value: Named, worker: int | None) -> Any:
        """Put it into the object store, where every process finds it."""
        return _Stored(value.name, self.ray.put(np.frombuffer(value.packed, np.uint8)))

    def submit(self, part: Any, common: Any, shared: Any, worker: int) -> Any:
        """Ask for a call."""
        return self._call.remote(part, common, shared)

    def result(self, asked: Any) -> bytes:
        """Wait for a call."""
        try:
            found: bytes = self.ray.get(asked)
        except self.ray.exceptions.RayError as error:
            raise LostWorker(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}") from None
        return found

    def evaluated(self, expression: str) -> list[Any]:
        """Ask as many processes as there are processors."""
        try:
            found: list[Any] = self.ray.get([self._eval.remote(expression) for _ in range(self._workers)])
        except self.ray.exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, ModuleNotFoundError) else error from None
        return found


class _Stored(Named):
    """Bytes in Ray's object store, fetched when they are needed."""

    def load(self) -> Any:
        """Returns what the bytes were made of."""
        import ray

        return unpack(ray.get(self.packed))


def _evaluate(expression: str) -> Any:
    return eval(expression)


@contextmanager
def started(where: Any) -> Iterator[RayCluster]:
    """The module `ray` after `ray.init`, the address of a cluster, or a number of processes to start."""
    try:
        import ray
    except ModuleNotFoundError:
        raise ClusterError("Ray is not installed: pip install 'sidelight[ray]'") from None
    if isinstance(where, ModuleType):
        if not ray.is_initialized():
            raise ClusterError("Ray is not running: call ray.init() first, or use running_on('ray:4')")
        yield RayCluster(ray)
        return
    options: dict[str, Any] = (
        {"num_cpus": where, "include_dashboard": False} if isinstance(where, int) else {"address": where}
    )
    try:
        ray.init(logging_level=logging.ERROR, log_to_driver=False, **options)
    except Exception as error:  # of many kinds; a start that takes too long is an `Exception` itself
        if isinstance(where, int):
            raise ClusterError(f"Ray could not start {where} processes: {error}") from None
        raise ClusterError(
            f"no Ray cluster answers at {where!r} ({error}); start one with `ray start --head`"
        ) from None
    try:
        yield RayCluster(ray)
    finally:
        ray.shutdown()
