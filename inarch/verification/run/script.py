"""The file through which the harness is told what to call, and says what happened.

Words of 64 bits: a header, the operands, the calls, a status, the integer arguments; then bytes: what
operands hold before a call, and room for what they hold after it. `harness.c` has the same layout.
"""

from __future__ import annotations

import errno
import mmap
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from inarch.core.errors import EnvironmentFault
from inarch.core.lazy import Array, np
from inarch.verification.cases.cases import Case

MOST_OPERANDS = 32
_STATUS = (
    "outcome", "call", "in_kernel", "signal", "code", "address", "is_write", "bytes", "operand",
    "offset", "before", "after", "in_stack",
)  # fmt: skip
_TEXT_BYTES = 512
_HEADER_WORDS = 7
_SLACK_BYTES = 512
"""More than the largest operand, so that there is room on both sides for any alignment."""

CALL_MILLISECONDS = 1000
"""CPU time that one call may take; the largest has a million points: less than 50 ms with sanitizers."""
PROCESS_SECONDS = 120.0
"""Time that all calls may take, for kernels that wait rather than work."""

_ATTEMPTS = 100
_PAUSE_SECONDS = 0.02

_ENVIRONMENT = {
    # Memory of malloc is not what it happens to be.
    "MALLOC_PERTURB_": "165",
    "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigill=0:handle_sigfpe=0:"
    "handle_abort=0:max_malloc_fill_size=1048576:use_sigaltstack=0:redzone=1024:max_redzone=2048:exitcode=1:abort_on_error=0",
    "UBSAN_OPTIONS": "print_stacktrace=0",
}


class Result(IntEnum):
    """How a process ended; the order is that of `harness.c`."""

    RUNNING = 0
    FINISHED = 1
    SIGNALLED = 2
    SANITIZER = 3
    WROTE_OUTSIDE = 4
    WROTE_INPUT = 5
    REGISTERS = 6
    MXCSR = 7
    X87 = 8
    ROUNDING = 9
    CANNOT_LOAD = 10
    EXITED = 11
    LEAK = 12


class Side(IntEnum):
    """Where operands lie in their regions; the order is that of `harness.c`."""

    RIGHT = 0
    """The last byte is the last one before memory that cannot be touched."""
    LEFT = 1
    """The first byte is the first one after it."""
    ODD = 2
    """Aligned as declared, and to no more."""
    TOGETHER = 3
    """Anywhere, and at the same time as the next call, of another thread; many times."""


@dataclass(frozen=True)
class Call:
    """One call of a case."""

    case: Case
    side: Side


@dataclass(frozen=True)
class Outcome:
    """What the harness left: how it ended, and what the calls before that made."""

    result: Result
    call: int
    """The call at which it ended; -1: before the first."""
    in_kernel: bool
    status: int
    """Of the process."""
    signal: int
    code: int
    address: int
    is_write: int
    bytes: int
    operand: int
    offset: int
    before: int
    after: int
    in_stack: bool
    starts: tuple[int, ...]
    """The address of each operand's element 0 in that call."""
    text: str
    output: str
    """What it printed to the standard error."""
    images: tuple[Array, ...]
    """For each call, the memory of the written operand after it."""
    timed_out: bool


@dataclass(frozen=True)
class _Layout:
    """Where things lie in the file, in bytes."""

    operands: int
    calls: int
    status: int
    numbers: int
    images: int
    results: tuple[int, ...]
    total: int


def perform(
    harness: Path, library: Path, calls: Sequence[Call], aligns: Sequence[int], folder: Path
) -> Outcome:
    """Makes `calls` in a process of its own; `aligns` has the alignment in bytes of each operand."""
    path = folder / f"script-{secrets.token_hex(8)}"
    layout = _write(path, calls, aligns)
    messages = path.with_suffix(".err")
    try:
        with messages.open("w+b") as errors:
            status, timed_out = _run([str(harness), str(library), str(path)], errors.fileno())
            errors.seek(0)
            output = errors.read(1 << 16).decode(errors="replace")
        return _read(path, layout, calls, status, output, timed_out=timed_out)
    finally:
        path.unlink(missing_ok=True)
        messages.unlink(missing_ok=True)


def start(command: Sequence[str], errors: int) -> subprocess.Popen[bytes]:
    """The process. Raises EnvironmentFault where programs in the temporary folder cannot be run."""
    for attempt in range(_ATTEMPTS):
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env={**os.environ, **_ENVIRONMENT},
                start_new_session=True,
            )
        except OSError as error:
            # Another thread's process, between fork and exec, may still hold the file that we wrote.
            if error.errno == errno.ETXTBSY and attempt + 1 < _ATTEMPTS:
                time.sleep(_PAUSE_SECONDS)
                continue
            raise EnvironmentFault(
                f"cannot run a program in '{Path(command[0]).parent}': {error.strerror}; "
                "set TMPDIR to a folder that allows it"
            ) from error
    raise AssertionError("the last attempt returns or raises")


def _run(command: Sequence[str], errors: int) -> tuple[int, bool]:
    process = start(command, errors)
    timed_out = False
    try:
        process.wait(PROCESS_SECONDS)
    except subprocess.TimeoutExpired:
        timed_out = True
    finally:
        # Also what it may have started: they are a session of their own.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return process.returncode, timed_out


def _write(path: Path, calls: Sequence[Call], aligns: Sequence[int]) -> _Layout:
    count = len(aligns)
    cases = list({id(call.case): call.case for call in calls}.values())
    operands = 8 * _HEADER_WORDS
    table = operands + 8 * 3 * count
    status = table + 8 * len(calls) * (2 + 4 * count)
    numbers = status + 8 * (len(_STATUS) + MOST_OPERANDS) + _TEXT_BYTES
    images = numbers + 8 * sum(len(case.numbers) for case in cases)
    capacities = [0] * count
    words: list[int] = []
    blobs: list[bytes] = []
    at = images
    places: dict[int, tuple[int, list[int]]] = {}
    number_at = numbers
    for case in cases:
        starts: list[int] = []
        for i, operand in enumerate(case.operands):
            starts.append(at)
            blobs.append(_padded(operand.image.tobytes()))
            at += len(blobs[-1])
            capacities[i] = max(capacities[i], operand.image.nbytes)
        places[id(case)] = (number_at, starts)
        number_at += 8 * len(case.numbers)
    results: list[int] = []
    for call in calls:
        number, starts = places[id(call.case)]
        words += [int(call.side), number]
        for start, operand in zip(starts, call.case.operands, strict=True):
            written = operand.access != "read"
            words += [start, operand.image.nbytes, 0, at if written else 0]
            if written:
                results.append(at)
                at += (operand.image.nbytes + 7) // 8 * 8
    header = [count, len(calls), status, operands, table, numbers, CALL_MILLISECONDS]
    first = calls[0].case.operands
    for i, operand in enumerate(first):
        header += [
            capacities[i] + _SLACK_BYTES + 4 * aligns[i],
            operand.access != "read",
            aligns[i],
        ]
    given = [number for case in cases for number in case.numbers]
    with path.open("wb") as file:
        file.write(np.asarray([*header, *words], np.int64).tobytes())
        file.seek(numbers)
        file.write(np.asarray(given, np.int64).tobytes())
        file.write(b"".join(blobs))
        file.truncate(at)
    return _Layout(operands, table, status, numbers, images, tuple(results), at)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 8)


def _read(
    path: Path,
    layout: _Layout,
    calls: Sequence[Call],
    status: int,
    output: str,
    *,
    timed_out: bool,
) -> Outcome:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
        data = bytes(memory)
    words = np.frombuffer(data, np.int64, len(_STATUS) + MOST_OPERANDS, layout.status)
    field = {name: int(word) for name, word in zip(_STATUS, words, strict=False)}
    text_at = layout.status + words.nbytes
    text = data[text_at : text_at + _TEXT_BYTES].split(b"\0")[0].decode(errors="replace")
    images: list[Array] = []
    for call, at in zip(calls, layout.results, strict=True):
        image = call.case.operands[call.case.written].image
        images.append(np.frombuffer(data, image.dtype, image.size, at))
    known = Result(field["outcome"]) if field["outcome"] in list(Result) else Result.RUNNING
    return Outcome(
        known,
        field["call"],
        bool(field["in_kernel"]),
        status,
        field["signal"],
        field["code"],
        field["address"],
        field["is_write"],
        field["bytes"],
        field["operand"],
        field["offset"],
        field["before"],
        field["after"],
        bool(field["in_stack"]),
        tuple(int(word) for word in words[len(_STATUS) :]),
        text,
        output,
        tuple(images),
        timed_out,
    )
