"""What it is worth to run nests block by block, in cycles of bringing what they hand on and share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue

from inarch.dialects.loop.memory import buffer_shape, memref_of, nbytes
from inarch.dialects.loop.nest import NestOp
from inarch.ir.types import dtype_of
from inarch.machine.machine import Machine
from inarch.passes.loop.nests.contraction import match_contraction
from inarch.passes.loop.nests.edge import is_elementwise
from inarch.passes.loop.tiling.group import Group
from inarch.passes.loop.tiling.keys import Keys, keys_of

_PARTS = (4, 2)
"""The scratch of a block may take such a part of the second-level cache, beside what all blocks read."""
_PARTS_ALONE = (8, 4, 2)
"""The same where they read nothing together: small ones lose nothing, and threads share more turns."""


Along: TypeAlias = tuple[Keys, int] | None
"""The keys of a softmax, and how many are done at a time; None: all at once."""


@dataclass(frozen=True)
class Plan:
    """How to run a group."""

    blocks: tuple[int, ...]
    """Points of each class a turn."""
    gain: float
    """Cycles of one core."""
    again: int
    """Bytes that are read by more than one turn from beyond the second cache, each time they are."""
    before: int
    """Bytes of the buffers that become scratch of a turn."""
    after: int
    keys: Along = None

    @property
    def merit(self) -> tuple[float, int]:
        """What is greater of the better one of two: it gains more, or as much with less memory."""
        return self.gain, self.before - self.after


def least_bytes(machine: Machine) -> int:
    """What nests hand on in less is near already: blocks gain nothing."""
    return machine.l2.bytes // 2 + 1


def plan_of(group: Group, machine: Machine, rows: int, keys: int = 0) -> Plan:
    """The best of some sizes: one point a turn of all classes but the last, and of that many, or `rows`.

    Of a softmax with all keys at once, or with blocks of half of them, a quarter, ..., or of `keys`.
    """
    ways: list[Along] = [None] if not keys else []
    found = keys_of(group)
    if found is not None:
        ways += [(found, count) for count in _key_counts(group, found, keys)]
    plans = [plan for way in ways or [None] for plan in _plans(group, machine, rows, way)]
    return max(plans, key=_of_sizes)


def _plans(group: Group, machine: Machine, rows: int, along: Along) -> Iterator[Plan]:
    one = tuple(_fewest(group, which, machine) for which in range(len(group.sizes)))
    row = max(1, _scratch_bytes(group, (*one[:-1], 1), along))
    parts = _PARTS if _shares(group) else _PARTS_ALONE
    most = [rows] if rows else [max(1, machine.l2.bytes // (part * row)) for part in parts]
    size = group.sizes[-1]
    most = most if rows else [max(one[-1], _even(size, each)) for each in most]
    for count in dict.fromkeys(min(size, each) for each in most):
        yield _plan(group, machine, (*one[:-1], count), along)


def _fewest(group: Group, which: int, machine: Machine) -> int:
    """The smallest block of a class: of one along which the largest buffer lies in order, a line of it.

    Fewer are less than a vector: kernels that take the channels of an image side by side find none.
    """
    if not group.scratch:
        return 1
    largest = max(group.scratch, key=lambda buffer: nbytes(memref_of(buffer)))
    if group.dimension(largest, which) != len(buffer_shape(largest)) - 1:
        return 1
    line = machine.line_bytes // dtype_of(memref_of(largest).element_type).nbytes
    return min(group.sizes[which], line)


def _shares(group: Group) -> bool:
    """Whether the blocks of the last class read something that all of them do."""
    return any(
        not operand.uses(group.classes[-1][position]) and operand.value not in group.scratch
        for position, operands in enumerate(group.operands)
        for operand in operands
    )


def _key_counts(group: Group, keys: Keys, wanted: int) -> Iterator[int]:
    """Blocks of keys: at least as many as a product with them has columns, or else joining is most of it."""
    if wanted:
        if wanted < keys.size:
            yield wanted
        return
    columns = max(_columns(group, at) for at in keys.products)
    parts = 2
    while (count := math.ceil(keys.size / parts)) > columns:
        yield count
        parts *= 2


def _columns(group: Group, position: int) -> int:
    """Results of a product a row."""
    nest = group.nests[position]
    own = {classes[position] for classes in group.classes}
    sizes = zip(nest.iterators, nest.sizes, strict=True)
    return math.prod(
        size
        for at, (iterator, size) in enumerate(sizes)
        if at not in own and not iterator.is_reduction
    )


def _of_sizes(plan: Plan) -> tuple[float, int, int]:
    """What is greater of the better size: it gains more, reads less again, or takes less memory."""
    return plan.gain, -plan.again, -plan.after


def _plan(group: Group, machine: Machine, blocks: tuple[int, ...], along: Along) -> Plan:
    before = sum(nbytes(memref_of(buffer)) for buffer in group.scratch)
    after = _scratch_bytes(group, blocks, along)
    again, lost = _read_again(group, blocks, after, machine)
    if along is not None:
        lost += _joining(group, *along) / machine.l2.bandwidth
    gain = _handed_on(group, before, after, machine) - lost
    return Plan(blocks, gain, again, before, after, along)


def _joining(group: Group, keys: Keys, count: int) -> int:
    """Bytes moved to join blocks of keys: a part is written and read, the whole read and written."""
    turns = math.ceil(keys.size / count)
    of_row = sum(_columns(group, at) for at in keys.products)
    return 4 * turns * math.prod(group.sizes) * of_row * _element(group, keys)


def _element(group: Group, keys: Keys) -> int:
    return dtype_of(memref_of(group.nests[keys.weights].outs[0]).element_type).nbytes


def _even(size: int, most: int) -> int:
    """The largest block of at most `most` points that divides the size, if it is not too small for that."""
    dividing = max(block for block in range(1, min(size, most) + 1) if size % block == 0)
    turns = math.ceil(size / most)
    even = math.ceil(size / turns)
    return dividing if 2 * dividing > even else even


def _scratch_bytes(group: Group, blocks: tuple[int, ...], along: Along) -> int:
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
        total = sum(_part_bytes(group, value, blocks, along) for value in live)
        most = max(most, total - shared * _part_bytes(group, nest.outs[0], blocks, along))
        live -= ending
    return most if along is None else most + _running_bytes(group, blocks, along[0])


def _running_bytes(group: Group, blocks: tuple[int, ...], keys: Keys) -> int:
    """Of what is kept from block to block of keys, and joined with it: results, a maximum, a sum."""
    of_row = sum(_columns(group, at) for at in keys.products) + 1
    return 2 * math.prod(blocks) * of_row * _element(group, keys)


def _part_bytes(group: Group, buffer: SSAValue, blocks: tuple[int, ...], along: Along) -> int:
    """Of a turn's part of a scratch buffer."""
    points = math.prod(buffer_shape(buffer))
    for which, (size, block) in enumerate(zip(group.sizes, blocks, strict=True)):
        if group.dimension(buffer, which) is not None:
            points = points // size * block
    if along is not None and buffer in along[0].axes:
        points = points // along[0].size * along[1]
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
    """Bytes that several turns read and that do not stay in the second cache, and cycles lost on them.

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
        return 0, 0.0
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
