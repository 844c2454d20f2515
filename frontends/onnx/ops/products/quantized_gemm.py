"""QGemm, of com.microsoft: `alpha (A' B' + C)` of 8 bits, again in 8 bits, or in f32."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.op import Property, broadcast, shape_of
from inarch.frontends.onnx.contract import Contract, typed, under
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.onnx.ops.products._dynamic import Quantized, integers, weights
from inarch.frontends.report import NotSupportedError
from inarch.ir.types import mlir_type

_CONTRACT = Contract(inputs=(6, 9), attributes=typed(FLOAT="alpha", INT="transA transB"))


def _gemm(node: Node) -> SSAValue:
    """`S = (A - za)' (B - zb)' + C` in i32, times `alpha sa sb`; with a scale sy, quantized by that.

    Inputs: A [M, K], sa, za, B [K, N], sb, zb (one each, or of B one a column), C of i32 in units of the
    sums, sy, zy. The factor is `((alpha sa) sb) / sy`, each rounded to f32: docs/abi.md.
    """
    if {len(node.shape(0)), len(node.shape(3))} != {2}:
        raise InarchError(f"expected matrices, found shapes {node.shape(0)} and {node.shape(3)}")
    for index, what in ((0, "A"), (3, "B")):
        if node.dtype(index).name not in ("i8", "ui8"):
            raise NotSupportedError(f"{what} of {node.dtype(index).name}")
    a, b = _matrix(node, 0, "A"), _matrix(node, 3, "B")
    if shape_of(a[1]):
        raise NotSupportedError("several scales of A")
    sums = node.graph.matmul(integers(node, *a), integers(node, *b))
    if node.has(6):
        sums = _biased(node, sums)
    alpha = node.float("alpha", 1.0)
    scale = a[1] if alpha == 1 else node.graph.mul(a[1], alpha)
    factor = node.graph.mul(scale, b[1])
    if not node.has(7):
        return node.graph.dequantize(sums, factor, **_columns(factor))
    for index in (7, 8):
        if node.has(index) and node.shape(index) not in ((), (1,)):
            raise NotSupportedError(f"a scale or zero point of shape {node.shape(index)}")
    factor = node.graph.div(factor, node.reshape(node.x(7), ()))
    zeros = [node.reshape(node.x(8), ())] if node.has(8) else []
    to = node.dtype(8 if zeros else 0).name
    scaled = node.graph.dequantize(sums, factor, **_columns(factor))
    one = node.constant(np.array(1, np.float32))
    return node.graph.quantize(scaled, one, *zeros, to=mlir_type(to))


def _matrix(node: Node, at: int, side: str) -> Quantized:
    """Operand `at`, transposed as asked, with its numbers."""
    value = node.x(at)
    if node.flag(f"trans{side}", default=False):
        value = node.graph.transpose(value, perm=[1, 0])
    zero = node.x(at + 2) if node.has(at + 2) else None
    return weights(node, value, node.x(at + 1), zero, side)


def _biased(node: Node, sums: SSAValue) -> SSAValue:
    shape = shape_of(sums)
    if node.dtype(6).name != "i32" or broadcast(node.shape(6), shape) != shape:
        raise InarchError(
            f"expected C of i32 that broadcasts to {shape}, "
            f"found {node.dtype(6).name} of shape {node.shape(6)}"
        )
    return node.graph.add(sums, node.x(6))


def _columns(factor: SSAValue) -> dict[str, Property]:
    return {"axis": -1} if shape_of(factor) else {}


CONVERTERS: dict[str, Converter] = {
    "com.microsoft.QGemm": under(_CONTRACT, _gemm),
}
