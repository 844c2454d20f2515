"""How a node's subgraphs become ops: what its converter is given beside the node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError

if TYPE_CHECKING:
    from onnx import GraphProto

Results: TypeAlias = "list[SSAValue] | None"
"""None where something is unsupported."""


class Inline(Protocol):
    """Converts a subgraph on these inputs, under a name; None when something in it is unsupported."""

    def __call__(self, graph: GraphProto, inputs: Sequence[SSAValue], name: str) -> Results:
        """What is unsupported is reported."""
        ...

    def attempt(self, graph: GraphProto, inputs: Sequence[SSAValue], name: str) -> Results:
        """None also where it is wrong; nothing is reported, as there is another way."""
        ...


def check_count(what: str, expected: int, found: int) -> None:
    """Raises InarchError where a node has not as many of something as its subgraph."""
    if expected != found:
        raise InarchError(f"expected {expected} {what}, found {found}")
