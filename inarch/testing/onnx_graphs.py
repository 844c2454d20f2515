"""Random small ONNX models, and whether Inarch computes what the ONNX reference evaluator does."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

import inarch
from inarch.core.errors import InarchError, UnsupportedError
from inarch.definitions.execute import execute
from inarch.dialects import new_context
from inarch.frontends import Sizes
from inarch.frontends.onnx import import_onnx

Array = np.ndarray[Any, Any]
FLOATS = ("float32", "float64")
INTEGERS = ("int8", "uint8", "int32", "int64", "uint64")
NUMBERS = (*FLOATS, *FLOATS, *INTEGERS)
SIZES = (1, 1, 2, 3, 3, 4, 5, 7)


class Refused(Exception):  # noqa: N818
    """The evaluator does not take the node that was drawn."""


@dataclass(frozen=True)
class Case:
    """A model, arrays for its inputs, and what the evaluator makes of them."""

    seed: int
    model: Any
    inputs: dict[str, Array]
    expected: dict[str, Array]


@dataclass
class _Graph:
    """What is drawn so far; `values` has the array of each name."""

    rng: np.random.Generator
    opset: int
    values: dict[str, Array] = field(default_factory=dict[str, Array])
    inputs: list[str] = field(default_factory=list[str])
    constants: list[str] = field(default_factory=list[str])
    nodes: list[Any] = field(default_factory=list[Any])
    rough: set[str] = field(default_factory=set[str])
    """Floats that were computed, so that a jump may fall to either side."""

    def chance(self, of: float) -> bool:
        return bool(self.rng.random() < of)

    def one(self, of: Sequence[Any]) -> Any:
        return of[int(self.rng.integers(len(of)))]

    def new(self, dtype: str, shape: Sequence[int]) -> str:
        """A new input, or an initializer, or both."""
        return self.put(self.array(dtype, shape), is_constant=self.chance(0.2))

    def array(self, dtype: str, shape: Sequence[int]) -> Array:
        if dtype == "bool":
            return self.rng.random(tuple(shape)) < 0.5
        if dtype in FLOATS:
            return self.rng.normal(size=tuple(shape)).astype(dtype)
        low = 0 if dtype.startswith("u") else -9
        return self.rng.integers(low, 10, size=tuple(shape)).astype(dtype)

    def put(self, value: Array, *, is_constant: bool = True) -> str:
        name = f"v{len(self.values)}"
        self.values[name] = value
        if is_constant:
            self.constants.append(name)
        if not is_constant or (self.chance(0.1) and not self.is_shape(value)):
            self.inputs.append(name)
        return name

    @staticmethod
    def is_shape(value: Array) -> bool:
        return value.dtype == np.int64 and value.ndim <= 1

    def whole(self, *values: int) -> str:
        """A constant list of int64."""
        return self.put(np.array(values, np.int64))

    def shape(self, least: int = 0, most: int = 5) -> list[int]:
        rank = int(self.rng.integers(least, most + 1))
        sizes = [int(self.one(SIZES)) for _ in range(rank)]
        if rank and self.chance(0.06):
            sizes[int(self.rng.integers(rank))] = 0
        return sizes

    def value(
        self, dtypes: Sequence[str], least: int = 0, most: int = 5, *, is_exact: bool = False
    ) -> str:
        """A value that is there, or a new one."""
        fits = [
            name
            for name, value in self.values.items()
            if str(value.dtype) in dtypes
            and least <= value.ndim <= most
            and not (is_exact and name in self.rough)
        ]
        if fits and self.chance(0.7):
            return self.one(fits[-4:])
        return self.new(self.one(dtypes), self.shape(least, most))

    def like(self, name: str) -> str:
        """A value that broadcasts with `name`, now and then itself."""
        if self.chance(0.1):
            return name
        value = self.values[name]
        sizes = [size if self.chance(0.7) else 1 for size in value.shape]
        return self.new(str(value.dtype), sizes[int(self.rng.integers(len(sizes) + 1)) :])

    def axis(self, name: str) -> int:
        rank = self.values[name].ndim
        return int(self.rng.integers(-rank, rank))

    def node(self, op: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> None:
        """Adds the node, when the evaluator takes it."""
        from onnx import helper

        names = [f"v{len(self.values) + place}" for place in range(outputs)]
        given = {name: value for name, value in attributes.items() if value not in (None, [])}
        node = helper.make_node(op, list(inputs), names, **given)
        used = {name: self.values[name] for name in inputs if name}
        oracle = _onnxruntime if op in _NOT_IN_THE_EVALUATOR else _evaluate
        found = oracle(_model([node], used, names, {}, self.opset), used)
        for name, value in zip(names, found, strict=True):
            if value.size > 20_000 or (op in _WINDOWS and not value.size):
                raise Refused(op)  # a window that does not fit is refused by all but the evaluator
            self.values[name] = value
            if value.dtype.kind == "f" and (op not in _MOVES or any(i in self.rough for i in used)):
                self.rough.add(name)
        self.nodes.append(node)


def _model(
    nodes: Sequence[Any],
    inputs: dict[str, Array],
    outputs: Sequence[str],
    constants: dict[str, Array],
    opset: int,
    results: dict[str, Array] | None = None,
) -> Any:
    from onnx import helper, numpy_helper

    def info(name: str, value: Array) -> Any:
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        return helper.make_tensor_value_info(name, kind, value.shape)

    made = [
        info(name, results[name]) if results else helper.make_empty_tensor_value_info(name)
        for name in outputs
    ]
    graph = helper.make_graph(
        nodes, "g", [info(*item) for item in inputs.items()], made,
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def _evaluate(model: Any, inputs: dict[str, Array]) -> list[Array]:
    from onnx.reference import ReferenceEvaluator

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = ReferenceEvaluator(model).run(None, inputs)
        except Exception as error:
            raise Refused(str(error)) from error
    if not all(isinstance(value, np.ndarray | np.generic) for value in cast("Any", found)):
        raise Refused("no tensor")
    return [np.asarray(value) for value in cast("Any", found)]


def _onnxruntime(model: Any, inputs: dict[str, Array]) -> list[Array]:
    try:
        import onnxruntime
    except ImportError as error:
        raise Refused("no onnxruntime") from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return session.run(None, inputs)
    except Exception as error:
        raise Refused(str(error)) from error


# ------------------------------------------------------------------------------------ nodes

_WINDOWS = frozenset({"Conv", "ConvTranspose", "MaxPool", "AveragePool"})
_NOT_IN_THE_EVALUATOR = frozenset({"MaxPool", "ConvTranspose"})
"""Of onnx 1.23: other sizes of MaxPool than the schema's, wrong channels of ConvTranspose in groups."""

_MOVES = frozenset(
    [
        "Abs",
        "Neg",
        "Relu",
        "Concat",
        "Split",
        "Slice",
        "Gather",
        "GatherElements",
        "Transpose",
        "Reshape",
        "Expand",
        "Tile",
        "Squeeze",
        "Unsqueeze",
        "Where",
        "Flatten",
        "Max",
        "Min",
        "Clip",
        "Trilu",
        "Pad",
        "ScatterElements",
        "ScatterND",
        "Identity",
    ]
)


def _unary(g: _Graph) -> None:
    op = g.one(
        [
            "Abs",
            "Neg",
            "Relu",
            "Exp",
            "Sigmoid",
            "Tanh",
            "Softplus",
            "Sin",
            "Erf",
            "Elu",
            "Identity",
            "Sign",
        ]
    )
    g.node(op, [g.value(FLOATS, is_exact=op == "Sign")])


def _jump(g: _Graph) -> None:
    g.node(g.one(["Floor", "Ceil", "Round", "Sign"]), [g.value(FLOATS, is_exact=True)])


def _binary(g: _Graph) -> None:
    op = g.one(["Add", "Sub", "Mul", "Max", "Min"])
    a = g.value(NUMBERS)
    pair = [a, g.like(a)]
    g.node(op, pair[:: g.one((1, -1))])


def _variadic(g: _Graph) -> None:
    a = g.value(NUMBERS if g.chance(0.5) else FLOATS)
    op = g.one(("Max", "Min") if g.values[a].dtype.kind != "f" else ("Max", "Min", "Sum", "Mean"))
    g.node(op, [a, *(g.like(a) for _ in range(int(g.rng.integers(3))))])


def _divide(g: _Graph) -> None:
    a = g.value(NUMBERS, is_exact=True)
    b = g.values[g.like(a)].copy()
    b[b == 0] = 3
    op = g.one(("Div", "Mod"))
    fmod = {"fmod": 1} if op == "Mod" and (b.dtype.kind == "f" or g.chance(0.4)) else {}
    g.node(op, [a, g.put(b, is_constant=g.chance(0.5))], **fmod)


def _compare(g: _Graph) -> None:
    a = g.value(NUMBERS, is_exact=True)
    g.node(g.one(["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"]), [a, g.like(a)])


def _logic(g: _Graph) -> None:
    a = g.value(("bool",))
    op = g.one(["And", "Or", "Xor", "Not"])
    g.node(op, [a] if op == "Not" else [a, g.like(a)])


def _bits(g: _Graph) -> None:
    if g.chance(0.5):
        a = g.new(g.one(("uint8", "uint64")), g.shape())
        g.node("BitShift", [a, g.like(a)], direction=g.one(("LEFT", "RIGHT")))
        return
    a = g.value(INTEGERS)
    g.node(g.one(["BitwiseAnd", "BitwiseOr", "BitwiseXor"]), [a, g.like(a)])


def _where(g: _Graph) -> None:
    a = g.value((*NUMBERS, "bool"))
    shape = [size if g.chance(0.7) else 1 for size in g.values[a].shape]
    g.node("Where", [g.new("bool", shape), a, g.like(a)])


def _cast(g: _Graph) -> None:
    from onnx import helper

    to = g.one((*NUMBERS, "bool"))
    a = g.value((*NUMBERS, "bool"), is_exact=True)
    if to.startswith("u") and g.values[a].dtype.kind == "f":
        to = "int64"
    g.node("Cast", [a], to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


def _reduce(g: _Graph) -> None:
    op = g.one(
        ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSumExp", "LogSum"]
    )
    dtypes = ("float32", "float64", "int32", "int64") if op in ("Sum", "Max", "Min") else FLOATS
    a = g.value(dtypes)
    rank = g.values[a].ndim
    axes = [int(axis) - rank * g.chance(0.3) for axis in range(rank) if g.chance(0.5)] or None
    keep: Any = {} if g.chance(0.3) else {"keepdims": g.one((0, 1))}
    if g.opset >= 18 or (g.opset >= 13 and op == "Sum"):
        extra = {"noop_with_empty_axes": 1} if g.chance(0.2) else {}
        g.node(f"Reduce{op}", [a, g.whole(*axes)] if axes else [a], **keep, **extra)
    else:
        g.node(f"Reduce{op}", [a], axes=axes, **keep)


def _slice(g: _Graph) -> None:
    a = g.value(NUMBERS, 1)
    sizes = g.values[a].shape
    axes = [axis for axis in range(len(sizes)) if g.chance(0.6)] or [0]
    steps = [int(g.one((1, 1, 2, -1, -2, 3))) for _ in axes]
    starts = [int(g.rng.integers(-sizes[axis] - 2, sizes[axis] + 2)) for axis in axes]
    far = (-(2**63), 2**63 - 1, 2**31 - 1, -(2**31))
    ends = [
        int(g.rng.integers(-sizes[axis] - 2, sizes[axis] + 2)) if g.chance(0.6) else g.one(far)
        for axis in axes
    ]
    g.node("Slice", [a, g.whole(*starts), g.whole(*ends), g.whole(*axes), g.whole(*steps)])


def _pad(g: _Graph) -> None:
    a = g.value(NUMBERS, 1, 4)
    rank = g.values[a].ndim
    mode = g.one(("constant", "constant", "edge", "reflect"))
    low = -1 if mode == "constant" else 0
    pads = g.whole(*(int(pad) for pad in g.rng.integers(low, 3, size=2 * rank)))
    if (mode != "constant" and 0 in g.values[a].shape) or (
        mode == "reflect" and min(g.values[a].shape) < 3
    ):
        raise Refused("Pad")
    inputs = [a, pads]
    if mode == "constant" and g.chance(0.6):
        inputs.append(g.put(g.array(str(g.values[a].dtype), ())))
    g.node("Pad", inputs, mode=mode)


def _concat(g: _Graph) -> None:
    a = g.value((*NUMBERS, "bool"), 1)
    axis, parts = g.axis(a), [a]
    for _ in range(int(g.rng.integers(3))):
        sizes = list(g.values[a].shape)
        sizes[axis] = g.one((0, 1, 2, 3))
        parts.append(a if g.chance(0.2) else g.new(str(g.values[a].dtype), sizes))
    g.node("Concat", parts, axis=axis)


def _split(g: _Graph) -> None:
    a = g.value(NUMBERS, 1)
    axis = g.axis(a)
    size = g.values[a].shape[axis]
    first = int(g.rng.integers(size + 1))
    if g.opset >= 13:
        g.node("Split", [a, g.whole(first, size - first)], 2, axis=axis)
    else:
        g.node("Split", [a], 2, axis=axis, split=[first, size - first])


def _gather(g: _Graph) -> None:
    a = g.value(NUMBERS, 1, 4)
    axis, sizes = g.axis(a), list(g.values[a].shape)
    size = sizes[axis]
    if not size:
        raise Refused("Gather")
    op = g.one(("Gather", "GatherElements", "ScatterElements", "ScatterND"))
    if op == "ScatterND":
        rows = g.rng.permutation(sizes[0])[: int(g.rng.integers(sizes[0] + 1))].reshape(-1, 1)
        updates = g.new(str(g.values[a].dtype), [len(rows), *sizes[1:]])
        g.node(op, [a, g.put(rows.astype(np.int64), is_constant=False), updates])
        return
    if op == "ScatterElements":
        sizes[axis] = int(g.rng.integers(size + 1))
        order = np.argsort(g.rng.random(g.values[a].shape), axis=axis)
        index = np.take(order, range(sizes[axis]), axis=axis).astype(np.int64)
        index = np.where(g.rng.random(index.shape) < 0.3, index - size, index)
        updates = g.new(str(g.values[a].dtype), sizes)
        g.node(op, [a, g.put(index, is_constant=g.chance(0.5)), updates], axis=axis)
        return
    shape = g.shape(0, 2)
    if op == "GatherElements":
        shape = sizes
        shape[axis] = int(g.rng.integers(4))
    index = g.rng.integers(-size, size, size=tuple(shape)).astype(g.one(("int32", "int64")))
    g.node(op, [a, g.put(index, is_constant=g.chance(0.5))], axis=axis)


def _view(g: _Graph) -> None:
    a = g.value((*NUMBERS, "bool"))
    shape = g.values[a].shape
    rank = len(shape)
    op = g.one(["Transpose", "Reshape", "Expand", "Tile", "Unsqueeze", "Squeeze", "Flatten"])
    if op == "Transpose":
        perm = None if g.chance(0.3) else [int(axis) for axis in g.rng.permutation(rank)]
        g.node(op, [a], perm=perm)
    elif op == "Reshape":
        cut = int(g.rng.integers(rank + 1))
        g.node(op, [a, g.whole(*(0 for _ in shape[:cut]), -1)])
    elif op == "Expand":
        g.node(op, [a, g.whole(*g.shape(0, 1), *(g.one((1, n)) if n != 1 else 3 for n in shape))])
    elif op == "Tile":
        g.node(op, [a, g.whole(*(int(n) for n in g.rng.integers(0, 4, size=rank)))])
    elif op == "Flatten":
        g.node(op, [a], axis=int(g.rng.integers(-rank, rank + 1)))
    else:
        ones = [axis for axis, size in enumerate(shape) if size == 1]
        axes = ones if op == "Squeeze" else [int(g.rng.integers(-rank - 1, rank + 1))]
        if not axes:
            raise Refused("Squeeze")
        if g.opset >= 13:
            g.node(op, [a, g.whole(*axes)])
        else:
            g.node(op, [a], axes=axes)


def _index(g: _Graph) -> None:
    a = g.new(g.one(("float32", "float64", "int32", "uint8")), g.shape(1, 4))
    op = g.one(("ArgMax", "ArgMin", "TopK", "CumSum", "OneHot", "Trilu"))
    axis, size = g.axis(a), g.values[a].shape
    flags: dict[str, Any] = {name: g.one((0, 1)) for name in ("exclusive", "reverse")}
    if op == "TopK":
        k = g.whole(int(g.rng.integers(1, size[axis] + 1))) if size[axis] else g.whole(0)
        g.node(op, [a, k], 2, axis=axis, largest=flags["reverse"])
    elif op == "CumSum":
        g.node(op, [g.value(FLOATS, len(size), len(size)), g.put(np.array(axis))], **flags)
    elif op == "OneHot":
        index = g.put(g.rng.integers(-4, 4, size=size), is_constant=False)
        g.node(op, [index, g.whole(4), g.put(g.array("float32", (2,)))], axis=axis)
    elif op == "Trilu" and len(size) < 2:
        raise Refused("Trilu")
    elif op == "Trilu":
        g.node(op, [a, g.put(np.array(int(g.rng.integers(-3, 4))))], upper=flags["reverse"])
    else:
        g.node(op, [a], axis=axis, keepdims=flags["reverse"], select_last_index=flags["exclusive"])


def _window(g: _Graph) -> None:
    spatial = g.one((1, 2, 2, 3))
    sizes = [int(g.one((4, 5, 7))) for _ in range(spatial)]
    kernel = [int(g.one((1, 2, 3))) for _ in range(spatial)]
    groups, channels, outs = g.one((1, 1, 2)), g.one((1, 2)), g.one((1, 3))
    x = g.new("float32", [g.one((1, 2)), groups * channels, *sizes])
    attributes: dict[str, Any] = {"strides": [int(g.one((1, 2, 3))) for _ in kernel]}
    op = g.one(("Conv", "ConvTranspose", "MaxPool", "AveragePool"))
    if g.chance(0.4) and op != "ConvTranspose":
        attributes["auto_pad"] = g.one(("SAME_UPPER", "SAME_LOWER", "VALID"))
    else:
        attributes["pads"] = [int(g.rng.integers(k)) for k in (*kernel, *kernel)]
    if op in ("Conv", "ConvTranspose"):
        if "auto_pad" not in attributes:
            attributes["dilations"] = [g.one((1, 2)) for _ in kernel]
        shape = [groups * outs, channels] if op == "Conv" else [groups * channels, outs]
        bias = [g.new("float32", [groups * outs])] if g.chance(0.5) else []
        g.node(op, [x, g.new("float32", [*shape, *kernel]), *bias], group=groups, **attributes)
        return
    if op == "AveragePool":
        attributes["count_include_pad"] = g.one((0, 1))
    if "auto_pad" not in attributes:
        attributes["ceil_mode"] = g.one((0, 1))
    g.node(op, [x], kernel_shape=kernel, **attributes)


def _product(g: _Graph) -> None:
    m, k, n = (
        int(g.one((0, 1, 2, 3, 5))) if g.chance(0.2) else int(g.one((1, 3, 5))) for _ in "mkn"
    )
    dtype, op = g.one(("float32", "float64", "int32")), g.one(("MatMul", "Gemm", "Einsum"))
    if op == "MatMul":
        batch = g.shape(0, 2)
        left = g.new(dtype, [*batch, m, k] if g.chance(0.8) else [k])
        g.node(op, [left, g.new(dtype, [*(b if g.chance(0.6) else 1 for b in batch), k, n])])
    elif op == "Gemm":
        t, u = g.one((0, 1)), g.one((0, 1))
        a, b = g.new("float32", [k, m] if t else [m, k]), g.new("float32", [n, k] if u else [k, n])
        c = [g.new("float32", g.one(([n], [1, n], [m, 1], [], [m, n])))] if g.chance(0.6) else []
        g.node(op, [a, b, *c], transA=t, transB=u, alpha=g.one((1.0, 0.5)), beta=g.one((1.0, -2.0)))
    else:
        text = g.one(("ij,jk->ik", "ij,jk->ki", "ij,jk", "ij,jk->", "ij,jk->j"))
        g.node(op, [g.new("float32", [m, k]), g.new("float32", [k, n])], equation=text)


def _softmax(g: _Graph) -> None:
    if g.opset < 13:
        raise Refused("the evaluator has no Softmax of before 13")
    a = g.value(FLOATS, 1)
    g.node(g.one(("Softmax", "LogSoftmax")), [a], axis=g.axis(a) if g.chance(0.7) else None)


def _normalize(g: _Graph) -> None:
    shape = g.shape(2, 4)
    x, op = g.new("float32", shape), g.one(("LayerNormalization", "InstanceNormalization"))
    if op == "LayerNormalization":
        axis = int(g.rng.integers(-len(shape), len(shape)))
        scale = [g.new("float32", shape[axis:]) for _ in range(g.one((1, 2)))]
        g.node(op, [x, *scale], axis=axis)
    else:
        g.node(op, [x, g.new("float32", shape[1:2]), g.new("float32", shape[1:2])])


def _quantize(g: _Graph) -> None:
    kind, shape = g.one(("int8", "uint8")), g.shape(1, 4)
    axis = int(g.rng.integers(len(shape)))
    few = () if g.chance(0.5) or g.opset < 13 else (shape[axis],)
    scale = g.put(np.abs(g.array("float32", few)) + np.float32(0.1))
    zero = [] if g.chance(0.3) and kind == "uint8" else [g.put(g.array(kind, few))]
    axes = {"axis": axis} if g.opset >= 13 and few else {}
    if g.chance(0.5):
        g.node("QuantizeLinear", [g.new("float32", shape), scale, *zero], **axes)
    else:
        g.node("DequantizeLinear", [g.new(kind, shape), scale, *zero], **axes)


def _resize(g: _Graph) -> None:
    a = g.new(
        "float32", [1, g.one((1, 2)), *(int(g.one((1, 2, 3, 5))) for _ in range(g.one((1, 2))))]
    )
    scales = [1.0, 1.0, *(float(g.one((0.5, 1.0, 2.0, 3.0))) for _ in g.values[a].shape[2:])]
    mode = g.one(("nearest", "linear"))
    where = g.one(("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"))
    near = (
        {"nearest_mode": g.one(("floor", "ceil", "round_prefer_floor"))}
        if mode == "nearest"
        else {}
    )
    g.node("Resize", [a, "", g.put(np.array(scales, np.float32))], mode=mode,
           coordinate_transformation_mode=where, **near)  # fmt: skip


def _clip(g: _Graph) -> None:
    a = g.value(NUMBERS)
    kind = str(g.values[a].dtype)
    low, high = (g.put(g.array(kind, ())) if g.chance(0.7) else "" for _ in "lh")
    g.node("Clip", [a, low, high])


def _range(g: _Graph) -> None:
    start, limit, delta = (int(n) for n in g.rng.integers(-9, 9, size=3))
    dtype = g.one(("int32", "int64", "float32"))
    if not delta:
        raise Refused("Range")
    g.node("Range", [g.put(np.array(n, dtype)) for n in (start, limit, delta)])


def _branch(g: _Graph) -> None:
    """An If whose branches use a value from around it."""
    from onnx import helper

    a = g.value(FLOATS)
    bodies = []
    for op in (g.one(("Neg", "Abs")), g.one(("Tanh", "Relu"))):
        name = f"b{len(g.values)}{op}"
        out = helper.make_empty_tensor_value_info(name)
        out.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(g.values[a].dtype)
        bodies.append(helper.make_graph([helper.make_node(op, [a], [name])], op, [], [out]))
    condition, name = g.new("bool", ()), f"v{len(g.values)}"
    node = helper.make_node("If", [condition], [name], then_branch=bodies[0], else_branch=bodies[1])
    used = {each: g.values[each] for each in (condition, a)}
    (g.values[name],) = _evaluate(_model([node], used, [name], {}, g.opset), used)
    g.rough.add(name)
    g.nodes.append(node)


NODES: tuple[Callable[[_Graph], None], ...] = (
    _unary, _jump, _binary, _variadic, _divide, _compare, _logic, _bits, _where, _cast, _reduce,
    _reduce, _slice, _pad, _concat, _split, _gather, _gather, _view, _view, _view, _index, _index,
    _window, _window, _product, _softmax, _normalize, _quantize, _resize, _clip, _range, _branch,
)  # fmt: skip


def graph(seed: int) -> Case:
    """The model of a seed: the same on each machine with the same NumPy and onnx."""
    g = _Graph(np.random.default_rng([20261126, seed]), 0)
    g.opset = int(g.rng.integers(11, 23))
    for _ in range(int(g.rng.integers(1, 9))):
        g.one(NODES)  # so that a refused node changes what is drawn behind it
        _try(g, g.one(NODES))
    while not g.nodes:
        _try(g, g.one(NODES))
    used = {name for node in g.nodes for name in node.input}
    used |= {a for n in g.nodes for b in n.attribute for m in b.g.node for a in m.input}
    made = [name for node in g.nodes for name in node.output]
    leaves = made if g.chance(0.5) else [name for name in made if name not in used] or made
    nodes = [g.nodes[int(i)] for i in g.rng.permutation(len(g.nodes))] if g.chance(0.1) else g.nodes
    inputs = {name: g.values[name] for name in g.inputs if name in used}
    constants = {name: g.values[name] for name in g.constants if name in used}
    model = _model(nodes, inputs, leaves, constants, g.opset, g.values)
    fed = {name: value for name, value in inputs.items() if name not in constants}
    return Case(seed, model, fed, {name: g.values[name] for name in leaves})


def _try(g: _Graph, draw: Callable[[_Graph], None]) -> None:
    try:
        draw(g)
    except Refused:
        return


# ------------------------------------------------------------------------------------ comparison


def difference(expected: Array, found: Array) -> str:
    """What is other than it should be; empty when all is right."""
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"expected {expected.dtype}{expected.shape}, found {found.dtype}{found.shape}"
    if expected.dtype.kind != "f":
        bad = expected != found
    else:
        finite = np.abs(expected[np.isfinite(expected)])
        scale = max(1.0, float(finite.max())) if finite.size else 1.0
        allowed = scale * (1e-9 if expected.dtype == np.float64 else 2e-5)
        bad = ~np.isclose(found, expected, rtol=1e-5, atol=allowed, equal_nan=True)
    if not bad.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"at {at} expected {expected[at]}, found {found[at]} ({int(bad.sum())} of {bad.size})"


def check(case: Case, *, is_compiled: bool = False) -> str:
    """Where Inarch differs, in a line; `refused: ...` where it says that it lacks something."""
    try:
        found = _found(case, is_compiled)
    except UnsupportedError as error:
        return f"refused: {error.line()}"
    except InarchError as error:
        return f"error: {error.line()}"
    except Exception as error:  # noqa: BLE001
        return f"crash: {type(error).__name__}: {error}"
    maker = {name: node.op_type for node in case.model.graph.node for name in node.output}
    for name, array in case.expected.items():
        said = difference(array, found[name])
        if said:
            return f"wrong: {maker[name]} '{name}': {said}"
    return ""


def _found(case: Case, is_compiled: bool) -> dict[str, Array]:
    if is_compiled:
        module = inarch.compile(case.model, dims=_sizes(case).dims)
        return dict(zip(case.expected, module.run(case.inputs).values(), strict=True))
    context = new_context()
    module = import_onnx(case.model, context, _sizes(case))
    with np.errstate(all="ignore"):
        outputs = execute(module, list(case.inputs.values()), context)
    return dict(zip(case.expected, outputs, strict=True))


def _sizes(case: Case) -> Sizes:
    """Exporters write a size of 0 for one that they do not know, so it has to be said."""
    return Sizes(
        dims={
            f"{name}.{axis}": 0
            for name, value in case.inputs.items()
            for axis, size in enumerate(value.shape)
            if not size
        }
    )


def main(words: Sequence[str] | None = None) -> int:
    """Prints each difference, and writes its model."""
    parser = argparse.ArgumentParser(
        prog="python -m inarch.testing.onnx_graphs", description=__doc__
    )
    parser.add_argument("--seed", type=int, default=0, help="of the first model (0)")
    parser.add_argument("--count", type=int, default=100, help="how many models (100)")
    parser.add_argument("--run", type=int, default=0, help="begin behind as many runs (0)")
    parser.add_argument("--compiled", action="store_true", help="compile, instead of by definition")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after as many")
    parser.add_argument("--out", type=Path, default=Path("generated-failures"), help="for models")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON at the end")
    asked = parser.parse_args(words)
    begin, findings, tried = time.monotonic(), list[dict[str, Any]](), 0
    first = asked.seed + asked.run * asked.count
    for seed in range(first, first + asked.count):
        if time.monotonic() - begin > asked.seconds:
            break
        tried += 1
        case = graph(seed)
        said = check(case, is_compiled=asked.compiled)
        if not said:
            continue
        asked.out.mkdir(parents=True, exist_ok=True)
        path = asked.out / f"onnx-{seed}.onnx"
        path.write_bytes(case.model.SerializeToString())
        findings.append({"seed": seed, "message": said, "file": os.fspath(path)})
        if not asked.json:
            sys.stdout.write(f"{seed}: {said}\n")
            sys.stdout.flush()
    told = {"graphs": tried, "findings": findings}
    sys.stdout.write(
        json.dumps(told) + "\n" if asked.json else f"{tried} graphs, {len(findings)} differ\n"
    )
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
