"""What a scalar body takes: the one cost by which kernels, templates, nests and threads are weighed."""

from __future__ import annotations

from collections.abc import Iterable

from inarch.core.scalars.functions import operations
from inarch.machine.machine import Machine


def body_cycles(functions: Iterable[str], nbytes: int, machine: Machine) -> float:
    """Cycles of a body on one vector of `nbytes`: its operations, at the pace of multiply-adds.

    `functions` are those of meanings or ops of the IR, each as often as it is applied; a product that is
    added with one rounding is a part of the sum, and not among them. A copy takes one.
    """
    return max(1, sum(map(operations, functions))) * machine.fma.cycles(nbytes)
