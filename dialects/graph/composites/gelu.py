"""`graph.gelu`, a composite."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Operation
from xdsl.irdl import operand_def, prop_def, result_def

from inarch.core.lazy import np
from inarch.dialects.graph.composites import number
from inarch.dialects.graph.domain import FLOATS
from inarch.dialects.graph.elementwise import evaluate
from inarch.dialects.graph.elementwise.arithmetic import AddOp, MulOp
from inarch.dialects.graph.elementwise.unary import ErfOp, TanhOp
from inarch.dialects.graph.op import Array, CompositeOp, Tensor, element_of, tensor_of
from inarch.ir.op import op_definition
from inarch.ir.require import require

TANH_CUBIC = 0.044715
"""Of the cubic term in the tanh form: Hendrycks and Gimpel, arXiv 1606.08415, section 2."""

KINDS = ("none", "tanh")


@op_definition
class GeluOp(CompositeOp):
    """`out[i] = x[i] * P(N(0, 1) <= x[i])`; floats; `approximate` picks the form, as ONNX's Gelu.

    "none" (the default): `x / 2 * (1 + erf(x / sqrt(2)))`.
    "tanh": `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))`.
    C1: the dtype is a float. C2: `approximate` is "none" or "tanh".
    """

    x = operand_def(TensorType)
    approximate = prop_def(StringAttr, default_value=StringAttr("none"))
    out = result_def(TensorType)

    def check(self) -> None:
        FLOATS.check(self.x, "C1")
        kind = self.approximate.data
        require(kind in KINDS, "C2", f'expected approximate = "none" or "tanh", found "{kind}"')

    def infer(self) -> Sequence[Tensor]:
        return [tensor_of(self.x)]

    def decompose(self) -> list[Operation]:
        element = element_of(self.x)
        one, half = number(1.0, element), number(0.5, element)
        inner = self._tanh_form() if self.approximate.data == "tanh" else self._erf_form()
        shifted = AddOp.make(inner[-1], one)
        halved = MulOp.make(self.x, half)
        return [one, half, *inner, shifted, halved, MulOp.make(halved, shifted)]

    def _erf_form(self) -> list[Operation]:
        scale = number(math.sqrt(0.5), element_of(self.x))
        scaled = MulOp.make(self.x, scale)
        return [scale, scaled, ErfOp.make(scaled)]

    def _tanh_form(self) -> list[Operation]:
        """Factored as `x * (c + c * 0.044715 * x**2)` with c = sqrt(2 / pi): one multiply less."""
        factor = math.sqrt(2 / math.pi)
        linear = number(factor, element_of(self.x))
        cubic = number(factor * TANH_CUBIC, element_of(self.x))
        square = MulOp.make(self.x, self.x)
        scaled = MulOp.make(square, cubic)
        slope = AddOp.make(scaled, linear)
        inner = MulOp.make(self.x, slope)
        return [linear, cubic, square, scaled, slope, inner, TanhOp.make(inner)]

    def reference(self, x: Array) -> Array:
        form = _tanh_form if self.approximate.data == "tanh" else _erf_form
        return evaluate(form, x.astype(np.float64), dtype=x.dtype)


def _erf_form(x: Array) -> Array:
    return x * 0.5 * np.vectorize(math.erfc, otypes=[np.float64])(-x / np.sqrt(2.0))


def _tanh_form(x: Array) -> Array:
    return x * 0.5 * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + TANH_CUBIC * x**3)))
