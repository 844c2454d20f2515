"""Attention and MultiHeadAttention, of com.microsoft, of whole sequences: `softmax(Q K' scale + mask) V`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.ir import SSAValue

from inarch.core.dtypes import float_limits
from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.op import broadcast, shape_of, tensor_dtype
from inarch.frontends.onnx.contract import Contract, typed, under
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.report import NotSupportedError
from inarch.ir.types import mlir_type


@dataclass(frozen=True)
class _Heads:
    """Queries [batch, heads, steps, size], keys and values [batch, heads, keys, size]."""

    query: SSAValue
    key: SSAValue
    value: SSAValue

    def scores(self) -> tuple[int, ...]:
        """Their shape: [batch, heads, steps, keys]."""
        return (*shape_of(self.query)[:3], shape_of(self.key)[2])


def _attention(node: Node) -> SSAValue:
    """Inputs: x [batch, steps, width], weights of Q, K and V side by side, bias, mask, -, what is added.

    Output: [batch, steps, hidden of V], of the float dtype of x.
    """
    refuse(node, {4: "past", 6: "past_sequence_length"})
    sizes = projections(node)
    batch, steps, width = node.shape(0)
    rows = node.reshape(node.x(0), (batch * steps, width))
    return attended(node, node.graph.matmul(rows, node.x(1)), sizes, mask=3, added=5)


def projections(node: Node) -> list[int]:
    """The columns of weights (input 1) that are of Q, of K and of V; raises where they do not fit x."""
    for name in ("do_rotary", "past_present_share_buffer"):
        if node.int(name, 0):
            raise NotSupportedError(name)
    shape, columns = node.shape(0), node.shape(1)
    if len(shape) != 3 or len(columns) != 2 or columns[0] != shape[2]:
        raise InarchError(
            f"expected an input of rank 3 and weights of as many rows, found {shape} and {columns}"
        )
    sizes = node.ints("qkv_hidden_sizes") or [columns[1] // 3] * 3
    if len(sizes) != 3 or sizes[0] != sizes[1] or min(sizes) < 1 or sum(sizes) != columns[1]:
        raise InarchError(f"expected weights of {sizes} columns, found shape {columns}")
    return sizes


def attended(
    node: Node, product: SSAValue, sizes: list[int], mask: int, added: int | None
) -> SSAValue:
    """Attention of x times its weights, [batch * steps, columns], with the bias that is input 2."""
    (batch, steps, _), columns = node.shape(0), sum(sizes)
    if node.has(2):
        if node.shape(2) != (columns,):
            raise InarchError(f"expected a bias of shape ({columns},), found {node.shape(2)}")
        product = node.graph.add(product, node.x(2))
    product = node.reshape(product, (batch, steps, columns))
    starts = (0, sizes[0], 2 * sizes[0])
    parts = [
        _heads(node, node.part(product, -1, start, size))
        for start, size in zip(starts, sizes, strict=True)
    ]
    return _attend(node, _Heads(*parts), mask=mask, added=added)


def _multi_head(node: Node) -> SSAValue:
    """Inputs: Q [batch, steps, hidden], K and V [batch, keys, hidden], bias of all, mask, what is added.

    K and V may also be [batch, heads, keys, size], without a bias. Output: [batch, steps, hidden of V].
    """
    names = ("past_key", "past_value", "past_sequence_length", "cache_indirection")
    refuse(node, dict(enumerate(names, 6)))
    if not (node.has(1) and node.has(2)) or len(node.shape(0)) != 3:
        raise NotSupportedError("packed queries, keys or values")
    ranks = [len(node.shape(index)) for index in (1, 2)]
    if ranks not in ([3, 3], [4, 4]) or (ranks == [4, 4] and node.has(3)):
        raise NotSupportedError(f"keys and values of shapes {node.shape(1)} and {node.shape(2)}")
    values = [node.x(index) for index in range(3)]
    if node.has(3):
        values = _biased(node, values)
    parts = [value if len(shape_of(value)) == 4 else _heads(node, value) for value in values]
    return _attend(node, _Heads(*parts), mask=4, added=5)


def _biased(node: Node, values: list[SSAValue]) -> list[SSAValue]:
    """Q, K and V, each with its part of the bias, which has those of all."""
    sizes = [shape_of(value)[-1] for value in values]
    if node.shape(3) != (sum(sizes),):
        raise InarchError(f"expected a bias of shape ({sum(sizes)},), found {node.shape(3)}")
    starts = (0, sizes[0], sizes[0] + sizes[1])
    return [
        node.graph.add(value, node.part(node.x(3), -1, start, size))
        for value, start, size in zip(values, starts, sizes, strict=True)
    ]


def refuse(node: Node, names: dict[int, str]) -> None:
    """Raises NotSupportedError where an input of these is given, or an output but the first is used."""
    for index, name in names.items():
        if node.has(index):
            raise NotSupportedError(name)
    if set(range(1, node.outputs)) - node.unused:
        raise NotSupportedError("outputs of what is present, or of scores")


def _heads(node: Node, x: SSAValue) -> SSAValue:
    """[batch, steps, hidden] as [batch, heads, steps, size]."""
    batch, steps, hidden = shape_of(x)
    heads = node.int("num_heads", 0)
    if heads < 1 or hidden % heads:
        raise InarchError(f"expected num_heads that divides {hidden}, found {heads}")
    split = node.reshape(x, (batch, steps, heads, hidden // heads))
    return node.graph.transpose(split, perm=[0, 2, 1, 3])


def _attend(node: Node, heads: _Heads, mask: int, added: int | None) -> SSAValue:
    shapes = [shape_of(value) for value in (heads.query, heads.key, heads.value)]
    (batch, count, steps, size), key, value = shapes
    if key != (batch, count, key[2], size) or value[:3] != key[:3]:
        raise InarchError(f"expected keys and values that fit the queries, found {shapes}")
    scale = node.float("scale", 0.0) or 1 / math.sqrt(size)
    transposed = node.graph.transpose(heads.key, perm=[0, 1, 3, 2])
    scores = node.graph.matmul(heads.query, transposed)
    scores = node.graph.mul(scores, scale)
    wanted = heads.scores()
    if node.has(mask):
        allowed = _allowed(node, mask, wanted)
        shut = node.like(node.float("mask_filter_value", -10000.0), scores)
        scores = node.graph.add(scores, node.graph.select(allowed, 0, shut))
    if added is not None and node.has(added):
        if len(node.shape(added)) != 4 or broadcast(node.shape(added), wanted) != wanted:
            raise InarchError(
                f"expected attention_bias of shape {wanted}, found {node.shape(added)}"
            )
        scores = node.graph.add(scores, node.x(added))
    if node.flag("unidirectional", default=False):
        scores = _causal(node, scores)
    found = node.graph.matmul(node.graph.softmax(scores, axis=3), heads.value)
    joined = node.graph.transpose(found, perm=[0, 2, 1, 3])
    return node.reshape(joined, (batch, steps, count * value[3]))


def _causal(node: Node, scores: SSAValue) -> SSAValue:
    """The scores of keys that come later are the least that there is."""
    steps, keys = shape_of(scores)[2:]
    if steps != keys:
        raise NotSupportedError(f"unidirectional of {steps} steps and {keys} keys")
    node.room(steps, keys, itemsize=1)
    seen = node.constant(np.tri(steps, keys, dtype=np.bool_))
    least = node.like(-float_limits(np.dtype(tensor_dtype(scores).numpy)).most, scores)
    return node.graph.select(seen, scores, least)


def _allowed(node: Node, index: int, scores: tuple[int, ...]) -> SSAValue:
    """Which keys are seen, as broadcasts over the scores.

    The mask: lengths [batch]; ends, then begins [2 batch]; or 1 where a key is seen, else 0: [batch, keys]
    or [batch, steps, keys]. It is of i32.
    """
    batch, _, steps, keys = scores
    mask, shape = node.x(index), node.shape(index)
    if shape in ((batch,), (2 * batch,)):
        return _between(node, mask, batch, keys)
    if shape not in ((batch, keys), (batch, steps, keys)):
        raise NotSupportedError(f"a mask of shape {shape} for scores {scores}")
    seen = node.graph.less(0, mask)
    return node.reshape(seen, (batch, 1, steps if len(shape) == 3 else 1, keys))


def _between(node: Node, mask: SSAValue, batch: int, keys: int) -> SSAValue:
    mask = node.graph.cast(mask, to=mlir_type("i64"))
    node.room(keys)
    places = node.constant(np.arange(keys, dtype=np.int64).reshape(1, 1, 1, keys))
    column = (batch, 1, 1, 1)
    ends = node.reshape(node.part(mask, -1, 0, batch), column)
    inside = node.graph.less(places, ends)
    if shape_of(mask) == (batch,):
        return inside
    begins = node.reshape(node.part(mask, -1, batch, batch), column)
    return node.graph.logical_and(inside, node.graph.less_equal(begins, places))


_COMMON = typed(FLOAT="mask_filter_value scale", INT="num_heads unidirectional")
_ATTENTION = _COMMON | typed(
    INT="do_rotary past_present_share_buffer rotary_embedding_dim", INTS="qkv_hidden_sizes"
)
_REQUIRED = frozenset({"num_heads"})

CONVERTERS: dict[str, Converter] = {
    "com.microsoft.Attention": under(Contract((2, 7), (1, 2), _ATTENTION, _REQUIRED), _attention),
    "com.microsoft.MultiHeadAttention": under(
        Contract((1, 10), (1, 4), _COMMON, _REQUIRED), _multi_head
    ),
}
