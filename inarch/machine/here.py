"""The cores and caches that this computer has, as Linux tells them in `/sys/devices/system/cpu`.

A machine's file is of a kind of CPU; how many cores there are, and how large the caches, differs from model
to model, and a virtual machine has a part of them. Ports, latencies and bandwidths stay the file's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from inarch.machine.machine import Cache, Machine

ROOT = Path("/sys/devices/system/cpu")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZES = {1: (4 << 10, 1 << 20), 2: (64 << 10, 256 << 20), 3: (256 << 10, 4 << 30)}
"""Level -> the least and the most bytes that are believed."""
_MOST_CORES = 4096


def as_here(machine: Machine, root: Path = ROOT) -> Machine:
    """The machine with the cores and caches of this computer.

    What cannot be read, or cannot be (an L2 of 1 KiB, none larger than the level before), stays the file's.
    """
    cores = _cores(root)
    found = {level: (nbytes, ways) for level, nbytes, ways in _caches(root / "cpu0" / "cache")}
    l1, l2 = _as(machine.l1, found.get(1)), _as(machine.l2, found.get(2))
    l3 = None if machine.l3 is None else _as(machine.l3, found.get(3))
    if not l1.bytes < l2.bytes <= (l3.bytes if l3 is not None else l2.bytes):
        l1, l2, l3 = machine.l1, machine.l2, machine.l3
    return replace(machine, cores=cores or machine.cores, l1=l1, l2=l2, l3=l3)


def _as(cache: Cache, found: tuple[int, int] | None) -> Cache:
    return cache if found is None else replace(cache, bytes=found[0], ways=found[1])


def _cores(root: Path) -> int:
    """Cores, however many processors each of them is; 0 where that is not told."""
    cores: set[tuple[str, str]] = set()
    for folder in root.glob("cpu[0-9]*/topology"):
        cores.add((_text(folder / "physical_package_id"), _text(folder / "core_id")))
    return (
        len(cores) if ("" not in {core for _, core in cores}) and len(cores) <= _MOST_CORES else 0
    )


def _caches(folder: Path) -> Iterator[tuple[int, int, int]]:
    """Level, bytes and ways of each cache of data that can be."""
    for index in sorted(folder.glob("index[0-9]*")):
        level, size = _text(index / "level"), re.fullmatch(r"(\d+)([KMG]?)", _text(index / "size"))
        ways = _text(index / "ways_of_associativity")
        if _text(index / "type") not in ("Data", "Unified") or not level.isdecimal() or not size:
            continue
        nbytes = int(size[1]) * _UNITS[size[2]]
        least, most = _SIZES.get(int(level), (1, 0))
        if least <= nbytes <= most and ways.isdecimal() and 0 < int(ways) <= nbytes >> 6:
            yield int(level), nbytes, int(ways)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
