"""What a machine is made of, as far as choices depend on it: caches, translation, ports, latencies.

A machine is one file `inarch/machine/machines/<name>.toml` (`file.py` reads it), which says where its numbers
are from; other distributions add theirs in the group `inarch.machine.machines`, `--load FILE` and
`--machine FILE` for one run, and `inarch machine --measure` makes that of this computer. What instructions
there are is not said here: that is the target (`target.py`), and the machine is who runs them.

Units: bytes, cycles of one core, and amounts a cycle. The dimensionless factors of a cost stand where the
cost is.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

from inarch.core.once import cached_property
from inarch.core.outside.value import Limit, Value

_LARGEST = 1 << 50
"""Bytes, cycles, ...: more is a mistake."""


def _is_some(number: float) -> bool:
    return 0 < number <= _LARGEST


Amount = Annotated[float, Limit("a number > 0", _is_some)]
Count = Annotated[int, Limit("a whole number > 0", _is_some)]
Name = Annotated[str, Limit("a string that is not empty", bool)]


@dataclass(frozen=True)
class Cache:
    """A level of data caches, as one core sees it."""

    bytes: Count
    """Its size; of a shared one, what one busy core may count on."""
    ways: Count
    """Lines of one set."""
    latency: Amount
    """Cycles from a load of an address to its use."""
    bandwidth: Amount
    """Bytes a cycle that one core reads in order."""


@dataclass(frozen=True)
class Memory:
    """What is behind the caches."""

    latency: Amount
    """Cycles from a load of an address to its use."""
    bandwidth: Amount
    """Bytes a cycle that one core reads in order."""


@dataclass(frozen=True)
class Tlb:
    """How addresses of data are translated: two levels of buffers, and a walk of the tables."""

    page_bytes: Count
    entries: Count
    """Pages of the first level."""
    refill: Amount
    """Cycles that a page of the second level adds to a load."""
    second_entries: Count
    """Pages of the second level."""
    walk: Amount
    """Cycles that a page of neither adds."""


@dataclass(frozen=True)
class Ports:
    """Vectors a cycle of one kind of instruction, by their bytes."""

    by_bytes: tuple[tuple[int, float], ...]
    """`(bytes of a vector, vectors a cycle)`, the shortest first."""

    @classmethod
    def read_from(cls, at: Value) -> Ports:
        """Of a table of vectors a cycle by bytes."""
        found: list[tuple[int, float]] = []
        for key, value in at.entries().items():
            if not re.fullmatch(r"[1-9]\d{0,3}", key):
                raise value.located(
                    f"{at.path}: expected bytes of a vector such as 32, found '{key}'"
                )
            found.append((int(key), value.of(Amount)))
        if not found:
            raise at.located(f"{at.path}: expected some vectors, such as 16 = 2; found none")
        return cls(tuple(sorted(found)))

    def of(self, nbytes: int) -> float:
        """Vectors of `nbytes` a cycle; shorter than all known ones as the shortest, longer in pieces.

        >>> Ports(((16, 2.0), (32, 2.0))).of(64)
        1.0
        """
        found = self.by_bytes[0][1]
        for width, count in self.by_bytes:
            if width <= nbytes:
                found = count
        return found * min(1.0, self.by_bytes[-1][0] / nbytes)

    def cycles(self, nbytes: int) -> float:
        """Cycles of one instruction on vectors of `nbytes`, of which many are in flight."""
        return 1 / self.of(nbytes)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One core, what it shares, and how many there are. Every choice that depends on a machine asks it."""

    name: Name
    ghz: Amount
    """Cycles a nanosecond, of one busy core."""
    cores: Count
    line_bytes: Count
    """Of a cache line, at all levels."""
    fma_latency: Amount
    """Cycles until the sum of a multiply-add can be added to again."""
    branch_miss: Amount
    """Cycles that a branch costs that was not foreseen: the end of a loop."""
    call: Amount
    """Cycles around one call in a loop: addresses, the call, the return."""
    fma: Ports
    """Multiply-adds."""
    loads: Ports
    """Loads from the first-level cache, broadcasts of one element among them."""
    stores: Ports
    """Stores to the first-level cache."""
    l1: Cache
    l2: Cache
    l3: Cache | None = None
    """None where there is none."""
    dram: Memory
    tlb: Tlb
    fork: Amount = 800.0
    """Cycles in which a loop is given to one more thread that waits for it, and that is waited for.

    By default 0.2 us at 4 GHz, which was measured on Zen 4 and 5; `inarch machine --measure` measures it.
    """
    cpus: str = ""
    """Which CPUs it is, as Linux numbers them: `AuthenticAMD 25: 0-15, 32-47` is a vendor, a family, models;
    `0x41: 0xd0c` is Arm's implementer and part. Empty: none is known by it."""

    def is_of(self, family: str, model: int) -> bool:
        """Whether the CPU of that number is such a machine.

        >>> zen3 = Machine.__new__(Machine)
        >>> object.__setattr__(zen3, "cpus", "AuthenticAMD 25: 0-15, 32-47")
        >>> zen3.is_of("AuthenticAMD 25", 33), zen3.is_of("AuthenticAMD 25", 17)
        (True, False)
        """
        own, _, models = self.cpus.partition(":")
        return own == family and any(first <= model <= last for first, last in ranges(models))

    @property
    def summary(self) -> str:
        """One line for lists."""
        caches = [each for each in (self.l1, self.l2, self.l3) if each is not None]
        sizes = ", ".join(f"{each.bytes >> 10}" for each in caches)
        return f"{self.ghz:g} GHz, {self.cores} cores, caches of {sizes} KiB"

    @cached_property
    def last(self) -> Cache:
        """The cache before memory."""
        return self.l3 or self.l2

    @cached_property
    def own(self) -> int:
        """Bytes that a core counts on: its part of the third-level cache, at most eight of the second.

        Others have the rest of a third level that is shared, also those that a virtual machine does not show.
        2048 cubed on Zen 3, in blocks of 2, 4 and 8 MiB: 0.99, 0.97 and 0.96 of NumPy's speed.
        """
        if self.l3 is None:
            return self.l2.bytes
        return max(self.l2.bytes, min(self.l3.bytes // self.cores, 8 * self.l2.bytes))

    @cached_property
    def far(self) -> Memory:
        """Behind the second level: half the time from the third one, half from memory.

        Who knows what else has run. Without a third level, memory.
        """
        if self.l3 is None:
            return self.dram
        latency = (self.l3.latency + self.dram.latency) / 2
        return Memory(latency, 2 / (1 / self.l3.bandwidth + 1 / self.dram.bandwidth))

    @cached_property
    def begin(self) -> float:
        """Cycles until a kernel works at its pace, and until it has ended: what no size changes.

        A first load, a first sum and a last one, and the end of the loop, which is not foreseen.
        """
        return self.l1.latency + 2 * self.fma_latency + self.branch_miss

    def crowds(self, rows: int, nbytes: int, cache: Cache | None = None) -> bool:
        """Whether `rows` lines `nbytes` apart fall into sets of a cache (the first) too few for them."""
        cache = cache or self.l1
        span = cache.bytes // cache.ways
        return rows > cache.ways * (span // math.gcd(nbytes, span))

    def collide(self, offsets: Iterable[int]) -> bool:
        """Whether more lines of these bytes share a set of the first-level cache than it has ways."""
        sets = self.l1.bytes // self.l1.ways // self.line_bytes
        lines = {offset // self.line_bytes for offset in offsets}
        return max(Counter(line % sets for line in lines).values(), default=0) > self.l1.ways


def ranges(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of a text such as `0-15, 0xd0c`, both ends included. Raises ValueError for another text."""
    for part in text.split(","):
        if (found := re.fullmatch(r"\s*(\w+)(?:-(\w+))?\s*", part)) is None:
            raise ValueError(part)
        first = int(found[1], 0)
        yield first, first if found[2] is None else int(found[2], 0)
