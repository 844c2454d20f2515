"""Jobs of a batch system (Slurm), without a server and open ports: submitit; without Slurm, processes here.

The address is the folder, on a disk that all nodes see, through which jobs and results go.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from inarch.core.errors import EnvironmentFault
from inarch.tuning.executor import Executor, Pool

_MINUTES = 60
_LOOK_SECONDS = 0.2


class _Pool:
    """Each job is waited for in a thread of its own: the library has no futures of the standard kind."""

    def __init__(self, executor: Any, threads: ThreadPoolExecutor) -> None:
        self._executor = executor
        self._threads = threads

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        return self._threads.submit(_awaited, self._executor.submit(function, *arguments))


def _awaited(job: Any) -> Any:
    while not job.done():
        time.sleep(_LOOK_SECONDS)
    return job.result()


@contextmanager
def _open(address: str, workers: int) -> Generator[Pool]:
    try:
        import submitit
    except ImportError as error:
        raise EnvironmentFault(
            "executor 'submitit': the package is not installed; pip install 'inarch[tune]'"
        ) from error
    folder = Path(address) if address else Path(tempfile.mkdtemp(prefix="inarch-submitit-"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentFault(f"executor 'submitit': '{address}': {error.strerror}") from error
    executor = submitit.AutoExecutor(folder=folder)
    executor.update_parameters(timeout_min=_MINUTES, name="inarch-tune", cpus_per_task=1)
    threads = ThreadPoolExecutor(workers or 1, thread_name_prefix="inarch-tune")
    try:
        yield _Pool(executor, threads)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


EXECUTOR = Executor(
    _open, "jobs of Slurm by submitit (--address FOLDER; without Slurm: processes here)"
)
