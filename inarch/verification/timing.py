"""What a call of a kernel takes on this machine: run in a process of its own, and kept by its code.

The kernel is compiled as models get it, and called in a loop on operands that stay in the caches; the least
of several rounds counts. A function of the registry is called here.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from inarch.core.cache import Cache, default_cache, key_of
from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.core.scratch import scratch
from inarch.machine.compilers import Compiler, find_compiler
from inarch.machine.find import cpu_name
from inarch.machine.libraries import library_path
from inarch.machine.target import this_processor
from inarch.microkernel import Instance
from inarch.runtime.registry import REGISTRY
from inarch.verification.run.build import timed_library, timer
from inarch.verification.subject import Subject, subject_of

MOST_BYTES = 1 << 30
"""Of all operands of one call: more is not tried here."""
_FORMAT = "1"
_SECONDS = 60.0
_ROUNDS = 5
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
"""Costs are of one core: what libraries ask how many threads they may have."""


def call_cycles(
    instance: Instance,
    sizes: Mapping[str, int],
    *,
    compiler: Compiler | None = None,
    cache: Cache | None = None,
) -> float | str | None:
    """Cycles of a call with `sizes`, of one core of this machine; or in one line what goes wrong with it.

    None where it cannot be called here: a function that nobody has registered (yet), too much memory.
    From the cache where the same code was measured with the same sizes on such a CPU.
    """
    try:
        subject = subject_of(replace(instance, sizes=dict(sizes)), {**sizes})
        nbytes = sum(each.elements * each.dtype.nbytes for each in subject.operands.values())
        if nbytes > MOST_BYTES:
            return None
        if instance.kernel.registered is not None:
            found = REGISTRY.get(instance.kernel.registered)
            return _of_registered(found, subject) if found is not None else None
        return _of_code(subject, compiler or find_compiler(), cache or default_cache())
    except InarchError as error:
        return error.message


def _of_code(subject: Subject, compiler: Compiler, kept: Cache) -> float | str:
    library = subject.instance.kernel.library
    needed = [] if library is None else [str(library_path(library))]
    with scratch("inarch-timing-") as folder:
        path = folder / "timed.so"
        timed_library(subject, compiler, path, needed)
        key = key_of(
            "call cycles",
            _FORMAT,
            path.read_bytes(),
            *(Path(each).read_bytes() for each in needed),
            cpu_name(),
            *sorted(this_processor().features),
        )
        if (known := kept.get(key)) is not None:
            return float(json.loads(known))
        found = _run(timer(compiler, folder), path, subject)
    if isinstance(found, float):
        kept.put(key, json.dumps(found).encode())
    return found


def _run(program: Path, library: Path, subject: Subject) -> float | str:
    sizes = [str(each.elements * each.dtype.nbytes) for each in subject.operands.values()]
    environment = {**os.environ, **dict.fromkeys(_ONE_THREAD, "1")}
    try:
        done = subprocess.run(
            [str(program), str(library), *sizes],
            env=environment,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"a call has not ended after {_SECONDS:g} s"
    if done.returncode:
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
        return f"the process that called it ended with {how}"
    return _checked(done.stdout.decode(errors="replace").splitlines()[-1:])


def _checked(lines: Sequence[str]) -> float | str:
    """What is printed last; a kernel may print too, or end the process as if nothing were."""
    try:
        found = float("".join(lines))
    except ValueError:
        found = math.nan
    return found if 0 < found < math.inf else "the process that called it ended before it was done"


def _of_registered(function: Callable[..., object], subject: Subject) -> float | str:
    """Of a function of this process, on views; the way there from compiled code comes on top."""
    written = subject.instance.meaning.statements[0].target.operand
    views = {name: _view(subject, name) for name in subject.operands}
    inputs = [view for name, view in views.items() if name != written]
    best = math.inf
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        try:
            function(*inputs, views[written])
        except Exception as error:  # noqa: BLE001 - somebody's function raises anything
            return f"raises {type(error).__name__}: {error}"
        best = min(best, time.perf_counter() - start)
    return max(best, 1e-9) * 1e9 * subject.instance.machine.ghz


def _view(subject: Subject, name: str) -> object:
    operand = subject.operands[name]
    array = np.ones(operand.elements, operand.dtype.numpy)
    strides = [stride * array.itemsize for stride in operand.strides]
    return np.lib.stride_tricks.as_strided(array, operand.extents, strides)
