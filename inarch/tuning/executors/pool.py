"""This computer: jobs one after the other, or so many at once."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any

from inarch.core.errors import UsageError
from inarch.tuning.executor import Executor, Pool
from inarch.tuning.job import ENDED


class _Waited(Future[Any]):
    """A result; the job ends where nobody waits for it any more."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = Event()

    def cancel(self) -> bool:
        self.ended.set()
        return super().cancel()


class _Pool:
    """Threads are enough: each job has a process of its own."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads
        self._every: list[_Waited] = []

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        found = _Waited()
        self._every = [one for one in self._every if not one.done()] + [found]
        self._threads.submit(_do, found, function, arguments)
        return found

    def end(self) -> None:
        """No job runs any more, and none will."""
        for one in self._every:
            one.cancel()


def _do(found: _Waited, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    if not found.set_running_or_notify_cancel():
        return
    ENDED.set(found.ended)
    try:
        found.set_result(function(*arguments))
    except BaseException as error:  # noqa: BLE001 - whoever waits gets it
        found.set_exception(error)


@contextmanager
def _open(address: str, workers: int) -> Generator[Pool]:
    if address:
        raise UsageError(
            f"--address: it is of executors elsewhere, pool is here; found '{address}'"
        )
    with ThreadPoolExecutor(workers or 1, thread_name_prefix="inarch-tune") as threads:
        pool = _Pool(threads)
        try:
            yield pool
        finally:
            pool.end()


EXECUTOR = Executor(_open, "this computer, one job at a time (--workers: so many)")
