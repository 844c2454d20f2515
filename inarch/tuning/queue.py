"""Jobs on the workers of a pool: lost ones are submitted again, and what no worker takes is given up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any

from inarch.tuning.executor import Pool
from inarch.tuning.job import Job, Result, fault_of, measure

Progress = Callable[[str, float, float], None]
"""The current activity, seconds since the beginning, and the budget in seconds."""

TRIES = 3
"""Of a job whose worker is lost, or gives nonsense."""


@dataclass
class Queue:
    """The jobs of one run of the tuner."""

    pool: Pool
    workers: int
    budget: float
    patience: float
    """Seconds after the budget until an unfinished job is given up."""
    begun: float
    progress: Progress
    jobs: int = 0
    """Submitted so far."""

    @property
    def passed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.begun

    def run(
        self,
        jobs: Iterable[Job],
        done: Callable[[Job, Result, str], None],
        given_up: Callable[[Job, str], None],
        *,
        until: float,
    ) -> None:
        """Has jobs done, one for each worker at once; each is begun before `until`.

        `done` is given a job, its result, and the fault of its worker, or an empty text. An unfinished job is
        given up, with the reason, when the budget and a job's time are over: a queue may never run it.
        """
        left = iter(jobs)
        running: dict[Future[Any], tuple[Job, int]] = {}
        try:
            while True:
                while len(running) < self.workers and self.passed < until:
                    job = next(left, None)
                    if job is None:
                        break
                    running[self._submit(job)] = job, 1
                if not running:
                    return
                self.progress(f"job {self.jobs}", self.passed, self.budget)
                finished, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
                if self.passed > self.budget + self.patience:
                    reason = f"no worker has done it in {self.passed:.0f} s; look at its queue"
                    for future, (job, _) in running.items():
                        future.cancel()
                        given_up(job, reason)
                    return
                for future in finished:
                    job, tries = running.pop(future)
                    result, fault = _result(job, future)
                    if fault and tries < TRIES:
                        running[self._submit(job)] = job, tries + 1
                        continue
                    done(job, result, fault)
        finally:
            for future in running:
                future.cancel()

    def _submit(self, job: Job) -> Future[Any]:
        self.jobs += 1
        return self.pool.submit(measure, job)


def _result(job: Job, future: Future[Any]) -> tuple[Result, str]:
    """The result of a job, and its fault: a worker that is lost, or gives nonsense."""
    try:
        found = future.result()
    except Exception as error:  # noqa: BLE001 - whatever an executor raises where a worker is gone
        text = str(error).splitlines()[0] if str(error) else ""
        return Result(job.key), f"the worker is lost: {type(error).__name__}: {text}"
    fault = fault_of(job, found)
    return (found, "") if not fault else (Result(job.key), fault)
