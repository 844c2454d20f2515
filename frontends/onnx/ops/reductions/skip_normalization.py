"""Skip-, Simplified- and EmbedLayerNormalization, of com.microsoft: LayerNormalization of a sum."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.contract import Contract, typed, under
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.report import NotSupportedError
from inarch.ir.types import mlir_type

_EPSILON = 1e-12
"""The default of the operators of com.microsoft."""


def _root_mean_square(
    node: Node, x: SSAValue, scale: SSAValue, axis: int, epsilon: float
) -> tuple[SSAValue, SSAValue]:
    """`x / sqrt(mean(x**2) + epsilon) * scale`, the mean from `axis` on, and `1 / sqrt(...)`."""
    shape = shape_of(x)
    axes = list(range(node.axis(axis, len(shape)), len(shape)))
    square = node.graph.reduce_mean(node.graph.mul(x, x), axes=axes, keepdims=True)
    root = node.graph.sqrt(node.graph.add(square, epsilon))
    inverse = node.graph.reciprocal(root)
    result = node.graph.mul(node.graph.mul(x, inverse), scale)
    if shape_of(result) != shape:
        raise InarchError(f"expected a scale that broadcasts to {shape}, found {shape_of(scale)}")
    return result, inverse


def _simplified(node: Node) -> Sequence[SSAValue]:
    """Zhang and Sennrich 2019; also the inverse, with the axes kept. x and scale have one float dtype."""
    if node.int("stash_type", 1) != 1 or not node.dtype(0).is_float:
        raise NotSupportedError("a stash_type that is not float")
    axis, epsilon = node.int("axis", -1), node.float("epsilon", 1e-5)
    return _root_mean_square(node, node.x(0), node.x(1), axis, epsilon)


def _skip(node: Node) -> Sequence[SSAValue]:
    """`LayerNormalization(s)` of `s = input + skip + bias`, which is output 3; over the last axis."""
    total, hidden = _sum(node, 4), node.shape(0)[-1]
    for index, name in ((2, "gamma"), (3, "beta")):
        _check_vector(node, index, name, hidden)
    operands = [total, node.x(2), *([node.x(3)] if node.has(3) else [])]
    epsilon = node.float("epsilon", _EPSILON)
    result = node.graph.layer_norm(*operands, axis=-1, epsilon=epsilon)
    return [result, total, total, total]


def _skip_simplified(node: Node) -> Sequence[SSAValue]:
    """The same with SimplifiedLayerNormalization."""
    total = _sum(node, 3)
    _check_vector(node, 2, "gamma", node.shape(0)[-1])
    epsilon = node.float("epsilon", _EPSILON)
    result, _ = _root_mean_square(node, total, node.x(2), -1, epsilon)
    return [result, total, total, total]


def _sum(node: Node, bias: int) -> SSAValue:
    """Input, skip and bias; outputs 1 and 2, which onnxruntime leaves unwritten here, are refused."""
    if {1, 2}.intersection(range(node.outputs)) - node.unused:
        raise NotSupportedError("mean and inv_std_var")
    shape, skip = node.shape(0), node.shape(1)
    if len(shape) not in (2, 3) or skip not in (shape, (1, *shape[1:]), shape[1:]):
        raise InarchError(f"expected a skip as large as the input {shape}, found shape {skip}")
    total = node.graph.add(node.x(0), node.x(1))
    if not node.has(bias):
        return total
    _check_vector(node, bias, "bias", shape[-1])
    return node.graph.add(total, node.x(bias))


def _check_vector(node: Node, index: int, name: str, size: int) -> None:
    if node.has(index) and node.shape(index) != (size,):
        raise InarchError(f"expected {name} of shape ({size},), found {node.shape(index)}")


def _embed(node: Node) -> Sequence[SSAValue]:
    """LayerNormalization of embeddings: of words, of positions and, if given, of segments.

    Inputs: ids [batch, steps], segments, three tables [count, hidden], gamma, beta, mask [batch, steps],
    positions [batch or 1, steps], else 0, 1 ... Outputs: [batch, steps, hidden]; how many numbers of each
    mask are 1, [batch], i32, and 0 without a mask; the sum of the embeddings.
    """
    shape = node.shape(0)
    if len(shape) != 2:
        raise InarchError(f"expected input_ids of rank 2, found shape {shape}")
    if node.has(1) != node.has(4):
        raise InarchError("expected segment_ids and segment_embedding, found one of them")
    total = node.graph.add(_looked_up(node, 2, node.x(0)), _looked_up(node, 3, _places(node)))
    if node.has(1):
        total = node.graph.add(total, _looked_up(node, 4, node.x(1)))
    epsilon = node.float("epsilon", _EPSILON)
    result = node.graph.layer_norm(total, node.x(5), node.x(6), axis=-1, epsilon=epsilon)
    return [result, _counted(node), total]


def _looked_up(node: Node, table: int, ids: SSAValue) -> SSAValue:
    if len(node.shape(table)) != 2:
        raise InarchError(f"expected a table of rank 2, found shape {node.shape(table)}")
    node.indexes(ids, node.shape(table)[0], wraps=False)
    return node.graph.gather(node.x(table), ids, axis=0)


def _places(node: Node) -> SSAValue:
    batch, steps = node.shape(0)
    if not node.has(8):
        node.room(steps)
        return node.constant(np.arange(steps, dtype=np.int64).reshape(1, steps))
    if node.shape(8) not in ((batch, steps), (1, steps)):
        raise InarchError(f"expected position_ids of shape {(batch, steps)}, found {node.shape(8)}")
    return node.x(8)


def _counted(node: Node) -> SSAValue:
    """How many numbers of each row of the mask are 1."""
    i32 = mlir_type("i32")
    if not node.has(7):
        return node.broadcast(node.constant(np.array(0, np.int32)), node.shape(0)[:1])
    if node.shape(7) != node.shape(0):
        raise InarchError(f"expected a mask of shape {node.shape(0)}, found {node.shape(7)}")
    ones = node.graph.cast(node.graph.equal(node.x(7), 1), to=i32)
    return node.graph.reduce_sum(ones, axes=[1], keepdims=False)


_ONE = {"epsilon": "FLOAT"}

CONVERTERS: dict[str, Converter] = {
    "SimplifiedLayerNormalization": under(
        Contract((2, 2), (1, 2), typed(FLOAT="epsilon", INT="axis stash_type")),
        _simplified,
    ),
    "com.microsoft.EmbedLayerNormalization": under(
        Contract((7, 9), (1, 3), _ONE | {"mask_index_type": "INT"}), _embed
    ),
    "com.microsoft.SkipLayerNormalization": under(Contract((3, 5), (1, 4), _ONE), _skip),
    "com.microsoft.SkipSimplifiedLayerNormalization": under(
        Contract((3, 4), (1, 4), _ONE), _skip_simplified
    ),
}
