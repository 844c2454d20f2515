"""Reductions: ReduceSum, ReduceMean, ReduceMax, ..., ReduceL2, ReduceLogSumExp."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from inarch.frontends.onnx.node import Converter, Node
from inarch.ir.types import f64, i1, mlir_type

_AXES_INPUT = {"ReduceSum": 13}
"""From which opset on the axes are an input; 18 for all others."""


def _axes(node: Node) -> list[int]:
    """The axes to reduce, ascending; none of them means all, unless `noop_with_empty_axes`."""
    rank = len(node.shape())
    if node.opset >= _AXES_INPUT.get(node.op, 18):
        given = node.numbers(1, "axes") if node.has(1) else []
    else:
        given = node.ints("axes")
    if given:
        return node.axes(given, rank)
    return [] if node.flag("noop_with_empty_axes", default=False) else list(range(rank))


def _reduce(node: Node, kind: str, x: SSAValue, *, keep: bool | None = None) -> SSAValue:
    keepdims = node.flag("keepdims", default=True) if keep is None else keep
    return node.emit(kind, x, axes=_axes(node), keepdims=keepdims)


def _plain(kind: str) -> Converter:
    def convert(node: Node) -> SSAValue:
        if node.dtype().name != "i1":
            return _reduce(node, kind, node.x())
        wide = node.graph.cast(node.x(), to=mlir_type("ui8"))
        return node.graph.cast(_reduce(node, kind, wide), to=i1)

    return convert


def _after(before: Callable[[Node], SSAValue], after: str | None) -> Converter:
    """A sum of what `before` gives, then `after`, which of integers is in f64."""

    def convert(node: Node) -> SSAValue:
        total = _reduce(node, "reduce_sum", before(node))
        if after is None or node.dtype().is_float:
            return node.emit(after, total) if after is not None else total
        return node.cast_like(node.emit(after, node.graph.cast(total, to=f64)), total)

    return convert


def _square(node: Node) -> SSAValue:
    return node.graph.mul(node.x(), node.x())


def _magnitude(node: Node) -> SSAValue:
    return node.graph.abs(node.x())


def _log_sum_exp(node: Node) -> SSAValue:
    """`m + ln(sum of exp(x - m))` with m the maximum, or 0 where that is infinite; of integers in f64."""
    x = node.x() if node.dtype().is_float else node.graph.cast(node.x(), to=f64)
    largest = _reduce(node, "reduce_max", x, keep=True)
    infinite = node.graph.equal(node.graph.abs(largest), float("inf"))
    shift = node.graph.select(infinite, 0, largest)
    powers = node.graph.exp(node.graph.sub(x, shift))
    total = node.graph.log(_reduce(node, "reduce_sum", powers, keep=True))
    result = node.graph.add(total, shift)
    # Along axes of size 1, a maximum is a reshape.
    whole = result if node.flag("keepdims", default=True) else _reduce(node, "reduce_max", result)
    return node.cast_like(whole, node.x())


CONVERTERS: dict[str, Converter] = {
    "ReduceL1": _after(_magnitude, None),
    "ReduceL2": _after(_square, "sqrt"),
    "ReduceLogSum": _after(Node.x, "log"),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": _plain("reduce_max"),
    "ReduceMean": _plain("reduce_mean"),
    "ReduceMin": _plain("reduce_min"),
    "ReduceProd": _plain("reduce_prod"),
    "ReduceSum": _plain("reduce_sum"),
    "ReduceSumSquare": _after(_square, None),
}
