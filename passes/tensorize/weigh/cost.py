"""What a candidate costs on a machine, in cycles of one core: its calls, the copies around it, memory.

A kernel states its own cycles, those of operands in the first-level cache. What comes from further away is
hidden behind multiply-adds as far as prefetching goes; the factors here say how much of the machine's
latencies and bandwidths remains: fitted to ResNet-50's layers within the network on Zen 4
(`inarch bench layers`), where weights come from memory. The order of magnitude is what matters for choosing.
"""

from __future__ import annotations

from dataclasses import dataclass

from inarch.core.once import cached_property
from inarch.machine.machine import Cache, Machine, Memory

CROWDED = 0.3
"""Of a kernel's cycles: added where the rows of its tile share a set (measured at 12 and 14 rows of A)."""
PIECE = 0.005
"""Of a nest's cycles: for one more kernel, which must be compiled, and comes from memory."""
WRITTEN = 0.15
"""Of the cycles of such a line where it is written: stores wait for nobody."""
PREFETCHED = 0.5
"""Of the cycles of a line: for packed operands, which our kernels prefetch."""

_EXPOSED = 0.25
"""Of the time that bytes take from a level: what multiply-adds do not hide."""
_COPIED = 0.5
"""Of the bandwidth of the second level: what a copy gets that rearranges, from wherever."""
_STARTED = (18.2, 32.2)
"""`(latency + 18.2) / 32.2`: cycles of starting a stream. Prefetching hides most of a latency."""
_UNFORESEEN = (105 / 19, 322 / 19)
"""`(latency - 5.53) / 16.95`: cycles of a line that is not prefetched, of which many are in flight."""


@dataclass(frozen=True)
class Level:
    """What it takes that data come from a level of the memory."""

    line: float
    """Cycles a line, at the level's bandwidth."""
    run: float
    """Cycles a call and a run of consecutive lines: more runs are more streams to be prefetched."""
    begin: float
    """Cycles a line that is read of a run that does not go on where the call before ended: not prefetched."""


@dataclass(frozen=True)
class Traffic:
    """What the memory does around the calls of a nest, in cycles."""

    transfer: float
    """Of bringing everything at the bandwidths of where it is: multiply-adds go on meanwhile."""
    stalls: float
    """Of starts of streams, lines that are not foreseen, walks: nothing else is done."""
    loads: float = 0.0
    """Of reading what each call touches once from the first level: no line is brought there meanwhile."""

    def times(self, factor: float) -> Traffic:
        """So many times as much."""
        return Traffic(self.transfer * factor, self.stalls * factor, self.loads * factor)


@dataclass(frozen=True)
class Costs:
    """What things cost on a machine."""

    machine: Machine

    @cached_property
    def l1(self) -> Level:
        """What is in the first-level cache costs nothing more."""
        return Level(0.0, 0.0, 0.0)

    @cached_property
    def l2(self) -> Level:
        """What is in the second-level cache."""
        return self._level(self.machine.l2)

    @cached_property
    def l3(self) -> Level:
        """What a nest has left in the third-level cache; where there is none, in memory."""
        return self._level(self.machine.l3 or self.machine.dram)

    @cached_property
    def far(self) -> Level:
        """What is in the third-level cache or memory: who knows what else has run."""
        return self._level(self.machine.far)

    def _level(self, origin: Cache | Memory) -> Level:
        more, hidden = _STARTED
        known, flying = _UNFORESEEN
        return Level(
            line=self.machine.line_bytes / origin.bandwidth,
            run=(origin.latency + more) / hidden,
            begin=max(0.0, origin.latency - known) / flying,
        )

    def level(self, nbytes: float) -> Level:
        """Where something is found again after so many bytes have passed."""
        machine = self.machine
        if nbytes <= machine.l1.bytes:
            return self.l1
        if nbytes <= machine.l2.bytes:
            return self.l2
        # Other cores have their parts of the third level.
        own = 0.0 if machine.l3 is None else machine.l3.bytes / machine.cores
        return self.l3 if nbytes <= own else self.far

    def origin(self, nbytes: float) -> Level:
        """Where an operand of so many bytes is when a nest begins: half a cache holds what came last."""
        return self.level(2 * nbytes) if 2 * nbytes <= self.machine.l2.bytes else self.far

    def copy(self, nbytes: float) -> float:
        """Of reading or writing so many bytes in a copy, a fill, or an elementwise nest.

        Read and written bytes together; those that rearrange are slower than `memcpy`: 0.4 to 0.6 cycles an
        element of f32 were measured, from the second level of the caches as from the third
        (`backends/c/write/transpose.py`).
        """
        cycles = nbytes / (_COPIED * self.machine.l2.bandwidth)
        fits = nbytes <= self.machine.l2.bytes
        return cycles if fits else max(cycles, nbytes / self.machine.far.bandwidth)

    def translated(self, pages: int) -> float:
        """Of a call that turns to so many pages, again and again: walks, where no buffer holds them.

        What the second buffer holds is hidden behind multiply-adds: charged for, it made choices for
        ResNet-50 other than those that were measured.
        """
        tlb = self.machine.tlb
        return pages * tlb.walk if pages > tlb.second_entries else 0.0

    def exposed(self, transfer: float, stalls: float) -> float:
        """What memory adds to kernels that take longer than the transfers."""
        return _EXPOSED * transfer + stalls

    def added(self, kernels: float, traffic: Traffic) -> float:
        """What memory adds to so many cycles of kernels, of which they load for some.

        Both take the longer of kernels and of transfers with the loads, a quarter of the shorter one of what
        is left, and the stalls. So transfers hide behind multiply-adds, and do not behind loads: a matrix
        times a few vectors takes the sum of both.
        """
        loads = min(kernels, traffic.loads)
        longer = max(kernels, traffic.transfer + loads)
        shorter = min(kernels - loads, traffic.transfer)
        return longer + _EXPOSED * shorter + traffic.stalls - kernels

    def calls(self, count: int, cycles: float) -> float:
        """Of that many calls of a kernel that takes `cycles` each."""
        return count * (cycles + self.machine.call)
