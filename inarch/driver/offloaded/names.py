"""What functions of backends are called where an option or a command says so."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp

from inarch.core.errors import UsageError
from inarch.dialects.graph.call import CallOp
from inarch.ir.functions import functions as functions_of


def rename(module: ModuleOp, functions: Sequence[FuncOp], prefix: str) -> None:
    """Calls the functions `<prefix>_0`, `<prefix>_1`, ... Raises UsageError for a bad prefix."""
    if not (prefix.isidentifier() and prefix.isascii()):
        raise UsageError(f"option 'prefix': expected a C identifier, found '{prefix}'")
    names = {f.sym_name.data: f"{prefix}_{number}" for number, f in enumerate(functions)}
    others = {f.sym_name.data for f in functions_of(module)} - set(names)
    for name in names.values():
        if name in others:
            raise UsageError(f"option 'prefix': another function is called @{name}")
    for function in functions:
        function.sym_name = StringAttr(names[function.sym_name.data])
    for op in module.walk():
        if isinstance(op, CallOp) and (name := names.get(op.callee.string_value())) is not None:
            op.callee = SymbolRefAttr(name)
