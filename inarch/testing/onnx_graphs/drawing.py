"""A model while it is drawn: its nodes, and the array that each value has."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from inarch.testing.reference import evaluator

_WINDOWS = frozenset({"Conv", "ConvTranspose", "MaxPool", "AveragePool"})
_NOT_IN_THE_EVALUATOR = frozenset({"MaxPool", "AveragePool", "ConvTranspose"})
"""Of onnx 1.23: other sizes of MaxPool than the schema's, wrong channels of ConvTranspose in groups, and
averages of three axes whose pads differ (it gives 0 where onnxruntime gives the mean)."""

_MOVES = frozenset({
    "Abs", "Neg", "Relu", "Concat", "Split", "Slice",
    "Gather", "GatherElements", "Transpose", "Reshape", "Expand", "Tile",
    "Squeeze", "Unsqueeze", "Where", "Flatten", "Max", "Min",
    "Clip", "Trilu", "Pad", "ScatterElements", "ScatterND", "Identity",
})  # fmt: skip

_EXACT = _MOVES | frozenset({
    "Add", "Sub", "Mul", "Div", "Sqrt", "Floor", "Ceil", "Round", "Sign", "Cast", "Mod",
    "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Xor", "Not",
    "ReduceMax", "ReduceMin", "MaxPool", "ArgMax", "ArgMin", "TopK", "OneHot",
})  # fmt: skip
"""Whose results IEEE 754 and ONNX leave no choice of: each is rounded once, or not at all."""

Array = np.ndarray[Any, Any]
FLOATS = ("float32", "float64")
INTEGERS = ("int8", "uint8", "int32", "int64", "uint64")
NUMBERS = (*FLOATS, *FLOATS, *INTEGERS)
SIZES = (1, 1, 2, 3, 3, 4, 5, 7)
TAILS = (8, 9, 15, 16, 17, 24, 31, 33, 40, 49, 64, 67, 81)
"""Some vectors of some targets, with one element less and more."""
MOST = 4096
"""Elements of an array that is drawn."""


class Refused(Exception):  # noqa: N818
    """The evaluator does not take the node that was drawn."""


@dataclass(frozen=True)
class Case:
    """A model, arrays for its inputs, and what the evaluator makes of them."""

    seed: int
    model: Any
    inputs: dict[str, Array]
    expected: dict[str, Array]
    sure: frozenset[str] = frozenset()
    """The results of which nothing but `expected` is right, bit by bit."""
    is_stated: bool = False
    """Whether `expected` is what we state, and not the evaluator's."""


@dataclass
class Graph:
    """What is drawn so far; `values` has the array of each name."""

    rng: np.random.Generator
    opset: int
    is_large: bool = False
    """Whether sizes have tails."""
    values: dict[str, Array] = field(default_factory=dict[str, Array])
    inputs: list[str] = field(default_factory=list[str])
    constants: list[str] = field(default_factory=list[str])
    nodes: list[Any] = field(default_factory=list[Any])
    rough: set[str] = field(default_factory=set[str])
    """Floats that were computed, so that a jump may fall to either side."""
    counted: set[str] = field(default_factory=set[str])
    """Values of computed size."""
    unsure: set[str] = field(default_factory=set[str])
    """Values that are computed from sums or functions, of which there are several right ones."""

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
        self.values[name] = np.asarray(value)  # NumPy makes numbers of arrays without axes
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

    def size(self, of: Sequence[int]) -> int:
        """One of these sizes, or one with a tail."""
        return int(self.one(TAILS if self.is_large and self.chance(0.3) else of))

    def shape(self, least: int = 0, most: int = 5) -> list[int]:
        rank = int(self.rng.integers(least, most + 1))
        sizes = [int(self.one(SIZES)) for _ in range(rank)]
        if rank and self.is_large and self.chance(0.6):
            at = rank - 1 if self.chance(0.7) else int(self.rng.integers(rank))
            tail = int(self.one(TAILS))
            sizes = [1 if math.prod(sizes) > MOST // tail else size for size in sizes]
            sizes[at] = tail
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
            and name not in self.counted
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
        found = results_of(node, used, self.opset)
        is_exact = has_one_answer(op, [*used.values(), *found])
        for name, value in zip(names, found, strict=True):
            if value.size > 20_000 or (op in _WINDOWS and not value.size):
                raise Refused(op)  # a window that does not fit is refused by all but the evaluator
            self.values[name] = np.asarray(value)
            if value.dtype.kind == "f" and (op not in _MOVES or any(i in self.rough for i in used)):
                self.rough.add(name)
            if not is_exact or any(i in self.unsure for i in used):
                self.unsure.add(name)
        self.nodes.append(node)


def model_of(
    nodes: Sequence[Any],
    inputs: dict[str, Array],
    outputs: Sequence[str],
    constants: dict[str, Array],
    opset: int,
    results: dict[str, Array] | None = None,
) -> Any:
    """A model of the nodes; its outputs are untyped where `results` are not known."""
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


def taken_by(node: Any) -> list[str]:
    """The values that a node takes, in its bodies too."""
    inner = [name for part in node.attribute for each in part.g.node for name in each.input]
    own = {name for part in node.attribute for each in part.g.node for name in each.output}
    return [name for name in (*node.input, *inner) if name and name not in own]


def results_of(node: Any, used: dict[str, Array], opset: int) -> list[Array]:
    """What a node makes of what it takes. Raises Refused."""
    oracle = _onnxruntime if node.op_type in _NOT_IN_THE_EVALUATOR else evaluate
    return oracle(model_of([node], used, list(node.output), {}, opset), used)


def has_one_answer(op: str, arrays: Sequence[Array]) -> bool:
    """Whether the results of a node, which are among its arrays, are right or wrong bit by bit."""
    return op in _EXACT or not any(each.dtype.kind == "f" for each in arrays)


def evaluate(model: Any, inputs: dict[str, Array]) -> list[Array]:
    """What the reference evaluator computes; Refused where it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = evaluator(model).run(None, inputs)
        except Exception as error:
            raise Refused(str(error)) from error
    if not all(isinstance(value, np.ndarray | np.generic) for value in found):
        raise Refused("no tensor")
    return [np.asarray(value) for value in found]


def _onnxruntime(model: Any, inputs: dict[str, Array]) -> list[Array]:
    try:
        import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise Refused("no onnxruntime") from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return [np.asarray(value) for value in cast("Any", session.run(None, inputs))]
    except Exception as error:
        raise Refused(str(error)) from error
