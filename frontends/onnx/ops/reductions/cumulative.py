"""CumSum and CumProd, in as many steps as the size has bits.

After step n, each element holds the result over the 2**n elements that end with it (Hillis and
Steele, "Data parallel algorithms", CACM 29, 1986).
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.elementwise.arithmetic import AddOp, MulOp
from inarch.dialects.graph.op import GraphOp, shape_of
from inarch.dialects.graph.shape import PadOp, SliceOp
from inarch.frontends.onnx.node import Converter, Node


def _cumulative(kind: type[GraphOp], neutral: float) -> Converter:
    def convert(node: Node) -> SSAValue:
        found = node.numbers(1, "axis")
        if len(found) != 1:
            raise InarchError(f"expected one axis, found {found}")
        axis = node.axis(found[0], len(node.shape()))
        reverse = node.flag("reverse", default=False)
        x = node.x()
        if node.flag("exclusive", default=False):
            x = _moved(node, x, axis, 1, neutral, reverse=reverse)
        distance = 1
        while distance < shape_of(x)[axis]:
            x = node.emit(kind, x, _moved(node, x, axis, distance, neutral, reverse=reverse))
            distance *= 2
        return x

    return convert


def _moved(
    node: Node, x: SSAValue, axis: int, distance: int, neutral: float, *, reverse: bool
) -> SSAValue:
    """`x` moved on along `axis` (back, if `reverse`); what enters is `neutral`."""
    shape = shape_of(x)
    distance = min(distance, shape[axis])
    kept = [size - distance if d == axis else size for d, size in enumerate(shape)]
    starts = [distance if reverse and d == axis else 0 for d in range(len(shape))]
    part = node.emit(SliceOp, x, starts=starts, sizes=kept, steps=[1] * len(shape))
    entering, none = [distance if d == axis else 0 for d in range(len(shape))], [0] * len(shape)
    low, high = (none, entering) if reverse else (entering, none)
    return node.emit(PadOp, part, low=low, high=high, value=neutral)


CONVERTERS: dict[str, Converter] = {
    "CumProd": _cumulative(MulOp, 1.0),
    "CumSum": _cumulative(AddOp, 0.0),
}
