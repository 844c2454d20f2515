"""Models that show what happens within: all values of one, and each layer on the values of another."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inarch.core.lazy import Array
from inarch.quantization.settings import Made

if TYPE_CHECKING:
    from onnx import ModelProto

ALONE, ROUNDED = "::alone", "::rounded"
"""Ends of names: what a value's layer makes of the float model's values, and that in bytes and back."""


@dataclass(frozen=True)
class Layer:
    """A node of the float model, and the value that is compared for it."""

    name: str
    op: str
    value: str


def layers_of(made: Made) -> list[Layer]:
    """What computes with bytes, of whose value both models have one.

    A Relu that bytes make needless is gone, and its value made by the node before it, which is named then.
    """
    makers = {name: node for node in made.quantized.graph.node for name in node.output}
    own, wanted = {node.name: node for node in made.plain.graph.node}, set(made.nodes)
    found: list[Layer] = []
    for node in made.plain.graph.node:
        maker = makers.get(node.output[0])
        if node.name in wanted and maker is not None:
            named = own.get(maker.name, node)
            found.append(Layer(named.name, named.op_type, node.output[0]))
    return found


def showing(model: ModelProto, names: Sequence[str]) -> ModelProto:
    """The model with these values as its outputs, and no others."""
    from onnx import ModelProto

    made = ModelProto()
    made.CopyFrom(model)
    del made.graph.output[:]
    for name in names:
        made.graph.output.add().name = name
    return made


def as_read(model: ModelProto, names: Sequence[str]) -> list[str]:
    """What those that read values of a quantized model get: in bytes and back, where they are quantized."""
    readers = _readers(model)
    pairs = {name: _pair(readers, name) for name in names}
    return [pairs[name][1].output[0] if pairs[name] else name for name in names]


def apart(made: Made, values: Mapping[str, Array], outputs: Sequence[str]) -> ModelProto:
    """The quantized model with each of `values` an input: every layer computes on those of the float model.

    Its outputs are what the layers make of `outputs`, in order: in bytes and back, where others read them so.
    """
    from onnx import ModelProto, helper

    model = ModelProto()
    model.CopyFrom(made.quantized)
    graph, readers = model.graph, _readers(made.quantized)
    for node in graph.node:
        for at, name in enumerate(node.output):
            if name in values:
                node.output[at] = name + ALONE
    own = {port.name for port in graph.input}
    for name, array in values.items():
        if name in readers and name not in own:
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            graph.input.append(helper.make_tensor_value_info(name, kind, array.shape))
    del graph.output[:], graph.value_info[:]
    for name in outputs:
        pair = _pair(readers, name)
        graph.output.add().name = name + (ROUNDED if pair else ALONE)
        for node, (taken, given) in zip(
            pair, ((ALONE, "::bytes"), ("::bytes", ROUNDED)), strict=bool(pair)
        ):
            copy = graph.node.add()
            copy.CopyFrom(node)
            copy.name, copy.input[0], copy.output[0] = name + given, name + taken, name + given
    return model


def _pair(readers: Mapping[str, Sequence[Any]], name: str) -> tuple[Any, ...]:
    """The two nodes that make bytes of a value and numbers of these again, if any."""
    for quantize in readers.get(name, ()):
        for dequantize in readers.get(quantize.output[0], ()):
            if (quantize.op_type, dequantize.op_type) == ("QuantizeLinear", "DequantizeLinear"):
                return quantize, dequantize
    return ()


def _readers(model: ModelProto) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for node in model.graph.node:
        for name in node.input:
            found.setdefault(name, []).append(node)
    return found
