"""Strided convolutions as products: what windows read is copied into a matrix (im2col), in blocks of rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from xdsl.ir import Operation, SSAValue

from inarch.dialects.graph.layout import channel_blocks
from inarch.dialects.graph.op import ints, shape_of, tensor_dtype
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.nest_spec import NestBuilder, add_bias, multiply_add, multiply_add_biased, same
from inarch.machine.machine import Machine
from inarch.passes.lower.algorithm import Algorithm, Bound, Known
from inarch.passes.lower.builder import LoopBuilder
from inarch.passes.lower.refusals import unless_f32, unless_one_group


def _refuses(op: Operation) -> str | None:
    assert isinstance(op, ConvOp), "asked of convolutions alone"
    if refused := unless_f32(op.x) or unless_one_group(op):
        return refused
    window = shape_of(op.w)[2:]
    if max(ints(op.strides)) == 1 or math.prod(window) == 1:
        return "expected windows of several taps and a stride above 1"
    lanes, channels = channel_blocks(op.x), (shape_of(op.x)[1], shape_of(op.out)[1])
    if not lanes or all(size % lanes == 0 for size in channels):
        return None
    return f"expected whole blocks of {lanes} channels, found {channels[0]} and {channels[1]}"


def _lower(op: Operation, builder: LoopBuilder) -> None:
    assert isinstance(op, ConvOp), "another op is refused"
    y = builder.result(op.out)
    for first, end in _blocks(op, builder.machine):
        _multiply(op, _unfolded(op, first, end, builder), y, first, builder)


def _blocks(op: ConvOp, machine: Machine) -> Iterator[tuple[int, int]]:
    """The first row of outputs, and the one after the last, of each block.

    The matrix of a block is at most half of a core's part of the caches. More blocks read the weights more
    often.
    """
    batch, _, rows, *inner = shape_of(op.out)
    row = batch * math.prod(inner) * math.prod(shape_of(op.w)[1:]) * tensor_dtype(op.x).nbytes
    at_once = max(1, machine.own // 2 // row)
    count = -(-rows // at_once)
    return pairwise(rows * at // count for at in range(count + 1))


def _unfolded(op: ConvOp, first: int, end: int, builder: LoopBuilder) -> SSAValue:
    """`a[n, o.., k.., c] = x[n, c, o * stride + k * dilation - begin]` of some rows of outputs."""
    x, dtype, window = builder.buffers[op.x], tensor_dtype(op.x), op.window()
    (batch, channels, *spatial), (_, _, *outputs) = shape_of(op.x), shape_of(op.out)
    shape = (batch, end - first, *outputs[1:], *window.sizes, channels)
    a = builder.alloc(memref_of(x).element_type, shape)
    nest = NestBuilder()
    n, *rest, c = at = nest.shape(shape)
    o, k = rest[: len(outputs)], rest[len(outputs) :]
    read = (n, c, *window.positions([o[0] + first, *o[1:]], k))
    pads = [0 if window.overruns(spatial, outputs) else None]
    builder.nest(nest.spec([read], at, same, pads=pads), [x], [dtype], a, dtype)
    return a


def _multiply(op: ConvOp, a: SSAValue, y: SSAValue, first: int, builder: LoopBuilder) -> None:
    """Rows of outputs from `first` on: pixels by terms, times terms by channels, and the bias."""
    dtype = tensor_dtype(op.out)
    shape, (channels, inputs, *window) = buffer_shape(a), shape_of(op.w)
    nest = NestBuilder()
    n, oc = nest.parallel("n", shape[0]), nest.parallel("oc", channels)
    o = [nest.parallel(f"o{at}", size) for at, size in enumerate(shape[1 : 1 + len(window)])]
    k = [nest.reduction(f"k{at}", size) for at, size in enumerate(window)]
    ic = nest.reduction("ic", inputs)
    write = (n, oc, o[0] + first, *o[1:])
    reads, ins = [(n, *o, *k, ic), (oc, ic, *k)], [a, builder.buffers[op.w]]
    dtypes = [dtype, tensor_dtype(op.w)]
    if op.bias is None:
        spec = nest.spec(reads, write, multiply_add, init=0)
    else:
        ins.append(builder.buffers[op.bias])
        dtypes.append(dtype)
        spec = nest.spec([*reads, (oc,)], write, multiply_add_biased, init=0, finish=add_bias)
    builder.nest(spec, ins, dtypes, y, dtype)


def _bound(_op: Operation, _known: Known) -> Bound:
    return Bound(1.0, by_element=True, about="the same terms in another order")


ALGORITHM = Algorithm(
    ConvOp,
    _refuses,
    _lower,
    _bound,
    "Strided convolutions as products of matrices (im2col)",
    layout="blocks",
)
