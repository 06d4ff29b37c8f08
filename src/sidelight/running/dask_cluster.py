"""Work on a Dask cluster."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from ..errors import ClusterError
from .cluster import Cluster, LostWorker, Named, call

# Seconds to wait for a scheduler, and for workers to come back.
_PATIENCE, _RETURN = 30, 180
# A local cluster of Dask gives up workers that are not there so long after they were lost, be it for a second time.
_NEVER = {"distributed.deploy.lost-worker-timeout": "7 days"}


class DaskCluster(Cluster):
    """The workers of a Dask `Client`."""

    def __init__(self, client: Any) -> None:
        self.client, self._turns = client, count()
        super().__init__(max(1, len(self._addresses())))

    def _addresses(self) -> list[str]:
        return sorted(self.client.scheduler_info(n_workers=-1)["workers"])

    def put(self, value: Named, worker: int | None) -> Any:
        """Scatter it to one worker; the others fetch what all of them need from there.

        Dask's own way to give a value to all workers waits for ever where one of them dies meanwhile.
        """
        addresses = self._addresses()
        if not addresses:
            raise LostWorker("no worker is left")
        place = addresses[(next(self._turns) if worker is None else worker) % len(addresses)]
        try:
            return self.client.scatter([value], workers=[place], hash=False, timeout=_PATIENCE)[0]
        except Exception as error:  # of many kinds, by what died when
            raise LostWorker(f"{type(error).__name__}: {error}") from None

    def submit(self, part: Any, common: Any, shared: Any, worker: int) -> Any:
        """Submit a call, which goes where its part is."""
        return self.client.submit(call, part, common, shared, pure=False, retries=0)

    def result(self, asked: Any) -> bytes:
        """Wait for a call."""
        try:
            found: bytes = asked.result()
        except Exception as error:  # `call` returns the errors of the work itself
            raise LostWorker(f"{type(error).__name__}: {error}") from None
        return found

    def evaluated(self, expression: str) -> list[Any]:
        """Ask every worker, but for those that died without Dask's notice."""
        found = self.client.run(eval, expression, on_error="return").values()
        for one in found:
            if isinstance(one, Exception) and not isinstance(one, OSError):
                raise one
        return [one for one in found if not isinstance(one, OSError)]

    def free(self, handles: Sequence[Any]) -> None:
        """Let go of futures."""
        for one in handles:
            one.release()

    def recover(self) -> None:
        """Wait for a worker."""
        try:
            self.client.wait_for_workers(1, timeout=_RETURN)
        except TimeoutError:
            raise ClusterError(f"all workers of the Dask cluster are gone, and none came back in {_RETURN} s") from None


@contextmanager
def started(where: Any) -> Iterator[DaskCluster]:
    """A client, the address of a scheduler, or a number of processes to start."""
    try:
        from dask import config
        from distributed import Client, LocalCluster
    except ModuleNotFoundError:
        raise ClusterError("Dask is not installed: pip install 'sidelight[dask]'") from None
    if isinstance(where, Client):
        yield DaskCluster(where)
    elif isinstance(where, int):
        with (
            config.set(_NEVER),
            LocalCluster(n_workers=where, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            yield DaskCluster(client)
    else:
        try:
            client = Client(where, timeout=_PATIENCE)
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"no Dask scheduler answers at {where!r} ({error}); start one with `dask scheduler`"
            ) from None
        with client:
            client.wait_for_workers(1, timeout=_PATIENCE)
            yield DaskCluster(client)
