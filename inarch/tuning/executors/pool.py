"""This computer: jobs one after the other, or so many at once."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from inarch.core.errors import UsageError
from inarch.tuning.executor import Executor, Pool


@contextmanager
def _open(address: str, workers: int) -> Generator[Pool]:
    """Threads are enough: each job has a process of its own."""
    if address:
        raise UsageError(
            f"--address: it is of executors elsewhere, pool is here; found '{address}'"
        )
    pool = ThreadPoolExecutor(workers or 1, thread_name_prefix="inarch-tune")
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


EXECUTOR = Executor(_open, "this computer, one job at a time (--workers: so many)")
