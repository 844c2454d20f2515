"""FusedMatMul, FusedGemm and FusedConv, of com.microsoft: products and what onnxruntime fused with them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.contract import Contract, typed, under
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.onnx.ops.images.window import conv
from inarch.frontends.onnx.ops.products.matmul import gemm, product_of
from inarch.frontends.report import NotSupportedError

_PLAIN: dict[str, str] = {"Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh"}


def _fused_matmul(node: Node) -> SSAValue:
    """`alpha * A' @ B'`; A and B are first transposed as asked."""
    a, b = (_transposed(node, index, side) for index, side in ((0, "A"), (1, "B")))
    product, alpha = product_of(node, a, b), node.float("alpha", 1.0)
    return product if alpha == 1 else node.graph.mul(product, alpha)


def _transposed(node: Node, index: int, side: str) -> SSAValue:
    """An operand: `transBatch` puts its first axis before the last one, `trans` swaps the last two."""
    rank = len(node.shape(index))
    perm = list(range(rank))
    if rank > 1 and node.flag(f"transBatch{side}", default=False):
        perm = [*perm[1:-1], 0, perm[-1]]
    if rank > 1 and node.flag(f"trans{side}", default=False):
        perm = [*perm[:-2], perm[-1], perm[-2]]
    if perm == list(range(rank)):
        return node.x(index)
    return node.graph.transpose(node.x(index), perm=perm)


def _fused_gemm(node: Node) -> SSAValue:
    """Gemm, then `activation`, with its numbers in `activation_alpha` and `activation_beta`."""
    if node.has_attribute("activation_gamma"):
        raise NotSupportedError("activation_gamma")
    names = [f"activation_{name}" for name in ("alpha", "beta")]
    numbers = [node.float(name, 0.0) for name in names if node.has_attribute(name)]
    return _activated(node, gemm(node), numbers)


def _fused_conv(node: Node) -> SSAValue:
    """Conv, with input 3, if any, added, then `activation`, with its numbers in `activation_params`."""
    result = conv(node)
    if node.has(3):
        if node.shape(3) != shape_of(result):
            raise InarchError(f"expected Z of shape {shape_of(result)}, found {node.shape(3)}")
        result = node.graph.add(result, node.x(3))
    return _activated(node, result, node.floats("activation_params"))


def _activated(node: Node, x: SSAValue, numbers: Sequence[float]) -> SSAValue:
    """X after the function that the attribute `activation` names; itself where that is left out."""
    name = node.text("activation", "")
    if not name or name in _PLAIN:
        return node.emit(_PLAIN[name], x) if name else x
    wanted = {"LeakyRelu": 1, "Clip": 2, "HardSigmoid": 2}
    if name not in wanted:
        raise NotSupportedError(f"activation {name}")
    if len(numbers) != wanted[name]:
        raise InarchError(f"expected {wanted[name]} numbers of {name}, found {list(numbers)}")
    if name == "LeakyRelu":
        negative = node.graph.less(x, 0)
        return node.graph.select(negative, node.graph.mul(x, numbers[0]), x)
    if name == "Clip":
        return node.graph.clip(x, low=numbers[0], high=numbers[1])
    scaled = node.graph.mul(x, numbers[0])
    return node.graph.clip(node.graph.add(scaled, numbers[1]), low=0.0, high=1.0)


_MATMUL = {"alpha": "FLOAT"} | {
    f"{name}{side}": "INT" for name in ("trans", "transBatch") for side in "AB"
}
_GEMM = typed(FLOAT="alpha beta", INT="transA transB", STRING="activation")
_CONV = typed(
    FLOATS="activation_params",
    INT="group",
    INTS="dilations kernel_shape pads strides",
    STRING="activation auto_pad",
)

CONVERTERS: dict[str, Converter] = {
    "com.microsoft.FusedConv": under(Contract((2, 4), attributes=_CONV), _fused_conv),
    "com.microsoft.FusedGemm": under(
        Contract(
            (2, 3),
            attributes=_GEMM | {f"activation_{n}": "FLOAT" for n in ("alpha", "beta", "gamma")},
        ),
        _fused_gemm,
    ),
    "com.microsoft.FusedMatMul": under(Contract((2, 2), attributes=_MATMUL), _fused_matmul),
}
