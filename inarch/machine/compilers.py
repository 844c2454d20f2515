"""C compilers of this machine: which one is taken, of which family it is, how it is run, what it says."""

from __future__ import annotations

import errno
import logging
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Literal

from inarch.core.errors import EnvironmentFault
from inarch.core.outside.printable import shortened
from inarch.machine.target import Target

Kind = Literal["gcc", "clang", "zig"]

OUTPUT_BYTES = 1 << 20
"""Of what a compiler prints: more than anybody reads, and not what a broken one can write in its time."""
TIMED_OUT = 124
"""The exit status of a compiler that was stopped, as of `timeout(1)`."""
_PROBE_SECONDS = 10.0
_LOOK_SECONDS = 0.1
"""How often is looked whether a compiler is still wanted."""
_VERSION_CHARACTERS = 200
_MESSAGE_CHARACTERS = 300

_ENVIRONMENT = (
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "LIBRARY_PATH",
    "LD_RUN_PATH",
    "CCC_OVERRIDE_OPTIONS",
)
"""What gcc and clang look at besides their arguments, and files that they include."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says of a full disk."""
_SAYS_FULL = "No space left on device|Disk quota exceeded|File too large|File size limit exceeded"
"""The same, and of a signal, in the words of compilers."""

_NONE = (
    "no C compiler: looked for $CC, gcc, clang, clang-19, zig; "
    "install gcc or `pip install inarch[zig]`"
)


@dataclass(frozen=True)
class Compiler:
    """A C compiler: how it is run, its family, and the first line of what it says of itself."""

    command: tuple[str, ...]
    kind: Kind
    version: str

    @property
    def program(self) -> str:
        """Size and time of the file that is run: another build may say the same of itself."""
        try:
            state = Path(self.command[0]).stat()
        except OSError:
            return ""
        return f"{state.st_size} {state.st_mtime_ns}"

    def cflags(self, target: Target) -> list[str]:
        """`target.cflags()` in this compiler's spelling."""
        if self.kind != "zig":
            return target.cflags()
        # zig compiles for the CPU it runs on unless told, and has its own names of levels.
        if target.architecture == "generic":
            return ["-mcpu=baseline"]
        level = "generic" if target.level == "aarch64" else target.march.replace("-", "_")
        extras = (name.replace("-", "_") for name in target.extras)
        width = [flag for flag in target.cflags() if flag.startswith("-mprefer")]
        return ["-mcpu=" + "+".join((level, *extras)), *width]


def find_compiler() -> Compiler:
    """`$CC`, else the first of gcc, clang, clang-19, zig and the PyPI package ziglang.

    Raises EnvironmentFault when there is none, or when `$CC` cannot be run.
    """
    return _find(os.environ.get("CC", ""), os.environ.get("PATH", os.defpath))


def compiler_for(target: Target) -> Compiler:
    """`find_compiler`, or where that makes code of another architecture, a cross compiler that is installed.

    `$CC` is taken as it is. Raises EnvironmentFault when there is none.
    """
    names = () if os.environ.get("CC", "").strip() else target.cross_compilers()
    path = os.environ.get("PATH", os.defpath)
    return next((one for name in names if (one := _found(name, path))), None) or find_compiler()


@cache
def _found(name: str, path: str) -> Compiler | None:
    found = _probe((name,), path)
    return found if isinstance(found, Compiler) else None


class StoppedError(Exception):
    """A compiler was ended because nobody waits for it any more."""


def run_compiler(
    command: Sequence[str], folder: Path, timeout: float, stop: Event | None = None
) -> tuple[int, str]:
    """Runs `command` in `folder`, for at most `timeout` seconds.

    Gives the exit status (negative: the signal that ended it; `TIMED_OUT`) and the output, of which at
    most `OUTPUT_BYTES` are kept. Raises EnvironmentFault when the program cannot be started, StoppedError
    soon after another thread has set `stop`.
    """
    never = Event()
    # Messages are parsed and kept in the cache: one language. Files of a compiler that is killed stay
    # where it has put them: that is beside the source, in a folder that goes.
    environment = {**os.environ, "LC_ALL": "C", "TMPDIR": str(folder)}
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise EnvironmentFault(f"the C compiler '{command[0]}' cannot be run: {reason}") from error
    with process:
        try:
            output = _read(process, time.monotonic() + timeout, stop or never)
        except BaseException:
            _kill(process)
            raise
        if output is None:
            _kill(process)
            return TIMED_OUT, f"error: stopped after {timeout:g} s"
    return process.returncode, output.decode(errors="replace")


def _read(process: subprocess.Popen[bytes], deadline: float, stop: Event) -> bytes | None:
    """All output, or the first part of much; None when it does not end before `deadline`."""
    assert process.stdout is not None, "it was asked for"
    parts: list[bytes] = []
    room = OUTPUT_BYTES
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            left = deadline - time.monotonic()
            if stop.is_set():
                raise StoppedError
            if left <= 0:
                return None
            if not selector.select(min(left, _LOOK_SECONDS)):
                continue
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            if not chunk:
                break
            # What is beyond is read as well: the compiler would wait for somebody to do so.
            parts.append(chunk[:room])
            room -= len(parts[-1])
    try:
        process.wait(max(deadline - time.monotonic(), 0.0))
    except subprocess.TimeoutExpired:
        return None
    if room == 0:
        parts.append(f"\n[cut after {OUTPUT_BYTES} bytes]".encode())
    return b"".join(parts)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the compiler's driver and what it started: they are a session of their own."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def first_error(output: str, status: int) -> str:
    """The line of a compiler's output that says what is wrong, of a length that can be read."""
    lines = [
        shortened(line.strip(), _MESSAGE_CHARACTERS) for line in output.splitlines() if line.strip()
    ]
    for line in lines:
        if found := re.search(r"<inline asm>:\d+:\d+: error: (.*)", line):  # clang's own assembler
            return f"assembler: {found[1]}"
        if re.search(r"\b(error|undefined reference|undefined symbol)\b", line):
            return line
        if found := re.search(r"\.s:\d+: Error: (.*)", line):
            return f"assembler: {found[1]}"  # the rest is about a file that is gone
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return lines[0] if lines else f"exit status {status}"


def check_disk(output: str) -> None:
    """Raises EnvironmentFault where a compiler, assembler or linker says that a disk is full."""
    if found := re.search(_SAYS_FULL, output):
        raise full_disk(found[0])


def full_disk(reason: str) -> EnvironmentFault:
    """The error for a temporary folder that takes no more."""
    return EnvironmentFault(
        f"cannot write in the temporary folder '{tempfile.gettempdir()}': {reason}; "
        "make room, or set TMPDIR to another folder"
    )


def looked_at() -> list[str]:
    """What the environment says to a compiler besides its arguments."""
    return [f"{name}={os.environ.get(name, '')}" for name in _ENVIRONMENT]


def _words(cc: str) -> tuple[str, ...]:
    """`$CC` as a shell reads it."""
    try:
        return tuple(shlex.split(cc))
    except ValueError as error:
        reason = str(error).lower()
        raise EnvironmentFault(
            f"$CC is '{cc}', which is no command line: {reason}; unset or correct it"
        ) from error


@cache
def _find(cc: str, path: str) -> Compiler:
    """`find_compiler` for one environment; compilers do not change under a process."""
    if cc.strip():
        compiler = _probe(_words(cc), path)
        if isinstance(compiler, Compiler):
            return compiler
        why = "is not a C compiler that can be run" if compiler is None else f"hangs: {compiler}"
        raise EnvironmentFault(f"$CC is '{cc}', which {why}; unset or correct it")
    slow: list[str] = []
    for name in ("gcc", "clang", "clang-19", "zig"):
        compiler = _probe((name, "cc") if name == "zig" else (name,), path)
        if isinstance(compiler, Compiler):
            return compiler
        slow += [] if compiler is None else [str(compiler)]
    if find_spec("ziglang") is not None:
        compiler = _probe((sys.executable, "-m", "ziglang", "cc"), path)
        if isinstance(compiler, Compiler):
            logging.getLogger("inarch").warning(
                "no C compiler found; using the package ziglang (its first run takes a while)"
            )
            return compiler
        slow += [] if compiler is None else [str(compiler)]
    raise EnvironmentFault("; ".join([_NONE, *slow]))


@dataclass(frozen=True)
class _Slow:
    """What did not say in time which compiler it is."""

    query: str

    def __str__(self) -> str:
        return f"`{self.query}` did not end within {_PROBE_SECONDS:g} s"


def _probe(command: tuple[str, ...], path: str) -> Compiler | _Slow | None:
    """The compiler that `command` runs, or None when it does not run or is of no known family."""
    program = shutil.which(command[0], path=path)
    if program is None:
        return None
    program = str(Path(program).absolute())
    is_zig = command[-1] == "cc" and len(command) > 1
    query = [program, *command[1:-1], "version"] if is_zig else [program, *command[1:], "--version"]
    try:
        status, text = run_compiler(query, Path.cwd(), _PROBE_SECONDS)
    except EnvironmentFault:
        return None
    if status == TIMED_OUT:
        return _Slow(shlex.join(query))
    if status != 0 or not text.strip():
        return None
    version = text.strip().splitlines()[0][:_VERSION_CHARACTERS]
    if is_zig:
        return Compiler((program, *command[1:]), "zig", version)
    kind: Kind = "clang" if "clang" in text.lower() else "gcc"
    return Compiler((program, *command[1:]), kind, version)
