"""ReverseSequence: the first elements of each sequence of a batch, as many as it has, in reverse."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.frontends.onnx.node import Converter, Node
from inarch.ir.types import i64


def _reverse_sequence(node: Node) -> SSAValue:
    """`out[t, b] = x[n[b] - 1 - t, b]` where `t < n[b]`, else `x[t, b]`; n: [B], known at run time.

    x: of shape [T, B, ...], or [B, T, ...] by `time_axis` and `batch_axis`, of any dtype.
    """
    x, shape = node.x(), node.shape()
    batch, time = node.int("batch_axis", 1), node.int("time_axis", 0)
    if sorted((batch, time)) != [0, 1] or len(shape) < 2:
        raise InarchError(
            "expected batch_axis and time_axis to be 0 and 1 of rank 2 or more, "
            f"found {batch} and {time} of shape {shape}"
        )
    if node.shape(1) != (shape[batch],):
        raise InarchError(
            f"expected sequence_lens of shape ({shape[batch]},), found {node.shape(1)}"
        )
    node.indexes(node.x(1), shape[time] + 1, wraps=False)
    along = [1, 1]
    along[batch] = shape[batch]
    lengths = node.reshape(node.graph.cast(node.x(1), to=i64), along)
    steps, rows = (_positions(node, shape[axis], axis) for axis in (time, batch))
    last = node.graph.sub(lengths, 1)
    within = node.graph.less(steps, lengths)
    taken = node.graph.select(within, node.graph.sub(last, steps), steps)
    strides = (shape[1], 1)
    flat = node.graph.add(
        node.graph.mul(taken, strides[time]),
        node.graph.mul(rows, strides[batch]),
    )
    values = node.reshape(x, (shape[0] * shape[1], *shape[2:]))
    return node.graph.gather(values, flat, axis=0)


def _positions(node: Node, size: int, axis: int) -> SSAValue:
    """0, 1, ... along one of two axes."""
    node.room(size)
    return node.constant(np.arange(size, dtype=np.int64).reshape([(size, 1), (1, size)][axis]))


CONVERTERS: dict[str, Converter] = {"ReverseSequence": _reverse_sequence}
