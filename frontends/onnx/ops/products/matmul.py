"""Products of matrices: MatMul, Gemm."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.report import NotSupportedError


def _matmul(node: Node) -> SSAValue:
    return product_of(node, node.x(0), node.x(1))


def product_of(node: Node, x: SSAValue, y: SSAValue) -> SSAValue:
    """As `numpy.matmul`: a vector on the left is a row, one on the right a column."""
    a, b = shape_of(x), shape_of(y)
    if not a or not b:
        raise InarchError(f"expected operands of rank 1 or more, found shapes {a} and {b}")
    left = node.reshape(x, (1, *a)) if len(a) == 1 else x
    right = node.reshape(y, (*b, 1)) if len(b) == 1 else y
    product = node.graph.matmul(left, right)
    shape = shape_of(product)
    kept = shape[:-2] + shape[-2:][: len(a) > 1] + shape[-1:][: len(b) > 1]
    return node.reshape(product, kept)


def gemm(node: Node) -> SSAValue:
    """`alpha * A' @ B' + beta * C`, with A and B transposed as asked; C may be left out."""
    if len(node.shape(0)) != 2 or len(node.shape(1)) != 2:
        raise InarchError(
            f"expected operands of rank 2, found shapes {node.shape(0)} and {node.shape(1)}"
        )
    a, b = (
        node.graph.transpose(node.x(index), perm=[1, 0])
        if node.flag(name, default=False)
        else node.x(index)
        for index, name in ((0, "transA"), (1, "transB"))
    )
    product = _scale(node, node.graph.matmul(a, b), node.float("alpha", 1.0))
    beta = node.float("beta", 1.0)
    if not node.has(2) or beta == 0.0:
        return product
    total = node.graph.add(product, _scale(node, node.x(2), beta))
    if shape_of(total) != shape_of(product):
        raise InarchError(
            f"expected C to broadcast to {shape_of(product)}, found shape {node.shape(2)}"
        )
    return total


def _scale(node: Node, value: SSAValue, factor: float) -> SSAValue:
    if factor == 1.0:
        return value
    if not node.dtype().is_float:
        raise NotSupportedError(f"factor {factor} on {node.dtype().name}")
    return node.graph.mul(value, factor)


CONVERTERS: dict[str, Converter] = {"Gemm": gemm, "MatMul": _matmul}
