"""C compilers of this machine: which one is taken, of which family it is, and how it is run."""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from inarch.errors import EnvironmentFault
from inarch.target import Target

Kind = Literal["gcc", "clang", "zig"]

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

    def cflags(self, target: Target) -> list[str]:
        """`target.cflags()` in this compiler's spelling."""
        if self.kind != "zig":
            return target.cflags()
        # zig compiles for the CPU it runs on unless told, and has its own names of levels.
        if target.architecture == "generic":
            return ["-mcpu=baseline"]
        level = "generic" if target.level == "aarch64" else target.level.replace("-", "_")
        extras = (name.replace("-", "_") for name in target.extras)
        width = [flag for flag in target.cflags() if flag.startswith("-mprefer")]
        return ["-mcpu=" + "+".join((level, *extras)), *width]


def find_compiler() -> Compiler:
    """`$CC`, else the first of gcc, clang, clang-19, zig and the PyPI package ziglang.

    Raises EnvironmentFault when there is none, or when `$CC` cannot be run.
    """
    return _find(os.environ.get("CC", ""), os.environ.get("PATH", os.defpath))


def run_compiler(command: Sequence[str], folder: Path, timeout: float) -> tuple[int, str]:
    """Runs `command` in `folder`, for at most `timeout` seconds.

    Gives the exit status (negative: the signal that ended it) and all output. Raises
    EnvironmentFault when the program cannot be started.
    """
    # Messages are parsed and kept in the cache: one language.
    environment = {**os.environ, "LC_ALL": "C"}
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
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _kill(process)
            return 1, f"error: stopped after {timeout:g} s"
        except BaseException:
            _kill(process)
            raise
    return process.returncode, output.decode(errors="replace")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the compiler's driver and what it started: they are a session of their own."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


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
        if compiler is None:
            raise EnvironmentFault(
                f"$CC is '{cc}', which is not a C compiler that can be run; unset or correct it"
            )
        return compiler
    for name in ("gcc", "clang", "clang-19", "zig"):
        compiler = _probe((name, "cc") if name == "zig" else (name,), path)
        if compiler is not None:
            return compiler
    if find_spec("ziglang") is not None:
        compiler = _probe((sys.executable, "-m", "ziglang", "cc"), path)
        if compiler is not None:
            logging.getLogger("inarch").warning(
                "no C compiler found; using the package ziglang (its first run takes a while)"
            )
            return compiler
    raise EnvironmentFault(_NONE)


def _probe(command: tuple[str, ...], path: str) -> Compiler | None:
    """The compiler that `command` runs, or None when it does not run or is of no known family."""
    program = shutil.which(command[0], path=path)
    if program is None:
        return None
    program = str(Path(program).absolute())
    is_zig = command[-1] == "cc" and len(command) > 1
    query = [program, *command[1:-1], "version"] if is_zig else [program, *command[1:], "--version"]
    try:
        status, text = run_compiler(query, Path.cwd(), 60.0)
    except EnvironmentFault:
        return None
    if status != 0 or not text.strip():
        return None
    version = text.splitlines()[0]
    if is_zig:
        return Compiler((program, *command[1:]), "zig", version)
    kind: Kind = "clang" if "clang" in text.lower() else "gcc"
    return Compiler((program, *command[1:]), kind, version)
