"""Records graphs of PyTorch for the tests of its frontend, which run without it: `torch_graphs.txt`.

.venv-bridges/torch/bin/python -m tests.unit.bridges.record_torch

Inputs of a case that is there already stay, so that what changes is what PyTorch does.
"""

# PyTorch is untyped where it is not installed:
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from inarch.dialects import new_context
from inarch.frontends.torch.graph import operator_name, reason_against
from tests.unit.frontends.torch_graphs import GRAPHS, Recorded, array_text, recorded


def record(
    name: str,
    trace: Callable[[Sequence[Any]], tuple[Any, Any]],
    inputs: Sequence[Any],
    known: Recorded | None = None,
    *,
    refused: str | None = None,
) -> Recorded:
    """The case of what `trace` gives: a graph, and what PyTorch computes; `refused`: what is not taken."""
    given = [_rounded(each) for each in inputs]
    kinds = [(str(each.dtype), tuple(each.shape)) for each in given]
    if known is not None and kinds == [(f"torch.{a.dtype}", a.shape) for a in known.inputs]:
        given = [torch.from_numpy(array.copy()) for array in known.inputs]
    graph, outputs = trace(given)
    lines = [line for node in graph.graph.nodes for line in _lines(node, graph)]
    if refused is not None:
        context = new_context()
        found = {
            node.name: str(reason_against(node, context))
            for node in graph.graph.nodes
            if operator_name(node) == refused
        }
        return Recorded(name, [], lines, [], found)
    outputs = outputs if isinstance(outputs, tuple | list) else [outputs]
    arrays = [[each.numpy() for each in tensors] for tensors in (given, outputs)]
    return Recorded(name, arrays[0], lines, arrays[1])


def _rounded(tensor: Any) -> Any:
    """Numbers of few digits."""
    return torch.round(tensor, decimals=2) if tensor.is_floating_point() else tensor


def _lines(node: Any, graph: Any) -> list[str]:
    if node.op == "output":
        given = node.args[0]
        every = given if isinstance(given, tuple | list) else [given]
        return [f"return {', '.join(each.name for each in every)}"]
    if node.op == "get_attr":
        array = getattr(graph, node.target).detach().contiguous().numpy()
        return [f"{node.name} = constant() -> {array_text(array)}"]
    if node.op == "placeholder":
        return [f"{node.name} = placeholder() -> {_kind(node.meta['val'])}"]
    if not node.users:
        return []
    words = [_word(each) for each in node.args]
    words += [f"{key}={_word(each)}" for key, each in node.kwargs.items()]
    return [f"{node.name} = {operator_name(node)}({', '.join(words)}) -> {_kind(node.meta['val'])}"]


def _kind(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_kind, value))})"
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"


def _word(value: Any) -> str:
    if isinstance(value, torch.fx.Node):
        return value.name
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_word, value))}]"
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    return repr(str(value))  # a dtype, a device, a layout


def recordings(known: Mapping[str, Recorded]) -> dict[str, Recorded]:
    """All cases of the tests of operators."""
    from tests.unit.bridges.test_torch_ops import CASES, DIRECT, REFUSED, single, traced

    def of(function: Callable[..., Any]) -> Callable[[Sequence[Any]], tuple[Any, Any]]:
        return lambda given: (traced(function, given), function(*given))

    def alone(op: str, *settings: Any) -> Callable[[Sequence[Any]], tuple[Any, Any]]:
        return lambda given: single(op, given, *settings)

    return {
        **{
            name: record(name, of(f), inputs, known.get(name))
            for name, (f, inputs) in CASES.items()
        },
        **{
            op: record(op, alone(op, *settings), inputs, known.get(op))
            for op, (inputs, *settings) in DIRECT.items()
        },
        **{
            name: record(name, of(f), inputs, refused=op)
            for name, (op, f, inputs, _) in REFUSED.items()
        },
    }


if __name__ == "__main__":
    GRAPHS.write_text("\n\n".join(case.text() for case in recordings(recorded()).values()) + "\n")
