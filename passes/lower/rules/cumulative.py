"""Cumulative sums and products: one nest that scans; with `exclusive`, one that writes the first elements.

    for i, k: y[i, k + 1] = y[i, k] + x[i, k]; for i: y[i, 0] = 0

An exclusive one reads and writes at places that are one apart, of which no element falls outside: a padded
read would be one nest, with a test at each element.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr

from inarch.dialects.graph.cumulative import CumprodOp, CumsumOp, CumulativeOp
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.nest_spec import NestBuilder, NestSpec, same
from inarch.passes.lower.builder import LoopBuilder


def _lower(op: Operation, builder: LoopBuilder) -> None:
    assert isinstance(op, CumulativeOp)
    dtype = tensor_dtype(op.x)
    out = builder.result(op.out)
    if op.excludes() and shape_of(op.x)[op.along()]:
        builder.nest(_first(op), [], [], out, dtype)
    builder.nest(_scan(op), [builder.buffers[op.x]], [dtype], out, dtype)


def _first(op: CumulativeOp) -> NestSpec:
    """The elements before which there is none."""
    nest = NestBuilder()
    last = shape_of(op.x)[op.along()] - 1
    index = _index(op, nest, last if op.goes_back() else 0)
    return nest.spec([], index, same, init=op.NEUTRAL)


def _scan(op: CumulativeOp) -> NestSpec:
    nest = NestBuilder()
    size, shift = shape_of(op.x)[op.along()], int(op.excludes())
    index = _index(op, nest, 0)
    k = nest.scan("k", max(size - shift, 0))
    read, write = (
        (k * -1 + (size - 1), k * -1 + (size - 1 - shift)) if op.goes_back() else (k, k + shift)
    )

    def along(place: AffineExpr) -> list[AffineExpr | int]:
        return [place if axis == op.along() else at for axis, at in enumerate(index)]

    return nest.spec([along(read)], along(write), op.step, init=op.start())


def _index(op: CumulativeOp, nest: NestBuilder, place: int) -> Sequence[AffineExpr | int]:
    """One iterator a dimension, but for the axis, which is at `place`."""
    return [
        place if axis == op.along() else nest.parallel(f"i{axis}", size)
        for axis, size in enumerate(shape_of(op.x))
    ]


LOWERING = {CumsumOp: _lower, CumprodOp: _lower}
