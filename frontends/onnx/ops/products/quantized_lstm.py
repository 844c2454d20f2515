"""DynamicQuantizeLSTM, of com.microsoft: an LSTM whose weights are of 8 bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.contract import Contract, typed, under
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.onnx.ops.products._dynamic import (
    Quantized,
    quantized,
    scaled_product,
    weights,
)
from inarch.frontends.onnx.ops.products.recurrent import (
    Cell,
    Functions,
    State,
    biases,
    drop,
    lstm_step,
    peepholes,
    run,
)
from inarch.ir.types import mlir_type

_CONTRACT = Contract(
    inputs=(12, 12),
    outputs=(0, 3),
    attributes=typed(
        FLOAT="clip",
        FLOATS="activation_alpha activation_beta",
        INT="hidden_size input_forget",
        STRING="direction",
        STRINGS="activations",
    ),
)


@dataclass(frozen=True)
class _QuantizedCell(Cell):
    """A direction whose states are quantized at each step, all of the batch with one scale."""

    matrix: Quantized | None = None

    def recur(self, state: SSAValue, first: int = 0, count: int | None = None) -> SSAValue:
        assert self.matrix is not None
        assert (first, count) == (0, None), "an LSTM takes all gates at once"
        return scaled_product(self.node, quantized(self.node, state), self.matrix)

    def living(self, state: State, lives: SSAValue) -> State:
        """Sequences that have ended have no part in the scale."""
        hidden, *rest = state
        zero = self.node.like(0, hidden)
        return (self.node.graph.select(lives, hidden, zero), *rest)


def _lstm(node: Node) -> list[SSAValue]:
    """As LSTM, with W [directions, width, 4 hidden], R [directions, hidden, 4 hidden] of i8 or ui8.

    Inputs 8 to 11 are the scales and zero points of W and R, [directions] or [directions, 4 hidden].
    The inputs of all steps are quantized with one scale, as ONNX's DynamicQuantizeLinear; those behind the
    longest sequence have no part in it. The states of a step are, all of the batch, with another.
    """
    return run(node, lstm_step, _cell, "LSTM")


def _cell(
    node: Node, d: int, x: SSAValue, functions: Functions, hidden: int
) -> tuple[Cell, SSAValue]:
    w, r = (_weights(node, d, *numbers) for numbers in ((1, 8, 9, "W"), (2, 10, 11, "R")))
    products = scaled_product(node, quantized(node, _used(node, x)), w)
    if node.has(3):
        bias, _ = biases(node, d, 4 * hidden, apart=False)
        products = node.graph.add(products, bias)
    return _QuantizedCell(node, functions, hidden, r[0], None, peepholes(node, d), r), products


def _used(node: Node, x: SSAValue) -> SSAValue:
    """The inputs, [steps, batch, width], with 0 behind the longest sequence."""
    if not node.has(4):
        return x
    longest = node.graph.reduce_max(node.x(4), axes=[0], keepdims=False)
    steps = shape_of(x)[0]
    iterations = node.constant(np.arange(steps, dtype=np.int32).reshape(steps, 1, 1))
    within = node.graph.less(iterations, node.graph.cast(longest, to=mlir_type("i32")))
    return node.graph.select(within, x, 0)


def _weights(node: Node, d: int, value: int, scale: int, zero: int, what: str) -> Quantized:
    """A matrix of direction `d`, and its numbers."""
    if node.dtype(value).name not in ("i8", "ui8"):
        raise InarchError(f"expected {what} of i8 or ui8, found {node.dtype(value).name}")
    directions = node.shape(value)[0]
    for index in (scale, zero):
        shape: Sequence[int] = node.shape(index)
        if not shape or shape[0] != directions:
            raise InarchError(
                f"expected scales and zero points of {directions} directions, found shape {shape}"
            )
    matrix, factor, point = (drop(node, node.x(index), d) for index in (value, scale, zero))
    return weights(node, matrix, factor, point, what)


CONVERTERS: dict[str, Converter] = {
    "com.microsoft.DynamicQuantizeLSTM": under(_CONTRACT, _lstm),
}
