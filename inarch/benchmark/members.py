"""Members of a microkernel's family alone: their operands laid out, C that calls them, and their times.

`benchmarks/microkernels.py` is the command. Times are CPU time of the thread.
"""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inarch.benchmark.harness import Harness
from inarch.core.lazy import np
from inarch.core.pieces import filled
from inarch.core.scratch import scratch
from inarch.machine.toolchain import compile_library
from inarch.verification.subject import Subject, program

_CHUNK = 12
"""Members in one translation unit: they compile in parallel."""
_SECONDS = 4e-4
"""What a measurement takes, about: short enough to fall between interrupts."""


@dataclass(frozen=True)
class Row:
    """One member; `cycles` are of one call."""

    params: Mapping[str, int]
    predicted: float | None
    cycles: float
    gflops: float
    percent_of_peak: float
    gbytes: float
    percent_of_read: float | None


class Bench:
    """The members of one target and the machine's limits, compiled."""

    def __init__(self, subjects: Sequence[Subject], folder: Path, nbytes: int) -> None:
        target = subjects[0].instance.target
        width = target.vector_bytes
        units = {"limits.c": filled("inarch.benchmark", "limits.c", bytes=width, lanes=width // 4)}
        for first in range(0, len(subjects), _CHUNK):
            units[f"members{first}.c"] = program(subjects[first : first + _CHUNK], first)
        path = folder / "members.so"
        compile_library(units, path, target=target)
        self._library = ctypes.CDLL(str(path))
        self._library.read_all.restype = ctypes.c_float
        self._harness = Harness(target)
        self._subjects = subjects
        self._nbytes = nbytes
        self._memory = np.ones(max(nbytes // 4, 1 << 14), np.float32)

    def peak(self) -> float:
        """GFLOP/s of multiply-adds on the target's widest vectors."""
        return self._harness.peak_gflops(0.3)

    def clock(self) -> float:
        """Cycles a second."""
        rounds = 100_000
        return rounds * 4 / _timed(self._library.clock_cycles, rounds)

    def read(self) -> float:
        """Bytes a second of a loop that reads `nbytes` and nothing else."""
        at, size = self._memory.ctypes.data, self._memory.size
        passes = max(2, (1 << 23) // size)
        seconds = min(
            _timed(self._library.read_all, ctypes.c_void_p(at), size, passes) for _ in range(3)
        )
        return 4 * size * passes / seconds

    def measure(self, number: int, rounds: int) -> float:
        """Seconds of one call of a member: the minimum over `rounds`."""
        subject = self._subjects[number]
        copies = max(1, self._nbytes // max(1, subject.nbytes))
        steps = [
            -(-each.elements * each.dtype.nbytes // 64) * 64 for each in subject.operands.values()
        ]
        # One after the other: loads do not wait for stores whose addresses end in the same 12 bits.
        memory = np.zeros(sum(steps) * copies + 64, np.uint8)
        start = -memory.ctypes.data % 64
        addresses: list[int] = []
        for step, each in zip(steps, subject.operands.values(), strict=True):
            memory[start : start + step * copies].view(each.dtype.numpy)[...] = 1
            addresses.append(memory.ctypes.data + start)
            start += step * copies
        pointers = (ctypes.c_void_p * len(addresses))(*addresses)
        at = (ctypes.c_int64 * len(steps))(*steps)
        run = getattr(self._library, f"run{number}")

        def seconds(calls: int) -> float:
            return _timed(run, pointers, at, copies, calls) / calls

        calls = copies
        while (once := seconds(calls)) * calls < _SECONDS:
            calls = calls * max(2, min(100, int(_SECONDS / max(once * calls, 1e-7)) + 1))
        return min(seconds(calls) for _ in range(rounds))


def _timed(function: Callable[..., object], *arguments: object) -> float:
    """CPU seconds of this thread."""
    passed = [ctypes.c_int64(each) if isinstance(each, int) else each for each in arguments]
    start = time.thread_time()
    function(*passed)
    return max(time.thread_time() - start, 1e-9)


def run(
    subjects: Sequence[Subject], rounds: int, nbytes: int
) -> tuple[dict[str, float], list[Row]]:
    """The machine's limits (GFLOP/s, GHz, GB/s) and a row for each member, in the order given."""
    limits = {"gflops": 0.0, "ghz": 0.0, "read_gbytes": 0.0}
    best = [math.inf] * len(subjects)
    with scratch("inarch-microkernels-") as folder:
        bench = Bench(subjects, folder, nbytes)
        for _ in range(rounds):
            for number in range(len(subjects)):
                best[number] = min(best[number], bench.measure(number, 3))
                limits["gflops"] = max(limits["gflops"], bench.peak())
                limits["ghz"] = max(limits["ghz"], bench.clock() / 1e9)
            if nbytes:
                limits["read_gbytes"] = max(limits["read_gbytes"], bench.read() / 1e9)
    rows = [_row(*pair, limits) for pair in zip(subjects, best, strict=True)]
    return limits, rows


def _row(subject: Subject, seconds: float, limits: Mapping[str, float]) -> Row:
    instance = subject.instance
    cost = instance.kernel.cost
    gflops, gbytes = subject.flops / seconds / 1e9, subject.nbytes / seconds / 1e9
    return Row(
        instance.params,
        cost(instance) if callable(cost) else cost,
        seconds * limits["ghz"] * 1e9,
        gflops,
        100 * gflops / limits["gflops"],
        gbytes,
        100 * gbytes / limits["read_gbytes"] if limits["read_gbytes"] else None,
    )
