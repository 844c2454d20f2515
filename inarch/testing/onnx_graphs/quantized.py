"""Quantized models, and what docs/abi.md says that they give, in NumPy: sums in i64, a factor, one rounding.

`operators` are products beside each other, in each form that ONNX has of them; `network` is layers one after
the other, as quantizers write them. Bytes are drawn at random, or all at a limit, or in runs of both limits:
what adds pairs of products in 16 bits would saturate there.
"""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inarch.testing.onnx_graphs.drawing import Array, Case, model_of

F32 = np.float32
UNITS = 6
"""Products of a model of `operators`."""
OPSET = 17
CHANNELS = (1, 3, 4, 4, 5, 8, 12, 16, 17, 20, 32, 33, 64, 65)
"""Terms of sums: fours, and others; of 65 by 9 sums of runs are no f32 any more."""
ROWS = (1, 1, 9, 37)
"""How many times as many terms products of rows have."""
OUTPUTS = (1, 4, 5, 16, 31, 48)
BYTES = (np.uint8, np.uint8, np.int8)


def operators(seed: int) -> Case:
    """The model of a seed: six products, of inputs of their own."""
    drawn = _Drawn(np.random.default_rng([20261129, seed]))
    for _ in range(UNITS):
        drawn.unit()
    return drawn.case(seed)


def network(seed: int) -> Case:
    """The model of a seed: 3 to 9 layers between quantizations, of one input."""
    drawn = _Drawn(np.random.default_rng([20261130, seed]))
    drawn.layers()
    return drawn.case(seed)


QUANTIZED: Mapping[str, Callable[[int], Case]] = {"operators": operators, "network": network}
"""By the name of `--quantized`."""


def requantize(total: Array, factor: Array, zero: int, dtype: Any) -> Array:
    """`saturate(round(f32(total) * factor) + zero)`, each operation of f32."""
    return saturated(total.astype(F32) * factor, zero, dtype)


def saturated(steps: Array, zero: int, dtype: Any) -> Array:
    """`saturate(round(steps) + zero)`; NaN is 0."""
    limits = np.iinfo(dtype)
    found = np.rint(steps.astype(F32)) + F32(zero)
    return np.clip(np.nan_to_num(found, nan=0.0), limits.min, limits.max).astype(dtype)


def convolved(x: Array, w: Array, stride: int, pad: int, groups: int) -> Array:
    """The convolution of i64 tensors, of images and windows of two axes."""
    x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    windows = windows[:, :, ::stride, ::stride]
    parts = [
        np.einsum("nchwij,ocij->nohw", a, b)
        for a, b in zip(np.split(windows, groups, 1), np.split(w, groups, 0), strict=True)
    ]
    return np.concatenate(parts, 1)


@dataclass
class _Tensor:
    """Bytes, as an input or as a quantization gives them, and what they stand for: `(q - zero) * scale`."""

    name: str
    q: Array
    scale: Any
    zero: int

    @property
    def wide(self) -> Array:
        return self.q.astype(np.int64) - self.zero

    @property
    def real(self) -> Array:
        """As DequantizeLinear has them: of f32, the difference exact, the product rounded."""
        return self.wide.astype(F32) * self.scale


@dataclass
class _Weights:
    """Of i8, or of ui8 with a zero point, and a scale for each output, or one of all."""

    q: Array
    wide: Array
    zero: Array
    scale: Array


@dataclass
class _Sums:
    """A product: its sums in i64, in what shape numbers of outputs broadcast over it, and its attributes."""

    kind: str
    x: _Tensor
    w: _Weights
    total: Array
    column: tuple[int, ...]
    more: dict[str, Any] = field(default_factory=dict[str, Any])
    bias: Array | None = None

    def spread(self, numbers: Array) -> Array:
        return numbers.reshape(self.column) if numbers.ndim else numbers

    @property
    def scale(self) -> Array:
        return self.x.scale * self.w.scale

    @property
    def whole(self) -> Array:
        """The sums with the bias."""
        return self.total if self.bias is None else self.total + self.bias.reshape(self.column)


@dataclass
class _Drawn:
    rng: np.random.Generator
    values: int = 0
    nodes: list[Any] = field(default_factory=list[Any])
    constants: dict[str, Array] = field(default_factory=dict[str, Array])
    inputs: dict[str, Array] = field(default_factory=dict[str, Array])
    expected: dict[str, Array] = field(default_factory=dict[str, Array])
    loud: bool = False
    """Whether no bytes of a product are drawn at random: its sums are as large as any."""
    unsure: bool = False
    """Whether what comes now depends on a sum of floats."""
    sure: set[str] = field(default_factory=set[str])

    # -- numbers

    def one(self, of: Sequence[Any]) -> Any:
        return of[int(self.rng.integers(len(of)))]

    def chance(self, of: float) -> bool:
        return bool(self.rng.random() < of)

    def bytes(self, shape: Sequence[int], low: int, high: int, dtype: Any) -> Array:
        """At random; or all at one limit; or runs of each, of a length that no vector has."""
        way = self.rng.random() * (0.35 if self.loud else 1)
        if way < 0.15:
            return np.full(shape, self.one((low, high)), dtype)
        if way < 0.35:
            count = int(np.prod(shape))
            runs = np.repeat(self.rng.integers(0, 2, count), self.rng.integers(1, 9, count))
            return np.where(runs[:count], high, low).reshape(shape).astype(dtype)
        return self.rng.integers(low, high, shape, endpoint=True).astype(dtype)

    # -- the model

    def _new(self) -> str:
        self.values += 1
        return f"v{self.values - 1}"

    def constant(self, array: Any) -> str:
        name = self._new()
        self.constants[name] = np.asarray(array)
        return name

    def node(self, op: str, *operands: str, **attributes: Any) -> str:
        from onnx import helper

        domain = "com.microsoft" if op in ("QLinearAdd", "QLinearMul") else ""
        name = self._new()
        made = helper.make_node(op, list(operands), [name], domain=domain, **attributes)
        self.nodes.append(made)
        return name

    def case(self, seed: int) -> Case:
        from onnx import helper

        model = model_of(
            self.nodes, self.inputs, list(self.expected), self.constants, OPSET, self.expected
        )
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        sure = frozenset(self.sure)
        return Case(seed, model, self.inputs, self.expected, sure, is_stated=True)

    def gives(self, name: str, wanted: Array) -> None:
        """A value that is compared."""
        self.expected[name] = wanted
        if not self.unsure:
            self.sure.add(name)

    # -- operands

    def tensor(self, shape: Sequence[int]) -> _Tensor:
        dtype = self.one(BYTES)
        limits = np.iinfo(dtype)
        q = self.bytes(shape, int(limits.min), int(limits.max), dtype)
        zero = self.one((limits.min, int(q.flat[0]), limits.max, limits.min + 3))
        name = self._new()
        self.inputs[name] = q
        return _Tensor(name, q, F32(self.rng.uniform(0.01, 0.1)), int(zero))

    def weights(self, shape: Sequence[int], along: int) -> _Weights:
        each = (shape[along],) if self.chance(0.6) else ()
        if self.chance(0.25):
            q, zero = self.bytes(shape, 1, 255, np.uint8), np.full(each, 128, np.uint8)
        else:
            q, zero = self.bytes(shape, -127, 127, np.int8), np.zeros(each, np.int8)
        column = [-1 if axis == along else 1 for axis in range(len(shape))]
        wide = q.astype(np.int64) - zero.astype(np.int64).reshape(column if each else ())
        scale = self.rng.uniform(0.001, 0.01, each).astype(F32)
        return _Weights(q, wide, zero, np.asarray(scale))

    def convolution(self, x: _Tensor) -> _Sums:
        channels, size = x.q.shape[1], min(x.q.shape[2:])
        outputs = self.one((*OUTPUTS, channels))
        groups = channels if outputs % channels == 0 and self.chance(0.3) else 1
        window = self.one([each for each in (1, 3, 3, 5) if each <= size])
        stride, pad = self.one((1, 1, 2)), self.one((0, window // 2))
        w = self.weights((outputs, channels // groups, window, window), 0)
        more = {"strides": [stride] * 2, "pads": [pad] * 4, "group": groups}
        total = convolved(x.wide, w.wide, stride, pad, groups)
        return self.biased(_Sums("Conv", x, w, total, (1, -1, 1, 1), more))

    def rows(self, x: _Tensor) -> _Sums:
        w = self.weights((x.q.shape[-1], self.one(OUTPUTS)), 1)
        return _Sums("MatMul", x, w, x.wide @ w.wide, (-1,))

    def biased(self, product: _Sums) -> _Sums:
        if self.chance(0.6):
            count = product.total.shape[1]
            product.bias = self.rng.integers(-5000, 5000, count).astype(np.int32)
        return product

    # -- products beside each other

    def unit(self) -> None:
        self.loud, channels = self.chance(0.15), self.one(CHANNELS)
        if self.chance(0.65):
            size = int(self.rng.integers(1, 10))
            product = self.convolution(self.tensor((1, channels, size, size + self.one((0, 1)))))
        else:
            rows = [int(self.rng.integers(1, 9)) for _ in range(self.one((1, 1, 2)))]
            product = self.rows(self.tensor((*rows, channels * self.one(ROWS))))
        form = self.one(("integer", "dynamic", "qdq", "qdq", "qdq", "linear"))
        is_conv = product.kind == "Conv"
        if form == "integer" and not (product.w.zero.ndim and is_conv):  # it has one of all weights
            operands = self._operands(product, product.x.name)
            out = self.node(f"{product.kind}Integer", *operands, **product.more)
            self.gives(out, product.total.astype(np.int32))
        elif form == "dynamic" and not is_conv:
            self.dynamic(product)
        elif form == "linear":
            self.linear(product)
        else:
            self.between(product)

    def _operands(self, product: _Sums, x: str) -> list[str]:
        """Of the operators of integers: both tensors, and their zero points."""
        zero = self.constant(np.array(product.x.zero, product.x.q.dtype))
        return [x, self.constant(product.w.q), zero, self.constant(product.w.zero)]

    def dynamic(self, product: _Sums) -> None:
        """Floats that are quantized at run time, times weights: DynamicQuantizeLinear and MatMulInteger."""
        x = product.x.real * self.one((F32(1), F32(0.37)))
        name = self._new()
        self.inputs[name] = x
        low, high = (F32(each(x, initial=0)) for each in (np.min, np.max))
        scale = (high - low) / F32(255) if high != low else F32(1)
        zero = saturated(np.asarray(-low / scale), 0, np.uint8)
        q = saturated(x / scale, int(zero), np.uint8)
        w = product.w
        dynamic = self.node("DynamicQuantizeLinear", name)
        names = [self._new() for _ in range(2)]
        self.nodes[-1].output.extend(names)
        point = (w.zero if not w.zero.ndim else w.zero[:1]).reshape(())
        out = self.node(
            "MatMulInteger", dynamic, self.constant(w.q), names[1], self.constant(point)
        )
        out = self.node("Cast", out, to=1)
        factor = self.node("Mul", names[0], self.constant(w.scale))
        out = self.node("Mul", out, factor)
        sums = (q.astype(np.int64) - int(zero)) @ w.wide
        self.gives(dynamic, q)
        self.gives(out, sums.astype(F32) * (scale * w.scale))

    def linear(self, product: _Sums) -> None:
        """QLinearConv or QLinearMatMul."""
        x, w, total = product.x, product.w, product.whole
        sy, zero, to = self.result(product, total)
        by = [self.constant(each) for each in (x.scale, w.scale, sy, np.array(zero, to))]
        q, wq, zx, zw = self._operands(product, x.name)
        rest: list[str] = []
        if product.bias is not None and self.chance(0.7):
            rest = [self.constant(product.bias)]
        elif product.bias is not None:
            rest = [self._new()]
            self.inputs[rest[0]] = product.bias
        operands = [q, by[0], zx, wq, by[1], zw, *by[2:], *rest]
        out = self.node(f"QLinear{product.kind}", *operands, **product.more)
        self.gives(out, requantize(total, product.spread(product.scale / sy), zero, to))

    def between(self, product: _Sums) -> None:
        """Between DequantizeLinear and QuantizeLinear; or its floats."""
        if self.chance(0.25):
            out = self.floats(product)
            self.gives(out, product.whole.astype(F32) * product.spread(product.scale))
        else:
            self.quantized(product)

    def floats(self, product: _Sums) -> str:
        operands = [self.dequantized(product.x)]
        w, along = product.w, 0 if product.kind == "Conv" else 1
        weights = (self.constant(w.q), self.constant(w.scale), self.constant(w.zero))
        operands.append(self.node("DequantizeLinear", *weights, axis=along))
        if product.bias is not None:
            scale = np.broadcast_to(product.scale, product.bias.shape).astype(F32)
            bias = self.constant(product.bias), self.constant(scale)
            operands.append(self.node("DequantizeLinear", *bias, axis=0))
        return self.node(product.kind, *operands, **product.more)

    def quantized(self, product: _Sums) -> _Tensor:
        """The product, maybe a Relu, and a quantization."""
        out, total = self.floats(product), product.whole
        if self.chance(0.5):
            out, total = self.node("Relu", out), np.maximum(total, 0)
        sy, zero, to = self.result(product, total)
        wanted = requantize(total, product.spread(product.scale / sy), zero, to)
        return self.ended(out, wanted, sy, zero)

    def result(self, product: _Sums, total: Array) -> tuple[Any, int, Any]:
        """The result's scale, its zero point and dtype.

        By some scales a part saturates; by others a sum is half a step, so that the last bit of its factor,
        and each rounding of it, decides.
        """
        scale = np.broadcast_to(product.spread(product.scale), total.shape)
        real = np.abs(total * scale.astype(np.float64)).ravel()
        step = real.max(initial=0) / self.one((60, 120, 200)) or 1.0
        if real.any() and self.chance(0.7):
            one = self.one(list(real[real > 0]))
            step = one / (np.floor(one / step) + 0.5)
        return F32(step), self.one((0, 7)), self.one(BYTES)

    # -- layers one after the other

    def dequantized(self, x: _Tensor) -> str:
        zero = self.constant(np.array(x.zero, x.q.dtype))
        return self.node("DequantizeLinear", x.name, self.constant(x.scale), zero)

    def ended(self, name: str, wanted: Array, scale: Any, zero: int) -> _Tensor:
        """A quantization of a value, which gives `wanted`."""
        point = self.constant(np.array(zero, wanted.dtype))
        out = self.node("QuantizeLinear", name, self.constant(F32(scale)), point)
        self.gives(out, wanted)
        return _Tensor(out, wanted, F32(scale), zero)

    def layers(self) -> None:
        size = int(self.rng.integers(4, 12))
        last = self.tensor((1, self.one((3, 4, 8, 16)), size, size))
        known = [last]
        for _ in range(int(self.rng.integers(3, 10))):
            last = self.layer(last, known)
            known.append(last)
        if self.chance(0.4):
            name, self.unsure = self.node("GlobalAveragePool", self.dequantized(last)), True
            last = self.requantized(name, last.real.mean((2, 3), keepdims=True, dtype=F32))
        if self.chance(0.6):
            flat = self.node("Flatten", last.name)
            wanted = last.q.reshape(len(last.q), -1)
            self.quantized(self.rows(_Tensor(flat, wanted, last.scale, last.zero)))

    def layer(self, x: _Tensor, known: Sequence[_Tensor]) -> _Tensor:
        """A convolution; or an Add or Mul of a shortcut, a Concat, a MaxPool."""
        others = [each for each in known if each.q.shape == x.q.shape]
        kind = self.one(("conv", "conv", "conv", "add", "mul", "concat", "pool"))
        if kind in ("add", "mul"):
            return self.elementwise(kind.capitalize(), x, self.one(others))
        if kind == "concat" and x.q.shape[1] <= max(CHANNELS):
            y = self.one(others)
            name = self.node("Concat", self.dequantized(x), self.dequantized(y), axis=1)
            return self.requantized(name, np.concatenate([x.real, y.real], 1))
        if kind == "pool" and min(x.q.shape[2:]) >= 2:
            name = self.node("MaxPool", self.dequantized(x), kernel_shape=[2, 2], strides=[2, 2])
            windows = np.lib.stride_tricks.sliding_window_view(x.real, (2, 2), (2, 3))
            found = windows[:, :, ::2, ::2].max((-1, -2))
            return self.ended(name, saturated(found / x.scale, x.zero, x.q.dtype), x.scale, x.zero)
        return self.quantized(self.convolution(x))

    def elementwise(self, op: str, x: _Tensor, y: _Tensor) -> _Tensor:
        """In f32, each operation rounded: between quantizations, or by QLinearAdd and QLinearMul."""
        found = x.real + y.real if op == "Add" else x.real * y.real
        if self.chance(0.3) and x.q.dtype == y.q.dtype:
            to = x.q.dtype
            scale, zero = self._range(found), 3
            numbers = (x.scale, np.array(x.zero, to)), (y.scale, np.array(y.zero, to))
            operands = [
                each
                for tensor, pair in zip((x, y), numbers, strict=True)
                for each in (tensor.name, *map(self.constant, pair))
            ]
            end = (self.constant(scale), self.constant(np.array(zero, to)))
            name = self.node(f"QLinear{op}", *operands, *end)
            self.gives(name, saturated(found / scale, zero, to))
            return _Tensor(name, self.expected[name], scale, zero)
        name = self.node(op, self.dequantized(x), self.dequantized(y))
        if self.chance(0.5):
            name, found = self.node("Relu", name), np.maximum(found, 0)
        return self.requantized(name, found)

    def requantized(self, name: str, found: Array) -> _Tensor:
        scale, to, zero = self._range(found), self.one(BYTES), self.one((0, 7))
        return self.ended(name, saturated(found / scale, zero, to), scale, zero)

    def _range(self, found: Array) -> Any:
        most = np.abs(found).max(initial=0)
        return F32(most / self.one((60, 120, 200))) if most else F32(1)
