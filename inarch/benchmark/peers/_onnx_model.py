"""A layer as an ONNX model, for the peers that read it."""

from __future__ import annotations

from typing import Any

from inarch.benchmark.layers import Conv, Layer
from inarch.benchmark.subject.arrays import Arrays
from inarch.core.lazy import Array, np

_OPSET, _IR_VERSION = 17, 8


def inputs_of(layer: Layer, arrays: Arrays) -> dict[str, Array]:
    """The inputs of `model_of` by name."""
    both = not isinstance(layer, Conv) and bool(layer.batch)
    return {"x": arrays.x, "w": arrays.w} if both else {"x": arrays.x}


def model_of(layer: Layer, arrays: Arrays) -> bytes:
    """Inputs `x` (and `w`, of a batch of products), output `y`; all else is constant."""
    from onnx import TensorProto, helper, numpy_helper

    nodes: list[Any] = []
    constants: list[Any] = []

    def constant(array: Array, name: str) -> str:
        constants.append(numpy_helper.from_array(array, name))
        return name

    def node(kind: str, *operands: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(kind, operands, [f"y{len(nodes)}"], **attributes))
        return f"y{len(nodes) - 1}"

    inputs = {"x": layer.input_shape}
    if isinstance(layer, Conv):
        assert arrays.bias is not None, "a convolution has one"
        y = node(
            "Conv",
            "x",
            constant(arrays.w, "w"),
            constant(arrays.bias, "bias"),
            kernel_shape=[layer.window] * 2,
            strides=[layer.stride] * 2,
            pads=[layer.pad] * 4,
            group=layer.groups,
        )
        if layer.activation == "relu":
            node("Relu", y)
        elif layer.activation == "relu6":
            limits = (constant(np.array(value, np.float32), f"limit{value}") for value in (0, 6))
            node("Clip", y, *limits)
    else:
        if layer.batch:
            inputs["w"] = layer.weight_shape
        y = node("MatMul", "x", "w" if layer.batch else constant(arrays.w, "w"))
        if arrays.bias is not None:
            node("Add", y, constant(arrays.bias, "bias"))
    nodes[-1].output[0] = "y"
    graph = helper.make_graph(
        nodes,
        "layer",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, layer.output_shape)],
        constants,
    )
    opsets = [helper.make_opsetid("", _OPSET)]
    return helper.make_model(
        graph, opset_imports=opsets, ir_version=_IR_VERSION
    ).SerializeToString()
