"""What one core makes of a product: a tile of results in registers, and what each step loads for it.

A step of a tile of `m` rows by `v` vectors multiplies m * v times, and loads m elements and v vectors. Few
columns in a block of a loop are few vectors: the rest of the registers is for rows, and loads take longer
than multiply-adds. Few rows are too few sums to add to while others are under way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from inarch.machine.machine import Machine
from inarch.machine.target import Target


@dataclass(frozen=True)
class Core:
    """A machine, as code for a target uses it."""

    machine: Machine
    vector_bytes: int
    registers: int

    @staticmethod
    def of(machine: Machine, target: Target) -> Core:
        """The machine with the target's vectors and registers."""
        return Core(machine, target.vector_bytes, target.vector_registers)

    def multiplying(self, points: int, element: int) -> float:
        """Cycles of so many multiply-adds of elements of so many bytes, at their best."""
        lanes = self.vector_bytes // element
        return points / (lanes * self.machine.fma.of(self.vector_bytes))

    def slowness(self, rows: int, columns: int, element: int) -> float:
        """How many times longer than at their best multiply-adds of rows by columns of results take: >= 1."""
        return _slowness(self, rows, math.ceil(columns * element / self.vector_bytes))


@lru_cache(maxsize=4096)
def _slowness(core: Core, rows: int, vectors: int) -> float:
    best = math.inf
    for v in range(1, min(vectors, core.registers - 2) + 1):
        for m in range(1, min(rows, (core.registers - 1 - v) // v) + 1):
            cycles = 0.0
            for wide, across in ((v, vectors // v), (vectors % v, 1)):
                each = rows // m * _step(core, m, wide) + _step(core, rows % m, wide)
                cycles += across * each
            best = min(best, cycles)
    return best * core.machine.fma.of(core.vector_bytes) / (rows * vectors)


def _step(core: Core, m: int, v: int) -> float:
    """Cycles of a step of a tile: of its multiply-adds, loads, or until a sum can be added to again."""
    if m == 0 or v == 0:
        return 0.0
    machine, width = core.machine, core.vector_bytes
    ports, loads = machine.fma.of(width), machine.loads.of(width)
    return max(m * v / ports, (m + v) / loads, machine.fma_latency)
