"""What a nest takes without a kernel, as far as that can be known of another compiler: an upper bound."""

from __future__ import annotations

import math

from inarch.dialects.loop.memory import memref_of
from inarch.ir.types import dtype_of
from inarch.machine.machine import Machine
from inarch.machine.target import Target
from inarch.passes.loop.schedule_nests import NEAR
from inarch.passes.tensorize.unify.strided import StridedNest

_VECTOR = 8.0
"""Cycles for a vector of points: far above what was seen of most nests, which is 1 or 2."""
_LEAST = 2500.0
"""Cycles. Smaller nests do not matter."""
_UNROLLED = 8
"""Points of a reduction that C compilers write out, so that neighbouring outputs become lanes."""
_EASY_VECTOR = 2.0
"""Cycles for a vector of such a nest: a load, a broadcast, a multiply-add, and a share of the store."""
_HELD_VECTOR = 1.2
"""The same where all that is loaded stays in registers, for every row."""


def plain_cycles(nest: StridedNest, target: Target, machine: Machine) -> float:
    """The most that the nest takes on a target's vectors as the C compiler makes it.

    Of operands in the first-level cache; what brings them there is to be added, as for a kernel.
    """
    return max(_in_vectors(nest, target), waits(nest, machine))


def waits(nest: StridedNest, machine: Machine) -> float:
    """Cycles in which sums wait for the terms before, those of outputs `side_by_side` together.

    Short ones do not: the next sum begins meanwhile.
    """
    if not is_in_order(nest) or _terms(nest) <= _UNROLLED:
        return 0.0
    points = math.prod([axis.size for axis in nest.axes])
    return points / side_by_side(nest) * machine.fma_latency


def is_in_order(nest: StridedNest) -> bool:
    """Whether the nest reduces floats: no C compiler may order them anew."""
    return dtype_of(memref_of(nest.write.buffer).element_type).is_float


def side_by_side(nest: StridedNest) -> int:
    """How many neighbouring outputs read neighbours: they are lanes, and chains of their own."""
    reductions = [at for at, axis in enumerate(nest.axes) if axis.is_reduction]
    terms = [read.strides for read in nest.reads if any(read.strides[at] for at in reductions)]
    for at, by in enumerate(nest.write.strides):
        along = [abs(strides[at]) for strides in terms]
        if at not in reductions and by == 1 and any(along) and max(along) <= NEAR:
            return nest.axes[at].size
    return 1


def _terms(nest: StridedNest) -> int:
    return math.prod([axis.size for axis in nest.axes if axis.is_reduction])


def _in_vectors(nest: StridedNest, target: Target) -> float:
    lanes = max(4, target.vector_bytes) // 4
    points = math.prod([axis.size for axis in nest.axes])
    reduction = _terms(nest)
    for at, (axis, by) in enumerate(zip(nest.axes, nest.write.strides, strict=True)):
        steps = {access.strides[at] for access in nest.reads}
        if by == 1 and len(nest.reads) > 1 and reduction <= _UNROLLED and steps <= {0, 1}:
            vectors = math.ceil(axis.size / lanes)
            is_held = reduction * vectors <= target.vector_registers
            each = _HELD_VECTOR if is_held else _EASY_VECTOR
            return max(_LEAST, each * points / axis.size * vectors)
    return max(_LEAST, _VECTOR * points / lanes)
