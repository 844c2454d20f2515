"""What a nest takes that no kernel does, and how often it runs: the one cost has both kinds."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from inarch.dialects.loop.control import CallOp, ForOp
from inarch.dialects.loop.indirect import is_indirect
from inarch.dialects.loop.memory import buffer_shape, memref_of, nbytes
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.rounding import applied_in
from inarch.ir.functions import is_layer
from inarch.ir.types import dtype_of
from inarch.machine.machine import Machine
from inarch.machine.target import Target
from inarch.machine.work import body_cycles
from inarch.passes.loop.nests.copied import is_copy, is_transposed
from inarch.passes.tensorize.unify.strided import StridedNest, strided_nest
from inarch.passes.tensorize.unsuitable import unsuitable
from inarch.passes.tensorize.weigh.candidates import stream_of
from inarch.passes.tensorize.weigh.cost import Costs, Traffic
from inarch.passes.tensorize.weigh.plain import plain_cycles, row_of
from inarch.passes.tensorize.weigh.traffic import CallLoop, traffic


class TripCounts:
    """How often the ops of a module run in a call of it."""

    def __init__(self, module: ModuleOp) -> None:
        self._calls: dict[str, list[CallOp]] = {}
        for op in module.walk():
            if isinstance(op, CallOp):
                self._calls.setdefault(op.callee.string_value(), []).append(op)

    def of(self, op: Operation) -> int:
        """The likely iterations of the loops around an op and around the calls of its function.

        A `loop.while` has one. Of a layer it is what one call of it does: each is told by itself.
        """
        iterations, function = _around(op)
        return (
            iterations
            if function is None or is_layer(function)
            else iterations * self._called(function)
        )

    def _called(self, function: FuncOp) -> int:
        """How often a call of the module calls a function; once one that nothing calls."""
        calls = self._calls.get(function.sym_name.data, [])
        found = [_around(call) for call in calls]
        return (
            sum(
                iterations * (1 if caller is None else self._called(caller))
                for iterations, caller in found
            )
            or 1
        )


def _around(op: Operation) -> tuple[int, FuncOp | None]:
    """The likely iterations of the loops around an op, and the function that they are in."""
    iterations, parent = 1, op.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        if isinstance(parent, ForOp):
            iterations *= max(1, parent.likely_trip_count)
        parent = parent.parent_op()
    return iterations, parent


def multiply_adds_in(op: NestOp) -> int:
    """Products that the nest sums up, as those of matrices and convolutions; 0 of what sums up none."""
    sums = op.has_reduction and any(isinstance(e, arith.MulfOp) for e in op.body.block.ops)
    return math.prod(op.sizes) if sums else 0


def _brought(value: SSAValue, accesses: int, machine: Machine) -> float:
    """Cycles of bringing the lines of a buffer that has so many accesses."""
    kind = memref_of(value)
    most = accesses * dtype_of(kind.element_type).nbytes
    size = min(nbytes(kind), most) if math.prod(buffer_shape(value)) else 0
    return size / machine.line_bytes * Costs(machine).origin(size).line


def nest_cycles(op: NestOp, target: Target, machine: Machine) -> float:
    """Cycles of one core that the nest takes without a kernel: its operations, or bringing its operands.

    Reductions take what `plain_cycles` says, to which memory adds what it adds to calls of a kernel, which
    they are compared with. Others are vectors at the pace of multiply-adds; of what has no vector form
    (indices that are read, running sums), one number after the other.
    """
    points = math.prod(op.sizes)
    if not points:
        return 0.0
    if op.has_reduction and unsuitable(op) is None:
        nest = strided_nest(op)
        busy = plain_cycles(nest, target, machine)
        return busy + Costs(machine).added(busy, _moved(nest, machine))
    element = max(dtype_of(memref_of(value).element_type).nbytes for value in op.outs)
    if is_copy(op) and is_transposed(op):
        return Costs(machine).copy(2 * points * element)  # of a part of the buffers, maybe
    # A line is read before it is written.
    touches = Counter([*op.ins, *op.outs])
    brought = {value: _brought(value, n * points, machine) for value, n in touches.items()}
    touched = sum(brought.values()) + sum(brought[value] for value in set(op.outs))
    lanes = 1 if is_indirect(op) or op.has_scan else max(1, target.vector_bytes // element)
    functions = applied_in(op.body.block)
    return max(points / lanes * body_cycles(functions, lanes * element, machine), touched)


def _moved(nest: StridedNest, machine: Machine) -> Traffic:
    """What memory does around the rows of the nest, as around calls of a kernel; constants come from far."""
    streams = [stream_of(nest, read, is_demanded=True) for read in nest.reads]
    streams.append(replace(stream_of(nest, nest.write, is_demanded=False), is_written=True))
    sizes, row = [axis.size for axis in nest.axes], row_of(nest)
    counts = [size // own for size, own in zip(sizes, row, strict=True)]
    loops = [CallLoop(at, count, False) for at, count in enumerate(counts) if count > 1]
    return traffic(streams, sizes, row, loops, Costs(machine))[1]
