"""An engine of a few elementwise ops in NumPy, which tests can spoil at any op: the backend `npu`."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue

from inarch.artifact.manifest import Port, Signature
from inarch.core.dtypes import DTYPES
from inarch.offload.backend import BACKENDS, Backend, Emission, EmitRequest
from inarch.runtime.function import Function
from inarch.runtime.loaders import LOADERS, Loader
from inarch.runtime.module import Module

Arrays = list[np.ndarray[Any, Any]]

STEPS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "exp": np.exp,
    "tanh": np.tanh,
    "relu": partial(np.maximum, np.float32(0)),
}
MODEL = """func.func @main(%x: tensor<2x6xf32> {inarch.name = "x"}) -> (tensor<2x6xf32> {inarch.name = "y"}) {
  %a = graph.exp %x : tensor<2x6xf32> -> tensor<2x6xf32>
  %b = graph.floor %a : tensor<2x6xf32> -> tensor<2x6xf32>
  %c = graph.sub %a, %b : tensor<2x6xf32>, tensor<2x6xf32> -> tensor<2x6xf32>
  %d = graph.tanh %c : tensor<2x6xf32> -> tensor<2x6xf32>
  %e = graph.add %d, %a : tensor<2x6xf32>, tensor<2x6xf32> -> tensor<2x6xf32>
  %f = graph.floor %e : tensor<2x6xf32> -> tensor<2x6xf32>
  %g = graph.mul %f, %d : tensor<2x6xf32>, tensor<2x6xf32> -> tensor<2x6xf32>
  %h = graph.floor %g : tensor<2x6xf32> -> tensor<2x6xf32>
  %i = graph.relu %h : tensor<2x6xf32> -> tensor<2x6xf32>
  func.return %i : tensor<2x6xf32>
}
"""
"""`floor` the engine does not have, so there are four regions; the second, npu_1, is sub, tanh and add."""


def reference(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What MODEL computes."""
    a = np.exp(x)
    d = np.tanh(a - np.floor(a))
    return np.maximum(np.floor(np.floor(d + a) * d), 0)


@dataclass
class Engine:
    """How it behaves, for as long as the test says so."""

    faults: dict[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])
    """In place of an op."""
    around: Callable[[str, Arrays, Callable[[], None]], None] | None = None
    """In place of a whole call: the symbol, inputs and outputs, and what does it rightly."""
    opens: Callable[[], None] | None = None
    """Before a part is opened."""
    emits: Callable[[EmitRequest], None] | None = None
    """Before it emits."""
    symbols: Callable[[Sequence[str]], Sequence[str]] = tuple
    """What it says that it has emitted."""

    def emit(self, request: EmitRequest) -> Emission:
        if self.emits is not None:
            self.emits(request)
        functions = {one.sym_name.data: _described(one) for one in request.functions}
        return Emission("npu", tuple(self.symbols(request.names())), text=json.dumps(functions))

    def open(self, data: bytes, name: str) -> Module:
        if self.opens is not None:
            self.opens()
        functions = {key: self._function(key, one) for key, one in json.loads(data).items()}
        return Module("npu", name, functions, content=data)

    def _function(self, symbol: str, said: dict[str, Any]) -> Function:
        kind, count = DTYPES["f32"], said["inputs"]
        ports = [Port(f"v{n}", kind, tuple(shape)) for n, shape in enumerate(said["shapes"])]

        def invoke(arrays: Sequence[np.ndarray[Any, Any]]) -> None:
            def rightly() -> None:
                values = list(arrays[:count])
                for op, *places in said["steps"]:
                    step = self.faults.get(op, STEPS[op])
                    values.append(step(*(values[place] for place in places)))
                for place, array in zip(said["outputs"], arrays[count:], strict=True):
                    array[...] = values[place]

            if self.around is None:
                rightly()
            else:
                self.around(symbol, list(arrays), rightly)

        return Function(symbol, Signature(tuple(ports[:count]), tuple(ports[count:])), invoke)


def _described(function: FuncOp) -> dict[str, Any]:
    places: dict[SSAValue, int] = {}
    for argument in function.body.block.args:
        places[argument] = len(places)
    steps: list[list[Any]] = []
    outputs: list[int] = []
    for op in function.body.block.ops:
        if isinstance(op, ReturnOp):
            outputs = [places[value] for value in op.operands]
            continue
        steps.append([op.name.removeprefix("graph."), *(places[value] for value in op.operands)])
        places[op.results[0]] = len(places)
    kinds = (*function.function_type.inputs.data, *function.function_type.outputs.data)
    shapes = [list(cast("TensorType[Attribute]", kind).get_shape()) for kind in kinds]
    return {
        "inputs": len(function.function_type.inputs),
        "shapes": shapes,
        "steps": steps,
        "outputs": outputs,
    }


@contextmanager
def installed(tolerance: str = "") -> Generator[Engine]:
    """The backend and its loader, within the block."""
    engine = Engine()
    with BACKENDS.scope(), LOADERS.scope():
        ops = tuple(STEPS)
        BACKENDS.register(Backend("npu", "an engine", engine.emit, ops=ops, tolerance=tolerance))
        LOADERS.register(Loader("npu", load_from_bytes=engine.open))
        yield engine
