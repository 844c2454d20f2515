"""What the regions of a report move and cost in a call: bytes in, out and resident, work, seconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.facts.work import multiply_adds_of
from inarch.ir.types import dtype_of
from inarch.passes.partition.decide.cost import Price


@dataclass(frozen=True)
class RegionBytes:
    """The bytes of one function of a backend."""

    region: str
    """Its symbol."""
    owner: str
    """The instance that has it."""
    ops: int
    """Constants not counted; those of a match each by itself."""
    bytes_in: int
    """Of its arguments in each call; with `bind_constants=False` constants are among them."""
    bytes_out: int
    """Of its results."""
    bytes_resident: int
    """Of the constants in it."""
    multiply_adds: int = 0
    seconds: float | None = None
    """What its backend takes for a call; None: it states no cost, and nothing was measured."""
    host_seconds: float | None = None
    """What the host would take for the same ops."""
    source: str = ""
    """Of the seconds: `estimated`, `measured`, or why they could not be measured."""
    reason: str = ""
    """Why the region is as it is, where its backend has decided of it."""


def bytes_of(
    function: FuncOp,
    owner: str,
    ops: int,
    counts: bool,
    price: Price | None = None,
    reason: str = "",
) -> RegionBytes:
    """The bytes of a function that `owner` has, of so many ops, and its price; `counts`: also its work."""
    constants = (op.results[0].type for op in function.walk() if isinstance(op, ConstantOp))
    kind = function.function_type
    return RegionBytes(
        function.sym_name.data,
        owner,
        ops,
        _sum(kind.inputs.data),
        _sum(kind.outputs.data),
        _sum(constants),
        sum(map(multiply_adds_of, function.body.block.ops)) if counts else 0,
        price.seconds if price is not None else None,
        price.host_seconds if price is not None else None,
        price.source if price is not None else "",
        reason,
    )


def _sum(types: Iterable[Attribute]) -> int:
    tensors = [cast("TensorType[Attribute]", kind) for kind in types]
    return sum(prod(kind.get_shape()) * dtype_of(kind.element_type).nbytes for kind in tensors)
