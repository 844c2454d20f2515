"""Compiled code in a process of its own: its crash, `exit` or endless loop is an answer, not our end.

The process is a fork, made when all is ready: files of `--load`, functions of Python that fill imports and
opened libraries are there, and nothing has to be sent. (`inarch.verification` calls single kernels from a
program in C, between guard pages, and `inarch.fuzz` starts Python anew: both know all that they run
by name.) Results come back in memory that both share.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import mmap
import os
import resource
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NoReturn

from inarch.artifact.manifest import Port
from inarch.core.errors import InarchError, InternalError
from inarch.core.lazy import Array, np
from inarch.runtime.module import Module


class CrashError(Exception):
    """Compiled code ended its process, or did not end; the text says how."""


class HangError(CrashError):
    """It did not end in its time."""


def shared_array(port: Port) -> Array:
    """An array whose memory a forked process shares."""
    memory = mmap.mmap(-1, max(port.nbytes, 1))
    count = port.nbytes // port.dtype.nbytes
    return np.frombuffer(memory, port.dtype.numpy, count).reshape(port.shape)


def run_contained(module: Module, inputs: Mapping[str, Array], seconds: float) -> dict[str, Array]:
    """The outputs of a module's `main` by name. Raises CrashError, and InarchError as the call does."""
    function = module.get_function("main")
    given = [inputs[port.name] for port in function.signature.inputs]
    found = [shared_array(port) for port in function.signature.outputs]
    contained(lambda: function(*given, out=found), seconds)
    return {port.name: a for port, a in zip(function.signature.outputs, found, strict=True)}


def contained(work: Callable[[], object], seconds: float) -> None:
    """Does `work` in a fork of this process, of which arrays of `shared_array` alone come back.

    Raises CrashError where it is ended by a signal or leaves, HangError where it takes longer than `seconds`;
    an InarchError or an AssertionError of `work` with its text; InternalError for anything else that it
    raises.
    """
    _flush()
    read, write = os.pipe()
    with warnings.catch_warnings():
        # Other threads may run: they hold nothing that the fork needs, which only calls code and leaves.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(read)
        _work(work, write)
    os.close(write)
    try:
        said = _read(read, time.monotonic() + seconds)
    finally:
        os.close(read)
        # Also what it may have started: they are a session of their own.
        for end in (os.killpg, os.kill):
            with suppress(ProcessLookupError, PermissionError):
                end(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if said is None:
        raise HangError(f"did not end within {seconds:.0f} s")
    if not said:
        if os.WIFSIGNALED(status):
            raise CrashError(f"was ended by {signal.Signals(os.WTERMSIG(status)).name}")
        raise CrashError(f"ended the process with status {os.waitstatus_to_exitcode(status)}")
    _raise(*json.loads(said))


def _raise(kind: str, message: str, where: str | None) -> None:
    if kind == "done":
        return
    if kind == "AssertionError":
        raise AssertionError(message)
    if kind == "InarchError":
        raise InarchError(message, where=where)
    raise InternalError(f"{kind} in a process that runs compiled code: {message}")


def _flush() -> None:
    """Nothing that waits to be written is written twice."""
    sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)


def _work(work: Callable[[], object], write: int) -> NoReturn:
    """What the fork does."""
    said = ("done", "", None)
    try:
        os.setsid()
        faulthandler.disable()
        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        work()
        _flush()
    except InarchError as error:
        said = ("InarchError", error.message, error.where)
    except BaseException as error:  # noqa: BLE001 - nothing may go on in two processes
        said = (type(error).__name__, str(error), None)
    try:
        with os.fdopen(write, "wb") as file:
            file.write(json.dumps(said).encode())
    finally:
        os._exit(0)


def _read(read: int, deadline: float) -> bytes | None:
    """All that the fork says; None when it does not end in time."""
    parts: list[bytes] = []
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([read], [], [], left)[0]:
            return None
        part = os.read(read, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)
