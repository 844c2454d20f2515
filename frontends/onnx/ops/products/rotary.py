"""RotaryEmbedding, of com.microsoft: pairs of numbers of each head, turned by angles of the position."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.contract import Contract, typed, under
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.report import NotSupportedError


def _rotary(node: Node) -> SSAValue:
    """`(a cos - b sin, a sin + b cos)` of each pair (a, b); numbers behind the pairs stay.

    x: [batch, steps, hidden] or [batch, heads, steps, size]. Positions: [batch, steps], or that of the first
    step, [1]. Tables: [positions, pairs]. Pairs are the first and the second half, or neighbours where
    `interleaved`. Su et al. 2021, arXiv 2104.09864.
    """
    if node.flag("is_packed_batching", default=False):
        raise NotSupportedError("is_packed_batching")
    if node.float("scale", 1.0) != 1.0:
        raise NotSupportedError("scale")
    shape, pairs = node.shape(0), node.shape(2)[-1] if node.shape(2) else 0
    size = _size(node, shape, pairs)
    flat = len(shape) == 3
    heads = node.reshape(node.x(0), (*shape[:2], shape[2] // size, size)) if flat else node.x(0)
    if not flat:
        heads = node.graph.transpose(heads, perm=[0, 2, 1, 3])
    turned = _turned(node, heads, pairs)
    if flat:
        return node.reshape(turned, shape)
    return node.graph.transpose(turned, perm=[0, 2, 1, 3])


def _size(node: Node, shape: tuple[int, ...], pairs: int) -> int:
    """The numbers of one head."""
    if len(shape) not in (3, 4) or len(node.shape(2)) != 2 or node.shape(3) != node.shape(2):
        raise InarchError(
            "expected an input of rank 3 or 4 and two tables of one shape, "
            f"found {shape}, {node.shape(2)} and {node.shape(3)}"
        )
    heads = node.int("num_heads", 0)
    if len(shape) == 4:
        size = shape[3]
    elif heads:
        size = shape[2] // heads if shape[2] % heads == 0 else 0
    else:
        size = 2 * pairs
    part = node.int("rotary_embedding_dim", 0) or size
    if size < 1 or part > size or part != 2 * pairs or shape[-1] % size:
        raise InarchError(
            f"expected heads that fit {pairs} pairs, found shape {shape}, num_heads = {heads} "
            f"and rotary_embedding_dim = {node.int('rotary_embedding_dim', 0)}"
        )
    return size


def _turned(node: Node, x: SSAValue, pairs: int) -> SSAValue:
    """x: [batch, steps, heads, size]."""
    batch, steps, heads, size = shape_of(x)
    places = _places(node, batch, steps)
    rows = shape_of(places)[0]
    cos, sin = (
        node.reshape(node.graph.gather(node.x(index), places, axis=0), (rows, steps, 1, pairs))
        for index in (2, 3)
    )
    near = node.flag("interleaved", default=False)
    step, second = (2, 1) if near else (1, pairs)
    a, b = (node.part(x, -1, start, pairs, step) for start in (0, second))
    left = node.graph.sub(node.graph.mul(a, cos), node.graph.mul(b, sin))
    right = node.graph.add(node.graph.mul(a, sin), node.graph.mul(b, cos))
    if near:
        column = (batch, steps, heads, pairs, 1)
        both = [node.reshape(part, column) for part in (left, right)]
        found = node.graph.concat(*both, axis=4)
        parts = [node.reshape(found, (batch, steps, heads, 2 * pairs))]
    else:
        parts = [left, right]
    if size > 2 * pairs:
        parts.append(node.part(x, -1, 2 * pairs, size - 2 * pairs))
    return parts[0] if len(parts) == 1 else node.graph.concat(*parts, axis=3)


def _places(node: Node, batch: int, steps: int) -> SSAValue:
    """The row of the tables of each step, [batch or 1, steps]."""
    shape = node.shape(1)
    rows = node.shape(2)[0]
    if shape == (batch, steps):
        node.indexes(node.x(1), rows, wraps=False)
        return node.x(1)
    if shape != (1,):
        raise InarchError(f"expected position_ids of shape (1,) or {(batch, steps)}, found {shape}")
    node.indexes(node.x(1), rows - steps + 1, wraps=False)
    node.room(steps)
    iterations = node.constant(np.arange(steps).astype(node.dtype(1).numpy).reshape(1, steps))
    return node.graph.add(iterations, node.reshape(node.x(1), (1, 1)))


_ATTRIBUTES = typed(
    FLOAT="scale", INT="interleaved is_packed_batching num_heads rotary_embedding_dim"
)

CONVERTERS: dict[str, Converter] = {
    "com.microsoft.RotaryEmbedding": under(Contract((4, 4), attributes=_ATTRIBUTES), _rotary),
}
