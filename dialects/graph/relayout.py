"""`graph.relayout`: the same tensor in another layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import LocationAttr, TensorType
from xdsl.ir import Operation, OpResult, SSAValue, SSAValues
from xdsl.irdl import operand_def, result_def

from inarch.dialects.graph.layout import LayoutAttr, with_layout
from inarch.dialects.graph.op import (
    Array,
    StructuredOp,
    Tensor,
    element_of,
    shape_of,
    tensor_of,
)
from inarch.dialects.nest_spec import NestBuilder, NestSpec, same
from inarch.ir.op import op_definition
from inarch.ir.types import tensor


@op_definition
class RelayoutOp(StructuredOp):
    """`out = x`; the layouts of `x` and `out` (`#graph.layout`; none: row-major) may differ.

    Any dtype. No constraints but C0.

        %b = graph.relayout %a : tensor<1x64x8x8xf32>
            -> tensor<1x64x8x8xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>>
    """

    MOVES: ClassVar[bool] = True
    x = operand_def(TensorType)
    out = result_def(TensorType)

    @classmethod
    def to(
        cls,
        x: SSAValue | Operation,
        layout: LayoutAttr | None,
        *,
        location: LocationAttr | None = None,
    ) -> Self:
        """`x` in `layout` (None: row-major)."""
        op = cls.make(x, location=location)
        op.results = SSAValues((OpResult(with_layout(tensor_of(op.out), layout), op, 0),))
        return op

    def infer(self) -> Sequence[Tensor]:
        return [tensor(element_of(self.x), shape_of(self.x))]

    def nest(self) -> NestSpec:
        builder = NestBuilder()
        index = builder.shape(shape_of(self.x))
        return builder.spec([index], index, same)

    def reference(self, x: Array) -> Array:
        return x.copy()
