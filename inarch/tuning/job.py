"""What a tuner has done elsewhere: a function of one value, which another process or computer can be given.

    result = measure(job)

A job has all that it needs but Inarch itself: the model, the files of kernels with their libraries, the
options, and the ways to be measured. It runs in a process of its own with an empty environment, in a folder
of its own, so that a kernel that crashes, hangs or needs too much memory ends that process only.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from io import BufferedRandom
from threading import Event
from typing import Any

from inarch.core.cache import key_of
from inarch.core.outside.value import Value
from inarch.core.scratch import scratch
from inarch.passes.tuned import TunedWay
from inarch.tuning.outcome import STARTING

_PASSED = ("HOME", "CC", "PYTHONPATH", "INARCH_CACHE_DIR", "INARCH_NATIVE")
"""Of the environment: where things are kept, and what the computer is said to be. No libraries."""
_PATH = "/usr/local/bin:/usr/bin:/bin"
MEGABYTES = 1 << 20

Ways = Mapping[str, TunedWay]
"""Address of a nest -> how it is done; the others as without records."""


@dataclass(frozen=True)
class Job:
    """Variants of a model to be measured by turns in one process; one without ways is the untuned one."""

    model: str
    """The name of its file."""
    files: Mapping[str, bytes]
    """Name -> bytes: the model, the files to be loaded, and what lies beside them."""
    loads: tuple[str, ...]
    options: Mapping[str, Any]
    """Settings of the compilation (`inarch.driver.options`)."""
    variants: tuple[Ways, ...]
    rounds: int
    seconds: float
    """That the process may take."""
    version: str
    """Of Inarch: another one has other nests."""
    threads: int = 1
    """That share loops; by more than one, times are by the clock."""
    megabytes: int = 0
    """Of memory that the process may have; 0: as much as there is."""

    @property
    def key(self) -> str:
        """A name for all of it."""
        return key_of(pickle.dumps(self))[:16]


@dataclass(frozen=True)
class Result:
    """What came of a job."""

    key: str
    error: str = ""
    """Why there is nothing at all; one line."""
    cpu: str = ""
    compiler: str = ""
    times: tuple[Mapping[str, float] | None, ...] = ()
    """For each variant: op of the model -> seconds of what was made of it, the least of all rounds."""
    errors: tuple[str, ...] = ()
    """For each variant: why it was not measured."""
    spent: Mapping[str, float] = field(default_factory=dict[str, float], compare=False)
    """What the job did -> seconds."""
    log: str = field(default="", compare=False)
    """What the process printed last."""


ENDED: ContextVar[Event | None] = ContextVar("ENDED", default=None)
"""What a pool sets for a job that nobody waits for any more."""
_LOOK_SECONDS = 0.25
PATIENCE_SECONDS = 2.0
"""In which a process that is told to end stops its compilers."""


def measure(job: Job) -> Result:
    """Runs the job here. Never raises for what a kernel does: that is in the result."""
    begun = time.monotonic()
    with scratch("inarch-tune-") as folder:
        given, found = folder / "job", folder / "result.json"
        given.write_bytes(pickle.dumps(job))
        command = [sys.executable, "-m", "inarch.tuning.runner", str(given), str(found)]
        work = folder / "work"
        for one in (work, temporary := folder / "temporary"):
            one.mkdir()
        with (folder / "log").open("w+b") as out:
            # A session of its own: all that it starts ends with it. It ends when its input does, as with us.
            process = subprocess.Popen(
                command,
                cwd=work,
                env={**_environment(job.threads), "TMPDIR": str(temporary)},
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                why = _awaited(process, job.seconds)
            finally:
                _end(process)
            log = _end_of(out)
        if why:
            return Result(job.key, why)
        if process.returncode < 0:
            return Result(job.key, f"the process ended with signal {-process.returncode}", log=log)
        if process.returncode or not found.is_file():
            last = log.splitlines()[-1] if log else f"status {process.returncode}"
            return Result(job.key, f"the process failed: {last}", log=log)
        result = Value({**json.loads(found.read_text()), "key": job.key}).read(Result)
        more = time.monotonic() - begun - sum(result.spent.values())
        return replace(result, spent={**result.spent, STARTING: more})


def _awaited(process: subprocess.Popen[bytes], seconds: float) -> str:
    """Why it is waited for no longer; empty where it has ended."""
    ended, until = ENDED.get(), time.monotonic() + seconds
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK_SECONDS)
            return ""
        if ended is not None and ended.is_set():
            return "nobody waits for it any more"
        if time.monotonic() > until:
            return f"it has not ended after {seconds:g} s"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process with all that it has started."""
    assert process.stdin is not None, "it is a pipe"
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_SECONDS)
    if process.poll() is None:  # a kernel that never returns
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    process.stdin.close()


def _end_of(out: BufferedRandom) -> str:
    out.seek(0, os.SEEK_END)
    out.seek(max(0, out.tell() - 8000))
    return out.read().decode(errors="replace").strip()[-2000:]


def fault_of(job: Job, result: object) -> str:
    """Why a result cannot be one of the job: workers return anything; empty for one that can."""
    if not isinstance(result, Result) or result.key != job.key:
        return "it is no result of this job"
    if result.error:
        return ""
    count = len(job.variants)
    if len(result.times) != count or len(result.errors) != count:
        return f"it has {len(result.times)} variants, {count} were asked for"
    every = [seconds for times in result.times if times is not None for seconds in times.values()]
    every += result.spent.values()
    if not all(isinstance(one, float) and 0 <= one < float("inf") for one in every):
        return "it has a time that is none"
    return ""


def _environment(threads: int) -> dict[str, str]:
    own = {name: os.environ[name] for name in _PASSED if name in os.environ}
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    shared = {"INARCH_NUM_THREADS": str(threads)}
    return {"PATH": os.environ.get("PATH", _PATH), **own, **one, **shared}
