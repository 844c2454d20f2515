"""An engine for quantized networks: an example backend of the tests, with weights as the model's own int8.

It takes layers between a dequantize and a quantize as units, and computes them with NumPy, in f64.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from inarch.artifact.manifest import Port, Signature
from inarch.backends import Backend, Emission, EmitRequest, Request
from inarch.dialects.graph.composite import CompositeRegionOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.offload.pattern import Match, Pattern, any_, constant, named, op, optional
from inarch.runtime.function import Function
from inarch.runtime.loaders import Loader
from inarch.runtime.module import Module

Array = np.ndarray[Any, Any]


def dequantized(x: Pattern) -> Pattern:
    """By constants; a zero point may follow."""
    return op("dequantize", x, constant())


def layer(name: str, *operands: Pattern) -> Pattern:
    """The op `name`, rectified and rescaled or not, between what dequantizes and what quantizes."""
    scaled = optional(op(name, *operands), lambda x: op("dequantize", x, constant()))
    return op("quantize", optional(scaled, lambda x: op("relu", x)), constant())


DATA, WEIGHTS = dequantized(any_()), dequantized(constant())
BIAS = dequantized(constant()) | constant()
PATTERNS = (
    named("conv", layer("conv", DATA, WEIGHTS, BIAS) | layer("conv", DATA, WEIGHTS)),
    named("matmul", layer("matmul", DATA, WEIGHTS)),
    named("add", layer("add", dequantized(any_()), dequantized(any_()))),
    named("pool", layer("max_pool", DATA)),
)


def constants_only(match: Match, request: Request) -> str | None:
    """Zero points are constants, too."""
    for each in match.ops:
        if each.name in ("graph.quantize", "graph.dequantize"):
            for value in each.operands[1:]:
                if request.constant(value) is None:
                    return f"takes constant zero points, found one of {each.name} that is computed"
    return None


def emit(request: EmitRequest) -> Emission:
    functions = {f.sym_name.data: _function(f, request) for f in request.functions}
    return Emission("q8", request.names(), text=json.dumps(functions))


def _function(function: FuncOp, request: EmitRequest) -> dict[str, Any]:
    numbers: dict[SSAValue, int] = {}
    steps: list[dict[str, Any]] = []

    def number(value: SSAValue) -> int:
        return numbers.setdefault(value, len(numbers))

    def walk(ops: list[Operation]) -> list[int]:
        for each in ops:
            if isinstance(each, CompositeRegionOp):
                inner = list(each.body.block.ops)
                for argument, value in zip(each.body.block.args, each.inputs, strict=True):
                    numbers[argument] = number(value)
                numbers.update(zip(each.outs, walk(inner), strict=True))
            elif isinstance(each, ConstantOp):
                array = np.asarray(request.constant(each))
                step = {"op": "constant", "dtype": array.dtype.name, "shape": array.shape}
                steps.append({**step, "data": array.tolist(), "out": number(each.out)})
            elif each.name in ("graph.yield", "func.return"):
                return [number(value) for value in each.operands]
            else:
                steps.append(_step(each, number))
        return []

    for argument in function.body.block.args:
        number(argument)
    results = walk(list(function.body.block.ops))
    kinds = function.function_type
    return {"inputs": _ports(kinds.inputs), "outputs": _ports(kinds.outputs), "results": results,
            "steps": steps}  # fmt: skip


def _step(each: Operation, number: Any) -> dict[str, Any]:
    step: dict[str, Any] = {"op": each.name.removeprefix("graph.")}
    step["in"] = [number(value) for value in each.operands]
    step["out"] = number(each.results[0])
    step["dtype"] = tensor_dtype(each.results[0]).numpy
    step["shape"] = shape_of(each.results[0])
    for name, value in each.properties.items():
        if isinstance(value, IntegerAttr):
            step[name] = value.value.data
        elif isinstance(value, DenseArrayBase):
            step[name] = list(value.get_values())
    return step


def _ports(kinds: Any) -> list[tuple[str, list[int]]]:
    return [(str(kind.element_type), list(kind.get_shape())) for kind in kinds]


# ---------------------------------------------------------------------------------- the engine


def create(text: str, name: str) -> Module:
    """The module of what `emit` wrote."""
    functions = {symbol: _loaded(symbol, one) for symbol, one in json.loads(text).items()}
    return Module("q8", name, functions, sources={"q8": lambda: text}, content=text.encode())


def _loaded(symbol: str, one: dict[str, Any]) -> Function:
    from inarch.core.dtypes import DTYPES

    inputs, outputs = (
        tuple(Port(f"{name}{i}", DTYPES[d], tuple(s)) for i, (d, s) in enumerate(one[key]))
        for name, key in (("x", "inputs"), ("y", "outputs"))
    )

    def invoke(arrays: Any) -> None:
        values = {i: np.array(a) for i, a in enumerate(arrays[: len(inputs)])}
        for step in one["steps"]:
            found = _run(step, [values[i] for i in step.get("in", ())])
            values[step["out"]] = found
        for target, number in zip(arrays[len(inputs) :], one["results"], strict=True):
            target[...] = values[number]

    return Function(symbol, Signature(inputs, outputs), invoke)


def _along(value: Array, like: Array, axis: int | None) -> Array:
    if not value.ndim:
        return value
    assert axis is not None
    return value.reshape([-1 if d == axis % like.ndim else 1 for d in range(like.ndim)])


def _run(step: dict[str, Any], x: list[Array]) -> Array:
    """One op: as its equation says, but for sums, which are in f64."""
    dtype = np.dtype(step["dtype"])
    match step["op"]:
        case "constant":
            return np.array(step["data"], dtype).reshape(step["shape"])
        case "dequantize":
            axis = step.get("axis")
            wide = x[0].astype(np.int64)
            if len(x) == 3:
                wide = wide - _along(x[2].astype(np.int64), wide, axis)
            return (wide.astype(x[1].dtype) * _along(x[1], wide, axis)).astype(np.float64)
        case "quantize":
            axis = step.get("axis")
            steps = np.rint(x[0].astype(np.float32) / _along(x[1], x[0], axis))
            if len(x) == 3:
                steps = steps + _along(x[2].astype(np.int64), steps, axis)
            limits = np.iinfo(dtype)
            return np.clip(steps, limits.min, limits.max).astype(dtype)
        case "relu":
            return np.maximum(x[0], 0)
        case "add":
            return x[0] + x[1]
        case "matmul":
            return x[0] @ x[1]
        case "conv":
            total = convolve(x[0], x[1], step["strides"], step["pads"], step["groups"])
            return total + x[2].reshape(-1, 1, 1) if len(x) == 3 else total
        case _:
            return max_pool(x[0], step["window"], step["strides"])


def convolve(x: Array, w: Array, strides: list[int], pads: list[int], groups: int) -> Array:
    """[N, C, H, W] by [O, C / groups, KH, KW], in the dtype of x."""
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    windows = windows[:, :, :: strides[0], :: strides[1]]
    parts = zip(np.split(windows, groups, 1), np.split(w, groups, 0), strict=True)
    return np.concatenate([np.einsum("nchwij,ocij->nohw", a, b) for a, b in parts], 1)


def max_pool(x: Array, kernel: list[int], strides: list[int]) -> Array:
    """Without padding."""
    windows = np.lib.stride_tricks.sliding_window_view(x, tuple(kernel), (2, 3))
    return windows[:, :, :: strides[0], :: strides[1]].max((4, 5))


BACKEND = Backend(
    name="q8",
    description="layers of quantized networks, in integers",
    emit=emit,
    patterns=tuple(named(each.name, each.pattern, where=constants_only) for each in PATTERNS),
)
LOADER = Loader("q8", create=create)
