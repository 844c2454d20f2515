"""The public functions of a lowered program: what they take and give, as manifests and callers have it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from inarch.artifact.manifest import Port, Signature
from inarch.core.dtypes import DTYPES
from inarch.dialects.loop.memory import MemRef
from inarch.ir.functions import argument_attributes, index_ranges
from inarch.ir.types import dtype_of

COMPUTED = "inarch.computed"
"""Of an output: axes whose size the data decide, each with the number of the output that says how much counts
(`array<i64: 1, 3>`: of axis 1 as much as output 3, an i64 of shape (), says). Memory is for the most."""


@dataclass(frozen=True)
class Indices:
    """Elements `start`, `start + stride` ... of an input, which are indices from `least` to `most`."""

    input: int
    start: int
    stride: int
    least: int
    most: int


@dataclass(frozen=True)
class Entry:
    """A function on buffers as it is called: inputs before outputs."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    workspace_bytes: int
    positions: tuple[int, ...]
    """For each argument of a call, which argument of the function of the IR it is."""
    indices: tuple[Indices, ...] = ()
    """Inputs that are indices."""

    @property
    def ports(self) -> tuple[Port, ...]:
        """Inputs, then outputs."""
        return (*self.inputs, *self.outputs)

    @property
    def signature(self) -> Signature:
        """As the manifest has it."""
        return Signature(self.inputs, self.outputs, self.workspace_bytes)


def entry_of(function: FuncOp, outputs: Collection[int], workspace_bytes: int = 0) -> Entry:
    """How a function on buffers is called, whose arguments at the positions `outputs` are its outputs."""
    ins = [i for i in range(len(function.function_type.inputs)) if i not in outputs]
    outs = sorted(outputs)
    return Entry(
        function.sym_name.data,
        tuple(_port(function, i, f"in{n}") for n, i in enumerate(ins)),
        tuple(_port(function, i, f"out{n}") for n, i in enumerate(outs)),
        workspace_bytes,
        (*ins, *outs),
        tuple(
            each
            for number, position in enumerate(ins)
            for each in _indices(function, position, number)
        ),
    )


def _indices(function: FuncOp, position: int, number: int) -> list[Indices]:
    """What elements of input `number` may be, where it is of indices."""
    pairs = index_ranges(function, position)
    return [Indices(number, at, len(pairs), *pair) for at, pair in enumerate(pairs)]


def _port(function: FuncOp, position: int, default: str) -> Port:
    """One argument as the manifest has it; `default` is its name where the program gives none."""
    attributes = argument_attributes(function, position)
    name = attributes.get("inarch.name")
    kind = cast("MemRef", function.function_type.inputs.data[position])
    declared = attributes.get("inarch.dtype")
    if isinstance(declared, StringAttr):
        dtype = DTYPES[declared.data]
    else:
        dtype = dtype_of(declared if declared is not None else kind.element_type)
    text = name.data if isinstance(name, StringAttr) else default
    return Port(text, dtype, tuple(kind.get_shape()), computed_of(attributes))


def computed_of(attributes: Mapping[str, Attribute]) -> tuple[tuple[int, int], ...]:
    """The axes of computed size of an output, each with the output that says how much counts."""
    found = attributes.get(COMPUTED)
    numbers = [int(n) for n in found.get_values()] if isinstance(found, DenseArrayBase) else []
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))
