"""The ops that ExampleJSON has, and how each one's properties are spelled as attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from inarch.dialects.graph.op import ints
from inarch.dialects.graph.reduce import ReduceOp

Attrs = list[tuple[str, str]]
"""Attributes as text, in the engine's order."""


def _none(_: Operation) -> Attrs:
    return []


def _properties(*names: str) -> Callable[[Operation], Attrs]:
    """Properties under their own names; what is absent is left out."""

    def spell(op: Operation) -> Attrs:
        return [(name, _text(op.properties[name])) for name in names if name in op.properties]

    return spell


def _text(value: Attribute) -> str:
    if isinstance(value, DenseArrayBase):
        return ",".join(map(str, ints(cast("DenseArrayBase[Any]", value))))
    if isinstance(value, FloatAttr):
        return repr(float(cast("FloatAttr[Any]", value).value.data))
    assert isinstance(value, IntegerAttr), f"no spelling of {value}"
    return str(cast("IntegerAttr[Any]", value).value.data)


def _reduction(op: Operation) -> Attrs:
    assert isinstance(op, ReduceOp)
    kept: Attrs = [("keepdims", "true")] if op.keeps_axes() else []
    return [("axes", _text(op.axes)), *kept]


OPS: Mapping[str, Callable[[Operation], Attrs]] = {
    **dict.fromkeys(("add", "sub", "mul", "div", "maximum", "minimum", "pow"), _none),
    **dict.fromkeys(("neg", "abs", "relu", "exp", "log", "sqrt", "tanh", "sigmoid"), _none),
    "clip": _properties("low", "high"),
    "matmul": _none,
    "softmax": _properties("axis"),
    **dict.fromkeys(("reduce_sum", "reduce_mean", "reduce_max", "reduce_min"), _reduction),
    # Their targets are the shapes of their results.
    "reshape": _none,
    "broadcast_to": _none,
    "transpose": _properties("perm"),
    "concat": _properties("axis"),
    "slice": _properties("starts", "steps"),
}
"""Names of `graph` ops, which are the format's; the engine's table has the same."""
