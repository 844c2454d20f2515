"""ExampleJSON as data: graphs of nodes with dense ids, and their one canonical spelling.

The tutorial of TVM (Bring Your Own Codegen) introduced the format; the package's docstring has the grammar.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, prod
from struct import pack, unpack

from inarch.core.dtypes import DTYPES, DType

Value = bool | int | float | tuple[int, ...]
"""What an attribute holds."""

INLINE_ELEMENTS = 16
"""Constants of at most this many elements are written as numbers, larger ones in base64."""

_STRUCT_CODES = {
    "f32": "f",
    "f64": "d",
    "i8": "b",
    "i16": "h",
    "i32": "i",
    "i64": "q",
    "ui8": "B",
    "ui16": "H",
    "ui32": "I",
    "ui64": "Q",
    "i1": "?",
}


@dataclass(frozen=True)
class Tensor:
    """A static type: `f32[10, 10]`."""

    dtype: DType
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype.name}{list(self.shape)}"

    @property
    def size(self) -> int:
        """How many elements there are."""
        return prod(self.shape)


@dataclass(frozen=True)
class Node:
    """One line. Its id is its position in the graph; `inputs` are ids of earlier nodes."""

    op: str
    """`input`, `constant`, or a name of the table of ops."""
    type: Tensor
    inputs: tuple[int, ...] = ()
    attrs: Mapping[str, Value] = field(default_factory=dict[str, Value])
    """Those that differ from their defaults, in the op's order."""
    data: bytes = b""
    """A constant's elements: little-endian, row-major."""


@dataclass(frozen=True)
class Graph:
    """A subgraph: `outputs` are ids, `symbol` is the compiler's name for the function."""

    number: int
    symbol: str
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]

    @property
    def name(self) -> str:
        """As the header says it: `subgraph_0`."""
        return f"subgraph_{self.number}"

    @property
    def inputs(self) -> list[int]:
        """The ids of the input nodes, in the order of the arguments."""
        return [number for number, node in enumerate(self.nodes) if node.op == "input"]


def symbol_of(number: int) -> str:
    """The symbol of `subgraph_<number>` where its header names no other."""
    return f"examplejson_{number}"


def pack_numbers(values: Sequence[int | float], dtype: DType) -> bytes:
    """The elements in memory. Raises struct.error or OverflowError for a value out of range."""
    return pack(f"<{len(values)}{_STRUCT_CODES[dtype.name]}", *values)


def unpack_numbers(data: bytes, dtype: DType) -> tuple[int | float, ...]:
    """The inverse of `pack_numbers`; exact, a float of any width is a float of Python."""
    return unpack(f"<{len(data) // dtype.nbytes}{_STRUCT_CODES[dtype.name]}", data)


def unparse(graphs: Sequence[Graph]) -> str:
    """The canonical text: one space between words, nodes indented by two, defaults left out.

    Parsing it gives equal graphs.
    """
    return "".join(f"{line}\n" for graph in graphs for line in _lines(graph))


def _lines(graph: Graph) -> Iterator[str]:
    default = graph.symbol == symbol_of(graph.number)
    yield graph.name if default else f"{graph.name} name: {graph.symbol}"
    for number, node in enumerate(graph.nodes):
        yield f"  {_line(number, node)}"
    last = len(graph.nodes) - 1
    if graph.outputs != (last,) or graph.nodes[last].op == "input":
        yield f"  outputs: {_words(graph.outputs)}"


def _line(number: int, node: Node) -> str:
    """A node: its name and id, then the sections that are not empty."""
    words = [node.op, str(number)]
    if node.op == "input":
        words += map(str, node.type.shape)
    elif node.op == "constant":
        words += ["shape:", *map(str, node.type.shape)]
    else:
        words += ["inputs:", *map(str, node.inputs), "shape:", *map(str, node.type.shape)]
    if node.type.dtype.name != "f32":
        words += ["dtype:", node.type.dtype.name]
    if node.op == "constant":
        words += _data(node)
    if node.attrs:
        words += ["attrs:", *(f"{name}={_value(value)}" for name, value in node.attrs.items())]
    return " ".join(words)


def _data(node: Node) -> list[str]:
    if node.type.size <= INLINE_ELEMENTS:
        values = unpack_numbers(node.data, node.type.dtype)
        # A NaN has a sign and a payload, which no number spells.
        if not any(isnan(value) for value in values):
            return ["data:", *(repr(+value) for value in values)]  # + makes a bool a number
    from base64 import b64encode

    return ["base64:", b64encode(node.data).decode()]


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, tuple) else repr(value)


def _words(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


F32 = DTYPES["f32"]
"""The dtype of a node that names none."""
