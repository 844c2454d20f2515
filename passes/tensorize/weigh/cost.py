"""What a candidate costs: its calls, the copies around it; the machine's numbers for `weigh/traffic.py`.

Units: cycles of one core, bytes. A kernel states its own cycles, those of operands in the first-level cache.
What comes from further away is hidden behind multiply-adds as far as prefetching goes; the numbers here
are the rest: fitted to ResNet-50's layers within the network on Zen 4 (`benchmarks/choice.py`), where
weights come from memory. The order of magnitude is what matters for choosing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

L1_BYTES = 32 * 1024
"""First-level data cache."""
L2_BYTES = 1024 * 1024
"""Second-level cache."""
LINE_BYTES = 64
PAGE_BYTES = 4096
"""Prefetchers stop at its end, and lines so far apart share a set of the first-level cache."""
L1_WAYS = 8
CROWDED = 0.3
"""Of a kernel's cycles: added where the rows of its tile share a set (measured at 12 and 14 rows of A)."""
COPY_BYTES_PER_CYCLE = 8.0
"""Of a copy or an elementwise nest, read and written bytes together; rearranging ones are slower than
`memcpy`."""
CALL_CYCLES = 8.0
"""Around one call: addresses, the loop."""
PIECE = 0.005
"""Of a nest's cycles: for one more kernel, which must be compiled, and comes from memory."""


PLAIN_VECTOR = 8.0
"""Cycles for a vector of points of a nest that is compiled without a kernel: far above what was seen."""
PLAIN_BEGIN = 5000.0
"""Smaller nests do not matter."""


@dataclass(frozen=True)
class Level:
    """What it adds that data come from a level of the memory: not bandwidth, but what is not hidden."""

    line: float
    """Cycles a line."""
    run: float
    """Cycles a call and a run of consecutive lines: more runs are more streams to be prefetched."""
    begin: float
    """Cycles a line that is read of a run that does not go on where the call before ended: not prefetched."""
    wait: float
    """Cycles a call whose epilogue reads such runs: nothing hides the latency."""


L1 = Level(0.0, 0.0, 0.0, 0.0)
L2 = Level(0.5, 1.0, 0.5, 40.0)
MEMORY = Level(1.5, 6.0, 10.0, 500.0)
"""The third-level cache or memory: who knows what else has run."""
WRITTEN = 0.15
"""Of the cycles of such a line where it is written: stores wait for nobody."""
PREFETCHED = 0.5
"""Of the cycles of a line: for packed operands, which our kernels prefetch."""


def copy_cycles(nbytes: float) -> float:
    """Of reading or writing so many bytes in a copy, a fill, or an elementwise nest."""
    return nbytes / COPY_BYTES_PER_CYCLE


def crowds(rows: int, nbytes: int) -> bool:
    """Whether lines so far apart fall into sets of the first-level cache that have too few ways for them."""
    return rows > L1_WAYS * (PAGE_BYTES // math.gcd(nbytes, PAGE_BYTES))


def call_cycles(calls: int, cycles: float) -> float:
    """Of that many calls of a kernel that takes `cycles` each."""
    return calls * (cycles + CALL_CYCLES)


def plain_cycles(points: int, vector_bytes: int) -> float:
    """What a nest takes without a kernel at the most: usually it is 1 or 2 cycles a vector."""
    return PLAIN_BEGIN + PLAIN_VECTOR * points * 4 / max(4, vector_bytes)
