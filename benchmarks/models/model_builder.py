"""A small builder over `onnx.helper`: seeded weights, named nodes, one node a call.

The generators beside it import it as a script's neighbour: `from model_builder import ModelBuilder`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray[Any, Any]

OPSET = 17
IR_VERSION = 8
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class ModelBuilder:
    """Collects nodes and weights; `model()` checks them. Tensors are strings."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self._random = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: Sequence[int | str], dtype: int = FLOAT) -> str:
        """A new input of the model."""
        self._inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def normal(self, *shape: int, scale: float = 1.0) -> Array:
        """Normally distributed float32 numbers with this standard deviation."""
        return self._random.standard_normal(shape, dtype=np.float32) * np.float32(scale)

    def weight(self, values: Array | float) -> str:
        """A new initializer; numbers become float32 scalars."""
        array = np.asarray(values, np.float32) if isinstance(values, float) else values
        name = f"w{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def sizes(self, *values: int) -> str:
        """A new initializer of int64, for shapes and axes."""
        return self.weight(np.array(values, np.int64))

    def op(self, kind: str, *operands: str, **attributes: Any) -> str:
        """A new node with one output, which is returned."""
        return self.first(1, kind, *operands, **attributes)

    def first(self, outputs: int, kind: str, *operands: str, **attributes: Any) -> str:
        """A new node with so many outputs, the first of which is returned."""
        name = f"{kind.lower()}{len(self._nodes)}"
        names = [f"{name}_out", *(f"{name}_out{n}" for n in range(1, outputs))]
        self._nodes.append(helper.make_node(kind, operands, names, name, **attributes))
        return names[0]

    def linear(self, x: str, inputs: int, outputs: int, scale: float) -> str:
        """`x @ W' + b` as a Gemm, with W as [outputs, inputs]."""
        weight = self.weight(self.normal(outputs, inputs, scale=scale))
        bias = self.weight(self.normal(outputs, scale=0.1))
        return self.op("Gemm", x, weight, bias, transB=1)

    def output(
        self, x: str, shape: Sequence[int | str], name: str = "output", dtype: int = FLOAT
    ) -> None:
        """Makes `x`, the result of the last node, an output of the model called `name`."""
        last = self._nodes[-1]
        assert last.output[0] == x, "the output is the last node's"
        last.output[0] = name
        self._outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def model(self) -> onnx.ModelProto:
        """The model, checked."""
        graph = helper.make_graph(
            self._nodes, self.name, self._inputs, self._outputs, self._weights
        )
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="inarch-benchmarks")
        model.ir_version = IR_VERSION
        onnx.checker.check_model(model)  # pyright: ignore[reportUnknownMemberType] - a bare PathLike
        return model


def main(build: Callable[[], onnx.ModelProto]) -> None:
    """The script: `python benchmarks/models/NAME.py OUT.onnx`."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {sys.argv[0]} OUT.onnx")
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(build(), str(path))  # pyright: ignore[reportUnknownMemberType] - a bare PathLike
