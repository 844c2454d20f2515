"""Graphs of PyTorch as text, which the frontend reads without PyTorch; `torch_graphs.txt` has them.

    case softmax
    input float32[2, 3]: 0.5 -1.25 0 2 1 0.75
    x = placeholder() -> float32[2, 3]
    _softmax = aten._softmax.default(x, 1, False) -> float32[2, 3]
    return _softmax
    output float32[2, 3]: ...

Outputs are what PyTorch computed of the inputs. A line `refused NODE: REASON` stands where there are none.
`tests/unit/bridges/record_torch.py` writes the file.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

GRAPHS = Path(__file__).with_suffix(".txt")
_TENSOR = re.compile(r"(\w+)\[([\d, ]*)\]")
_NODE = re.compile(r"(\w+) = ([\w.]+)(\(.*\)) -> (.*)")


@dataclass(frozen=True)
class Recorded:
    """A call of PyTorch: its graph of core ATen, and what it computed."""

    name: str
    inputs: Sequence[Any]
    lines: Sequence[str]
    """Of nodes, and the `return`."""
    outputs: Sequence[Any]
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """Nodes that Inarch does not take, and why."""

    def graph(self) -> Any:
        """What `import_graph` takes."""
        nodes: dict[str, _Node] = {}
        made = SimpleNamespace(graph=SimpleNamespace(nodes=[]))
        for line in self.lines:
            node = _parsed(line, nodes, made)
            nodes[node.name] = node
            made.graph.nodes.append(node)
            for each in node.all_input_nodes:
                each.users[node] = None
        return made

    def text(self) -> str:
        """As it is in the file."""
        return "\n".join(
            [
                f"case {self.name}",
                *(f"input {array_text(each)}" for each in self.inputs),
                *self.lines,
                *(f"output {array_text(each)}" for each in self.outputs),
                *(f"refused {node}: {reason}" for node, reason in self.refused.items()),
            ]
        )


def recorded(path: Path = GRAPHS) -> dict[str, Recorded]:
    """The cases of a file by name."""
    found = map(_case, path.read_text().split("\n\n")) if path.exists() else ()
    return {case.name: case for case in found}


def array_text(array: Any) -> str:
    """An array in one line, with as many digits as its dtype has."""
    numbers = array.reshape(-1)
    words = map(str, numbers.astype(np.int64) if array.dtype.kind in "biu" else numbers)
    return f"{array.dtype.name}{list(array.shape)}: {' '.join(words)}"


def _case(text: str) -> Recorded:
    lines = text.strip().splitlines()
    parts: dict[str, list[str]] = {"case": [], "input": [], "output": [], "refused": [], "": []}
    for line in lines:
        word, _, rest = line.partition(" ")
        parts[word if word in parts else ""].append(rest if word in parts else line)
    return Recorded(
        parts["case"][0],
        [_array(each) for each in parts["input"]],
        parts[""],
        [_array(each) for each in parts["output"]],
        dict(each.split(": ", 1) for each in parts["refused"]),
    )


def _array(text: str) -> Any:
    kind, _, numbers = text.partition(":")
    tensor = _tensor(kind)
    number = float if np.dtype(tensor.kind).kind == "f" else int
    return np.array([number(each) for each in numbers.split()], tensor.kind).reshape(tensor.shape)


# What an FX graph looks like to the frontend. --------------------------------------------------------------


@dataclass(frozen=True)
class _Tensor:
    """A fake tensor, or one with data."""

    kind: str
    shape: tuple[int, ...]
    array: Any = None
    layout: str = "torch.strided"

    @property
    def dtype(self) -> str:
        return f"torch.{self.kind}"

    @property
    def device(self) -> Any:
        return SimpleNamespace(type="cpu")

    def detach(self) -> _Tensor:
        return self

    contiguous = detach

    def numpy(self) -> Any:
        return self.array


@dataclass(eq=False)
class _Node:
    name: str
    op: str
    target: Any
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    users: dict[_Node, None] = field(default_factory=dict["_Node", None])

    @property
    def all_input_nodes(self) -> list[_Node]:
        def within(value: Any) -> list[_Node]:
            if isinstance(value, _Node):
                return [value]
            inner: list[Any] = cast("list[Any]", value) if isinstance(value, list) else []
            return [node for each in inner for node in within(each)]

        return within([*self.args, *self.kwargs.values()])


def _parsed(line: str, nodes: Mapping[str, _Node], module: Any) -> _Node:
    """The node of a line; what it holds of constants becomes an attribute of `module`."""
    if line.startswith("return "):
        given = [nodes[each] for each in line.removeprefix("return ").split(", ")]
        return _Node("output", "output", "output", [given])
    name, target, args, result = re.fullmatch(_NODE, line).groups()  # pyright: ignore[reportOptionalMemberAccess]
    if target == "constant":
        array = _array(result)
        setattr(module, name, _Tensor(array.dtype.name, array.shape, array))
        return _Node(name, "get_attr", name)
    tensors = [_Tensor(kind, _sizes(sizes)) for kind, sizes in _TENSOR.findall(result)]
    meta = {"val": tuple(tensors) if result.startswith("(") else tensors[0]}
    if target == "placeholder":
        return _Node(name, "placeholder", name, meta=meta)
    call: Any = ast.parse(f"f{args}", mode="eval").body
    return _Node(
        name,
        "call_function",
        operator.getitem if target == "getitem" else target,
        [_value(each, nodes) for each in call.args],
        {each.arg: _value(each.value, nodes) for each in call.keywords},
        meta,
    )


def _value(value: Any, nodes: Mapping[str, _Node]) -> Any:
    if isinstance(value, ast.Name):
        return nodes[value.id] if value.id in nodes else float(value.id)  # inf and nan
    if isinstance(value, ast.List):
        return [_value(each, nodes) for each in value.elts]
    if isinstance(value, ast.UnaryOp):
        return -_value(value.operand, nodes)
    return ast.literal_eval(value)


def _tensor(text: str) -> _Tensor:
    kind, sizes = _TENSOR.findall(text)[0]
    return _Tensor(kind, _sizes(sizes))


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(",") if each)
