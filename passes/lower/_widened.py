"""Products of weights that are stored narrow, of which a copy in f32 is made first."""

from __future__ import annotations

from xdsl.ir import Operation

from inarch.core.dtypes import DTYPES
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.nest_spec import NestBuilder
from inarch.dialects.scalar import Scalar
from inarch.ir.types import mlir_type
from inarch.passes.lower.algorithm import Algorithm, Bound, Known
from inarch.passes.lower.builder import LoopBuilder


def widened(op: type[ConvOp | MatmulOp]) -> Algorithm:
    """The algorithm of a class of products."""
    return Algorithm(
        op, _refuses, _lower, _bound, "Narrow weights are widened to f32 first, in a copy"
    )


def _refuses(op: Operation) -> str | None:
    found = tensor_dtype(op.operands[1])
    return None if found.is_stored else f"expected weights that are only stored, found {found.name}"


def _lower(op: Operation, builder: LoopBuilder) -> None:
    assert isinstance(op, ConvOp | MatmulOp), "another op is refused"
    out, (_, weights, *_) = DTYPES["f32"], op.operands
    narrow, spec = builder.buffers[weights], op.nest()
    wide = builder.alloc(mlir_type(out), shape_of(weights))
    copy = NestBuilder()
    at = copy.shape(shape_of(weights))
    builder.nest(copy.spec([at], at, _widen), [narrow], [tensor_dtype(weights)], wide, out)
    ins = [wide if value is weights else builder.buffers[value] for value in op.operands]
    dtypes = [out if value is weights else tensor_dtype(value) for value in op.operands]
    builder.nest(spec, ins, dtypes, builder.result(op.results[0]), out)


def _widen(x: Scalar) -> Scalar:
    return x.cast("f32")


def _bound(_op: Operation, _known: Known) -> Bound:
    return Bound(1.0, by_element=True, about="the same products and sums")
