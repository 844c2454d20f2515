"""What the values of one step are, and how far rounding may take a compiled program from them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.context import Context
from xdsl.ir import Operation

from inarch.core.lazy import Array, np
from inarch.definitions.expected import expected_of as bounded
from inarch.diagnosis.slices import Slice
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.op import shape_of
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.graph.windows.conv_transpose import ConvTransposeOp

_PRODUCTS = (ConvOp, ConvTransposeOp, MatmulOp)

Expected = list[tuple[Array, Array]]
"""By output: the values, and the error that is allowed to each."""


def expected_of(part: Slice, op: Operation, context: Context, inputs: Sequence[Array]) -> Expected:
    """The outputs of `part`, whose only step is `op`, by the op's definition.

    Products that are summed (the bulk of a network) are bounded in closed form, which is as much work as
    computing them once more; everything else by running its definition with bounds.
    """
    if isinstance(op, _PRODUCTS) and inputs[0].dtype.kind == "f":
        operands = dict(zip(part.takes, inputs, strict=True))
        return [_sum_of_products(op, _all_operands(part, context, operands))]
    return [(each.center, each.bound) for each in bounded(context, part.module, inputs)]


def _all_operands(part: Slice, context: Context, inputs: dict[str, Array]) -> list[Array]:
    """The arrays of the step's operands, constants among them."""
    from inarch.diagnosis.slices import steps, value_names
    from inarch.dialects.graph.constant import ConstantOp
    from inarch.ir.context import store_of
    from inarch.ir.payload.constants import constant_array

    (step,) = steps(part.module)
    names = value_names(part.module)
    return [
        constant_array(operand.owner.value, store_of(context))
        if isinstance(operand.owner, ConstantOp)
        else inputs[names[operand]]
        for operand in step.operands
    ]


def _sum_of_products(
    op: ConvOp | ConvTransposeOp | MatmulOp, operands: Sequence[Array]
) -> tuple[Array, Array]:
    """The value in float64, and `gamma(n) * (the same of absolute values)`: any order, with or without FMA.

    N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1; n counts a product's
    rounding and a bias.
    """
    count = _terms(op) + 2
    unit = float(np.finfo(operands[0].dtype).eps) / 2
    wide = [np.asarray(operand, np.float64) for operand in operands]
    with np.errstate(all="ignore"):
        value = np.asarray(op.reference(*wide))
        size = np.asarray(op.reference(*map(np.abs, wide)))
        gamma = count * unit / (1 - count * unit)
        # Below the normal numbers a product loses at most half of the least denormal.
        least = count * float(np.finfo(operands[0].dtype).smallest_subnormal)
        return value, np.where(np.isfinite(size), gamma * size + least, np.inf)


def _terms(op: ConvOp | ConvTransposeOp | MatmulOp) -> int:
    right = shape_of(op.operands[1])
    if isinstance(op, ConvTransposeOp):  # at the most
        return math.prod(right) // right[1] // op.groups.value.data if right[1] else 0
    return math.prod(right[1:]) if isinstance(op, ConvOp) else right[-2]
