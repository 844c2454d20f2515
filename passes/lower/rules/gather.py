"""Gather: the one access that depends on data, so explicit loops instead of a nest."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue

from inarch.dialects.graph.gather import GatherOp
from inarch.dialects.graph.op import shape_of
from inarch.dialects.loop.control import empty_loop
from inarch.dialects.loop.nest import YieldOp
from inarch.passes.lower.builder import LoopBuilder


def _lower_gather(op: Operation, builder: LoopBuilder) -> None:
    """`out[o, i, n] = data[o, wrap(indices[i]), n]`; an index out of range reads the nearest element.

    Clamping keeps the generated code memory safe; ONNX leaves such an index undefined.
    """
    assert isinstance(op, GatherOp)
    data, indices = (builder.buffers[operand] for operand in op.operands)
    (result,) = op.results
    out = builder.result(result)
    data_shape, index_rank = shape_of(op.operands[0]), len(shape_of(op.operands[1]))
    axis = op.axis.value.data
    inner, loops = _loops(builder, shape_of(result))
    picked = loops[axis : axis + index_rank]
    loaded = _add(inner, memref.LoadOp.get(indices, picked))
    row = _wrapped(inner, _add(inner, arith.IndexCastOp(loaded, IndexType())), data_shape[axis])
    place = [*loops[:axis], row, *loops[axis + index_rank :]]
    element = _add(inner, memref.LoadOp.get(data, place))
    inner.add_op(memref.StoreOp.get(element, out, loops))
    _close(inner)


def _loops(builder: LoopBuilder, shape: Sequence[int]) -> tuple[Block, list[SSAValue]]:
    """One loop a dimension, each in the one before; the innermost block and the indices."""
    block = builder.block
    indices: list[SSAValue] = []
    for size in shape or (1,):  # a scalar result takes one turn of a loop of its own
        loop = empty_loop(0, size)
        loop.location = builder.location
        block.add_op(loop)
        block = loop.body.block
        indices.append(block.args[0])
    return block, indices if shape else []


def _close(block: Block) -> None:
    """Ends every loop from the innermost one outwards."""
    current: Block | None = block
    while current is not None and isinstance(parent := current.parent_op(), Operation):
        if parent.name != "loop.for":
            return
        current.add_op(YieldOp())
        current = parent.parent


def _add(block: Block, op: Operation) -> SSAValue:
    block.add_op(op)
    return op.results[0]


def _wrapped(block: Block, index: SSAValue, size: int) -> SSAValue:
    """`index` counted from the end when negative, clamped to `[0, size)`."""
    zero = _add(block, arith.ConstantOp.from_int_and_width(0, IndexType()))
    count = _add(block, arith.ConstantOp.from_int_and_width(size, IndexType()))
    last = _add(block, arith.ConstantOp.from_int_and_width(max(size - 1, 0), IndexType()))
    is_negative = _add(block, arith.CmpiOp(index, zero, "slt"))
    from_end = _add(block, arith.AddiOp(index, count))
    counted = _add(block, arith.SelectOp(is_negative, from_end, index))
    low = _add(block, arith.MaxSIOp(counted, zero))
    return _add(block, arith.MinSIOp(low, last))


LOWERING = {GatherOp: _lower_gather}
