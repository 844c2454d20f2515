"""Whether an op gives 0 where its operands are 0: then zeros behind a blocked dimension stay zeros."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseResourceAttr
from xdsl.ir import SSAValue

from inarch.core.lazy import Array, np
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise import ElementwiseOp
from inarch.dialects.graph.layout import layout_of
from inarch.dialects.graph.op import GraphOp, shape_of, tensor_dtype
from inarch.dialects.graph.reduce import ReduceOp
from inarch.dialects.graph.shape import PadOp
from inarch.ir.context import ConstantStore
from inarch.ir.payload.constants import constant_array


def keeps_zeros(op: GraphOp) -> bool:
    """Whether the results are 0 behind the sizes that their layouts do not divide.

    Operands are 0 there: those of such a layout by this rule, constants because they are filled up.
    A reduction along such a dimension would take its zeros in.
    """
    if isinstance(op, ReduceOp):
        axes = op.reduced_axes()
        return not any(axis in axes for axis in _filled_axes(op.x))
    filled = {axis for result in op.results for axis in _filled_axes(result)}
    return all(keeps_zeros_along(op, axis) for axis in filled)


def keeps_zeros_along(op: GraphOp, axis: int) -> bool:
    """Whether the result is 0 where operands are, behind the end of dimension `axis`.

    Convolutions (with weights filled up with 0), pooling, and what only moves elements keep zeros;
    an elementwise op is asked.
    """
    if isinstance(op, PadOp):
        return op.value.value.data == 0
    return not isinstance(op, ElementwiseOp) or _gives_zero(op, axis)


def _filled_axes(value: SSAValue) -> list[int]:
    layout = layout_of(value)
    if layout is None:
        return []
    pairs = zip(shape_of(value), layout.blocks, strict=True)
    return [axis for axis, (size, block) in enumerate(pairs) if block and size % block]


def _gives_zero(op: ElementwiseOp, axis: int) -> bool:
    """Whether the op is 0 for 0 in each operand, and for numbers that are broadcast as they are."""
    rank = len(shape_of(op.results[0]))
    elements = [_element_behind(operand, axis - rank) for operand in op.operands]
    known = [element for element in elements if element is not None]
    if len(known) < len(elements):
        return False
    with np.errstate(all="ignore"):
        return bool(np.all(op.reference(*known) == 0))


def _element_behind(operand: SSAValue, axis: int) -> Array | None:
    """An operand's element behind the end of dimension `axis` (from the last), if it is known."""
    shape = shape_of(operand)
    if len(shape) >= -axis and shape[axis] != 1:
        return np.zeros(1, tensor_dtype(operand).numpy)
    if not isinstance(operand.owner, ConstantOp) or any(size != 1 for size in shape):
        return None
    value = operand.owner.value
    if isinstance(value, DenseResourceAttr):
        return None
    return constant_array(value, ConstantStore()).reshape(1)
