"""What a reduction takes without a kernel, as C compilers make it.

    for m: acc[N] = 0; for k: for n: acc[n] += A[m, k] B[k, n]

`schedule-nests` has the neighbouring outputs innermost where what they read moves along: they are the lanes
of vectors, and their sums are in registers where these are few, else in the first-level cache. Other sums of
floats are added up one number after the other, for no C compiler may order them anew. What brings the
operands into that cache is to be added, as for a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.rounding import applied_in
from inarch.ir.types import dtype_of
from inarch.machine.machine import Machine
from inarch.machine.target import Target
from inarch.machine.work import body_cycles
from inarch.passes.loop.schedule_nests import NEAR
from inarch.passes.tensorize.unify.strided import StridedNest

_UNROLLED = 8
"""Terms of a sum that C compilers write out; the next sum begins meanwhile."""


def plain_cycles(nest: StridedNest, target: Target, machine: Machine) -> float:
    """Cycles of a reduction with operands in the first-level cache: its work, or waiting for sums."""
    functions = applied_in(nest.nest.body.block)
    element, points, terms = nest.write.nbytes, _points(nest), _terms(nest)
    lanes, along = max(1, target.vector_bytes // element), _along(nest)
    moved = [read.strides for read in nest.reads if any(read.strides[at] for at in _reduced(nest))]
    waits = terms > _UNROLLED and _is_in_order(nest)
    if along is None:
        together = 1 if _is_in_order(nest) else lanes
        loads = len(moved) * machine.loads.cycles(together * element)
        step = max(loads, body_cycles(functions, together * element, machine))
        return points / together * max(step, waits * machine.fma_latency)
    size = nest.axes[along].size
    # Rows that are written out as a whole lie side by side in vectors.
    pieces = size / lanes if size * terms <= 2 * _UNROLLED else _pieces(size, lanes)
    steps = [abs(strides[along]) for strides in moved]
    is_held = _is_held(nest, math.ceil(size / lanes))
    loads, stores = sum(steps) + (not is_held), float(not is_held)
    # Every second element of two vectors is brought together by two operations.
    shuffles = sum(2 * (step - 1) for step in steps if step > 1)
    width = lanes * element
    vector = max(
        loads * machine.loads.cycles(width),
        stores * machine.stores.cycles(width),
        body_cycles(functions, width, machine) + shuffles * machine.fma.cycles(width),
    )
    # A sum in memory is added to when it has been stored and loaded.
    chain = machine.fma_latency + (0 if is_held else 2 * machine.l1.latency)
    row = terms * max(pieces * vector, waits * chain) + 2 * pieces * machine.stores.cycles(width)
    return points // terms // size * row


def row_of(nest: StridedNest) -> list[int]:
    """Points of each axis of what is done between two stores: all terms of neighbouring outputs."""
    along = _along(nest)
    return [
        axis.size if along is None or at == along or axis.is_reduction else 1
        for at, axis in enumerate(nest.axes)
    ]


def adds_numbers(nest: StridedNest) -> bool:
    """Whether the nest adds up floats one number after the other, and waits for each sum."""
    return _is_in_order(nest) and _terms(nest) > _UNROLLED and _along(nest) is None


def _is_in_order(nest: StridedNest) -> bool:
    """Whether the nest reduces floats: no C compiler may order them anew."""
    return dtype_of(memref_of(nest.write.buffer).element_type).is_float


def _is_held(nest: StridedNest, vectors: int) -> bool:
    """Whether a row of sums is in registers: two vectors, or more that are written out with inner terms."""
    return vectors <= 2 or vectors * nest.axes[_reduced(nest)[-1]].size <= 2 * _UNROLLED


def _along(nest: StridedNest) -> int | None:
    """The axis of neighbouring outputs that read neighbours."""
    reductions = _reduced(nest)
    terms = [read.strides for read in nest.reads if any(read.strides[at] for at in reductions)]
    for at, by in enumerate(nest.write.strides):
        steps = [abs(strides[at]) for strides in terms]
        if at not in reductions and by == 1 and any(steps) and max(steps) <= NEAR:
            return at
    return None


def _reduced(nest: StridedNest) -> Sequence[int]:
    return [at for at, axis in enumerate(nest.axes) if axis.is_reduction]


def _points(nest: StridedNest) -> int:
    return math.prod(axis.size for axis in nest.axes)


def _terms(nest: StridedNest) -> int:
    return math.prod(nest.axes[at].size for at in _reduced(nest))


def _pieces(size: int, lanes: int) -> int:
    """Vectors of a row, with shorter and shorter ones for its rest: 29 of 8 lanes are 8, 8, 8, 4, 1."""
    return size // lanes + (size % lanes).bit_count()
