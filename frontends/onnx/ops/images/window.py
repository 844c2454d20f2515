"""Operators that slide a window: Conv, MaxPool, AveragePool, LpPool; and the global poolings."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.report import NotSupportedError


def conv(node: Node) -> SSAValue:
    """`graph.conv` of inputs 0 to 2, of which the last, the bias, may be left out."""
    window = node.shape(1)[2:]
    if (given := node.ints("kernel_shape", window)) != list(window):
        raise InarchError(f"expected kernel_shape = {list(window)} as in W, found {given}")
    properties = sliding(node, window)
    operands = [node.x(index) for index in range(3) if index < 2 or node.has(index)]
    return node.graph.conv(*operands, groups=node.int("group", 1), **properties)


def _max_pool(node: Node) -> SSAValue:
    window = node.ints("kernel_shape")
    ceil = node.flag("ceil_mode", default=False)
    return node.graph.max_pool(node.x(), window=window, ceil_mode=ceil, **sliding(node, window))


def _average_pool(node: Node) -> SSAValue:
    return average_pool(node, node.x())


def average_pool(node: Node, x: SSAValue) -> SSAValue:
    """`graph.avg_pool` of x, which has the shape of input 0."""
    window = node.ints("kernel_shape")
    return node.graph.avg_pool(
        x,
        window=window,
        ceil_mode=node.flag("ceil_mode", default=False),
        count_include_pad=node.flag("count_include_pad", default=False),
        **sliding(node, window),
    )


def _lp_pool(node: Node) -> SSAValue:
    """`(sum |x|**p) ** (1 / p)` over each window: its mean, padding included, times its size."""
    window, order = node.ints("kernel_shape"), node.int("p", 2)
    if order < 1:
        raise InarchError(f"expected p >= 1, found {order}")
    if node.flag("ceil_mode", default=False):
        raise NotSupportedError("ceil_mode")  # whose last windows have another size
    x = node.graph.abs(node.x())
    mean = node.graph.avg_pool(
        x if order == 1 else node.graph.pow(x, order),
        window=window,
        count_include_pad=True,
        **sliding(node, window),
    )
    total = node.graph.mul(mean, math.prod(window))
    return total if order == 1 else node.graph.pow(total, 1 / order)


def _global_lp_pool(node: Node) -> SSAValue:
    """The same over all of each channel."""
    order, axes = node.int("p", 2), list(range(2, len(node.shape())))
    if order < 1:
        raise InarchError(f"expected p >= 1, found {order}")
    x = node.graph.abs(node.x())
    powers = x if order == 1 else node.graph.pow(x, order)
    total = node.graph.reduce_sum(powers, axes=axes, keepdims=True)
    return total if order == 1 else node.graph.pow(total, 1 / order)


def sliding(node: Node, window: Sequence[int]) -> dict[str, Sequence[int]]:
    """Strides, pads and dilations; `auto_pad` becomes explicit pads."""
    rank, spatial = len(window), node.shape()[2:]
    strides = node.ints("strides", [1] * rank)
    dilations = node.ints("dilations", [1] * rank)
    mode = node.text("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        pads = node.ints("pads", [0] * 2 * rank)
    elif mode == "VALID":
        pads = [0] * 2 * rank
    elif mode in ("SAME_UPPER", "SAME_LOWER"):
        if (
            not len(spatial) == len(strides) == len(dilations) == rank
            or min(strides, default=1) < 1
        ):
            raise InarchError(
                f"expected {len(spatial)} strides and dilations >= 1, found {strides} and {dilations}"
            )
        totals = [
            max(0, (-(-size // stride) - 1) * stride + (taps - 1) * dilation + 1 - size)
            for size, stride, taps, dilation in zip(
                spatial, strides, window, dilations, strict=True
            )
        ]
        small, large = [total // 2 for total in totals], [-(-total // 2) for total in totals]
        pads = [*small, *large] if mode == "SAME_UPPER" else [*large, *small]
    else:
        raise InarchError(
            f"expected auto_pad NOTSET, VALID, SAME_UPPER or SAME_LOWER, found '{mode}'"
        )
    return {"strides": strides, "pads": pads, "dilations": dilations}


def _global(kind: str) -> Converter:
    def convert(node: Node) -> SSAValue:
        axes = range(2, len(node.shape()))
        return node.emit(kind, node.x(), axes=list(axes), keepdims=True)

    return convert


CONVERTERS: dict[str, Converter] = {
    "AveragePool": _average_pool,
    "Conv": conv,
    "GlobalAveragePool": _global("reduce_mean"),
    "GlobalLpPool": _global_lp_pool,
    "GlobalMaxPool": _global("reduce_max"),
    "LpPool": _lp_pool,
    "MaxPool": _max_pool,
}
