"""What a nest takes that no kernel does, and how often it runs: the one cost has both kinds."""

from __future__ import annotations

import math

from xdsl.dialects import arith
from xdsl.ir import Operation

from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.indirect import is_indirect
from inarch.dialects.loop.memory import buffer_shape, memref_of, nbytes
from inarch.dialects.loop.nest import NestOp, YieldOp
from inarch.ir.types import dtype_of
from inarch.machine.machine import Machine
from inarch.machine.operations import operations
from inarch.machine.target import Target
from inarch.passes.tensorize.unify.strided import strided_nest
from inarch.passes.tensorize.unsuitable import unsuitable
from inarch.passes.tensorize.weigh.cost import Costs
from inarch.passes.tensorize.weigh.plain import chain_cycles, is_chain, plain_cycles


def turns_of(op: Operation) -> int:
    """How often an op runs in a call: the likely turns of the loops around it, one of a `loop.while`."""
    turns, parent = 1, op.parent_op()
    while parent is not None:
        if isinstance(parent, ForOp):
            turns *= max(1, parent.likely_turns)
        parent = parent.parent_op()
    return turns


def multiply_adds_in(op: NestOp) -> int:
    """Products that the nest sums up, as those of matrices and convolutions; 0 of what sums up none."""
    sums = op.has_reduction and any(isinstance(e, arith.MulfOp) for e in op.body.block.ops)
    return math.prod(op.sizes) if sums else 0


def nest_cycles(op: NestOp, target: Target, machine: Machine) -> float:
    """Cycles of one core that the nest takes without a kernel: its operations, or bringing its operands.

    Of a product what `plain_cycles` says, as kernels are weighed against; of what has no vector form (indices
    that are read, running sums, floats that are reduced one after the other) one number after the other, and
    a chain no faster than its latency; else vectors at the pace of multiply-adds.
    """
    points = math.prod(op.sizes)
    if not points:
        return 0.0
    costs, touched = Costs(machine), 0.0
    for value in dict.fromkeys([*op.ins, *op.outs]):
        kind = memref_of(value)
        most = points * dtype_of(kind.element_type).nbytes
        size = min(nbytes(kind), most) if math.prod(buffer_shape(value)) else 0
        touched += size / machine.line_bytes * costs.origin(size).line
    if multiply_adds_in(op) and unsuitable(op) is None:
        return plain_cycles(strided_nest(op), target, machine) + touched
    element = max(dtype_of(memref_of(value).element_type).nbytes for value in op.outs)
    waits = 0.0
    if op.has_reduction and unsuitable(op) is None and is_chain(nest := strided_nest(op)):
        waits = chain_cycles(nest, machine)
    is_serial = waits or is_indirect(op) or op.has_scan
    lanes = 1 if is_serial else max(1, target.vector_bytes // element)
    body = [each for each in op.body.block.ops if not isinstance(each, YieldOp | arith.ConstantOp)]
    each = max(1, sum(operations(inner.name) for inner in body))
    return max(each * points / lanes * machine.fma.cycles(lanes * element), waits, touched)
