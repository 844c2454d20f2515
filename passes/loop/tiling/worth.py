"""What it is worth to run nests block by block, in cycles of bringing what they hand on and share."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.ir import SSAValue

from inarch.dialects.loop.memory import buffer_shape, memref_of, nbytes
from inarch.ir.types import dtype_of
from inarch.machine.machine import Machine
from inarch.passes.loop.nests.contraction import match_contraction
from inarch.passes.loop.tiling.group import Group

_SCRATCH = 4
"""The part of the second-level cache that the scratch of a block may take, beside what all blocks read."""


@dataclass(frozen=True)
class Plan:
    """How to run a group."""

    blocks: tuple[int, ...]
    """Points of each class a turn."""
    gain: float
    """Cycles of one core."""
    before: int
    """Bytes of the buffers that become scratch of a turn."""
    after: int

    @property
    def merit(self) -> tuple[float, int]:
        """What is greater of the better one of two: it gains more, or as much with less memory."""
        return self.gain, self.before - self.after


def least_bytes(machine: Machine) -> int:
    """What nests hand on in less is near already: blocks gain nothing."""
    return machine.l2.bytes // 2 + 1


def plan_of(group: Group, machine: Machine, rows: int) -> Plan:
    """Blocks of one point of all classes but the last, and of that as many as have room, or `rows`."""
    size = group.sizes[-1]
    one = (1,) * len(group.sizes)
    row = max(1, _scratch_bytes(group, one))
    most = rows or max(1, machine.l2.bytes // (_SCRATCH * row))
    blocks = (*one[:-1], min(size, most if rows else _even(size, most)))
    before = sum(nbytes(memref_of(buffer)) for buffer in group.scratch)
    after = _scratch_bytes(group, blocks)
    gain = _handed_on(group, before, after, machine) - _read_again(group, blocks, after, machine)
    return Plan(blocks, gain, before, after)


def _even(size: int, most: int) -> int:
    """The largest block of at most `most` points that divides the size, if it is not too small for that."""
    dividing = max(block for block in range(1, min(size, most) + 1) if size % block == 0)
    turns = math.ceil(size / most)
    even = math.ceil(size / turns)
    return dividing if 2 * dividing > even else even


def _scratch_bytes(group: Group, blocks: tuple[int, ...]) -> int:
    """Of all scratch of a turn."""
    total = 0
    for buffer in group.scratch:
        points = math.prod(buffer_shape(buffer))
        for which, (size, block) in enumerate(zip(group.sizes, blocks, strict=True)):
            if group.dimension(buffer, which) is not None:
                points = points // size * block
        total += points * dtype_of(memref_of(buffer).element_type).nbytes
    return total


def _handed_on(group: Group, before: int, after: int, machine: Machine) -> float:
    """Cycles saved of writing and reading what nests hand on: it comes from nearer.

    Products hide that behind their multiply-adds, wherever it is: two of them alone gain nothing.
    """
    moved = sum(
        nbytes(memref_of(operand.value))
        for nest, operands in zip(group.nests, group.operands, strict=True)
        for operand in operands
        if operand.value in group.scratch and match_contraction(nest) is None
    )
    return moved / _bandwidth(before, machine) - moved / _bandwidth(after, machine)


def _read_again(group: Group, blocks: tuple[int, ...], after: int, machine: Machine) -> float:
    """Cycles lost on what several turns read, where it does not stay in the second-level cache."""
    outside = {
        (operand.value, position): operand
        for position, operands in enumerate(group.operands)
        for operand in operands
        if operand.value not in group.scratch
    }
    turns = [math.ceil(size / block) for size, block in zip(group.sizes, blocks, strict=True)]
    parts: dict[SSAValue, tuple[int, int]] = {}
    for (value, position), operand in outside.items():
        part = nbytes(memref_of(value))
        again = 1
        for which, count in enumerate(turns):
            if operand.uses(group.classes[which][position]):
                part //= count
            else:
                again *= count
        parts[value] = max(parts.get(value, (0, 0)), (part, again))
    kept = after + sum(part for part, again in parts.values() if again > 1)
    if kept <= machine.l2.bytes:
        return 0.0
    return sum(
        part * (again - 1) * _others(again, turns) / machine.far.bandwidth
        for part, again in parts.values()
    )


def _others(again: int, turns: list[int]) -> int:
    """How many parts of an operand there are that are read so often each."""
    return max(1, math.prod(turns) // again)


def _bandwidth(held: int, machine: Machine) -> float:
    """Bytes a cycle from where buffers of so many bytes are: half a cache has what came last."""
    return (machine.l2 if held < least_bytes(machine) else machine.far).bandwidth
