"""Attention as PyTorch's kernel of CPUs computes it: `softmax(Q K' scale + mask) V`, and its logsumexp."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.core.lazy import np
from inarch.dialects.graph.op import shape_of
from inarch.frontends.report import NotSupportedError
from inarch.frontends.torch.node import Converter, Node

_NEVER = float("-inf")
"""What is added to a score that no query may see."""


def _attention(node: Node) -> Sequence[SSAValue | None]:
    """`q [batch, heads, steps, size]`, `k` and `v` of as many heads, or of fewer that each serve several.

    The second result, `log(sum(exp(scores)))` [batch, heads, steps], is what the kernel of the way back
    reads. A query that sees nothing gives zeros, and a logsumexp of 0.
    """
    if node.number(3, "dropout_p", 0.0) != 0:
        raise NotSupportedError("dropout")
    scores, is_masked = _scores(node)
    weights = node.graph.softmax(scores, axis=3)
    if not (is_masked or 1 in node.used):
        return [_of_heads(node, weights, node.x(2)), None]
    most = node.graph.reduce_max(scores, axes=[3], keepdims=True)
    sees_none = node.graph.equal(most, _NEVER)
    zero = node.like(0, most)
    if is_masked:
        weights = node.graph.select(sees_none, zero, weights)
    out = _of_heads(node, weights, node.x(2))
    if 1 not in node.used:
        return [out, None]
    shift = node.graph.select(sees_none, zero, most)
    terms = node.graph.exp(node.graph.sub(scores, shift))
    total = node.graph.reduce_sum(terms, axes=[3], keepdims=True)
    total = node.graph.select(sees_none, 1, total)
    logsumexp = node.graph.add(shift, node.graph.log(total))
    return [out, node.reshape(logsumexp, node.shape()[:3])]


def _scores(node: Node) -> tuple[SSAValue, bool]:
    """`Q K' scale + mask`, and whether there is a mask, by which a query may see nothing."""
    query, key = node.x(0), _repeated(node, node.x(1))
    steps, size = shape_of(query)[2:]
    scale = node.arg(6, "scale")
    scale = 1 / math.sqrt(size) if scale is None else scale
    scores = node.graph.matmul(query, node.graph.transpose(key, perm=[0, 1, 3, 2]))
    scores = node.graph.mul(scores, node.value(scale, node.dtype))
    if node.arg(4, "is_causal", False):
        keys = shape_of(key)[2]
        node.room(steps, keys, itemsize=1)
        seen = node.constant(np.tri(steps, keys, dtype=np.bool_))
        scores = node.graph.select(seen, scores, _NEVER)
    mask = node.arg(5, "attn_mask")
    if mask is None:
        return scores, False
    return node.graph.add(scores, node.value(mask, node.dtype)), True


def _of_heads(node: Node, weights: SSAValue, value: SSAValue) -> SSAValue:
    return node.graph.matmul(weights, _repeated(node, value))


def _repeated(node: Node, x: SSAValue) -> SSAValue:
    """Keys or values with a head for each of the queries': one serves its neighbours."""
    heads, (batch, own, keys, size) = node.shape()[1], shape_of(x)
    if heads == own:
        return x
    split = node.reshape(x, (batch, own, 1, keys, size))
    spread = node.broadcast(split, (batch, own, heads // own, keys, size))
    return node.reshape(spread, (batch, heads, keys, size))


CONVERTERS: dict[str, Converter] = {
    "aten._scaled_dot_product_flash_attention_for_cpu.default": _attention,
}
