"""Host versions of what backends have: functions that a call takes where its device is missing, or fails."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from inarch.core.errors import UsageError
from inarch.ir.names import free_name, symbols_of
from inarch.passes.partition.decide.release import dissolve_matches

FALLBACK = "inarch.fallback"
"""On the declaration of a backend's function: the public function that does the same on the host."""
HOST = "host"


def check_fallback(name: str) -> str:
    """`name`, which is `host` or empty. Raises UsageError."""
    if name not in ("", HOST):
        raise UsageError(f"fallback: expected 'host', found '{name}'")
    return name


def add_host_version(module: ModuleOp, function: FuncOp) -> FuncOp:
    """Adds a public copy of a backend's `function`, which the host compiles, and says so on the function."""
    name = free_name(f"{function.sym_name.data}_host", {*symbols_of(module)})
    copy = FuncOp(
        name,
        (list(function.function_type.inputs), list(function.function_type.outputs)),
        function.body.clone(),
    )
    copy.location = function.location
    for op, other in zip(function.walk(), copy.walk(), strict=True):
        if op is not function:
            other.location = op.location
    dissolve_matches(copy)
    module.body.block.add_op(copy)
    function.attributes[FALLBACK] = StringAttr(name)
    return copy
