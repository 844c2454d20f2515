"""Where blocked channels pay: connected ops gain what their convolutions save, less the relayouts.

Cycles of one core: stores of single elements and multiply-adds of vectors, so many of them as the layers of
ResNet-50 and MobileNetV2 say, each measured alone in both layouts on AMD Zen 4 with AVX-512. What a
convolution saves goes with its multiply-adds, more so where its windows do not read whole rows; but small
ones save the transposing of their outputs on the way from registers to memory.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue, Use

from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import ints, shape_of
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.graph.windows.conv_transpose import ConvTransposeOp
from inarch.machine.machine import Machine
from inarch.passes.graph.layout.roles import Role, elements

RELAYOUT = 1.3
"""Stores of an element: one side of the copy reads or writes single elements."""
SAVED = 1.5
"""Stores of an output of a convolution, at the least."""
SAVED_WINDOW = 0.2
"""Of the cycles of the multiply-adds, where windows have several taps."""
SAVED_POINT = 0.08
"""The same for windows of one tap."""
SAVED_SHORT_ROW = 10.0
"""Stores of an output of a depthwise convolution whose row-major rows do not fill a vector."""
SAVED_PHASE = 4.0
"""Stores of an output of a transposed one, at the least: row-major phases write every second pixel."""


F32_BYTES = 4


@dataclass(frozen=True)
class Rates:
    """What the costs are of: vectors of so many f32, on a machine."""

    lanes: int
    machine: Machine

    @property
    def store(self) -> float:
        """Cycles of storing one element."""
        return self.machine.stores.cycles(F32_BYTES)

    @property
    def term(self) -> float:
        """Cycles of one multiply-add, among those of a vector."""
        return self.machine.fma.cycles(self.lanes * F32_BYTES) / self.lanes


def worthwhile(
    found: Mapping[Operation, Role],
    rates: Rates,
    decide: Callable[[Sequence[Operation], bool], bool],
) -> dict[Operation, Role]:
    """The roles of the ops in those connected regions that save more than their relayouts cost.

    `decide` may say otherwise, of the ops of a region and whether that is so.
    """
    regions: defaultdict[Operation, dict[Operation, Role]] = defaultdict(dict)
    root = _connect(found)
    for op, role in found.items():
        regions[_root(op, root)][op] = role
    return {
        op: role
        for region in regions.values()
        if decide(list(region), _saved(region, rates) > _spent(region, rates))
        for op, role in region.items()
    }


def _connect(found: Mapping[Operation, Role]) -> dict[Operation, Operation]:
    """A forest: ops with one root pass blocked values among each other."""
    root = {op: op for op in found}
    for op, role in found.items():
        for position in role.operands:
            owner = op.operands[position].owner
            if isinstance(owner, Operation) and owner in found and found[owner].result:
                root[_root(op, root)] = _root(owner, root)
    return root


def _root(op: Operation, root: dict[Operation, Operation]) -> Operation:
    while root[op] is not op:
        root[op] = root[root[op]]
        op = root[op]
    return op


def _saved(region: Mapping[Operation, Role], rates: Rates) -> float:
    kinds = (ConvOp, ConvTransposeOp)
    return sum(_saved_by(op, rates) for op in region if isinstance(op, kinds))


def _saved_by(op: ConvOp | ConvTransposeOp, rates: Rates) -> float:
    if isinstance(op, ConvTransposeOp):
        inputs, _, *window = shape_of(op.w)
        terms = inputs // op.groups.value.data * math.prod(window) / math.prod(ints(op.strides))
        least, more = SAVED_PHASE * rates.store, SAVED_WINDOW * terms * rates.term
        return elements(op.out) * max(least, more)
    return _saved_by_convolution(op, rates)


def _saved_by_convolution(op: ConvOp, rates: Rates) -> float:
    """[outputs, inputs of a group, *window] are the weights: so many terms has an output."""
    outputs, (_, *terms) = elements(op.out), shape_of(op.w)
    if terms[0] == 1 and op.groups.value.data > 1:
        is_short = shape_of(op.out)[-1] < rates.lanes * ints(op.strides)[-1]
        return outputs * rates.store * (SAVED_SHORT_ROW if is_short else SAVED)
    part = SAVED_WINDOW if math.prod(terms[1:]) > 1 else SAVED_POINT
    return outputs * max(SAVED * rates.store, part * math.prod(terms) * rates.term)


def _spent(region: Mapping[Operation, Role], rates: Rates) -> float:
    """Relayouts into the region and out of it, each value once."""
    changed: set[SSAValue] = set()
    for op, role in region.items():
        for position in role.operands:
            operand = op.operands[position]
            if not _made_blocked(operand, region):
                changed.add(operand)
        for result in op.results:
            if role.result and any(not _takes_blocked(use, region) for use in result.uses):
                changed.add(result)
    moved = sum(elements(value) for value in changed if _moves(value))
    return moved * RELAYOUT * rates.store


def _made_blocked(value: SSAValue, region: Mapping[Operation, Role]) -> bool:
    owner = value.owner
    return isinstance(owner, Operation) and owner in region and region[owner].result


def _takes_blocked(use: Use, region: Mapping[Operation, Role]) -> bool:
    return use.operation in region and use.index in region[use.operation].operands


def _moves(value: SSAValue) -> bool:
    """Whether a relayout moves elements: with one pixel, both layouts are the same memory."""
    return not isinstance(value.owner, ConstantOp) and math.prod(shape_of(value)[2:]) > 1
