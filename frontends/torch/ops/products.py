"""Matrix products, convolutions and pooling windows."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.op import Property
from inarch.frontends.report import NotSupportedError
from inarch.frontends.torch.node import Converter, Node


def _matmul(node: Node) -> SSAValue:
    return node.graph.matmul(node.x(0), node.x(1))


def _addmm(node: Node) -> SSAValue:
    """`beta * bias + alpha * x @ y`."""
    product = node.graph.matmul(node.x(1), node.x(2))
    alpha, beta = node.number(4, "alpha", 1), node.number(3, "beta", 1)
    bias = node.x(0)
    if alpha != 1:
        product = node.graph.mul(product, node.value(alpha, node.dtype))
    if beta == 0:
        return product
    if beta != 1:
        bias = node.graph.mul(bias, node.value(beta, node.dtype))
    return node.graph.add(product, bias)


def _linear(node: Node) -> SSAValue:
    product = node.graph.matmul(node.x(0), node.graph.transpose(node.x(1), perm=[1, 0]))
    return node.graph.add(product, node.x(2)) if node.has(2) else product


def _convolution(node: Node) -> SSAValue:
    """`x, w, bias, stride, padding, dilation, transposed, output_padding, groups`."""
    if node.arg(6, "transposed", False):
        raise NotSupportedError("transposed")
    rank = len(node.shape()) - 2
    pads = node.ints(4, "padding", rank=rank)
    return node.graph.conv(
        *(node.x(n) for n in range(3) if node.has(n)),
        strides=node.ints(3, "stride", rank=rank),
        pads=[*pads, *pads],
        dilations=node.ints(5, "dilation", rank=rank),
        groups=int(node.number(8, "groups", 1)),
    )


def _window(node: Node, dilation: Sequence[int]) -> dict[str, Property]:
    """What pools of two dimensions have in common: window, stride (the window, if none), padding."""
    if len(node.shape()) != 4:
        raise NotSupportedError("an image without a batch")
    window = node.ints(1, "kernel_size", rank=2)
    pads = node.ints(3, "padding", [0], rank=2)
    return {
        "window": window,
        "strides": node.ints(2, "stride", rank=2) or window,
        "pads": [*pads, *pads],
        "dilations": list(dilation),
    }


def _max_pool(node: Node) -> Sequence[SSAValue | None]:
    """Its second result, where the largest are, is for the way back."""
    window = _window(node, node.ints(4, "dilation", [1], rank=2))
    ceil = bool(node.arg(5, "ceil_mode", False))
    return [node.graph.max_pool(node.x(), ceil_mode=ceil, **window), None]


def _avg_pool(node: Node) -> SSAValue:
    if node.arg(6, "divisor_override") is not None:
        raise NotSupportedError("divisor_override")
    return node.graph.avg_pool(
        node.x(),
        ceil_mode=bool(node.arg(4, "ceil_mode", False)),
        count_include_pad=bool(node.arg(5, "count_include_pad", True)),
        **_window(node, [1, 1]),
    )


def _adaptive_avg_pool(node: Node) -> SSAValue:
    """Windows of one size where the output divides the input."""
    shape, size = node.shape(), node.ints(1, "output_size", rank=2)
    if len(shape) != 4 or any(a % b for a, b in zip(shape[2:], size, strict=True)):
        raise NotSupportedError(f"{list(shape[2:])} to {size}")
    if size == [1, 1]:
        return node.graph.reduce_mean(node.x(), axes=[2, 3], keepdims=True)
    window = [a // b for a, b in zip(shape[2:], size, strict=True)]
    if not all(window):
        raise InarchError(f"expected an image, found {shape}")
    return node.graph.avg_pool(node.x(), window=window, strides=window)


CONVERTERS: dict[str, Converter] = {
    "aten.mm.default": _matmul,
    "aten.bmm.default": _matmul,
    "aten.matmul.default": _matmul,
    "aten.addmm.default": _addmm,
    "aten.linear.default": _linear,
    "aten.convolution.default": _convolution,
    "aten.max_pool2d_with_indices.default": _max_pool,
    "aten.avg_pool2d.default": _avg_pool,
    "aten._adaptive_avg_pool2d.default": _adaptive_avg_pool,
}
