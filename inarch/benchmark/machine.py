"""The machine that is measured: its name, its caches, and how fast its memory is."""

from __future__ import annotations

import platform
from pathlib import Path

from inarch.benchmark.harness import Harness
from inarch.machine.find import cpu_name
from inarch.machine.target import Target
from inarch.machine.toolchain import find_compiler

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_USUAL_BYTES = {"L1": 32 << 10, "L2": 1 << 20, "L3": 16 << 20}
"""Where the system does not say."""
_DRAM_BYTES = 128 << 20


def describe(target: Target) -> dict[str, str]:
    """The CPU, its caches, the compiler: what a reader of numbers must know."""
    compiler = find_compiler()
    caches = ", ".join(f"{name} {_size(size)}" for name, size in cache_bytes().items())
    return {
        "cpu": cpu_name(),
        "caches": caches,
        "target": str(target),
        "compiler": compiler.version.splitlines()[0],
        "system": f"{platform.system()} {platform.machine()}",
    }


def cache_bytes() -> dict[str, int]:
    """Sizes of the data caches of one core: `L1`, `L2`, `L3` (which others may share)."""
    found: dict[str, int] = {}
    for index in sorted(_CACHES.glob("index*")):
        try:
            kind = (index / "type").read_text().strip()
            level = (index / "level").read_text().strip()
            size = (index / "size").read_text().strip()
        except OSError:
            continue
        if kind != "Instruction" and size.endswith("K"):
            found[f"L{level}"] = int(size[:-1]) << 10
    return found or dict(_USUAL_BYTES)


def bandwidths(harness: Harness) -> dict[str, float]:
    """GB/s of a triad whose arrays fill three quarters of a cache; `DRAM`: of what fits in none."""
    caches = cache_bytes()
    # A shared last level is not ours alone: a quarter of it is.
    sizes = {name: size * 3 // 4 for name, size in caches.items()}
    last = list(caches)[-1]
    if len(caches) > 2:
        sizes[last] = max(caches[last] // 4, 2 * sizes[list(caches)[-2]])
    sizes["DRAM"] = max(_DRAM_BYTES, 4 * caches[last])
    return {name: harness.triad_gbps(size) for name, size in sizes.items()}


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"
