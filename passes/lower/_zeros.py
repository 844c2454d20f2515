"""Whether an op gives 0 where its operands are 0: then zeros behind a blocked dimension stay zeros."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.dialects.graph._base import GraphOp, shape_of, tensor_dtype
from inarch.dialects.graph._elementwise import ElementwiseOp
from inarch.dialects.graph.layout import layout_of
from inarch.dialects.graph.reduce import ReduceOp
from inarch.lazy import np
from inarch.passes.lower._physical import Place


def keeps_zeros(op: GraphOp) -> bool:
    """Whether the results are 0 behind the sizes that their layouts do not divide.

    Operands are 0 there: those of such a layout by this rule, constants because they are filled up.
    Convolutions, pooling and what only moves elements keep zeros; a reduction along such a dimension
    would take them in, an elementwise op is asked.
    """
    if isinstance(op, ReduceOp):
        axes = op.reduced_axes()
        return not any(axis in axes for axis in _filled_axes(op.x))
    axes = {axis for result in op.results for axis in _filled_axes(result)}
    if not axes or not isinstance(op, ElementwiseOp):
        return True
    return all(_gives_zero(op, axis) for axis in axes)


def _filled_axes(value: SSAValue) -> list[int]:
    layout = layout_of(value)
    if layout is None:
        return []
    place = Place(shape_of(value), layout)
    pairs = zip(place.shape, place.blocks, strict=True)
    return [axis for axis, (size, block) in enumerate(pairs) if block and size % block]


def _gives_zero(op: ElementwiseOp, axis: int) -> bool:
    """Whether the op is 0 for 0 in all operands, each of which must be 0 behind dimension `axis`."""
    rank = len(shape_of(op.results[0]))
    for operand in op.operands:
        shape = shape_of(operand)
        own = axis - rank + len(shape)
        if own < 0 or shape[own] == 1:
            return False  # it is broadcast: what it is behind the others is not known
    zeros = [np.zeros(1, tensor_dtype(operand).numpy) for operand in op.operands]
    with np.errstate(all="ignore"):
        return bool(np.all(op.reference(*zeros) == 0))
