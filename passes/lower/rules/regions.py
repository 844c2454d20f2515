"""Ops with bodies: loops with their states in place, and rows as views; `graph.if` is an `scf.if`."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, i1
from xdsl.dialects.memref import SubviewOp
from xdsl.ir import Block, Operation, Region, SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.call import CallOp
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.regions.body import yielded
from inarch.dialects.graph.regions.branch import IfOp
from inarch.dialects.graph.regions.repeat import WhileOp
from inarch.dialects.graph.regions.scan import ScanOp
from inarch.dialects.loop.control import CallOp as LoopCallOp
from inarch.dialects.loop.control import empty_loop
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.loop.nest import YieldOp
from inarch.dialects.loop.repeat import empty_while
from inarch.dialects.nest_spec import NestBuilder, same
from inarch.ir.types import i64, layout_of, mlir_type, moved_memref
from inarch.passes.lower.builder import LoopBuilder


def _lower_scan(op: Operation, builder: LoopBuilder) -> None:
    """The states lie in the buffers of the last ones: copied there before the loop, and after each iteration.

    In an iteration the function that `outline-bodies` has made reads the states and writes the next ones
    beside them: what is also stacked where it is stacked, the others into scratch.
    """
    assert isinstance(op, ScanOp)
    call = _call_in(op.body.block)
    states = _begun(op, builder)
    stacked = [builder.result(result) for result in op.outs[len(states) :]]
    where = _places(op, call, builder)
    loop = empty_loop(0, op.count)
    inside = replace(builder, block=loop.body.block)
    taken, put = op.is_backward
    iterations = _Iterations(op.count, loop.induction, inside)
    slices = [
        iterations.row(builder.buffers[value], back=back)
        for value, back in zip(op.each, taken, strict=True)
    ]
    rows = [iterations.row(buffer, back=back) for buffer, back in zip(stacked, put, strict=True)]
    made = {result: buffer for result, buffer in where.items() if isinstance(buffer, SSAValue)}
    made |= {result: rows[at] for result, at in where.items() if isinstance(at, int)}
    given = [*states, *slices, *(builder.buffers[value] for value in op.all)]
    outs = [made[result] for result in call.outs]
    views = [_moved(buffer, inside) for buffer in (*given, *outs)]
    inside.add(LoopCallOp(call.callee.root_reference.data, views))
    for value, target in zip(op.yielded, (*states, *rows), strict=True):
        if made[value] is not target:
            _copy(inside, value, made[value], target)
    inside.add(YieldOp())
    builder.add(loop)


def _lower_while(op: Operation, builder: LoopBuilder) -> None:
    """As a scan: the states are in place, and the condition beside them."""
    assert isinstance(op, WhileOp)
    call = _call_in(op.body.block)
    states = _begun(op, builder)
    goes_on, number = builder.alloc(i1, ()), builder.alloc(i64, ())
    _copy(builder, op.condition, builder.buffers[op.condition], goes_on)
    condition, *nexts = op.yielded
    where: dict[SSAValue, SSAValue] = {
        r: goes_on if r is condition else _scratch(r, builder) for r in call.outs
    }
    iterations = builder.add(memref.LoadOp.get(builder.buffers[op.iterations], [])).results[0]
    upper = builder.add(arith.IndexCastOp(iterations, IndexType())).results[0]
    lower, step = (
        builder.add(arith.ConstantOp(IntegerAttr(n, IndexType()))).results[0] for n in (0, 1)
    )
    loop = empty_while(lower, upper, step, goes_on)
    inside = replace(builder, block=loop.body.block)
    iteration = inside.add(arith.IndexCastOp(loop.induction, i64)).results[0]
    inside.add(memref.StoreOp.get(iteration, number, []))
    given = [number, *states, *(builder.buffers[value] for value in op.all)]
    views = [_moved(buffer, inside) for buffer in (*given, *where.values())]
    inside.add(LoopCallOp(call.callee.root_reference.data, views))
    for value, target in zip(nexts, states, strict=True):
        _copy(inside, value, where[value], target)
    inside.add(YieldOp())
    builder.add(loop)


def _lower_if(op: Operation, builder: LoopBuilder) -> None:
    """Both branches write the results' buffers; the one that is not taken does not run."""
    assert isinstance(op, IfOp)
    results = [builder.result(result) for result in op.outs]
    flag = builder.add(memref.LoadOp.get(builder.buffers[op.condition], [])).results[0]
    blocks = [Block(), Block()]
    for body, block in zip(op.bodies, blocks, strict=True):
        inside, call = replace(builder, block=block), _call_in(body)
        made: dict[SSAValue, SSAValue] = {}
        for value, buffer in zip(yielded(body), results, strict=True):
            made.setdefault(value, buffer)
        inputs = [builder.buffers[value] for value in op.inputs]
        buffers = [*inputs, *(made[result] for result in call.outs)]
        views = [_moved(buffer, inside) for buffer in buffers]
        inside.add(LoopCallOp(call.callee.root_reference.data, views))
        for value, buffer in zip(yielded(body), results, strict=True):
            if made[value] is not buffer:
                _copy(inside, value, made[value], buffer)
        inside.add(scf.YieldOp())
    builder.add(scf.IfOp(flag, [], Region(blocks[0]), Region(blocks[1])))


LOWERING = {ScanOp: _lower_scan, WhileOp: _lower_while, IfOp: _lower_if}


def _call_in(block: Block) -> CallOp:
    """The one call that `outline-bodies` leaves in a body."""
    call = block.first_op
    if not isinstance(call, CallOp):
        raise InarchError("expected a body that is one call; run outline-bodies before")
    return call


def _begun(op: ScanOp | WhileOp, builder: LoopBuilder) -> list[SSAValue]:
    """The buffers of the last states, which hold the first ones."""
    states = [builder.result(result) for result in op.outs[: len(op.states)]]
    for value, buffer in zip(op.states, states, strict=True):
        _copy(builder, value, builder.buffers[value], buffer)
    return states


def _places(op: ScanOp, call: CallOp, builder: LoopBuilder) -> dict[SSAValue, SSAValue | int]:
    """Where the call writes each of its results: the number of what it is stacked in, or new scratch."""
    rows = op.yielded[len(op.states) :]
    found: dict[SSAValue, SSAValue | int] = {}
    for result in call.outs:
        if result in rows:
            found[result] = rows.index(result)
            continue
        found[result] = _scratch(result, builder)
    return found


def _scratch(value: SSAValue, builder: LoopBuilder) -> SSAValue:
    return builder.alloc(mlir_type(tensor_dtype(value)), shape_of(value))


class _Iterations:
    """The rows of buffers that an iteration of a loop is about."""

    def __init__(self, count: int, iteration: SSAValue, builder: LoopBuilder) -> None:
        self._count, self._iteration, self._builder = count, iteration, builder
        self._back: SSAValue | None = None

    def row(self, buffer: SSAValue, *, back: bool) -> SSAValue:
        """`buffer[iteration]`, or with `back` the row that is as far from the end."""
        at = self._from_the_end() if back else self._iteration
        shape = buffer_shape(buffer)[1:]
        kind = moved_memref(memref_of(buffer).element_type, shape)
        rest = [0] * len(shape)
        view = SubviewOp.get(buffer, [at, *rest], [1, *shape], [1] * (len(shape) + 1), kind)
        return self._builder.add(view).results[0]

    def _from_the_end(self) -> SSAValue:
        if self._back is None:
            last = arith.ConstantOp(IntegerAttr(self._count - 1, IndexType()))
            behind = self._builder.add(last).results[0]
            self._back = self._builder.add(arith.SubiOp(behind, self._iteration)).results[0]
        return self._back


def _moved(buffer: SSAValue, builder: LoopBuilder) -> SSAValue:
    """The buffer as a view of a place that is computed: bodies take no others."""
    kind = memref_of(buffer)
    if (layout_of(kind) or ((), None))[1] is None:
        return buffer
    shape = buffer_shape(buffer)
    view = SubviewOp.get(
        buffer, [0] * len(shape), shape, [1] * len(shape), moved_memref(kind.element_type, shape)
    )
    return builder.add(view).results[0]


def _copy(builder: LoopBuilder, value: SSAValue, source: SSAValue, target: SSAValue) -> None:
    nest = NestBuilder()
    index = nest.shape(shape_of(value))
    dtype = tensor_dtype(value)
    builder.nest(nest.spec([index], index, same), [source], [dtype], target, dtype)
