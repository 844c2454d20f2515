"""Jobs of a batch system (Slurm), without a server and open ports: submitit; without Slurm, processes here.

The address is the folder, on a disk that all nodes see, through which jobs and results go. A job asks for the
time, threads and memory that it may need, and no more: queues refuse what is above their limits by never
running it. Which queue is said in sbatch's own variables (SBATCH_PARTITION, SBATCH_ACCOUNT, ...).
"""

from __future__ import annotations

import math
import subprocess
import tempfile
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from inarch.core.errors import EnvironmentFault, needing
from inarch.tuning.executor import Executor, Pool
from inarch.tuning.job import Job

_MORE_MINUTES = 1
"""Than the job itself may take: until Python has begun, and its result is written."""
_LOOK_SECONDS = 0.2


@dataclass
class _Pool:
    """Each job is waited for in a thread of its own: the library has no futures of the standard kind."""

    executor: Any
    threads: ThreadPoolExecutor
    is_told: bool
    """Whether somebody says that a job has ended without a result; else results alone are looked for."""
    closed: Event = field(default_factory=Event)

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        for one in arguments:
            if isinstance(one, Job):
                self.executor.update_parameters(**_needs(one))
        return self.threads.submit(self._awaited, self.executor.submit(function, *arguments))

    def _awaited(self, job: Any) -> Any:
        """Its result; a job that nobody waits for any more is taken from the queue."""
        while not (job.done() if self.is_told else _has_result(job)):
            if self.closed.wait(_LOOK_SECONDS):
                with suppress(Exception):  # it may be gone already
                    job.cancel(check=False)
                raise CancelledError
        return job.result()


def _has_result(job: Any) -> bool:
    folder: Path = job.paths.folder
    with suppress(OSError):
        folder.chmod(folder.stat().st_mode)  # or NFS tells what it has seen some seconds ago
    return job.paths.result_pickle.exists()


def _has_accounting() -> bool:
    """A cluster without it would say so at each look."""
    done = subprocess.run(["sacct", "-n"], capture_output=True, check=False)
    return done.returncode == 0


def _needs(job: Job) -> dict[str, Any]:
    found: dict[str, Any] = {
        "timeout_min": math.ceil(job.seconds / 60) + _MORE_MINUTES,
        "cpus_per_task": job.threads,
    }
    return found | ({"mem_gb": job.megabytes / 1024} if job.megabytes else {})


@contextmanager
def _open(address: str, workers: int) -> Generator[Pool]:
    with needing("executor 'submitit': the package is not installed; pip install 'inarch[tune]'"):
        import submitit
    folder = Path(address) if address else Path(tempfile.mkdtemp(prefix="inarch-submitit-"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentFault(f"executor 'submitit': '{address}': {error.strerror}") from error
    executor = submitit.AutoExecutor(folder=folder)
    executor.update_parameters(name="inarch-tune")
    threads = ThreadPoolExecutor(workers, thread_name_prefix="inarch-tune")
    pool = _Pool(executor, threads, executor.cluster != "slurm" or _has_accounting())
    try:
        yield pool
    finally:
        pool.closed.set()
        threads.shutdown(cancel_futures=True)


EXECUTOR = Executor(
    _open, "jobs of Slurm by submitit (--address FOLDER; without Slurm: processes here)"
)
