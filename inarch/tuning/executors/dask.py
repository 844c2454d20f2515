"""Workers of Dask: those of a scheduler that is there, or processes of this computer."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from inarch.core.errors import EnvironmentFault, needing
from inarch.tuning.executor import Executor, Pool

_SECONDS = 5
"""For which a scheduler may keep silent."""


class _Pool:
    """A client's futures as those of the standard library."""

    def __init__(self, client: Any) -> None:
        self._pool = client.get_executor(pure=False, retries=2)

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        found: Future[Any] = self._pool.submit(function, *arguments)
        return found


@contextmanager
def _open(address: str, workers: int) -> Generator[Pool]:
    with needing(
        "executor 'dask': the package distributed is not installed; pip install 'inarch[tune]'"
    ):
        from distributed import Client, LocalCluster
    if address:
        try:
            client = Client(address, timeout=_SECONDS)
        except (OSError, ValueError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise EnvironmentFault(
                f"executor 'dask': no scheduler at '{address}': {reason}; start one with `dask scheduler`"
            ) from error
        with client:
            yield _Pool(client)
        return
    cluster = LocalCluster(
        n_workers=workers or 1, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    with cluster, Client(cluster) as client:
        yield _Pool(client)


EXECUTOR = Executor(_open, "workers of Dask (--address tcp://HOST:8786; without: processes here)")
