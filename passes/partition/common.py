"""What the four passes share: attribute names, the functions they look at, backends by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation

from inarch.core.errors import InarchError
from inarch.dialects.graph.call import CallOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import GraphOp
from inarch.ir.location import location_text
from inarch.offload.instance import Instances

BACKEND = "partition.backend"
PATTERN = "partition.pattern"
MATCH = "partition.match"
REGION = "partition.region"
GIVE = "partition.give"
KEEP = "partition.keep"
COMPILER = "compiler"
"""Attributes of ops, and of an outlined function; docs/backends-reference.md has which pass leaves which."""


def tensor_blocks(module: ModuleOp) -> list[tuple[FuncOp, Block]]:
    """The public functions on tensors with their one block; those of a backend are left alone."""
    found: list[tuple[FuncOp, Block]] = []
    for function in module.body.ops:
        if not isinstance(function, FuncOp) or COMPILER in function.attributes:
            continue
        visibility = function.sym_visibility
        public = visibility is None or visibility.data == "public"
        if public and len(function.body.blocks) == 1 and _is_on_tensors(function):
            found.append((function, function.body.block))
    return found


def _is_on_tensors(function: FuncOp) -> bool:
    types = (*function.function_type.inputs, *function.function_type.outputs)
    return all(isinstance(kind, TensorType) for kind in types)


def is_claimable(op: Operation) -> bool:
    """Whether a backend can own `op`: constants belong to no one, calls are somebody's already."""
    return _is_claimable_kind(type(op))


@cache
def _is_claimable_kind(kind: type[Operation]) -> bool:
    """Asked once a class: `isinstance` of an abstract class is slow."""
    return issubclass(kind, GraphOp) and not issubclass(kind, ConstantOp | CallOp)


def text_of(op: Operation, attribute: str) -> str | None:
    """The string attribute of `op`, if it has it."""
    value = op.attributes.get(attribute)
    return value.data if isinstance(value, StringAttr) else None


def number_of(op: Operation, attribute: str) -> int | None:
    """The integer attribute of `op`, if it has it."""
    value = op.attributes.get(attribute)
    return value.value.data if isinstance(value, IntegerAttr) else None


def error_at(op: Operation, message: str) -> InarchError:
    """The error `message` at the location of `op`."""
    return InarchError(message, where=location_text(op))


def check_registered(module: ModuleOp) -> None:
    """Raises for an op or a function that is given to a backend that does not exist.

    For the driver, before it lowers: N8 of the requirements. The error is at the op or function.
    """
    instances = Instances(Context(), module)
    for op in module.walk():
        if isinstance(op, FuncOp):
            names = [text_of(op, COMPILER)]
        else:
            names = [text_of(op, BACKEND), text_of(op, GIVE), *keep_names(op)]
        for name in names:
            if name is not None and name != "*":
                instances.named(name, op)


def keep_names(op: Operation) -> Sequence[str]:
    """The backends that `op` is kept from by hand; `*` is every one."""
    value = op.attributes.get(KEEP)
    if value is None:
        return ()
    items = cast("ArrayAttr[Attribute]", value).data if isinstance(value, ArrayAttr) else (value,)
    names = [item.data for item in items if isinstance(item, StringAttr)]
    if len(names) != len(items):
        raise error_at(op, f'expected {KEEP} = ["backend", ...], found {value}')
    return names
