"""Measures what this computer is made of: `inarch machine --measure`.

Sizes, ways and lines of caches are what the system says (where it does not: the target's machine's); all
else is timed with `machine_probe.c`, in cycles of additions that wait for each other. Each number is the best
of several runs, as whatever else the computer does only adds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from inarch.benchmark.probe.fork import fork_ns
from inarch.core.errors import EnvironmentFault
from inarch.core.scratch import scratch
from inarch.machine.find import MEASURED
from inarch.machine.machine import Cache, Machine, Memory, Ports, Tlb
from inarch.machine.target import Target
from inarch.machine.toolchain import compile_library

_DECLARATIONS = """
double probe_cycles(int64_t count);
double probe_fma_latency(int64_t count, float *sink);
double probe_fma(int64_t count, float *sink);
double probe_loads(int64_t count, void *at);
double probe_stores(int64_t count, void *at);
double probe_stream(int64_t count, void *from, int64_t nbytes);
double probe_chase(int64_t count, void *at);
double probe_branch(int64_t count, uint64_t mask);
double probe_call(int64_t count, void *at);
void *probe_memory(int64_t nbytes, int64_t is_large);
void probe_free(void *memory);
int64_t probe_ring(void *memory, int64_t count, int64_t step, int64_t line, int64_t lines);
"""
_STEPS = 16
_CHAINS = 8
_RUNS = 7
_RUN_NS = 4e6
"""How long one run takes: long enough for the clock, short enough to be undisturbed now and then."""
_FAR_BYTES = 256 << 20
_PAGES = (
    16,
    24,
    32,
    40,
    48,
    56,
    64,
    72,
    80,
    96,
    112,
    128,
    192,
    256,
    384,
    512,
    768,
    1024,
    1280,
    1536,
    2048,
)
_MORE_PAGES = (2560, 3072, 4096, 6144, 8192)
_MANY_PAGES = 16384
_MISSED = 1.5
"""Cycles that a load takes longer once the pages do not fit their buffer any more."""

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def measure_machine(target: Target) -> Machine:
    """This computer. Raises EnvironmentFault without a C compiler, or memory of 256 MiB."""
    with scratch("inarch-machine-") as folder:
        widths = [width for width in (16, 32, 64) if width <= target.vector_bytes]
        probes = {width: _Probe(target, width, folder) for width in widths}
        return _measured(target, probes)


class _Probe:
    """The measuring code for vectors of one width."""

    def __init__(self, target: Target, width: int, folder: Path) -> None:
        from cffi import FFI

        ffi: Any = FFI()
        ffi.cdef(_DECLARATIONS)
        path = folder / f"probe{width}.so"
        source = (files("inarch.benchmark.probe") / "machine_probe.c").read_text()
        compile_library(
            {"machine_probe.c": f"#define VECTOR_BYTES {width}\n{source}"}, path, target=target
        )
        self.library: Any = ffi.dlopen(str(path))
        self.null = ffi.NULL
        self._kept = ffi.new("float[4096]")
        start = int(ffi.cast("intptr_t", self._kept))
        self.near: Any = ffi.cast("float *", start + -start % 64)
        """Memory in the first-level cache."""

    def nanoseconds(self, name: str, *arguments: Any) -> float:
        """Of one count of the probe: the least of several runs."""
        probe = getattr(self.library, name)
        count = 16
        while (elapsed := probe(count, *arguments)) < _RUN_NS / 4 and count < 1 << 40:
            count *= 2
        count = max(1, round(count * _RUN_NS / max(elapsed, 1.0)))
        return min(probe(count, *arguments) for _ in range(_RUNS)) / count


def _measured(target: Target, probes: dict[int, _Probe]) -> Machine:
    usual = target.machine
    widest = probes[max(probes)]
    ghz = _STEPS / widest.nanoseconds("probe_cycles")

    def cycles(name: str, *arguments: Any) -> float:
        return ghz * widest.nanoseconds(name, *arguments)

    def ports(name: str, steps: int) -> Ports:
        found = {w: p.nanoseconds(name, p.near) * ghz / steps for w, p in probes.items()}
        return Ports(tuple((width, round(1 / each, 2)) for width, each in found.items()))

    caches, line = _caches(usual)
    memory = _Memory(widest, max(_FAR_BYTES, 4 * caches[-1].bytes), line, cycles)
    try:
        # Parts that little else pushes out; of one that is shared, what does not fit the one before.
        l1, l2, *shared = caches
        parts = [l1.bytes // 2, l2.bytes // 4, *(2 * l2.bytes for _ in shared)]
        found = [memory.of(nbytes) for nbytes in (*parts, memory.nbytes)]
    finally:
        memory.free()
    levels = [
        replace(cache, latency=latency, bandwidth=bandwidth)
        for cache, (latency, bandwidth) in zip(caches, found, strict=False)
    ]
    missed = cycles("probe_branch", 1) - cycles("probe_branch", 0)
    return Machine(
        name=MEASURED,
        ghz=round(ghz, 2),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else usual.cores,
        line_bytes=line,
        fma_latency=round(cycles("probe_fma_latency", widest.near) / _STEPS, 1),
        branch_miss=max(1.0, round(2 * missed, 1)),  # every second one is foreseen by chance
        call=round(cycles("probe_call", widest.near), 1),
        fma=ports("probe_fma", _CHAINS),
        loads=ports("probe_loads", _STEPS),
        stores=ports("probe_stores", _STEPS),
        l1=levels[0],
        l2=levels[1],
        l3=levels[2] if len(levels) > 2 else None,
        dram=Memory(*found[-1]),
        tlb=_tlb(widest, line, cycles),
        fork=usual.fork if (shared := fork_ns(str(target))) is None else round(shared * ghz),
    )


class _Memory:
    """Memory in large pages, so that translation takes little of what is measured."""

    def __init__(self, probe: _Probe, nbytes: int, line: int, cycles: Callable[..., float]) -> None:
        self.nbytes = nbytes
        self._probe, self._line, self._cycles = probe, line, cycles
        self._start = _allocated(probe, nbytes, is_large=True)

    def of(self, nbytes: int) -> tuple[float, float]:
        """The cycles of a load from so many bytes, and the bytes that a cycle brings in order."""
        ring = self._probe.library.probe_ring(self._start, nbytes // self._line, self._line, 0, 1)
        assert ring == 0, "there was more memory a moment ago"
        latency = self._cycles("probe_chase", self._start) / _STEPS
        whole = nbytes // 1024 * 1024
        return round(latency, 1), round(whole / self._cycles("probe_stream", self._start, whole), 1)

    def free(self) -> None:
        self._probe.library.probe_free(self._start)


def _allocated(probe: _Probe, nbytes: int, *, is_large: bool) -> Any:
    found = probe.library.probe_memory(nbytes, int(is_large))
    if found == probe.null:
        raise EnvironmentFault(
            f"measuring needs {nbytes >> 20} MiB of memory, which there are not; free some"
        )
    return found


def _tlb(probe: _Probe, line: int, cycles: Callable[..., float]) -> Tlb:
    """What loads take longer where each is of another page than where they are of lines side by side."""
    page = os.sysconf("SC_PAGE_SIZE")
    start = _allocated(probe, _MANY_PAGES * page, is_large=False)

    def more(pages: int) -> float:
        times: list[float] = []
        for step, own in ((page, line), (line, 0)):
            probe.library.probe_ring(start, pages, step, own, page // line)
            times.append(cycles("probe_chase", start) / _STEPS)
        return max(0.0, times[0] - times[1])

    try:
        few = _fitting(_PAGES, more, _MISSED)
        refill = more(4 * few)
        many = _fitting([n for n in (*_PAGES, *_MORE_PAGES) if n > 4 * few], more, 3 * refill)
        walk = more(min(_MANY_PAGES, 3 * many))
    finally:
        probe.library.probe_free(start)
    least = max(round(refill, 1), 0.1)
    return Tlb(page, few, least, many, max(round(walk, 1), least))


def _fitting(counts: Sequence[int], more: Callable[[int], float], least: float) -> int:
    """The last of `counts` before loads take `least` cycles longer."""
    fits = counts[0]
    for count in counts:
        if more(count) > least:
            break
        fits = count
    return fits


def _caches(usual: Machine) -> tuple[list[Cache], int]:
    """The levels of data caches, whose times are still to be measured, and the bytes of a line."""
    known = [usual.l1, usual.l2, *([usual.l3] if usual.l3 is not None else [])]
    found: dict[int, Cache] = {}
    line = usual.line_bytes
    for index in sorted(_CACHES.glob("index*")):
        try:
            kind, level, size, ways, own = (
                (index / name).read_text().strip()
                for name in (
                    "type",
                    "level",
                    "size",
                    "ways_of_associativity",
                    "coherency_line_size",
                )
            )
        except OSError:
            continue
        numbers = (level, size.removesuffix("K"), ways, own)
        if kind == "Instruction" or not all(n.isdecimal() and int(n) > 0 for n in numbers):
            continue
        at, line = int(level), int(own)
        found[at] = Cache(int(size.removesuffix("K")) << 10, int(ways), 1.0, 1.0)
    if found:  # the system says of all what there is
        known = [found[at] if at in found else known[at - 1] for at in range(1, max(2, *found) + 1)]
    return known, line
