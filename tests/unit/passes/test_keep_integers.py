"""`keep-integers`: drawn products of quantized tensors give the bits of their integer arithmetic, everywhere.

The oracle is what docs/abi.md says, in NumPy: sums in i64, one factor, one rounding to a whole number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import inarch
from effort import seeds
from inarch.machine.target import parse as parse_target

Array = np.ndarray[Any, Any]

UNITS = 6


def _targets() -> list[str]:
    """A target without a kernel of bytes, and those with one that run here."""
    names = ("generic", "x86-64-v3", "x86-64-v4", "x86-64-v4+avx512vnni")
    return [name for name in names if not parse_target(name).missing_here()]


def sums(x: Array, w: Array, stride: int, pad: int, groups: int) -> Array:
    """The convolution of i64 tensors."""
    x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    windows = windows[:, :, ::stride, ::stride]
    parts = [
        np.einsum("nchwij,ocij->nohw", a, b)
        for a, b in zip(np.split(windows, groups, 1), np.split(w, groups, 0), strict=True)
    ]
    return np.concatenate(parts, 1)


def requantize(total: Array, factor: Array, zero: int, dtype: Any) -> Array:
    """`saturate(round(f32(total) * factor) + zero)`."""
    limits = np.iinfo(dtype)
    steps = np.rint(total.astype(np.float32) * factor) + np.float32(zero)
    return np.clip(steps, limits.min, limits.max).astype(dtype)


@dataclass
class Product:
    """Its operands' names, the shape of its weights' numbers, its sums in i64, and attributes."""

    x: str
    zx: str
    w: str
    zw: str
    each: tuple[int, ...]
    total: Array
    more: dict[str, Any]
    column: tuple[int, ...]
    """The shape in which numbers of outputs broadcast over it."""
    bias: Array | None = None

    @property
    def outputs(self) -> int:
        return self.total.shape[1]

    def spread(self, numbers: Array) -> Array:
        return numbers.reshape(self.column) if self.each else numbers


@dataclass
class Drawn:
    """A model of units beside each other, each of the same quantized image or rows, and what it gives."""

    seed: int
    nodes: list[Any] = field(default_factory=list[Any])
    constants: list[Any] = field(default_factory=list[Any])
    inputs: dict[str, Array] = field(default_factory=dict[str, Array])
    outputs: dict[str, Array] = field(default_factory=dict[str, Array])

    def __post_init__(self) -> None:
        self.random, self.numbers = Random(self.seed), np.random.default_rng(self.seed)
        for _ in range(UNITS):
            self.unit()

    def constant(self, array: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def quantized(self, shape: tuple[int, ...]) -> tuple[str, Array, str]:
        """An input of bytes, sometimes of extremes in runs, and its zero point."""
        dtype = self.random.choice((np.uint8, np.uint8, np.int8))
        limits = np.iinfo(dtype)
        q = self.numbers.integers(limits.min, limits.max + 1, shape).astype(dtype)
        if self.random.random() < 0.3:
            q[...] = self.random.choice((limits.min, limits.max))
        zero = self.random.choice((limits.min, int(q.flat[0]), limits.max, limits.min + 3))
        name = f"x{len(self.inputs)}"
        self.inputs[name] = q
        return name, q.astype(np.int64) - zero, self.constant(np.array(zero, dtype))

    def weights(
        self, shape: tuple[int, ...], along: int
    ) -> tuple[str, Array, str, tuple[int, ...]]:
        """i8, or ui8 around 128, with a zero point for each output or one of all."""
        each = (shape[along],) if self.random.random() < 0.6 else ()
        if self.random.random() < 0.3:
            q, zero = self.numbers.integers(0, 256, shape), np.full(each, 128)
            kind: Any = np.uint8
        else:
            q, zero = self.numbers.integers(-127, 128, shape), np.zeros(each, np.int64)
            kind = np.int8
        if self.random.random() < 0.3:
            q[...] = zero.flat[0] + self.random.choice((-127, 127))
        spread = (
            zero.reshape([-1 if d == along else 1 for d in range(len(shape))]) if each else zero
        )
        return self.constant(q.astype(kind)), q - spread, self.constant(zero.astype(kind)), each

    def unit(self) -> None:
        """A product in one of the forms that ONNX has of it."""
        is_conv = self.random.random() < 0.7
        product = self.convolution() if is_conv else self.rows()
        kind = "Conv" if is_conv else "MatMul"
        form = self.random.choice(("integer", "qdq", "qdq", "qdq", "linear"))
        if form == "integer" and not (
            product.each and is_conv
        ):  # ONNX's has one zero point of all weights
            operands = (product.x, product.w, product.zx, product.zw)
            out = self.node(f"{kind}Integer", *operands, **product.more)
            self.outputs[out] = product.total.astype(np.int32)
            return
        sx = np.float32(self.numbers.uniform(0.01, 0.1))
        sw = self.numbers.uniform(0.001, 0.01, product.each).astype(np.float32)
        bias = self.numbers.integers(-5000, 5000, product.outputs).astype(np.int32)
        if is_conv and self.random.random() < 0.6:
            product.total = product.total + bias.reshape(product.column)
            product.bias = bias
        if form == "linear":
            self.linear(kind, product, sx, sw)
        else:
            self.between(kind, product, sx, sw)

    def convolution(self) -> Product:
        channels, outputs = (
            self.random.choice((3, 4, 8, 20, 32)),
            self.random.choice((4, 5, 16, 48)),
        )
        groups = self.random.choice((1, 1, 1, channels if outputs % channels == 0 else 1))
        size, window = self.random.randint(3, 9), self.random.choice((1, 3))
        stride, pad = self.random.choice((1, 2)), self.random.choice((0, window // 2))
        x, xs, zx = self.quantized((1, channels, size, size + 1))
        w, ws, zw, each = self.weights((outputs, channels // groups, window, window), 0)
        more = {"strides": [stride] * 2, "pads": [pad] * 4, "group": groups}
        return Product(x, zx, w, zw, each, sums(xs, ws, stride, pad, groups), more, (1, -1, 1, 1))

    def rows(self) -> Product:
        channels, outputs = (
            self.random.choice((3, 4, 8, 20, 32)),
            self.random.choice((4, 5, 16, 48)),
        )
        x, xs, zx = self.quantized((self.random.randint(1, 9), channels))
        w, ws, zw, each = self.weights((channels, outputs), 1)
        return Product(x, zx, w, zw, each, xs @ ws, {}, (-1,))

    def linear(self, kind: str, product: Product, sx: Any, sw: Array) -> None:
        sy, zero, to = self.result(product, sx, sw)
        numbers = [self.constant(each) for each in (sx, sw, sy, np.array(zero, to))]
        operands = [
            product.x,
            numbers[0],
            product.zx,
            product.w,
            numbers[1],
            product.zw,
            *numbers[2:],
        ]
        rest: list[str] = []
        if product.bias is not None and self.random.random() < 0.7:
            rest = [self.constant(product.bias)]
        elif product.bias is not None:
            rest = [f"b{len(self.inputs)}"]
            self.inputs[rest[0]] = product.bias
        out = self.node(f"QLinear{kind}", *operands, *rest, **product.more)
        self.outputs[out] = requantize(product.total, product.spread(sx * sw / sy), zero, to)

    def between(self, kind: str, product: Product, sx: Any, sw: Array) -> None:
        operands = [self.node("DequantizeLinear", product.x, self.constant(sx), product.zx)]
        w, axis = (product.w, self.constant(sw), product.zw), 0 if kind == "Conv" else 1
        operands.append(self.node("DequantizeLinear", *w, axis=axis))
        if product.bias is not None:
            scales = np.broadcast_to(sx * sw, product.bias.shape).astype(np.float32)
            bias = self.constant(product.bias), self.constant(scales)
            operands.append(self.node("DequantizeLinear", *bias, axis=0))
        out = self.node(kind, *operands, **product.more)
        if self.random.random() < 0.3:
            self.outputs[out] = product.total.astype(np.float32) * product.spread(sx * sw)
            return
        if self.random.random() < 0.4:
            product.total = np.maximum(product.total, 0)
            out = self.node("Relu", out)
        sy, zero, to = self.result(product, sx, sw)
        out = self.node("QuantizeLinear", out, self.constant(sy), self.constant(np.array(zero, to)))
        self.outputs[out] = requantize(product.total, product.spread(sx * sw / sy), zero, to)

    def result(self, product: Product, sx: Any, sw: Array) -> tuple[Any, int, Any]:
        """The result's scale, which saturates some, its zero point and dtype."""
        greatest = np.abs(product.total).max(initial=1) * np.max(sx * sw)
        sy = np.float32(greatest / self.random.choice((60, 200)))
        return sy, self.random.choice((0, 7)), self.random.choice((np.uint8, np.int8))

    def model(self) -> onnx.ModelProto:
        kinds = {
            np.dtype(np.uint8): TensorProto.UINT8,
            np.dtype(np.int8): TensorProto.INT8,
            np.dtype(np.int32): TensorProto.INT32,
            np.dtype(np.float32): TensorProto.FLOAT,
        }
        inputs, outputs = (
            [helper.make_tensor_value_info(n, kinds[a.dtype], a.shape) for n, a in each.items()]
            for each in (self.inputs, self.outputs)
        )
        graph = helper.make_graph(self.nodes, "drawn", inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("target", _targets())
@pytest.mark.parametrize("seed", seeds(4, 200))
def test_the_bits_of_integer_arithmetic(seed: int, target: str, tmp_path: Path) -> None:
    drawn = Drawn(seed)
    onnx.save(drawn.model(), tmp_path / "drawn.onnx")
    for threads in (1, 2):
        module = inarch.compile(tmp_path / "drawn.onnx", target=target, threads=threads)
        found = module.run(drawn.inputs)
        for name, wanted in drawn.outputs.items():
            np.testing.assert_array_equal(found[name], wanted, err_msg=f"{name} on {target}")
