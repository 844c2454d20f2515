"""Compiled programs under the sanitizers, on buffers of exactly their sizes.

AddressSanitizer and UndefinedBehaviorSanitizer (`MEMORY`), or ThreadSanitizer (`RACES`), for which threads
share every loop that they can, however small.

A program's machine code becomes a library with checks of every access, which an executable of its own
(`sanitize.c`) calls: nothing of Python's allocator is near. What is seen: every access outside of an
input, an output, the weights, the workspace or a local, and what C leaves undefined. What is not: an
access that lands in another tensor of the same workspace or the same weights.
"""

from __future__ import annotations

import math
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.backends.host import Native, NativeRequest
from inarch.core.errors import EnvironmentFault
from inarch.core.lazy import np
from inarch.core.scratch import scratch
from inarch.definitions.functions import Array
from inarch.driver.compiler import import_model, lower
from inarch.driver.host import find_host, machine_code
from inarch.driver.options import DEFAULT_HOST, Options
from inarch.machine.compilers import Compiler, find_compiler, run_compiler
from inarch.passes.loop.parallelize import ParallelizePass


@dataclass(frozen=True)
class Checks:
    """What is looked for: the compiler's flag, and others of its code generation."""

    flag: str
    others: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """For each unit."""
        return ("-O1", "-g1", self.flag, *self.others)

    @property
    def link(self) -> tuple[str, ...]:
        """For the library; clang puts the run-time into executables only, where libraries find it."""
        return (self.flag, "-Wl,-z,undefs")


MEMORY = Checks(
    "-fsanitize=address,undefined",
    # A local that is used before it is written is a large number, and not by chance the right one.
    ("-fno-sanitize-recover=all", "-ftrivial-auto-var-init=pattern"),
)
RACES = Checks(
    "-fsanitize=thread",
    # Under these checks every thread is late, and loops would be left to one.
    ("-DINARCH_LATE_NS=1000000000000",),
)
_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:exitcode=99:color=never",
    "UBSAN_OPTIONS": "print_stacktrace=0:color=never",
    "TSAN_OPTIONS": "exitcode=99:color=never",
    "INARCH_NUM_THREADS": "3",
    # Another library may be preloaded here, and the run-time insists on being the first.
    "LD_PRELOAD": "",
}
_SECONDS = 120.0
_UNUSABLE = 70
_SOURCE = Path(__file__).with_suffix(".c")


@dataclass(frozen=True)
class Sanitized:
    """A program as a library with checks. `weights` may be shortened to try the checks."""

    native: Native
    library: Path
    weights: bytes


def caller(folder: Path, checks: Checks = MEMORY) -> Path:
    """The executable that calls libraries, built in `folder`.

    Raises EnvironmentFault where the compiler has no sanitizers, or what they make does not start.
    """
    compiler = find_compiler()
    path = folder / "sanitize"
    command = [*compiler.command, "-std=c11", "-O1", "-g1", checks.flag, "-rdynamic", str(_SOURCE)]
    status, said = run_compiler([*command, "-o", str(path), "-ldl"], folder, _SECONDS)
    if status == 0:
        # Without arguments it says what it expects, if the run-time starts at all.
        done = _start([str(path)])
        if done.returncode == _UNUSABLE:
            return path
        said = done.stderr
    raise EnvironmentFault(
        f"expected a compiler with {checks.flag}, found '{_name(compiler)}': {_last_line(said)}; "
        "install its sanitizer libraries, or put another one in $CC"
    )


def sanitized(
    context: Context,
    module: ModuleOp,
    out: Path,
    target: str,
    host: str = DEFAULT_HOST,
    checks: Checks = MEMORY,
) -> Sanitized:
    """Compiles a `graph` module, which is consumed, for `target` into the library `out`.

    Raises InarchError as `inarch.driver.compile.compile` does.
    """
    chosen = Options(host=host, target=target)
    module = import_model(module, context, chosen)
    pipeline = chosen.passes()
    if "parallelize" in pipeline:
        pipeline = pipeline.replace("parallelize", ParallelizePass(least=0))
    lower(context, module, "kernel", pipeline=pipeline)
    request = NativeRequest(context, module, out, flags=checks.flags, libraries=checks.link)
    made = machine_code(find_host(host))(request)
    return Sanitized(made, out, bytes(made.weights))


def report(
    executable: Path, subject: Sanitized, function: str, inputs: Sequence[Array], *, shift: int = 0
) -> str:
    """What the sanitizers say of one call, the line that names the fault; "" where they say nothing.

    `inputs` are those of `function`, in its order. With `shift`, buffers begin that many of their own
    elements behind an aligned address. Raises EnvironmentFault where the call could not be made.
    """
    found = subject.native.entries[function]
    with scratch("inarch-sanitize-") as folder:
        (folder / "weights").write_bytes(subject.weights)
        words = [
            str(executable),
            str(subject.library),
            subject.native.symbols[function],
            str(found.workspace_bytes),
            str(folder / "weights"),
            str(len(subject.weights)),
        ]
        for number, (port, array) in enumerate(zip(found.inputs, inputs, strict=True)):
            data = np.ascontiguousarray(array, port.dtype.numpy).tobytes()
            (folder / str(number)).write_bytes(data)
            words += [str(folder / str(number)), str(len(data)), str(shift * port.dtype.nbytes)]
        for port in found.outputs:
            size = math.prod(port.shape) * port.dtype.nbytes
            words += ["-", str(size), str(shift * port.dtype.nbytes)]
        done = _start(words)
    if done.returncode == 0 and not done.stderr:
        return ""
    if done.returncode == _UNUSABLE:
        raise EnvironmentFault(f"the program that calls libraries: {_last_line(done.stderr)}")
    return _fault(done)


def _start(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(words),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env={**os.environ, **_OPTIONS},
        timeout=_SECONDS,
    )


def _fault(done: subprocess.CompletedProcess[str]) -> str:
    """`heap-buffer-overflow ... in model_main_kernel_3 ...`: the summary, or the first line."""
    lines = done.stderr.splitlines()
    for mark in ("SUMMARY: ", "runtime error: "):
        for line in lines:
            if mark in line:
                return line.partition(mark)[2]
    return lines[0] if lines else f"ended with status {done.returncode}"


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["nothing was printed"])[-1]


def _name(compiler: Compiler) -> str:
    return " ".join(compiler.command)
