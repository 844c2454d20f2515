"""What it is worth to run nests block by block, in cycles of bringing what they hand on and share."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.ir import SSAValue

from inarch.dialects.loop.memory import buffer_shape, memref_of, nbytes
from inarch.dialects.loop.nest import NestOp
from inarch.ir.types import dtype_of
from inarch.machine.machine import Machine
from inarch.passes.loop.nests.contraction import match_contraction
from inarch.passes.loop.nests.edge import is_elementwise
from inarch.passes.loop.tiling.group import Group

_PARTS = (8, 4, 2, 1)
"""The scratch of a block may take such a part of the second-level cache, beside what all blocks read."""


@dataclass(frozen=True)
class Plan:
    """How to run a group."""

    blocks: tuple[int, ...]
    """Points of each class a turn."""
    gain: float
    """Cycles of one core."""
    again: int
    """Bytes that are read by more than one turn, each time they are."""
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
    """The best of some sizes: one point a turn of all classes but the last, and of that many, or `rows`."""
    one = (1,) * len(group.sizes)
    row = max(1, _scratch_bytes(group, one))
    most = [rows] if rows else [max(1, machine.l2.bytes // (part * row)) for part in _PARTS]
    size = group.sizes[-1]
    counts = dict.fromkeys(min(size, each if rows else _even(size, each)) for each in most)
    return max((_plan(group, machine, (*one[:-1], each)) for each in counts), key=_of_sizes)


def _of_sizes(plan: Plan) -> tuple[float, int]:
    """What is greater of the better size: it gains more, or as much with less that is read again."""
    return plan.gain, -plan.again


def _plan(group: Group, machine: Machine, blocks: tuple[int, ...]) -> Plan:
    before = sum(nbytes(memref_of(buffer)) for buffer in group.scratch)
    after = _scratch_bytes(group, blocks)
    again, lost = _read_again(group, blocks, after, machine)
    return Plan(blocks, _handed_on(group, before, after, machine) - lost, again, before, after)


def _even(size: int, most: int) -> int:
    """The largest block of at most `most` points that divides the size, if it is not too small for that."""
    dividing = max(block for block in range(1, min(size, most) + 1) if size % block == 0)
    turns = math.ceil(size / most)
    even = math.ceil(size / turns)
    return dividing if 2 * dividing > even else even


def _scratch_bytes(group: Group, blocks: tuple[int, ...]) -> int:
    """Of the scratch of a turn: the most that is needed at once."""
    last = {value: at for at, nest in enumerate(group.nests) for value in nest.operands}
    live: set[SSAValue] = set()
    most = 0
    for at, nest in enumerate(group.nests):
        live |= {out for out in nest.outs if out in group.scratch}
        ending = {value for value in live if last[value] == at}
        # An elementwise one writes where it reads for the last time (`update-in-place`).
        shared = is_elementwise(nest) and any(
            value in ending and memref_of(value) == memref_of(nest.outs[0]) for value in nest.ins
        )
        total = sum(_part_bytes(group, value, blocks) for value in live)
        most = max(most, total - shared * _part_bytes(group, nest.outs[0], blocks))
        live -= ending
    return most


def _part_bytes(group: Group, buffer: SSAValue, blocks: tuple[int, ...]) -> int:
    """Of a turn's part of a scratch buffer."""
    points = math.prod(buffer_shape(buffer))
    for which, (size, block) in enumerate(zip(group.sizes, blocks, strict=True)):
        if group.dimension(buffer, which) is not None:
            points = points // size * block
    return points * dtype_of(memref_of(buffer).element_type).nbytes


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


def _read_again(
    group: Group, blocks: tuple[int, ...], after: int, machine: Machine
) -> tuple[int, float]:
    """Bytes that several turns read, and cycles lost on them where they do not stay in the second cache.

    A product hides what its multiply-adds take longer than.
    """
    turns = [math.ceil(size / block) for size, block in zip(group.sizes, blocks, strict=True)]
    parts: dict[SSAValue, int] = {}
    traffic: dict[int, int] = {}
    for position, operands in enumerate(group.operands):
        own = [classes[position] for classes in group.classes]
        for operand in operands:
            if operand.value in group.scratch:
                continue
            moving = [operand.uses(at) for at in own]
            again = math.prod(count for count, uses in zip(turns, moving, strict=True) if not uses)
            if again == 1:
                continue
            whole = nbytes(memref_of(operand.value))
            part = whole // math.prod(n for n, uses in zip(turns, moving, strict=True) if uses)
            parts[operand.value] = max(parts.get(operand.value, 0), part)
            traffic[position] = traffic.get(position, 0) + whole * (again - 1)
    kept = after + sum(parts.values())
    if kept <= machine.l2.bytes:
        return sum(traffic.values()), 0.0
    lost = 0.0
    for position, moved in traffic.items():
        nest = group.nests[position]
        cycles = moved / _bandwidth(kept, machine)
        lost += max(0.0, cycles - _hidden(nest, machine)) if match_contraction(nest) else cycles
    return sum(traffic.values()), lost


def _hidden(nest: NestOp, machine: Machine) -> float:
    """Cycles of a product's multiply-adds, at their best: the more hides behind them, the less it matters."""
    widest, ports = machine.fma.by_bytes[-1]
    lanes = widest // dtype_of(memref_of(nest.outs[0]).element_type).nbytes
    return math.prod(nest.sizes) / (lanes * ports)


def _bandwidth(held: int, machine: Machine) -> float:
    """Bytes a cycle from where buffers of so many bytes are: half a cache has what came last."""
    for cache in (machine.l2, machine.l3):
        if cache is not None and 2 * held <= cache.bytes:
            return cache.bandwidth
    return machine.dram.bandwidth
