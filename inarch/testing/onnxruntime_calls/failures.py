"""Models that a run does not fit, a kind of failure each: for the class of the exception."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Failure:
    """Nodes in ONNX's text, whose outputs are y and z, with arrays for the inputs that they name."""

    nodes: str
    inputs: Mapping[str, Array]
    weights: Mapping[str, Array] = field(default_factory=dict[str, Array])
    opset: int = 17

    @property
    def model(self) -> bytes:
        """The model, with inputs of unknown rank, so that the run reports the fault."""
        from onnx import helper, numpy_helper, parser

        kinds = {name: helper.np_dtype_to_tensor_dtype(a.dtype) for name, a in self.inputs.items()}
        graph = parser.parse_graph(f"g () => () {{ {self.nodes} }}")
        given = {name for node in graph.node for name in node.output} & {"y", "z"}
        graph.input.extend(
            helper.make_tensor_value_info(name, kind, None) for name, kind in kinds.items()
        )
        graph.output.extend(helper.make_empty_tensor_value_info(name) for name in sorted(given))
        graph.initializer.extend(
            numpy_helper.from_array(a, name) for name, a in self.weights.items()
        )
        imports = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()

    def step(self) -> Callable[[Any], Any]:
        """Makes the session, and runs it, with the library of a `State`."""
        data = self.model

        def run(at: Any) -> Any:
            session = at.library.InferenceSession(data, providers=["CPUExecutionProvider"])
            return session.run(None, dict(self.inputs))

        return run


def _ones(*shape: int) -> Array:
    return np.ones(shape, np.float32)


def _ints(*values: Any) -> Array:
    return np.array(values, np.int64)


def _two(one: Array, other: Array) -> Mapping[str, Array]:
    return {"a": one, "b": other}


FAILURES: Mapping[str, Failure] = {
    "an index": Failure("y = Gather(a, b)", _two(_ones(3), _ints(0, 7))),
    "an index below": Failure("y = Gather(a, b)", _two(_ones(3), _ints(0, -4))),
    "an axis": Failure("y = Gather <axis = 3> (a, b)", _two(_ones(3), _ints(0))),
    "rows of indices": Failure("y = GatherND(a, b)", _two(_ones(3, 3), _ints([0, 5]))),
    "longer rows": Failure("y = GatherND(a, b)", _two(_ones(3), _ints([0, 0]))),
    "indices of another rank": Failure("y = GatherElements(a, b)", _two(_ones(3), _ints([0]))),
    "updates": Failure("y = ScatterElements(a, b, a)", _two(_ones(3), _ints(0, 1))),
    "rows of updates": Failure("y = ScatterND(a, b, a)", _two(_ones(3), _ints([0], [1]))),
    "a depth": Failure(
        "y = OneHot(b, d, a)", {**_two(_ones(2), _ints(0)), "d": np.array(-1, np.int64)}
    ),
    "values of OneHot": Failure("y = OneHot(b, d, a)", _two(_ones(3), _ints(0)), {"d": _ints(2)}),
    "Reshape": Failure("y = Reshape(a, b)", _two(_ones(6), _ints(4, 2))),
    "Reshape to a constant": Failure("y = Reshape(a, b)", {"a": _ones(7)}, {"b": _ints(2, -1)}),
    "Reshape of two -1": Failure("y = Reshape(a, b)", _two(_ones(6), _ints(-1, -1))),
    "Expand": Failure("y = Expand(a, b)", _two(_ones(3), _ints(4))),
    "Tile": Failure("y = Tile(a, b)", _two(_ones(3), _ints(-1))),
    "Squeeze": Failure("y = Squeeze(a, b)", _two(_ones(3), _ints(0))),
    "Unsqueeze": Failure("y = Unsqueeze(a, b)", _two(_ones(3), _ints(0, 0))),
    "Unsqueeze far": Failure("y = Unsqueeze(a, b)", _two(_ones(3), _ints(5))),
    "Transpose": Failure("y = Transpose <perm = [1, 0]> (a)", {"a": _ones(3)}),
    "Concat": Failure("y = Concat <axis = 1> (a, b)", _two(_ones(2, 3), _ones(4, 5))),
    "Split": Failure("y, z = Split(a)", {"a": _ones(3)}, opset=13),
    "Split by sizes": Failure("y, z = Split(a, b)", {"a": _ones(3)}, {"b": _ints(1, 1)}),
    "Slice by 0": Failure(
        "y = Slice(a, s, e, s, b)", _two(_ones(3), _ints(0)), {"s": _ints(0), "e": _ints(3)}
    ),
    "Slice's axis": Failure(
        "y = Slice(a, s, e, b)", _two(_ones(3), _ints(5)), {"s": _ints(0), "e": _ints(3)}
    ),
    "Pad": Failure("y = Pad(a, b)", _two(_ones(3), _ints(-2, -3))),
    "sizes of Add": Failure("y = Add(a, b)", _two(_ones(3), _ones(4))),
    "sizes of MatMul": Failure("y = MatMul(a, b)", _two(_ones(2, 3), _ones(4, 5))),
    "sizes of Gemm": Failure("y = Gemm(a, b)", _two(_ones(2, 3), _ones(4, 5))),
    "sizes of Einsum": Failure(
        'y = Einsum <equation = "ij,jk->ik"> (a, b)', _two(_ones(2, 3), _ones(4, 5))
    ),
    "channels of Conv": Failure(
        "y = Conv(a, b)", {"a": _ones(1, 3, 8, 8)}, {"b": _ones(4, 2, 3, 3)}
    ),
    "a small image": Failure("y = Conv(a, b)", {"a": _ones(1, 2, 2, 2)}, {"b": _ones(4, 2, 3, 3)}),
    "channels of ConvTranspose": Failure(
        "y = ConvTranspose(a, b)", {"a": _ones(1, 3, 4, 4)}, {"b": _ones(2, 2, 3, 3)}
    ),
    "a scale of LayerNormalization": Failure(
        "y = LayerNormalization(a, b)", {"a": _ones(2, 3)}, {"b": _ones(4)}
    ),
    "a scale of BatchNormalization": Failure(
        "y = BatchNormalization(a, b, b, b, b)", {"a": _ones(2, 3, 4)}, {"b": _ones(5)}
    ),
    "DepthToSpace": Failure("y = DepthToSpace <blocksize = 2> (a)", {"a": _ones(1, 3, 2, 2)}),
    "weights of LSTM": Failure(
        "y = LSTM <hidden_size = 4> (a, b, c)",
        {"a": _ones(3, 1, 5)},
        {"b": _ones(1, 16, 6), "c": _ones(1, 16, 4)},
    ),
    "k of TopK": Failure("y, z = TopK(a, b)", _two(_ones(3), _ints(5))),
    "Range by 0": Failure("y = Range(a, b, a)", _two(np.array(0, np.int64), np.array(3, np.int64))),
    "sizes below 0": Failure("y = ConstantOfShape(b)", {"b": _ints(-3)}),
    "ArgMax of nothing": Failure("y = ArgMax(a)", {"a": _ones(0)}),
    "an axis of ReduceSum": Failure("y = ReduceSum(a, b)", _two(_ones(3), _ints(4))),
    "scales of Resize": Failure("y = Resize(a, , b)", {"a": _ones(1, 2, 3)}, {"b": _ones(4)}),
    "a scale below 0": Failure("y = Resize(a, , b)", _two(_ones(1, 1, 2, 2), -_ones(4))),
    "rank of Trilu": Failure("y = Trilu(a)", {"a": _ones(3)}),
    "division by 0": Failure("y = Div(a, b)", _two(_ones(2), 0 * _ones(2))),
}
