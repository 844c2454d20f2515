"""A backend that emits functions step by step as text, and a loader of that text in Python.

`steps.c` beside it is the loader in C, which docs/backends.md builds and runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from inarch.artifact.manifest import Port, Signature
from inarch.core.dtypes import DTYPES
from inarch.offload.backend import Backend, Emission, EmitRequest
from inarch.runtime.function import Function
from inarch.runtime.loaders import Loader
from inarch.runtime.module import Module

STEPS: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
}


def accepts(op: Operation) -> str | None:
    """None for what the loaders can run, else why not."""
    kinds = {str(value.type) for value in (*op.operands, *op.results)}
    if len(kinds) > 1:
        return f"takes arrays of one shape, found {', '.join(sorted(kinds))}"
    (kind,) = kinds
    return None if kind.endswith("f32>") else f"takes f32, found {kind}"


def emit(request: EmitRequest) -> Emission:
    """For each function a head, its steps and what it returns."""
    lines: list[str] = []
    for function in request.functions:
        (block,) = function.body.blocks
        numbers: dict[SSAValue, int] = {value: n for n, value in enumerate(block.args)}
        kind = cast("TensorType[Attribute]", function.function_type.outputs.data[0])
        head = f"function {function.sym_name.data} inputs {len(numbers)} shape"
        lines.append(" ".join([head, *map(str, kind.get_shape())]))
        for op in block.ops:
            word = op.name.removeprefix("graph.").replace("func.", "")
            lines.append(" ".join([word, *(str(numbers[value]) for value in op.operands)]))
            for result in op.results:
                numbers[result] = len(numbers)
    return Emission("steps", request.names(), text="\n".join(lines) + "\n")


def create(text: str, name: str) -> Module:
    """The module of the text; the loader in C takes its place where there is one."""
    functions: dict[str, Function] = {}
    for part in text.split("function ")[1:]:
        head, *steps = part.strip().splitlines()
        symbol, _, inputs, _, *shape = head.split()
        functions[symbol] = _function(symbol, int(inputs), tuple(map(int, shape)), steps)
    return Module("steps", name, functions, sources={"steps": lambda: text}, content=text.encode())


def _function(symbol: str, inputs: int, shape: tuple[int, ...], steps: Sequence[str]) -> Function:
    *body, results = [line.split() for line in steps]
    ports = [Port(f"v{n}", DTYPES["f32"], shape) for n in range(inputs + len(results) - 1)]

    def invoke(arrays: Sequence[Any]) -> None:
        values = list(arrays[:inputs])
        for word, *operands in body:
            values.append(STEPS[word](*(values[int(number)] for number in operands)))
        for array, number in zip(arrays[inputs:], results[1:], strict=True):
            array[...] = values[int(number)]

    signature = Signature(tuple(ports[:inputs]), tuple(ports[inputs:]))
    return Function(symbol, signature, invoke)


BACKEND = Backend(
    name="steps",
    description="Elementwise steps as text, for a loader in C.",
    emit=emit,
    ops=tuple(STEPS),
    accepts=accepts,
)
LOADER = Loader("steps", create=create)
