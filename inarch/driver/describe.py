"""What the C of a backend takes, as the comment by which the loader `c` makes a module of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from inarch.artifact.description import comment_of
from inarch.artifact.manifest import Port, Signature, listing
from inarch.backends.emitted import Emitted
from inarch.driver.offloaded.linked_weights import weight_types
from inarch.ir.types import dtype_of


def described(emitted: Emitted, functions: Sequence[FuncOp]) -> str:
    """The comment, for the functions on tensors that `emitted` was made of; weights are inputs, too."""
    found: dict[str, object] = {}
    for function, site in zip(functions, emitted.sites, strict=True):
        kind = function.function_type
        weights = weight_types(emitted.emission, site.symbol)
        inputs = _ports("in", [*kind.inputs.data, *weights])
        outputs = _ports("out", kind.outputs.data)
        found[site.symbol] = listing(Signature(inputs, outputs))
    return comment_of({"functions": found})


def _ports(name: str, kinds: Sequence[Attribute]) -> tuple[Port, ...]:
    tensors = [cast("TensorType[Attribute]", kind) for kind in kinds]
    return tuple(
        Port(f"{name}{n}", dtype_of(kind.element_type), tuple(kind.get_shape()))
        for n, kind in enumerate(tensors)
    )
