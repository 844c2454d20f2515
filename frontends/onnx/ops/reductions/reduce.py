"""Reductions: ReduceSum, ReduceMean, ReduceMax, ..., ReduceL2, ReduceLogSumExp."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from inarch.dialects.graph.elementwise.arithmetic import AddOp, MulOp, SubOp
from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.elementwise.logic import EqualOp
from inarch.dialects.graph.elementwise.select import SelectOp
from inarch.dialects.graph.elementwise.unary import AbsOp, ExpOp, LogOp, SqrtOp
from inarch.dialects.graph.reduce import (
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceOp,
    ReduceProdOp,
    ReduceSumOp,
)
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


def _reduce(node: Node, kind: type[ReduceOp], x: SSAValue, *, keep: bool | None = None) -> SSAValue:
    keepdims = node.flag("keepdims", default=True) if keep is None else keep
    return node.emit(kind, x, axes=_axes(node), keepdims=keepdims)


def _plain(kind: type[ReduceOp]) -> Converter:
    def convert(node: Node) -> SSAValue:
        if node.dtype().name != "i1":
            return _reduce(node, kind, node.x())
        wide = node.emit(CastOp, node.x(), to=mlir_type("ui8"))
        return node.emit(CastOp, _reduce(node, kind, wide), to=i1)

    return convert


def _after(before: Callable[[Node], SSAValue], after: type[SqrtOp | LogOp] | None) -> Converter:
    """A sum of what `before` gives, then `after`, which of integers is in f64."""

    def convert(node: Node) -> SSAValue:
        total = _reduce(node, ReduceSumOp, before(node))
        if after is None or node.dtype().is_float:
            return node.emit(after, total) if after is not None else total
        return node.cast_like(node.emit(after, node.emit(CastOp, total, to=f64)), total)

    return convert


def _square(node: Node) -> SSAValue:
    return node.emit(MulOp, node.x(), node.x())


def _magnitude(node: Node) -> SSAValue:
    return node.emit(AbsOp, node.x())


def _log_sum_exp(node: Node) -> SSAValue:
    """`m + ln(sum of exp(x - m))` with m the maximum, or 0 where that is infinite; of integers in f64."""
    x = node.x() if node.dtype().is_float else node.emit(CastOp, node.x(), to=f64)
    largest = _reduce(node, ReduceMaxOp, x, keep=True)
    infinite = node.emit(EqualOp, node.emit(AbsOp, largest), node.like(float("inf"), x))
    shift = node.emit(SelectOp, infinite, node.like(0, x), largest)
    powers = node.emit(ExpOp, node.emit(SubOp, x, shift))
    total = node.emit(LogOp, _reduce(node, ReduceSumOp, powers, keep=True))
    result = node.emit(AddOp, total, shift)
    # Along axes of size 1, a maximum is a reshape.
    whole = result if node.flag("keepdims", default=True) else _reduce(node, ReduceMaxOp, result)
    return node.cast_like(whole, node.x())


CONVERTERS: dict[str, Converter] = {
    "ReduceL1": _after(_magnitude, None),
    "ReduceL2": _after(_square, SqrtOp),
    "ReduceLogSum": _after(Node.x, LogOp),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": _plain(ReduceMaxOp),
    "ReduceMean": _plain(ReduceMeanOp),
    "ReduceMin": _plain(ReduceMinOp),
    "ReduceProd": _plain(ReduceProdOp),
    "ReduceSum": _plain(ReduceSumOp),
    "ReduceSumSquare": _after(_square, None),
}
