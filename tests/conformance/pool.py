"""Runs a function on many things in forked processes: one that dies or hangs costs that one thing only.

What the function needs is loaded once, before the fork. Results come as soon as they are there.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Lost:
    """Instead of a result: the process died, or was ended after `limit_s` seconds."""

    kind: str
    """`crash` or `timeout`."""
    reason: str


@dataclass
class _Worker(Generic[T]):
    """A process, and what it works on."""

    process: BaseProcess
    pipe: Any
    """The end of a `multiprocessing.Pipe`, whose type is another on Windows."""
    thing: T | None = None
    since: float = field(default_factory=time.monotonic)


def run_all(
    work: Callable[[T], R], things: Sequence[T], jobs: int, limit_s: float
) -> Iterator[tuple[T, R | Lost]]:
    """`work(thing)` for each thing, in `jobs` processes, in the order in which they are done."""
    context = multiprocessing.get_context("fork")
    rest = list(reversed(things))
    workers: list[_Worker[T]] = []

    def begin(worker: _Worker[T]) -> bool:
        if not rest:
            worker.pipe.close()
            worker.process.join()
            return False
        worker.thing, worker.since = rest.pop(), time.monotonic()
        worker.pipe.send(len(rest))
        return True

    def fork() -> _Worker[T]:
        ours, theirs = context.Pipe()
        others = [worker.pipe for worker in workers] + [ours]
        process = context.Process(target=_serve, args=(work, things, theirs, others), daemon=True)
        process.start()
        theirs.close()
        return _Worker[T](process, ours)

    try:
        while rest or workers:
            while rest and len(workers) < jobs:
                worker = fork()
                begin(worker)
                workers.append(worker)
            ready = wait([worker.pipe for worker in workers], timeout=1.0)
            for worker in list(workers):
                thing = cast("T", worker.thing)
                if worker.pipe in ready:
                    result = _result(worker)
                elif time.monotonic() - worker.since > limit_s:
                    worker.process.kill()
                    result = Lost("timeout", f"ended after {limit_s:g} s")
                else:
                    continue
                yield thing, cast("R | Lost", result)
                if isinstance(result, Lost):
                    worker.process.join()
                    worker.pipe.close()
                    workers.remove(worker)
                elif not begin(worker):
                    workers.remove(worker)
    finally:
        for worker in workers:
            worker.process.kill()


def _result(worker: _Worker[Any]) -> object:
    try:
        return worker.pipe.recv()
    except EOFError:
        worker.process.join()
        code = worker.process.exitcode or 0
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return Lost("crash", f"the process died: {name}")


def _serve(work: Callable[[T], R], things: Sequence[T], pipe: Any, others: Sequence[Any]) -> None:
    """A worker's life: numbers (from the end) in, results out."""
    for other in others:  # held open by a fork, they would hide that one died
        other.close()
    while True:
        try:
            number: int = pipe.recv()
        except EOFError:
            break
        pipe.send(work(things[len(things) - 1 - number]))
    sys.stdout.flush()
    os._exit(0)  # what was forked is not for this process to tidy up
