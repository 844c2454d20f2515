"""TopK of rows: by a heap of the best so far, or, where many of a row are wanted, by a sort of the row.

An axis that is not the last one is moved there, by copies, before and after.
"""

from __future__ import annotations

import math

from xdsl.ir import Operation, SSAValue

from inarch.core.dtypes import DTYPES, DType
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.places.topk import TopKOp
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.nest_spec import NestBuilder, same
from inarch.machine.machine import Machine
from inarch.passes.lower.builder import LoopBuilder
from inarch.passes.lower.ordering import heap, radix


def sorts(count: int, k: int, dtype: DType, machine: Machine) -> bool:
    """Whether sorting rows of `count` elements takes less time than a heap of k.

    Of an element, a digit of a sort takes five loads, each of which waits for the one before, and so does its
    key; each value of a digit takes one. Of a row in no order, k (1 + ln(count / k)) elements come into the
    heap: eight branches that are not foreseen, and three a level. The others are looked at, five a load.
    """
    digits, load = dtype.bits // radix.DIGIT, machine.l1.latency
    sort = load * (5 * count * (digits + 1) + digits * (1 << radix.DIGIT))
    entering = k * (1 + math.log(count / k)) * (8 + 3 * math.log2(k))
    return sort < load * count / 5 + machine.branch_miss * entering


def _lower(op: Operation, builder: LoopBuilder) -> None:
    assert isinstance(op, TopKOp)
    shape, axis, k = shape_of(op.x), op.axis.value.data, op.k.value.data
    values, indices = builder.result(op.values), builder.result(op.indices)
    if 0 in shape_of(op.values):
        return
    dtype, count = tensor_dtype(op.x), shape[axis]
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    x = builder.reshape(builder.buffers[op.x], (outer, count, inner))
    results = [
        (builder.reshape(values, (outer, k, inner)), dtype),
        (builder.reshape(indices, (outer, k, inner)), DTYPES["i64"]),
    ]
    rows = _moved(builder, x, dtype)
    best, places = (_of_rows(builder, result) for result, _ in results)
    run = radix.sort if sorts(count, k, dtype, builder.machine) else heap.select
    run(builder, rows, best, places, dtype, op.takes_largest())
    if inner == 1:
        return
    for found, (result, kind) in zip((best, places), results, strict=True):
        _transpose(builder, builder.reshape(found, (outer, inner, k)), result, kind)


LOWERING = {TopKOp: _lower}


def _moved(builder: LoopBuilder, x: SSAValue, dtype: DType) -> SSAValue:
    """The rows (outer * inner, count) of a buffer (outer, count, inner)."""
    rows = _of_rows(builder, x)
    outer, count, inner = buffer_shape(x)
    if inner > 1:
        _transpose(builder, x, builder.reshape(rows, (outer, inner, count)), dtype)
    return rows


def _of_rows(builder: LoopBuilder, buffer: SSAValue) -> SSAValue:
    """A buffer (outer, count, inner) as rows, or one that is new where they lie apart in it."""
    outer, count, inner = buffer_shape(buffer)
    if inner == 1:
        return builder.reshape(buffer, (outer, count))
    return builder.alloc(memref_of(buffer).element_type, (outer * inner, count))


def _transpose(builder: LoopBuilder, source: SSAValue, to: SSAValue, dtype: DType) -> None:
    nest = NestBuilder()
    i, j, n = nest.shape(buffer_shape(to))
    builder.nest(nest.spec([(i, n, j)], (i, j, n), same), [source], [dtype], to, dtype)
